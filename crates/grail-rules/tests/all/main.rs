//! One binary for all integration tests of the crate: one module per topic.

mod built_in;
mod rule_files;
