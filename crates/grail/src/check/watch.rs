//! `grail check --watch`: check again whenever a file, a rule or a setting changes.
//!
//! Changes are seen by looking: paths, times and sizes, a few times a second. That works on every file system, network and container mounts
//! included, and costs a few hundredths of a second of work for a thousand files.

use std::fs::{self, Metadata};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use grail_project::{CONFIG_FILE, Project};
use grail_rules::SKILLS_FOLDER;

use super::Arguments;
use crate::Exit;
use crate::render::{Terminal, count};

/// How long a look at the files waits for the next.
const INTERVAL: Duration = Duration::from_millis(300);
/// More files of skills are not watched.
const MAX_SKILL_FILES: usize = 10_000;
const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

/// Checks until the process is ended.
pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    loop {
        // Before the check, so that no change during it is missed.
        let before = Snapshot::take(arguments);
        if io::stdout().is_terminal() {
            terminal.raw(CLEAR)?;
        }
        if let Err(error) = super::check_once(arguments, terminal) {
            terminal.flush()?;
            terminal.failure(&error);
        }
        terminal.note(format_args!("watching {}; Ctrl-C ends", count(before.files.len(), "file")))?;
        wait_for_change(&before, arguments);
    }
}

/// Returns when the files are other than before and have come to rest.
fn wait_for_change(before: &Snapshot, arguments: &Arguments) {
    let mut last = None;
    loop {
        thread::sleep(INTERVAL);
        let now = Snapshot::take(arguments);
        let is_at_rest = last.as_ref() == Some(&now);
        if now != *before && is_at_rest {
            return;
        }
        last = Some(now);
    }
}

/// What is looked at: each file with its time and size.
#[derive(Debug, Default, PartialEq, Eq)]
struct Snapshot {
    files: Vec<(PathBuf, Option<SystemTime>, u64)>,
}

impl Snapshot {
    fn take(arguments: &Arguments) -> Self {
        let mut snapshot = Self::default();
        let mut root = None;
        if let Ok(found) = arguments.paths.find() {
            found.files.iter().for_each(|file| snapshot.add(&file.path));
            root = Some(found.project.root);
        }
        let start = arguments.paths.paths.first().map_or(Path::new("."), PathBuf::as_path);
        let root = root.or_else(|| Project::discover(start).ok().map(|project| project.root));
        if let Some(root) = root {
            snapshot.add(&root.join(CONFIG_FILE));
            snapshot.add(&root.join("pyproject.toml"));
            snapshot.add_folder(root.join(SKILLS_FOLDER));
        }
        snapshot
    }

    fn add(&mut self, path: &Path) {
        let metadata = path.metadata().ok();
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        self.files.push((path.to_owned(), modified, metadata.as_ref().map_or(0, Metadata::len)));
    }

    fn add_folder(&mut self, folder: PathBuf) {
        let mut pending = vec![folder];
        let mut found = Vec::new();
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                    Ok(kind) if kind.is_file() && found.len() < MAX_SKILL_FILES => found.push(entry.path()),
                    _ => {}
                }
            }
        }
        found.sort();
        found.iter().for_each(|path| self.add(path));
    }
}
