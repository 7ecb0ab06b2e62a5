//! One binary for all integration tests of the crate: one module per topic.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod answering;
mod choosing;
mod extensions;
mod generated;
mod generating;
mod live;
mod loopback;
mod misbehaving;
mod recorded;
mod rule_draft;
mod sample;
mod servers;
mod skill_generator;
mod templates;
mod tools;
mod written_tool;
