//! What is wrong with a skill: by the specification, exactly as the reference validator decides it, and by Grail.
//!
//! The two are kept apart by [`FindingSource`]. A skill with no error of the first kind is valid everywhere; Grail's own findings are
//! about whether it is any good: its size, its evals, its rules.

use std::path::{Path, PathBuf};

use grail_rules::{Library, PythonRules, Severity, test_rule};
use serde::Serialize;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::document::{self, FIELDS, MAX_FRONT_BYTES, MIGRATED, SKILL_FILE, is_hidden, one_line};
use super::folder::{SkillFolder, read_bounded};
use super::yaml::{self, Node, Value, Yaml};
use crate::evals::{BENCHMARK_FILE, Benchmark, EVALS_FILE, Evals};
use crate::tokens::estimate_tokens;
use crate::{MANIFEST_FILE, Manifest, SkillError, SkillProblem};

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;
/// What a body should stay below, so that loading it is cheap.
pub const MAX_BODY_LINES: usize = 500;
pub const MAX_BODY_TOKENS: usize = 5_000;
/// A file of evals or a benchmark that is larger is not read.
const MAX_EVALS_BYTES: u64 = 4 * 1024 * 1024;
/// As much of a `SKILL.md` that is too large to load as is looked at for its front matter.
const MAX_LOOKED_AT: usize = 16 * 1024 * 1024;

/// Who has something to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingSource {
    /// The specification of agentskills.io: other clients may refuse the skill.
    Agentskills,
    Grail,
}

/// One thing that is wrong with a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillFinding {
    pub source: FindingSource,
    pub severity: Severity,
    pub path: PathBuf,
    /// From 1; 0 if only the file is known.
    pub line: usize,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Everything that is wrong with the skill in a folder. `shown` is the folder as messages name it; rules written in Python are tried
/// with `python`.
pub fn validate_skill(folder: &Path, shown: &Path, python: Option<&dyn PythonRules>) -> Vec<SkillFinding> {
    let mut findings = validate_specification(folder, shown);
    let mut report = Report { source: FindingSource::Grail, findings: &mut findings };
    check_text(folder, shown, &mut report);
    check_files(folder, shown, &mut report);
    check_evals(folder, shown, &mut report);
    check_manifest(folder, shown, &mut report);
    check_rules(folder, shown, python, &mut report);
    findings
}

/// What the specification says, as the reference validator decides it.
pub fn validate_specification(folder: &Path, shown: &Path) -> Vec<SkillFinding> {
    let mut findings = Vec::new();
    let mut report = Report { source: FindingSource::Agentskills, findings: &mut findings };
    let Some((name, bytes)) = read_skill_file(folder) else {
        report.error(shown, 0, "there is no `SKILL.md`", None);
        return findings;
    };
    let path = shown.join(name);
    let folder_name = folder_name(folder);
    // A character cut in two at the end is not a mistake in the file.
    let text = match str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) if bytes.len() == MAX_LOOKED_AT && bytes.len() - error.valid_up_to() < 4 => {
            str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => {
            report.error(&path, 0, "the file is not text in UTF-8", None);
            return findings;
        }
    };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if let Some(root) = read_front(&path, &text, &mut report) {
        check_fields(&path, &root, &folder_name, &mut report);
    }
    findings
}

/// What is wrong with a name for a skill, if anything.
pub fn check_skill_name(name: &str) -> Option<String> {
    let mut findings = Vec::new();
    let mut report = Report { source: FindingSource::Agentskills, findings: &mut findings };
    check_name(Path::new(""), &Node::of_text(name), name, &mut report);
    if !name.is_ascii() {
        return Some(format!("the name `{}` has letters that not every client takes", one_line(name, 128).0));
    }
    findings.into_iter().next().map(|finding| finding.message)
}

/// Is there nothing that the reference validator would object to?
pub fn is_valid_by_specification(findings: &[SkillFinding]) -> bool {
    !findings
        .iter()
        .any(|finding| finding.source == FindingSource::Agentskills && finding.severity == Severity::Error)
}

struct Report<'f> {
    source: FindingSource,
    findings: &'f mut Vec<SkillFinding>,
}

impl Report<'_> {
    fn error(&mut self, path: &Path, line: usize, message: impl Into<String>, hint: Option<&str>) {
        self.add(Severity::Error, path, line, message.into(), hint);
    }

    fn warning(&mut self, path: &Path, line: usize, message: impl Into<String>, hint: Option<&str>) {
        self.add(Severity::Warning, path, line, message.into(), hint);
    }

    fn problem(&mut self, problem: &SkillProblem) {
        self.add(
            Severity::Error,
            &problem.path,
            problem.line,
            problem.message.clone(),
            problem.hint.as_deref(),
        );
    }

    fn add(&mut self, severity: Severity, path: &Path, line: usize, message: String, hint: Option<&str>) {
        let hint = hint.map(str::to_owned);
        let source = self.source;
        self.findings.push(SkillFinding { source, severity, path: path.to_owned(), line, message, hint });
    }
}

/// `SKILL.md`, or `skill.md`, which the reference validator takes as well; at most the first part of it.
fn read_skill_file(folder: &Path) -> Option<(&'static str, Vec<u8>)> {
    use std::io::Read;
    let names = [SKILL_FILE, "skill.md"];
    let name =
        names.into_iter().find(|name| folder.join(name).metadata().is_ok_and(|data| data.is_file()))?;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(folder.join(name)).ok()?;
    file.take(MAX_LOOKED_AT as u64).read_to_end(&mut bytes).ok()?;
    Some((name, bytes))
}

fn folder_name(folder: &Path) -> String {
    let name = match folder.file_name() {
        Some(name) => Some(name.to_owned()),
        None => folder.canonicalize().ok().and_then(|path| path.file_name().map(ToOwned::to_owned)),
    };
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The front matter as the reference validator takes it: up to the next `---`, wherever that is.
fn read_front(path: &Path, text: &str, report: &mut Report) -> Option<Node> {
    let Some(rest) = text.strip_prefix("---") else {
        let hint = "start the file with `---`, `name: …`, `description: …`, `---`";
        report.error(path, 1, "the file does not start with front matter", Some(hint));
        return None;
    };
    let Some(end) = rest.find("---") else {
        report.error(path, 1, "the front matter is not closed", Some("end it with a line `---`"));
        return None;
    };
    let front = &rest[..end];
    if front.len() > MAX_FRONT_BYTES {
        report.error(path, 1, format!("the front matter is larger than {MAX_FRONT_BYTES} bytes"), None);
        return None;
    }
    if let Some(at) = front.find(is_not_printable) {
        let line = front[..at].matches('\n').count() + 1;
        report.error(path, line, "the front matter has a control character", None);
        return None;
    }
    // Our parser takes the end of a document before its start for nothing, the reference for a mistake.
    let first = front.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    if first.is_some_and(|line| line.trim_end() == "...") {
        report.error(path, 2, "the front matter is not valid YAML: it starts with `...`", None);
        return None;
    }
    let Yaml { root, refused } = match yaml::parse(front) {
        Ok(yaml) => yaml,
        Err(remark) => {
            let message = format!("the front matter is not valid YAML: {}", remark.message);
            report.error(path, remark.line, message, Some("put values with `: ` or `#` in quotes"));
            return None;
        }
    };
    for remark in &refused {
        report.error(path, remark.line, remark.message.clone(), None);
    }
    let root = root.filter(Node::is_map);
    if root.is_none() {
        report.error(path, 1, "the front matter is no list of `key: value`", None);
    }
    root
}

/// What no YAML stream may hold.
fn is_not_printable(character: char) -> bool {
    !matches!(character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

fn check_fields(path: &Path, root: &Node, folder: &str, report: &mut Report) {
    let field = |name: &str| root.fields().find(|(field, ..)| *field == name).map(|(_, _, value)| value);
    for (name, key, _) in root.fields().filter(|(name, ..)| !FIELDS.contains(name)) {
        let hint = if MIGRATED.contains(&name) {
            "`grail skills validate --fix` moves it under `metadata`"
        } else {
            "put it under `metadata`"
        };
        let message = format!("`{}` is no field of a skill", one_line(name, MAX_NAME).0);
        report.error(path, key.line, message, Some(hint));
    }
    match field("name") {
        None => report.error(path, 1, "there is no `name`", None),
        Some(name) => check_name(path, name, folder, report),
    }
    match field("description") {
        None => {
            let hint = "say what the skill does and when to use it";
            report.error(path, 1, "there is no `description`", Some(hint));
        }
        Some(description) => {
            if description.text().is_none_or(|text| text.trim().is_empty()) {
                report.error(path, description.line, "`description` is not a text", None);
            } else {
                check_length(path, "description", description, MAX_DESCRIPTION, report);
            }
        }
    }
    if let Some(compatibility) = field("compatibility") {
        match compatibility.value {
            Value::Text(_) => check_length(path, "compatibility", compatibility, MAX_COMPATIBILITY, report),
            _ => report.error(path, compatibility.line, "`compatibility` is not a text", None),
        }
    }
}

fn check_length(path: &Path, field: &str, value: &Node, max: usize, report: &mut Report) {
    let length = value.text().map_or(0, |text| text.chars().count());
    if length > max {
        let message = format!("`{field}` has {length} characters; {max} are allowed");
        report.error(path, value.line, message, None);
    }
}

fn check_name(path: &Path, value: &Node, folder: &str, report: &mut Report) {
    let line = value.line;
    let Some(name) = value.text().map(str::trim).filter(|name| !name.is_empty()) else {
        return report.error(path, line, "`name` is not a text", None);
    };
    let name: String = name.nfkc().collect();
    let shown = one_line(&name, 2 * MAX_NAME).0;
    let length = name.chars().count();
    if length > MAX_NAME {
        report.error(path, line, format!("`name` has {length} characters; {MAX_NAME} are allowed"), None);
    }
    if name != name.to_lowercase() {
        let hint = format!("call it `{}`", shown.to_lowercase());
        report.error(path, line, format!("the name `{shown}` is not in lower case"), Some(&hint));
    }
    if name.starts_with('-') || name.ends_with('-') {
        report.error(path, line, format!("the name `{shown}` starts or ends with a hyphen"), None);
    }
    if name.contains("--") {
        report.error(path, line, format!("the name `{shown}` has two hyphens in a row"), None);
    }
    let is_allowed =
        |character: char| character == '-' || (character.is_alphanumeric() && !is_combining_mark(character));
    if !name.chars().all(is_allowed) {
        let message = format!("the name `{shown}` has something else than letters, digits and hyphens");
        report.error(path, line, message, None);
    }
    if folder.nfkc().collect::<String>() != name {
        let message = format!("the skill calls itself `{shown}`, its folder `{}`", one_line(folder, 128).0);
        report.error(path, line, message, Some("give both the same name"));
    }
}

/// Grail's own opinion on the text: can it be loaded, and is it short enough to be?
fn check_text(folder: &Path, shown: &Path, report: &mut Report) {
    let path = shown.join(SKILL_FILE);
    let bytes = match SkillFolder::Disk(folder.to_owned()).read(SKILL_FILE, document::MAX_SKILL_BYTES) {
        Ok(bytes) => bytes,
        Err(SkillError::TooLarge { .. }) => return report.problem(&document::too_large(&path)),
        Err(SkillError::Outside { .. }) => {
            return report.error(&path, 0, "the file is a link that leads out of the folder", None);
        }
        // That it is not there has been said.
        Err(_) => return,
    };
    let document = match document::Document::read(&path, &bytes) {
        Ok(document) => document,
        Err(problem) => return report.problem(&problem),
    };
    let (lines, tokens) = (document.body.lines().count(), estimate_tokens(&document.body));
    let hint = "move what is not always needed to files in `references/`";
    if lines >= MAX_BODY_LINES {
        let message = format!("the body has {lines} lines; stay below {MAX_BODY_LINES}");
        report.warning(&path, document.body_line, message, Some(hint));
    }
    if tokens >= MAX_BODY_TOKENS {
        let message = format!("the body has about {tokens} tokens; stay below {MAX_BODY_TOKENS}");
        report.warning(&path, document.body_line, message, Some(hint));
    }
    if document.body.is_empty() {
        report.warning(&path, document.body_line, "the skill says nothing but its description", None);
    }
    if document.name.as_deref().is_some_and(|name| !name.is_ascii()) {
        let message = "the name has letters that not every client takes";
        report.warning(&path, 1, message, Some("use `a` to `z`, digits and hyphens"));
    }
    let text = str::from_utf8(&bytes).unwrap_or_default();
    let is_unseen = |character: char| is_hidden(character) && !matches!(character, '\n' | '\r' | '\t');
    let unseen = text.strip_prefix('\u{feff}').unwrap_or(text).match_indices(is_unseen);
    if let Some((at, character)) = unseen.into_iter().next() {
        let line = text[..at].matches('\n').count() + 1;
        let code = character.escape_unicode().to_string();
        let message = format!("there is a character that nobody sees: `{code}`");
        report.error(&path, line, message, Some("a model reads what a person cannot; take it out"));
    }
    if cut_by_dashes(text) {
        let message = "`---` inside a value ends the front matter for other clients";
        report.warning(&path, 1, message, Some("write a dash or a comma instead"));
    }
}

/// Do the two readings of where front matter ends differ?
fn cut_by_dashes(text: &str) -> bool {
    let Some(front) = document::split(text).front else { return false };
    front.contains("---")
}

fn check_files(folder: &Path, shown: &Path, report: &mut Report) {
    let files = match SkillFolder::Disk(folder.to_owned()).files() {
        Ok(files) => files,
        Err(SkillError::TooManyFiles { .. }) => {
            return report.error(shown, 0, "the skill has too many files or too deep folders", None);
        }
        Err(_) => return,
    };
    let Ok(real_folder) = folder.canonicalize() else { return };
    for file in files.iter().filter(|file| file.link.is_some()) {
        let leads_out =
            folder.join(&file.path).canonicalize().is_ok_and(|real| !real.starts_with(&real_folder));
        if leads_out {
            let message = "the link leads out of the folder, and is not followed";
            report.error(&shown.join(&file.path), 0, message, None);
        }
    }
}

fn check_evals(folder: &Path, shown: &Path, report: &mut Report) {
    let name = folder_name(folder);
    let read = |file: &str| {
        let bytes = read_bounded(&folder.join(file), MAX_EVALS_BYTES);
        bytes.map_err(|error| SkillProblem::new(shown.join(file), 0, error.to_string()))
    };
    if folder.join(EVALS_FILE).is_file() {
        let path = shown.join(EVALS_FILE);
        match read(EVALS_FILE).and_then(|bytes| Evals::parse(&path, &bytes)) {
            Err(problem) => report.problem(&problem),
            Ok(evals) if evals.skill_name != name => {
                let other = one_line(&evals.skill_name, 128).0;
                report.error(&path, 0, format!("the evals are for `{other}`, not for `{name}`"), None);
            }
            Ok(_) => {}
        }
    }
    if folder.join(BENCHMARK_FILE).is_file() {
        let path = shown.join(BENCHMARK_FILE);
        if let Err(problem) = read(BENCHMARK_FILE).and_then(|bytes| Benchmark::parse(&path, &bytes)) {
            report.problem(&problem);
        }
    }
}

fn check_manifest(folder: &Path, shown: &Path, report: &mut Report) {
    if folder.join(MANIFEST_FILE).symlink_metadata().is_err() {
        return;
    }
    if let Err(problem) = Manifest::read(folder) {
        let path =
            problem.path.strip_prefix(folder).map_or(problem.path.clone(), |inside| shown.join(inside));
        report.problem(&SkillProblem { path, ..problem });
    }
}

fn check_rules(folder: &Path, shown: &Path, python: Option<&dyn PythonRules>, report: &mut Report) {
    let mut library = Library::default();
    library.add_folder(folder);
    let within = |path: &Path| match path.strip_prefix(folder) {
        Ok(inside) => shown.join(inside),
        Err(_) => path.to_owned(),
    };
    let problems = library.packs.iter().flat_map(|pack| &pack.problems).chain(&library.problems);
    for problem in problems {
        let hint = problem.hint.as_deref();
        report.error(&within(&problem.path), problem.line, problem.message.clone(), hint);
    }
    for pack in &library.packs {
        for rule in &pack.rules {
            let spec = test_rule(rule, &pack.kinds, python);
            for failure in &spec.failures {
                report.error(&within(&spec.path), failure.line, failure.message.clone(), None);
            }
        }
    }
}
