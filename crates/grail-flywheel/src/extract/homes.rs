//! Whose work a correction is about: a file that one session made is often put right in another.
//!
//! Code is remembered by its hash, so that knowing all of it takes little room.

use rustc_hash::{FxHashMap, FxHashSet};
use uuid::Uuid;

use crate::event::{Event, EventKind, ProposalDecision};

/// A correction that belongs to another session, behind everything else that happened there.
pub(super) struct Move {
    pub from: String,
    pub to: String,
    pub event: Uuid,
}

#[derive(Default)]
pub(super) struct Homes {
    names: Vec<String>,
    numbers: FxHashMap<String, u32>,
    by_event: FxHashMap<Uuid, u32>,
    /// The last time that code was made.
    by_code: FxHashMap<blake3::Hash, (Uuid, u32)>,
    by_proposal: FxHashMap<String, u32>,
    corrections: Vec<Correction>,
}

struct Correction {
    session: u32,
    event: Uuid,
    parent: Option<Uuid>,
    subject: Option<String>,
    original: Option<blake3::Hash>,
}

impl Homes {
    pub(super) fn note(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Generation { code, .. } => {
                let session = self.number(&event.session);
                self.by_event.insert(event.id, session);
                let made = self.by_code.entry(blake3::hash(code.as_bytes())).or_insert((event.id, session));
                if event.id > made.0 {
                    *made = (event.id, session);
                }
            }
            EventKind::Proposal { proposal, decision: ProposalDecision::Made, .. } => {
                let session = self.number(&event.session);
                self.by_event.insert(event.id, session);
                // Whatever order they are read in, the same session is meant.
                let known = self.by_proposal.entry(proposal.clone()).or_insert(session);
                if self.names[session as usize] > self.names[*known as usize] {
                    *known = session;
                }
            }
            EventKind::UserCorrection { subject, original, .. } => {
                let session = self.number(&event.session);
                self.corrections.push(Correction {
                    session,
                    event: event.id,
                    parent: event.parent,
                    subject: subject.clone(),
                    original: original.as_deref().map(|code| blake3::hash(code.as_bytes())),
                });
            }
            _ => {}
        }
    }

    /// The corrections that have their home elsewhere, in the order in which they go there. Only sessions that `is_learned` knows count.
    pub(super) fn moves(&self, is_learned: impl Fn(&str) -> bool) -> Vec<Move> {
        let name = |session: u32| self.names[session as usize].as_str();
        let learned = |session: u32| is_learned(name(session)).then_some(session);
        let mut seen: FxHashSet<Uuid> = FxHashSet::default();
        let mut moves = Vec::new();
        for correction in &self.corrections {
            if learned(correction.session).is_none() || !seen.insert(correction.event) {
                continue;
            }
            let by_parent = || correction.parent.and_then(|parent| self.by_event.get(&parent).copied());
            let by_subject = || self.by_proposal.get(correction.subject.as_deref()?).copied();
            let by_code = || self.by_code.get(&correction.original?).map(|(_, home)| *home);
            let home = by_parent()
                .and_then(learned)
                .or_else(|| by_subject().and_then(learned))
                .or_else(|| by_code().and_then(learned));
            if let Some(home) = home.filter(|home| *home != correction.session) {
                moves.push(Move {
                    from: name(correction.session).to_owned(),
                    to: name(home).to_owned(),
                    event: correction.event,
                });
            }
        }
        moves.sort_by(|one, other| (&one.to, one.event).cmp(&(&other.to, other.event)));
        moves
    }

    fn number(&mut self, session: &str) -> u32 {
        if let Some(number) = self.numbers.get(session) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(session.to_owned());
        self.numbers.insert(session.to_owned(), number);
        number
    }
}
