//! Examples of others: the reference examples of skills, other people's files, other projects' exports.
//!
//! An import is kept under `.grail/imports/<name>/` as examples with their origin and licence, and mixed in at every build, behind the
//! same curation as everything else. What comes from outside is bounded, checked line by line and redacted before it is kept; nothing
//! without a licence is.

mod layouts;
mod lines;
mod mixing;
mod skills;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::store::{read_lines, sync_folder, write_lines};
use crate::FlywheelError;
use crate::event::{is_session_name, now};
use crate::example::Example;

pub use layouts::FileLayout;
pub use lines::{LineProblem, ReadFile, read_file};
pub use mixing::mix;
pub use skills::{SkillMaterial, skill_examples};

/// Where imports are, below the project's root.
pub const IMPORTS_FOLDER: &str = ".grail/imports";
/// The import that `--skills` makes.
pub const SKILLS_IMPORT: &str = "skills";
const RECORD_FILE: &str = "import.json";
const EXAMPLES_FILE: &str = "examples.jsonl";
const MAX_RECORD_BYTES: u64 = 1024 * 1024;

/// What is kept about an import.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportRecord {
    pub name: String,
    /// A file's name or an address, in the words of whoever imported it.
    pub origin: String,
    /// Of its file of examples.
    pub hash: String,
    pub examples: u64,
    /// By licence.
    pub licences: BTreeMap<String, u64>,
    /// The share of a dataset that it may have; 1 is as much as there is.
    pub ratio: f64,
    pub imported: String,
}

/// An import and its examples.
#[derive(Clone, Debug)]
pub struct Import {
    pub record: ImportRecord,
    pub examples: Vec<Example>,
}

/// How examples are imported.
#[derive(Clone, Debug)]
pub struct ImportSettings {
    pub name: String,
    pub origin: String,
    pub ratio: f64,
    /// Whether an import of the same name is replaced.
    pub replaces: bool,
}

/// Keeps examples under a name: all of them or none.
pub fn keep_import(
    root: &Path,
    settings: &ImportSettings,
    examples: &[Example],
) -> Result<ImportRecord, FlywheelError> {
    check_settings(settings)?;
    if let Some(example) = examples.iter().find(|example| example.origin.licence.is_none()) {
        return Err(FlywheelError::refused(
            format!("example `{}` has no licence", example.id),
            "name the licence of what you import with `--licence`, such as `MIT`",
        ));
    }
    let imports = grail_project::data_folder(root)
        .map_err(|source| FlywheelError::storage(&root.join(".grail"), source))?
        .join("imports");
    fs::create_dir_all(&imports).map_err(|source| FlywheelError::storage(&imports, source))?;
    let folder = imports.join(&settings.name);
    let is_there = fs::symlink_metadata(&folder).is_ok();
    if is_there && !settings.replaces {
        return Err(FlywheelError::refused(
            format!("there is an import `{}` already", settings.name),
            "`--replace` puts this one in its place, `--name` gives it another name",
        ));
    }
    let storage = |source| FlywheelError::storage(&folder, source);
    let staged = tempfile::Builder::new().prefix(".making-").tempdir_in(&imports).map_err(storage)?;
    let written = write_lines(&staged.path().join(EXAMPLES_FILE), examples)?;
    let mut licences = BTreeMap::new();
    for licence in examples.iter().filter_map(|example| example.origin.licence.clone()) {
        *licences.entry(licence).or_default() += 1;
    }
    let record = ImportRecord {
        name: settings.name.clone(),
        origin: settings.origin.clone(),
        hash: written.hash,
        examples: written.lines,
        licences,
        ratio: settings.ratio,
        imported: now(),
    };
    let text = serde_json::to_string_pretty(&record).map_err(|error| storage(error.into()))?;
    fs::write(staged.path().join(RECORD_FILE), text + "\n").map_err(storage)?;
    sync_folder(staged.path())?;
    if is_there {
        // A folder cannot be renamed onto a full one: the old one steps aside first.
        let aside = tempfile::Builder::new().prefix(".old-").tempdir_in(&imports).map_err(storage)?;
        fs::rename(&folder, aside.path().join("import")).map_err(storage)?;
    }
    fs::rename(staged.path(), &folder).map_err(storage)?;
    let _ = staged.keep();
    sync_folder(&imports)?;
    Ok(record)
}

/// Every import with its examples, by name. One that was changed by hand is refused.
pub fn read_imports(root: &Path) -> Result<Vec<Import>, FlywheelError> {
    let names = import_names(root)?;
    names.iter().map(|name| read_import(root, name)).collect()
}

/// Drops an import: datasets built later do not have it.
pub fn remove_import(root: &Path, name: &str) -> Result<ImportRecord, FlywheelError> {
    if !import_names(root)?.iter().any(|known| known == name) {
        return Err(FlywheelError::refused(
            format!("there is no import `{name}`"),
            "`grail dataset list` shows them",
        ));
    }
    let record = read_import(root, name)?.record;
    let folder = root.join(IMPORTS_FOLDER).join(name);
    fs::remove_dir_all(&folder).map_err(|source| FlywheelError::storage(&folder, source))?;
    Ok(record)
}

fn read_import(root: &Path, name: &str) -> Result<Import, FlywheelError> {
    let folder = root.join(IMPORTS_FOLDER).join(name);
    let changed = || {
        FlywheelError::refused(
            format!("import `{name}` is not what it was"),
            "import it again with `--replace`, or `grail dataset import --remove` it",
        )
    };
    let record: PathBuf = folder.join(RECORD_FILE);
    let size = fs::symlink_metadata(&record).map_err(|_| changed())?;
    if !size.is_file() || size.len() > MAX_RECORD_BYTES {
        return Err(changed());
    }
    let text = fs::read(&record).map_err(|source| FlywheelError::storage(&record, source))?;
    let record: ImportRecord = serde_json::from_slice(&text).map_err(|_| changed())?;
    let examples = folder.join(EXAMPLES_FILE);
    if record.name != name || hash_of(&examples)? != record.hash {
        return Err(changed());
    }
    let examples = read_lines(&examples)?;
    Ok(Import { record, examples })
}

fn hash_of(path: &Path) -> Result<String, FlywheelError> {
    let mut hasher = blake3::Hasher::new();
    let mut file = fs::File::open(path).map_err(|source| FlywheelError::storage(path, source))?;
    std::io::copy(&mut file, &mut hasher).map_err(|source| FlywheelError::storage(path, source))?;
    Ok(hasher.finalize().to_hex().to_string())
}

fn import_names(root: &Path) -> Result<Vec<String>, FlywheelError> {
    let folder = root.join(IMPORTS_FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FlywheelError::storage(&folder, error)),
    };
    let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = folders
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_session_name(name))
        .collect();
    names.sort();
    Ok(names)
}

fn check_settings(settings: &ImportSettings) -> Result<(), FlywheelError> {
    if !is_session_name(&settings.name) {
        return Err(FlywheelError::refused(
            format!("`{}` is no name for an import", settings.name.escape_debug()),
            "letters, digits, `-` and `_`, at most 64",
        ));
    }
    if !(settings.ratio > 0.0 && settings.ratio <= 1.0) {
        return Err(FlywheelError::refused(
            format!("{} is no share of a dataset", settings.ratio),
            "a number above 0, up to 1: `--ratio 0.2` lets it be at most a fifth",
        ));
    }
    Ok(())
}

/// Whether a text can name a licence: an SPDX expression such as `MIT OR Apache-2.0`.
pub fn check_licence(licence: &str) -> Result<(), FlywheelError> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-.+() ".contains(character);
    let words = licence.to_ascii_lowercase();
    let says_nothing = ["", "unknown", "none", "unlicensed", "noassertion", "other", "n/a", "?"];
    if says_nothing.contains(&words.trim()) || licence.len() > 100 || !licence.chars().all(is_plain) {
        return Err(FlywheelError::refused(
            format!("`{}` is no licence", licence.escape_debug()),
            "name it as SPDX does, such as `MIT`, `Apache-2.0` or `CC-BY-4.0`; what has no licence must not be trained on",
        ));
    }
    Ok(())
}
