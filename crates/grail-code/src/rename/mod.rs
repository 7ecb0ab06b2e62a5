//! Renaming: a symbol with everything that refers to it, in its file and across a project; a dotted name for another; a module.
//!
//! A rename is planned as a whole or not at all. It refuses where the new name would collide with another one, or where a reference
//! would come to mean something else, and says where.

mod check;
mod dotted;
mod member;
mod parameter;
mod plan;
mod relocate;
mod symbol;
mod target;
mod usages;

use std::fmt;

use ruff_python_stdlib::identifiers::is_identifier;
use ruff_python_stdlib::keyword::is_keyword;
use serde::Serialize;
use thiserror::Error;

pub use dotted::{DottedChange, rename_dotted};
pub use plan::{rename_at, rename_in, rename_named};
pub use relocate::{FileText, ImportCycle, ModuleMove, MoveError, RenamedModule, move_symbol, rename_module};
pub use symbol::rename_in_file;
pub use usages::{Usages, usages_at, usages_named};

use crate::{EditConflict, FileEdits, Position, Span};

/// What a rename touches besides code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameOptions {
    /// Names within annotations that are strings.
    pub string_annotations: bool,
    /// Whole words in the docstrings of files that the rename touches anyway.
    pub docstrings: bool,
}

impl Default for RenameOptions {
    fn default() -> Self {
        Self { string_annotations: true, docstrings: false }
    }
}

/// The edits of a rename, and what it could not be sure of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenamePlan {
    pub old: String,
    pub new: String,
    /// In order of paths.
    pub files: Vec<FileEdits>,
    /// Places that spell the name and may mean it, left as they are.
    pub unsure: Vec<Place>,
    /// A base class is unknown, so the renamed member may override something there.
    pub may_override_outside: bool,
}

/// A span in a file, and where people find it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub path: String,
    #[serde(flatten)]
    pub at: Position,
    pub span: Span,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.at;
        match self.path.as_str() {
            // A file that was bound on its own has no path.
            "" => write!(formatter, "line {line}, column {column},"),
            path => write!(formatter, "{path}:{line}:{column}"),
        }
    }
}

/// Knows what types know: who refers to a method, an attribute, or a parameter by keyword.
pub trait MemberOracle {
    /// References to the definition whose name stands at `offset`.
    fn references(&self, path: &str, offset: u32) -> MemberReferences;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberReferences {
    pub certain: Vec<(String, Span)>,
    pub unsure: Vec<(String, Span)>,
    pub outside: MemberOrigin,
}

/// Whether a member is also defined outside the project, by a base class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberOrigin {
    #[default]
    Inside,
    /// A base class could not be found.
    Unknown,
    Outside,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RenameError {
    #[error("`{name}` is not a valid name{}", if is_keyword(name) { ": it is a keyword" } else { "" })]
    InvalidName { name: String },
    #[error("`{name}` already has that name")]
    SameName { name: String },
    #[error("there is no name at {path}:{}:{}", at.line, at.column)]
    NotAName { path: String, at: Position },
    #[error("`{path}` has no line {} with a column {}", at.line, at.column)]
    NoSuchPlace { path: String, at: Position },
    #[error("the file `{path}` is not part of the project")]
    UnknownFile { path: String },
    #[error("nothing is called `{name}`")]
    UnknownName { name: String },
    #[error("`{name}` is defined outside the project")]
    OutsideProject { name: String },
    #[error("`{name}` can only be renamed by types, which this build does not have")]
    NeedsTypes { name: String },
    #[error("cannot rename `{old}` to `{new}`: {place} already binds `{new}`")]
    Collision { old: String, new: String, place: Place },
    #[error("cannot rename `{old}` to `{new}`: the name at {place} would mean something else")]
    Capture { old: String, new: String, place: Place },
    #[error("`{path}` does not parse at {}:{}: {message}", at.line, at.column)]
    Broken { path: String, at: Position, message: String },
    #[error(transparent)]
    Conflict(#[from] EditConflict),
}

impl RenameError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::InvalidName { .. } => Some("a name starts with a letter or `_` and is no keyword"),
            Self::NotAName { .. } => {
                Some("point at a variable, function, class, parameter, attribute or import")
            }
            Self::UnknownName { .. } => {
                Some("names are given as `package.module.name` or `package.module.Class.member`")
            }
            Self::OutsideProject { .. } => {
                Some("`grail code codemod run rename` replaces a name by another everywhere")
            }
            Self::Collision { .. } | Self::Capture { .. } => {
                Some("choose another name, or rename that one first")
            }
            Self::Broken { .. } => Some("repair the file, or exclude it in grail.toml"),
            _ => None,
        }
    }
}

/// Whether `name` can be bound in Python: an identifier that is no keyword.
pub fn is_valid_name(name: &str) -> bool {
    is_identifier(name) && !is_keyword(name)
}

fn validate(old: &str, new: &str) -> Result<(), RenameError> {
    if !is_valid_name(new) {
        return Err(RenameError::InvalidName { name: new.to_owned() });
    }
    if old == new {
        return Err(RenameError::SameName { name: old.to_owned() });
    }
    Ok(())
}
