//! Events to examples: the few moments of a session that are worth learning from.
//!
//! Most of a conversation teaches nothing. What teaches is an error and how it was mended, code that was right at once, an answer that
//! was not meant, and several tools that work together. The same events give the same bytes, in whatever order they are read.

mod fields;
mod lessons;
mod sequences;
mod session;
mod shape;
mod spec;
mod survey;
mod window;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Serialize;

use crate::event::{Event, ReviewVerdict};
use crate::example::Example;

pub use fields::{ToolFlow, fields_accessed, tool_flow};
pub use spec::SpecFiles;
use survey::Survey;

/// What an example counts whose branch was merged.
pub const MERGED: f64 = 1.2;
/// What an example counts whose branch was given up.
pub const CLOSED: f64 = 0.5;
/// More turns are no window.
pub const MAX_WINDOW: usize = 5;

pub struct ExtractSettings<'s> {
    /// How many turns before the request are kept, at most [`MAX_WINDOW`].
    pub window: usize,
    /// Longer turns are cut.
    pub turn_bytes: usize,
    /// By branch, for outcomes that the events do not tell. A branch that neither knows is open and counts as it is.
    pub outcome_factors: BTreeMap<String, f64>,
    /// Sessions that must not be learned from.
    pub forgotten: BTreeSet<String>,
    /// What a spec says, in a few lines.
    pub specs: Option<&'s dyn SpecSource>,
}

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
    /// An artifact that never passed its checks.
    NeverPassed,
    /// Code that passed after retries, and that nobody approved or confirmed: its errors are learned from, it is not.
    NotConfirmed,
    /// Code whose proposal was rejected or reverted.
    Refused,
    /// Code that a person corrected: the correction is learned from.
    Corrected,
    /// Code that is the better half of a pair already, or that a later one of the session replaces.
    Superseded,
    /// Nobody said what was wanted.
    NoRequest,
    /// A correction of something that is not known.
    NothingToCorrect,
    /// Several tools, of which none uses what another gave.
    Independent,
    /// Several tools in a session that came to nothing.
    NoGoodEnd,
    /// A call failed on the way.
    FailedCall,
    /// A field is used that no result has.
    FabricatedField,
    /// Arguments that were too long to keep.
    CutArguments,
    /// Code or a request beyond all measure.
    TooLong,
    /// The whole session was forgotten.
    ForgottenSession,
    /// The whole session answered an evaluation, which must never be learned from.
    EvaluationSession,
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

/// Makes examples of events. They may come in any order; what cannot be part of an example is let go as it is read.
pub fn extract(events: impl IntoIterator<Item = Event>, settings: &ExtractSettings<'_>) -> Extraction {
    let mut survey = Survey::default();
    for event in events {
        survey.add(event, settings);
    }
    let (sessions, known) = survey.finish();
    let mut extraction = Extraction {
        reviews: known.reviews.clone(),
        sessions: known.sessions,
        events: known.events,
        passed_over: known.passed_over.clone(),
        ..Extraction::default()
    };
    let learned: Vec<session::Learned> = sessions
        .into_par_iter()
        .map(|(name, events)| session::learn(&name, &events, &known, settings))
        .collect();
    for learned in learned {
        extraction.examples.extend(learned.examples);
        for (reason, count) in learned.passed_over {
            *extraction.passed_over.entry(reason).or_default() += count;
        }
    }
    extraction
}
