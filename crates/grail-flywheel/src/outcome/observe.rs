//! Looks at the repository and says what is not told yet: commits, edits by hand, outcomes.
//!
//! State is compared with events, never the other way round: looking twice finds nothing twice, and whatever happened while nobody looked is
//! found later, with hooks or without. A project without a repository, or without git, has nothing to tell.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use grail_code::{Source, parse_module};
use grail_rules::Suppressions;
use jiff::Timestamp;
use uuid::Uuid;

use super::branches::{Candidate, Fate, fate, integration_branches};
use super::edits::{Edit, compare};
use super::history::{EventSource, History, Kept, codes, edit_key};
use super::labels::{GIT_SESSION_PREFIX, Outcome};
use super::notes::{self, Note};
use super::repository::{ChangedFile, CommitFacts, Refs, Repository};
use crate::event::{CorrectionSource, Event, EventKind};

/// A commit may carry a time from a little before the work that it keeps: clocks of git count seconds.
const SLACK_SECONDS: i64 = 60;
/// Commits of one branch that are looked at.
const MAX_COMMITS: usize = 500;
/// How far back the end of an earlier branch of the same name is looked at.
const MAX_ENDED: usize = 5000;
/// One artifact tells of so many edits.
const MAX_EDITS: usize = 3;
/// Paths of one commit that are told.
const MAX_PATHS: usize = 1000;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// Whether there is a repository that can be asked.
    pub has_repository: bool,
    /// What is not told yet, in order. The caller keeps it.
    pub events: Vec<Event>,
}

/// Looks at the repository of the project at `root`. `kept_as` is what is done to a text before it is kept.
pub fn observe(root: &Path, source: &dyn EventSource, kept_as: &dyn Fn(&str) -> String) -> Observation {
    let Some(repository) = Repository::of(root) else { return Observation::default() };
    let history = History::read(source);
    let mut look = Look::new(&repository, &history);
    look.commits();
    look.edits(source, kept_as);
    look.outcomes();
    Observation { has_repository: true, events: look.events }
}

/// The session that tells what git did on a day.
pub(super) fn git_session(seconds: i64) -> String {
    let time = Timestamp::from_second(seconds).unwrap_or_else(|_| Timestamp::now());
    format!("{GIT_SESSION_PREFIX}{}", time.strftime("%Y%m%d"))
}

struct Look<'l> {
    repository: &'l Repository,
    history: &'l History,
    refs: Refs,
    notes: Vec<Note>,
    integration: Vec<String>,
    /// Commits in the order in which they were made, as far as that is known, with the branch.
    made: Vec<(Option<String>, String)>,
    facts: HashMap<String, CommitFacts>,
    numbers: HashMap<String, u64>,
    events: Vec<Event>,
}

impl<'l> Look<'l> {
    fn new(repository: &'l Repository, history: &'l History) -> Self {
        let refs = repository.refs();
        let notes = notes::read(&repository.common);
        let is_merge = |note: &&Note| note.hook == "post-merge";
        let seen: BTreeSet<String> =
            notes.iter().filter(is_merge).filter_map(|note| note.branch.clone()).collect();
        let integration = integration_branches(&refs, &seen);
        let numbers = history.numbers.clone();
        let mut look = Self {
            repository,
            history,
            refs,
            notes,
            integration,
            made: Vec::new(),
            facts: HashMap::new(),
            numbers,
            events: Vec::new(),
        };
        look.made = look.commits_made();
        look.facts =
            repository.facts(&look.made.iter().map(|(_, commit)| commit.clone()).collect::<Vec<_>>());
        look.made.retain(|(branch, commit)| is_since(history, branch.as_deref(), look.facts.get(commit)));
        look
    }

    /// Commits on branches that somebody worked on: by the log of `HEAD`, by the notes of hooks, by what only the branch has.
    fn commits_made(&self) -> Vec<(Option<String>, String)> {
        let mut all = self.repository.head_log();
        let is_commit = |note: &&Note| {
            note.branch.is_some() && matches!(note.hook.as_str(), "post-commit" | "post-rewrite")
        };
        all.extend(self.notes.iter().filter(is_commit).map(|note| (note.branch.clone(), note.head.clone())));
        for branch in self.history.branches.keys() {
            let rank =
                self.integration.iter().position(|name| name == branch).unwrap_or(self.integration.len());
            let below: Vec<&str> = self.integration[..rank]
                .iter()
                .flat_map(|name| {
                    self.refs.local(name).into_iter().chain(self.refs.remote(name).map(|(_, commit)| commit))
                })
                .collect();
            let tip = self.refs.local(branch).filter(|_| !below.is_empty());
            let own = tip.map(|tip| self.repository.list(tip, &below, MAX_COMMITS, &[])).unwrap_or_default();
            all.extend(own.into_iter().map(|commit| (Some(branch.clone()), commit)));
        }
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut made: Vec<(Option<String>, String)> = Vec::new();
        for (branch, commit) in all {
            if branch.as_ref().is_some_and(|name| !self.history.branches.contains_key(name)) {
                continue;
            }
            match places.get(&commit) {
                Some(place) => made[*place].0 = made[*place].0.take().or(branch),
                None => {
                    places.insert(commit.clone(), made.len());
                    made.push((branch, commit));
                }
            }
        }
        let excess = made.len().saturating_sub(MAX_COMMITS * self.history.branches.len().clamp(1, 8));
        made.split_off(excess)
    }

    fn commits(&mut self) {
        let is_new = |(_, commit): &&(Option<String>, String)| !self.history.commits.contains(commit);
        let new: Vec<(Option<String>, String)> = self.made.iter().filter(is_new).cloned().collect();
        let patches =
            self.repository.patch_ids(&new.iter().map(|(_, commit)| commit.clone()).collect::<Vec<_>>());
        for (branch, commit) in new {
            let Some(facts) = self.facts.get(&commit).cloned() else { continue };
            // Of a repository with several projects, only what is ours.
            if !self.repository.prefix.is_empty() && facts.files.is_empty() {
                continue;
            }
            let suppressed = self.suppressed(&facts.files);
            let mut paths: BTreeSet<String> = facts.files.iter().map(|file| file.path.clone()).collect();
            paths.extend(facts.files.iter().filter_map(|file| file.from.clone()));
            let paths = paths.into_iter().take(MAX_PATHS).collect();
            let kind = EventKind::Commit { patch: patches.get(&commit).cloned(), commit, paths, suppressed };
            self.tell(git_session(facts.time), branch, None, kind);
        }
    }

    /// Rules that are silenced more often after the commit than before.
    fn suppressed(&self, files: &[ChangedFile]) -> Vec<String> {
        let python: Vec<&ChangedFile> = files.iter().filter(|file| file.path.ends_with(".py")).collect();
        let blobs: Vec<String> =
            python.iter().flat_map(|file| [file.before.clone(), file.after.clone()]).collect();
        let texts = self.repository.texts(&blobs);
        let mut added: BTreeSet<String> = BTreeSet::new();
        for file in python {
            let after = silenced(texts.get(&file.after));
            if after.is_empty() {
                continue;
            }
            let before = silenced(texts.get(&file.before));
            let is_more = |(rule, count): &(&String, &usize)| **count > *before.get(*rule).unwrap_or(&0);
            added.extend(after.iter().filter(is_more).map(|(rule, _)| rule.clone()));
        }
        added.into_iter().collect()
    }

    fn edits(&mut self, source: &dyn EventSource, kept_as: &dyn Fn(&str) -> String) {
        let kept = self.history.kept();
        let changes = self.changes_of(&kept);
        if changes.is_empty() {
            return;
        }
        let wanted: HashSet<Uuid> = kept.iter().map(|kept| kept.generation).collect();
        let codes = codes(source, &wanted);
        let blobs: Vec<String> = changes.iter().map(|change| change.file.after.clone()).collect();
        let texts = self.repository.texts(&blobs);
        let outcomes = self.history.outcomes();
        let mut told = self.history.edits.clone();
        for change in changes {
            let versions: Vec<&Kept> = kept.iter().filter(|kept| kept.path == change.original).collect();
            let versions: Vec<(&Kept, &str)> = versions
                .into_iter()
                .filter_map(|kept| Some((kept, codes.get(&kept.generation)?.as_str())))
                .collect();
            let Some((last, _)) = versions.last() else { continue };
            let (edited, corrected) = match texts.get(&change.file.after).filter(|_| !change.file.is_deleted)
            {
                _ if change.file.is_deleted => (*last, None),
                // Not text, or too much of it.
                None => continue,
                Some(text) => {
                    let text = kept_as(text);
                    let all: Vec<&str> = versions.iter().map(|(_, code)| *code).collect();
                    match compare(&change.file.path, &all, &text) {
                        Edit::None => continue,
                        Edit::Of(place) => (versions[place].0, Some(text)),
                        Edit::Replaced => (*last, None),
                    }
                }
            };
            let is_shipped = outcomes.of(&edited.session, edited.branch.as_deref()) == Outcome::Merged;
            let before = told.iter().filter(|(generation, _)| *generation == edited.generation).count();
            let is_elsewhere = edited.branch != change.branch;
            if is_shipped || is_elsewhere || before >= MAX_EDITS {
                continue;
            }
            if told.insert((edited.generation, edit_key(corrected.as_deref()))) {
                let kind = EventKind::UserCorrection {
                    text: String::new(),
                    source: CorrectionSource::HandEdit,
                    subject: None,
                    path: Some(change.file.path),
                    original: codes.get(&edited.generation).cloned(),
                    corrected,
                    violates: Vec::new(),
                };
                // In the session of the artifact: whoever forgets that session forgets this too.
                self.tell(edited.session.clone(), edited.branch.clone(), Some(edited.generation), kind);
            }
        }
    }

    /// Changes of new commits to kept files, also after they were moved.
    fn changes_of(&self, kept: &[Kept]) -> Vec<Change> {
        let paths: HashSet<&str> = kept.iter().map(|kept| kept.path.as_str()).collect();
        let mut moved: HashMap<(Option<String>, String), String> = HashMap::new();
        let mut changes = Vec::new();
        for (branch, commit) in self.made.iter().filter(|_| !paths.is_empty()) {
            let Some(facts) = self.facts.get(commit) else { continue };
            for file in &facts.files {
                let original = |path: &str| {
                    let earlier = moved.get(&(branch.clone(), path.to_owned())).cloned();
                    earlier.or_else(|| paths.contains(path).then(|| path.to_owned()))
                };
                let known = file.from.as_deref().and_then(original).or_else(|| original(&file.path));
                let Some(known) = known else { continue };
                if file.from.is_some() {
                    moved.insert((branch.clone(), file.path.clone()), known.clone());
                }
                if !self.history.commits.contains(commit) {
                    changes.push(Change { branch: branch.clone(), original: known, file: file.clone() });
                }
            }
        }
        changes
    }

    fn outcomes(&mut self) {
        let outcomes = self.history.outcomes();
        for branch in self.history.branches.keys() {
            let open = self.history.sessions(&outcomes, branch, Outcome::Open);
            let closed = self.history.sessions(&outcomes, branch, Outcome::Closed);
            if open.is_empty() && closed.is_empty() {
                continue;
            }
            let is_again = open.is_empty();
            let own = self.own(branch, !is_again);
            let last_seen = self.last_seen(branch, &own);
            let candidate = Candidate { name: branch, own: &own, last_seen: last_seen.as_deref() };
            let sessions = if is_again { closed } else { open };
            let now = git_session(Timestamp::now().as_second());
            match fate(self.repository, &self.refs, &self.integration, &candidate) {
                Fate::Merged { into, way, tip } => {
                    let kind = EventKind::BranchMerged {
                        merged: branch.clone(),
                        into,
                        way,
                        tip: Some(tip),
                        sessions,
                    };
                    self.tell(now, Some(branch.clone()), None, kind);
                }
                Fate::Closed { tip } if !is_again => {
                    let kind = EventKind::BranchClosed {
                        closed: branch.clone(),
                        reported: false,
                        tip: Some(tip),
                        sessions,
                    };
                    self.tell(now, Some(branch.clone()), None, kind);
                }
                _ => {}
            }
        }
    }

    /// Commits of the branch that are there; of an earlier branch of that name only if they are wanted.
    fn own(&self, branch: &str, is_new_only: bool) -> Vec<String> {
        let Some(history) = self.history.branches.get(branch) else { return Vec::new() };
        let made = self
            .made
            .iter()
            .filter(|(name, _)| name.as_deref() == Some(branch))
            .map(|(_, commit)| commit.clone());
        let known = history.commits.values().cloned();
        let mut own: Vec<String> = Vec::new();
        for commit in known.chain(made) {
            if !own.contains(&commit) {
                own.push(commit);
            }
        }
        let existing = self.repository.existing(&own);
        let mut ended: HashSet<String> = HashSet::new();
        for tip in history.ended.iter().filter(|_| is_new_only) {
            ended.extend(self.repository.list(tip, &[], MAX_ENDED, &[]));
        }
        own.retain(|commit| existing.contains(commit) && !ended.contains(commit));
        own
    }

    fn last_seen(&self, branch: &str, own: &[String]) -> Option<String> {
        let noted = self
            .notes
            .iter()
            .rev()
            .find(|note| note.branch.as_deref() == Some(branch))
            .map(|note| &note.head);
        // A note may be older than the branch of this life.
        noted.filter(|head| own.contains(head)).or(own.last()).cloned()
    }

    fn tell(&mut self, session: String, branch: Option<String>, parent: Option<Uuid>, kind: EventKind) {
        let number = self.numbers.entry(session.clone()).or_default();
        *number += 1;
        let mut event = Event::new(session, *number, kind);
        event.context.branch = branch;
        event.parent = parent;
        self.events.push(event);
    }
}

/// A new commit changed a file that was generated at `original`.
struct Change {
    branch: Option<String>,
    original: String,
    file: ChangedFile,
}

/// Whether a commit was made when somebody already worked with Grail on its branch.
fn is_since(history: &History, branch: Option<&str>, facts: Option<&CommitFacts>) -> bool {
    let since = match branch {
        Some(branch) => history.branches.get(branch).and_then(|branch| branch.since.clone()),
        None => history.branches.values().filter_map(|branch| branch.since.clone()).min(),
    };
    let since = since.and_then(|since| since.parse::<Timestamp>().ok());
    let (Some(since), Some(facts)) = (since, facts) else { return false };
    facts.time + SLACK_SECONDS >= since.as_second()
}

/// How often comments of a file silence each rule.
fn silenced(text: Option<&String>) -> BTreeMap<String, usize> {
    let mut rules = BTreeMap::new();
    if let Some(text) = text.filter(|text| text.contains("grail:")) {
        let parsed = parse_module(Source::from_text(text.as_str()));
        for rule in Suppressions::read(&parsed).rules() {
            *rules.entry(rule.to_owned()).or_default() += 1;
        }
    }
    rules
}
