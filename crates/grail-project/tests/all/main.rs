//! The specification of `grail-project`, one topic a module. Every test works on a scratch project of its own.

// Clippy's exemption for tests does not reach functions beside them.
#![allow(clippy::unwrap_used)]

mod apply;
mod config;
mod diff;
mod init;
mod load;
mod modules;
mod python;
mod read;
mod scratch;
mod walk;
mod write;
