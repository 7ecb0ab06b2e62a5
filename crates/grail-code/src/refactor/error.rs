//! Why a refactoring is refused, and where.

use std::fmt;

use thiserror::Error;

use crate::{Parsed, Position, Project, Span};

/// Where a refactoring met something it cannot handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: String,
    pub span: Span,
    pub start: Position,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RefactorError {
    #[error("the project has no file `{path}`")]
    UnknownFile { path: String },
    #[error("the project defines no function `{name}`")]
    UnknownFunction { name: String },
    #[error("{place}: there is no function here")]
    NoFunction { place: Place },
    #[error("{place}: `{name}` is defined a second time here")]
    DefinedTwice { name: String, place: Place },
    #[error("`{text}` is not a Python expression")]
    NotAnExpression { text: String },
    #[error("`{name}` is not a name one can give in Python")]
    InvalidName { name: String },
    #[error("{place}: the function has no parameter `{name}`")]
    UnknownParameter { name: String, place: Place },
    #[error("{place}: the name `{name}` is taken here")]
    NameTaken { name: String, place: Place },
    #[error("{place}: a parameter without a default cannot stand behind one with a default")]
    RequiredBehindDefault { place: Place },
    #[error("{place}: this call needs a value for the new parameter `{name}`")]
    ValueNeeded { name: String, place: Place },
    #[error("{place}: this call passes an argument by position that the new parameter `{name}` would take")]
    ArgumentShifted { name: String, place: Place },
    #[error("{place}: `{argument}` may carry a value for `{name}`")]
    Unpacked { argument: String, name: String, place: Place },
    #[error("{place}: this call cannot pass `{name}` by position")]
    PositionalOnly { name: String, place: Place },
    #[error("{place}: the parameter `{name}` is used here")]
    ParameterUsed { name: String, place: Place },
    #[error("{place}: `{name}` is bound by the call itself and must stay first")]
    BoundParameter { name: String, place: Place },
    #[error("{place}: this call passes a value to `{name}`")]
    ArgumentPassed { name: String, place: Place },
    #[error("{place}: `{name}` cannot become keyword-only")]
    NotPositional { name: String, place: Place },
    #[error("{place}: the file does not parse: {message}")]
    BrokenSource { message: String, place: Place },
    #[error("{place}: the selection is neither whole statements of one block nor one expression")]
    NothingSelected { place: Place },
    #[error("{place}: cannot extract this: {reason}")]
    CannotExtract { reason: String, place: Place },
    #[error("{place}: {error}")]
    Import { error: crate::imports::ImportError, place: Place },
    #[error("{place}: two changes want the same bytes")]
    Overlap { place: Place },
}

impl RefactorError {
    /// What to do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::UnknownFunction { .. } => {
                "name it as it is imported: `package.module.function` or `package.module.Class.method`"
            }
            Self::NoFunction { .. } => "point at the name in a `def`",
            Self::DefinedTwice { .. } => "give the two definitions different names, or change them by hand",
            Self::ValueNeeded { .. } => "give a value for the calls, or a default for the parameter",
            Self::ArgumentShifted { .. } => "give a value for the calls, or make the parameter keyword-only",
            Self::RequiredBehindDefault { .. } => {
                "give it a default, another position, or make it keyword-only"
            }
            Self::Unpacked { .. } => "write the arguments out at this call first",
            Self::ParameterUsed { .. } => "remove the use first, or force the removal",
            Self::NothingSelected { .. } => {
                "select from the first character of a statement or expression to its last"
            }
            Self::NameTaken { .. } => "choose another name",
            _ => return None,
        })
    }
}

impl Place {
    pub(super) fn new(project: &Project, file: usize, span: Span) -> Self {
        let file = &project.files[file];
        Self::of(&file.path, &file.parsed, span)
    }

    pub(super) fn of(path: &str, parsed: &Parsed, span: Span) -> Self {
        Self { path: path.to_owned(), span, start: parsed.source().position(span.start) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.path, self.start.line, self.start.column)
    }
}
