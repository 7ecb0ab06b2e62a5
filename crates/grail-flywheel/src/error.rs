//! Why the memory could not be used. A line that cannot be read is no error but a report.

use std::path::{Path, PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum FlywheelError {
    #[error("`{path}`: {source}")]
    Storage { path: String, source: std::io::Error },
    #[error("{message}")]
    Other { message: String, hint: Option<String> },
}

impl FlywheelError {
    pub fn storage(path: &Path, source: std::io::Error) -> Self {
        Self::Storage { path: PathBuf::from(path).display().to_string(), source }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Other { hint, .. } => hint.clone(),
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
