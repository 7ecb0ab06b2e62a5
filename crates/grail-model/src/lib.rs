//! Models behind one trait: who is asked, what is said, which tools are called, what it took, and who really answered.
//!
//! A [`Model`] gives [`ChatEvent`]s as they come; [`collect`] makes a [`Reply`] of them. Everything a model says is untrusted text: bounded,
//! and believed only in forms that are understood. Models that spell tool calls as text are read by [`tool_text`].
//!
//! [`local`] runs models on this machine. [`connect`] gives a model on a server. What the server can do is found out with [`Server::probe`]; what it cannot do is asked for in words.

mod error;
pub mod local;
mod message;
mod model;
pub mod prompt;
mod replay;
mod scripted;
mod server;
mod settings;
pub mod structured;
pub mod template;
pub mod tool_text;

pub use error::ModelError;
pub use message::{
    ChatRequest, Finish, FinishReason, Message, Reply, Role, ToolCall, ToolChoice, ToolDefinition, Usage,
};
pub use model::{ChatEvent, ChatStream, MAX_REPLY_BYTES, Model, collect};
pub use replay::{Exchange, Recorder, Recording, Replay};
pub use scripted::{Scripted, Step};
pub use server::{Abilities, Server, connect, connect_with};
pub use settings::{Limits, ServerSettings};
