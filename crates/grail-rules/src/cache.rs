//! What a check remembers between runs: the raw findings of every file, by the file's content and the rules that looked at it, and what
//! rules across files found when all files were as they are.
//!
//! Two files for each set of rules, in `.grail/cache/check/`, replaced as a whole: findings, and the index of the project, which is read
//! only if a file has changed since rules across files last looked. It is only ever a shortcut: one that is missing, broken,
//! too large or made by another set of rules is as good as none. A file whose time and size are as before is taken to be as before; one
//! that was changed a moment ago is read and compared, because its time may not tell the next change from this one.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use grail_code::index::FileIndex;
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{FileCheck, FileReport, Finding, Suppressions};

/// Where the cache lies below the project's root.
const FOLDER: [&str; 3] = [".grail", "cache", "check"];
const EXTENSION: &str = "json";
const INDEX_EXTENSION: &str = "index";
/// Another number makes the program ignore what an older one has written.
const VERSION: u32 = 3;
/// A larger cache is not read.
const MAX_BYTES: u64 = 128 * 1024 * 1024;
/// With more files than this, those that were not looked at are forgotten.
const MAX_ENTRIES: usize = 100_000;
/// Sets of rules whose findings are kept.
const KEPT_FILES: usize = 4;
/// The coarsest clock of the file systems there are.
const SETTLED: Duration = Duration::from_secs(2);

/// The memory of one set of rules.
pub(crate) struct CheckCache {
    path: PathBuf,
    entries: FxHashMap<String, Entry>,
    across: Option<Across>,
}

/// What rules across files found.
#[derive(Serialize, Deserialize)]
pub(crate) struct Across {
    /// Stands for all files and what they hold.
    key: String,
    findings: Vec<Finding>,
}

/// What one file defines, imports and calls, as far as rules across files ask for it.
#[derive(Deserialize)]
struct IndexEntry {
    hash: String,
    index: FileIndex,
}

/// The same, to be written.
#[derive(Serialize)]
struct IndexEntryRef<'i> {
    hash: &'i str,
    index: &'i FileIndex,
}

/// One file as it was looked at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Nanoseconds since 1970; `None` if the file had changed a moment before.
    modified: Option<u64>,
    size: u64,
    /// Of the decoded text.
    hash: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Finding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suppressions: Option<Suppressions>,
}

/// A file of the cache.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize, Deserialize)]
struct Findings {
    entries: FxHashMap<String, Entry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    across: Option<Across>,
}

#[derive(Serialize, Deserialize)]
struct Indexes<E> {
    files: FxHashMap<String, E>,
}

impl CheckCache {
    /// The memory of the rules that `key` stands for. `None` where there can be none.
    pub(crate) fn open(root: &Path, key: blake3::Hash) -> Option<Self> {
        let mut folder = root.to_owned();
        for part in FOLDER {
            folder.push(part);
            // A link could lead out of the project.
            if folder.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
                return None;
            }
        }
        let name: String = key.to_hex().chars().take(24).collect();
        let path = folder.join(name).with_extension(EXTENSION);
        let known: Option<Findings> = read(&path);
        let (entries, across) = known.map(|known| (known.entries, known.across)).unwrap_or_default();
        Some(Self { path, entries, across })
    }

    /// What is known about a file that looks untouched.
    pub(crate) fn untouched(&self, path: &str, metadata: &Metadata) -> Option<&Entry> {
        let entry = self.entries.get(path)?;
        (entry.modified.is_some() && entry.modified == nanoseconds(metadata) && entry.size == metadata.len())
            .then_some(entry)
    }

    /// What is known about a file that holds this text.
    pub(crate) fn same_text(&self, path: &str, text: &str) -> Option<&Entry> {
        self.entries.get(path).filter(|entry| entry.hash == content_hash(text))
    }

    /// What rules across files found when all files were as `key` says.
    pub(crate) fn across(&self, key: &str) -> Option<&[Finding]> {
        self.across.as_ref().filter(|across| across.key == key).map(|across| across.findings.as_slice())
    }

    /// The index of every file whose path and hash of the text `is_current`.
    pub(crate) fn indexes(&self, is_current: impl Fn(&str, &str) -> bool) -> FxHashMap<String, FileIndex> {
        let Some(known) = read::<Indexes<IndexEntry>>(&self.index_path()) else {
            return FxHashMap::default();
        };
        let is_current = |(path, entry): &(String, IndexEntry)| is_current(path, &entry.hash);
        known.files.into_iter().filter(is_current).map(|(path, entry)| (path, entry.index)).collect()
    }

    /// Writes the index of all files, with the hashes of their texts.
    pub(crate) fn save_indexes<'i>(&self, files: impl Iterator<Item = (&'i str, &'i str, &'i FileIndex)>) {
        let files = files.map(|(path, hash, index)| (path.to_owned(), IndexEntryRef { hash, index }));
        let _ = write(&self.index_path(), Indexes { files: files.collect() });
    }

    fn index_path(&self) -> PathBuf {
        self.path.with_extension(INDEX_EXTENSION)
    }

    /// Writes the memory anew with what is known now. That it cannot be written is nobody's problem.
    pub(crate) fn save(mut self, new: Vec<(String, Entry)>, across: Option<Across>) {
        if new.is_empty() && across.is_none() {
            return;
        }
        if self.entries.len() + new.len() > MAX_ENTRIES {
            self.entries.clear();
        }
        self.entries.extend(new);
        let findings = Findings { entries: self.entries, across: across.or(self.across) };
        if write(&self.path, findings).is_ok() {
            forget_others(&self.path);
        }
    }
}

impl Across {
    /// What was found in these files, given as path and hash of the text.
    pub(crate) fn new(key: String, findings: Vec<Finding>) -> Self {
        Self { key, findings }
    }

    pub(crate) fn key<'f>(files: impl Iterator<Item = (&'f str, &'f str)>) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, hash) in files {
            hasher.update(path.as_bytes()).update(b"\0").update(hash.as_bytes()).update(b"\0");
        }
        hasher.finalize().to_hex().to_string()
    }
}

impl Entry {
    pub(crate) fn new(check: &FileCheck, text: &str, metadata: Option<&Metadata>) -> Self {
        let report = &check.report;
        let settled = metadata.filter(|metadata| {
            let age = metadata.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            age.is_some_and(|age| age > SETTLED)
        });
        Self {
            modified: settled.and_then(nanoseconds),
            size: metadata.map_or(0, Metadata::len),
            hash: content_hash(text),
            findings: report.findings.clone(),
            suppressions: (!report.suppressions.is_empty()).then(|| report.suppressions.clone()),
        }
    }

    /// The same, for a file that turned out to hold the same text at another time. `None` if nothing is to be learnt.
    pub(crate) fn touched(&self, metadata: Option<&Metadata>) -> Option<Self> {
        let new = Self::new(&FileCheck::default(), "", metadata);
        let (modified, size) = (new.modified?, new.size);
        Some(Self { modified: Some(modified), size, ..self.clone() })
    }

    /// The hash of the file's text.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    pub(crate) fn report(&self, path: &Arc<str>) -> FileReport {
        let mut findings = self.findings.clone();
        // One name for all of them, whatever the file says.
        findings.iter_mut().for_each(|finding| finding.path = Arc::clone(path));
        let suppressions = self.suppressions.clone().unwrap_or_default();
        FileReport { findings, suppressions, ..FileReport::default() }
    }
}

fn content_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

fn nanoseconds(metadata: &Metadata) -> Option<u64> {
    let since = metadata.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let metadata = path.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    let stored: Stored<T> = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (stored.version == VERSION).then_some(stored.content)
}

fn write<T: Serialize>(path: &Path, content: T) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let ignore = folder.join(".gitignore");
    if ignore.symlink_metadata().is_err() {
        fs::write(ignore, "*\n")?;
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let mut writer = io::BufWriter::new(&mut file);
    serde_json::to_writer(&mut writer, &Stored { version: VERSION, content })?;
    writer.flush()?;
    drop(writer);
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Keeps the memories that were used last.
fn forget_others(kept: &Path) {
    let Some(Ok(entries)) = kept.parent().map(fs::read_dir) else { return };
    let mut caches: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == EXTENSION))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    caches.sort();
    let surplus = caches.len().saturating_sub(KEPT_FILES);
    for (_, path) in caches.into_iter().take(surplus) {
        let _ = fs::remove_file(path.with_extension(INDEX_EXTENSION));
        let _ = fs::remove_file(path);
    }
}
