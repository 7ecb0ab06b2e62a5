//! Which skills a user has looked at and trusts.
//!
//! Built-in skills and those in the user's own home folder are trusted. A project's are not: whoever wrote the project wrote them. Until
//! they are trusted a person may list and read them, but no model is told what they say and nothing of them runs. Trust is given to
//! content: the hash over every file of the folder is remembered in the user's state folder, and any change asks again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use grail_rules::Origin;
use serde::{Deserialize, Serialize};

use crate::skill::{Skill, SkillFolder};
use crate::{SkillError, skill};

const FILE: &str = "trusted-skills.json";
/// Larger ones are not believed.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// A skill with a larger file cannot be trusted.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Whether a skill's words may reach a model, and its scripts run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustState {
    Trusted,
    Untrusted,
    /// It was trusted with other files than it has now.
    Changed,
}

/// What a user has trusted, by the real path of the skill's folder.
#[derive(Debug)]
pub struct Trust {
    path: Option<PathBuf>,
    records: BTreeMap<String, TrustRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// Over every file of the folder.
    pub hash: String,
    /// Seconds since 1970.
    pub at: u64,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    skills: BTreeMap<String, TrustRecord>,
}

const VERSION: u32 = 1;

impl TrustState {
    pub fn is_trusted(self) -> bool {
        self == Self::Trusted
    }

    /// An error for whatever needs trust.
    pub fn require(self, skill: &Skill) -> Result<(), SkillError> {
        match self {
            Self::Trusted => Ok(()),
            state => Err(SkillError::Untrusted { name: skill.name.clone(), changed: state == Self::Changed }),
        }
    }
}

impl Trust {
    /// What is remembered in a state folder. Without a folder, or with a file that makes no sense, nothing of a project is trusted.
    pub fn open(state_folder: Option<&Path>) -> Self {
        let path = state_folder.map(|folder| folder.join(FILE));
        let records = path.as_deref().and_then(read).unwrap_or_default();
        Self { path, records }
    }

    /// Whether this skill, with the files it has now, is trusted.
    pub fn state(&self, skill: &Skill) -> TrustState {
        if skill.origin != Origin::Project {
            return TrustState::Trusted;
        }
        let Some(record) = key(skill).and_then(|key| self.records.get(&key)) else {
            return TrustState::Untrusted;
        };
        match content_hash(skill) {
            Ok(hash) if hash == record.hash => TrustState::Trusted,
            _ => TrustState::Changed,
        }
    }

    /// Trusts the files that a skill has now.
    pub fn grant(&mut self, skill: &Skill) -> Result<TrustRecord, SkillError> {
        let hash = content_hash(skill)?;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs());
        let record = TrustRecord { hash, at };
        let key = key(skill).ok_or(SkillError::NoHome)?;
        self.change(|records| {
            records.insert(key, record.clone());
        })?;
        Ok(record)
    }

    /// Takes trust back. `false` if there was none.
    pub fn revoke(&mut self, skill: &Skill) -> Result<bool, SkillError> {
        let Some(key) = key(skill).filter(|key| self.records.contains_key(key)) else { return Ok(false) };
        self.change(|records| {
            records.remove(&key);
        })?;
        Ok(true)
    }

    /// Reads again, changes and replaces the file as a whole, so that what another process remembered meanwhile is kept.
    fn change(&mut self, change: impl FnOnce(&mut BTreeMap<String, TrustRecord>)) -> Result<(), SkillError> {
        let path = self.path.as_deref().ok_or(SkillError::NoHome)?;
        if let Some(records) = read(path) {
            self.records = records;
        }
        change(&mut self.records);
        let failed = |reason| SkillError::File { action: "write", path: path.to_owned(), reason };
        let folder = path.parent().ok_or(SkillError::NoHome)?;
        fs::create_dir_all(folder).map_err(failed)?;
        // Made readable by its owner only.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        let stored = Stored { version: VERSION, skills: self.records.clone() };
        serde_json::to_writer_pretty(&mut file, &stored).map_err(|error| failed(error.into()))?;
        file.flush().map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// A hash over the paths and contents of every file of a skill. Where a link leads is part of it; that it leads out makes it an error,
/// because what is there can change unseen.
pub fn content_hash(skill: &Skill) -> Result<String, SkillError> {
    let folder = SkillFolder::of(skill)?;
    let mut hasher = blake3::Hasher::new();
    for file in folder.files()? {
        let mut add = |kind: &[u8], bytes: &[u8]| {
            hasher.update(kind);
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(b"path", file.path.as_bytes());
        if let Some(link) = &file.link {
            add(b"link", link.as_bytes());
            if folder_of_link(&skill.folder, &file.path).is_none() {
                return Err(SkillError::Outside { path: file.path });
            }
            continue;
        }
        add(b"file", &folder.read(&file.path, MAX_FILE_BYTES)?);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The real file behind a link, if it is inside the folder.
fn folder_of_link(folder: &Path, path: &str) -> Option<PathBuf> {
    let real_folder = fs::canonicalize(folder).ok()?;
    let real = fs::canonicalize(folder.join(path)).ok()?;
    real.starts_with(real_folder).then_some(real)
}

fn key(skill: &Skill) -> Option<String> {
    Some(fs::canonicalize(&skill.folder).ok()?.to_string_lossy().into_owned())
}

fn read(path: &Path) -> Option<BTreeMap<String, TrustRecord>> {
    let bytes = skill::read_bounded(path, MAX_BYTES).ok()?;
    let stored: Stored = serde_json::from_slice(&bytes).ok()?;
    (stored.version == VERSION).then_some(stored.skills)
}
