//! A change as the lines it takes out and puts in, to find it again where history was rewritten.
//!
//! Like a patch id it knows neither line numbers nor blanks; unlike one it also knows when a change is nearly another: a squash whose
//! conflicts were resolved by hand.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::repository::is_hash;

/// A change that is found again to this part is the same one, with conflicts resolved.
const NEARLY: f64 = 0.7;
/// Smaller changes are the same or not.
const MIN_LINES: u32 = 4;

/// How often each line of each file is taken out or put in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Patch {
    lines: HashMap<u64, u32>,
    total: u32,
    /// Files that come, go or are no text: part of what a change is, not of how much is found again.
    files: HashMap<u64, u32>,
}

impl Patch {
    /// Of a difference without lines around the changes.
    pub(super) fn read(difference: &str) -> Self {
        let mut patch = Self::default();
        let mut file = 0;
        let mut is_header = true;
        for line in difference.lines() {
            if let Some(names) = line.strip_prefix("diff --git ") {
                is_header = true;
                file = hash_of(&names);
            } else if line.starts_with("@@ ") {
                is_header = false;
            } else if is_header {
                let heads = ["new file", "deleted file", "new mode", "Binary files"];
                if heads.iter().any(|head| line.starts_with(head)) {
                    *patch.files.entry(hash_of(&(file, line))).or_default() += 1;
                }
            } else if line.starts_with(['+', '-']) && !line[1..].trim().is_empty() {
                patch.add(file, line);
            }
        }
        patch
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total == 0 && self.files.is_empty()
    }

    /// Whether this change is the other one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        !self.is_empty() && self == other
    }

    /// Whether this change is the other one, or nearly all of it is in the other one.
    pub(super) fn is_in(&self, other: &Self) -> bool {
        let shared: u32 =
            self.lines.iter().map(|(line, count)| *other.lines.get(line).unwrap_or(&0).min(count)).sum();
        let is_nearly = self.total >= MIN_LINES && f64::from(shared) >= NEARLY * f64::from(self.total);
        is_nearly || self.is_same(other)
    }

    fn add(&mut self, file: u64, line: &str) {
        let (sign, text) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        let words: Vec<&str> = text.split_whitespace().collect();
        *self.lines.entry(hash_of(&(file, sign, words))).or_default() += 1;
        self.total += 1;
    }
}

/// The changes of several commits, as `diff-tree --stdin` writes them.
pub(super) fn read_all(changes: &str) -> Vec<(String, Patch)> {
    let mut patches = Vec::new();
    let mut start: Option<(&str, usize)> = None;
    let mut place = 0;
    for line in changes.split_inclusive('\n') {
        // Lines of a change begin with a sign, those of its head with a word.
        if is_hash(line.trim_end()) {
            if let Some((commit, from)) = start {
                patches.push((commit.to_owned(), Patch::read(&changes[from..place])));
            }
            start = Some((line.trim_end(), place + line.len()));
        }
        place += line.len();
    }
    if let Some((commit, from)) = start {
        patches.push((commit.to_owned(), Patch::read(&changes[from..])));
    }
    patches
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGE: &str =
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1,5 @@\n-old\n+one\n+two\n+three\n+four\n";

    #[test]
    fn a_change_is_found_wherever_its_lines_are() {
        let moved = CHANGE.replace("@@ -1 +1,5 @@", "@@ -9 +11,5 @@").replace("+one", "+  one");
        assert_eq!(Patch::read(CHANGE), Patch::read(&moved));
        assert_ne!(Patch::read(CHANGE), Patch::read(&CHANGE.replace("a.py", "b.py")));
    }

    #[test]
    fn a_change_with_a_conflict_is_nearly_itself() {
        let resolved = Patch::read(&CHANGE.replace("+four", "+vier\n+fünf"));
        assert!(Patch::read(CHANGE).is_in(&resolved));
        let other = Patch::read(&CHANGE.replace("+four", "+vier").replace("+two", "+zwei"));
        assert!(!Patch::read(CHANGE).is_in(&other));
    }

    #[test]
    fn changes_are_told_apart_by_their_commits() {
        let (first, second) = ("a".repeat(40), "b".repeat(40));
        let patches = read_all(&format!("{first}\n{CHANGE}{second}\n"));
        assert_eq!(patches.len(), 2);
        assert_eq!(patches[0], (first, Patch::read(CHANGE)));
        assert!(patches[1].1.is_empty());
    }
}
