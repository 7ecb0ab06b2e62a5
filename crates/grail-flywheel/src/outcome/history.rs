//! What the events say so far: where somebody worked, which commits are known, which artifacts were kept.
//!
//! Read in one pass and in any order. Code is not held: it is fetched for the few artifacts that a commit changes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use uuid::Uuid;

use super::labels::{Labels, Outcome, SessionOutcomes, is_git_session};
use crate::event::{CorrectionSource, Event, EventKind, ProposalDecision};

/// Whoever can read all events, as often as needed.
pub trait EventSource {
    fn events(&self) -> Box<dyn Iterator<Item = Event> + '_>;
}

impl EventSource for Vec<Event> {
    fn events(&self) -> Box<dyn Iterator<Item = Event> + '_> {
        Box::new(self.iter().cloned())
    }
}

#[derive(Default)]
pub(super) struct History {
    labels: Labels,
    pub branches: BTreeMap<String, BranchHistory>,
    /// Commits that have an event.
    pub commits: HashSet<String>,
    /// The greatest number of each session.
    pub numbers: HashMap<String, u64>,
    /// By the generation and what it was changed to.
    pub edits: HashSet<(Uuid, EditKey)>,
    generations: Vec<Generation>,
    made: HashMap<String, Made>,
    approved: BTreeMap<String, Uuid>,
    reverted: BTreeSet<String>,
}

#[derive(Default)]
pub(super) struct BranchHistory {
    /// When the first event happened that somebody worked there.
    pub since: Option<String>,
    /// Commits with an event, in the order of their events.
    pub commits: BTreeMap<Uuid, String>,
    /// The last commits of the branch when its outcomes were told.
    pub ended: BTreeSet<String>,
}

/// What an edit came to, by its hash; `None` for deleted.
pub(super) type EditKey = Option<[u8; 32]>;

/// A file that a person approved.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub path: String,
    pub session: String,
    pub branch: Option<String>,
    pub generation: Uuid,
}

struct Generation {
    id: Uuid,
    session: String,
    branch: Option<String>,
    path: String,
}

struct Made {
    id: Uuid,
    session: String,
    paths: Vec<String>,
}

impl History {
    pub(super) fn read(source: &dyn EventSource) -> Self {
        let mut history = Self::default();
        source.events().for_each(|event| history.add(event));
        history.generations.sort_by_key(|generation| generation.id);
        history
    }

    pub(super) fn outcomes(&self) -> SessionOutcomes {
        self.labels.sessions_with_outcomes()
    }

    /// The last outcome that was told of a branch.
    pub(super) fn branch_outcome(&self, branch: &str) -> Option<Outcome> {
        self.labels.last_word(branch)
    }

    /// Sessions on a branch with this outcome.
    pub(super) fn sessions(&self, outcomes: &SessionOutcomes, branch: &str, outcome: Outcome) -> Vec<String> {
        let is_meant =
            |((_, name), known): &(&(String, String), &Outcome)| name == branch && **known == outcome;
        outcomes.by_session.iter().filter(is_meant).map(|((session, _), _)| session.clone()).collect()
    }

    fn add(&mut self, event: Event) {
        self.labels.add(&event);
        let number = self.numbers.entry(event.session.clone()).or_default();
        *number = event.number.max(*number);
        if let Some(branch) = event.context.branch.as_ref().filter(|_| !is_git_session(&event.session)) {
            let since = &mut self.branches.entry(branch.clone()).or_default().since;
            if since.as_ref().is_none_or(|since| event.at < *since) {
                *since = Some(event.at.clone());
            }
        }
        let (id, session, branch) = (event.id, event.session, event.context.branch);
        match event.kind {
            EventKind::Commit { commit, .. } => {
                if let Some(branch) = branch {
                    self.branches.entry(branch).or_default().commits.insert(id, commit.clone());
                }
                self.commits.insert(commit);
            }
            EventKind::BranchMerged { merged: branch, tip: Some(tip), .. }
            | EventKind::BranchClosed { closed: branch, tip: Some(tip), .. } => {
                self.branches.entry(branch).or_default().ended.insert(tip);
            }
            EventKind::Generation { path, .. } if !path.is_empty() => {
                self.generations.push(Generation { id, session, branch, path });
            }
            EventKind::Proposal { proposal, decision, paths, .. } => match decision {
                ProposalDecision::Made => {
                    self.made.insert(proposal, Made { id, session, paths });
                }
                ProposalDecision::Approved => {
                    self.approved.insert(proposal, id);
                }
                ProposalDecision::Reverted => {
                    self.reverted.insert(proposal);
                }
                ProposalDecision::Rejected => {}
            },
            EventKind::UserCorrection { source: CorrectionSource::HandEdit, corrected, .. } => {
                if let Some(generation) = event.parent {
                    self.edits.insert((generation, edit_key(corrected.as_deref())));
                }
            }
            _ => {}
        }
    }

    /// The files of approved proposals, oldest first; one path may have been generated several times.
    pub(super) fn kept(&self) -> Vec<Kept> {
        let mut kept: BTreeMap<Uuid, Kept> = BTreeMap::new();
        for (proposal, approved) in self.approved.iter().filter(|(id, _)| !self.reverted.contains(*id)) {
            let Some(made) = self.made.get(proposal) else { continue };
            for path in &made.paths {
                let last = |before: Uuid| {
                    let is_it = |generation: &&Generation| {
                        generation.path == *path
                            && generation.session == made.session
                            && generation.id < before
                    };
                    self.generations.iter().rev().find(is_it)
                };
                // Whoever made the proposal may have told of the artifact a moment later.
                if let Some(generation) = last(made.id).or_else(|| last(*approved)) {
                    let Generation { id, session, branch, path } = generation;
                    let (path, session, branch) = (path.clone(), session.clone(), branch.clone());
                    kept.insert(*id, Kept { path, session, branch, generation: *id });
                }
            }
        }
        kept.into_values().collect()
    }
}

pub(super) fn edit_key(corrected: Option<&str>) -> EditKey {
    corrected.map(|text| *blake3::hash(text.as_bytes()).as_bytes())
}

/// The code of generations, in a second pass.
pub(super) fn codes(source: &dyn EventSource, wanted: &HashSet<Uuid>) -> HashMap<Uuid, String> {
    let mut codes = HashMap::new();
    if wanted.is_empty() {
        return codes;
    }
    for event in source.events().filter(|event| wanted.contains(&event.id)) {
        if let EventKind::Generation { code, .. } = event.kind {
            codes.insert(event.id, code);
        }
    }
    codes
}
