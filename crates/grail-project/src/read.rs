//! Reading one Python file: bounded, decoded as the interpreter would, and recognisable later.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use grail_code::{DecodeError, Source};

use crate::error::ProjectError;

/// Hand-written Python stays far below this.
pub const DEFAULT_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A file as it was when it was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub path: PathBuf,
    pub source: Source,
    pub fingerprint: Fingerprint,
}

/// Tells whether a file still holds the bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    length: u64,
    hash: u64,
}

impl Fingerprint {
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Self { length: bytes.len() as u64, hash: hasher.finish() }
    }
}

/// Reads and decodes one file of at most `max_bytes`.
pub fn read_source(path: &Path, max_bytes: u64) -> Result<SourceFile, ProjectError> {
    let bytes = read_bytes(path, max_bytes)?;
    let fingerprint = Fingerprint::of(&bytes);
    let source = Source::from_bytes(&bytes).map_err(|source| match source {
        DecodeError::NullByte { offset } => ProjectError::Binary { path: path.to_owned(), offset },
        _ => ProjectError::Decode { path: path.to_owned(), source },
    })?;
    Ok(SourceFile { path: path.to_owned(), source, fingerprint })
}

pub(crate) fn read_bytes(path: &Path, max_bytes: u64) -> Result<Vec<u8>, ProjectError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => ProjectError::PathMissing { path: path.to_owned() },
        _ => ProjectError::Unreadable { path: path.to_owned(), source },
    };
    // Asked before opening: opening a named pipe would wait for a writer.
    let metadata = path.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(ProjectError::NotAFile { path: path.to_owned() });
    }
    let too_large = |size| ProjectError::TooLarge { path: path.to_owned(), size, limit: max_bytes };
    if metadata.len() > max_bytes {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    // The file may grow meanwhile, so the limit holds for what is read, not only for what was announced.
    File::open(path)
        .and_then(|file| file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}
