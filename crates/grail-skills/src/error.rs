//! What can go wrong with skills. What is wrong *in* a skill is a [`SkillProblem`] with its place; one skill's problems lose no other skill.

use std::path::{Path, PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum SkillError {
    #[error(transparent)]
    Problem(#[from] SkillProblem),
    #[error("there is no skill `{name}`")]
    Unknown { name: String, known: Vec<String> },
    #[error("cannot {action} `{}`: {reason}", path.display())]
    File { action: &'static str, path: PathBuf, reason: std::io::Error },
}

/// A mistake in a skill's files, with its place.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
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
            Self::Unknown { name, known } => {
                let nearest = known
                    .iter()
                    .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)))?;
                Some(format!("the nearest name is `{nearest}`; `grail skills list` has all of them"))
            }
            Self::File { .. } => None,
        }
    }
}
