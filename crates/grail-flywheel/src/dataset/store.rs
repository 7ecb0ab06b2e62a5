//! Datasets on disk: `.grail/datasets/<hash>/`, written once, verified at every reading.
//!
//! A folder is filled beside its place, brought to the disk and renamed, so that what is there is whole. The name follows from the
//! content; nothing in a folder is believed before it hashes to that name.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::chat::{ChatForm, MOST_READINGS, check_form, check_system_prompt};
use super::manifest::{
    Counts, FileRecord, MANIFEST_FORMAT, Manifest, ReviewCounts, Sources, count_examples, count_licences,
    count_tokens, weigh_examples,
};
use crate::FlywheelError;
use crate::event::{EVENT_VERSION, now};
use crate::example::Example;

/// Where datasets are, below the project's root.
pub const DATASETS_FOLDER: &str = ".grail/datasets";
const MANIFEST_FILE: &str = "manifest.json";
const SPLIT_FILES: [&str; 3] = ["train.jsonl", "valid.jsonl", "test.jsonl"];
const DROPPED_FILE: &str = "dropped.jsonl";
const MAX_MANIFEST_BYTES: u64 = 32 * 1024 * 1024;
/// A longer line is no example.
pub(crate) const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;
/// The shortest beginning of a hash that may stand for it.
const MIN_PREFIX: usize = 4;

/// Everything that a dataset is made of.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub form: ChatForm,
    pub sources: Sources,
    pub rules: std::collections::BTreeMap<String, String>,
    pub settings: Json,
    /// What cannot be counted in the examples: `extracted`, `imported`, `varied`, `dropped`.
    pub counts: Counts,
    pub review: ReviewCounts,
    pub proof: Json,
    pub balance: Json,
    pub train: Vec<Example>,
    pub valid: Vec<Example>,
    pub test: Vec<Example>,
    pub dropped: Vec<Dropped>,
}

/// An example that is not in the dataset, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub id: String,
    /// A few words that many share, such as `near duplicate`.
    pub reason: String,
    /// What is to be said of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    pub source: String,
}

/// A dataset that was frozen.
#[derive(Clone, Debug)]
pub struct Frozen {
    pub manifest: Manifest,
    pub folder: PathBuf,
    /// Whether the same one was there already.
    pub is_known: bool,
}

/// A dataset whose files are what they were.
#[derive(Clone, Debug)]
pub struct Dataset {
    pub manifest: Manifest,
    pub folder: PathBuf,
}

/// Writes a dataset for good, or finds that it is there.
pub fn freeze(root: &Path, draft: &Draft) -> Result<Frozen, FlywheelError> {
    check_draft(draft)?;
    let datasets = datasets_folder(root)?;
    let staged = tempfile::Builder::new()
        .prefix(".making-")
        .tempdir_in(&datasets)
        .map_err(|source| FlywheelError::storage(&datasets, source))?;
    let mut manifest = manifest_of(draft);
    let splits = [&draft.train, &draft.valid, &draft.test];
    for (name, examples) in SPLIT_FILES.into_iter().zip(splits) {
        manifest.files.insert(name.to_owned(), write_lines(&staged.path().join(name), examples)?);
    }
    let dropped = write_lines(&staged.path().join(DROPPED_FILE), &draft.dropped)?;
    manifest.files.insert(DROPPED_FILE.to_owned(), dropped);
    manifest.hash = manifest.content_hash();
    let folder = datasets.join(&manifest.hash);
    if folder.exists() {
        let known = open_folder(&folder, &manifest.hash)?;
        return Ok(Frozen { manifest: known.manifest, folder, is_known: true });
    }
    manifest.built = now();
    write_manifest(&staged.path().join(MANIFEST_FILE), &manifest)?;
    sync_folder(staged.path())?;
    if let Err(error) = fs::rename(staged.path(), &folder) {
        // Somebody else built the same at the same time: theirs is as good.
        if !folder.exists() {
            return Err(FlywheelError::storage(&folder, error));
        }
        let known = open_folder(&folder, &manifest.hash)?;
        return Ok(Frozen { manifest: known.manifest, folder, is_known: true });
    }
    let _ = staged.keep();
    sync_folder(&datasets)?;
    Ok(Frozen { manifest, folder, is_known: false })
}

/// The dataset whose hash begins so; without a beginning, the one built last.
pub fn open_dataset(root: &Path, hash: Option<&str>) -> Result<Dataset, FlywheelError> {
    let names = dataset_names(root)?;
    let Some(hash) = hash else {
        let newest = list_datasets(root)?.into_iter().filter_map(Result::ok).next();
        let newest = newest.ok_or_else(no_dataset)?;
        return open_folder(&root.join(DATASETS_FOLDER).join(&newest.hash), &newest.hash);
    };
    let mut found = names.into_iter().filter(|name| name.starts_with(hash));
    match (found.next(), found.next()) {
        _ if hash.len() < MIN_PREFIX || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Err(FlywheelError::refused(
                format!("`{hash}` names no dataset"),
                format!(
                    "a hash or its beginning, of at least {MIN_PREFIX} digits; `grail dataset list` shows them"
                ),
            ))
        }
        (Some(name), None) => open_folder(&root.join(DATASETS_FOLDER).join(&name), &name),
        (None, _) => Err(FlywheelError::refused(
            format!("there is no dataset `{hash}`"),
            "`grail dataset list` shows those there are",
        )),
        (Some(_), Some(_)) => Err(FlywheelError::refused(
            format!("several datasets begin with `{hash}`"),
            "write more of the hash; `grail dataset list` shows them",
        )),
    }
}

/// Every dataset, newest first. Only manifests are read; one that does not hash to its name is an error of its own.
pub fn list_datasets(root: &Path) -> Result<Vec<Result<Manifest, FlywheelError>>, FlywheelError> {
    let read = |name: &String| read_manifest(&root.join(DATASETS_FOLDER).join(name), name);
    let mut manifests: Vec<_> = dataset_names(root)?.iter().map(read).collect();
    // Moments in one notation sort as text.
    manifests.sort_by_key(|manifest| {
        std::cmp::Reverse(
            manifest.as_ref().ok().map(|manifest| (manifest.built.clone(), manifest.hash.clone())),
        )
    });
    Ok(manifests)
}

impl Dataset {
    pub fn train(&self) -> Result<Vec<Example>, FlywheelError> {
        self.split(0)
    }

    pub fn valid(&self) -> Result<Vec<Example>, FlywheelError> {
        self.split(1)
    }

    pub fn test(&self) -> Result<Vec<Example>, FlywheelError> {
        self.split(2)
    }

    pub fn dropped(&self) -> Result<Vec<Dropped>, FlywheelError> {
        read_lines(&self.folder.join(DROPPED_FILE))
    }

    fn split(&self, number: usize) -> Result<Vec<Example>, FlywheelError> {
        read_lines(&self.folder.join(SPLIT_FILES[number]))
    }
}

/// The beginning of a hash, as people see it.
pub fn short_hash(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn check_draft(draft: &Draft) -> Result<(), FlywheelError> {
    let refuse = |message: String| {
        FlywheelError::refused(
            message,
            "one dataset has one system prompt, one chat template and one form of answers",
        )
    };
    check_system_prompt(&draft.form.system_prompt).map_err(refuse)?;
    if draft.form.chat_template != super::CHAT_TEMPLATE {
        let known = super::CHAT_TEMPLATE;
        return Err(refuse(format!(
            "`{}` is no chat template that is known; `{known}` is",
            draft.form.chat_template
        )));
    }
    let readings = draft.form.readings;
    if !(1..=MOST_READINGS).contains(&readings) {
        return Err(refuse(format!("a request is said 1 to {MOST_READINGS} times, not {readings}")));
    }
    for example in [&draft.train, &draft.valid, &draft.test].into_iter().flatten() {
        check_form(example)
            .map_err(|problem| refuse(format!("example `{}` mixes formats: {problem}", example.id)))?;
    }
    Ok(())
}

fn manifest_of(draft: &Draft) -> Manifest {
    let splits = [draft.train.as_slice(), draft.valid.as_slice(), draft.test.as_slice()];
    let mut counts = draft.counts.clone();
    count_examples(splits, &mut counts);
    for dropped in &draft.dropped {
        *counts.dropped.entry(dropped.reason.clone()).or_default() += 1;
    }
    let sessions = splits.into_iter().flatten().filter_map(|example| example.origin.session.clone());
    let mut sources = draft.sources.clone();
    sources.sessions = sessions.collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    Manifest {
        format: MANIFEST_FORMAT,
        hash: String::new(),
        built: String::new(),
        grail: env!("CARGO_PKG_VERSION").to_owned(),
        event_version: EVENT_VERSION,
        form: draft.form.clone(),
        sources,
        rules: draft.rules.clone(),
        settings: draft.settings.clone(),
        counts,
        weights: weigh_examples(splits),
        tokens: count_tokens(splits, &draft.form),
        review: draft.review.clone(),
        licences: count_licences(splits),
        proof: draft.proof.clone(),
        balance: draft.balance.clone(),
        files: std::collections::BTreeMap::new(),
    }
}

fn datasets_folder(root: &Path) -> Result<PathBuf, FlywheelError> {
    let folder = grail_project::data_folder(root)
        .map_err(|source| FlywheelError::storage(&root.join(".grail"), source))?
        .join("datasets");
    fs::create_dir_all(&folder).map_err(|source| FlywheelError::storage(&folder, source))?;
    Ok(folder)
}

/// Folders that are named as a dataset is. Whatever else lies there is nobody's dataset.
fn dataset_names(root: &Path) -> Result<Vec<String>, FlywheelError> {
    let folder = root.join(DATASETS_FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FlywheelError::storage(&folder, error)),
    };
    let is_hash = |name: &String| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> =
        folders.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_hash).collect();
    names.sort();
    Ok(names)
}

fn no_dataset() -> FlywheelError {
    FlywheelError::refused(
        "there is no dataset yet",
        "`grail dataset build` makes one of what Grail has seen",
    )
}

/// Reads and verifies: the manifest hashes to the folder's name, every file to what the manifest says.
fn open_folder(folder: &Path, hash: &str) -> Result<Dataset, FlywheelError> {
    let manifest = read_manifest(folder, hash)?;
    let changed = |file: &str| FlywheelError::DatasetChanged {
        dataset: short_hash(hash).to_owned(),
        file: file.to_owned(),
    };
    for (name, record) in &manifest.files {
        // A name from a file: the manifest is what it was, but it may have been made by anybody.
        if !SPLIT_FILES.contains(&name.as_str()) && name != DROPPED_FILE {
            return Err(changed(MANIFEST_FILE));
        }
        let path = folder.join(name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if !is_file || record_of(&path)? != *record {
            return Err(changed(name));
        }
    }
    if manifest.files.len() != SPLIT_FILES.len() + 1 {
        return Err(changed(MANIFEST_FILE));
    }
    Ok(Dataset { manifest, folder: folder.to_owned() })
}

fn read_manifest(folder: &Path, hash: &str) -> Result<Manifest, FlywheelError> {
    let path = folder.join(MANIFEST_FILE);
    let changed = || FlywheelError::DatasetChanged {
        dataset: short_hash(hash).to_owned(),
        file: MANIFEST_FILE.to_owned(),
    };
    if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
        return Err(changed());
    }
    let file = File::open(&path).map_err(|source| FlywheelError::storage(&path, source))?;
    let mut text = Vec::new();
    file.take(MAX_MANIFEST_BYTES)
        .read_to_end(&mut text)
        .map_err(|source| FlywheelError::storage(&path, source))?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|_| changed())?;
    if manifest.format != MANIFEST_FORMAT {
        return Err(FlywheelError::refused(
            format!(
                "dataset `{}` has format {}, which this Grail does not know",
                short_hash(hash),
                manifest.format
            ),
            "a newer Grail has built it; build the dataset anew or use that one",
        ));
    }
    if manifest.hash != hash || manifest.content_hash() != hash {
        return Err(changed());
    }
    Ok(manifest)
}

fn record_of(path: &Path) -> Result<FileRecord, FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let mut file = File::open(path).map_err(storage)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 * 1024];
    let (mut bytes, mut lines) = (0, 0);
    loop {
        let read = file.read(&mut buffer).map_err(storage)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
        lines += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
    }
    Ok(FileRecord { lines, bytes, hash: hasher.finalize().to_hex().to_string() })
}

/// Writes one value a line and brings it to the disk.
pub(crate) fn write_lines<T: Serialize>(path: &Path, values: &[T]) -> Result<FileRecord, FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let mut file = BufWriter::new(File::create_new(path).map_err(storage)?);
    let mut hasher = blake3::Hasher::new();
    let mut bytes = 0;
    for value in values {
        let mut line = serde_json::to_vec(value).map_err(|error| storage(error.into()))?;
        line.push(b'\n');
        hasher.update(&line);
        bytes += line.len() as u64;
        file.write_all(&line).map_err(storage)?;
    }
    let file = file.into_inner().map_err(|error| storage(error.into_error()))?;
    file.sync_all().map_err(storage)?;
    Ok(FileRecord { lines: values.len() as u64, bytes, hash: hasher.finalize().to_hex().to_string() })
}

pub(crate) fn read_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let mut file = BufReader::new(File::open(path).map_err(storage)?);
    let mut values = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read =
            (&mut file).take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line).map_err(storage)?;
        if read == 0 {
            return Ok(values);
        }
        let value = serde_json::from_slice(&line).map_err(|error| {
            FlywheelError::refused(
                format!("`{}`, line {}: {error}", path.display(), values.len() + 1),
                "the file was made by another version of Grail; make it anew",
            )
        })?;
        values.push(value);
    }
}

fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let mut text = serde_json::to_vec_pretty(manifest).map_err(|error| storage(error.into()))?;
    text.push(b'\n');
    let mut file = File::create_new(path).map_err(storage)?;
    file.write_all(&text).and_then(|()| file.sync_all()).map_err(storage)
}

/// A rename is on the disk when the folder is.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), FlywheelError> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| FlywheelError::storage(folder, source))
}
