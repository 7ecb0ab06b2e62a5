//! The specification of `grail-code`, one topic a module.

// Clippy's exemptions for tests do not reach functions beside them, and a test that cannot run has to say so.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod agreement;
mod codemod;
mod commands;
mod data;
mod docs_patterns;
mod extract;
mod hostile;
mod imports;
mod index;
mod layout;
mod origins;
mod parse;
mod properties;
mod query;
mod query_properties;
mod query_structural;
mod recipe;
mod refactor;
mod rename;
mod semantic;
mod source;
mod tools;
#[cfg(feature = "types")]
mod types;
