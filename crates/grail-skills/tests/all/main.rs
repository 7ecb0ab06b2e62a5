//! One binary for all tests of the skill library.

// Clippy's exemption for tests does not reach functions beside them.
#![allow(clippy::unwrap_used)]

mod capabilities;
mod catalogue;
mod credentials;
mod disclosure;
mod evals;
mod fence;
mod fuzz;
mod inline_metadata;
mod install;
mod known_defects;
mod lifecycle;
mod manifest;
mod proposal;
mod protocol;
mod runnable_skill;
mod running;
mod runtime;
mod scripts;
mod search;
mod trust;
mod validate;
