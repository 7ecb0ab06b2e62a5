//! What a person should look at, and what they decided: a queue made of the same examples that a build would keep.
//!
//! A decision is an event in the session that the example comes from. So it survives every rebuild, and is forgotten with the session.

use std::collections::BTreeMap;

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
    /// Of what a build would keep, everything that is a project's own or a stranger's. What skills bring was looked at by their authors.
    pub fn new(kept: &[Example], reviews: &BTreeMap<String, Review>) -> Self {
        let is_own = |example: &&Example| {
            !example.origin.source.starts_with("skill:") && example.origin.variation_of.is_none()
        };
        let waits = |example: &&Example| !is_reviewed(example, reviews);
        Self { waiting: kept.iter().filter(is_own).filter(waits).cloned().collect(), decided: reviews.len() }
    }

    /// How many of the first hundred still wait.
    pub fn asked(&self) -> usize {
        self.waiting.len().min(ASKED_FIRST.saturating_sub(self.decided))
    }
}

/// Whether somebody decided about an example, as it was extracted or as they corrected it.
pub fn is_reviewed(example: &Example, reviews: &BTreeMap<String, Review>) -> bool {
    let is_correction = |review: &Review| {
        review.verdict == ReviewVerdict::Correct
            && review.corrected.is_some()
            && review.corrected == example.chosen
    };
    let original = example.origin.variation_of.as_ref().and_then(|id| reviews.get(id));
    reviews.contains_key(&example.id) || original.is_some() || reviews.values().any(is_correction)
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
