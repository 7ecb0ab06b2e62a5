//! Whether a branch was merged, squashed, rebased or given up.
//!
//! Only what git shows counts. A branch is merged if its last commit is in another that branches are merged into, or if its changes are
//! there after history was rewritten. It is given up if it is gone, was not merged, and no other branch has its last commit. Everything
//! else is open: a history that was cut off, a commit that is not there any more, a branch on which nothing was committed.

use std::collections::BTreeSet;

use super::patch::{Patch, read_all};
use super::repository::{Refs, Repository};
use crate::event::MergeWay;

/// Names of branches that others are merged into, the likeliest first.
const INTEGRATION: [&str; 8] =
    ["main", "master", "trunk", "develop", "development", "dev", "staging", "next"];
/// Longer branches, and longer stretches of what they may have been merged into, are not compared commit by commit.
const MAX_OWN: usize = 300;
const MAX_THEIRS: usize = 2000;
const MAX_FIRST_PARENTS: usize = 20_000;
/// Commits that git is asked about one by one.
const MAX_ASKED: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Merged { into: String, way: MergeWay, tip: String },
    Closed { tip: String },
    Open,
}

/// A branch, and what is known of it beyond git's references.
pub(super) struct Candidate<'c> {
    pub name: &'c str,
    /// Commits that were made on it and are there, oldest first; none of an earlier branch of that name.
    pub own: &'c [String],
    /// Its last commit as far as anybody has seen, for a branch that is gone.
    pub last_seen: Option<&'c str>,
}

/// The branches that others are merged into: the remote's own, and those with a usual name. Where there is none of these, those into which
/// git was seen merging.
pub(super) fn integration_branches(refs: &Refs, seen: &BTreeSet<String>) -> Vec<String> {
    let usual = INTEGRATION.iter().map(|name| (*name).to_owned());
    let releases = refs.all.keys().filter_map(|name| name.strip_prefix("refs/heads/"));
    let releases = releases.filter(|name| name.starts_with("release/")).map(str::to_owned);
    let mut branches: Vec<String> = Vec::new();
    for name in refs.remote_default.iter().cloned().chain(usual).chain(releases) {
        if refs.has(&name) && !branches.contains(&name) {
            branches.push(name);
        }
    }
    if branches.is_empty() {
        branches.extend(seen.iter().filter(|name| refs.has(name)).cloned());
    }
    branches
}

pub(super) fn fate(
    repository: &Repository,
    refs: &Refs,
    integration: &[String],
    branch: &Candidate<'_>,
) -> Fate {
    // Where everything is merged into is itself never merged.
    if integration.first().is_some_and(|first| first == branch.name) {
        return Fate::Open;
    }
    let here = refs.local(branch.name).or_else(|| refs.remote(branch.name).next().map(|(_, commit)| commit));
    let Some(tip) = here.or(branch.last_seen) else { return Fate::Open };
    for name in targets(integration, branch.name) {
        let places = refs.local(name).into_iter().chain(refs.remote(name).map(|(_, commit)| commit));
        for target in places {
            if let Some(way) = way_into(repository, branch, tip, target) {
                return Fate::Merged { into: name.to_owned(), way, tip: tip.to_owned() };
            }
        }
    }
    let is_gone = here.is_none() && !branch.own.is_empty() && !repository.is_shallow;
    match is_gone && repository.branches_with(tip).is_empty() {
        true => Fate::Closed { tip: tip.to_owned() },
        false => Fate::Open,
    }
}

/// What a branch may be merged into: nothing that ranks below it.
fn targets<'t>(integration: &'t [String], branch: &str) -> impl Iterator<Item = &'t str> {
    let rank = integration.iter().position(|name| name == branch).unwrap_or(integration.len());
    integration[..rank].iter().map(String::as_str)
}

fn way_into(repository: &Repository, branch: &Candidate<'_>, tip: &str, target: &str) -> Option<MergeWay> {
    if repository.is_ancestor(tip, target) {
        // A branch that was only begun is also behind: something must have been made on it.
        let has_work =
            branch.own.iter().rev().take(MAX_ASKED).any(|own| own == tip || repository.is_ancestor(own, tip));
        return has_work.then(|| match is_on_first_parents(repository, tip, target) {
            true => MergeWay::FastForward,
            false => MergeWay::Merge,
        });
    }
    rewritten(repository, tip, target)
}

fn is_on_first_parents(repository: &Repository, tip: &str, target: &str) -> bool {
    repository.list(target, &[], MAX_FIRST_PARENTS, &["--first-parent"]).iter().any(|commit| commit == tip)
}

/// The changes of the branch, found again one by one or all in one commit.
fn rewritten(repository: &Repository, tip: &str, target: &str) -> Option<MergeWay> {
    let base = repository.merge_base(tip, target)?;
    let own = repository.list(tip, &[target], MAX_OWN + 1, &["--no-merges"]);
    let theirs = repository.list(target, &[tip], MAX_THEIRS, &["--no-merges"]);
    if own.is_empty() || theirs.is_empty() {
        return None;
    }
    let theirs = patches(repository, &theirs)?;
    let whole = Patch::read(&repository.difference(&base, tip)?);
    let own = if own.len() > MAX_OWN { Vec::new() } else { patches(repository, &own)? };
    let changing: Vec<&Patch> =
        own.iter().map(|(_, patch)| patch).filter(|patch| !patch.is_empty()).collect();
    // What is found unchanged is believed before what is found with conflicts resolved.
    for is_found in [Patch::is_same as fn(&Patch, &Patch) -> bool, Patch::is_in] {
        let is_there = |patch: &Patch| theirs.iter().any(|(_, other)| is_found(patch, other));
        let is_rebased = !changing.is_empty() && changing.iter().all(|patch| is_there(patch));
        if is_rebased && (changing.len() > 1 || keeps_its_words(repository, &own[0], &theirs)) {
            return Some(MergeWay::Rebase);
        }
        if is_there(&whole) {
            return Some(MergeWay::Squash);
        }
    }
    None
}

/// One commit is the same squashed or rebased; whoever rebases keeps its words.
fn keeps_its_words(repository: &Repository, own: &(String, Patch), theirs: &[(String, Patch)]) -> bool {
    let words = subject(repository, &own.0);
    let same = theirs.iter().filter(|(_, patch)| own.1.is_in(patch));
    same.take(8).any(|(commit, _)| subject(repository, commit) == words)
}

fn patches(repository: &Repository, commits: &[String]) -> Option<Vec<(String, Patch)>> {
    Some(read_all(&String::from_utf8_lossy(&repository.changes(commits, "-U0")?)))
}

fn subject(repository: &Repository, commit: &str) -> Option<String> {
    repository.git.line(&["log", "--max-count=1", "--format=%s", commit, "--"])
}
