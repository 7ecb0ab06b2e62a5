//! What is remembered of attempts: one file per skill id in the user's state folder, out of reach of the project, which could forge it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use grail_skills::SkillError;
use grail_skills::runnable::is_skill_id;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::{GeneratorOutcome, SkillProposal, skill_id_for, store_of};
use crate::AgentError;
use crate::workspace::Workspace;

/// A larger record is not read.
const MAX_RECORD_BYTES: u64 = 32 << 20;
/// More attempts are not remembered; the oldest go.
const MAX_RECORDS: usize = 200;
const FORMAT: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GenerationState {
    /// It waits for a person.
    Proposed,
    Installed,
    Rejected,
    /// There was a skill that does it.
    ExistingMatch,
    Failed,
}

/// The last attempt at one skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GenerationRecord {
    format: u32,
    pub skill_id: String,
    pub state: GenerationState,
    /// RFC 3339.
    pub at: String,
    pub intent: String,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<SkillProposal>,
}

/// The attempts of one project.
pub struct GenerationStore {
    folder: PathBuf,
}

impl GenerationState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Installed => "installed",
            Self::Rejected => "rejected",
            Self::ExistingMatch => "there already",
            Self::Failed => "failed",
        }
    }
}

impl GenerationRecord {
    pub(super) fn of(outcome: &GeneratorOutcome, intent: &str, model: &str, at: String) -> Self {
        let (skill_id, state, reason, proposal) = match outcome {
            GeneratorOutcome::Proposed(proposal) => {
                (proposal.skill_id.clone(), GenerationState::Proposed, None, Some((**proposal).clone()))
            }
            GeneratorOutcome::ExistingMatch { skill_id, score, .. } => {
                let reason = format!("`{skill_id}` does it ({score:.2})");
                (skill_id_for(intent), GenerationState::ExistingMatch, Some(reason), None)
            }
            GeneratorOutcome::Failed { reason } => {
                (skill_id_for(intent), GenerationState::Failed, Some(reason.clone()), None)
            }
        };
        let (intent, model) = (intent.to_owned(), model.to_owned());
        Self { format: FORMAT, skill_id, state, at, intent, model, reason, proposal }
    }
}

impl GenerationStore {
    pub fn of(workspace: &Workspace) -> Result<Self, AgentError> {
        let state = workspace.state.as_deref().ok_or(SkillError::NoHome)?;
        let scope = store_of(workspace)?.scope_name();
        Ok(Self { folder: state.join("generated-skills").join(scope) })
    }

    pub fn read(&self, skill_id: &str) -> Result<GenerationRecord, AgentError> {
        let unknown = || AgentError::UnknownGeneration { id: skill_id.chars().take(80).collect() };
        let path = self.path(skill_id).ok_or_else(unknown)?;
        let broken = |reason: String| AgentError::BrokenProposal { path: path.display().to_string(), reason };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown()),
            Err(source) => return Err(storage(&path, source)),
        };
        let mut text = String::new();
        let read = file.take(MAX_RECORD_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| broken(error.to_string()))?;
        if text.len() as u64 > MAX_RECORD_BYTES {
            return Err(broken("it is too large".to_owned()));
        }
        let record: GenerationRecord =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let is_about = |id: &str| id == skill_id;
        let proposal_agrees = record.proposal.as_ref().is_none_or(|proposal| is_about(&proposal.skill_id));
        match record.format == FORMAT && is_about(&record.skill_id) && proposal_agrees {
            true => Ok(record),
            false => Err(broken("it is not what it claims to be".to_owned())),
        }
    }

    /// What can be read, the newest first.
    pub fn list(&self) -> Vec<GenerationRecord> {
        let mut records: Vec<GenerationRecord> =
            self.ids().iter().filter_map(|id| self.read(id).ok()).collect();
        records.sort_by(|left, right| (&right.at, &left.skill_id).cmp(&(&left.at, &right.skill_id)));
        records
    }

    pub(super) fn save(&self, record: &GenerationRecord) -> Result<(), AgentError> {
        let unknown = || AgentError::UnknownGeneration { id: record.skill_id.chars().take(80).collect() };
        let path = self.path(&record.skill_id).ok_or_else(unknown)?;
        let write = || -> io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            // Readable by its owner only.
            let mut file = NamedTempFile::new_in(&self.folder)?;
            serde_json::to_writer_pretty(&mut file, record)?;
            file.flush()?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|source| storage(&path, source))?;
        self.forget_oldest();
        Ok(())
    }

    /// Only one process at a time decides about a proposal. The lock ends with the file.
    pub(super) fn lock(&self, skill_id: &str) -> Result<File, AgentError> {
        let unknown = || AgentError::UnknownGeneration { id: skill_id.chars().take(80).collect() };
        let path = self.path(skill_id).filter(|path| path.exists()).ok_or_else(unknown)?;
        let path = path.with_extension("lock");
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(|source| storage(&path, source))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(_) => Err(AgentError::Busy { id: skill_id.to_owned() }),
        }
    }

    /// Ids become names of files, so nothing else passes.
    fn path(&self, skill_id: &str) -> Option<PathBuf> {
        is_skill_id(skill_id).then(|| self.folder.join(format!("{skill_id}.json")))
    }

    fn ids(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect()
    }

    /// Attempts are worth remembering for a while. Failing at it is no failure.
    fn forget_oldest(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let is_record = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
        let paths = entries.flatten().map(|entry| entry.path()).filter(is_record);
        let mut aged: Vec<(std::time::SystemTime, PathBuf)> =
            paths.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).collect();
        aged.sort();
        let surplus = aged.len().saturating_sub(MAX_RECORDS);
        for (_, path) in aged.into_iter().take(surplus) {
            let _ = fs::remove_file(path.with_extension("lock"));
            let _ = fs::remove_file(path);
        }
    }
}

fn storage(path: &Path, source: io::Error) -> AgentError {
    AgentError::Storage { path: path.display().to_string(), source }
}
