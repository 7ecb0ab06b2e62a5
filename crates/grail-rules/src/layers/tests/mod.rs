//! The tests layer: a configured command, `pytest -q` unless it says otherwise.
//!
//! Where the command is pytest, every failed test becomes a finding at its line; of any other command only the exit code is known. Tests run
//! on the project's own interpreter, with all its rights, or on Python 3.14 in WebAssembly, behind the walls of [`wasm`].

mod junit;
mod local;
mod wasm;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use grail_code::{Kind, Position, Source, Span, parse_module};
use grail_project::{CONFIG_FILE, Project, TargetVersion};
use serde::{Deserialize, Serialize};

use super::places::Places;
use super::{LayerContext, LayerReport, LayerStatus, unavailable};
use crate::bounded::read_text;
use crate::tools::{ToolProblem, shorten};
use crate::{Finding, Layer, RuleProblem, Severity};

/// The first Python with template strings.
const TEMPLATE_STRINGS: TargetVersion = TargetVersion { major: 3, minor: 14 };

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestSettings {
    /// The program and its arguments; there is no shell.
    pub command: Vec<String>,
    pub runner: Runner,
    pub deadline: Duration,
    /// Where Python in WebAssembly is installed; `None` means `.grail/runtimes/wasm` in the project.
    pub runtime: Option<PathBuf>,
    /// Folders from which modules are imported, relative to the root; only the runner `wasm` has to be told.
    pub import_paths: Vec<String>,
}

/// What the tests run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runner {
    /// `Wasm` if the code has template strings and the project's interpreter does not, else `Local`.
    #[default]
    Auto,
    Local,
    Wasm,
}

/// Runs the tests. `files` are the project's Python files, relative to the root: places are found in them, and they are all that the runner
/// `wasm` is given.
pub fn run(context: &LayerContext, settings: &TestSettings, files: &[Arc<str>]) -> LayerReport {
    let begin = Instant::now();
    let result = match choose_runner(context, settings, files) {
        Runner::Wasm => wasm::run(context, settings, files),
        Runner::Auto | Runner::Local => local::run(context, settings),
    };
    let tested = match result {
        Ok(tested) => tested,
        Err(problem) => return LayerReport::failed(Layer::Tests, &problem),
    };
    match tested {
        Tested::Ran { tool, bad } => {
            let mut places = Places::new(context, files);
            let findings = bad.into_iter().map(|bad| finding(bad, &mut places)).collect();
            LayerReport::ran(Layer::Tests, Some(tool), findings, begin.elapsed())
        }
        Tested::NoTests { tool } => LayerReport::skipped(Layer::Tests, format!("`{tool}` found no tests")),
        Tested::Missing { tool, hint: None } => unavailable(Layer::Tests, &tool),
        Tested::Missing { tool, hint: Some(hint) } => {
            let status = LayerStatus::Unavailable { tool, hint };
            LayerReport { layer: Layer::Tests, status, findings: Vec::new() }
        }
    }
}

/// What `Auto` means for this project; other choices stay.
pub fn choose_runner(context: &LayerContext, settings: &TestSettings, files: &[Arc<str>]) -> Runner {
    if settings.runner != Runner::Auto {
        return settings.runner;
    }
    let is_old = || interpreter_version(&context.root).is_some_and(|version| version < TEMPLATE_STRINGS);
    let needs_new = || files.iter().any(|path| has_template_string(context, path));
    if settings.is_pytest() && is_old() && needs_new() { Runner::Wasm } else { Runner::Local }
}

/// Splits a command at white space. `None` if it has quotes or anything else that a shell would have to explain: such a command has to be
/// written as a list.
pub fn split_command(text: &str) -> Option<Vec<String>> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    (!words.is_empty() && !text.contains(['"', '\'', '\\', '$', '`', '|', '&', ';', '<', '>', '*']))
        .then_some(words)
}

impl Default for TestSettings {
    fn default() -> Self {
        Self {
            command: vec!["pytest".to_owned(), "-q".to_owned()],
            runner: Runner::Auto,
            deadline: Duration::from_secs(600),
            runtime: None,
            import_paths: vec!["src".to_owned()],
        }
    }
}

impl TestSettings {
    /// What `grail.toml` says about tests.
    pub fn new(project: &Project) -> Result<Self, RuleProblem> {
        let config = &project.config.check.tests;
        let mut settings = Self { import_paths: project.config.project.src.clone(), ..Self::default() };
        if !config.command.is_empty() {
            settings.command = config.command.clone();
        }
        if let Some(seconds) = config.timeout {
            settings.deadline = Duration::from_secs(seconds);
        }
        settings.runner = match config.runner.as_deref() {
            None | Some("auto") => Runner::Auto,
            Some("local") => Runner::Local,
            Some("wasm") => Runner::Wasm,
            Some(other) => {
                let message = format!("`{}` is no runner of tests", shorten(other, 40));
                let problem = RuleProblem::new(project.root.join(CONFIG_FILE), 0, message);
                return Err(problem.hint("runners are `auto`, `local` and `wasm`"));
            }
        };
        Ok(settings)
    }

    /// Also `python -m pytest` and `uv run pytest`: what follows the word are pytest's arguments.
    fn is_pytest(&self) -> bool {
        self.command.iter().any(|word| word == "pytest")
    }
}

/// What a runner found out.
enum Tested {
    Ran { tool: String, bad: Vec<BadTest> },
    NoTests { tool: String },
    Missing { tool: String, hint: Option<String> },
}

/// A test that did not pass, as a runner tells it.
#[derive(Debug, PartialEq, Eq)]
struct BadTest {
    /// Relative to the root; empty if there is none.
    path: String,
    /// From 1.
    line: Option<u32>,
    rule: &'static str,
    message: String,
}

/// Pytest's exit codes, by what is to be done about them.
fn judge(
    tool: &str,
    code: i32,
    tests: usize,
    bad: Vec<BadTest>,
    said: String,
) -> Result<Tested, ToolProblem> {
    let tool = tool.to_owned();
    let refused = |message: &str| {
        let tail = if said.is_empty() { String::new() } else { format!(": {said}") };
        Err(ToolProblem::Refused { tool: tool.clone(), message: format!("{message}{tail}") })
    };
    match (code, bad.len()) {
        (0, 0) if tests == 0 => {
            Err(ToolProblem::NotUnderstood { tool, detail: "the report has no tests".to_owned() })
        }
        (0, 0) => Ok(Tested::Ran { tool, bad }),
        (0, count) => Err(ToolProblem::SuccessWithFindings { tool, count }),
        (1, 0) => Err(ToolProblem::FailureWithoutFindings { tool, code, said }),
        (2, 0) => refused("the tests were interrupted"),
        // Code 2 with findings: files that could not be imported, because of which no test was run.
        (1 | 2, _) => Ok(Tested::Ran { tool, bad }),
        (3, _) => refused("an internal error happened while the tests ran"),
        (4, _) => refused("the command line was not understood"),
        (5, _) => Ok(Tested::NoTests { tool }),
        _ => Err(ToolProblem::ExitCode { tool, code, said }),
    }
}

fn finding(bad: BadTest, places: &mut Places<'_>) -> Finding {
    let path = places.relative(&bad.path);
    let line = bad.line.unwrap_or(1).max(1);
    let marked = bad.line.and_then(|line| places.source(&path).and_then(|source| mark_line(source, line)));
    let beginning = Position { line, column: 1 };
    let (span, start, end) = match marked {
        Some((span, start, end)) => (Some(span), start, end),
        None => (None, beginning, beginning),
    };
    Finding {
        path,
        layer: Layer::Tests,
        rule: bad.rule.into(),
        severity: Severity::Error,
        message: bad.message,
        help: None,
        span,
        start,
        end,
        fix: None,
    }
}

/// A line without its indentation.
fn mark_line(source: &Source, line: u32) -> Option<(Span, Position, Position)> {
    let start = source.offset(Position { line, column: 1 })?;
    let indentation = source.indentation(start).len() as u32;
    let span = Span::new(start + indentation, source.line_end(start));
    (span.start <= span.end).then(|| (span, source.position(span.start), source.position(span.end)))
}

/// One line for a message that may have many.
fn on_one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    shorten(&lines.join("; "), 400)
}

/// The version of the project's environment; without one, of the newest interpreter that can be found.
fn interpreter_version(root: &Path) -> Option<TargetVersion> {
    let of_environment = read_text(&root.join(".venv/pyvenv.cfg"), 64 * 1024).and_then(|text| {
        let field = |line: &str| {
            let (key, value) = line.split_once('=')?;
            matches!(key.trim(), "version" | "version_info").then(|| value.trim().to_owned())
        };
        let version = text.lines().find_map(field)?;
        let mut parts = version.split('.').map(str::parse);
        Some(TargetVersion { major: parts.next()?.ok()?, minor: parts.next()?.ok()? })
    });
    of_environment.or_else(|| {
        let newest = grail_project::find_interpreters(None).into_iter().next()?;
        Some(TargetVersion { major: newest.version.0, minor: newest.version.1 })
    })
}

fn has_template_string(context: &LayerContext, path: &str) -> bool {
    let Ok(file) = grail_project::read_source(&context.root.join(path), context.max_file_bytes) else {
        return false;
    };
    let text = file.source.text();
    // Cheaper than parsing: a prefix with a `t` before a quote.
    let may_have =
        ["t\"", "t'", "T\"", "T'", "tr\"", "tr'", "tR", "Tr", "TR"].iter().any(|hint| text.contains(hint));
    may_have && parse_module(file.source).nodes_of(Kind::TString).next().is_some()
}

/// The folder with Python in WebAssembly, without links.
fn runtime_folder(context: &LayerContext, settings: &TestSettings) -> Option<PathBuf> {
    let folder = settings.runtime.clone().unwrap_or_else(|| context.root.join(".grail/runtimes/wasm"));
    fs::canonicalize(context.root.join(folder)).ok().filter(|folder| folder.is_dir())
}
