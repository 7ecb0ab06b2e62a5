//! Local models, on toys made on the spot.

#[path = "../support/mod.rs"]
mod support;

mod opening;
