//! Weights on this machine: in the user's cache under the names of the catalogue, or wherever the user has them.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::catalogue::{CATALOGUE, CatalogueEntry, catalogue_entry};
use crate::ModelError;

/// The folder for what can be fetched again, if not where the platform has it.
pub const CACHE_VARIABLE: &str = "GRAIL_CACHE";

/// What every file of this kind begins with.
const GGUF_MAGIC: &[u8; 4] = b"GGUF";

/// Weights that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// The name in the catalogue, or of the file or folder.
    pub name: String,
    /// A `.gguf` file, or a `.safetensors` file or a folder of them with their `config.json`.
    pub path: PathBuf,
    pub bytes: u64,
    /// What the file must hash to, where that is known.
    pub sha256: Option<&'static str>,
}

/// An entry of the catalogue, and whether it is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub entry: &'static CatalogueEntry,
    pub path: Option<PathBuf>,
}

/// `$GRAIL_CACHE`, else `grail` in the cache folder of the platform.
pub fn cache_folder(home: Option<&Path>) -> Result<PathBuf, ModelError> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(named) = env::var_os(CACHE_VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return match named.is_absolute() {
            true => Ok(named),
            false => Err(cache_error(&named, "used", "it is no absolute path".to_owned())),
        };
    }
    let folder = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library").join("Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| Some(home?.join(".cache")))
    };
    folder
        .map(|folder| folder.join("grail"))
        .ok_or_else(|| cache_error(Path::new("~/.cache/grail"), "used", "no home folder is known".to_owned()))
}

/// Everything that can be pulled, and what of it is here.
pub fn list_weights(cache: &Path) -> Vec<Held> {
    let held = |entry: &'static CatalogueEntry| Held { entry, path: held_path(cache, entry) };
    CATALOGUE.iter().map(held).collect()
}

/// Weights by their name in the catalogue, or by a path.
pub fn find_weights(cache: &Path, name_or_path: &str) -> Result<Weights, ModelError> {
    if let Some(entry) = catalogue_entry(name_or_path) {
        let path = held_path(cache, entry);
        let path = path.ok_or_else(|| ModelError::NotPulled { name: entry.name.to_owned() })?;
        let (name, sha256) = (entry.name.to_owned(), Some(entry.sha256));
        return Ok(Weights { name, path, bytes: entry.bytes, sha256 });
    }
    let path = Path::new(name_or_path);
    let looks_like_path = path.components().count() > 1
        || path.extension().is_some_and(|extension| extension == "gguf" || extension == "safetensors")
        || path.exists();
    if !looks_like_path {
        let known = CATALOGUE.iter().map(|entry| entry.name.to_owned()).collect();
        return Err(ModelError::UnknownWeights { name: name_or_path.to_owned(), known });
    }
    at_path(path)
}

/// Takes pulled weights off the disk, and tells how many bytes that gave back.
pub fn remove_weights(cache: &Path, name: &str) -> Result<u64, ModelError> {
    let Some(entry) = catalogue_entry(name) else {
        let known = CATALOGUE.iter().map(|entry| entry.name.to_owned()).collect();
        return Err(ModelError::UnknownWeights { name: name.to_owned(), known });
    };
    let folder = entry_folder(cache, entry);
    if !folder.exists() {
        return Err(ModelError::NotPulled { name: name.to_owned() });
    }
    fs::remove_dir_all(&folder).map_err(|error| cache_error(&folder, "removed", error.to_string()))?;
    Ok(entry.bytes)
}

/// Where pulled weights lie, one folder for each name.
pub(super) fn weights_folder(cache: &Path) -> PathBuf {
    cache.join("weights")
}

pub(super) fn entry_folder(cache: &Path, entry: &CatalogueEntry) -> PathBuf {
    weights_folder(cache).join(entry.name)
}

/// A folder gets its place by one renaming when it is whole, so what is there was checked. Its length is looked at all the same; whoever
/// loads the file knows its hash.
fn held_path(cache: &Path, entry: &CatalogueEntry) -> Option<PathBuf> {
    let path = entry_folder(cache, entry).join(entry.file);
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == entry.bytes).then_some(path)
}

/// What the program that runs models would open there.
fn at_path(path: &Path) -> Result<Weights, ModelError> {
    let no_weights = |reason: String| ModelError::NoWeights { path: path.display().to_string(), reason };
    let unreadable = |error: io::Error| no_weights(reason_of(&error));
    let full = path.canonicalize().map_err(unreadable)?;
    if full.is_dir() {
        let name = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let safetensors = files_in(&full, "safetensors").map_err(unreadable)?;
        let ggufs = files_in(&full, "gguf").map_err(unreadable)?;
        return match (safetensors.as_slice(), ggufs.as_slice()) {
            ([], [only]) => gguf_file(only, name).map_err(no_weights),
            ([], [_, _, ..]) => Err(no_weights("the folder has several `.gguf` files; name one".to_owned())),
            ([_, ..], _) if full.join("config.json").is_file() => {
                let bytes = bytes_of(&safetensors).map_err(unreadable)?;
                Ok(Weights { name, path: full, bytes, sha256: None })
            }
            ([], []) => Err(no_weights("it has no `.safetensors` files and no `.gguf` file".to_owned())),
            _ => Err(no_weights("there is no `config.json` beside its `.safetensors` files".to_owned())),
        };
    }
    if path.extension().is_some_and(|extension| extension == "safetensors") {
        // Hubs keep links to files of other names in other folders: what belongs to the file is beside the link.
        let full = std::path::absolute(path).map_err(unreadable)?;
        if !full.with_file_name("config.json").is_file() {
            return Err(no_weights("there is no `config.json` beside it".to_owned()));
        }
        let bytes = bytes_of(std::slice::from_ref(&full)).map_err(unreadable)?;
        return Ok(Weights { name: stem_of(&full), path: full, bytes, sha256: None });
    }
    let name = stem_of(&full);
    gguf_file(&full, name).map_err(no_weights)
}

/// A file that begins as every GGUF file does, or why it is none.
fn gguf_file(path: &Path, name: String) -> Result<Weights, String> {
    let mut magic = [0; 4];
    match File::open(path).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) if &magic == GGUF_MAGIC => {}
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(reason_of(&error)),
        _ => return Err("it is no GGUF file".to_owned()),
    }
    let bytes = path.metadata().map_err(|error| reason_of(&error))?.len();
    Ok(Weights { name, path: path.to_owned(), bytes, sha256: None })
}

/// The files of a folder that end so. An adapter may lie beside its model.
fn files_in(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_adapter = entry.file_name().to_string_lossy().starts_with("adapter");
        if path.extension().is_some_and(|extension| extension == ending)
            && !(is_adapter && ending == "safetensors")
        {
            files.push(path);
        }
    }
    Ok(files)
}

/// A link counts as what it leads to: that is how hubs keep their files.
fn bytes_of(files: &[PathBuf]) -> io::Result<u64> {
    files.iter().map(|file| file.metadata().map(|metadata| metadata.len())).sum()
}

fn stem_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn reason_of(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is nothing there".to_owned(),
        _ => error.to_string(),
    }
}

pub(super) fn cache_error(path: &Path, action: &'static str, reason: String) -> ModelError {
    ModelError::Cache { path: path.to_owned(), action, reason }
}
