//! The types layer: `ty check`, its code-quality JSON read by schema.
//!
//! Ty has no JSON format of its own; the one for GitLab has everything a finding needs. We ask for exit code 1 on warnings, because what is
//! the default has changed between versions. So 0 means an array with nothing above `info`, and 1 one with something above it.
//! Code 2 is a failure, unless the array says which files could not be read: then those are findings like any other.

use std::ffi::OsString;
use std::sync::Arc;

use grail_code::Position;
use serde::Deserialize;

use super::places::{PathArguments, Places};
use super::{LayerContext, LayerReport, target, with_tool};
use crate::tools::{Output, Tool, ToolProblem, last_words, shorten};
use crate::{Finding, Layer, Severity};

/// What ty calls a file that it cannot read.
const UNREADABLE: &str = "io";

/// Runs ty on files of the project, by their paths relative to the root.
pub fn run(context: &LayerContext, paths: &[Arc<str>]) -> LayerReport {
    if paths.is_empty() {
        return LayerReport::skipped(Layer::Types, "there are no files to check");
    }
    with_tool(Layer::Types, "ty", context, |tool| check(tool, context, paths))
}

fn check(tool: &Tool, context: &LayerContext, paths: &[Arc<str>]) -> Result<Vec<Finding>, ToolProblem> {
    let listed = PathArguments::new(&tool.name, paths)?;
    let mut arguments: Vec<OsString> =
        ["check", "--output-format", "gitlab", "--no-progress", "--error-on-warning", "--force-exclude"]
            .map(OsString::from)
            .to_vec();
    if !target::is_known_to_type_checker(&context.root) {
        let version = context.target_version;
        arguments.push(format!("--python-version={}.{}", version.major, version.minor).into());
    }
    let venv = context.root.join(".venv");
    if venv.join("pyvenv.cfg").is_file() {
        let mut argument = OsString::from("--python=");
        argument.push(venv);
        arguments.push(argument);
    }
    arguments.push("--".into());
    arguments.extend(listed.arguments.iter().cloned());
    let output = tool.run(arguments, &context.root, &context.tools)?;
    let entries = understand(&tool.name, &output)?;
    let mut places = Places::new(context, paths);
    Ok(entries.into_iter().map(|entry| finding(entry, &mut places)).collect())
}

/// One element of the array: the fields we need.
#[derive(Debug, Deserialize)]
struct Entry {
    check_name: String,
    description: String,
    severity: String,
    location: Location,
}

#[derive(Debug, Deserialize)]
struct Location {
    /// Relative to the working directory; empty if the finding belongs to no file.
    path: String,
    positions: Positions,
}

#[derive(Debug, Deserialize)]
struct Positions {
    begin: Place,
    end: Place,
}

/// From 1; columns count characters and do not count a byte-order mark.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Place {
    line: u32,
    column: u32,
}

fn understand(tool: &str, output: &Output) -> Result<Vec<Entry>, ToolProblem> {
    let tool = tool.to_owned();
    let said = last_words(&output.stderr);
    let code = match output.code {
        Some(code @ 0..=2) => code,
        Some(code) => return Err(ToolProblem::ExitCode { tool, code, said }),
        None => return Err(ToolProblem::Killed { tool, said }),
    };
    if output.stdout.trim_ascii().is_empty() {
        return Err(match code {
            2 => ToolProblem::ExitCode { tool, code, said },
            _ => ToolProblem::EmptyOutput { tool, code, said },
        });
    }
    let entries: Vec<Entry> = serde_json::from_slice(&output.stdout).map_err(|error| {
        ToolProblem::NotUnderstood { tool: tool.clone(), detail: shorten(&error.to_string(), 200) }
    })?;
    if let Some(entry) = entries.iter().find(|entry| severity(&entry.severity).is_none()) {
        let detail = format!("unknown severity `{}`", shorten(&entry.severity, 40));
        return Err(ToolProblem::NotUnderstood { tool, detail });
    }
    let grave = entries.iter().filter(|entry| severity(&entry.severity) != Some(Severity::Info)).count();
    let unreadable = entries.iter().filter(|entry| entry.check_name == UNREADABLE).count();
    match code {
        0 if grave > 0 => Err(ToolProblem::SuccessWithFindings { tool, count: grave }),
        1 if grave == 0 => Err(ToolProblem::FailureWithoutFindings { tool, code, said }),
        2 if unreadable == 0 => Err(ToolProblem::ExitCode { tool, code, said }),
        _ => Ok(entries),
    }
}

fn finding(entry: Entry, places: &mut Places<'_>) -> Finding {
    let path = places.relative(&entry.location.path);
    let Positions { begin, end } = entry.location.positions;
    let (start, end) = (begin.position(), end.position());
    let is_placed = entry.check_name != UNREADABLE;
    let span = if is_placed { places.span(&path, start, end) } else { None };
    // The description repeats the name in front.
    let message = entry.description.strip_prefix(&entry.check_name).and_then(|rest| rest.strip_prefix(": "));
    Finding {
        path,
        layer: Layer::Types,
        rule: entry.check_name.as_str().into(),
        severity: severity(&entry.severity).unwrap_or_default(),
        message: shorten(&message.unwrap_or(&entry.description).replace('\n', " "), 1000),
        help: None,
        span,
        start,
        end,
        fix: None,
    }
}

/// The names of GitLab's report, of which ty uses four.
fn severity(name: &str) -> Option<Severity> {
    match name {
        "info" => Some(Severity::Info),
        "minor" => Some(Severity::Warning),
        "major" | "critical" | "blocker" => Some(Severity::Error),
        _ => None,
    }
}

impl Place {
    fn position(self) -> Position {
        Position { line: self.line.max(1), column: self.column.max(1) }
    }
}
