//! What the catalogue remembers between runs, in `.grail/cache/skills/`.
//!
//! It is only ever a shortcut: one that is missing, broken, too large, or not sealed with the user's key is as good as none, so that a
//! project cannot bring one along. An entry is believed as long as the skill's files have the times and sizes they had; what was changed a
//! moment ago is read again.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::catalogue::CatalogueEntry;
use crate::evals::BENCHMARK_FILE;
use crate::home::user_key;
use crate::skill::{SKILL_FILE, read_bounded};

const FOLDER: [&str; 3] = [".grail", "cache", "skills"];
const EVALS_FOLDER: &str = "evals";
/// Another number makes the program ignore what an older one has written.
const VERSION: u32 = 2;
/// A larger cache is not read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The coarsest clock of the file systems there are.
const SETTLED: Duration = Duration::from_secs(2);
const SEAL_LENGTH: usize = 64;

/// What is known of the skills of one scope, by their folders.
#[derive(Default)]
pub(crate) struct CatalogueCache {
    /// The file, and the folder of the user's key.
    place: Option<(PathBuf, PathBuf)>,
    known: FxHashMap<OsString, Remembered>,
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

/// A skill, and what its files looked like if they had looked so for a while.
#[derive(Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub(crate) entry: CatalogueEntry,
    pub(crate) stamp: Option<Stamp>,
}

#[derive(Deserialize)]
struct Stored {
    version: u32,
    entries: Vec<Remembered>,
}

#[derive(Serialize)]
struct ToStore<'e> {
    version: u32,
    entries: Vec<&'e Remembered>,
}

impl Stamp {
    /// `None` if the files were changed so lately that their times may not tell the next change from this one.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let (skill, skill_bytes) = settled(&folder.join(SKILL_FILE).metadata().ok()?)?;
        let (folder_time, _) = settled(&folder.metadata().ok()?)?;
        let mut stamp =
            Self { skill: (skill, skill_bytes), folder: folder_time, evals: 0, benchmark: (0, 0) };
        if let Ok(metadata) = folder.join(EVALS_FOLDER).metadata() {
            stamp.evals = settled(&metadata)?.0;
            if let Ok(metadata) = folder.join(BENCHMARK_FILE).metadata() {
                stamp.benchmark = settled(&metadata)?;
            }
        }
        Some(stamp)
    }

    /// Do the files look as they did? Asks for as little as tells: what is not in an untouched folder is still not there.
    fn fits(&self, folder: &Path, folder_data: &Metadata) -> bool {
        let looks = |path: &str| folder.join(path).metadata().ok().and_then(|data| look(&data));
        look(folder_data).is_some_and(|(time, _)| time == self.folder)
            && looks(SKILL_FILE) == Some(self.skill)
            && (self.evals == 0
                || (looks(EVALS_FOLDER).is_some_and(|(time, _)| time == self.evals)
                    && looks(BENCHMARK_FILE).unwrap_or_default() == self.benchmark))
    }
}

impl CatalogueCache {
    /// What this user's programs remembered of a scope in a project. Nothing where there can be nothing.
    pub(crate) fn open(project: Option<&Path>, state_folder: Option<&Path>, scope: &str) -> Self {
        let (Some(project), Some(state_folder)) = (project, state_folder) else { return Self::default() };
        let mut folder = project.to_owned();
        for part in FOLDER {
            folder.push(part);
            // A link could lead out of the project.
            if folder.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
                return Self::default();
            }
        }
        let path = folder.join(format!("{scope}.json"));
        let known = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_file() => {
                user_key(state_folder).and_then(|key| read(&path, &key)).unwrap_or_default()
            }
            Ok(_) => return Self::default(),
            Err(_) => FxHashMap::default(),
        };
        Self { place: Some((path, state_folder.to_owned())), known }
    }

    /// Is there something to remember of a folder that looks as it did?
    pub(crate) fn is_untouched(&self, folder: &Path, data: impl FnOnce() -> Option<Metadata>) -> bool {
        let stamp = self.known.get(folder.as_os_str()).and_then(|known| known.stamp);
        stamp.is_some_and(|stamp| data().is_some_and(|data| stamp.fits(folder, &data)))
    }

    /// What is remembered of a folder. It is given away: what is left in the end is gone from the disk.
    pub(crate) fn take(&mut self, folder: &Path) -> Option<Remembered> {
        self.known.remove(folder.as_os_str())
    }

    /// Writes what is true now, if some of it is `news` or something is gone. That it cannot be written is nobody's problem.
    pub(crate) fn save(self, all: &[Remembered], has_news: bool) {
        let Some((path, state_folder)) = self.place else { return };
        if !has_news && self.known.is_empty() {
            return;
        }
        if let Some(key) = user_key(&state_folder) {
            let entries = all.iter().filter(|one| one.stamp.is_some()).collect();
            let _ = write(&path, &key, &ToStore { version: VERSION, entries });
        }
    }
}

fn settled(metadata: &Metadata) -> Option<(u64, u64)> {
    let modified = metadata.modified().ok()?;
    let age = SystemTime::now().duration_since(modified).ok()?;
    if age > SETTLED { look(metadata) } else { None }
}

/// The time and the size of a file.
fn look(metadata: &Metadata) -> Option<(u64, u64)> {
    let since = metadata.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((u64::try_from(since.as_nanos()).ok()?, metadata.len()))
}

fn read(path: &Path, key: &[u8; 32]) -> Option<FxHashMap<OsString, Remembered>> {
    let bytes = read_bounded(path, MAX_BYTES).ok()?;
    let (seal, content) = bytes.split_at_checked(SEAL_LENGTH)?;
    let expected = blake3::Hash::from_hex(seal).ok()?;
    // Compared in constant time.
    if blake3::keyed_hash(key, content) != expected {
        return None;
    }
    let stored: Stored = serde_json::from_slice(content).ok()?;
    let by_folder = |one: Remembered| (one.entry.skill.folder.clone().into_os_string(), one);
    (stored.version == VERSION).then(|| stored.entries.into_iter().map(by_folder).collect())
}

fn write(path: &Path, key: &[u8; 32], stored: &ToStore) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let ignore = folder.join(".gitignore");
    if ignore.symlink_metadata().is_err() {
        fs::write(ignore, "*\n")?;
    }
    let content = serde_json::to_vec(stored)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(blake3::keyed_hash(key, &content).to_hex().as_bytes())?;
    file.write_all(&content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
