//! What is wrong with a pattern, and where.

use std::fmt::Write as _;

use thiserror::Error;

use crate::Span;

/// A pattern that cannot be used. Positions refer to the pattern as its author wrote it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct PatternError {
    pub message: String,
    /// The offending bytes of the pattern's text. `None` if the pattern was not given as text.
    pub span: Option<Span>,
    /// Where in a structural pattern: `args[0].type`. Empty for code patterns.
    pub path: String,
    pub hint: Option<String>,
}

impl PatternError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, path: String::new(), hint: None }
    }

    pub(super) fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The message, the pattern's line with a caret under the place, and the hint.
    pub fn render(&self, pattern: &str) -> String {
        let mut output = format!("invalid pattern: {}", self.message);
        if !self.path.is_empty() {
            let _ = write!(output, " (at `{}`)", self.path);
        }
        if let Some(span) = self.span {
            let (line, before, width) = caret_line(pattern, span);
            let _ = write!(output, "\n  {line}\n  {}{}", " ".repeat(before), "^".repeat(width));
        }
        if let Some(hint) = &self.hint {
            let _ = write!(output, "\nhint: {hint}");
        }
        output
    }
}

/// The line that holds the start of `span`, the characters before it, and how many carets to draw.
fn caret_line(text: &str, span: Span) -> (&str, usize, usize) {
    let start = floor_boundary(text, span.start as usize);
    let end = floor_boundary(text, (span.end as usize).max(start));
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let before = text[line_start..start].chars().count();
    let width = text[start..end.min(line_end)].chars().count().max(1);
    (text[line_start..line_end].trim_end_matches('\r'), before, width)
}

fn floor_boundary(text: &str, mut offset: usize) -> usize {
    offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
