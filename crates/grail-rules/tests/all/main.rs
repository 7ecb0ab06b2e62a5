//! One binary for all integration tests of the crate: one module per topic.

mod rule_files;
