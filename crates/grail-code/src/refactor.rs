//! Changes that need several places to agree: signatures with their calls, extraction, annotations from stubs.
//!
//! Every change either gives all its edits or an error that says where and why; nothing is half-done. What cannot be decided without
//! types is never guessed: it is reported beside the edits.

mod add_parameter;
mod arguments;
mod calls;
mod entity;
mod error;
mod extract;
mod keyword_only;
mod remove_parameter;
mod stub;
mod target;

pub(crate) use entity::{MethodKind, method_kind};

pub use add_parameter::{ParameterPosition, ParameterSpec, add_parameter};
pub use error::{Place, RefactorError};
pub use extract::{Extraction, Selection, extract_function};
pub use keyword_only::make_keyword_only;
pub use remove_parameter::{RemoveParameter, remove_parameter};
pub use stub::{StubChange, StubOptions, apply_stub};
pub use target::Target;

use crate::{FileEdits, Project, Span};

/// Bytes of one file of a project.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The path relative to the project's root, with `/`.
    pub path: String,
    pub span: Span,
}

/// A changed signature with its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignatureChange {
    pub files: Vec<FileEdits>,
    /// How many calls are certain to mean the function.
    pub calls: usize,
    /// Places that may call the function, or hand it on as a value; they are left alone.
    pub unsure: Vec<Location>,
    /// Other things a person should look at.
    pub notes: Vec<Note>,
}

/// A remark on a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub location: Location,
    pub message: String,
}

/// Collects edits by file, in the project's order of files.
#[derive(Default)]
struct EditSet {
    files: Vec<(usize, Vec<crate::Edit>)>,
}

impl EditSet {
    fn add(&mut self, file: usize, edits: Vec<crate::Edit>) {
        match self.files.iter_mut().find(|(index, _)| *index == file) {
            Some((_, existing)) => existing.extend(edits),
            None => self.files.push((file, edits)),
        }
    }

    /// The edits, once it is sure that no two want the same bytes.
    fn finish(mut self, project: &Project) -> Result<Vec<FileEdits>, RefactorError> {
        self.files.sort_by_key(|(file, _)| *file);
        let mut result = Vec::new();
        for (file, edits) in self.files {
            let path = project.files[file].path.clone();
            let edits = crate::edit::order(edits).map_err(|conflict| RefactorError::Overlap {
                place: error::Place::new(project, file, conflict.second),
            })?;
            if !edits.is_empty() {
                result.push(FileEdits { path, edits });
            }
        }
        Ok(result)
    }
}
