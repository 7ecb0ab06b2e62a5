//! `grail code find`: search Python by pattern.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use grail_code::query::{CaptureReport, MatchReport, Pattern, PatternError, find_all};
use grail_code::{ModuleName, Semantic, parse_module};
use grail_project::{PythonFile, SourceFile, SourceRoots, map_sources};
use serde::Serialize;

use crate::Exit;
use crate::cli::Format;
use crate::files::{PathArguments, ProjectFiles};
use crate::progress::Progress;
use crate::render::{ErrorRecord, Failure, Terminal, count, path_text};

/// Files are searched this many at a time, so that what was found can be printed and forgotten.
const FILES_AT_A_TIME: usize = 256;

/// Lines of a match that are shown.
const SHOWN_LINES: usize = 12;

/// Find code by pattern; exit 1 if there is none
///
/// A pattern is Python in which `$NAME` stands for one node and `$$$NAME` for any number of nodes, or a structural pattern in YAML or
/// JSON. Files that do not parse are searched as far as they can be understood.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code find 'print($$$)'
  grail code find 'validate_email($ARG, $$$REST)' src --captures
  grail code find 'html(f\"…\")' --format json
  grail code find '{qualified_name: typing.Optional}' src
  grail code find --structural pattern.yaml src")]
pub struct Arguments {
    /// Python with `$NAME` and `$$$NAME`, or a structural pattern
    #[arg(value_name = "PATTERN", required_unless_present = "structural")]
    pub pattern: Option<String>,
    #[command(flatten)]
    pub paths: PathArguments,
    /// Read a structural pattern from a YAML or JSON file instead
    #[arg(long, value_name = "FILE")]
    pub structural: Option<PathBuf>,
    /// Show what the metavariables stand for
    #[arg(long, help_heading = "Output")]
    pub captures: bool,
    /// Show only the number of matches in each file
    #[arg(long, help_heading = "Output", conflicts_with = "captures")]
    pub count: bool,
}

pub fn run(mut arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let pattern = arguments.take_pattern()?;
    let files = arguments.paths.find()?;
    let mut search = Search::new(&arguments, pattern, files);
    search.run(terminal)?;
    search.finish(terminal)
}

impl Arguments {
    /// Compiles the pattern. If it comes from a file, the first argument is a path like the others.
    fn take_pattern(&mut self) -> Result<Pattern, Failure> {
        let Some(file) = &self.structural else {
            let text = self.pattern.as_deref().unwrap_or_default();
            return Pattern::parse(text).map_err(|error| failure(&error, text));
        };
        if let Some(first) = self.pattern.take() {
            if self.paths.paths == [Path::new(".")] {
                self.paths.paths.clear();
            }
            self.paths.paths.insert(0, PathBuf::from(first));
        }
        let text = fs::read_to_string(file).map_err(|error| {
            Failure::with_hint(
                format!("cannot read the pattern `{}`: {error}", file.display()),
                "`--structural` takes a YAML or JSON file",
            )
        })?;
        Pattern::yaml(&text).map_err(|error| failure(&error, &text))
    }
}

/// A pattern's error with the line it is about and a caret below the place.
fn failure(error: &PatternError, pattern: &str) -> Failure {
    let rendered = error.render(pattern);
    let rendered = match &error.hint {
        Some(hint) => rendered.strip_suffix(&format!("\nhint: {hint}")).unwrap_or(&rendered),
        None => &rendered,
    };
    let (message, snippet) = match rendered.split_once('\n') {
        Some((message, snippet)) => (message, Some(snippet.to_owned())),
        None => (rendered, None),
    };
    Failure { message: message.to_owned(), snippet, hint: error.hint.clone() }
}

struct Search<'a> {
    arguments: &'a Arguments,
    pattern: Pattern,
    files: ProjectFiles,
    roots: Option<SourceRoots>,
    records: Vec<Record>,
    counts: Vec<CountRecord>,
    matches: usize,
}

/// What was found in one file.
#[derive(Default)]
struct Found {
    matches: Vec<MatchReport>,
    /// The text of the results, ready to print.
    text: String,
    count: usize,
    /// Where and why the file does not parse.
    broken: Option<(u32, String)>,
}

#[derive(Serialize)]
struct Record {
    path: String,
    #[serde(flatten)]
    report: MatchReport,
}

#[derive(Serialize)]
struct CountRecord {
    path: String,
    count: usize,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<&'a [Record]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<&'a [CountRecord]>,
    errors: Vec<ErrorRecord>,
}

impl<'a> Search<'a> {
    fn new(arguments: &'a Arguments, pattern: Pattern, files: ProjectFiles) -> Self {
        let project = &files.project;
        let roots =
            pattern.needs_names().then(|| SourceRoots::new(&project.root, &project.config.project.src));
        Self { arguments, pattern, files, roots, records: Vec::new(), counts: Vec::new(), matches: 0 }
    }

    fn run(&mut self, terminal: &mut Terminal) -> anyhow::Result<()> {
        let files = std::mem::take(&mut self.files.files);
        let progress = Progress::new("searching", files.len());
        let max_bytes = self.files.project.config.code.max_file_bytes;
        let format = terminal.format();
        for (index, chunk) in files.chunks(FILES_AT_A_TIME).enumerate() {
            let before = index * FILES_AT_A_TIME;
            let advance = |done| progress.advance(before + done);
            let outcomes =
                map_sources(chunk, max_bytes, &advance, |file, source| Ok(self.search(file, source, format)));
            for outcome in outcomes {
                match outcome.result {
                    Ok(found) => self.keep(&outcome.path, found, terminal)?,
                    Err(problem) => self.files.problems.push(problem),
                }
            }
        }
        Ok(())
    }

    fn search(&self, file: &PythonFile, source_file: SourceFile, format: Format) -> Found {
        if !self.pattern.prefilter(source_file.source.text()) {
            return Found::default();
        }
        let parsed = parse_module(source_file.source);
        let semantic = self.roots.as_ref().map(|roots| {
            let module: ModuleName = roots.module_of(&file.path).unwrap_or_default();
            Semantic::of_module(&parsed, module)
        });
        let matches = find_all(&parsed, semantic.as_ref(), &self.pattern);
        let broken =
            parsed.diagnostics().first().map(|problem| (problem.start.line, problem.message.clone()));
        let mut found = Found { count: matches.len(), broken, ..Found::default() };
        if self.arguments.count {
            return found;
        }
        let reports = matches.iter().map(|found| MatchReport::new(found, &parsed));
        match format {
            Format::Json => found.matches = reports.collect(),
            Format::Text => {
                for report in reports {
                    render(&file.path, &report, self.arguments.captures, &mut found.text);
                }
            }
        }
        found
    }

    fn keep(&mut self, path: &Path, found: Found, terminal: &mut Terminal) -> anyhow::Result<()> {
        self.matches += found.count;
        if self.arguments.count && found.count > 0 {
            self.counts.push(CountRecord { path: path_text(path), count: found.count });
        }
        terminal.raw(&found.text)?;
        self.records.extend(found.matches.into_iter().map(|report| Record { path: path_text(path), report }));
        if let Some((line, message)) = found.broken {
            let path = path.display();
            terminal.warning(format_args!(
                "`{path}` does not parse and may hide matches: line {line}: {message}"
            ))?;
        }
        Ok(())
    }

    fn finish(&self, terminal: &mut Terminal) -> anyhow::Result<Exit> {
        let exit = if self.matches == 0 { Exit::Findings } else { Exit::Fine };
        match terminal.format() {
            Format::Json => {
                let is_count = self.arguments.count;
                terminal.json(&Report {
                    matches: (!is_count).then_some(&self.records),
                    counts: is_count.then_some(&self.counts),
                    errors: self.files.error_records(),
                })?;
                self.files.finish(terminal, exit)
            }
            Format::Text => {
                for CountRecord { path, count } in &self.counts {
                    terminal.line(format_args!("{path}: {count}"))?;
                }
                let exit = self.files.finish(terminal, exit)?;
                match self.matches {
                    0 => terminal.note(format_args!("no matches"))?,
                    1 => terminal.note(format_args!("1 match"))?,
                    number => terminal.note(format_args!("{number} matches"))?,
                }
                Ok(exit)
            }
        }
    }
}

/// `path:line:column: first line`, the other lines below it, then the captures.
fn render(path: &Path, report: &MatchReport, with_captures: bool, output: &mut String) {
    use std::fmt::Write as _;
    let mut lines = report.snippet.lines();
    let first = lines.next().unwrap_or_default();
    let _ = writeln!(output, "{}:{}:{}: {first}", path.display(), report.line, report.column);
    let rest: Vec<&str> = lines.collect();
    for line in rest.iter().take(SHOWN_LINES) {
        let _ = writeln!(output, "    {line}");
    }
    if rest.len() > SHOWN_LINES {
        let _ = writeln!(output, "    … {}", count(rest.len() - SHOWN_LINES, "more line"));
    }
    if !with_captures {
        return;
    }
    for (name, capture) in &report.captures {
        let text = match capture {
            CaptureReport::One(text) => one_line(text),
            CaptureReport::Many(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| one_line(text)).collect();
                format!("[{}]", texts.join(", "))
            }
        };
        let _ = writeln!(output, "  ${name} = {text}");
    }
}

fn one_line(text: &str) -> String {
    match text.split_once('\n') {
        Some((first, _)) => format!("{} …", first.trim_end()),
        None => text.to_owned(),
    }
}
