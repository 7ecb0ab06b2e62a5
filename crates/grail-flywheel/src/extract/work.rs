//! The way of one artifact through a session: its attempts, how it ended, and what people thought of it.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::survey::Known;
use crate::event::{Event, EventContext, EventKind, Problem, ProposalDecision};

/// Who works on more things at once has given the first of them up.
const MAX_OPEN: usize = 64;

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
    /// What was tried last.
    tried: &'e str,
}

/// All that was made in a session, in the order in which it began.
pub(super) fn works(events: &[Event]) -> Vec<Work<'_>> {
    let mut works: Vec<Work<'_>> = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    // Where nobody says how generating went, the checks themselves do.
    let told: BTreeSet<&str> = events.iter().filter_map(|event| told_path(&event.kind)).collect();
    for (position, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::Retry { query, artifact, path, attempt, problems, original, corrected, passed } => {
                let mut chain = continued(&mut open, &mut works, path, *attempt, original)
                    .unwrap_or_else(|| Open::new(event, position, artifact, path, query));
                chain.attempt = *attempt;
                chain.tried = corrected;
                chain.work.path = path;
                chain.work.attempts.push(Attempt { code: original, problems });
                chain.work.had_retries = true;
                chain.work.code = passed.then_some(corrected);
                chain.work.note(event, position);
                open.push(chain);
                if open.len() > MAX_OPEN {
                    works.push(open.remove(0).work);
                }
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
                let mut work = match take_at(&mut open, path) {
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
                let mut chain = take_at(&mut open, path)
                    .unwrap_or_else(|| Open::new(event, position, artifact, path, ""));
                chain.work.note(event, position);
                if *passed {
                    chain.work.code = Some(code);
                    chain.work.left = problems;
                    works.push(chain.work);
                } else {
                    chain.work.attempts.push(Attempt { code, problems });
                    chain.work.had_retries = true;
                    open.push(chain);
                }
            }
            _ => {}
        }
    }
    works.extend(open.into_iter().map(|open| open.work));
    works.sort_by_key(|work| (work.start, work.end));
    works
}

/// The chain that another attempt goes on with: the one whose last code it mends, wherever that was meant to be, or the one at its path.
fn continued<'e>(
    open: &mut Vec<Open<'e>>,
    works: &mut Vec<Work<'e>>,
    path: &str,
    attempt: u32,
    original: &str,
) -> Option<Open<'e>> {
    let goes_on = |chain: &Open<'_>| chain.attempt < attempt;
    let mends = open.iter().rposition(|chain| goes_on(chain) && chain.tried == original);
    let at_path = || open.iter().rposition(|chain| goes_on(chain) && chain.work.path == path);
    if let Some(place) = mends.or_else(at_path) {
        return Some(open.remove(place));
    }
    // A new chain at the same path: the old one has ended.
    works.extend(take_at(open, path).map(|open| open.work));
    None
}

fn take_at<'e>(open: &mut Vec<Open<'e>>, path: &str) -> Option<Open<'e>> {
    let place = open.iter().rposition(|chain| chain.work.path == path)?;
    Some(open.remove(place))
}

/// What the proposals that the work went into came to, and what was said right after it.
pub(super) fn decide<'e>(works: &mut [Work<'e>], events: &'e [Event], known: &Known) {
    let by_end = by_end(works);
    let mut without_proposal = 0;
    for (position, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::Proposal { proposal, decision: ProposalDecision::Made, paths, .. } => {
                // A proposal is about what was finished since the one before it.
                let before = by_end.partition_point(|(end, _)| *end < position);
                for (_, index) in &by_end[without_proposal.min(before)..before] {
                    let work = &mut works[*index];
                    if paths.is_empty() || paths.iter().any(|path| path == work.path) {
                        work.proposal = Some(proposal);
                    }
                }
                without_proposal = before;
            }
            EventKind::UserConfirmation { subject: None, .. } => {
                let before = by_end.partition_point(|(end, _)| *end < position);
                if let Some((_, last)) = by_end[..before].last() {
                    works[*last].judge(Standing::Liked, event.id);
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

/// Ends and indices of works, in the order of their ends.
pub(super) fn by_end(works: &[Work<'_>]) -> Vec<(usize, usize)> {
    let mut ends: Vec<(usize, usize)> =
        works.iter().enumerate().map(|(index, work)| (work.end, index)).collect();
    ends.sort_unstable();
    ends
}

impl<'e> Open<'e> {
    fn new(event: &'e Event, position: usize, artifact: &'e str, path: &'e str, request: &'e str) -> Self {
        Self { work: Work::new(event, position, artifact, path, request), attempt: 0, tried: "" }
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
