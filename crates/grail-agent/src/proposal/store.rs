//! Proposals on disk: `.grail/proposals/ID/proposal.json`, and beside it the transcript that led to it.
//!
//! What lies there may have been changed by anybody, so reading is bounded and paths are checked again before anything is written.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use grail_model::Recording;
use grail_project::data_folder;
use tempfile::NamedTempFile;

use super::{Proposal, ProposalState};
use crate::AgentError;
use crate::clock::is_id;
use crate::staging::{MAX_STAGED_FILES, clean_path};

const PROPOSAL_FILE: &str = "proposal.json";
const TRANSCRIPT_FILE: &str = "transcript.json";
/// A larger proposal is not read.
const MAX_PROPOSAL_BYTES: u64 = 64 << 20;
/// More proposals are not listed.
const MAX_LISTED: usize = 1_000;

pub struct ProposalStore {
    folder: PathBuf,
    pub(super) root: PathBuf,
}

/// A proposal that could be read, or why not.
type StoredProposal = Result<Proposal, AgentError>;

impl ProposalStore {
    pub fn of_project(root: &Path) -> Self {
        Self { folder: root.join(".grail").join("proposals"), root: root.to_owned() }
    }

    /// Every proposal, the newest first.
    pub fn list(&self) -> Vec<StoredProposal> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter(|name| is_id(name)).collect();
        ids.sort_unstable_by(|left, right| right.cmp(left));
        ids.iter().take(MAX_LISTED).map(|id| self.read(id)).collect()
    }

    /// The proposal of this name, or the only one whose name begins or ends so.
    pub fn find(&self, text: &str) -> StoredProposal {
        let unknown = || AgentError::UnknownProposal { id: text.chars().take(80).collect() };
        if self.folder.join(text).is_dir() && is_id(text) {
            return self.read(text);
        }
        let names = fs::read_dir(&self.folder).map_err(|_| unknown())?.flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_id(name));
        let matching: Vec<String> = names
            .filter(|name| text.len() >= 4 && (name.starts_with(text) || name.ends_with(text)))
            .collect();
        match matching.as_slice() {
            [one] => self.read(one),
            _ => Err(unknown()),
        }
    }

    pub fn read(&self, id: &str) -> StoredProposal {
        if !is_id(id) {
            return Err(AgentError::UnknownProposal { id: id.chars().take(80).collect() });
        }
        let path = self.path(id, PROPOSAL_FILE);
        let broken = |reason: String| AgentError::BrokenProposal { path: path.display().to_string(), reason };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(AgentError::UnknownProposal { id: id.to_owned() });
            }
            Err(source) => return Err(storage(&path, source)),
        };
        let mut text = String::new();
        file.take(MAX_PROPOSAL_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| broken(error.to_string()))?;
        if text.len() as u64 > MAX_PROPOSAL_BYTES {
            return Err(broken("it is too large".to_owned()));
        }
        let proposal: Proposal = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        if proposal.id != id || proposal.files.len() > MAX_STAGED_FILES {
            return Err(broken("it is not what it claims to be".to_owned()));
        }
        for file in &proposal.files {
            if clean_path(&file.path)? != file.path {
                return Err(broken(format!("`{}` is no clean path", file.path)));
            }
        }
        Ok(proposal)
    }

    /// Keeps a proposal, whole or not at all.
    pub fn save(&self, proposal: &Proposal, transcript: Option<&Recording>) -> Result<(), AgentError> {
        let folder = self.folder.join(&proposal.id);
        data_folder(&self.root)
            .and_then(|_| fs::create_dir_all(&folder))
            .map_err(|error| storage(&folder, error))?;
        if let Some(transcript) = transcript {
            write_json(&self.path(&proposal.id, TRANSCRIPT_FILE), transcript)?;
        }
        write_json(&self.path(&proposal.id, PROPOSAL_FILE), proposal)
    }

    pub fn transcript_path(&self, id: &str) -> PathBuf {
        self.path(id, TRANSCRIPT_FILE)
    }

    pub(super) fn update(&self, proposal: &mut Proposal, state: ProposalState) -> Result<(), AgentError> {
        proposal.state = state;
        self.save(proposal, None)
    }

    /// Only one process at a time decides about a proposal. The lock ends with the file.
    pub(super) fn lock(&self, id: &str) -> Result<File, AgentError> {
        let path = self.path(id, "lock");
        let file =
            File::options().create(true).append(true).open(&path).map_err(|error| storage(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(_) => Err(AgentError::Busy { id: id.to_owned() }),
        }
    }

    fn path(&self, id: &str, name: &str) -> PathBuf {
        self.folder.join(id).join(name)
    }
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), AgentError> {
    let write = || -> io::Result<()> {
        let parent = path.parent().unwrap_or(Path::new("."));
        let mut file = NamedTempFile::new_in(parent)?;
        file.write_all(&serde_json::to_vec_pretty(value)?)?;
        file.write_all(b"\n")?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| storage(path, error))
}

pub(super) fn storage(path: &Path, source: io::Error) -> AgentError {
    AgentError::Storage { path: path.display().to_string(), source }
}
