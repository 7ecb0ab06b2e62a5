//! One binary for all integration tests of the crate: one module per topic.

#![allow(clippy::unwrap_used)]

mod built_in;
mod fixing;
mod in_force;
mod libraries;
mod lint;
mod python_rules;
mod rule_files;
mod test_layer;
mod tool_project;
mod tools;
mod types;
