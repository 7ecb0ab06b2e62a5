//! Models behind one trait: who is asked, what is said, which tools are called, what it took, and who really answered.
//!
//! A [`Model`] gives [`ChatEvent`]s as they come; [`collect`] makes a [`Reply`] of them. Everything a model says is untrusted text: bounded,
//! and believed only in forms that are understood. Models that spell tool calls as text are read by [`tool_text`].
//!
//! What comes next: OpenAI-compatible servers over HTTP with a probe for what each one can do, embeddings, and the template model.

mod error;
mod message;
mod model;
mod replay;
mod scripted;
pub mod tool_text;

pub use error::ModelError;
pub use message::{
    ChatRequest, Finish, FinishReason, Message, Reply, Role, ToolCall, ToolChoice, ToolDefinition, Usage,
};
pub use model::{ChatEvent, ChatStream, MAX_REPLY_BYTES, Model, collect};
pub use replay::{Exchange, Recorder, Recording, Replay};
pub use scripted::{Scripted, Step};
