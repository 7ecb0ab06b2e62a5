//! What a repository says: its references, its commits, and what they change.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::git::{Git, path_of};

/// More references than these are not looked at.
const MAX_REFS_BYTES: usize = 16 * 1024 * 1024;
const MAX_LIST_BYTES: usize = 4 * 1024 * 1024;
const MAX_DIFF_BYTES: usize = 32 * 1024 * 1024;
/// One file of a commit; larger ones are not looked into.
const MAX_BLOB_BYTES: usize = 1024 * 1024;
/// How far back the log of `HEAD` is read.
const MAX_REFLOG: &str = "4000";

pub(super) struct Repository {
    pub git: Git,
    /// The data that all working trees share.
    pub common: PathBuf,
    /// The project below the top of the working tree, with a slash at its end; empty if it is the top.
    pub prefix: String,
    /// History is cut off: that something is not there means nothing.
    pub is_shallow: bool,
}

/// The references of a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Refs {
    /// `refs/heads/x` and the like, with the commit.
    pub all: BTreeMap<String, String>,
    /// What `origin/HEAD` points to, without the remote's name.
    pub remote_default: Option<String>,
}

/// A file of a commit that differs from its first parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// Below the project.
    pub path: String,
    /// Where it was before, if it was moved.
    pub from: Option<String>,
    pub is_deleted: bool,
    pub before: String,
    pub after: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct CommitFacts {
    pub files: Vec<ChangedFile>,
    /// When it was committed, in seconds.
    pub time: i64,
}

impl Repository {
    /// The repository of a project. None without git, without a repository, or if git refuses it.
    pub(super) fn of(root: &Path) -> Option<Self> {
        let git = Git::at(root)?;
        let common = PathBuf::from(path_of(
            &git.ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"], 64 * 1024)?,
        ));
        let prefix = git.ask(&["rev-parse", "--show-prefix"], 64 * 1024).unwrap_or_default();
        let prefix = String::from_utf8(prefix).ok()?;
        let is_shallow = git.line(&["rev-parse", "--is-shallow-repository"]).as_deref() != Some("false");
        Some(Self { git, common, prefix: prefix.trim_end_matches('\n').to_owned(), is_shallow })
    }

    pub(super) fn refs(&self) -> Refs {
        let format = "--format=%(objectname) %(refname) %(symref)";
        let answer = self.git.ask(&["for-each-ref", format, "refs/heads", "refs/remotes"], MAX_REFS_BYTES);
        let text = String::from_utf8_lossy(&answer.unwrap_or_default()).into_owned();
        let mut refs = Refs::default();
        for line in text.lines() {
            let mut parts = line.splitn(3, ' ');
            let (Some(commit), Some(name)) = (parts.next(), parts.next()) else { continue };
            match parts.next().filter(|target| !target.is_empty()) {
                Some(target) if name == "refs/remotes/origin/HEAD" => {
                    refs.remote_default = target.strip_prefix("refs/remotes/origin/").map(str::to_owned);
                }
                Some(_) => {}
                None => {
                    refs.all.insert(name.to_owned(), commit.to_owned());
                }
            }
        }
        refs
    }

    /// Which of these are commits that are there.
    pub(super) fn existing(&self, commits: &[String]) -> HashSet<String> {
        let input = commits
            .iter()
            .filter(|name| is_hash(name))
            .fold(String::new(), |input, name| input + name + "\n");
        if input.is_empty() {
            return HashSet::new();
        }
        let answer = self.git.ask_with(&["cat-file", "--batch-check"], input.into_bytes(), MAX_LIST_BYTES);
        let text = String::from_utf8_lossy(&answer.unwrap_or_default()).into_owned();
        let commits = text.lines().filter_map(|line| {
            let mut parts = line.split(' ');
            let name = parts.next()?;
            (parts.next() == Some("commit")).then(|| name.to_owned())
        });
        commits.collect()
    }

    /// Commits that `tip` has and `without` has not, oldest first; at most `most` of the newest.
    pub(super) fn list(&self, tip: &str, without: &[&str], most: usize, more: &[&str]) -> Vec<String> {
        let count = format!("--max-count={most}");
        let mut arguments = vec!["rev-list", "--reverse", "--topo-order", &count];
        arguments.extend(more);
        arguments.push(tip);
        let excluded: Vec<String> = without.iter().map(|name| format!("^{name}")).collect();
        arguments.extend(excluded.iter().map(String::as_str));
        arguments.push("--");
        let answer = self.git.ask(&arguments, MAX_LIST_BYTES).unwrap_or_default();
        String::from_utf8_lossy(&answer).lines().filter(|line| is_hash(line)).map(str::to_owned).collect()
    }

    pub(super) fn is_ancestor(&self, older: &str, newer: &str) -> bool {
        self.git.holds(&["merge-base", "--is-ancestor", older, newer])
    }

    pub(super) fn merge_base(&self, left: &str, right: &str) -> Option<String> {
        self.git.line(&["merge-base", left, right])
    }

    /// The branches, local and of remotes, that have a commit.
    pub(super) fn branches_with(&self, commit: &str) -> BTreeSet<String> {
        let contains = format!("--contains={commit}");
        let answer = self.git.ask(
            &["for-each-ref", "--format=%(refname)", &contains, "refs/heads", "refs/remotes"],
            MAX_REFS_BYTES,
        );
        String::from_utf8_lossy(&answer.unwrap_or_default()).lines().map(str::to_owned).collect()
    }

    /// The difference between two commits as text, without lines around the changes.
    pub(super) fn difference(&self, from: &str, to: &str) -> Option<String> {
        let arguments = [
            "diff-tree",
            "-p",
            "-U0",
            "-r",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            from,
            to,
            "--",
        ];
        Some(String::from_utf8_lossy(&self.git.ask(&arguments, MAX_DIFF_BYTES)?).into_owned())
    }

    /// The changes of commits, one after the other, each behind a line with its name.
    pub(super) fn changes(&self, commits: &[String], context: &str) -> Option<Vec<u8>> {
        let input: String = commits.iter().fold(String::new(), |input, name| input + name + "\n");
        let arguments = [
            "diff-tree",
            "--stdin",
            "--root",
            "-p",
            context,
            "-r",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
        ];
        self.git.ask_with(&arguments, input.into_bytes(), MAX_DIFF_BYTES)
    }

    /// What `git patch-id --stable` says of commits. A merge has none.
    pub(super) fn patch_ids(&self, commits: &[String]) -> HashMap<String, String> {
        let Some(changes) = self.changes(commits, "-U3") else { return HashMap::new() };
        let answer = self.git.ask_with(&["patch-id", "--stable"], changes, MAX_LIST_BYTES);
        let text = String::from_utf8_lossy(&answer.unwrap_or_default()).into_owned();
        let pair = |line: &str| {
            line.split_once(' ').map(|(patch, commit)| (commit.trim().to_owned(), patch.to_owned()))
        };
        text.lines().filter_map(pair).collect()
    }

    /// When commits were made, and which files they change. Those that are not there are left out.
    pub(super) fn facts(&self, commits: &[String]) -> HashMap<String, CommitFacts> {
        let existing = self.existing(commits);
        let input: String = existing.iter().fold(String::new(), |input, name| input + name + "\n");
        if input.is_empty() {
            return HashMap::new();
        }
        let arguments = ["rev-list", "--no-walk=unsorted", "--timestamp", "--stdin"];
        let about =
            self.git.ask_with(&arguments, input.clone().into_bytes(), MAX_LIST_BYTES).unwrap_or_default();
        let mut facts: HashMap<String, CommitFacts> = HashMap::new();
        for line in String::from_utf8_lossy(&about).lines() {
            let mut words = line.split_whitespace();
            if let (Some(time), Some(commit)) = (words.next(), words.next()) {
                let time = time.parse().unwrap_or(0);
                let about = CommitFacts { files: Vec::new(), time };
                facts.insert(commit.to_owned(), about);
            }
        }
        let arguments = ["diff-tree", "--stdin", "-r", "-z", "-M", "--root", "--raw", "--no-abbrev"];
        let raw = self.git.ask_with(&arguments, input.into_bytes(), MAX_DIFF_BYTES).unwrap_or_default();
        self.read_raw(&raw, &mut facts);
        facts
    }

    /// The records of `diff-tree --raw -z`, as far as they lie in the project and are text.
    fn read_raw(&self, raw: &[u8], facts: &mut HashMap<String, CommitFacts>) {
        let mut fields = raw.split(|byte| *byte == 0);
        let mut commit = String::new();
        while let Some(header) = fields.next() {
            let header = String::from_utf8_lossy(header).into_owned();
            if is_hash(header.trim()) {
                header.trim().clone_into(&mut commit);
                continue;
            }
            let mut words = header.trim_start_matches(':').split(' ');
            let (Some(_), Some(mode), Some(before), Some(after), Some(status)) =
                (words.next(), words.next(), words.next(), words.next(), words.next())
            else {
                break;
            };
            let is_move = status.starts_with(['R', 'C']);
            let first = fields.next().and_then(|name| self.in_project(name));
            let (path, from) = match is_move {
                true => {
                    let path = fields.next().and_then(|name| self.in_project(name));
                    (path, first.filter(|_| status.starts_with('R')))
                }
                false => (first, None),
            };
            // Links and submodules are no code.
            let is_file = mode.starts_with("100") || status.starts_with('D');
            let (Some(path), Some(facts)) = (path.filter(|_| is_file), facts.get_mut(&commit)) else {
                continue;
            };
            let is_deleted = status.starts_with('D');
            let (before, after) = (before.to_owned(), after.to_owned());
            facts.files.push(ChangedFile { path, from, is_deleted, before, after });
        }
    }

    fn in_project(&self, name: &[u8]) -> Option<String> {
        std::str::from_utf8(name).ok()?.strip_prefix(self.prefix.as_str()).map(str::to_owned)
    }

    /// The contents of blobs, as far as they are small and text.
    pub(super) fn texts(&self, blobs: &[String]) -> HashMap<String, String> {
        let input: String = blobs
            .iter()
            .filter(|name| is_hash(name) && !name.bytes().all(|byte| byte == b'0'))
            .fold(String::new(), |input, name| input + name + "\n");
        if input.is_empty() {
            return HashMap::new();
        }
        // Asked for their size first: one huge file must not hide the others.
        let sizes = self.git.ask_with(&["cat-file", "--batch-check"], input.into_bytes(), MAX_LIST_BYTES);
        let mut room = MAX_DIFF_BYTES;
        let wanted = String::from_utf8_lossy(&sizes.unwrap_or_default())
            .lines()
            .filter_map(|line| {
                let mut parts = line.split(' ');
                let name = parts.next()?;
                let is_blob = parts.next() == Some("blob");
                let size: usize = parts.next()?.parse().ok()?;
                let fits = is_blob && size <= MAX_BLOB_BYTES && size + 256 <= room;
                fits.then(|| {
                    room -= size + 256;
                    format!("{name}\n")
                })
            })
            .collect::<String>();
        let answer = self
            .git
            .ask_with(&["cat-file", "--batch"], wanted.into_bytes(), MAX_DIFF_BYTES)
            .unwrap_or_default();
        read_batch(&answer)
    }

    /// Which commits were made while which branch was checked out, by the log of `HEAD`, oldest first.
    pub(super) fn head_log(&self) -> Vec<(Option<String>, String)> {
        let count = format!("--max-count={MAX_REFLOG}");
        let answer =
            self.git.ask(&["log", "-g", "-z", &count, "--format=%H %gs", "HEAD", "--"], MAX_LIST_BYTES);
        let text = String::from_utf8_lossy(&answer.unwrap_or_default()).into_owned();
        let mut entries: Vec<(&str, &str)> =
            text.split('\0').filter_map(|entry| entry.trim_start().split_once(' ')).collect();
        // From now back: the newest entry is on the branch of now, and an entry that moves tells where it came from.
        let mut branch = self.git.line(&["symbolic-ref", "--short", "-q", "HEAD"]);
        let mut made = Vec::new();
        for (commit, message) in entries.drain(..) {
            if let Some(movement) = message.strip_prefix("checkout: moving from ") {
                branch = movement.split(' ').next().filter(|name| !is_hash(name)).map(str::to_owned);
            } else if let Some(names) = message.strip_prefix("Branch: renamed refs/heads/") {
                let old = names.split(' ').next().unwrap_or_default();
                branch = Some(old.to_owned());
            } else if message.starts_with("commit") && is_hash(commit) {
                made.push((branch.clone(), commit.to_owned()));
            }
        }
        made.reverse();
        made
    }
}

impl Refs {
    pub(super) fn local(&self, branch: &str) -> Option<&str> {
        self.all.get(&format!("refs/heads/{branch}")).map(String::as_str)
    }

    /// The branch as remotes have it, with the name of the reference.
    pub(super) fn remote<'a>(&'a self, branch: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.all.iter().filter_map(move |(name, commit)| {
            let (_, short) = name.strip_prefix("refs/remotes/")?.split_once('/')?;
            (short == branch).then_some((name.as_str(), commit.as_str()))
        })
    }

    pub(super) fn has(&self, branch: &str) -> bool {
        self.local(branch).is_some() || self.remote(branch).next().is_some()
    }
}

/// A full name of an object, which cannot be taken for an option.
pub(super) fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read_batch(answer: &[u8]) -> HashMap<String, String> {
    let mut texts = HashMap::new();
    let mut rest = answer;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let header = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let mut words = header.split(' ');
        let (Some(name), Some(kind)) = (words.next(), words.next()) else { break };
        let Some(size) = words.next().and_then(|size| size.parse::<usize>().ok()) else { continue };
        let Some(content) = rest.get(..size) else { break };
        if let (true, Ok(text)) = (kind == "blob", std::str::from_utf8(content)) {
            texts.insert(name.to_owned(), text.to_owned());
        }
        rest = rest.get(size + 1..).unwrap_or_default();
    }
    texts
}
