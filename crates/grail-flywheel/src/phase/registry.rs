//! Phases on disk, and the one file that says which of them answers.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    Adapter, Assigned, Challenger, Change, ChangeKind, Current, MOST_SHARE, PHASE_FORMAT, Phase, PhaseState,
};
use crate::FlywheelError;
use crate::dataset::manifest::FileRecord;
use crate::dataset::store::sync_folder;
use crate::event::now;
use crate::log::{Hold, lock};

/// Where phases are, below the project's root.
pub const PHASES_FOLDER: &str = ".grail/phases";
/// Where the files of an adapter are, below the folder of its phase.
pub const ADAPTER_FOLDER: &str = "adapter";
const PHASE_FILE: &str = "phase.json";
const CURRENT_FILE: &str = "current.json";
const LOCK_FILE: &str = ".lock";
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// An adapter has a handful of files.
const MAX_ADAPTER_FILES: usize = 64;

/// The phases of a project.
#[derive(Clone, Debug)]
pub struct Phases {
    folder: PathBuf,
}

impl Phases {
    pub fn new(root: &Path) -> Self {
        Self { folder: root.join(PHASES_FOLDER) }
    }

    /// Where a phase has its files.
    pub fn folder(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    /// Where the adapter of a phase is, or will be.
    pub fn adapter_folder(&self, id: &str) -> PathBuf {
        self.folder(id).join(ADAPTER_FOLDER)
    }

    /// Gives a phase its name and a folder; what it is made of is known, what comes of it is not.
    pub fn begin(&self, phase: Phase) -> Result<Phase, FlywheelError> {
        let _lock = self.lock()?;
        let mut phase = Phase { format: PHASE_FORMAT, state: PhaseState::Training, ..phase };
        if phase.started.is_empty() {
            phase.started = now();
        }
        let number = self.ids()?.iter().filter_map(|id| number_of(id)).max().unwrap_or(0) + 1;
        phase.id.clear();
        let hash = blake3::hash(&serde_json::to_vec(&phase).unwrap_or_default()).to_hex();
        phase.id = format!("p{number}-{}", &hash[..6]);
        let folder = self.folder(&phase.id);
        fs::create_dir_all(&folder).map_err(|source| FlywheelError::storage(&folder, source))?;
        self.write(&folder.join(PHASE_FILE), &phase)?;
        Ok(phase)
    }

    /// Writes down what became of a phase. What it was made of stays what it was.
    pub fn save(&self, phase: &Phase) -> Result<(), FlywheelError> {
        let _lock = self.lock()?;
        let known = self.read_phase(&phase.id)?;
        let origin = |phase: &Phase| {
            (
                phase.parent.clone(),
                phase.foreign_adapter.clone(),
                phase.base.clone(),
                phase.dataset.clone(),
                phase.seed,
                phase.started.clone(),
            )
        };
        if origin(&known) != origin(phase) {
            return Err(FlywheelError::refused(
                format!("phase `{}` was made of something else", phase.id),
                "what a phase was made of never changes; begin another one",
            ));
        }
        self.write(&self.folder(&phase.id).join(PHASE_FILE), phase)
    }

    /// Adds an evaluation to a phase, once.
    pub fn add_evaluation(&self, id: &str, evaluation: &str) -> Result<Phase, FlywheelError> {
        let _lock = self.lock()?;
        let mut phase = self.read_phase(id)?;
        if !phase.evaluations.iter().any(|known| known == evaluation) {
            phase.evaluations.push(evaluation.to_owned());
            self.write(&self.folder(id).join(PHASE_FILE), &phase)?;
        }
        Ok(phase)
    }

    /// Writes down why the gate has refused a phase: it is not weighed again by itself.
    pub fn refuse(&self, id: &str, reasons: Vec<String>) -> Result<Phase, FlywheelError> {
        let _lock = self.lock()?;
        let phase = Phase { refusals: reasons, ..self.read_phase(id)? };
        self.write(&self.folder(id).join(PHASE_FILE), &phase)?;
        Ok(phase)
    }

    /// Whether it was decided if a phase may answer: it was refused, or promoted, whatever came after.
    pub fn is_decided(&self, phase: &Phase) -> Result<bool, FlywheelError> {
        let is_promotion = |change: &Change| {
            change.what == ChangeKind::Promoted && change.phase.as_deref() == Some(phase.id.as_str())
        };
        Ok(!phase.refusals.is_empty() || self.current()?.history.iter().any(is_promotion))
    }

    /// The phase of this name, or whose name begins so: `p3` is `p3-1f2e3d`. `current` is the one that answers.
    pub fn get(&self, name: &str) -> Result<Phase, FlywheelError> {
        if name == "current" {
            let current = self.current()?.phase.ok_or_else(|| {
                FlywheelError::refused(
                    "no phase was promoted yet",
                    "`grail train` makes one, `grail promote` uses it",
                )
            })?;
            return self.read_phase(&current);
        }
        let ids = self.ids()?;
        let is_meant = |id: &&String| {
            *id == name
                || id.strip_prefix(name).is_some_and(|rest| !name.is_empty() && rest.starts_with('-'))
                || (name.contains('-') && id.starts_with(name))
        };
        let mut found = ids.iter().filter(is_meant);
        match (found.next(), found.next()) {
            (Some(id), None) => self.read_phase(id),
            (Some(_), Some(_)) => Err(FlywheelError::refused(
                format!("several phases begin with `{name}`"),
                "write more of the name; `grail models list` shows them",
            )),
            (None, _) => Err(FlywheelError::refused(
                format!("there is no phase `{}`", name.chars().take(80).collect::<String>()),
                match ids.is_empty() {
                    true => "`grail train` makes the first one".to_owned(),
                    false => format!("there are {}", ids.join(", ")),
                },
            )),
        }
    }

    /// Every phase, oldest first; one that cannot be read is an error of its own.
    pub fn list(&self) -> Result<Vec<Result<Phase, FlywheelError>>, FlywheelError> {
        Ok(self.ids()?.iter().map(|id| self.read_phase(id)).collect())
    }

    /// Which phase answers, and how that came about.
    pub fn current(&self) -> Result<Current, FlywheelError> {
        let path = self.folder.join(CURRENT_FILE);
        if !path.exists() {
            return Ok(Current::default());
        }
        read_json(&path, "it says which phase answers: mend it, or delete it and promote a phase again")
    }

    /// Who answers this intent.
    pub fn assign(&self, intent: &str) -> Result<Assigned, FlywheelError> {
        Ok(self.current()?.assign(intent))
    }

    /// Lets a phase answer from now on. Whether it may is for the gate to say; here it is written down.
    pub fn promote(&self, id: &str, why: Why) -> Result<Current, FlywheelError> {
        self.check_usable(id)?;
        self.change(ChangeKind::Promoted, why, |current| {
            if current.phase.as_deref() == Some(id) {
                return Err(FlywheelError::refused(
                    format!("phase `{id}` answers already"),
                    "there is nothing to do",
                ));
            }
            if current.challenger.as_ref().is_some_and(|challenger| challenger.phase == id) {
                current.challenger = None;
            }
            Ok((Some(id.to_owned()), current.phase.replace(id.to_owned())))
        })
    }

    /// Lets the phase answer that did before the last promotion that still stands; before the first, the base.
    pub fn rollback(&self, reason: &str) -> Result<Current, FlywheelError> {
        let why = Why { reasons: vec![reason.to_owned()], ..Why::default() };
        self.change(ChangeKind::RolledBack, why, |current| {
            let Some(now) = current.phase.clone() else {
                return Err(FlywheelError::refused(
                    "there is nothing to roll back: no phase was promoted",
                    "the base model answers already",
                ));
            };
            let promoted = |change: &&Change| {
                change.what == ChangeKind::Promoted && change.phase.as_deref() == Some(now.as_str())
            };
            let before = current.history.iter().rev().find(promoted).and_then(|change| change.before.clone());
            if let Some(before) = &before {
                self.check_usable(before)?;
            }
            current.phase = before.clone();
            Ok((before, Some(now)))
        })
    }

    /// Lets a phase answer a share of the intents.
    pub fn challenge(&self, id: &str, share: f64) -> Result<Current, FlywheelError> {
        self.try_out(Challenger { phase: id.to_owned(), share, shadow: false }, Why::default())
    }

    /// Lets a phase answer a share of the intents beside whoever answers them, seen by nobody.
    pub fn shadow(&self, id: &str, share: f64) -> Result<Current, FlywheelError> {
        let why = Why { reasons: vec!["in the shadow".to_owned()], ..Why::default() };
        self.try_out(Challenger { phase: id.to_owned(), share, shadow: true }, why)
    }

    fn try_out(&self, challenger: Challenger, why: Why) -> Result<Current, FlywheelError> {
        let (id, share) = (challenger.phase.clone(), challenger.share);
        let most = if challenger.shadow { 1.0 } else { MOST_SHARE };
        if !(share > 0.0 && share <= most) {
            return Err(FlywheelError::refused(
                format!("{share} is no share for a challenger, which has passed no gate"),
                format!("a number above 0 and at most {most}, such as 0.1 for every tenth intent"),
            ));
        }
        self.check_usable(&id)?;
        self.change(ChangeKind::Challenged, why, |current| {
            if current.phase.as_deref() == Some(id.as_str()) {
                return Err(FlywheelError::refused(
                    format!("phase `{id}` answers already and cannot challenge itself"),
                    "name another phase",
                ));
            }
            let before = current.challenger.replace(challenger);
            Ok((Some(id), before.map(|challenger| challenger.phase)))
        })
    }

    pub fn end_challenge(&self) -> Result<Current, FlywheelError> {
        self.change(ChangeKind::ChallengeEnded, Why::default(), |current| match current.challenger.take() {
            Some(challenger) => Ok((None, Some(challenger.phase))),
            None => {
                Err(FlywheelError::refused("no phase challenges the current one", "there is nothing to do"))
            }
        })
    }

    /// Whether the files of a phase's adapter are what training left.
    pub fn verify_adapter(&self, phase: &Phase) -> Result<(), FlywheelError> {
        let Some(adapter) = &phase.adapter else {
            return Err(FlywheelError::refused(
                format!("phase `{}` has no adapter", phase.id),
                "its training has not ended; `grail train --resume` goes on with it",
            ));
        };
        let found = hash_adapter(&self.adapter_folder(&phase.id))?;
        if found != *adapter {
            return Err(FlywheelError::refused(
                format!("the adapter of phase `{}` is not what it was", phase.id),
                "its files changed after training; train again",
            ));
        }
        Ok(())
    }

    fn check_usable(&self, id: &str) -> Result<(), FlywheelError> {
        let phase = self.read_phase(id)?;
        self.verify_adapter(&phase)?;
        if !phase.is_usable() {
            return Err(FlywheelError::refused(
                format!("phase `{id}` cannot answer: its training did not end well"),
                "train again, or resume the training",
            ));
        }
        Ok(())
    }

    /// Changes the file that says who answers, as a whole, with a line in its history.
    fn change(
        &self,
        what: ChangeKind,
        why: Why,
        apply: impl FnOnce(&mut Current) -> Result<(Option<String>, Option<String>), FlywheelError>,
    ) -> Result<Current, FlywheelError> {
        let _lock = self.lock()?;
        let mut current = self.current()?;
        let (phase, before) = apply(&mut current)?;
        let Why { forced, reasons, evaluations } = why;
        current.history.push(Change { at: now(), what, phase, before, forced, reasons, evaluations });
        self.write(&self.folder.join(CURRENT_FILE), &current)?;
        Ok(current)
    }

    fn read_phase(&self, id: &str) -> Result<Phase, FlywheelError> {
        if number_of(id).is_none() {
            return Err(FlywheelError::refused(
                format!("`{}` is no name of a phase", id.chars().take(80).collect::<String>()),
                "phases are called `p1-…`, `p2-…`; `grail models list` shows them",
            ));
        }
        let path = self.folder(id).join(PHASE_FILE);
        let phase: Phase = read_json(&path, "delete its folder and train again")?;
        if phase.format != PHASE_FORMAT || phase.id != id {
            return Err(FlywheelError::refused(
                format!("`{}` is not phase `{id}` in a format that this Grail knows", path.display()),
                "a newer Grail has made it; train again or use that one",
            ));
        }
        Ok(phase)
    }

    fn ids(&self) -> Result<Vec<String>, FlywheelError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(FlywheelError::storage(&self.folder, error)),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter(|name| number_of(name).is_some()).collect();
        ids.sort_by_key(|id| (number_of(id), id.clone()));
        Ok(ids)
    }

    fn lock(&self) -> Result<File, FlywheelError> {
        let storage = |source| FlywheelError::storage(&self.folder, source);
        fs::create_dir_all(&self.folder).map_err(storage)?;
        let mut options = File::options();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.folder.join(LOCK_FILE))
            .map_err(storage)?;
        lock(&file, Hold::Exclusive).map_err(storage)?;
        Ok(file)
    }

    fn write<T: Serialize>(&self, path: &Path, value: &T) -> Result<(), FlywheelError> {
        let storage = |source| FlywheelError::storage(path, source);
        let folder = path.parent().unwrap_or(&self.folder);
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(storage)?;
        let mut text = serde_json::to_vec_pretty(value).map_err(|error| storage(error.into()))?;
        text.push(b'\n');
        file.write_all(&text).and_then(|()| file.as_file().sync_all()).map_err(storage)?;
        file.persist(path).map_err(|error| storage(error.error))?;
        sync_folder(folder)
    }
}

/// Why who answers changes.
#[derive(Clone, Debug, Default)]
pub struct Why {
    /// The gate had refused.
    pub forced: bool,
    pub reasons: Vec<String>,
    /// Hashes of the two evaluations that were compared.
    pub evaluations: Vec<String>,
}

/// What the files of an adapter hash to. Checkpoints below it do not count.
pub fn hash_adapter(folder: &Path) -> Result<Adapter, FlywheelError> {
    let storage = |source| FlywheelError::storage(folder, source);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(storage)? {
        let entry = entry.map_err(storage)?;
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap_or_default();
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) || name.starts_with('.') {
            continue;
        }
        files.insert(name, record_of(&path)?);
    }
    if files.is_empty() || files.len() > MAX_ADAPTER_FILES {
        return Err(FlywheelError::refused(
            format!("`{}` holds {} files and is no adapter", folder.display(), files.len()),
            "training ended without leaving an adapter: look at what it said",
        ));
    }
    let text = serde_json::to_vec(&files).unwrap_or_default();
    Ok(Adapter { hash: blake3::hash(&text).to_hex()[..32].to_owned(), files })
}

fn record_of(path: &Path) -> Result<FileRecord, FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let mut file = File::open(path).map_err(storage)?;
    let mut hasher = blake3::Hasher::new();
    let bytes = std::io::copy(&mut file, &mut hasher).map_err(storage)?;
    Ok(FileRecord { lines: 0, bytes, hash: hasher.finalize().to_hex().to_string() })
}

fn read_json<T: DeserializeOwned>(path: &Path, hint: &str) -> Result<T, FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)).map_err(storage)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        FlywheelError::refused(format!("`{}` cannot be read: {error}", path.display()), hint)
    })
}

/// 3 of `p3-1f2e3d`. Nothing else names a phase, so no name leads out of the folder.
fn number_of(id: &str) -> Option<u64> {
    let (number, hash) = id.strip_prefix('p')?.split_once('-')?;
    let is_hash = hash.len() == 6 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    number.parse().ok().filter(|number: &u64| is_hash && *number > 0)
}
