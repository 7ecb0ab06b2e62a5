//! Local models: weights on disk, inference, constrained decoding, a server on loopback, LoRA training.
//!
//! This crate lives in a process of its own, because a model may eat all memory and because its dependencies take minutes to compile. It
//! knows no other crate of the workspace; `grail` speaks to it by the OpenAI-compatible protocol.

pub mod chat;
pub mod engine;
pub mod grammar;
pub mod identity;
pub mod loading;
pub mod model;
pub mod sampling;
pub mod server;
pub mod text;
pub mod tokenizer;
pub mod train;
pub mod weights;

mod circles;
mod error;

pub use error::{LocalError, Result};
