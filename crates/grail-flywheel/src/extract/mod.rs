//! Events to examples: the few moments of a session that are worth learning from.
//!
//! Most of a conversation teaches nothing. What teaches is an error and how it was mended, code that was right at once, an answer that
//! was not meant, and several tools that work together. The same events give the same bytes, in whatever order they are read.

mod fields;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::event::{Event, ReviewVerdict};
use crate::example::Example;

pub use fields::fields_accessed;

/// What an example counts whose branch was merged.
pub const MERGED: f64 = 1.2;
/// What an example counts whose branch was given up.
pub const CLOSED: f64 = 0.5;

pub struct ExtractSettings<'s> {
    /// How many turns before the request are kept, at most [`MAX_WINDOW`].
    pub window: usize,
    /// Longer turns are cut.
    pub turn_bytes: usize,
    /// By branch; one that is not in it is still open and counts as it is.
    pub outcome_factors: BTreeMap<String, f64>,
    /// Sessions that must not be learned from.
    pub forgotten: BTreeSet<String>,
    /// What a spec says, in a few lines.
    pub specs: Option<&'s dyn SpecSource>,
}

/// More turns are no window.
pub const MAX_WINDOW: usize = 5;

/// Tells what a spec is about.
pub trait SpecSource: Sync {
    fn summary(&self, spec: &str) -> Option<String>;
}

/// What was found in the events.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Extraction {
    /// In the order of sessions and of what happened in them.
    pub examples: Vec<Example>,
    /// What people said about examples, by the examples' names: the last word counts.
    pub reviews: BTreeMap<String, Review>,
    pub sessions: usize,
    pub events: usize,
    /// Moments that looked like examples and are none, by reason.
    pub passed_over: BTreeMap<PassedOver, usize>,
}

/// A decision about an example.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Review {
    pub verdict: ReviewVerdict,
    pub corrected: Option<String>,
}

/// Why a moment is no example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PassedOver {
    /// A chain of retries that never passed.
    NeverPassed,
}

impl Default for ExtractSettings<'_> {
    fn default() -> Self {
        Self {
            window: 4,
            turn_bytes: 2000,
            outcome_factors: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            specs: None,
        }
    }
}

/// Makes examples of events. They may come in any order.
pub fn extract(events: impl IntoIterator<Item = Event>, settings: &ExtractSettings<'_>) -> Extraction {
    let _ = settings;
    Extraction { events: events.into_iter().count(), ..Extraction::default() }
}
