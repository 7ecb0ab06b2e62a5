//! The round trip: every file of a standard library is read, parsed, put together again from its tree, and compared byte for byte.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use grail_code::{Kind, Parsed, data, parse_module};
use grail_project::{
    DEFAULT_MAX_BYTES, ProjectError, PythonFile, SourceFile, WalkOptions, find_interpreters, map_sources,
    walk_python_files,
};

/// What came of one folder of Python files.
#[derive(Debug, Default)]
pub struct RoundTrip {
    pub folder: PathBuf,
    pub files: usize,
    pub bytes: u64,
    pub elapsed: Duration,
    /// Files that did not come back as they were, and why.
    pub differences: Vec<String>,
    /// Files the interpreter would not decode either, such as tests of bad encodings.
    pub undecodable: usize,
    /// Files with syntax errors; the standard library ships some on purpose. They have to come back all the same.
    pub broken: usize,
}

/// The standard libraries found on this machine, newest first.
pub fn find_standard_libraries() -> Vec<PathBuf> {
    find_interpreters(None).into_iter().map(|interpreter| interpreter.stdlib).collect()
}

/// How much of the way there and back is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The tree and its spans.
    Tree,
    /// The tree as data too: nested, printed, compared.
    Data,
}

/// Checks every `step`-th file below a folder.
pub fn check_folder(folder: &Path, step: usize, depth: Depth) -> anyhow::Result<RoundTrip> {
    let started = Instant::now();
    let walked = walk_python_files(&[folder.to_owned()], &WalkOptions::default())?;
    // What somebody installed beside the standard library is another matter on every machine.
    let is_installed = |file: &PythonFile| {
        let path = file.path.strip_prefix(folder).unwrap_or(&file.path);
        path.iter().any(|part| part == "site-packages" || part == "dist-packages")
    };
    let own = walked.files.into_iter().filter(|file| !is_installed(file));
    let files: Vec<PythonFile> = own.step_by(step.max(1)).collect();
    let mut result = RoundTrip { folder: folder.to_owned(), files: files.len(), ..RoundTrip::default() };
    for outcome in map_sources(&files, DEFAULT_MAX_BYTES, &|_| (), |_, file| check_file(file, depth)) {
        match outcome.result {
            Ok(checked) => {
                result.bytes += checked.bytes;
                result.broken += usize::from(checked.is_broken);
                let difference = checked.difference;
                result
                    .differences
                    .extend(difference.map(|difference| format!("{}: {difference}", outcome.path.display())));
            }
            Err(ProjectError::Decode { .. } | ProjectError::Binary { .. }) => result.undecodable += 1,
            Err(error) => result.differences.push(error.to_string()),
        }
    }
    result.elapsed = started.elapsed();
    Ok(result)
}

/// Puts the text together from the leaves of the tree and what stands between them, after checking that every node lies inside its
/// parent and behind its elder siblings.
pub fn rebuild(parsed: &Parsed) -> anyhow::Result<String> {
    let text = parsed.text();
    let mut rebuilt = String::with_capacity(text.len());
    let mut cursor = 0;
    for node in parsed.nodes() {
        let span = node.span();
        text.get(span.start as usize..span.end as usize).context("a span is not on character borders")?;
        let parent = node.parent().map_or(span, |parent| parent.span());
        anyhow::ensure!(parent.covers(span), "{:?} at {} reaches out of its parent", node.kind(), span.start);
        let mut behind = span.start;
        for child in node.children() {
            anyhow::ensure!(
                child.span().start >= behind,
                "{:?} at {} overlaps its sibling",
                child.kind(),
                child.span().start
            );
            behind = child.span().end;
        }
        if node.children().next().is_none() {
            let (start, end) = (span.start as usize, span.end as usize);
            let gap = text
                .get(cursor..start)
                .with_context(|| format!("{:?} at {start} is out of order", node.kind()))?;
            rebuilt.push_str(gap);
            rebuilt.push_str(node.text());
            cursor = end;
        }
    }
    rebuilt.push_str(&text[cursor..]);
    Ok(rebuilt)
}

struct Checked {
    bytes: u64,
    is_broken: bool,
    difference: Option<String>,
}

fn check_file(file: SourceFile, depth: Depth) -> Result<Checked, ProjectError> {
    let original = fs::read(&file.path)
        .map_err(|source| ProjectError::Unreadable { path: file.path.clone(), source })?;
    let parsed = parse_module(file.source);
    let difference = match rebuild(&parsed) {
        Err(error) => Some(error.to_string()),
        Ok(text) => match parsed.source().encode(&text) {
            Ok(bytes) if bytes == original && depth == Depth::Tree => None,
            Ok(bytes) if bytes == original => check_data(&parsed).err().map(|error| error.to_string()),
            Ok(_) => Some("the bytes differ".to_owned()),
            Err(error) => Some(error.to_string()),
        },
    };
    Ok(Checked { bytes: original.len() as u64, is_broken: !parsed.is_valid(), difference })
}

/// The tree as data prints as the source; and for valid source it is data all the way down, with no node that fell back to plain text.
pub fn check_data(parsed: &Parsed) -> anyhow::Result<()> {
    let tree = data::tree(parsed)?;
    anyhow::ensure!(data::codegen(&tree) == parsed.text(), "the printed data differs");
    let mut work = vec![&tree];
    while let Some(value) = work.pop() {
        let Some(node) = value.as_object() else {
            work.extend(value.as_array().into_iter().flatten());
            continue;
        };
        let kind = node.get("type").and_then(|kind| kind.as_str()).and_then(Kind::from_name);
        let is_leaf = kind.is_none_or(|kind| kind.fields().is_empty());
        if parsed.is_valid() && !is_leaf && node.contains_key("text") {
            anyhow::bail!("{} at {} is plain text in the data", node["type"], node["range"]);
        }
        work.extend(node.values());
    }
    Ok(())
}

impl fmt::Display for RoundTrip {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(
            formatter,
            "{}: {} files, {:.1} MB, {} differences, {} with syntax errors, {} undecodable, {:.2} s",
            self.folder.display(),
            self.files,
            self.bytes as f64 / 1e6,
            self.differences.len(),
            self.broken,
            self.undecodable,
            self.elapsed.as_secs_f64()
        )
    }
}
