//! What is remembered of an installed skill: one file, always replaced as a whole.
//!
//! Which version is the current one, in which state it is, what its last good version was, how its health checks went and which
//! capabilities somebody accepted are written together, so that no two of them can ever disagree.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use semver::Version;
use serde::{Deserialize, Serialize};

use super::problem::LifecycleProblem;
use super::state::State;
use crate::error::SkillError;
use crate::runnable::Capability;

/// The format of the file; another one is not read.
pub(super) const FORMAT: u32 = 1;

/// What is remembered of one skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub(super) format: u32,
    pub id: String,
    /// The version that is there. Only while the first install is under way is there none.
    pub current: Option<Installed>,
    /// A version on trial: it becomes the current one, or goes.
    pub candidate: Option<Installed>,
    /// The version before the current one that was active and never failed.
    pub last_good: Option<Installed>,
    pub health: Health,
    /// What somebody accepted, for one content.
    pub accepted: Option<Accepted>,
    /// The highest number that was given to a version. Numbers are never given twice.
    pub(super) last_number: u32,
}

/// One version of a skill as it was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Installed {
    /// Its number among the installs of this skill, and the name of its folder.
    pub number: u32,
    pub version: Version,
    /// Over every file.
    pub hash: String,
    pub state: State,
    /// Seconds since 1970.
    pub since: u64,
    /// Why it is in this state, if anybody said.
    pub reason: Option<String>,
    /// It passed its handshake and has not failed since.
    pub is_good: bool,
    /// Where it was installed from.
    pub source: PathBuf,
    /// What its code can do.
    pub capabilities: BTreeSet<Capability>,
}

/// How the health checks of the current version went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// Failed checks since the last one that passed.
    pub failures: u32,
    /// When the last check was, in seconds since 1970.
    pub checked: Option<u64>,
    /// What the last failure was.
    pub problem: Option<String>,
}

/// Capabilities that somebody accepted although the manifest does not declare them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// The content they were accepted for; another one asks again.
    pub hash: String,
    pub capabilities: BTreeSet<Capability>,
}

impl Record {
    pub(super) fn new(id: &str) -> Self {
        Self {
            format: FORMAT,
            id: id.to_owned(),
            current: None,
            candidate: None,
            last_good: None,
            health: Health::default(),
            accepted: None,
            last_number: 0,
        }
    }

    /// The numbers of the versions that something still refers to.
    pub(super) fn numbers(&self) -> BTreeSet<u32> {
        [&self.current, &self.candidate, &self.last_good]
            .into_iter()
            .flatten()
            .map(|one| one.number)
            .collect()
    }

    /// What an interrupted install leaves is dropped: the version on trial never became the current one.
    pub(super) fn recover(&mut self) -> bool {
        self.candidate.take().is_some()
    }

    /// The current version, to change it.
    pub(super) fn current_mut(&mut self) -> Result<&mut Installed, SkillError> {
        let id = &self.id;
        self.current
            .as_mut()
            .ok_or_else(|| LifecycleProblem::NotInstalled { id: id.clone(), known: Vec::new() }.into())
    }

    /// Puts the version on trial into the place of the current one, which is kept if it is good.
    pub(super) fn promote(&mut self, candidate: Installed) {
        let previous = self.current.replace(candidate);
        let number = self.current.as_ref().map(|one| one.number);
        if let Some(previous) = previous.filter(|previous| previous.is_good) {
            self.last_good = Some(previous);
        }
        // Rolling back brings the last good version itself; it is not its own predecessor.
        if self.last_good.as_ref().map(|one| one.number) == number {
            self.last_good = None;
        }
        self.health = Health::default();
    }
}

impl Installed {
    /// Moves to another state, if there is such a move.
    pub(super) fn move_to(&mut self, id: &str, to: State, reason: Option<String>) -> Result<(), SkillError> {
        if !self.state.allows(to) {
            return Err(LifecycleProblem::MoveNotAllowed { id: id.to_owned(), from: self.state, to }.into());
        }
        self.state = to;
        self.since = now();
        self.reason = reason.map(|reason| shortened(&reason));
        match to {
            State::Active => self.is_good = true,
            // What failed must never come back as the version to return to.
            State::Quarantined => self.is_good = false,
            _ => {}
        }
        Ok(())
    }
}

/// As much of a text of others as is worth remembering.
pub(super) fn shortened(text: &str) -> String {
    const MAX_CHARACTERS: usize = 1_000;
    text.chars().take(MAX_CHARACTERS).collect()
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
