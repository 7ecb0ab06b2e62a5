//! Local models, on toys made on the spot.

// Clippy's exemption for tests does not reach functions beside them.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod constrained;
mod generating;
mod gguf;
mod opening;
mod serving;
mod train_data;
mod train_gradients;
mod train_objective;
mod train_run;
mod train_toy;
mod wheel;
