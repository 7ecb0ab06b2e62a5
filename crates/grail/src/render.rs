//! What people and machines see: lines and JSON on stdout; errors, hints and summaries on stderr.
//!
//! Commands write colour freely; it is taken out again where it does not belong (pipes, `NO_COLOR`, `--color never`).

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use grail_agent::AgentError;
use grail_flywheel::FlywheelError;
use grail_model::ModelError;
use grail_project::ProjectError;
use grail_rules::RulesError;
use grail_server::ServerError;
use grail_skills::SkillError;
use serde::Serialize;

use crate::cli::{Color, Format};

pub(crate) const BOLD: &str = "\x1b[1m";
pub(crate) const RED: &str = "\x1b[31m";
pub(crate) const YELLOW: &str = "\x1b[33m";
pub(crate) const GREEN: &str = "\x1b[32m";
pub(crate) const CYAN: &str = "\x1b[36m";
pub(crate) const RESET: &str = "\x1b[0m";

/// The two streams of a command, and how it was asked to speak.
pub struct Terminal {
    format: Format,
    output: Box<dyn Write>,
    messages: Box<dyn Write>,
}

/// An error of a command itself: what failed, the place if there is one to show, what to do.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    /// Source with a caret under the mistake.
    pub snippet: Option<String>,
    pub hint: Option<String>,
}

/// One error as it appears in JSON.
#[derive(Debug, Serialize)]
pub struct ErrorRecord {
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Terminal {
    /// The process's own stdout and stderr.
    pub fn new(format: Format, color: Color) -> Self {
        let choice = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        let output = BufWriter::with_capacity(64 * 1024, AutoStream::new(io::stdout(), choice));
        let messages = AutoStream::new(io::stderr(), choice);
        Self::with_streams(format, Box::new(output), Box::new(messages))
    }

    pub fn with_streams(format: Format, output: Box<dyn Write>, messages: Box<dyn Write>) -> Self {
        Self { format, output, messages }
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// A line of results.
    pub fn line(&mut self, text: fmt::Arguments) -> anyhow::Result<()> {
        writeln!(self.output, "{text}")?;
        Ok(())
    }

    /// Results as they are, for instance source text: nothing is added.
    pub fn raw(&mut self, text: &str) -> anyhow::Result<()> {
        self.output.write_all(text.as_bytes())?;
        Ok(())
    }

    /// The one object of a command in JSON format.
    pub fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        // serde hides the I/O error it met; converting it back keeps a closed pipe recognisable.
        serde_json::to_writer_pretty(&mut self.output, value).map_err(io::Error::from)?;
        writeln!(self.output)?;
        Ok(())
    }

    /// A unified diff, coloured as git does.
    pub fn diff(&mut self, diff: &str) -> anyhow::Result<()> {
        for line in diff.split_inclusive('\n') {
            let style = match line.as_bytes() {
                [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] | [b'd', ..] => BOLD,
                [b'-', ..] => RED,
                [b'+', ..] => GREEN,
                [b'@', ..] => CYAN,
                _ => "",
            };
            let body = line.trim_end_matches(['\r', '\n']);
            if style.is_empty() || body.is_empty() {
                self.output.write_all(line.as_bytes())?;
            } else {
                write!(self.output, "{style}{body}{RESET}{}", &line[body.len()..])?;
            }
        }
        Ok(())
    }

    /// A word to the user beside the results.
    pub fn note(&mut self, text: fmt::Arguments) -> anyhow::Result<()> {
        self.flush()?;
        let _ = writeln!(self.messages, "{text}");
        Ok(())
    }

    pub fn warning(&mut self, text: fmt::Arguments) -> anyhow::Result<()> {
        self.note(format_args!("{BOLD}warning:{RESET} {}", visible(&text.to_string())))
    }

    /// The error of one file; the command goes on.
    pub fn problem(&mut self, error: &ProjectError) -> anyhow::Result<()> {
        self.flush()?;
        self.report(error, error.snippet(), error.hint().as_deref());
        Ok(())
    }

    /// The error of one rule, or of one file under check; the command goes on.
    pub fn rules_problem(&mut self, error: &RulesError) -> anyhow::Result<()> {
        self.flush()?;
        self.report(error, error.snippet(), error.hint().as_deref());
        Ok(())
    }

    /// An error that does not end the command.
    pub fn error(&mut self, message: &str, hint: Option<&str>) -> anyhow::Result<()> {
        self.flush()?;
        self.report(&message, None, hint);
        Ok(())
    }

    /// The error a command ends with.
    pub fn failure(&mut self, error: &anyhow::Error) {
        let _ = self.output.flush();
        if let Some(error) = error.downcast_ref::<ProjectError>() {
            self.report(error, error.snippet(), error.hint().as_deref());
        } else if let Some(error) = error.downcast_ref::<RulesError>() {
            self.report(error, error.snippet(), error.hint().as_deref());
        } else if let Some(error) = error.downcast_ref::<SkillError>() {
            self.report(error, None, error.hint().as_deref());
        } else if let Some(error) = error.downcast_ref::<AgentError>() {
            let snippet = match error {
                AgentError::Project(error) => error.snippet(),
                AgentError::Rules(error) => error.snippet(),
                _ => None,
            };
            self.report(error, snippet, error.hint().as_deref());
        } else if let Some(error) = error.downcast_ref::<FlywheelError>() {
            self.report(error, None, error.hint().as_deref());
        } else if let Some(error) = error.downcast_ref::<ModelError>() {
            self.report(error, None, error.hint());
        } else if let Some(error) = error.downcast_ref::<ServerError>() {
            self.report(error, None, error.hint().as_deref());
        } else if let Some(failure) = error.downcast_ref::<Failure>() {
            self.report(failure, failure.snippet.as_deref(), failure.hint.as_deref());
        } else {
            self.report(&format_args!("{error:#}"), None, None);
        }
    }

    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.output.flush()?;
        Ok(())
    }

    /// When stderr is gone as well there is nobody left to tell.
    fn report(&mut self, error: &dyn fmt::Display, snippet: Option<&str>, hint: Option<&str>) {
        let _ = writeln!(self.messages, "{BOLD}{RED}error:{RESET} {}", visible(&error.to_string()));
        if let Some(snippet) = snippet {
            let _ = writeln!(self.messages, "{snippet}");
        }
        if let Some(hint) = hint {
            let _ = writeln!(self.messages, "{BOLD}{CYAN}hint:{RESET} {}", visible(hint));
        }
    }
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), snippet: None, hint: None }
    }

    pub fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), snippet: None, hint: Some(hint.into()) }
    }

    pub fn snippet(self, snippet: impl Into<String>) -> Self {
        Self { snippet: Some(snippet.into()), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<&ProjectError> for ErrorRecord {
    fn from(error: &ProjectError) -> Self {
        Self { message: error.to_string(), hint: error.hint() }
    }
}

impl From<&RulesError> for ErrorRecord {
    fn from(error: &RulesError) -> Self {
        Self { message: error.to_string(), hint: error.hint() }
    }
}

impl From<&SkillError> for ErrorRecord {
    fn from(error: &SkillError) -> Self {
        Self { message: error.to_string(), hint: error.hint() }
    }
}

/// A path for JSON, which knows no bytes: what is not UTF-8 is replaced rather than losing the whole output.
pub fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Text of others, made harmless for a terminal: what would move the cursor, change colours or turn the order of letters round is
/// written as `\u{..}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |character: char| {
        (character.is_control() && !matches!(character, '\n' | '\t'))
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// [`visible`], and on one line, so that it cannot pass for two.
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// `./a.py` is shown as `a.py`.
pub fn display_path(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

/// `1 file`, `2 files`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_command_a_terminal() {
        assert_eq!(visible("naïve\ttext\n"), "naïve\ttext\n");
        assert_eq!(visible("\x1b[2J\r\u{9b}1m"), r"\u{1b}[2J\u{d}\u{9b}1m");
        assert_eq!(
            visible("pay \u{202e}001\u{202c} \u{2066}x\u{2069}"),
            r"pay \u{202e}001\u{202c} \u{2066}x\u{2069}"
        );
        assert_eq!(visible_line("a\nb\x07"), r"a\nb\u{7}");
    }
}
