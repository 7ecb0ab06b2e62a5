//! The first look at events: which session each belongs to, and what is decided in one session about the work of another.
//!
//! A proposal is approved, a file is edited by hand and an example is reviewed in sessions of their own, often days later.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use uuid::Uuid;

use super::{ExtractSettings, PassedOver, Review};
use crate::event::{Event, EventKind, ProposalDecision};
use crate::outcome::{SessionOutcomes, session_outcomes};

#[derive(Default)]
pub(super) struct Survey {
    sessions: BTreeMap<String, Vec<Event>>,
    evaluated: BTreeSet<String>,
    forgotten: BTreeSet<String>,
    decisions: BTreeMap<String, (Uuid, ProposalDecision)>,
    confirmed: BTreeMap<String, BTreeSet<Uuid>>,
    reviews: BTreeMap<String, (Uuid, Review)>,
    /// What outcomes follow from: those that were told, and the first event of every session on every branch.
    outcomes: Vec<Event>,
    first: BTreeMap<(String, String), Uuid>,
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
    pub sessions: usize,
    pub events: usize,
    pub passed_over: BTreeMap<PassedOver, usize>,
}

impl Survey {
    pub(super) fn add(&mut self, event: Event, settings: &ExtractSettings<'_>) {
        self.events += 1;
        if settings.forgotten.contains(&event.session) {
            self.forgotten.insert(event.session);
            return;
        }
        if let Some(branch) = &event.context.branch {
            let key = (event.session.clone(), branch.clone());
            let first = self.first.entry(key).or_insert(event.id);
            *first = event.id.min(*first);
        }
        match &event.kind {
            EventKind::BranchMerged { .. } | EventKind::BranchClosed { .. } => {
                self.outcomes.push(event);
                return;
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
                return;
            }
            EventKind::Evaluation { .. } => {
                self.evaluated.insert(event.session);
                return;
            }
            EventKind::Intent { .. }
            | EventKind::ModelAnswer { .. }
            | EventKind::ToolCall { .. }
            | EventKind::SandboxRun { .. }
            | EventKind::DomainValidation { .. }
            | EventKind::Retry { .. }
            | EventKind::Generation { .. }
            | EventKind::UserCorrection { .. }
            | EventKind::UserConfirmation { .. }
            | EventKind::UserMessage { .. } => {}
            _ => return,
        }
        match self.sessions.get_mut(&event.session) {
            Some(events) => events.push(event),
            None => drop(self.sessions.insert(event.session.clone(), vec![event])),
        }
    }

    /// The sessions by name with their events in order, each once.
    pub(super) fn finish(mut self) -> (Vec<(String, Vec<Event>)>, Known) {
        let mut passed_over = BTreeMap::new();
        let evaluated = self.evaluated.iter().filter(|name| self.sessions.remove(*name).is_some()).count();
        for (reason, count) in
            [(PassedOver::ForgottenSession, self.forgotten.len()), (PassedOver::EvaluationSession, evaluated)]
        {
            if count > 0 {
                passed_over.insert(reason, count);
            }
        }
        for events in self.sessions.values_mut() {
            events.sort_by_key(|event| (event.number, event.id));
            let mut seen = FxHashSet::default();
            events.retain(|event| seen.insert(event.id));
        }
        self.send_corrections_home();
        for ((session, branch), id) in self.first {
            let mut event = Event::new(session, 0, EventKind::UserMessage { text: String::new() });
            event.id = id;
            event.context.branch = Some(branch);
            self.outcomes.push(event);
        }
        let known = Known {
            outcomes: session_outcomes(&self.outcomes),
            decisions: self.decisions.into_iter().map(|(name, (_, decision))| (name, decision)).collect(),
            confirmed: self.confirmed,
            reviews: self.reviews.into_iter().map(|(name, (_, review))| (name, review)).collect(),
            sessions: self.sessions.len(),
            events: self.events,
            passed_over,
        };
        (self.sessions.into_iter().collect(), known)
    }

    /// A correction of code that another session made belongs to that session, behind everything else that happened there.
    fn send_corrections_home(&mut self) {
        let mut by_event: FxHashMap<Uuid, &str> = FxHashMap::default();
        let mut by_code: FxHashMap<blake3::Hash, (Uuid, &str)> = FxHashMap::default();
        let mut by_proposal: FxHashMap<&str, &str> = FxHashMap::default();
        let mut corrections: Vec<(&str, &Event)> = Vec::new();
        for (name, events) in &self.sessions {
            for event in events {
                match &event.kind {
                    EventKind::Generation { code, .. } => {
                        by_event.insert(event.id, name);
                        let made = by_code.entry(blake3::hash(code.as_bytes())).or_insert((event.id, name));
                        if event.id > made.0 {
                            *made = (event.id, name);
                        }
                    }
                    EventKind::Proposal { proposal, decision: ProposalDecision::Made, .. } => {
                        by_event.insert(event.id, name);
                        by_proposal.insert(proposal, name);
                    }
                    EventKind::UserCorrection { .. } => corrections.push((name, event)),
                    _ => {}
                }
            }
        }
        let mut moves: Vec<(String, String, Uuid)> = Vec::new();
        for (name, event) in corrections {
            let EventKind::UserCorrection { subject, original, .. } = &event.kind else { continue };
            let by_parent = event.parent.and_then(|parent| by_event.get(&parent).copied());
            let by_subject = || subject.as_deref().and_then(|subject| by_proposal.get(subject).copied());
            let by_original = || {
                let original = original.as_deref()?;
                by_code.get(&blake3::hash(original.as_bytes())).map(|(_, home)| *home)
            };
            let home = by_parent.or_else(by_subject).or_else(by_original).unwrap_or(name);
            if home != name {
                moves.push((name.to_owned(), home.to_owned(), event.id));
            }
        }
        moves.sort_by(|one, other| (&one.1, one.2).cmp(&(&other.1, other.2)));
        for (from, to, id) in moves {
            let Some(events) = self.sessions.get_mut(&from) else { continue };
            let Some(position) = events.iter().position(|event| event.id == id) else { continue };
            let event = events.remove(position);
            self.sessions.entry(to).or_default().push(event);
        }
    }
}
