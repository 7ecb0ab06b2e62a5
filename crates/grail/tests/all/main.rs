//! The command line as its users meet it: the real binary on scratch projects, exact output and exit codes.

// Clippy's exemption for tests does not reach functions beside them.
#![allow(clippy::unwrap_used)]

mod approvals;
mod challenging;
mod changes;
mod check;
mod check_formats;
mod codemod;
mod dataset;
mod demo;
mod events;
mod find;
mod generate;
mod guides;
mod hooks;
mod host;
mod imports;
mod init;
mod learning;
mod lsp;
mod mcp;
mod models;
mod readme;
mod refactor;
mod rename;
mod rules;
mod run;
mod scratch;
mod skill_lifecycle;
mod skills;
mod skills_generate;
mod skills_running;
mod skills_search;
mod train;
mod transform;
mod tree;
mod usage;
mod wheel;
