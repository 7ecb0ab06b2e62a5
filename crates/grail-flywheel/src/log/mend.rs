//! What crashed writers left behind, set aside without waiting for somebody to write to the same session again.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use grail_project::SyncPolicy;

use super::append::{Appender, Hold};
use super::names::{EventFileName, events_folder};
use crate::error::FlywheelError;

/// Moves the half line at the end of any file to `torn/`, and says for each what was done. A line that somebody is writing is left to them.
pub fn set_torn_aside(root: &Path) -> Result<Vec<String>, FlywheelError> {
    let folder = events_folder(root);
    let failed = |source| FlywheelError::storage(&folder, source);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut torn = Vec::new();
    for entry in entries {
        let Ok(name) = entry.map_err(failed)?.file_name().into_string() else { continue };
        let is_torn = || ends_in_a_line(&folder.join(&name)).is_ok_and(|ends| !ends);
        if EventFileName::parse(&name).is_some() && is_torn() {
            torn.push(name);
        }
    }
    if torn.is_empty() {
        return Ok(Vec::new());
    }
    torn.sort_unstable();
    let mut appender = Appender::new(root, SyncPolicy::Group);
    let held = appender.hold(Hold::Shared)?;
    let mut notices = Vec::new();
    for name in torn {
        // Whoever appends, even if it is nothing, mends the end first, alone with the file.
        appender.append(&held, &name, b"", &mut notices)?;
    }
    Ok(notices)
}

fn ends_in_a_line(path: &Path) -> io::Result<bool> {
    let metadata = path.symlink_metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(true);
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
