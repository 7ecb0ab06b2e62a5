//! What the hooks of git wrote down: one line for each time git did something, appended by a few lines of shell.
//!
//! The file lies among git's own data, shared by all working trees. Notes are hints, not events: each names a commit, which git is asked
//! about later. So a note that is read twice does no harm, and one that is lost costs little.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use super::repository::is_hash;

/// The file below git's data.
pub(super) const NOTES_FILE: &str = "grail-notes";
/// What was noted before the file was begun anew.
const OLDER_FILE: &str = "grail-notes.old";
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// At this size a new file is begun. The old one stays, for the hook that had it open.
const TURN_BYTES: u64 = 512 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The hook.
    pub hook: String,
    /// What `HEAD` was then.
    pub head: String,
    pub branch: Option<String>,
}

/// All notes, oldest first. Lines that are none are skipped.
pub(super) fn read(common: &Path) -> Vec<Note> {
    [OLDER_FILE, NOTES_FILE].iter().flat_map(|name| read_file(&common.join(name))).collect()
}

/// How much was noted, to see whether there is more.
pub(super) fn size(common: &Path) -> u64 {
    fs::symlink_metadata(common.join(NOTES_FILE)).map_or(0, |metadata| metadata.len())
}

/// Begins a new file when there is much in it.
pub(super) fn turn(common: &Path) {
    if size(common) > TURN_BYTES {
        // Failing is harmless: the file goes on growing.
        let _ = fs::rename(common.join(NOTES_FILE), common.join(OLDER_FILE));
    }
}

/// Forgets all notes.
pub(super) fn remove(common: &Path) {
    for name in [OLDER_FILE, NOTES_FILE] {
        let _ = fs::remove_file(common.join(name));
    }
}

fn read_file(path: &Path) -> Vec<Note> {
    let mut bytes = Vec::new();
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        let _ = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).lines().filter_map(read_line).collect()
}

fn read_line(line: &str) -> Option<Note> {
    let mut fields = line.split('\t');
    let (version, hook, head, reference) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
    (version == "1" && is_hash(head)).then(|| Note { hook: hook.to_owned(), head: head.to_owned(), branch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_and_lines_of_others_are_no_notes() {
        let folder = tempfile::tempdir().unwrap();
        let head = "a".repeat(40);
        let text = format!(
            "1\tpost-commit\t{head}\trefs/heads/a/b\t\t\t\n2\tnew\n\n1\tpost-commit\t--all\tHEAD\n1\tpost-checkout\t{head}\tHEAD\t1\n1\tpost-commit\taa"
        );
        fs::write(folder.path().join(NOTES_FILE), text).unwrap();
        let note = |hook: &str, branch: Option<&str>| Note {
            hook: hook.to_owned(),
            head: head.clone(),
            branch: branch.map(str::to_owned),
        };
        assert_eq!(read(folder.path()), [note("post-commit", Some("a/b")), note("post-checkout", None)]);
    }

    #[test]
    fn a_new_file_is_begun_and_the_old_one_still_read() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("1\tpost-commit\t{}\tHEAD\n", "b".repeat(40));
        fs::write(folder.path().join(NOTES_FILE), line.repeat(20_000)).unwrap();
        turn(folder.path());
        assert_eq!(size(folder.path()), 0);
        fs::write(folder.path().join(NOTES_FILE), &line).unwrap();
        assert_eq!(read(folder.path()).len(), 20_001);
    }
}
