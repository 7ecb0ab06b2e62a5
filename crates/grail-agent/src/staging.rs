//! The project as it would be: files that somebody wants to write, kept in memory until a person approves.
//!
//! Reading looks here first, then on disk. A path is relative to the project's root, with `/`, and cannot lead out of it, neither by `..`
//! nor through a link; Grail's own folder, git's, and whatever begins with a dot beside the few that projects keep are out of reach.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use grail_project::{FileChange, ProjectError, read_source};

use crate::AgentError;

/// More files in one proposal are not staged.
pub(crate) const MAX_STAGED_FILES: usize = 200;
/// A larger file is not staged.
pub(crate) const MAX_STAGED_BYTES: usize = 1 << 20;
/// A larger file is not read for a model.
pub(crate) const MAX_READ_BYTES: u64 = 1 << 20;

/// Changes to come, by path.
pub struct Staging {
    root: PathBuf,
    /// `None` removes the file.
    changes: Mutex<BTreeMap<String, Option<String>>>,
}

impl Staging {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), changes: Mutex::default() }
    }

    /// The text of a file as it would be; `None` if there would be none.
    pub fn read(&self, path: &str) -> Result<Option<String>, AgentError> {
        let path = clean_path(path)?;
        if let Some(staged) = self.changes().get(&path) {
            return Ok(staged.clone());
        }
        self.read_from_disk(&path)
    }

    /// The text of a file as it is.
    pub fn read_from_disk(&self, path: &str) -> Result<Option<String>, AgentError> {
        let full = self.locate(&clean_path(path)?)?;
        match read_source(&full, MAX_READ_BYTES) {
            Ok(file) => Ok(Some(file.source.text().to_owned())),
            Err(ProjectError::PathMissing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Stages a new text. It is given back under its clean path.
    pub fn write(&self, path: &str, text: String) -> Result<String, AgentError> {
        let path = clean_path(path)?;
        self.locate(&path)?;
        if text.len() > MAX_STAGED_BYTES {
            let reason = format!("its text has more than {MAX_STAGED_BYTES} bytes");
            return Err(AgentError::Path { path, reason });
        }
        let is_same =
            self.read_from_disk(&path).is_ok_and(|current| current.as_deref() == Some(text.as_str()));
        let mut changes = self.changes();
        if is_same {
            changes.remove(&path);
            return Ok(path);
        }
        if changes.len() >= MAX_STAGED_FILES && !changes.contains_key(&path) {
            let reason = format!("more than {MAX_STAGED_FILES} files would change");
            return Err(AgentError::Path { path, reason });
        }
        changes.insert(path.clone(), Some(text));
        Ok(path)
    }

    /// Stages a removal.
    pub fn remove(&self, path: &str) -> Result<String, AgentError> {
        let path = clean_path(path)?;
        if self.read_from_disk(&path)?.is_some() {
            self.changes().insert(path.clone(), None);
        } else {
            self.changes().remove(&path);
        }
        Ok(path)
    }

    /// Forgets what is staged for one file.
    pub fn forget(&self, path: &str) {
        self.changes().remove(path);
    }

    pub fn clear(&self) {
        self.changes().clear();
    }

    pub fn is_empty(&self) -> bool {
        self.changes().is_empty()
    }

    /// Whether something is staged for a file, by its clean path.
    pub fn is_staged(&self, path: &str) -> bool {
        self.changes().contains_key(path)
    }

    /// Everything staged: paths and texts, `None` for a removal.
    pub fn staged(&self) -> BTreeMap<String, Option<String>> {
        self.changes().clone()
    }

    /// What is staged, against the files as they are now.
    pub fn file_changes(&self) -> Result<Vec<FileChange>, AgentError> {
        self.staged()
            .into_iter()
            .filter_map(|(path, text)| self.file_change(&path, text).transpose())
            .collect()
    }

    fn file_change(&self, path: &str, text: Option<String>) -> Result<Option<FileChange>, AgentError> {
        let full = self.locate(path)?;
        let before = match read_source(&full, MAX_READ_BYTES) {
            Ok(file) => Some(file),
            Err(ProjectError::PathMissing { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(match (before, text) {
            (Some(before), Some(text)) => FileChange::replace(before, false, text)?,
            (Some(before), None) => Some(FileChange::remove(before, false)),
            (None, Some(text)) => Some(FileChange::create(full, text, false)?),
            (None, None) => None,
        })
    }

    /// The file on disk, if it lies in the project whatever links there are.
    pub fn locate(&self, path: &str) -> Result<PathBuf, AgentError> {
        let full = self.root.join(path);
        let outside = || AgentError::Path {
            path: path.to_owned(),
            reason: "a link leads out of the project".to_owned(),
        };
        // The nearest part that exists decides; the rest will be made of plain folders.
        let existing = full.ancestors().find(|part| part.symlink_metadata().is_ok());
        let real = existing.and_then(|part| part.canonicalize().ok()).ok_or_else(outside)?;
        let root = self.root.canonicalize().map_err(|_| outside())?;
        if real.starts_with(&root) { Ok(full) } else { Err(outside()) }
    }

    fn changes(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Option<String>>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hidden folders and files that belong to a project's sources all the same.
const KNOWN_HIDDEN: [&str; 6] =
    [".agents", ".github", ".gitignore", ".gitattributes", ".editorconfig", ".pre-commit-config.yaml"];

/// Folders of installed packages, which are never part of a change.
const INSTALLED: [&str; 2] = ["venv", "node_modules"];

/// A path as it is written in proposals: relative, with `/`, without `.` and `..`.
pub fn clean_path(path: &str) -> Result<String, AgentError> {
    let bad =
        |reason: &str| AgentError::Path { path: path.chars().take(200).collect(), reason: reason.to_owned() };
    if path.is_empty() || path.len() > 500 {
        return Err(bad("it is empty or too long"));
    }
    if path.chars().any(|character| character.is_control() || character == '\\') {
        return Err(bad("it holds control characters or backslashes"));
    }
    let mut parts = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str().ok_or_else(|| bad("it is no text"))?),
            _ => return Err(bad("it leads out of the project")),
        }
    }
    let hidden = parts.iter().find(|part| part.starts_with('.') && !KNOWN_HIDDEN.contains(part));
    if hidden.is_some() {
        return Err(bad("hidden files are out of reach"));
    }
    if parts.first().is_some_and(|first| INSTALLED.contains(first)) {
        return Err(bad("installed packages are out of reach"));
    }
    if parts.is_empty() {
        return Err(bad("it names no file"));
    }
    Ok(parts.join("/"))
}
