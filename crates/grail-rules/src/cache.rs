//! What a check remembers between runs: the raw findings of every file, by the file's content and the rules that looked at it.
//!
//! One file for each set of rules, in `.grail/cache/check/`, replaced as a whole. It is only ever a shortcut: one that is missing, broken,
//! too large or made by another set of rules is as good as none. A file whose time and size are as before is taken to be as before; one
//! that was changed a moment ago is read and compared, because its time may not tell the next change from this one.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use grail_code::index::FileIndex;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{FileCheck, FileReport, Finding, Suppressions};

/// Where the cache lies below the project's root.
const FOLDER: [&str; 3] = [".grail", "cache", "check"];
/// Another number makes the program ignore what an older one has written.
const VERSION: u32 = 2;
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
    /// What rules across files ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<FileIndex>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    entries: FxHashMap<String, Entry>,
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
        let path = folder.join(format!("{name}.json"));
        let entries = read(&path).unwrap_or_default();
        Some(Self { path, entries })
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

    /// Writes the memory anew with what is known now. That it cannot be written is nobody's problem.
    pub(crate) fn save(mut self, new: Vec<(String, Entry)>) {
        if new.is_empty() {
            return;
        }
        if self.entries.len() + new.len() > MAX_ENTRIES {
            self.entries.clear();
        }
        self.entries.extend(new);
        let stored = Stored { version: VERSION, entries: self.entries };
        let _ = write(&self.path, &stored);
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
            index: check.indexed.clone(),
        }
    }

    /// The same, for a file that turned out to hold the same text at another time. `None` if nothing is to be learnt.
    pub(crate) fn touched(&self, metadata: Option<&Metadata>) -> Option<Self> {
        let new = Self::new(&FileCheck::default(), "", metadata);
        let (modified, size) = (new.modified?, new.size);
        Some(Self { modified: Some(modified), size, ..self.clone() })
    }

    pub(crate) fn index(&self) -> Option<FileIndex> {
        self.index.clone()
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

fn read(path: &Path) -> Option<FxHashMap<String, Entry>> {
    let metadata = path.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    let stored: Stored = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (stored.version == VERSION).then_some(stored.entries)
}

fn write(path: &Path, stored: &Stored) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let ignore = folder.join(".gitignore");
    if ignore.symlink_metadata().is_err() {
        fs::write(ignore, "*\n")?;
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let mut writer = io::BufWriter::new(&mut file);
    serde_json::to_writer(&mut writer, stored)?;
    writer.flush()?;
    drop(writer);
    file.persist(path).map_err(|error| error.error)?;
    forget_others(folder);
    Ok(())
}

/// Keeps the memories that were used last.
fn forget_others(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut caches: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    caches.sort();
    let surplus = caches.len().saturating_sub(KEPT_FILES);
    for (_, path) in caches.into_iter().take(surplus) {
        let _ = fs::remove_file(path);
    }
}
