//! One binary for all integration tests of the crate: one module per topic.

#![allow(clippy::unwrap_used)]

mod choosing;
mod extensions;
mod generating;
mod sample;
mod templates;
