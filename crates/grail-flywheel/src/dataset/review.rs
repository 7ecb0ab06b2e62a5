//! What a person should look at, and what they decided: a queue made of the same examples that a build would keep.
//!
//! A decision is an event in the session that the example comes from. So it survives every rebuild, and is forgotten with the session.

use std::collections::{BTreeMap, BTreeSet};

use super::chat::is_forbidden;
use crate::FlywheelError;
use crate::event::{Event, EventKind, ReviewVerdict};
use crate::example::Example;
use crate::extract::Review;
use crate::log::EventLog;

/// So many decisions a project asks for before it relies on what it extracts.
pub const ASKED_FIRST: usize = 100;
/// A longer answer is no correction.
const MAX_CORRECTION_BYTES: usize = 1024 * 1024;
/// The session of decisions about examples that come from no session.
pub const REVIEW_SESSION: &str = "review";

/// Examples that nobody has decided about.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// In the order in which they are shown.
    pub waiting: Vec<Example>,
    /// How many decisions there are.
    pub decided: usize,
}

impl Queue {
    /// Of what a build would keep, everything that is a project's own or a stranger's, in the order in which it happened. What skills bring
    /// was looked at by their authors.
    pub fn new(kept: &[Example], reviews: &BTreeMap<String, Review>) -> Self {
        let reviewed = Reviewed::new(reviews);
        let asks = |example: &&Example| {
            let is_own =
                !example.origin.source.starts_with("skill:") && example.origin.variation_of.is_none();
            is_own && !reviewed.contains(example)
        };
        let mut waiting: Vec<Example> = kept.iter().filter(asks).cloned().collect();
        waiting.sort_by(|one, other| {
            let place = |example: &Example| {
                (example.origin.events.is_empty(), example.origin.events.first().copied())
            };
            place(one).cmp(&place(other)).then_with(|| one.id.cmp(&other.id))
        });
        Self { waiting, decided: reviews.len() }
    }

    /// How many of the first hundred still wait.
    pub fn asked(&self) -> usize {
        self.waiting.len().min(ASKED_FIRST.saturating_sub(self.decided))
    }
}

/// Which examples somebody decided about, as they were extracted or as they were corrected.
pub struct Reviewed<'r> {
    reviews: &'r BTreeMap<String, Review>,
    corrections: BTreeSet<&'r str>,
}

impl<'r> Reviewed<'r> {
    pub fn new(reviews: &'r BTreeMap<String, Review>) -> Self {
        let corrected = reviews.values().filter(|review| review.verdict == ReviewVerdict::Correct);
        Self { corrections: corrected.filter_map(|review| review.corrected.as_deref()).collect(), reviews }
    }

    pub fn contains(&self, example: &Example) -> bool {
        let is_correction = example.chosen.as_deref().is_some_and(|chosen| self.corrections.contains(chosen));
        let original = example.origin.variation_of.as_ref().unwrap_or(&example.id);
        self.reviews.contains_key(&example.id) || self.reviews.contains_key(original) || is_correction
    }
}

/// Writes decisions down, one by one.
pub struct Reviewer<'l> {
    log: &'l EventLog,
    /// The last number of every session.
    numbers: BTreeMap<String, u64>,
}

impl<'l> Reviewer<'l> {
    pub fn new(log: &'l EventLog, numbers: BTreeMap<String, u64>) -> Self {
        Self { log, numbers }
    }

    /// Returns when the decision is on the disk.
    pub fn decide(
        &mut self,
        example: &Example,
        verdict: ReviewVerdict,
        corrected: Option<String>,
    ) -> Result<(), FlywheelError> {
        if let Some(corrected) = &corrected {
            check_correction(corrected)?;
        }
        let session = example.origin.session.clone().unwrap_or_else(|| REVIEW_SESSION.to_owned());
        let number = self.numbers.entry(session.clone()).or_default();
        *number += 1;
        let kind = EventKind::ExampleReview { example: example.id.clone(), verdict, corrected };
        let mut event = Event::new(session, *number, kind);
        event.context.branch = example.origin.branch.clone();
        self.log.append(event).wait()
    }
}

/// Whether a text can be the answer of an example.
pub fn check_correction(text: &str) -> Result<(), FlywheelError> {
    let problem = match text {
        _ if text.trim().is_empty() => "the correction is empty",
        _ if text.len() > MAX_CORRECTION_BYTES => "the correction is longer than a million bytes",
        _ if text.contains(is_forbidden) => "the correction holds control characters",
        _ => return Ok(()),
    };
    Err(FlywheelError::refused(
        problem,
        "write the whole answer as it should have been, or reject the example",
    ))
}
