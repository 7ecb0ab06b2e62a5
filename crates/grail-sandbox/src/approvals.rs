//! Runs that wait for a person.
//!
//! A folder with one file for each paused run, written once. A decision is a second file beside it and the end of the run a third; both
//! are created whole or not at all and never replaced, so of several processes that decide at once exactly one wins, and the state of
//! an approval is which of its files exist. The store knows nothing of snapshots: bytes in, bytes out.
//!
//! The arguments shown are a copy for the eyes. What is run is the snapshot: whoever resumes it must read the call from there.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use thiserror::Error;

use crate::observe::Redactor;

/// Approvals in a folder, by convention `.grail/runs/approvals`. Cheap to make; the folder is created when something is stored.
#[derive(Clone, Debug)]
pub struct ApprovalStore {
    folder: PathBuf,
}

/// A run that is to wait.
#[derive(Clone, Debug)]
pub struct NewApproval<'a> {
    /// The tool that needs approval.
    pub tool: &'a str,
    /// The arguments of the call, as they should be shown.
    pub arguments: &'a Json,
    pub code: &'a str,
    pub policy: &'a str,
    /// The paused run, sealed.
    pub snapshot: &'a [u8],
}

/// A waiting run as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Approval {
    pub id: String,
    pub state: ApprovalState,
    pub tool: String,
    /// Secrets are redacted.
    pub arguments: Json,
    pub code: String,
    pub policy: String,
    /// In UTC, such as `2026-01-31T12:00:00Z`.
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// How the run ended, once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalState {
    Pending,
    /// The tool may be called.
    Approved,
    /// The code gets an exception.
    Denied,
    /// The code gets a value and the tool is not called.
    Answered,
    /// The run has gone on and ended.
    Finished,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    Approved {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Denied {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Given to the code as the result of the call.
    Answered { value: Json },
}

/// Everything in the store, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ApprovalList {
    pub approvals: Vec<Approval>,
    /// Files that are no approvals any more.
    pub broken: Vec<BrokenApproval>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenApproval {
    pub file: String,
    pub reason: String,
}

#[derive(Debug, Error)]
pub enum ApprovalError {
    #[error("`{}` is not the id of an approval", shortened(id))]
    MalformedId { id: String },
    #[error("there is no approval `{id}`")]
    Unknown { id: String },
    #[error("approval `{id}` is already {}", state.name())]
    AlreadyDecided { id: String, state: ApprovalState },
    #[error("approval `{id}` is not decided yet")]
    NotDecided { id: String },
    #[error("the paused run takes {size} bytes, at most {limit} can be stored")]
    TooLarge { size: usize, limit: usize },
    #[error("the answer nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("`{}` is not an approval: {reason}", path.display())]
    Broken { path: PathBuf, reason: String },
    #[error("cannot use `{}`: {source}", path.display())]
    Storage { path: PathBuf, source: io::Error },
}

/// Of the snapshot.
const MAX_SNAPSHOT_BYTES: usize = 256 << 20;
/// Of code, of arguments as JSON, of an answer as JSON. More is cut where it is only shown, and refused where it counts.
const MAX_TEXT_BYTES: usize = 4 << 20;
const MAX_REASON_LENGTH: usize = 2000;
/// Base64 and everything else, with room.
const MAX_RECORD_BYTES: u64 = (MAX_SNAPSHOT_BYTES as u64) / 3 * 4 + 4 * (MAX_TEXT_BYTES as u64) * 6;
const MAX_DECISION_BYTES: u64 = 2 * (MAX_TEXT_BYTES as u64);
const MAX_ENDING_BYTES: u64 = 1000;
/// Of values. `serde_json` reads no deeper than 128, and what is written must be readable. The redactor's own bound on arguments is lower.
const MAX_DEPTH: usize = 100;
/// Of what a file has around a value.
const FRAME_DEPTH: usize = 3;
/// A store with more is not listed to its end.
const MAX_LISTED: usize = 10_000;

const RECORD: &str = "json";
const DECISION: &str = "decision.json";
const ENDING: &str = "ending.json";

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct RecordWritten<'a> {
    tool: &'a str,
    arguments: &'a Json,
    code: &'a str,
    policy: &'a str,
    created_at: &'a str,
    snapshot: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Record {
    tool: String,
    arguments: Json,
    code: String,
    policy: String,
    created_at: String,
}

#[derive(Deserialize)]
struct RecordedSnapshot {
    snapshot: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RecordedDecision {
    decided_at: String,
    #[serde(flatten)]
    decision: Decision,
}

#[derive(Serialize, Deserialize)]
struct RecordedEnding {
    ending: String,
}

impl ApprovalStore {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Stores a paused run and gives its id.
    ///
    /// # Errors
    /// The snapshot is too large or the folder cannot be written.
    pub fn create(&self, new: &NewApproval<'_>, redactor: &Redactor) -> Result<String, ApprovalError> {
        if new.snapshot.len() > MAX_SNAPSHOT_BYTES {
            return Err(ApprovalError::TooLarge { size: new.snapshot.len(), limit: MAX_SNAPSHOT_BYTES });
        }
        let now = SystemTime::now();
        let id = new_id(now).map_err(|source| self.storage(source))?;
        let mut arguments = redactor.json(new.arguments);
        if arguments.to_string().len() > MAX_TEXT_BYTES {
            arguments = Json::String("[too large to show]".to_owned());
        }
        let code = redactor.text(new.code);
        let record = RecordWritten {
            tool: new.tool,
            arguments: &arguments,
            code: &code[..code.floor_char_boundary(MAX_TEXT_BYTES)],
            policy: new.policy,
            created_at: &utc(now),
            snapshot: &BASE64.encode(new.snapshot),
        };
        self.create_folder()?;
        self.write_once(&id, RECORD, &record)?;
        Ok(id)
    }

    /// # Errors
    /// The id is malformed or unknown, or its files are broken.
    pub fn get(&self, id: &str) -> Result<Approval, ApprovalError> {
        check_id(id)?;
        let record: Record = self
            .read(id, RECORD, MAX_RECORD_BYTES)?
            .ok_or_else(|| ApprovalError::Unknown { id: id.to_owned() })?;
        let decision: Option<RecordedDecision> = self.read(id, DECISION, MAX_DECISION_BYTES)?;
        let ending: Option<RecordedEnding> = self.read(id, ENDING, MAX_ENDING_BYTES)?;
        let state = match (&ending, &decision) {
            (Some(_), _) => ApprovalState::Finished,
            (None, Some(recorded)) => recorded.decision.state(),
            (None, None) => ApprovalState::Pending,
        };
        let (decision, decided_at) =
            decision.map(|recorded| (recorded.decision, recorded.decided_at)).unzip();
        Ok(Approval {
            id: id.to_owned(),
            state,
            tool: record.tool,
            arguments: record.arguments,
            code: record.code,
            policy: record.policy,
            created_at: record.created_at,
            decision,
            decided_at,
            ending: ending.map(|recorded| recorded.ending),
        })
    }

    /// The paused run, as it was stored.
    ///
    /// # Errors
    /// The id is malformed or unknown, or its file is broken.
    pub fn snapshot(&self, id: &str) -> Result<Vec<u8>, ApprovalError> {
        check_id(id)?;
        let record: RecordedSnapshot = self
            .read(id, RECORD, MAX_RECORD_BYTES)?
            .ok_or_else(|| ApprovalError::Unknown { id: id.to_owned() })?;
        BASE64
            .decode(record.snapshot)
            .map_err(|error| ApprovalError::Broken { path: self.path(id, RECORD), reason: error.to_string() })
    }

    /// Approvals in the order they were created. A broken file is reported and hides no other.
    ///
    /// # Errors
    /// The folder exists and cannot be read.
    pub fn list(&self) -> Result<ApprovalList, ApprovalError> {
        let mut list = ApprovalList::default();
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(list),
            Err(source) => return Err(self.storage(source)),
        };
        // By id, so that the order is that of creation and does not depend on the file system.
        let mut names = BTreeMap::new();
        for entry in entries.take(4 * MAX_LISTED) {
            let entry = entry.map_err(|source| self.storage(source))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(id) = name.strip_suffix(".json")
                && !id.contains('.')
            {
                names.insert(id.to_owned(), name);
            }
        }
        for (id, file) in names.into_iter().take(MAX_LISTED) {
            match self.get(&id) {
                Ok(approval) => list.approvals.push(approval),
                // Removed by another process in between.
                Err(ApprovalError::Unknown { .. }) => {}
                Err(error) => list.broken.push(BrokenApproval { file, reason: error.to_string() }),
            }
        }
        Ok(list)
    }

    /// Decides. Of several that try, one succeeds; only that one may let the run go on.
    ///
    /// # Errors
    /// It is decided already, unknown, or the decision is too large.
    pub fn decide(&self, id: &str, decision: Decision) -> Result<Approval, ApprovalError> {
        let approval = self.get(id)?;
        if approval.state != ApprovalState::Pending {
            return Err(ApprovalError::AlreadyDecided { id: id.to_owned(), state: approval.state });
        }
        let decision = decision.bounded()?;
        let recorded = RecordedDecision { decided_at: utc(SystemTime::now()), decision };
        if !self.write_once(id, DECISION, &recorded)? {
            let state = self.get(id)?.state;
            return Err(ApprovalError::AlreadyDecided { id: id.to_owned(), state });
        }
        self.get(id)
    }

    /// Notes how the run ended after it was decided.
    ///
    /// # Errors
    /// It is not decided yet, or has ended already.
    pub fn finish(&self, id: &str, ending: &str) -> Result<(), ApprovalError> {
        if self.get(id)?.decision.is_none() {
            return Err(ApprovalError::NotDecided { id: id.to_owned() });
        }
        let ending = RecordedEnding { ending: ending.chars().take(100).collect() };
        if self.write_once(id, ENDING, &ending)? {
            return Ok(());
        }
        Err(ApprovalError::AlreadyDecided { id: id.to_owned(), state: ApprovalState::Finished })
    }

    /// Forgets an approval in whatever state it is.
    ///
    /// # Errors
    /// It is unknown or cannot be removed.
    pub fn remove(&self, id: &str) -> Result<(), ApprovalError> {
        check_id(id)?;
        // The record first: without it the others mean nothing.
        for part in [RECORD, DECISION, ENDING] {
            let path = self.path(id, part);
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound && part == RECORD => {
                    return Err(ApprovalError::Unknown { id: id.to_owned() });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(ApprovalError::Storage { path, source }),
            }
        }
        Ok(())
    }

    fn path(&self, id: &str, part: &str) -> PathBuf {
        self.folder.join(format!("{id}.{part}"))
    }

    fn storage(&self, source: io::Error) -> ApprovalError {
        ApprovalError::Storage { path: self.folder.clone(), source }
    }

    /// For nobody else on the machine: a snapshot is sealed against changes, not against being read.
    fn create_folder(&self) -> Result<(), ApprovalError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder).map_err(|source| self.storage(source))
    }

    /// Creates a file with its whole content, or tells that it was there.
    fn write_once(&self, id: &str, part: &str, content: &impl Serialize) -> Result<bool, ApprovalError> {
        let path = self.path(id, part);
        let storage = |source| ApprovalError::Storage { path: path.clone(), source };
        let bytes = serde_json::to_vec(content)
            .map_err(|error| ApprovalError::Broken { path: path.clone(), reason: error.to_string() })?;
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.folder).map_err(storage)?;
        file.write_all(&bytes).and_then(|()| file.as_file().sync_all()).map_err(storage)?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(storage(error.error)),
        }
    }

    fn read<T: DeserializeOwned>(
        &self,
        id: &str,
        part: &str,
        limit: u64,
    ) -> Result<Option<T>, ApprovalError> {
        let path = self.path(id, part);
        let Some(bytes) = read_bounded(&path, limit)? else { return Ok(None) };
        // No deeper than what is written here, whatever `serde_json` would read.
        if nests_deeply(&bytes) {
            return Err(ApprovalError::Broken { path, reason: "it nests too deeply".to_owned() });
        }
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| ApprovalError::Broken { path, reason: error.to_string() })
    }
}

impl ApprovalState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Answered => "answered",
            Self::Finished => "finished",
        }
    }
}

impl Decision {
    fn state(&self) -> ApprovalState {
        match self {
            Self::Approved { .. } => ApprovalState::Approved,
            Self::Denied { .. } => ApprovalState::Denied,
            Self::Answered { .. } => ApprovalState::Answered,
        }
    }

    fn bounded(mut self) -> Result<Self, ApprovalError> {
        match &mut self {
            Self::Approved { reason: Some(reason) } | Self::Denied { reason: Some(reason) } => {
                *reason = reason.chars().take(MAX_REASON_LENGTH).collect();
            }
            Self::Answered { value } => {
                if is_deep(value) {
                    return Err(ApprovalError::TooDeep);
                }
                let size = value.to_string().len();
                if size > MAX_TEXT_BYTES {
                    return Err(ApprovalError::TooLarge { size, limit: MAX_TEXT_BYTES });
                }
            }
            Self::Approved { reason: None } | Self::Denied { reason: None } => {}
        }
        Ok(self)
    }
}

impl ApprovalError {
    /// What to do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::MalformedId { .. } | Self::Unknown { .. } => Some("`grail approvals list` shows the ids"),
            Self::NotDecided { .. } => Some("approve, deny or answer it first"),
            Self::Broken { .. } => Some("the file was changed or cut; remove it and start the run again"),
            Self::TooLarge { .. } => Some("let the code keep less at the time of the call"),
            Self::AlreadyDecided { .. } | Self::TooDeep | Self::Storage { .. } => None,
        }
    }
}

/// Twelve hexadecimal digits of time, a dash, sixteen of chance: sorted by name is sorted by time.
fn new_id(now: SystemTime) -> io::Result<String> {
    let mut chance = [0; 8];
    getrandom::fill(&mut chance).map_err(|error| io::Error::other(error.to_string()))?;
    let millis = since_epoch(now).as_millis() & 0xffff_ffff_ffff;
    Ok(format!("{millis:012x}-{:016x}", u64::from_be_bytes(chance)))
}

/// An id becomes a file name, so nothing else than what [`new_id`] makes may pass.
fn check_id(id: &str) -> Result<(), ApprovalError> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let well_formed = id.len() == 29
        && id
            .bytes()
            .enumerate()
            .all(|(place, byte)| if place == 12 { byte == b'-' } else { is_digit(byte) });
    if well_formed { Ok(()) } else { Err(ApprovalError::MalformedId { id: id.to_owned() }) }
}

fn read_bounded(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ApprovalError> {
    let storage = |source| ApprovalError::Storage { path: path.to_owned(), source };
    let broken = |reason: String| ApprovalError::Broken { path: path.to_owned(), reason };
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(storage(source)),
    };
    // Opening a pipe would wait for its other end.
    if !metadata.is_file() {
        return Err(broken("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(storage(source)),
    };
    file.take(limit + 1).read_to_end(&mut bytes).map_err(storage)?;
    if bytes.len() as u64 > limit {
        return Err(broken(format!("it is larger than {limit} bytes")));
    }
    Ok(Some(bytes))
}

/// Counts brackets outside of strings.
fn nests_deeply(json: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH + FRAME_DEPTH {
            return true;
        }
    }
    false
}

fn is_deep(value: &Json) -> bool {
    let mut pending = vec![(value, 0)];
    while let Some((value, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        match value {
            Json::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(fields) => pending.extend(fields.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    false
}

fn since_epoch(moment: SystemTime) -> Duration {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// ISO 8601, to the second.
fn utc(moment: SystemTime) -> String {
    let seconds = since_epoch(moment).as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years from March, so that the leap day is the last; eras of 400 years are all alike.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest % 3600 / 60, rest % 60)
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn ids_sort_by_time() {
        let at = |millis| new_id(UNIX_EPOCH + Duration::from_millis(millis)).expect("chance");
        let ids = [at(0), at(1), at(16), at(1_767_225_599_000)];
        assert!(ids.is_sorted());
        for id in ids {
            check_id(&id).expect("well formed");
        }
    }
}
