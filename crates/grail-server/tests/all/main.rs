//! One binary for all integration tests of the crate: one module per topic.

#![allow(clippy::unwrap_used)]

mod host;
mod mcp;
mod mcp_asking;
mod mcp_client;
mod mcp_hostile;
mod sample;
