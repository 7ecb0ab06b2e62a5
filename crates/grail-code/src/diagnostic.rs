//! What is wrong with a piece of Python, as data.

use serde::Serialize;

use crate::{Position, Span};

/// A syntax error: the parser goes on after it, so there may be several, and there is always a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub message: String,
    pub span: Span,
    pub start: Position,
    pub end: Position,
}
