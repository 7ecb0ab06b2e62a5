//! One binary for all integration tests of the crate: one module per topic.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod answering;
mod choosing;
mod curriculum;
mod evaluating;
mod extensions;
mod generated;
mod generating;
mod improving;
mod live;
mod loopback;
mod misbehaving;
mod pupil;
mod recorded;
mod rule_draft;
mod sample;
mod servers;
mod skill_generator;
mod templates;
mod tools;
mod weighing;
mod written_tool;
