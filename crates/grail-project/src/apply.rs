//! Work on many files at once, and the changes that come out of it.
//!
//! Files are read, worked on and dropped one by one on a pool of threads; only what the work returns is kept, in the order of the
//! files. An error or a panic belongs to its file and never loses the others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use grail_code::{Edit, Source};
use rayon::prelude::*;

use crate::error::ProjectError;
use crate::read::{SourceFile, read_source};
use crate::walk::PythonFile;

/// What came of one file.
#[derive(Debug)]
pub struct FileOutcome<T> {
    pub path: PathBuf,
    pub result: Result<T, ProjectError>,
}

/// The new state of one file: changed, created (no `before`), removed (no `after`) or moved (two paths).
#[derive(Clone, Debug)]
pub struct FileChange {
    pub before: Option<SourceFile>,
    pub after: Option<NewFile>,
    /// The user named this file, so it may lie outside the project.
    pub explicit: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    pub path: PathBuf,
    pub text: String,
}

/// Changes that are shown together and written together or not at all.
#[derive(Clone, Debug, Default)]
pub struct ChangeSet {
    pub changes: Vec<FileChange>,
}

/// Reads each file and runs `work` on it, in parallel. `progress` hears the number of files done.
pub fn map_sources<T: Send>(
    files: &[PythonFile],
    max_bytes: u64,
    progress: &(dyn Fn(usize) + Sync),
    work: impl Fn(&PythonFile, SourceFile) -> Result<T, ProjectError> + Sync,
) -> Vec<FileOutcome<T>> {
    map_files(files, progress, |file| work(file, read_source(&file.path, max_bytes)?))
}

/// Runs `work` for each file, in parallel. Results come in the order of `files`.
pub fn map_files<T: Send>(
    files: &[PythonFile],
    progress: &(dyn Fn(usize) + Sync),
    work: impl Fn(&PythonFile) -> Result<T, ProjectError> + Sync,
) -> Vec<FileOutcome<T>> {
    let done = AtomicUsize::new(0);
    let run = |file: &PythonFile| {
        let result = catch_unwind(AssertUnwindSafe(|| work(file))).unwrap_or_else(|payload| {
            Err(ProjectError::Panicked { path: file.path.clone(), message: panic_message(payload.as_ref()) })
        });
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        FileOutcome { path: file.path.clone(), result }
    };
    match thread_pool() {
        Some(pool) => pool.install(|| files.par_iter().map(run).collect()),
        None => files.iter().map(run).collect(),
    }
}

impl FileChange {
    /// Applies edits to a file. `None` if they change nothing; an error if they overlap or break a file that parsed.
    pub fn from_edits(
        file: SourceFile,
        explicit: bool,
        edits: Vec<Edit>,
    ) -> Result<Option<Self>, ProjectError> {
        let text = grail_code::edit::apply(file.source.text(), edits)
            .map_err(|source| ProjectError::Conflict { path: file.path.clone(), source })?;
        Self::replace(file, explicit, text)
    }

    /// Gives a file a new text. `None` if it is the old one.
    pub fn replace(file: SourceFile, explicit: bool, text: String) -> Result<Option<Self>, ProjectError> {
        if text == file.source.text() {
            return Ok(None);
        }
        let path = file.path.clone();
        Self::relocate(file, explicit, path, text).map(Some)
    }

    /// Gives a file a new place, and perhaps a new text; its encoding and mode move with it.
    pub fn relocate(
        file: SourceFile,
        explicit: bool,
        path: PathBuf,
        text: String,
    ) -> Result<Self, ProjectError> {
        refuse_broken(&path, Some(&file.source), &text)?;
        Ok(Self { before: Some(file), after: Some(NewFile { path, text }), explicit })
    }

    pub fn create(path: PathBuf, text: String, explicit: bool) -> Result<Self, ProjectError> {
        refuse_broken(&path, None, &text)?;
        Ok(Self { before: None, after: Some(NewFile { path, text }), explicit })
    }

    pub fn remove(file: SourceFile, explicit: bool) -> Self {
        Self { before: Some(file), after: None, explicit }
    }

    /// The path to show: the new one, or the old one of a removed file.
    pub fn path(&self) -> &Path {
        let after = self.after.as_ref().map(|after| after.path.as_path());
        after.or(self.before.as_ref().map(|before| before.path.as_path())).unwrap_or(Path::new(""))
    }
}

impl ChangeSet {
    /// In the order of paths, whatever order the changes were found in.
    pub fn new(mut changes: Vec<FileChange>) -> Self {
        changes.sort_by(|left, right| left.path().cmp(right.path()));
        Self { changes }
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub fn len(&self) -> usize {
        self.changes.len()
    }
}

fn refuse_broken(path: &Path, before: Option<&Source>, text: &str) -> Result<(), ProjectError> {
    // Only Python is parsed: a change may bring a document or a manifest along.
    let is_other =
        path.extension().is_some_and(|ending| ending != "py" && ending != "pyi" && ending != "pyw");
    if is_other {
        return Ok(());
    }
    let parsed = grail_code::parse_module(Source::from_text(text));
    let Some(problem) = parsed.diagnostics().first() else {
        return Ok(());
    };
    // A file that was broken before may stay broken: the change is not to blame.
    if before.is_some_and(|source| !grail_code::parse_module(source.clone()).diagnostics().is_empty()) {
        return Ok(());
    }
    Err(ProjectError::BreaksSyntax {
        path: path.to_owned(),
        line: problem.start.line,
        column: problem.start.column,
        message: problem.message.clone(),
    })
}

/// Own threads with deep stacks; `None` where the system gives no threads, then the caller's thread does the work.
fn thread_pool() -> Option<&'static rayon::ThreadPool> {
    static POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        rayon::ThreadPoolBuilder::new()
            .stack_size(16 * 1024 * 1024)
            .thread_name(|index| format!("grail-worker-{index}"))
            .build()
            .ok()
    })
    .as_ref()
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked").lines().next().unwrap_or_default().to_owned()
}
