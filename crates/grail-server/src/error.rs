//! Why a server could not be started or had to end. What a client does wrong is an answer to it, not an error of ours.

use grail_agent::AgentError;
use grail_sandbox::{SandboxError, ToolsetError};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ServerError {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Toolset(#[from] ToolsetError),
    #[error("no tool that needs approval is called `{name}`")]
    UnknownTool { name: String, known: Vec<String> },
    #[error("the connection failed: {reason}")]
    Connection { reason: String },
}

impl ServerError {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Agent(error) => error.hint(),
            Self::UnknownTool { known, .. } if known.is_empty() => Some("no tool needs approval".to_owned()),
            Self::UnknownTool { known, .. } => {
                Some(format!("those that need approval: {}", known.join(", ")))
            }
            _ => None,
        }
    }
}
