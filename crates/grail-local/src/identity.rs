//! Which weights these are: digests of files, and the short name under which answers are given.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::weights::Weights;
use crate::{LocalError, Result};

const SHORT: usize = 16;

/// The SHA-256 of a file in hexadecimal digits.
pub fn file_sha256(path: &Path) -> Result<String> {
    let failed = |source| LocalError::Read { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(hexadecimal(&hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// The SHA-256 of a model: of the file, if it is one; otherwise of the list of its files and their digests.
pub fn model_sha256(weights: &Weights) -> Result<String> {
    if weights.gguf().is_some() {
        return file_sha256(&weights.files()[0]);
    }
    let mut files = weights.files().to_vec();
    files.extend(["config.json", "tokenizer.json"].map(|name| weights.folder().join(name)));
    list_sha256(&files)
}

/// The SHA-256 of an adapter: its weights and its configuration.
pub fn adapter_sha256(folder: &Path) -> Result<String> {
    let names = ["adapter_config.json", "adapter_model.safetensors", "adapters.safetensors"];
    let files: Vec<PathBuf> =
        names.map(|name| folder.join(name)).into_iter().filter(|file| file.exists()).collect();
    if files.len() < 2 {
        let reason = "the folder has no `adapter_config.json` with weights beside it".to_owned();
        return Err(LocalError::Adapter { path: folder.to_owned(), reason });
    }
    list_sha256(&files)
}

/// The name of a model with or without adapter: the beginnings of their digests.
pub fn identity(model_sha256: &str, adapter_sha256: Option<&str>) -> String {
    let short = |digest: &str| digest.get(..SHORT).unwrap_or(digest).to_owned();
    match adapter_sha256 {
        None => short(model_sha256),
        Some(adapter) => format!("{}+{}", short(model_sha256), short(adapter)),
    }
}

fn list_sha256(files: &[PathBuf]) -> Result<String> {
    let mut lines = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if file.exists() {
            lines.push(format!("{} {name}\n", file_sha256(file)?));
        }
    }
    lines.sort();
    Ok(hexadecimal(&Sha256::digest(lines.concat())))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
