//! The way of one artifact through a session: its attempts, how it ended, and what people thought of it.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::survey::Known;
use crate::event::{Event, EventContext, EventKind, Problem, ProposalDecision};

/// One artifact from the first attempt to the last.
pub(super) struct Work<'e> {
    pub artifact: &'e str,
    pub path: &'e str,
    pub request: &'e str,
    /// Those that failed, in their order.
    pub attempts: Vec<Attempt<'e>>,
    /// The code that passed, as it was kept.
    pub code: Option<&'e str>,
    /// What is still said of that code.
    pub left: &'e [Problem],
    pub had_retries: bool,
    /// Positions in the session.
    pub start: usize,
    pub end: usize,
    pub context: &'e EventContext,
    pub events: Vec<Uuid>,
    pub proposal: Option<&'e str>,
    pub standing: Standing,
    /// Who said so.
    pub judged_by: Vec<Uuid>,
    /// Its code is the better half of a correction.
    pub is_correction: bool,
}

/// What people made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Unknown,
    /// Approved or confirmed.
    Liked,
    Corrected,
    /// Rejected or reverted.
    Refused,
}

pub(super) struct Attempt<'e> {
    pub code: &'e str,
    pub problems: &'e [Problem],
}

/// A chain that has not ended.
struct Open<'e> {
    work: Work<'e>,
    attempt: u32,
}

/// All that was made in a session, in the order in which it began.
pub(super) fn works(events: &[Event]) -> Vec<Work<'_>> {
    let mut works: Vec<Work<'_>> = Vec::new();
    let mut open: BTreeMap<&str, Open<'_>> = BTreeMap::new();
    // Where nobody says how generating went, the checks themselves do.
    let told: BTreeSet<&str> = events.iter().filter_map(|event| told_path(&event.kind)).collect();
    for (position, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::Retry { query, artifact, path, attempt, problems, original, corrected, passed } => {
                let continues = open.get(path.as_str()).is_some_and(|open| open.attempt < *attempt);
                if !continues && let Some(abandoned) = open.remove(path.as_str()) {
                    works.push(abandoned.work);
                }
                let chain = open.entry(path).or_insert_with(|| Open {
                    work: Work::new(event, position, artifact, path, query),
                    attempt: 0,
                });
                chain.attempt = *attempt;
                chain.work.attempts.push(Attempt { code: original, problems });
                chain.work.had_retries = true;
                chain.work.code = passed.then_some(corrected);
                chain.work.note(event, position);
            }
            EventKind::Generation {
                artifact,
                request,
                code,
                validated,
                types,
                tests,
                problems,
                retries,
                path,
                ..
            } => {
                let mut work = match open.remove(path.as_str()) {
                    Some(open) => open.work,
                    None => Work::new(event, position, artifact, path, request),
                };
                let passed = *validated && *types != Some(false) && *tests != Some(false);
                work.code = passed.then_some(code);
                work.left = problems;
                work.had_retries |= *retries > 0;
                if !request.trim().is_empty() {
                    work.request = request;
                }
                work.note(event, position);
                works.push(work);
            }
            EventKind::DomainValidation { artifact, path, code, passed, problems, .. }
                if !told.contains(path.as_str()) =>
            {
                let chain = open.entry(path).or_insert_with(|| Open {
                    work: Work::new(event, position, artifact, path, ""),
                    attempt: 0,
                });
                chain.work.note(event, position);
                match passed {
                    true => {
                        chain.work.code = Some(code);
                        chain.work.left = problems;
                        works.extend(open.remove(path.as_str()).map(|open| open.work));
                    }
                    false => {
                        chain.work.attempts.push(Attempt { code, problems });
                        chain.work.had_retries = true;
                    }
                }
            }
            _ => {}
        }
    }
    works.extend(open.into_values().map(|open| open.work));
    works.sort_by_key(|work| (work.start, work.end));
    works
}

/// What the proposals that the work went into came to, and what was said right after it.
pub(super) fn decide<'e>(works: &mut [Work<'e>], events: &'e [Event], known: &Known) {
    for (position, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::Proposal { proposal, decision: ProposalDecision::Made, paths, .. } => {
                let is_part = |work: &&mut Work<'_>| {
                    let is_named = paths.is_empty() || paths.iter().any(|path| path == work.path);
                    work.end < position && work.proposal.is_none() && is_named
                };
                for work in works.iter_mut().filter(is_part) {
                    work.proposal = Some(proposal);
                }
            }
            EventKind::UserConfirmation { subject: None, .. } => {
                let last = works.iter_mut().filter(|work| work.end < position).max_by_key(|work| work.end);
                if let Some(work) = last {
                    work.judge(Standing::Liked, event.id);
                }
            }
            _ => {}
        }
    }
    for work in works.iter_mut() {
        let Some(proposal) = work.proposal else { continue };
        match known.decisions.get(proposal) {
            Some(ProposalDecision::Approved) => work.standing = work.standing.max(Standing::Liked),
            Some(ProposalDecision::Rejected | ProposalDecision::Reverted) => {
                work.standing = Standing::Refused;
            }
            Some(ProposalDecision::Made) | None => {}
        }
        for said in known.confirmed.get(proposal).into_iter().flatten() {
            work.judge(Standing::Liked, *said);
        }
    }
}

impl<'e> Work<'e> {
    fn new(event: &'e Event, position: usize, artifact: &'e str, path: &'e str, request: &'e str) -> Self {
        Self {
            artifact,
            path,
            request,
            attempts: Vec::new(),
            code: None,
            left: &[],
            had_retries: false,
            start: position,
            end: position,
            context: &event.context,
            events: Vec::new(),
            proposal: None,
            standing: Standing::Unknown,
            judged_by: Vec::new(),
            is_correction: false,
        }
    }

    fn note(&mut self, event: &'e Event, position: usize) {
        self.end = position;
        self.context = &event.context;
        self.events.push(event.id);
    }

    /// The worst that is said holds.
    pub(super) fn judge(&mut self, standing: Standing, by: Uuid) {
        self.standing = self.standing.max(standing);
        self.judged_by.push(by);
    }

    /// Whether there is something to build on: it passed, and nobody sent it back.
    pub(super) fn is_good(&self) -> bool {
        self.code.is_some() && self.standing < Standing::Corrected
    }
}

fn told_path(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::Retry { path, .. } | EventKind::Generation { path, .. } => Some(path),
        _ => None,
    }
}
