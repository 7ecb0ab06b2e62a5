//! Forgetting a session: its files go, a tombstone stays.
//!
//! The tombstone is written first. From then on the session is forgotten, whatever happens: readers pass over files that are left, writers
//! refuse its events, and forgetting it again removes the rest.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use grail_project::SyncPolicy;
use serde::{Deserialize, Serialize};

use super::append::{self, Appender, Hold, sync_folder};
use super::names::{EventFileName, TOMBSTONES, TORN_FOLDER, events_folder};
use crate::error::FlywheelError;
use crate::event::{is_session_name, now};

/// A tombstone longer than this is none.
const MAX_TOMBSTONE_BYTES: u64 = 4096;

/// What went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForgetReport {
    pub session: String,
    /// Whether it had been forgotten before.
    pub was_forgotten: bool,
    /// The files that were removed, pieces of torn lines among them.
    pub files: usize,
    /// The lines that were in them.
    pub events: u64,
}

/// Which session was forgotten, and how much it was; not what it said.
#[derive(Debug, Serialize, Deserialize)]
struct Tombstone {
    session: String,
    at: String,
    events: u64,
}

/// Removes everything that a session left in the files. Safe while others write, and when done twice.
pub fn forget_session(root: &Path, session: &str) -> Result<ForgetReport, FlywheelError> {
    if !is_session_name(session) {
        return Err(FlywheelError::Other {
            message: format!("`{}` is no name of a session", super::problem::quoted(session)),
            hint: Some("`grail events stats` names the sessions".to_owned()),
        });
    }
    let mut appender = Appender::new(root, SyncPolicy::Always);
    let folder = appender.hold(Hold::Exclusive)?;
    let was_forgotten = forgotten_sessions(root)?.contains(session);
    let files = files_of(&folder.path, session)?;
    let mut events = 0;
    for path in &files {
        events += count_lines(path).map_err(|source| FlywheelError::storage(path, source))?;
    }
    if !was_forgotten {
        let tombstone = Tombstone { session: session.to_owned(), at: now(), events };
        let mut line = serde_json::to_vec(&tombstone)
            .map_err(|error| FlywheelError::storage(&folder.path, io::Error::from(error)))?;
        line.push(b'\n');
        appender.append(&folder, TOMBSTONES, &line, &mut Vec::new())?;
    }
    for path in &files {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(FlywheelError::storage(path, error));
            }
            _ => {}
        }
    }
    sync_folder(&folder.path).map_err(|source| FlywheelError::storage(&folder.path, source))?;
    Ok(ForgetReport { session: session.to_owned(), was_forgotten, files: files.len(), events })
}

/// The sessions that were forgotten, whether or not something of them is left.
pub fn forgotten_sessions(root: &Path) -> Result<BTreeSet<String>, FlywheelError> {
    let path = events_folder(root).join(TOMBSTONES);
    read_tombstones(&path).map_err(|source| FlywheelError::storage(&path, source))
}

/// The forgotten sessions as a running writer knows them: read again when the file changed.
#[derive(Default)]
pub(crate) struct Forgotten {
    sessions: BTreeSet<String>,
    read_at: Option<(u64, Option<SystemTime>)>,
}

impl Forgotten {
    /// What is known now; the folder must be held.
    pub(crate) fn look(&mut self, folder: &Path) -> Result<&BTreeSet<String>, FlywheelError> {
        let path = folder.join(TOMBSTONES);
        let stamp = match path.symlink_metadata() {
            Ok(metadata) => Some((metadata.len(), metadata.modified().ok())),
            Err(_) => None,
        };
        if stamp != self.read_at {
            self.sessions = read_tombstones(&path).map_err(|source| FlywheelError::storage(&path, source))?;
            self.read_at = stamp;
        }
        Ok(&self.sessions)
    }
}

fn read_tombstones(path: &Path) -> io::Result<BTreeSet<String>> {
    let mut sessions = BTreeSet::new();
    if !append::exists_as_file(path)? {
        return Ok(sessions);
    }
    let mut reader = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(MAX_TOMBSTONE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(sessions);
        }
        if let Ok(tombstone) = serde_json::from_slice::<Tombstone>(&line) {
            sessions.insert(tombstone.session);
        }
    }
}

/// The files of a session, and the pieces that crashes tore off them.
fn files_of(folder: &Path, session: &str) -> Result<Vec<PathBuf>, FlywheelError> {
    let mut files = Vec::new();
    let torn = folder.join(TORN_FOLDER);
    for (place, is_torn) in [(folder, false), (&torn, true)] {
        let failed = |source| FlywheelError::storage(place, source);
        append::refuse_link(place).map_err(failed)?;
        let entries = match fs::read_dir(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let parsed = if is_torn { EventFileName::parse_torn(&name) } else { EventFileName::parse(&name) };
            if parsed.is_some_and(|name| name.session == session) {
                files.push(entry.path());
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn count_lines(path: &Path) -> io::Result<u64> {
    if !append::exists_as_file(path).unwrap_or(false) {
        return Ok(0);
    }
    let mut file = File::open(path)?;
    let mut chunk = vec![0; 64 * 1024];
    let mut lines = 0;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(lines),
            read => lines += memchr::memchr_iter(b'\n', &chunk[..read]).count() as u64,
        }
    }
}
