//! The lint layer: `ruff check`, its JSON read by schema.
//!
//! Ruff's contract is exit code 0 with an empty array, or 1 with an array that is not empty. Everything else is an error: a linter that
//! says nothing has not said that the code is clean.

use std::ffi::OsString;
use std::sync::Arc;

use grail_code::{Edit, Position, Span};
use serde::Deserialize;

use super::places::{PathArguments, Places};
use super::{LayerContext, LayerReport, target, with_tool};
use crate::tools::{Output, Tool, ToolProblem, last_words, shorten};
use crate::{Finding, Fix, Layer, Safety, Severity};

/// Runs ruff on files of the project, by their paths relative to the root.
pub fn run(context: &LayerContext, paths: &[Arc<str>]) -> LayerReport {
    if paths.is_empty() {
        return LayerReport::skipped(Layer::Lint, "there are no files to check");
    }
    with_tool(Layer::Lint, "ruff", context, |tool| check(tool, context, paths))
}

fn check(tool: &Tool, context: &LayerContext, paths: &[Arc<str>]) -> Result<Vec<Finding>, ToolProblem> {
    let listed = PathArguments::new(&tool.name, paths)?;
    let mut arguments: Vec<OsString> =
        ["check", "--output-format", "json", "--no-fix", "--force-exclude"].map(OsString::from).to_vec();
    if !target::is_known_to_linter(&context.root) {
        let version = context.target_version;
        arguments.push(format!("--target-version=py{}{}", version.major, version.minor).into());
    }
    arguments.push("--".into());
    arguments.extend(listed.arguments.iter().cloned());
    let output = tool.run(arguments, &context.root, &context.tools)?;
    let entries = understand(&tool.name, &output)?;
    let mut places = Places::new(context, paths);
    Ok(entries.into_iter().map(|entry| finding(entry, &mut places)).collect())
}

/// One element of ruff's array: the fields we need. Others may come and go.
#[derive(Debug, Deserialize)]
struct Entry {
    code: Option<String>,
    filename: String,
    location: Place,
    end_location: Place,
    message: String,
    /// Set for notebooks, whose rows count from the start of a cell.
    #[serde(default)]
    cell: Option<u32>,
    #[serde(default)]
    severity: Option<String>,
    #[serde(default)]
    url: Option<String>,
    fix: Option<EntryFix>,
}

#[derive(Debug, Deserialize)]
struct EntryFix {
    applicability: String,
    message: Option<String>,
    edits: Vec<EntryEdit>,
}

#[derive(Debug, Deserialize)]
struct EntryEdit {
    content: String,
    location: Place,
    end_location: Place,
}

/// From 1; columns count characters and do not count a byte-order mark.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Place {
    row: u32,
    column: u32,
}

fn understand(tool: &str, output: &Output) -> Result<Vec<Entry>, ToolProblem> {
    let tool = tool.to_owned();
    let said = last_words(&output.stderr);
    let code = match output.code {
        Some(code @ (0 | 1)) => code,
        Some(code) => return Err(ToolProblem::ExitCode { tool, code, said }),
        None => return Err(ToolProblem::Killed { tool, said }),
    };
    if output.stdout.trim_ascii().is_empty() {
        return Err(ToolProblem::EmptyOutput { tool, code, said });
    }
    let entries: Vec<Entry> = serde_json::from_slice(&output.stdout).map_err(|error| {
        ToolProblem::NotUnderstood { tool: tool.clone(), detail: shorten(&error.to_string(), 200) }
    })?;
    match (code, entries.len()) {
        (1, 0) => Err(ToolProblem::FailureWithoutFindings { tool, code, said }),
        (0, count @ 1..) => Err(ToolProblem::SuccessWithFindings { tool, count }),
        _ => Ok(entries),
    }
}

fn finding(entry: Entry, places: &mut Places<'_>) -> Finding {
    let path = places.relative(&entry.filename);
    let (start, end) = (entry.location.position(), entry.end_location.position());
    let is_plain = entry.cell.is_none();
    let span = if is_plain { places.span(&path, start, end) } else { None };
    let fix = entry.fix.filter(|_| is_plain).and_then(|fix| convert_fix(fix, &path, places));
    Finding {
        path,
        layer: Layer::Lint,
        // Before syntax errors had a code of their own, their code was null.
        rule: entry.code.as_deref().unwrap_or("invalid-syntax").into(),
        severity: severity(entry.severity.as_deref()),
        message: shorten(&entry.message.replace('\n', " "), 1000),
        help: entry.url.map(|url| format!("see {}", shorten(&url, 300))),
        span,
        start,
        end,
        fix,
    }
}

/// A fix whose places the text does not have, or whose edits overlap, is dropped as a whole.
fn convert_fix(fix: EntryFix, path: &str, places: &mut Places<'_>) -> Option<Fix> {
    let safety = match fix.applicability.as_str() {
        "safe" => Safety::Safe,
        "unsafe" => Safety::Unsafe,
        _ => Safety::DisplayOnly,
    };
    let convert = |edit: EntryEdit| {
        let span: Span = places.span(path, edit.location.position(), edit.end_location.position())?;
        Some(Edit::replace(span, edit.content))
    };
    let edits: Vec<Edit> = fix.edits.into_iter().map(convert).collect::<Option<_>>()?;
    let edits = grail_code::edit::order(edits).ok()?;
    let title = fix.message.map_or_else(|| "Apply ruff's fix".to_owned(), |title| shorten(&title, 300));
    (!edits.is_empty()).then_some(Fix { title, safety, edits })
}

/// Ruff had no severities for long: what it reports is what the project has asked it to forbid.
fn severity(name: Option<&str>) -> Severity {
    match name {
        Some("warning") => Severity::Warning,
        Some("info" | "help" | "note") => Severity::Info,
        _ => Severity::Error,
    }
}

impl Place {
    fn position(self) -> Position {
        Position { line: self.row.max(1), column: self.column.max(1) }
    }
}
