//! Many files parsed and kept together, for changes that have to see the whole project at once.
//!
//! Work that can look at one file at a time uses [`map_sources`](crate::map_sources), which keeps none of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use grail_code::{FileEdits, ModuleName, ProjectFile, parse_module};

use crate::apply::{ChangeSet, FileChange, map_sources};
use crate::config::Project;
use crate::error::ProjectError;
use crate::modules::SourceRoots;
use crate::read::{Fingerprint, SourceFile};
use crate::walk::PythonFile;

/// Parsed files, and what is needed to write them back.
#[derive(Default)]
pub struct LoadedProject {
    pub project: grail_code::Project,
    /// By [`ProjectFile::path`].
    pub files: BTreeMap<String, LoadedFile>,
    /// Files that could not be read. A change that must see everything refuses to go on with these.
    pub problems: Vec<ProjectError>,
}

#[derive(Clone, Debug)]
pub struct LoadedFile {
    /// The path as the user knows it.
    pub path: PathBuf,
    pub explicit: bool,
    pub fingerprint: Fingerprint,
}

/// Reads and parses those files that `keep` wants by their module and text: a file that never mentions a name need not be parsed
/// to rename it.
pub fn load_project(
    project: &Project,
    files: &[PythonFile],
    progress: &(dyn Fn(usize) + Sync),
    keep: impl Fn(&ModuleName, &str) -> bool + Sync,
) -> LoadedProject {
    let roots = SourceRoots::new(&project.root, &project.config.project.src);
    let max_bytes = project.config.code.max_file_bytes;
    let outcomes = map_sources(files, max_bytes, progress, |file, source_file| {
        let SourceFile { path, source, fingerprint } = source_file;
        let module = roots.module_of(&path).unwrap_or_default();
        if !keep(&module, source.text()) {
            return Ok(None);
        }
        let name = project_path(&project.root, &path);
        let loaded = LoadedFile { path, explicit: file.explicit, fingerprint };
        Ok(Some((loaded, ProjectFile { path: name, module, parsed: parse_module(source) })))
    });
    let mut loaded = LoadedProject::default();
    for outcome in outcomes {
        match outcome.result {
            Ok(Some((file, parsed))) => {
                loaded.files.insert(parsed.path.clone(), file);
                loaded.project.files.push(parsed);
            }
            Ok(None) => {}
            Err(error) => loaded.problems.push(error),
        }
    }
    loaded
}

impl LoadedProject {
    /// The file as it was read, if it was loaded.
    pub fn source_file(&self, path: &str) -> Option<SourceFile> {
        let file = self.files.get(path)?;
        let source = self.project.file(path)?.parsed.source().clone();
        Some(SourceFile { path: file.path.clone(), source, fingerprint: file.fingerprint })
    }

    /// Turns edits into changes that can be shown and written. Edits of a file that was not loaded are a missing path.
    pub fn changes(&self, edits: Vec<FileEdits>) -> Result<ChangeSet, ProjectError> {
        let mut changes = Vec::new();
        for FileEdits { path, edits } in edits {
            let Some(file) = self.source_file(&path) else {
                return Err(ProjectError::PathMissing { path: PathBuf::from(path) });
            };
            let explicit = self.files.get(&path).is_some_and(|file| file.explicit);
            changes.extend(FileChange::from_edits(file, explicit, edits)?);
        }
        Ok(ChangeSet::new(changes))
    }
}

/// Relative to the root, with `/`; a file outside keeps its whole path.
pub fn project_path(root: &Path, path: &Path) -> String {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let relative = real.strip_prefix(root).unwrap_or(&real);
    relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
