//! Finding the Python files below some paths, the way `rg` finds text files.
//!
//! Ignore files, hidden files, virtual environments and `exclude` are honoured in folders; a file that is named is always taken.
//! Symlinked folders are not entered. The result is sorted and names each file once.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::error::ProjectError;

#[derive(Clone, Debug, Default)]
pub struct WalkOptions {
    /// The folder the exclude patterns are relative to, absolute.
    pub root: PathBuf,
    pub exclude: Vec<String>,
}

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonFile {
    /// Begins with the path it was found below, as the user wrote that.
    pub path: PathBuf,
    /// Named by the user, not merely found.
    pub explicit: bool,
}

#[derive(Debug, Default)]
pub struct Walked {
    /// Sorted by path.
    pub files: Vec<PythonFile>,
    /// Folders that could not be read; the walk goes on without them.
    pub problems: Vec<ProjectError>,
}

/// Finds `.py` and `.pyi` files below `paths`. A missing path, or a folder without Python, is an error.
pub fn walk_python_files(paths: &[PathBuf], options: &WalkOptions) -> Result<Walked, ProjectError> {
    let excluded = exclude_matcher(options)?;
    // Keyed by the real file, so that overlapping paths and links name it once.
    let mut found: BTreeMap<PathBuf, PythonFile> = BTreeMap::new();
    let mut links = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        let real = fs::canonicalize(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ProjectError::PathMissing { path: path.clone() },
            _ => ProjectError::Unreadable { path: path.clone(), source },
        })?;
        if !real.is_dir() {
            if !real.is_file() {
                return Err(ProjectError::NotAFile { path: path.clone() });
            }
            found.insert(real, PythonFile { path: tidy_path(path), explicit: true });
            continue;
        }
        let entries = walk_folder(path, &real, &excluded);
        let is_empty = entries.files.is_empty() && entries.links.is_empty();
        if is_empty && entries.problems.is_empty() {
            return Err(ProjectError::NoPythonFiles { path: path.clone() });
        }
        for file in entries.files {
            let below = file.strip_prefix(path).unwrap_or(&file);
            let file = PythonFile { path: tidy_path(&file), explicit: false };
            found.entry(real.join(below)).or_insert(file);
        }
        links.extend(entries.links);
        problems.extend(entries.problems);
    }
    links.sort();
    for link in links {
        // A dangling link, or one to a folder, is not a Python file.
        let Ok(real) = fs::canonicalize(&link) else {
            continue;
        };
        if real.is_file() {
            found.entry(real).or_insert(PythonFile { path: tidy_path(&link), explicit: false });
        }
    }
    let mut files: Vec<PythonFile> = found.into_values().collect();
    files.sort();
    Ok(Walked { files, problems })
}

#[derive(Default)]
struct Entries {
    files: Vec<PathBuf>,
    links: Vec<PathBuf>,
    problems: Vec<ProjectError>,
}

fn walk_folder(folder: &Path, real: &Path, excluded: &Gitignore) -> Entries {
    let entries = Mutex::new(Entries::default());
    // The patterns are relative to the project's root, so they are asked about real paths, wherever the user stands.
    let (folder_given, real, excluded) = (folder.to_owned(), real.to_owned(), excluded.clone());
    let is_wanted = move |entry: &DirEntry| {
        let below = entry.path().strip_prefix(&folder_given).unwrap_or(entry.path());
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.depth() == 0
            || !(excluded.matched(real.join(below), is_folder).is_ignore()
                || is_folder && is_virtual_environment(entry))
    };
    let walker = WalkBuilder::new(folder).require_git(false).filter_entry(is_wanted).build_parallel();
    walker.run(|| {
        Box::new(|entry| {
            // A poisoned lock only means that another thread panicked; what it collected is still whole.
            let mut entries = entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            match entry {
                Ok(entry) if is_python(entry.path()) => match entry.file_type() {
                    Some(kind) if kind.is_file() => entries.files.push(entry.into_path()),
                    Some(kind) if kind.is_symlink() => entries.links.push(entry.into_path()),
                    _ => {}
                },
                Ok(_) => {}
                Err(error) => entries.problems.extend(walk_problem(error, folder)),
            }
            WalkState::Continue
        })
    });
    let mut entries = entries.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    entries.problems.sort_by_key(ToString::to_string);
    entries
}

fn exclude_matcher(options: &WalkOptions) -> Result<Gitignore, ProjectError> {
    let mut builder = GitignoreBuilder::new(&options.root);
    let invalid = |glob: &str, error: ignore::Error| {
        let message = match error {
            ignore::Error::Glob { err, .. } => err,
            other => other.to_string(),
        };
        ProjectError::ExcludePattern { glob: glob.to_owned(), message }
    };
    for glob in &options.exclude {
        builder.add_line(None, glob).map_err(|error| invalid(glob, error))?;
    }
    builder.build().map_err(|error| invalid(&options.exclude.join(", "), error))
}

fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py" || extension == "pyi")
}

fn is_virtual_environment(entry: &DirEntry) -> bool {
    entry.path().join("pyvenv.cfg").is_file()
}

/// A folder that cannot be read is worth a word; a faulty line in somebody's `.gitignore` is not.
fn walk_problem(error: ignore::Error, folder: &Path) -> Option<ProjectError> {
    let path = error_path(&error).unwrap_or(folder).to_owned();
    let source = error.into_io_error()?;
    Some(ProjectError::Unreadable { path: tidy_path(&path), source })
}

fn error_path(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => error_path(err),
        _ => None,
    }
}

/// `./a.py` and `a.py` are the same file; people want to read the shorter one.
fn tidy_path(path: &Path) -> PathBuf {
    let tidy: PathBuf = path.components().filter(|component| *component != Component::CurDir).collect();
    if tidy.as_os_str().is_empty() { PathBuf::from(".") } else { tidy }
}
