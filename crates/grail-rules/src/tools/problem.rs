//! What can be wrong with another tool: each way to fail has its name, so that none of them can pass for "no findings".

use std::io;

use thiserror::Error;

use super::process::ProcessProblem;

/// A tool that did not do what it was asked for.
#[derive(Debug, Error)]
pub enum ToolProblem {
    #[error("`{tool}` could not be started: {source}")]
    NotStarted { tool: String, source: io::Error },
    #[error("`{tool}` had not ended after {seconds} seconds and was stopped")]
    Deadline { tool: String, seconds: f32 },
    #[error("`{tool}` was interrupted")]
    Interrupted { tool: String },
    #[error("`{tool}` wrote more than {limit} bytes and was stopped")]
    TooMuchOutput { tool: String, limit: usize },
    #[error("`{tool}` ended, but something it started keeps its output open")]
    OutputLeftOpen { tool: String },
    #[error("`{tool}` was ended by a signal{}", tail(said))]
    Killed { tool: String, said: String },
    #[error("`{tool}` failed with exit code {code}{}", tail(said))]
    ExitCode { tool: String, code: i32, said: String },
    #[error("`{tool}` wrote no output (exit code {code}){}", tail(said))]
    EmptyOutput { tool: String, code: i32, said: String },
    #[error("the output of `{tool}` is not what it should be: {detail}")]
    NotUnderstood { tool: String, detail: String },
    #[error("`{tool}` ended with exit code {code} but reported nothing{}", tail(said))]
    FailureWithoutFindings { tool: String, code: i32, said: String },
    #[error("`{tool}` ended with exit code 0 but reported {count} findings")]
    SuccessWithFindings { tool: String, count: usize },
    #[error("`{tool}`: {message}")]
    Refused { tool: String, message: String },
}

impl ToolProblem {
    pub(crate) fn of_process(tool: &str, problem: ProcessProblem) -> Self {
        let tool = tool.to_owned();
        match problem {
            ProcessProblem::NotStarted(source) => Self::NotStarted { tool, source },
            ProcessProblem::Deadline(limit) => Self::Deadline { tool, seconds: limit.as_secs_f32() },
            ProcessProblem::Interrupted => Self::Interrupted { tool },
            ProcessProblem::TooMuchOutput(limit) => Self::TooMuchOutput { tool, limit },
            ProcessProblem::OutputLeftOpen => Self::OutputLeftOpen { tool },
        }
    }

    /// What to do about it, where anything can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotStarted { .. } => Some("is it made for this machine? reinstall it".to_owned()),
            Self::Deadline { .. } => {
                Some("check fewer files at once, or raise `timeout` in `[check.lint]`, `[check.types]` or `[check.tests]`".to_owned())
            }
            Self::TooMuchOutput { .. } => Some("check fewer files at once".to_owned()),
            Self::EmptyOutput { tool, .. } | Self::NotUnderstood { tool, .. } => {
                Some(format!("run `{tool}` by hand; its version may be too old or too new for Grail"))
            }
            _ => None,
        }
    }
}

/// The last line that says something, for the end of a message.
pub(crate) fn last_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("For more information"))
        .unwrap_or_default();
    shorten(line, 300)
}

/// At most `limit` characters, without controls that could reach a terminal.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let mut shown: String =
        text.chars().filter(|character| !character.is_control()).take(limit + 1).collect();
    if let Some((at, _)) = shown.char_indices().nth(limit) {
        shown.truncate(at);
        shown.push('…');
    }
    shown
}

fn tail(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}
