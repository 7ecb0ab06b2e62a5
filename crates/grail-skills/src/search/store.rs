//! What an index remembers between runs: the vectors of the skills, by the content they were made of.
//!
//! One file for each embedder, in `.grail/cache/skills/`, replaced as a whole. It is only ever a shortcut: one that is missing, broken, too large, or made
//! by another version or another embedder is as good as none. Its last bytes are a hash of all others, so that half a file is noticed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::calibration::Calibration;
use super::comparison::COUNT;
use super::embedder::Quantised;
use super::intents;
use super::words::MAX_PARTS;

/// Where the file lies below the project's root.
const FOLDER: [&str; 3] = [".grail", "cache", "skills"];
/// Another number makes the program ignore what an older one has written.
const MAGIC: &[u8; 8] = b"GRAILSX1";
/// A larger file is not read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
const HASH_BYTES: usize = 32;

/// The content of a skill, hashed.
pub(crate) type Key = [u8; HASH_BYTES];

#[derive(Default)]
pub(crate) struct Stored {
    pub(crate) calibration: Option<Calibration>,
    pub(crate) vectors: Vec<(Key, Vec<Quantised>)>,
}

pub(crate) fn key(texts: &[String]) -> Key {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&text.len().to_le_bytes());
        hasher.update(text.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// What an index of this embedder has written. `None` where there is nothing to be trusted.
pub(crate) fn read(root: &Path, embedder: &str, dimensions: usize) -> Option<Stored> {
    let path = locate(root, embedder)?;
    let metadata = path.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    decode(&fs::read(path).ok()?, embedder, dimensions)
}

pub(crate) fn write(root: &Path, embedder: &str, dimensions: usize, stored: &Stored) -> io::Result<()> {
    let path = locate(root, embedder).ok_or(io::ErrorKind::NotADirectory)?;
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let ignore = folder.join(".gitignore");
    if ignore.symlink_metadata().is_err() {
        fs::write(ignore, "*\n")?;
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&encode(embedder, dimensions, stored))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The file of an embedder. `None` if a link could lead out of the project.
fn locate(root: &Path, embedder: &str) -> Option<PathBuf> {
    let mut folder = root.to_owned();
    for part in FOLDER {
        folder.push(part);
        if folder.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
            return None;
        }
    }
    let name: String = blake3::hash(embedder.as_bytes()).to_hex().chars().take(16).collect();
    Some(folder.join(format!("search-{name}.bin")))
}

fn encode(embedder: &str, dimensions: usize, stored: &Stored) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    put_number(&mut bytes, embedder.len());
    bytes.extend(embedder.as_bytes());
    put_number(&mut bytes, dimensions);
    bytes.extend(intents::fingerprint());
    bytes.push(u8::from(stored.calibration.is_some()));
    if let Some(calibration) = &stored.calibration {
        for number in std::iter::once(calibration.constant).chain(calibration.weights) {
            bytes.extend(number.to_le_bytes());
        }
    }
    put_number(&mut bytes, stored.vectors.len());
    // In one order, whatever the order of a hash map: the same index is the same file.
    let mut sorted: Vec<&(Key, Vec<Quantised>)> = stored.vectors.iter().collect();
    sorted.sort_by_key(|(key, _)| *key);
    for (key, vectors) in sorted {
        bytes.extend(key);
        put_number(&mut bytes, vectors.len());
        for vector in vectors {
            bytes.extend(vector.step.to_le_bytes());
            bytes.extend(vector.bytes.iter().map(|byte| byte.cast_unsigned()));
        }
    }
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

fn decode(bytes: &[u8], embedder: &str, dimensions: usize) -> Option<Stored> {
    let (content, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH_BYTES)?)?;
    if blake3::hash(content).as_bytes() != hash {
        return None;
    }
    let mut rest = Reader(content.strip_prefix(MAGIC)?);
    let length = rest.number()?;
    let name = rest.take(length)?;
    if name != embedder.as_bytes() || rest.number()? != dimensions {
        return None;
    }
    let same_labels = rest.take(HASH_BYTES)? == intents::fingerprint();
    let calibration = match rest.take(1)? {
        [0] => None,
        _ => Some(rest.calibration()?).filter(|_| same_labels),
    };
    let count = rest.number()?;
    let mut vectors = Vec::new();
    for _ in 0..count {
        let key: Key = rest.take(HASH_BYTES)?.try_into().ok()?;
        let parts = rest.number().filter(|parts| *parts <= MAX_PARTS + 1)?;
        let mut of_skill = Vec::with_capacity(parts);
        for _ in 0..parts {
            let step = f32::from_le_bytes(rest.take(4)?.try_into().ok()?);
            let bytes = rest.take(dimensions)?.iter().map(|byte| byte.cast_signed()).collect();
            if !step.is_normal() || step <= 0.0 {
                return None;
            }
            of_skill.push(Quantised { bytes, step });
        }
        vectors.push((key, of_skill));
    }
    rest.0.is_empty().then_some(Stored { calibration, vectors })
}

fn put_number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.take(4)?.try_into().ok()?)).ok()
    }

    fn calibration(&mut self) -> Option<Calibration> {
        let mut numbers = [0.0; COUNT + 1];
        for number in &mut numbers {
            *number = f64::from_le_bytes(self.take(8)?.try_into().ok()?);
        }
        let (constant, weights) = numbers.split_first()?;
        let finite = numbers.iter().all(|number| number.is_finite());
        finite.then_some(Calibration { constant: *constant, weights: weights.try_into().ok()? })
    }
}
