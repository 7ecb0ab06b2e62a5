//! LoRA training in this process: examples with weights, pairs of answers as a second stage, checkpoints, and going on after a kill.
//!
//! ```text
//!              data          sequences                       network                     objective          optimizer
//! rows ─▶ chat template ─▶ tokens, answer ─▶ forwards: loss of every answer token ─▶ importance of each ─▶ clip, AdamW ─▶ adapter
//!                                                           backwards ◀──────────────────┘                               │
//!                                                                                            checkpoint: mlx-lm, PEFT, state
//! ```
//!
//! The same settings, data and seed give the same adapter, bit for bit, on one machine, whether or not the run was interrupted. The base is
//! frozen and held as 32-bit floats. Nothing is printed: what happens is told as events. Checkpoints are not judged here: whoever listens can
//! load each one as an adapter, ask it, and keep the best.

mod adapter;
mod attention;
mod base;
mod checkpoint;
mod data;
mod kernels;
mod matrix;
pub mod memory;
mod network;
pub mod objective;
mod optimizer;
mod plan;
mod random;
mod run;
mod sequences;
mod settings;
mod tuned;

pub use data::{Encoder, FEWEST, Loaded, Pair, Weighted};
pub use optimizer::{Schedule, clip};
pub use run::{Event, Stage, Summary, train};
pub use sequences::Sample;
pub use settings::Settings;
pub use tuned::Tuned;

use crate::LocalError;

fn unusable(what: String, reason: String) -> LocalError {
    LocalError::Training { what, reason }
}
