//! The first look at events: which sessions there are, and what is decided in one session about the work of another.
//!
//! A proposal is approved, a file is edited by hand and an example is reviewed in sessions of their own, often days later. What was said and
//! written is not held here, only who said it: events are read a second time, one session after the other.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::homes::{Homes, Move};
use super::{ExtractSettings, PassedOver, Review};
use crate::event::{Event, EventKind, ProposalDecision};
use crate::outcome::{SessionOutcomes, session_outcomes};

#[derive(Default)]
pub(super) struct Survey {
    /// Those with something to learn from.
    sessions: BTreeSet<String>,
    evaluated: BTreeSet<String>,
    forgotten: BTreeSet<String>,
    decisions: BTreeMap<String, (Uuid, ProposalDecision)>,
    confirmed: BTreeMap<String, BTreeSet<Uuid>>,
    reviews: BTreeMap<String, (Uuid, Review)>,
    homes: Homes,
    /// What outcomes follow from: those that were told, and the first event of every session on every branch.
    outcomes: Vec<Event>,
    first: BTreeMap<String, BTreeMap<String, Uuid>>,
    events: usize,
}

/// What holds beyond one session.
pub(super) struct Known {
    /// The last word on each proposal.
    pub decisions: BTreeMap<String, ProposalDecision>,
    /// Proposals that somebody was content with, and the events that say so.
    pub confirmed: BTreeMap<String, BTreeSet<Uuid>>,
    pub reviews: BTreeMap<String, Review>,
    pub outcomes: SessionOutcomes,
    pub events: usize,
    pub passed_over: BTreeMap<PassedOver, usize>,
    /// Corrections that belong to another session.
    pub moves: Vec<Move>,
}

/// Whether an event can be part of an example.
pub(super) fn is_material(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Intent { .. }
            | EventKind::ModelAnswer { .. }
            | EventKind::ToolCall { .. }
            | EventKind::SandboxRun { .. }
            | EventKind::DomainValidation { .. }
            | EventKind::Retry { .. }
            | EventKind::Generation { .. }
            | EventKind::Proposal { .. }
            | EventKind::UserCorrection { .. }
            | EventKind::UserConfirmation { .. }
            | EventKind::UserMessage { .. }
    )
}

impl Survey {
    /// Notes what holds beyond its session, and says whether the event is worth reading again.
    pub(super) fn note(&mut self, event: &Event, settings: &ExtractSettings<'_>) -> bool {
        self.events += 1;
        if settings.forgotten.contains(&event.session) {
            self.forgotten.insert(event.session.clone());
            return false;
        }
        if let Some(branch) = &event.context.branch {
            self.note_branch(&event.session, branch, event.id);
        }
        match &event.kind {
            EventKind::BranchMerged { .. } | EventKind::BranchClosed { .. } => {
                self.outcomes.push(event.clone());
            }
            EventKind::Proposal { proposal, decision, .. } => {
                let last = self.decisions.entry(proposal.clone()).or_insert((event.id, *decision));
                if event.id >= last.0 {
                    *last = (event.id, *decision);
                }
            }
            EventKind::UserConfirmation { subject: Some(subject), .. } => {
                self.confirmed.entry(subject.clone()).or_default().insert(event.id);
            }
            EventKind::ExampleReview { example, verdict, corrected } => {
                let review = Review { verdict: *verdict, corrected: corrected.clone() };
                let last = self.reviews.entry(example.clone()).or_insert((event.id, review.clone()));
                if event.id >= last.0 {
                    *last = (event.id, review);
                }
            }
            EventKind::Evaluation { .. } => {
                self.evaluated.insert(event.session.clone());
            }
            _ => {}
        }
        let is_material = is_material(&event.kind);
        if is_material {
            self.homes.note(event);
            if !self.sessions.contains(&event.session) {
                self.sessions.insert(event.session.clone());
            }
        }
        is_material
    }

    fn note_branch(&mut self, session: &str, branch: &str, id: Uuid) {
        // Nearly always both are known.
        if let Some(first) = self.first.get_mut(session).and_then(|branches| branches.get_mut(branch)) {
            *first = id.min(*first);
            return;
        }
        self.first.entry(session.to_owned()).or_default().insert(branch.to_owned(), id);
    }

    /// The names of the sessions in order, and what is known beyond them.
    pub(super) fn finish(mut self) -> (Vec<String>, Known) {
        let mut passed_over = BTreeMap::new();
        let evaluated = self.evaluated.iter().filter(|name| self.sessions.remove(*name)).count();
        for (reason, count) in
            [(PassedOver::ForgottenSession, self.forgotten.len()), (PassedOver::EvaluationSession, evaluated)]
        {
            if count > 0 {
                passed_over.insert(reason, count);
            }
        }
        for (session, branches) in self.first {
            for (branch, id) in branches {
                let mut event =
                    Event::new(session.as_str(), 0, EventKind::UserMessage { text: String::new() });
                event.id = id;
                event.context.branch = Some(branch);
                self.outcomes.push(event);
            }
        }
        let known = Known {
            outcomes: session_outcomes(&self.outcomes),
            decisions: self.decisions.into_iter().map(|(name, (_, decision))| (name, decision)).collect(),
            confirmed: self.confirmed,
            reviews: self.reviews.into_iter().map(|(name, (_, review))| (name, review)).collect(),
            events: self.events,
            passed_over,
            moves: self.homes.moves(|session| self.sessions.contains(session)),
        };
        (self.sessions.into_iter().collect(), known)
    }
}
