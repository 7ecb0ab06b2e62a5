//! Real repositories in scratch folders, and what is told of them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use grail_flywheel::event::{Event, EventKind, MergeWay, ProposalDecision, Tokens};
use grail_flywheel::outcome::observe;
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) struct Scratch {
    folder: TempDir,
    root: PathBuf,
    pub(crate) events: Vec<Event>,
}

impl Scratch {
    /// A repository on `main` with one commit.
    pub(crate) fn new() -> Self {
        let scratch = Self::empty();
        scratch.commit("base", &[("readme.md", "one\ntwo\nthree\n")]);
        scratch
    }

    /// A repository without commits.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a project");
        fs::create_dir(&root).unwrap();
        let scratch = Self { folder, root, events: Vec::new() };
        scratch.git(&["init", "-q", "-b", "main"]);
        scratch
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same repository, seen from another folder.
    pub(crate) fn move_to(&mut self, root: PathBuf) {
        self.root = root;
    }

    pub(crate) fn command(&self, folder: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(folder);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(name);
        }
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Ann"),
            ("GIT_AUTHOR_EMAIL", "ann@example.org"),
            ("GIT_COMMITTER_NAME", "Ann"),
            ("GIT_COMMITTER_EMAIL", "ann@example.org"),
            ("GIT_EDITOR", "true"),
        ] {
            command.env(name, value);
        }
        command.output().unwrap()
    }

    pub(crate) fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = self.command(folder, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.root, arguments)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self, subject: &str, files: &[(&str, &str)]) {
        files.iter().for_each(|(path, text)| self.write(path, text));
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }

    /// Begins a branch on which a session works.
    pub(crate) fn branch(&mut self, name: &str, session: &str) {
        self.git(&["checkout", "-q", "-b", name]);
        self.work(name, session);
    }

    /// A session does something on a branch.
    pub(crate) fn work(&mut self, branch: &str, session: &str) {
        self.happen(session, Some(branch), EventKind::UserMessage { text: "hello".to_owned() });
    }

    pub(crate) fn happen(&mut self, session: &str, branch: Option<&str>, kind: EventKind) -> Uuid {
        let number = self.events.iter().filter(|event| event.session == session).count() as u64 + 1;
        let mut event = Event::new(session, number, kind);
        event.context.branch = branch.map(str::to_owned);
        let id = event.id;
        self.events.push(event);
        id
    }

    /// An artifact is generated, proposed, approved and written.
    pub(crate) fn keep(
        &mut self,
        session: &str,
        branch: &str,
        proposal: &str,
        path: &str,
        code: &str,
    ) -> Uuid {
        let generation = EventKind::Generation {
            artifact: "component".to_owned(),
            request: "a card".to_owned(),
            code: code.to_owned(),
            validated: true,
            types: None,
            tests: None,
            problems: Vec::new(),
            retries: 0,
            path: path.to_owned(),
            skills: Vec::new(),
            tokens: Tokens::default(),
            milliseconds: 1,
        };
        let id = self.happen(session, Some(branch), generation);
        for decision in [ProposalDecision::Made, ProposalDecision::Approved] {
            let (proposal, paths) = (proposal.to_owned(), vec![path.to_owned()]);
            self.happen(
                session,
                Some(branch),
                EventKind::Proposal { proposal, decision, reason: None, paths },
            );
        }
        self.write(path, code);
        id
    }

    /// Looks at the repository, keeps what is found, and tells it.
    pub(crate) fn look(&mut self) -> String {
        let found = observe(&self.root, &self.events, &str::to_owned).events;
        let told = self.tell(&found);
        self.events.extend(found);
        told
    }

    fn tell(&self, events: &[Event]) -> String {
        let log = self.command(&self.root, &["log", "--all", "--reflog", "--format=%H %s"]);
        let log = String::from_utf8_lossy(&log.stdout).into_owned();
        let subjects: HashMap<&str, &str> = log.lines().filter_map(|line| line.split_once(' ')).collect();
        let name =
            |commit: &str| subjects.get(commit).map_or_else(|| commit.to_owned(), |name| format!("`{name}`"));
        let line = |event: &Event| {
            let branch = event.context.branch.as_deref().unwrap_or("no branch");
            match &event.kind {
                EventKind::Commit { commit, paths, suppressed, .. } => {
                    let silent = if suppressed.is_empty() {
                        String::new()
                    } else {
                        format!(" silences {suppressed:?}")
                    };
                    format!("commit {} on {branch}: {paths:?}{silent}\n", name(commit))
                }
                EventKind::BranchMerged { merged, into, way, tip, sessions } => {
                    let tip = tip.as_deref().map_or_else(|| "?".to_owned(), name);
                    format!("{merged} merged into {into} by {} at {tip} for {sessions:?}\n", way_name(*way))
                }
                EventKind::BranchClosed { closed, reported, tip, sessions } => {
                    let tip = tip.as_deref().map_or_else(|| "?".to_owned(), name);
                    let how = if *reported { "reported " } else { "" };
                    format!("{closed} {how}closed at {tip} for {sessions:?}\n")
                }
                EventKind::UserCorrection { path, original, corrected, .. } => {
                    let path = path.as_deref().unwrap_or_default();
                    format!(
                        "correction of {path} in {}:\n{}",
                        event.session,
                        changed(original.as_deref(), corrected.as_deref())
                    )
                }
                other => format!("{}\n", other.name()),
            }
        };
        events.iter().map(line).collect()
    }
}

fn changed(original: Option<&str>, corrected: Option<&str>) -> String {
    let original =
        original.unwrap_or_default().lines().map(|line| format!("  - {line}\n")).collect::<String>();
    match corrected {
        Some(corrected) => {
            original + &corrected.lines().map(|line| format!("  + {line}\n")).collect::<String>()
        }
        None => original + "  nothing of it is left\n",
    }
}

fn way_name(way: MergeWay) -> &'static str {
    match way {
        MergeWay::Merge => "merge",
        MergeWay::FastForward => "fast-forward",
        MergeWay::Squash => "squash",
        MergeWay::Rebase => "rebase",
        MergeWay::Reported => "report",
    }
}
