//! The files of events as the index sees them: which there are, and whether they only grew.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::FlywheelError;
use crate::log::{EventFileName, events_folder, forgotten_sessions};

/// How much of the beginning of a file, and of the end of what was read, its fingerprints are made of.
const FINGERPRINT_BYTES: u64 = 4096;
/// A file that was changed this lately may change again without its time telling.
const RESTLESS: Duration = Duration::from_secs(2);

/// A file as it looks without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventFile {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) length: u64,
    /// Nanoseconds since 1970; 0 if it cannot be relied on.
    pub(super) modified: i64,
}

/// All files of events by name, without those of forgotten sessions. A folder that is not there has none.
pub(super) fn list(root: &Path) -> Result<Vec<EventFile>, FlywheelError> {
    let folder = events_folder(root);
    let failed = |error| FlywheelError::storage(&folder, error);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let forgotten = forgotten_sessions(root)?;
    let now = SystemTime::now();
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if EventFileName::parse(&name).is_none_or(|name| forgotten.contains(name.session)) {
            continue;
        }
        // Not followed: a link leads out of the project.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_file() {
            continue;
        }
        let modified = metadata.modified().ok().filter(|modified| *modified + RESTLESS < now);
        let modified = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
        let modified = modified.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0);
        files.push(EventFile { name, path: entry.path(), length: metadata.len(), modified });
    }
    files.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(files)
}

/// Hashes of the beginning of a file and of what comes before `offset`.
pub(super) fn fingerprint(file: &mut File, offset: u64) -> io::Result<([u8; 32], [u8; 32])> {
    let size = offset.min(FINGERPRINT_BYTES);
    let mut hash = |from: u64| -> io::Result<[u8; 32]> {
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::with_capacity(size as usize);
        file.by_ref().take(size).read_to_end(&mut bytes)?;
        Ok(*blake3::hash(&bytes).as_bytes())
    };
    Ok((hash(0)?, hash(offset - size)?))
}
