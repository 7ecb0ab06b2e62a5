//! The folder in which Grail remembers things for a user, out of reach of any project: a project could forge what lies within it.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::skill::read_bounded;

/// `$XDG_STATE_HOME/grail`, or `.local/state/grail` in the home folder.
pub fn state_folder(home: Option<&Path>) -> Option<PathBuf> {
    let named = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = named.or_else(|| Some(home?.join(".local").join("state")))?;
    Some(folder.join("grail"))
}

/// A key of this user, made when it is first asked for. What is sealed with it was written by the user's own programs.
pub(crate) fn user_key(state_folder: &Path) -> Option<[u8; 32]> {
    let path = state_folder.join("key");
    let read = || read_bounded(&path, 32).ok()?.try_into().ok();
    read().or_else(|| {
        make_key(&path).ok()?;
        // Another process may have been first; its key counts.
        read()
    })
}

fn make_key(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|_| io::ErrorKind::Unsupported)?;
    // Readable by its owner only.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&key)?;
    file.persist_noclobber(path).map(|_| ()).map_err(|error| error.error)
}
