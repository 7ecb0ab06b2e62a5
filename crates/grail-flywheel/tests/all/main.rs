//! The memory as a whole: real files, a real database, real repositories.

// Clippy's exemption for tests does not reach functions beside them.
#![allow(clippy::unwrap_used)]

mod arms;
mod comparison;
mod crash;
mod curate;
mod dataset;
mod dataset_build;
mod dataset_export;
mod dataset_import;
mod evaluation;
mod extract;
mod extract_log;
mod fields;
mod gate;
mod git_scratch;
mod index;
mod likeness;
mod log_reader;
mod log_writer;
mod metrics;
mod outcome_edits;
mod outcome_git;
mod outcome_hooks;
mod outcome_labels;
mod outcome_report;
mod phase;
mod project;
mod redact;
mod script;
mod scripted;
mod split;
mod suite;
mod words;
