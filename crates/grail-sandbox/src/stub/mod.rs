//! Python stubs of inputs, outputs and tools, for the type checker and for people.
//!
//! A [`Signature`] describes one tool; a [`StubModule`] is everything one program sees, written down as Python. Generated types come
//! from the same shapes that decide how values arrive (see [`crate::Schema::to_python`]). Hand-written declarations are carried over
//! as they are. What is written always parses.

mod literal;
mod module;
mod name;
mod parse;
mod signature;
mod types;

pub use module::StubModule;
pub(crate) use name::{class_name, is_attribute_name, is_free_name, is_identifier};
pub use signature::{Parameter, ParameterKind, Signature};
