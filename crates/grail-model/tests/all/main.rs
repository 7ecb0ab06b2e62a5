//! One binary for all tests of models.

#![expect(clippy::unwrap_used, reason = "what a test is made of must be there")]

mod abilities;
mod conversations;
mod live;
mod local_server;
mod local_weights;
mod loopback;
mod recordings;
mod server_failures;
mod servers;
mod streams;
mod template;
mod tool_text;
mod wishes;
