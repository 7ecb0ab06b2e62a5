//! Everything that can go wrong between Grail and the disk, with a hint on what to do about it.
//!
//! Broken Python is not in here: syntax errors are data. The one exception is a change that would break a file that parsed.

use std::io;
use std::path::PathBuf;

use grail_code::{DecodeError, EditConflict, EncodeError};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ProjectError {
    #[error("`{}` does not exist", path.display())]
    PathMissing { path: PathBuf },
    #[error("`{}` is not a directory", path.display())]
    NotADirectory { path: PathBuf },
    #[error("`{}` is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("no Python files found in `{}`", path.display())]
    NoPythonFiles { path: PathBuf },
    #[error("cannot read `{}`: {}", path.display(), plain(source))]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot write `{}`: {}", path.display(), plain(source))]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("`{}` is {size} bytes large; the limit is {limit}", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error("`{}` is a binary file (null byte at offset {offset})", path.display())]
    Binary { path: PathBuf, offset: usize },
    #[error("cannot decode `{}`: {source}", path.display())]
    Decode { path: PathBuf, source: DecodeError },
    #[error("cannot encode the changed `{}`: {source}", path.display())]
    Encode { path: PathBuf, source: EncodeError },
    #[error("cannot change `{}`: {source}", path.display())]
    Conflict { path: PathBuf, source: EditConflict },
    #[error("cannot change `{}`: {message}", path.display())]
    Refused { path: PathBuf, message: String },
    #[error("two changes name the same file `{}`", path.display())]
    ChangedTwice { path: PathBuf },
    #[error("the change would break `{}:{line}:{column}`: {message}", path.display())]
    BreaksSyntax { path: PathBuf, line: u32, column: u32, message: String },
    #[error("`{}` changed on disk since it was read", path.display())]
    ChangedOnDisk { path: PathBuf },
    #[error("`{}` already exists", path.display())]
    AlreadyExists { path: PathBuf },
    #[error("`{}` is outside the project `{}`", path.display(), root.display())]
    OutsideProject { path: PathBuf, root: PathBuf },
    #[error("working on `{}` failed: {message}", path.display())]
    Panicked { path: PathBuf, message: String },
    #[error("the exclude pattern `{glob}` is not valid: {message}")]
    ExcludePattern { glob: String, message: String },
    #[error("{}", .0)]
    Config(Box<ConfigProblem>),
    #[error("{cause}; undoing it failed as well for `{}`: {}", path.display(), plain(source))]
    RollbackFailed { cause: Box<ProjectError>, path: PathBuf, source: io::Error },
}

/// One mistake in `grail.toml`, with its place. Line and column count from 1.
#[derive(Debug, Error)]
#[error("`{}:{line}:{column}`: {message}", path.display())]
pub struct ConfigProblem {
    pub path: PathBuf,
    pub line: usize,
    pub column: usize,
    pub message: String,
    /// The offending line with carets under the mistake.
    pub snippet: String,
    pub hint: Option<String>,
}

impl ProjectError {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::PathMissing { path } if path.is_relative() => {
                Some("paths are relative to the current directory".to_owned())
            }
            Self::NotADirectory { .. } => Some("give a directory".to_owned()),
            Self::NotAFile { .. } => Some("give a file with Python source".to_owned()),
            Self::NoPythonFiles { .. } => Some(
                "files ignored by `.gitignore`, `.ignore` or `exclude` in `grail.toml` are skipped; name a file to include it"
                    .to_owned(),
            ),
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("check the file's permissions".to_owned())
            }
            Self::Unwritable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("check the permissions of the file and its directory".to_owned())
            }
            Self::TooLarge { .. } => Some("exclude generated files with `exclude` in `grail.toml`".to_owned()),
            Self::Binary { .. } => Some("only Python source can be read".to_owned()),
            Self::Decode { source: DecodeError::NotUtf8 { .. }, .. } => {
                Some("declare the encoding in the first line, for example `# -*- coding: latin-1 -*-`".to_owned())
            }
            Self::ChangedOnDisk { .. } => Some("nothing was written; run the command again".to_owned()),
            Self::BreaksSyntax { .. } => Some("nothing was written; this is a bug in the codemod".to_owned()),
            Self::AlreadyExists { .. } => Some("nothing was written; move the file away first".to_owned()),
            Self::OutsideProject { .. } => {
                Some("nothing was written; name the file on the command line to change it anyway".to_owned())
            }
            Self::Panicked { .. } => Some("this is a bug in Grail; the other files are not affected".to_owned()),
            Self::ExcludePattern { .. } => Some("exclude patterns are written as in `.gitignore`".to_owned()),
            Self::Config(problem) => problem.hint.clone(),
            _ => None,
        }
    }

    /// Source with a caret under the mistake, for errors that point into a file.
    pub fn snippet(&self) -> Option<&str> {
        match self {
            Self::Config(problem) => Some(&problem.snippet),
            _ => None,
        }
    }
}

/// An I/O error in plain words, without the `(os error 13)` tail.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}
