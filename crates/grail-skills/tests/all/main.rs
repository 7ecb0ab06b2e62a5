//! One binary for all tests of the skill library.

// Clippy's exemption for tests does not reach functions beside them.
#![allow(clippy::unwrap_used)]

mod capabilities;
mod catalogue;
mod credentials;
mod fence;
mod inline_metadata;
mod manifest;
mod protocol;
mod runnable_skill;
mod running;
