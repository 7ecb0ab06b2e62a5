//! Where installed skills are, and the one place that knows.
//!
//! ```text
//! skills/<scope>/            the user's own, or one project's: outside of the project, which could forge them
//!   .locks/<id>              held while something changes
//!   <id>/record.json         which version is current, and everything else that is remembered: see `record`
//!   <id>/versions/<n>/<id>/  the files of one version, never changed once they are there
//!   <id>/staging-…/          an install under way
//! ```
//!
//! Files are put beside the others first and the record is replaced last, so that at every moment there is one version that is
//! current and whole. What was interrupted is cleared away by whoever holds the lock next.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use grail_rules::Origin;

use super::Step;
use super::problem::LifecycleProblem;
use super::record::{FORMAT, Installed, Record};
use super::stage::content_hash;
use super::state::State;
use crate::bounded::read_text;
use crate::error::SkillError;
use crate::runnable::{Capability, Manifest, is_skill_id};
use crate::skill::Skill;

const USER_SCOPE: &str = "user";
const RECORD_FILE: &str = "record.json";
const VERSIONS_FOLDER: &str = "versions";
const STAGING_PREFIX: &str = "staging-";
const LOCKS_FOLDER: &str = ".locks";
/// A larger record is not read.
const MAX_RECORD_BYTES: u64 = 1024 * 1024;
/// More skills in one scope are not looked at.
const MAX_INSTALLED: usize = 10_000;

/// The installed skills of one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillStore {
    folder: PathBuf,
}

/// A skill that may be invoked: active, and still what was tested.
#[derive(Clone, Debug)]
pub struct ActiveSkill {
    /// The folder with its manifest and script.
    pub folder: PathBuf,
    pub manifest: Manifest,
    pub record: Record,
}

/// One skill of a store while nobody else can change it.
pub(super) struct Locked<'s> {
    pub(super) store: &'s SkillStore,
    pub(super) id: String,
    on_step: &'s dyn Fn(Step),
    /// A process that dies releases it.
    lock: File,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Closing alone would not do: a child that another thread is just starting may hold the same file open for a moment longer.
        let _ = self.lock.unlock();
    }
}

impl ActiveSkill {
    /// Whether the manifest declares this, or somebody accepted it.
    pub fn allows(&self, capability: &Capability) -> bool {
        let declared = self.manifest.declared();
        let accepted = self.record.accepted.iter().flat_map(|accepted| &accepted.capabilities);
        declared.iter().chain(accepted).any(|allowed| allowed.covers(capability))
    }
}

impl SkillStore {
    /// The skills that a user installed for all projects; `state` is the user's state folder.
    pub fn of_user(state: &Path) -> Self {
        Self { folder: state.join("skills").join(USER_SCOPE) }
    }

    /// The skills that a user installed for one project.
    pub fn of_project(state: &Path, root: &Path) -> Self {
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let key = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        Self { folder: state.join("skills").join(format!("project-{}", &key[..16])) }
    }

    /// Whether these are skills of the user, not of a project.
    pub fn is_of_user(&self) -> bool {
        self.scope_name() == USER_SCOPE
    }

    /// The name of the scope, for whatever else is kept by scope.
    pub fn scope_name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Every installed skill, by id, and what could not be read.
    pub fn installed(&self) -> (Vec<Record>, Vec<SkillError>) {
        let mut records = Vec::new();
        let mut problems = Vec::new();
        for id in self.ids() {
            match self.record(&id) {
                Ok(record) => records.push(record),
                Err(SkillError::Lifecycle(LifecycleProblem::NotInstalled { .. })) => {}
                Err(problem) => problems.push(problem),
            }
        }
        (records, problems)
    }

    /// The skills that can be invoked, as a catalogue or a search knows skills. Their owner installed them: they are trusted.
    pub fn active_skills(&self) -> Vec<Skill> {
        let describe = |record: &Record| {
            let current = record.current.as_ref().filter(|current| current.state == State::Active)?;
            let folder = self.version_folder(&record.id, current.number);
            let Manifest { id, description, .. } = Manifest::read(&folder).ok()?;
            Some(Skill { name: id, description, origin: Origin::Home, folder })
        };
        self.installed().0.iter().filter_map(describe).collect()
    }

    /// Whether there is such a skill here, or what is left of one.
    pub fn has(&self, id: &str) -> bool {
        !matches!(self.record(id), Err(SkillError::Lifecycle(LifecycleProblem::NotInstalled { .. })))
    }

    /// What is remembered of a skill. Skills that are only just being installed for the first time are not there yet.
    pub fn record(&self, id: &str) -> Result<Record, SkillError> {
        let mut record = self.read_record(id)?;
        // A version on trial that nobody is trying any more is what an interrupted install left.
        if record.as_ref().is_some_and(|record| record.candidate.is_some()) && self.lock(id, &|_| {}).is_ok()
        {
            record = self.read_record(id)?;
        }
        match record {
            Some(record) if record.current.is_some() => Ok(record),
            _ => Err(LifecycleProblem::NotInstalled { id: id.to_owned(), known: self.ids() }.into()),
        }
    }

    /// The folder of one version's files.
    pub fn version_folder(&self, id: &str, number: u32) -> PathBuf {
        self.skill_folder(id).join(VERSIONS_FOLDER).join(number.to_string()).join(id)
    }

    /// The skill, if it may be invoked: it is active, and its files are those that passed the handshake.
    pub fn active(&self, id: &str) -> Result<ActiveSkill, SkillError> {
        let record = self.record(id)?;
        let Some(current) = &record.current else {
            return Err(LifecycleProblem::NotInstalled { id: id.to_owned(), known: self.ids() }.into());
        };
        if current.state != State::Active {
            let reason = current.reason.clone();
            return Err(
                LifecycleProblem::NotActive { id: id.to_owned(), state: current.state, reason }.into()
            );
        }
        let folder = self.version_folder(id, current.number);
        let manifest = self.tested_manifest(id, current)?;
        Ok(ActiveSkill { folder, manifest, record })
    }

    /// The manifest of a version, if its files are those that were installed.
    pub(super) fn tested_manifest(&self, id: &str, installed: &Installed) -> Result<Manifest, SkillError> {
        let folder = self.version_folder(id, installed.number);
        if content_hash(&folder)? != installed.hash {
            return Err(LifecycleProblem::ChangedSinceTested { id: id.to_owned() }.into());
        }
        Ok(Manifest::read(&folder)?)
    }

    /// Takes the skill's files and everything that is remembered of it away.
    pub fn remove(&self, id: &str) -> Result<(), SkillError> {
        let locked = self.lock(id, &|_| {})?;
        match self.record(id) {
            Ok(_) | Err(SkillError::Lifecycle(LifecycleProblem::BrokenRecord { .. })) => {}
            Err(problem) => return Err(problem),
        }
        // Renamed first: from then on there is no skill, however long removing its files takes.
        let away = self.folder.join(format!(".removed-{id}"));
        remove_folder(&away)?;
        fs::rename(self.skill_folder(id), &away).map_err(|reason| failed("remove", &away, reason))?;
        drop(locked);
        remove_folder(&away)
    }

    /// Locks a skill, and clears away what an interrupted install left behind.
    pub(super) fn lock<'s>(&'s self, id: &str, on_step: &'s dyn Fn(Step)) -> Result<Locked<'s>, SkillError> {
        let path = self.lock_path(id)?;
        let file = File::create(&path).map_err(|reason| failed("open", &path, reason))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LifecycleProblem::Busy { id: id.to_owned() }.into()),
            Err(TryLockError::Error(reason)) => return Err(failed("lock", &path, reason)),
        }
        self.locked(id, file, on_step)
    }

    /// As [`Self::lock`], after whoever holds it. For what is short and must not be lost.
    pub(super) fn wait_for_lock<'s>(
        &'s self,
        id: &str,
        on_step: &'s dyn Fn(Step),
    ) -> Result<Locked<'s>, SkillError> {
        let path = self.lock_path(id)?;
        let file = File::create(&path).map_err(|reason| failed("open", &path, reason))?;
        file.lock().map_err(|reason| failed("lock", &path, reason))?;
        self.locked(id, file, on_step)
    }

    fn locked<'s>(
        &'s self,
        id: &str,
        lock: File,
        on_step: &'s dyn Fn(Step),
    ) -> Result<Locked<'s>, SkillError> {
        let locked = Locked { store: self, id: id.to_owned(), on_step, lock };
        locked.step(Step::Locked);
        locked.recover()?;
        locked.step(Step::Recovered);
        Ok(locked)
    }

    fn lock_path(&self, id: &str) -> Result<PathBuf, SkillError> {
        // Ids become names of files.
        if !is_skill_id(id) {
            return Err(LifecycleProblem::NotInstalled { id: id.to_owned(), known: self.ids() }.into());
        }
        let folder = self.folder.join(LOCKS_FOLDER);
        fs::create_dir_all(&folder).map_err(|reason| failed("create", &folder, reason))?;
        Ok(folder.join(id))
    }

    fn skill_folder(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    fn ids(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter(|name| is_skill_id(name)).take(MAX_INSTALLED).collect();
        ids.sort();
        ids
    }

    fn read_record(&self, id: &str) -> Result<Option<Record>, SkillError> {
        if !is_skill_id(id) {
            return Ok(None);
        }
        let path = self.skill_folder(id).join(RECORD_FILE);
        if !path.exists() {
            return Ok(None);
        }
        let broken = |reason: String| -> SkillError {
            LifecycleProblem::BrokenRecord { path: path.clone(), reason }.into()
        };
        let text = read_text(&path, MAX_RECORD_BYTES).map_err(broken)?;
        let record: Record = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        match (record.format, record.id == id) {
            (FORMAT, true) => Ok(Some(record)),
            (FORMAT, false) => Err(broken(format!("it is about `{}`", record.id))),
            (format, _) => Err(broken(format!("its format is {format}; this program reads {FORMAT}"))),
        }
    }
}

impl Locked<'_> {
    pub(super) fn step(&self, step: Step) {
        (self.on_step)(step);
    }

    /// What is remembered, or the record of a skill that is not there yet.
    pub(super) fn record(&self) -> Result<Record, SkillError> {
        Ok(self.store.read_record(&self.id)?.unwrap_or_else(|| Record::new(&self.id)))
    }

    /// What is remembered of a skill that is there.
    pub(super) fn installed_record(&self) -> Result<Record, SkillError> {
        self.store.record(&self.id)
    }

    /// Replaces the record as a whole: this is the moment at which anything changes.
    pub(super) fn write(&self, record: &Record) -> Result<(), SkillError> {
        let folder = self.store.skill_folder(&self.id);
        let path = folder.join(RECORD_FILE);
        let write = || -> io::Result<()> {
            fs::create_dir_all(&folder)?;
            let mut file = tempfile::Builder::new().prefix(STAGING_PREFIX).tempfile_in(&folder)?;
            serde_json::to_writer_pretty(&mut file, record)?;
            file.flush()?;
            file.as_file().sync_all()?;
            self.step(Step::RecordStaged);
            file.persist(&path).map_err(|error| error.error)?;
            sync_folder(&folder);
            Ok(())
        };
        write().map_err(|reason| failed("write", &path, reason))?;
        self.step(Step::RecordReplaced);
        Ok(())
    }

    /// A new folder for the files of an install under way.
    pub(super) fn staging(&self) -> Result<tempfile::TempDir, SkillError> {
        let folder = self.store.skill_folder(&self.id);
        let make = || {
            fs::create_dir_all(&folder)?;
            tempfile::Builder::new().prefix(STAGING_PREFIX).tempdir_in(&folder)
        };
        make().map_err(|reason| failed("create", &folder, reason))
    }

    /// Puts staged files into their place as version `number`.
    pub(super) fn place(&self, staging: tempfile::TempDir, number: u32) -> Result<PathBuf, SkillError> {
        let folder = self.store.version_folder(&self.id, number);
        let target = folder.parent().map_or_else(|| folder.clone(), Path::to_owned);
        let place = || -> io::Result<()> {
            fs::create_dir_all(target.parent().unwrap_or(&target))?;
            fs::rename(staging.path(), &target)?;
            sync_folder(target.parent().unwrap_or(&target));
            Ok(())
        };
        place().map_err(|reason| failed("write", &target, reason))?;
        // It has been renamed: there is nothing left to remove.
        let _ = staging.keep();
        self.step(Step::Placed);
        Ok(folder)
    }

    /// The highest number of a version, on disk or remembered.
    pub(super) fn last_number(&self, record: &Record) -> u32 {
        let on_disk = self.version_numbers().into_iter().max().unwrap_or(0);
        on_disk.max(record.last_number)
    }

    /// Removes versions that nothing refers to any more. The record is right without it, so failing is no failure.
    pub(super) fn prune(&self, record: &Record) {
        let wanted = record.numbers();
        for number in self.version_numbers().into_iter().filter(|number| !wanted.contains(number)) {
            let folder = self.store.skill_folder(&self.id).join(VERSIONS_FOLDER).join(number.to_string());
            let _ = fs::remove_dir_all(folder);
        }
        self.step(Step::Pruned);
    }

    fn version_numbers(&self) -> Vec<u32> {
        let folder = self.store.skill_folder(&self.id).join(VERSIONS_FOLDER);
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    fn recover(&self) -> Result<(), SkillError> {
        let folder = self.store.skill_folder(&self.id);
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(STAGING_PREFIX) {
                let path = entry.path();
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.map_err(|reason| failed("remove", &path, reason))?;
            }
        }
        let mut record = match self.store.read_record(&self.id) {
            Ok(Some(record)) => record,
            // Files without a record are an install that never came to its end.
            Ok(None) => return remove_folder(&folder),
            // Whoever wants more than the lock will meet the problem again; whoever removes the skill need not.
            Err(_) => return Ok(()),
        };
        let was_interrupted = record.recover();
        if record.current.is_none() {
            return remove_folder(&folder);
        }
        if was_interrupted {
            self.write(&record)?;
        }
        self.prune(&record);
        Ok(())
    }
}

/// Makes a rename in this folder last. A folder that cannot be synced is no reason to call the rename failed.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

fn remove_folder(folder: &Path) -> Result<(), SkillError> {
    match fs::remove_dir_all(folder) {
        Err(reason) if reason.kind() != io::ErrorKind::NotFound => Err(failed("remove", folder, reason)),
        _ => Ok(()),
    }
}

pub(super) fn failed(action: &'static str, path: &Path, reason: io::Error) -> SkillError {
    SkillError::File { action, path: path.to_owned(), reason }
}
