//! Why the work could not be done. What is wrong with code is no error but a finding.

use grail_flywheel::FlywheelError;
use grail_model::ModelError;
use grail_project::ProjectError;
use grail_rules::{RuleProblem, RulesError};
use grail_sandbox::{SandboxError, ToolsetError};
use grail_skills::SkillError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum AgentError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Flywheel(#[from] FlywheelError),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Toolset(#[from] ToolsetError),
    #[error("{message}")]
    Intent { message: String },
    #[error("no kind of artifact is called `{kind}`")]
    UnknownKind { kind: String, known: Vec<String> },
    #[error("the intent does not say what is to be made")]
    UnclearKind { candidates: Vec<String> },
    #[error("`{name}` cannot be the name of a {kind}")]
    BadName { kind: String, name: String },
    #[error("`{path}` is no place for a file: {reason}")]
    Path { path: String, reason: String },
    #[error("`{path}` exists")]
    Exists { path: String },
    #[error("{message}")]
    Limit { message: String, hint: &'static str },
    #[error("the model did not bring about anything that passes its checks: {reason}")]
    NotAchieved { reason: String },
    #[error("there is no model `{name}`")]
    UnknownModel { name: String, known: Vec<String> },
    #[error("there is no proposal `{id}`")]
    UnknownProposal { id: String },
    #[error("the proposal `{id}` is {state}, not waiting")]
    AlreadyDecided { id: String, state: String },
    #[error("the proposal `{id}` is {state}; only an approved one can be reverted")]
    NotApproved { id: String, state: String },
    #[error("somebody else is deciding about the proposal `{id}` right now")]
    Busy { id: String },
    #[error("`{path}` has changed since the proposal was made")]
    ChangedMeanwhile { path: String },
    #[error("`{path}` has changed since the proposal was approved")]
    ChangedSinceApproval { path: String },
    #[error("`{path}` cannot be read as a proposal: {reason}")]
    BrokenProposal { path: String, reason: String },
    #[error("`{path}`: {source}")]
    Storage { path: String, source: std::io::Error },
    #[error("no random numbers are to be had: {reason}")]
    Chance { reason: String },
    #[error("the skill `{id}` is already installed")]
    SkillInstalled { id: String },
    #[error("no skill `{id}` was generated here")]
    UnknownGeneration { id: String },
    #[error("what is proposed as `{id}` is not what was shown")]
    ProposalChanged { id: String },
    #[error("{message}")]
    Training { message: String, hint: Option<String> },
    #[error("training was interrupted; what the trainer `{trainer}` has learned so far is kept")]
    TrainingInterrupted { trainer: String },
    #[error("{message}")]
    Other { message: String, hint: Option<String> },
}

impl From<RuleProblem> for AgentError {
    fn from(problem: RuleProblem) -> Self {
        Self::Rules(problem.into())
    }
}

impl AgentError {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<String> {
        let list =
            |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        Some(match self {
            Self::Model(error) => error.hint()?.to_owned(),
            Self::Flywheel(error) => return error.hint(),
            Self::Project(error) => return error.hint(),
            Self::Rules(error) => return error.hint(),
            Self::Skill(error) => return error.hint(),
            Self::Intent { .. } => {
                "say what it is in a sentence: `grail generate \"a user card component with name and email\"`"
                    .to_owned()
            }
            Self::UnknownKind { known, .. } => format!("there are {}", list(known)),
            Self::UnclearKind { candidates } if candidates.is_empty() => {
                "name it with `--kind`; `grail rules list` shows what skills know".to_owned()
            }
            Self::UnclearKind { candidates } => {
                format!("it could be {}; choose with `--kind`", list(candidates))
            }
            Self::BadName { .. } => "letters, digits and `_`, and no keyword of Python".to_owned(),
            Self::Exists { .. } => "choose another name, or remove the file first".to_owned(),
            Self::Limit { hint, .. } => (*hint).to_owned(),
            Self::NotAchieved { .. } => {
                "try again with more words, a larger model, or more turns (`--turns`)".to_owned()
            }
            Self::UnknownModel { known, .. } => {
                format!("there are {}; `[models.<name>]` in `grail.toml` adds one", list(known))
            }
            Self::UnknownProposal { .. } => "`grail proposals list` shows them".to_owned(),
            Self::ChangedMeanwhile { .. } => {
                "generate again, so that what is shown is what is written".to_owned()
            }
            Self::ChangedSinceApproval { .. } => {
                "undo it by hand: reverting would lose the later changes".to_owned()
            }
            Self::SkillInstalled { id } => {
                format!(
                    "`grail skills status {id}` says more; remove it first to replace it: `grail skills remove {id}`"
                )
            }
            Self::UnknownGeneration { .. } => "`grail skills generate \"…\"` makes one".to_owned(),
            Self::ProposalChanged { .. } => {
                "generate again, so that what is shown is what is installed".to_owned()
            }
            Self::TrainingInterrupted { .. } => "`grail train --resume` goes on with it".to_owned(),
            Self::Training { hint, .. } | Self::Other { hint, .. } => return hint.clone(),
            _ => return None,
        })
    }
}
