//! A copy of the project with everything staged in it, for tools that look at files: linters, type checkers, tests.
//!
//! The project itself is not touched. Sources are copied; what is large and never part of a change (environments, installed packages) is
//! linked. The copy is gone when it is dropped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use grail_project::{Project, WalkOptions, project_path, walk_python_files};
use ignore::WalkBuilder;
use tempfile::TempDir;

use crate::AgentError;
use crate::staging::Staging;

/// A larger project is not copied.
const MAX_FILES: usize = 50_000;
const MAX_BYTES: u64 = 512 << 20;

/// Folders that are linked: tools are found there, and they are never part of a change.
const LINKED: [&str; 4] = [".venv", "venv", "node_modules", ".grail"];
/// Folders that nothing needs.
const LEFT_OUT: [&str; 3] = [".git", "__pycache__", "target"];

pub struct Shadow {
    /// The copy, with the configuration of the original.
    pub project: Project,
    _folder: TempDir,
}

impl Shadow {
    pub fn make(project: &Project, staging: &Staging) -> Result<Self, AgentError> {
        let folder = TempDir::with_prefix("grail-shadow-")
            .map_err(|error| storage(Path::new("temporary folder"), error))?;
        let root = folder.path().canonicalize().map_err(|error| storage(folder.path(), error))?;
        copy_sources(&project.root, &root)?;
        link_folders(&project.root, &root)?;
        for (path, text) in staging.staged() {
            // What is linked is the original.
            if path.split('/').next().is_some_and(|first| LINKED.contains(&first)) {
                let reason = "installed packages are out of reach".to_owned();
                return Err(AgentError::Path { path, reason });
            }
            let target = root.join(&path);
            match text {
                Some(text) => write(&target, &text)?,
                None => match fs::remove_file(&target) {
                    // What git ignores was not copied.
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(storage(&target, error));
                    }
                    _ => {}
                },
            }
        }
        Ok(Self { project: Project { root, config: project.config.clone() }, _folder: folder })
    }

    /// The Python files of the copy, by their paths in it.
    pub fn python_files(&self) -> Vec<Arc<str>> {
        let root = &self.project.root;
        let options =
            WalkOptions { root: root.clone(), exclude: self.project.config.project.exclude.clone() };
        let walked = walk_python_files(std::slice::from_ref(root), &options).unwrap_or_default();
        walked.files.iter().map(|file| project_path(root, &file.path).into()).collect()
    }

    /// The files of the copy, with what tells whether they change. What is linked is not looked at.
    pub fn files(&self) -> ShadowFiles {
        let is_real = |entry: &ignore::DirEntry| entry.depth() == 0 || !entry.path_is_symlink();
        let mut walker = WalkBuilder::new(&self.project.root);
        let entries =
            walker.standard_filters(false).follow_links(false).filter_entry(is_real).build().flatten();
        let file = |entry: ignore::DirEntry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let relative = entry.path().strip_prefix(&self.project.root).ok()?;
            let path = relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
            Some((path, (metadata.len(), metadata.modified().ok())))
        };
        entries.filter_map(file).collect()
    }

    /// Files that are there now and were not, that are others now, and that are gone; but for caches.
    pub fn changed_since(&self, before: &ShadowFiles) -> Vec<String> {
        let now = self.files();
        let is_cache = |path: &&String| path.split('/').any(|part| LEFT_OUT.contains(&part));
        let differs = |path: &&String| now.get(*path) != before.get(*path);
        let mut changed: Vec<String> = now
            .keys()
            .chain(before.keys())
            .filter(|path| differs(path) && !is_cache(path))
            .cloned()
            .collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

/// Size and time by path.
pub type ShadowFiles = BTreeMap<String, (u64, Option<SystemTime>)>;

fn copy_sources(from: &Path, to: &Path) -> Result<(), AgentError> {
    let is_wanted = |entry: &ignore::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let is_cache = name.starts_with('.') && name.ends_with("_cache");
        entry.depth() == 0 || !(is_cache || LINKED.contains(&&*name) || LEFT_OUT.contains(&&*name))
    };
    let (mut files, mut bytes) = (0, 0);
    for entry in WalkBuilder::new(from).hidden(false).filter_entry(is_wanted).build().flatten() {
        let Ok(relative) = entry.path().strip_prefix(from) else { continue };
        let Some(kind) = entry.file_type() else { continue };
        let target = to.join(relative);
        if kind.is_dir() {
            fs::create_dir_all(&target).map_err(|error| storage(&target, error))?;
            continue;
        }
        // Links could lead anywhere, and pipes never end.
        if !kind.is_file() {
            continue;
        }
        files += 1;
        bytes += entry.metadata().map_or(0, |metadata| metadata.len());
        if files > MAX_FILES || bytes > MAX_BYTES {
            return Err(AgentError::Limit {
                message: format!(
                    "the project is too large to be copied for other tools: more than {MAX_FILES} files or {MAX_BYTES} bytes"
                ),
                hint: "leave these layers out: `--layer syntax --layer rules`",
            });
        }
        fs::copy(entry.path(), &target).map_err(|error| storage(entry.path(), error))?;
    }
    Ok(())
}

#[cfg(unix)]
fn link_folders(from: &Path, to: &Path) -> Result<(), AgentError> {
    for name in LINKED {
        let original = from.join(name);
        if original.is_dir() {
            let link: PathBuf = to.join(name);
            std::os::unix::fs::symlink(&original, &link).map_err(|error| storage(&link, error))?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn link_folders(_from: &Path, _to: &Path) -> Result<(), AgentError> {
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), AgentError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| storage(parent, error))?;
    }
    fs::write(path, text).map_err(|error| storage(path, error))
}

fn storage(path: &Path, source: std::io::Error) -> AgentError {
    AgentError::Storage { path: path.display().to_string(), source }
}
