//! Why the memory could not be used. A line that cannot be read is no error but a report.

use std::path::{Path, PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum FlywheelError {
    #[error("`{path}`: {source}")]
    Storage { path: String, source: std::io::Error },
    #[error("`{file}` of dataset `{dataset}` is not what it was")]
    DatasetChanged { dataset: String, file: String },
    #[error("evaluation `{evaluation}` is not what it was")]
    EvaluationChanged { evaluation: String },
    /// An event that was handed over is not in the files.
    #[error("{message}")]
    NotKept { message: String, hint: Option<String> },
    #[error("`{path}`: {source}")]
    Database { path: String, source: rusqlite::Error },
    #[error("{message}")]
    Other { message: String, hint: Option<String> },
}

impl FlywheelError {
    pub fn storage(path: &Path, source: std::io::Error) -> Self {
        Self::Storage { path: PathBuf::from(path).display().to_string(), source }
    }

    /// Something that is not done, and what to do instead.
    pub fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Other { message: message.into(), hint: Some(hint.into()) }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::DatasetChanged { .. } => Some(
                "datasets never change: delete its folder below `.grail/datasets/` and build it anew"
                    .to_owned(),
            ),
            Self::EvaluationChanged { .. } => Some(
                "evaluations never change: delete its file below `.grail/evaluations/` and evaluate anew"
                    .to_owned(),
            ),
            Self::NotKept { hint, .. } | Self::Other { hint, .. } => hint.clone(),
            Self::Database { .. } => Some(
                "nothing is lost: `grail events rebuild` makes the index anew from the events".to_owned(),
            ),
            Self::Storage { source, .. } => match source.kind() {
                std::io::ErrorKind::StorageFull => Some("make room on the disk and try again".to_owned()),
                std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
                    Some("Grail keeps its memory in `.grail/`; make that folder writable".to_owned())
                }
                _ => None,
            },
        }
    }
}
