//! Paused runs as sealed bytes.
//!
//! The engine trusts its own dumps, so ours must be worth trusting: header, luggage and dump lie under one keyed MAC, and nothing
//! behind the header is looked at before the MAC has been verified. A changed byte, another key and another version are different
//! refusals.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use thiserror::Error;

use crate::files::FilesState;
use crate::run::Luggage;

/// The variable that brings a key where there is no project folder.
pub const KEY_VARIABLE: &str = "GRAIL_SNAPSHOT_KEY";

/// The key's file inside a project's `.grail` folder.
pub const KEY_FILE: &str = "snapshot.key";

/// Snapshots beyond this are refused unread.
pub const MAX_SNAPSHOT_BYTES: usize = 256 * 1024 * 1024;

const MAGIC: &[u8; 8] = b"GRAILRUN";
const VERSION: u16 = 1;
const MAC_BYTES: usize = 32;
const KEY_BYTES: usize = 32;
const KEY_MARK_BYTES: usize = 8;

/// The secret under which snapshots are sealed. Whoever has it can make a run do anything its tools allow.
#[derive(Clone)]
pub struct SnapshotKey {
    bytes: [u8; KEY_BYTES],
}

#[derive(Debug, Error)]
pub enum SnapshotError {
    #[error("this is not a snapshot of a run")]
    NotASnapshot,
    #[error(
        "the snapshot is of version {found}, this program reads {expected}; resume it with the program that made it"
    )]
    OtherVersion { found: String, expected: String },
    #[error("the snapshot was sealed with another key; use the key of the project that made it")]
    OtherKey,
    #[error("the snapshot was changed after it was sealed, and is refused")]
    Tampered,
    #[error(
        "the snapshot needs the mount `{name}`, which this context does not have; mount it again under that name"
    )]
    MountMissing { name: String },
    #[error("the snapshot holds a {found}, not a {expected}")]
    OtherKind { found: &'static str, expected: &'static str },
    #[error("the run was started with a larger `{limit}` than the policy `{policy}` allows now")]
    BeyondPolicy { limit: &'static str, policy: String },
    #[error("the worker could not continue from the snapshot: {reason}")]
    NotRestored { reason: String },
    #[error("the run's worker is gone and cannot be written down: {reason}")]
    NotDumped { reason: String },
    #[error("`{path}` does not hold a key: {reason}")]
    BadKey { path: String, reason: String },
    #[error("the key file `{path}` cannot be used: {source}")]
    KeyFile { path: PathBuf, source: io::Error },
}

/// What is sealed besides the engine's own dump.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Contents {
    pub(crate) kind: Kind,
    pub(crate) source: String,
    pub(crate) stepwise: bool,
    pub(crate) requires_result: bool,
    pub(crate) limits: SealedLimits,
    pub(crate) luggage: Luggage,
    pub(crate) memory_files: Option<FilesState>,
    pub(crate) mounts: Vec<String>,
    /// Earlier snippets of a session, for the type checker.
    pub(crate) history: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Run,
    Session,
}

/// Limits in whole units, in the order of [`crate::Limits`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SealedLimits {
    pub(crate) max_duration_micros: u64,
    pub(crate) max_memory: u64,
    pub(crate) max_recursion: u32,
    pub(crate) max_suspensions: u32,
    pub(crate) max_output: u64,
    pub(crate) max_result: u64,
    pub(crate) max_source: u64,
    pub(crate) check_timeout_micros: u64,
    pub(crate) tool_timeout_micros: u64,
}

impl SnapshotKey {
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self { bytes }
    }

    /// A new random key.
    pub fn generate() -> io::Result<Self> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { bytes })
    }

    /// The key from the environment if it is there, else the one in `folder`, made on first use and readable by its owner only.
    pub fn load_or_create(folder: &Path) -> Result<Self, SnapshotError> {
        if let Ok(text) = std::env::var(KEY_VARIABLE) {
            return Self::parse(&text)
                .map_err(|reason| SnapshotError::BadKey { path: KEY_VARIABLE.to_owned(), reason });
        }
        let path = folder.join(KEY_FILE);
        let problem = |source| SnapshotError::KeyFile { path: path.clone(), source };
        match read_key_file(&path) {
            Ok(text) => Self::parse(&text)
                .map_err(|reason| SnapshotError::BadKey { path: path.display().to_string(), reason }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder).map_err(problem)?;
                let key = Self::generate().map_err(problem)?;
                match key.write_new(&path) {
                    Ok(()) => Ok(key),
                    // Another process was faster: its key counts.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        let text = read_key_file(&path).map_err(problem)?;
                        Self::parse(&text).map_err(|reason| SnapshotError::BadKey {
                            path: path.display().to_string(),
                            reason,
                        })
                    }
                    Err(error) => Err(problem(error)),
                }
            }
            Err(error) => Err(problem(error)),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let expected = || format!("expected {} hexadecimal digits", KEY_BYTES * 2);
        if text.len() != KEY_BYTES * 2 || !text.is_ascii() {
            return Err(expected());
        }
        let mut bytes = [0; KEY_BYTES];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).map_err(|_| expected())?;
        }
        Ok(Self { bytes })
    }

    /// Written whole under a temporary name and linked into place: nobody ever reads half a key, and nobody's key is replaced.
    fn write_new(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        // `tempfile` makes files that only their owner can read.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let digits: String = self.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(file, "{digits}")?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map(drop).map_err(|error| error.error)
    }

    /// A seal over bytes that are kept for `purpose`, in hexadecimal.
    pub(crate) fn sign(&self, purpose: &str, bytes: &[u8]) -> String {
        self.seal_of(purpose, bytes)
            .finalize()
            .into_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    pub(crate) fn verifies(&self, purpose: &str, bytes: &[u8], seal: &str) -> bool {
        let digits: Option<Vec<u8>> = (0..seal.len())
            .step_by(2)
            .map(|at| seal.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok()))
            .collect();
        digits.is_some_and(|digits| self.seal_of(purpose, bytes).verify_slice(&digits).is_ok())
    }

    fn seal_of(&self, purpose: &str, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.mac();
        mac.update(&(purpose.len() as u64).to_le_bytes());
        mac.update(purpose.as_bytes());
        mac.update(bytes);
        mac
    }

    /// Says which key it was without saying anything about it.
    fn mark(&self) -> [u8; KEY_MARK_BYTES] {
        let digest = blake3::derive_key("grail snapshot key mark", &self.bytes);
        let mut mark = [0; KEY_MARK_BYTES];
        mark.copy_from_slice(&digest[..KEY_MARK_BYTES]);
        mark
    }

    fn mac(&self) -> Hmac<Sha256> {
        // A key of any length is valid, hence no error to pass on.
        Hmac::new_from_slice(&self.bytes).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"))
    }
}

impl fmt::Debug for SnapshotKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SnapshotKey([redacted])")
    }
}

/// Magic, version, engine, key mark, length of contents, contents, dump, MAC.
pub(crate) fn seal(contents: &Contents, dump: &[u8], key: &SnapshotKey) -> Result<Vec<u8>, SnapshotError> {
    let contents = serde_json::to_vec(contents)
        .map_err(|error| SnapshotError::NotDumped { reason: error.to_string() })?;
    let engine = monty_types::MONTY_VERSION.as_bytes();
    let mut bytes = Vec::with_capacity(contents.len() + dump.len() + 128);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.push(u8::try_from(engine.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(engine);
    bytes.extend_from_slice(&key.mark());
    bytes.extend_from_slice(&(contents.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&contents);
    bytes.extend_from_slice(dump);
    let mut mac = key.mac();
    mac.update(&bytes);
    bytes.extend_from_slice(&mac.finalize().into_bytes());
    Ok(bytes)
}

pub(crate) fn open(bytes: &[u8], key: &SnapshotKey) -> Result<(Contents, Vec<u8>), SnapshotError> {
    if bytes.len() > MAX_SNAPSHOT_BYTES {
        return Err(SnapshotError::NotASnapshot);
    }
    let mut rest = bytes.strip_prefix(MAGIC).ok_or(SnapshotError::NotASnapshot)?;
    let version = u16::from_le_bytes(take(&mut rest)?);
    let [engine_length] = take::<1>(&mut rest)?;
    let (engine, after) =
        rest.split_at_checked(usize::from(engine_length)).ok_or(SnapshotError::NotASnapshot)?;
    rest = after;
    if version != VERSION || engine != monty_types::MONTY_VERSION.as_bytes() {
        let named =
            |version, engine: &[u8]| format!("{version} (engine {})", String::from_utf8_lossy(engine));
        return Err(SnapshotError::OtherVersion {
            found: named(version, engine),
            expected: named(VERSION, monty_types::MONTY_VERSION.as_bytes()),
        });
    }
    if take::<KEY_MARK_BYTES>(&mut rest)? != key.mark() {
        return Err(SnapshotError::OtherKey);
    }
    let sealed_length = bytes.len().checked_sub(MAC_BYTES).ok_or(SnapshotError::NotASnapshot)?;
    let mut mac = key.mac();
    mac.update(&bytes[..sealed_length]);
    mac.verify_slice(&bytes[sealed_length..]).map_err(|_| SnapshotError::Tampered)?;
    // From here on every byte is as it was when we wrote it.
    let contents_length = usize::try_from(u64::from_le_bytes(take(&mut rest)?)).unwrap_or(usize::MAX);
    let (contents, after) = rest.split_at_checked(contents_length).ok_or(SnapshotError::Tampered)?;
    let dump_length = after.len().checked_sub(MAC_BYTES).ok_or(SnapshotError::Tampered)?;
    let contents = serde_json::from_slice(contents).map_err(|_| SnapshotError::Tampered)?;
    Ok((contents, after[..dump_length].to_vec()))
}

fn take<const COUNT: usize>(rest: &mut &[u8]) -> Result<[u8; COUNT], SnapshotError> {
    let (taken, after) = rest.split_first_chunk::<COUNT>().ok_or(SnapshotError::NotASnapshot)?;
    *rest = after;
    Ok(*taken)
}

/// A key file is short; whatever is longer is something else.
fn read_key_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(1024).read_to_string(&mut text)?;
    Ok(text)
}
