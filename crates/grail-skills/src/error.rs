//! What can go wrong with skills. What is wrong *in* a skill is a [`SkillProblem`] with its place; one skill's problems lose no other skill.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::lifecycle::LifecycleProblem;
use crate::runnable::RunProblem;

#[derive(Debug, Error)]
pub enum SkillError {
    #[error(transparent)]
    Problem(#[from] SkillProblem),
    #[error(transparent)]
    Lifecycle(#[from] LifecycleProblem),
    #[error("there is nothing to search for in `{query}`")]
    EmptyQuery { query: String },
    #[error("the embedder `{embedder}` failed: {reason}")]
    Embedder { embedder: String, reason: String },
    #[error("the embedder `{embedder}` returned {found} vectors for {expected} texts")]
    VectorCount { embedder: String, expected: usize, found: usize },
    #[error("the embedder `{embedder}` returned a vector of {found} numbers instead of {expected}")]
    VectorSize { embedder: String, expected: usize, found: usize },
    #[error("the embedder `{embedder}` returned a vector with something in it that is no number")]
    VectorNumber { embedder: String },
    #[error(
        "the embedder `{embedder}` returned a vector without a direction: its length is 0 or beyond measure"
    )]
    VectorLength { embedder: String },
    #[error("there is no skill `{name}`")]
    Unknown { name: String, known: Vec<String> },
    #[error("cannot {action} `{}`: {reason}", path.display())]
    File { action: &'static str, path: PathBuf, reason: std::io::Error },
    #[error("`{path}` leads out of the skill's folder")]
    Outside { path: String },
    #[error("the skill has no file `{path}`")]
    NoFile { path: String, known: Vec<String> },
    #[error("`{}` is larger than {max_bytes} bytes", path.display())]
    TooLarge { path: PathBuf, max_bytes: u64 },
    #[error("`{path}` is not text in UTF-8")]
    NotText { path: String },
    #[error("`{}` has too many files or too deep folders", folder.display())]
    TooManyFiles { folder: PathBuf },
    #[error("the skill `{name}` of this project is not trusted{}", if *changed { " any more: its files have changed" } else { "" })]
    Untrusted { name: String, changed: bool },
    #[error("there is no home folder to remember it in")]
    NoHome,
    #[error("{message}")]
    ToolCall { message: String },
    #[error(transparent)]
    Run(#[from] Box<RunProblem>),
    #[error("the credentials in `{}` are open to others (mode {mode:o})", path.display())]
    CredentialFileOpen { path: PathBuf, mode: u32 },
    #[error("`{}` is not a file of credentials", path.display())]
    CredentialFileUnreadable { path: PathBuf },
    #[error("the system's keyring cannot be used: {reason}")]
    Keyring { reason: String },
    #[error("the value for the credential `{name}` is empty, too long or not text")]
    BadCredential { name: String },
}

impl From<RunProblem> for SkillError {
    fn from(problem: RunProblem) -> Self {
        Self::Run(Box::new(problem))
    }
}

/// A mistake in a skill's files, with its place.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
#[error("{}: {message}", place(path, *line))]
pub struct SkillProblem {
    pub path: PathBuf,
    /// From 1; 0 if only the file is known.
    pub line: usize,
    pub message: String,
    pub hint: Option<String>,
}

fn place(path: &Path, line: usize) -> String {
    match line {
        0 => path.display().to_string(),
        line => format!("{}:{line}", path.display()),
    }
}

impl SkillProblem {
    pub fn new(path: impl Into<PathBuf>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl SkillError {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Problem(problem) => problem.hint.clone(),
            Self::Lifecycle(problem) => problem.hint(),
            Self::Unknown { name, known } => Some(match nearest(known, name) {
                Some(nearest) => format!("did you mean `{nearest}`? `grail skills list` has all of them"),
                None => "`grail skills list` has all of them".to_owned(),
            }),
            Self::EmptyQuery { .. } => {
                Some("say what you want to do in a few words, such as `send an email`".to_owned())
            }
            Self::Embedder { .. }
            | Self::VectorCount { .. }
            | Self::VectorSize { .. }
            | Self::VectorNumber { .. }
            | Self::VectorLength { .. } => {
                Some("search without it: the embedder that comes with Grail needs nothing".to_owned())
            }
            Self::Outside { .. } => {
                Some("name a file below the folder, such as `references/guide.md`".to_owned())
            }
            Self::NoFile { path, known } => Some(format!("did you mean `{}`?", nearest(known, path)?)),
            Self::Untrusted { name, .. } => Some(format!(
                "look at its files; if you want its words and scripts to be used: `grail skills trust {name}`"
            )),
            Self::NoHome => Some("set `HOME` or `XDG_STATE_HOME`".to_owned()),
            Self::Run(problem) => problem.hint(),
            Self::CredentialFileOpen { path, .. } => {
                Some(format!("`chmod 600 {}`, and change what others may have seen", path.display()))
            }
            Self::Keyring { .. } => Some("unlock it, or set the credential again".to_owned()),
            Self::CredentialFileUnreadable { .. } => {
                Some("set the credentials again after moving the file away".to_owned())
            }
            Self::File { .. }
            | Self::TooLarge { .. }
            | Self::NotText { .. }
            | Self::ToolCall { .. }
            | Self::TooManyFiles { .. }
            | Self::BadCredential { .. } => None,
        }
    }
}

/// The known name that a mistyped one stands for, if there is one like it.
fn nearest<'k>(known: &'k [String], name: &str) -> Option<&'k str> {
    let likeness = |other: &str| strsim::jaro_winkler(other, name);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(nearest) > 0.75).then_some(nearest.as_str())
}
