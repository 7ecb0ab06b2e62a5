//! What became of the work: branches and sessions with their outcomes, from events alone.
//!
//! An outcome names the sessions it is about, so neither clocks nor the order of files decide. One that names none (sent by another program,
//! or older) is about the sessions of its branch that came before it and have no outcome yet.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::event::{Event, EventKind};

/// Sessions that tell what git did begin with this; nobody works in them.
pub const GIT_SESSION_PREFIX: &str = "git-";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It shipped.
    Merged,
    /// It was given up.
    Closed,
    /// Nobody knows yet.
    #[default]
    Open,
}

/// The outcome of every branch that somebody worked on or spoke of: that of its last session, so a branch whose name is used again is open
/// again. Merged beats closed.
pub fn branch_outcomes<E: Borrow<Event>>(events: impl IntoIterator<Item = E>) -> BTreeMap<String, Outcome> {
    let labels = read(events);
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    for word in labels.words.values() {
        let outcome = outcomes.entry(word.branch.clone()).or_default();
        if *outcome != Outcome::Merged {
            *outcome = word.outcome;
        }
    }
    let sessions = labels.sessions_with_outcomes().by_session;
    let mut newest: BTreeMap<&str, (Uuid, Outcome)> = BTreeMap::new();
    for (key, outcome) in &sessions {
        let first = labels.sessions.get(key).copied().unwrap_or_default();
        let newest = newest.entry(&key.1).or_insert((first, *outcome));
        *newest = (*newest).max((first, *outcome));
    }
    outcomes.extend(newest.into_iter().map(|(branch, (_, outcome))| (branch.to_owned(), outcome)));
    outcomes
}

/// The outcome of every session on every branch it worked on.
pub fn session_outcomes<E: Borrow<Event>>(events: impl IntoIterator<Item = E>) -> SessionOutcomes {
    read(events).sessions_with_outcomes()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionOutcomes {
    /// By session and branch.
    pub by_session: BTreeMap<(String, String), Outcome>,
}

impl SessionOutcomes {
    /// Work without a branch has no outcome.
    pub fn of(&self, session: &str, branch: Option<&str>) -> Outcome {
        let key = branch.map(|branch| (session.to_owned(), branch.to_owned()));
        key.and_then(|key| self.by_session.get(&key).copied()).unwrap_or_default()
    }
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Closed => "closed",
            Self::Open => "open",
        }
    }
}

/// One outcome that was told.
struct Word {
    id: Uuid,
    branch: String,
    outcome: Outcome,
    sessions: BTreeSet<String>,
}

#[derive(Default)]
pub(super) struct Labels {
    /// In the order of their ids.
    words: BTreeMap<Uuid, Word>,
    /// By session and branch, its first event.
    sessions: BTreeMap<(String, String), Uuid>,
}

fn read<E: Borrow<Event>>(events: impl IntoIterator<Item = E>) -> Labels {
    let mut labels = Labels::default();
    events.into_iter().for_each(|event| labels.add(event.borrow()));
    labels
}

pub(super) fn is_git_session(session: &str) -> bool {
    session.starts_with(GIT_SESSION_PREFIX)
}

impl Labels {
    pub(super) fn add(&mut self, event: &Event) {
        let word = match &event.kind {
            EventKind::BranchMerged { merged, sessions, .. } => Some((merged, Outcome::Merged, sessions)),
            EventKind::BranchClosed { closed, sessions, .. } => Some((closed, Outcome::Closed, sessions)),
            _ => None,
        };
        if let Some((branch, outcome, sessions)) = word {
            let sessions = sessions.iter().cloned().collect();
            self.words.insert(event.id, Word { id: event.id, branch: branch.clone(), outcome, sessions });
        } else if let Some(branch) = event.context.branch.as_ref().filter(|_| !is_git_session(&event.session))
        {
            let first = self.sessions.entry((event.session.clone(), branch.clone())).or_insert(event.id);
            *first = event.id.min(*first);
        }
    }

    pub(super) fn last_word(&self, branch: &str) -> Option<Outcome> {
        self.words.values().rev().find(|word| word.branch == branch).map(|word| word.outcome)
    }

    pub(super) fn sessions_with_outcomes(&self) -> SessionOutcomes {
        let mut by_session: BTreeMap<(String, String), Outcome> =
            self.sessions.keys().map(|key| (key.clone(), Outcome::Open)).collect();
        for word in self.words.values() {
            let meant: Vec<(String, String)> = match word.sessions.is_empty() {
                false => word.sessions.iter().map(|session| (session.clone(), word.branch.clone())).collect(),
                true => self.unnamed(word, &by_session),
            };
            for key in meant {
                if let Some(outcome) = by_session.get_mut(&key).filter(|outcome| **outcome != Outcome::Merged)
                {
                    *outcome = word.outcome;
                }
            }
        }
        SessionOutcomes { by_session }
    }

    /// The sessions of the branch that came before and have no outcome; if all have one and this says that it was merged after all, those
    /// that were closed.
    fn unnamed(&self, word: &Word, known: &BTreeMap<(String, String), Outcome>) -> Vec<(String, String)> {
        let with = |wanted: Outcome| -> Vec<(String, String)> {
            let is_meant = |(key, first): &(&(String, String), &Uuid)| {
                key.1 == word.branch && **first < word.id && known.get(key) == Some(&wanted)
            };
            self.sessions.iter().filter(is_meant).map(|(key, _)| key.clone()).collect()
        };
        let open = with(Outcome::Open);
        match open.is_empty() && word.outcome == Outcome::Merged {
            true => with(Outcome::Closed),
            false => open,
        }
    }
}
