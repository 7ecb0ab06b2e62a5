//! What could not be done at all. What *code* did, or what happened to it, is an [`crate::Outcome`], never an error.

use std::time::Duration;

use thiserror::Error;

use crate::approvals::ApprovalError;
use crate::policy::PolicyError;
use crate::snapshot::SnapshotError;
use crate::tool::ToolsetError;

#[derive(Debug, Error)]
pub enum SandboxError {
    #[error("no worker could be started from `{program}`: {reason}")]
    WorkerUnavailable { program: String, reason: String },
    #[error("all {most} workers were busy for {wait:?}")]
    WorkersBusy { most: usize, wait: Duration },
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error("`{path}` cannot be given to a run: {reason}")]
    InvalidFiles { path: String, reason: String },
    #[error("the schema cannot be used: at `{place}`: {reason}")]
    Schema { place: String, reason: String },
    #[error("the signature cannot be used: {reason}")]
    Signature { reason: String },
    #[error(transparent)]
    Toolset(#[from] ToolsetError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl SandboxError {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Approval(error) => error.hint().map(str::to_owned),
            Self::Policy(error) => error.hint(),
            Self::WorkerUnavailable { .. } => Some(
                "the worker must be an executable of the same version that can be started from here"
                    .to_owned(),
            ),
            Self::WorkersBusy { .. } => {
                Some("run it again later, or configure more workers or a longer wait".to_owned())
            }
            _ => None,
        }
    }
}
