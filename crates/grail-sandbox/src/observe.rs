//! Timelines, spans and counters of runs; secrets stay out of them.

use serde::Serialize;

/// What happened in a run, in order.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {}
