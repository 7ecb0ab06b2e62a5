//! Python source as data: parse, tree, query, scopes, edits, codemods.
//!
//! The text is never re-printed: every change is a set of byte-range edits, so code that nobody meant to change stays identical by
//! construction. This crate does no I/O, and it is the only one that names the parser; text and spans cross its border, syntax types
//! of the parser do not.

pub mod codemod;
pub mod data;
pub mod edit;
pub mod imports;
pub mod index;
pub mod layout;
pub mod outline;
pub mod project;
pub mod query;
pub mod recipe;
pub mod refactor;
pub mod rename;
pub mod semantic;
pub mod tools;
pub mod tree;
#[cfg(feature = "types")]
pub mod types;

mod diagnostic;
mod module;
mod source;
mod span;

pub use diagnostic::Diagnostic;
pub use edit::{Edit, EditConflict};
pub use module::ModuleName;
pub use project::{FileEdits, Project, ProjectFile};
pub use semantic::Semantic;
pub use source::{DecodeError, EncodeError, MAX_SOURCE_BYTES, Position, Source};
pub use span::Span;
pub use tree::{Context, Field, Kind, Node, NodeId, Parsed, parse_expression, parse_module, parse_statement};
