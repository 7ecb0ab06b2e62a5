//! Writing a set of changes: all of it or nothing.
//!
//! Every new content is staged in a temporary file beside its target, then all are renamed into place. A file that changed since it
//! was read stops everything before the first rename; a failure later undoes the renames before it.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::apply::{ChangeSet, FileChange, NewFile};
use crate::error::ProjectError;
use crate::read::{Fingerprint, SourceFile};

/// What was written, by path as shown to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteReport {
    pub changed: Vec<PathBuf>,
    pub created: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
}

/// Writes the changes. Files outside `root` are refused unless the user named them.
pub fn write_changes(set: &ChangeSet, root: &Path) -> Result<WriteReport, ProjectError> {
    let root = fs::canonicalize(root).map_err(|source| unreadable(root, source))?;
    let mut stage = Stage::default();
    let staged = stage_all(set, &root, &mut stage);
    if let Err(error) = staged {
        remove_folders(&stage.created_folders);
        return Err(error);
    }
    let Stage { steps, created_folders } = stage;
    let emptied: Vec<PathBuf> =
        steps.iter().filter(|step| step.staged.is_none()).map(|step| step.target.clone()).collect();
    commit(steps, &created_folders)?;
    for path in emptied {
        remove_empty_parents(&path, &root);
    }
    Ok(report(set))
}

#[derive(Default)]
struct Stage {
    steps: Vec<Step>,
    created_folders: Vec<PathBuf>,
}

/// One rename or removal to come.
struct Step {
    /// The path to show.
    path: PathBuf,
    /// The real file: links resolved.
    target: PathBuf,
    /// The file to rename into place; `None` removes the target.
    staged: Option<TempPath>,
    /// What stands at the target now; `None` if nothing may.
    previous: Option<Previous>,
}

struct Previous {
    fingerprint: Fingerprint,
    permissions: Permissions,
}

fn stage_all(set: &ChangeSet, root: &Path, stage: &mut Stage) -> Result<(), ProjectError> {
    let mut targets = BTreeSet::new();
    for change in &set.changes {
        let before = change.before.as_ref().map(|file| locate_existing(file, change, root)).transpose()?;
        let stays = match (&change.before, &change.after) {
            (Some(before), Some(after)) => before.path == after.path,
            _ => false,
        };
        if let Some(after) = &change.after {
            if stays {
                stage.steps.push(stage_replacement(change, after, before)?);
                continue;
            }
            let permissions = before.as_ref().map(|(_, previous)| previous.permissions.clone());
            let step = stage_creation(change, after, permissions, root, stage)?;
            // A move puts the new file in place first: at no moment is the code in neither.
            stage.steps.push(step);
            stage
                .steps
                .extend(change.before.as_ref().zip(before).map(|(file, located)| removal(file, located)));
        } else if let Some((file, located)) = change.before.as_ref().zip(before) {
            stage.steps.push(removal(file, located));
        }
    }
    for step in &stage.steps {
        if !targets.insert(&step.target) {
            return Err(ProjectError::ChangedTwice { path: step.path.clone() });
        }
    }
    Ok(())
}

/// The real file behind a path, after checking that it may be changed and still is what was read.
fn locate_existing(
    file: &SourceFile,
    change: &FileChange,
    root: &Path,
) -> Result<(PathBuf, Previous), ProjectError> {
    let target = fs::canonicalize(&file.path).map_err(|source| unreadable(&file.path, source))?;
    refuse_outside(&file.path, &target, change.explicit, root)?;
    let metadata = target.metadata().map_err(|source| unreadable(&file.path, source))?;
    if metadata.permissions().readonly() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        return Err(ProjectError::Unwritable { path: file.path.clone(), source });
    }
    let previous = Previous { fingerprint: file.fingerprint, permissions: metadata.permissions() };
    read_unchanged(&file.path, &target, &previous)?;
    Ok((target, previous))
}

fn stage_replacement(
    change: &FileChange,
    after: &NewFile,
    located: Option<(PathBuf, Previous)>,
) -> Result<Step, ProjectError> {
    let Some((target, previous)) = located else {
        return Err(ProjectError::PathMissing { path: after.path.clone() });
    };
    let bytes = encode(change, after)?;
    let staged = stage_file(&target, &bytes, Some(&previous.permissions), Some(&target))
        .map_err(|source| unwritable(&after.path, source))?;
    Ok(Step { path: after.path.clone(), target, staged: Some(staged), previous: Some(previous) })
}

fn stage_creation(
    change: &FileChange,
    after: &NewFile,
    permissions: Option<Permissions>,
    root: &Path,
    stage: &mut Stage,
) -> Result<Step, ProjectError> {
    if after.path.symlink_metadata().is_ok() {
        return Err(ProjectError::AlreadyExists { path: after.path.clone() });
    }
    let failed = |source| unwritable(&after.path, source);
    let absolute = std::path::absolute(&after.path).map_err(failed)?;
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(ProjectError::NotAFile { path: after.path.clone() });
    };
    // The border is checked on what exists, before any folder is made beyond it.
    let existing = folder.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(folder);
    let real = fs::canonicalize(existing).map_err(failed)?;
    refuse_outside(&after.path, &real, change.explicit, root)?;
    for missing in
        folder.ancestors().take_while(|ancestor| !ancestor.exists()).collect::<Vec<_>>().into_iter().rev()
    {
        fs::create_dir(missing).map_err(failed)?;
        stage.created_folders.push(missing.to_owned());
    }
    let target = fs::canonicalize(folder).map_err(failed)?.join(name);
    let bytes = encode(change, after)?;
    let staged = stage_file(&target, &bytes, permissions.as_ref(), None).map_err(failed)?;
    Ok(Step { path: after.path.clone(), target, staged: Some(staged), previous: None })
}

fn removal(file: &SourceFile, (target, previous): (PathBuf, Previous)) -> Step {
    Step { path: file.path.clone(), target, staged: None, previous: Some(previous) }
}

fn encode(change: &FileChange, after: &NewFile) -> Result<Vec<u8>, ProjectError> {
    match &change.before {
        Some(file) => file
            .source
            .encode(&after.text)
            .map_err(|source| ProjectError::Encode { path: after.path.clone(), source }),
        None => Ok(after.text.as_bytes().to_vec()),
    }
}

/// Writes bytes to a temporary file beside `target`, durably, with the mode and owner the target is to have.
fn stage_file(
    target: &Path,
    bytes: &[u8],
    permissions: Option<&Permissions>,
    owner_of: Option<&Path>,
) -> io::Result<TempPath> {
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".grail-").suffix(".tmp");
    #[cfg(unix)]
    {
        // Temporary files are private by default; a new source file is not (the umask still applies).
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o666));
    }
    let mut file: NamedTempFile = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(model) = owner_of {
        keep_owner(model, file.path());
    }
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions.clone())?;
    }
    file.as_file().sync_all()?;
    Ok(file.into_temp_path())
}

/// Only the superuser may give files away, so failing here is normal and harmless.
fn keep_owner(model: &Path, copy: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        if let (Ok(model), Ok(own)) = (model.metadata(), copy.metadata())
            && (model.uid(), model.gid()) != (own.uid(), own.gid())
        {
            let _ = chown(copy, Some(model.uid()), Some(model.gid()));
        }
    }
}

fn commit(steps: Vec<Step>, created_folders: &[PathBuf]) -> Result<(), ProjectError> {
    let mut undo: Vec<Undo> = Vec::new();
    let folders: BTreeSet<PathBuf> =
        steps.iter().filter_map(|step| step.target.parent().map(Path::to_owned)).collect();
    let mut steps = steps.into_iter();
    while let Some(step) = steps.next() {
        match commit_step(step) {
            Ok(done) => undo.push(done),
            Err(error) => {
                // Unstages the rest, so that the folders made for it are empty again.
                drop(steps);
                let error = roll_back(undo, error);
                remove_folders(created_folders);
                return Err(error);
            }
        }
    }
    for folder in folders {
        // The renames are done; a folder that cannot be synced is no reason to call them failed.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

struct Undo {
    target: PathBuf,
    /// What to put back; `None` removes the file that was created.
    previous: Option<(Vec<u8>, Permissions)>,
}

fn commit_step(step: Step) -> Result<Undo, ProjectError> {
    let Step { path, target, staged, previous } = step;
    // Read again as late as possible: this closes the gap between staging and renaming, and is what rolling back needs.
    let previous = match previous {
        Some(previous) => Some((read_unchanged(&path, &target, &previous)?, previous.permissions)),
        None => None,
    };
    let renamed = match (staged, &previous) {
        (Some(staged), Some(_)) => staged.persist(&target).map_err(|error| error.error),
        (Some(staged), None) => staged.persist_noclobber(&target).map_err(|error| error.error),
        (None, _) => fs::remove_file(&target),
    };
    match renamed {
        Ok(()) => Ok(Undo { target, previous }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(ProjectError::AlreadyExists { path })
        }
        Err(source) => Err(unwritable(&path, source)),
    }
}

fn roll_back(undo: Vec<Undo>, cause: ProjectError) -> ProjectError {
    let mut failure = None;
    for Undo { target, previous } in undo.into_iter().rev() {
        let undone = match previous {
            Some((bytes, permissions)) => stage_file(&target, &bytes, Some(&permissions), Some(&target))
                .and_then(|staged| staged.persist(&target).map_err(|error| error.error)),
            None => fs::remove_file(&target),
        };
        if let Err(source) = undone {
            failure.get_or_insert((target, source));
        }
    }
    match failure {
        Some((path, source)) => ProjectError::RollbackFailed { cause: Box::new(cause), path, source },
        None => cause,
    }
}

fn read_unchanged(path: &Path, target: &Path, previous: &Previous) -> Result<Vec<u8>, ProjectError> {
    let bytes = fs::read(target).map_err(|source| unreadable(path, source))?;
    if Fingerprint::of(&bytes) == previous.fingerprint {
        Ok(bytes)
    } else {
        Err(ProjectError::ChangedOnDisk { path: path.to_owned() })
    }
}

fn refuse_outside(path: &Path, target: &Path, explicit: bool, root: &Path) -> Result<(), ProjectError> {
    if explicit || target.starts_with(root) {
        return Ok(());
    }
    Err(ProjectError::OutsideProject { path: path.to_owned(), root: root.to_owned() })
}

/// Removes folders made for nothing, deepest first; those that hold something meanwhile stay.
fn remove_folders(created: &[PathBuf]) {
    for folder in created.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

fn remove_empty_parents(path: &Path, root: &Path) {
    let inside = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root) && *folder != root);
    for folder in inside {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

fn report(set: &ChangeSet) -> WriteReport {
    let mut report = WriteReport::default();
    for change in &set.changes {
        match (&change.before, &change.after) {
            (Some(before), Some(after)) if before.path == after.path => {
                report.changed.push(after.path.clone())
            }
            (before, after) => {
                report.removed.extend(before.iter().map(|file| file.path.clone()));
                report.created.extend(after.iter().map(|file| file.path.clone()));
            }
        }
    }
    report
}

fn unreadable(path: &Path, source: io::Error) -> ProjectError {
    match source.kind() {
        io::ErrorKind::NotFound => ProjectError::PathMissing { path: path.to_owned() },
        _ => ProjectError::Unreadable { path: path.to_owned(), source },
    }
}

fn unwritable(path: &Path, source: io::Error) -> ProjectError {
    ProjectError::Unwritable { path: path.to_owned(), source }
}
