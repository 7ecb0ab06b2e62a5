//! What the catalogue remembers between runs, in `.grail/cache/skills/`.
//!
//! It is only ever a shortcut: one that is missing, broken, too large, or not sealed with the user's key is as good as none, so that a
//! project cannot bring one along. An entry is believed as long as the skill's files have the times and sizes they had; what was changed a
//! moment ago is read again.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use grail_rules::Origin;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::catalogue::CatalogueEntry;
use crate::evals::BENCHMARK_FILE;
use crate::home::user_key;
use crate::skill::{SKILL_FILE, read_bounded};

const FOLDER: [&str; 3] = [".grail", "cache", "skills"];
const FILE: &str = "catalogue.json";
/// Another number makes the program ignore what an older one has written.
const VERSION: u32 = 1;
/// A larger cache is not read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The coarsest clock of the file systems there are.
const SETTLED: Duration = Duration::from_secs(2);
const SEAL_LENGTH: usize = 64;

/// What is known of skills by their folders.
#[derive(Default)]
pub(crate) struct CatalogueCache {
    /// The file, and the folder of the user's key.
    place: Option<(PathBuf, PathBuf)>,
    known: FxHashMap<PathBuf, Remembered>,
    /// What is true now.
    current: Vec<Remembered>,
    has_news: bool,
}

/// What a skill's files looked like: times in nanoseconds since 1970, and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    skill: (u64, u64),
    /// Changes when something is added or removed beside `SKILL.md`.
    folder: u64,
    evals: u64,
    benchmark: (u64, u64),
}

#[derive(Clone, Serialize, Deserialize)]
struct Remembered {
    stamp: Stamp,
    entry: CatalogueEntry,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    entries: Vec<Remembered>,
}

impl Stamp {
    /// `None` if the files were changed so lately that their times may not tell the next change from this one.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let (skill, skill_bytes) = settled(&folder.join(SKILL_FILE).metadata().ok()?)?;
        let (folder_time, _) = settled(&folder.metadata().ok()?)?;
        let mut stamp =
            Self { skill: (skill, skill_bytes), folder: folder_time, evals: 0, benchmark: (0, 0) };
        if let Ok(metadata) = folder.join("evals").metadata() {
            stamp.evals = settled(&metadata)?.0;
            if let Ok(metadata) = folder.join(BENCHMARK_FILE).metadata() {
                stamp.benchmark = settled(&metadata)?;
            }
        }
        Some(stamp)
    }
}

impl CatalogueCache {
    /// What this user's programs remembered in a project. `None` where there can be nothing.
    pub(crate) fn open(project: &Path, state_folder: &Path) -> Option<Self> {
        let mut folder = project.to_owned();
        for part in FOLDER {
            folder.push(part);
            // A link could lead out of the project.
            if folder.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
                return None;
            }
        }
        let path = folder.join(FILE);
        let known = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_file() => {
                user_key(state_folder).and_then(|key| read(&path, &key)).unwrap_or_default()
            }
            Ok(_) => return None,
            Err(_) => FxHashMap::default(),
        };
        Some(Self { place: Some((path, state_folder.to_owned())), known, ..Self::default() })
    }

    /// The entry of a folder that looks untouched.
    pub(crate) fn take(
        &mut self,
        folder: &Path,
        stamp: Option<&Stamp>,
        origin: Origin,
    ) -> Option<CatalogueEntry> {
        let remembered = self.known.remove(folder)?;
        if Some(&remembered.stamp) != stamp || remembered.entry.skill.origin != origin {
            self.has_news = true;
            return None;
        }
        self.current.push(remembered.clone());
        Some(remembered.entry)
    }

    pub(crate) fn remember(&mut self, entry: &CatalogueEntry, stamp: Option<Stamp>) {
        let Some(stamp) = stamp else { return };
        self.has_news = true;
        self.current.push(Remembered { stamp, entry: entry.clone() });
    }

    /// Writes what is true now. That it cannot be written is nobody's problem.
    pub(crate) fn save(self) {
        let Some((path, state_folder)) = self.place else { return };
        if !self.has_news && self.known.is_empty() {
            return;
        }
        if let Some(key) = user_key(&state_folder) {
            let _ = write(&path, &key, self.current);
        }
    }
}

fn settled(metadata: &Metadata) -> Option<(u64, u64)> {
    let modified = metadata.modified().ok()?;
    let age = SystemTime::now().duration_since(modified).ok()?;
    let since = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    (age > SETTLED).then_some((u64::try_from(since.as_nanos()).ok()?, metadata.len()))
}

fn read(path: &Path, key: &[u8; 32]) -> Option<FxHashMap<PathBuf, Remembered>> {
    let bytes = read_bounded(path, MAX_BYTES).ok()?;
    let (seal, content) = bytes.split_at_checked(SEAL_LENGTH)?;
    let expected = blake3::Hash::from_hex(seal).ok()?;
    // Compared in constant time.
    if blake3::keyed_hash(key, content) != expected {
        return None;
    }
    let stored: Stored = serde_json::from_slice(content).ok()?;
    let by_folder = |one: Remembered| (one.entry.skill.folder.clone(), one);
    (stored.version == VERSION).then(|| stored.entries.into_iter().map(by_folder).collect())
}

fn write(path: &Path, key: &[u8; 32], entries: Vec<Remembered>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let ignore = folder.join(".gitignore");
    if ignore.symlink_metadata().is_err() {
        fs::write(ignore, "*\n")?;
    }
    let content = serde_json::to_vec(&Stored { version: VERSION, entries })?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(blake3::keyed_hash(key, &content).to_hex().as_bytes())?;
    file.write_all(&content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
