//! The folder in which Grail remembers things for a user, out of reach of any project: a project could forge what lies within it.

use std::env;
use std::path::{Path, PathBuf};

/// `$XDG_STATE_HOME/grail`, or `.local/state/grail` in the home folder.
pub fn state_folder(home: Option<&Path>) -> Option<PathBuf> {
    let named = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = named.or_else(|| Some(home?.join(".local").join("state")))?;
    Some(folder.join("grail"))
}
