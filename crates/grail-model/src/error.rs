//! Why a model did not answer. That it answered nonsense is for whoever asked to judge.

use thiserror::Error;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModelError {
    /// Nobody listens there.
    #[error("no model server answers at `{address}`: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("`{model}` answered with status {status}: {message}")]
    Status { model: String, status: u16, message: String },
    #[error("`{model}` said nothing for {seconds} seconds")]
    Timeout { model: String, seconds: u64 },
    #[error("`{model}` stopped in the middle of its answer: {reason}")]
    Interrupted { model: String, reason: String },
    #[error("what `{model}` sent cannot be read: {reason}")]
    NotUnderstood { model: String, reason: String },
    #[error("`{model}` answered with nothing")]
    Empty { model: String },
    #[error("the answer of `{model}` has more than {limit} bytes")]
    TooLong { model: String, limit: usize },
    #[error("`{asked}` was asked, but `{answered}` answered")]
    OtherModel { asked: String, answered: String },
    #[error("the script has no answer left after {answers}")]
    ScriptEnded { answers: usize },
    #[error("the recording has no answer to this request ({recorded} are recorded)")]
    NotRecorded { recorded: usize },
}

impl ModelError {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Unreachable { .. } => "start the server, or use `--model template`, which needs none",
            Self::Status { status: 401 | 403, .. } => {
                "is the key in the environment variable that `grail.toml` names?"
            }
            Self::Status { status: 404, .. } => "does the server know a model of this name?",
            Self::Status { status: 429, .. } => "the server has too much to do; try again later",
            Self::Timeout { .. } => "raise `timeout` of the model in `grail.toml`, or choose a smaller model",
            Self::OtherModel { .. } => "name the model as the server does, or load it there",
            Self::NotRecorded { .. } => "the request has changed since it was recorded; record it again",
            _ => return None,
        })
    }

    /// Whether asking again may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            Self::Timeout { .. } | Self::Interrupted { .. } | Self::Unreachable { .. } => true,
            _ => false,
        }
    }
}
