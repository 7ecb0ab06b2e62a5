//! What can go wrong before or beside checking. What is wrong with the checked code is a [`crate::Finding`], never an error.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::FixProblem;

#[derive(Debug, Error)]
pub enum RulesError {
    #[error(transparent)]
    Rule(Box<RuleProblem>),
    #[error(transparent)]
    Project(#[from] grail_project::ProjectError),
    #[error("{path}: {problem}")]
    Fix { path: Arc<str>, problem: FixProblem },
}

/// A mistake in a rule, a pack or a setting, with its place.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}: {message}", place(path, *line))]
pub struct RuleProblem {
    pub path: PathBuf,
    /// From 1; 0 if only the file is known.
    pub line: usize,
    pub message: String,
    /// The offending code with a caret below it.
    pub snippet: Option<String>,
    pub hint: Option<String>,
}

fn place(path: &std::path::Path, line: usize) -> String {
    match line {
        0 => path.display().to_string(),
        line => format!("{}:{line}", path.display()),
    }
}

impl RuleProblem {
    pub fn new(path: impl Into<PathBuf>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into(), snippet: None, hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn snippet(mut self, snippet: impl Into<String>) -> Self {
        self.snippet = Some(snippet.into());
        self
    }
}

impl RulesError {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Rule(problem) => problem.hint.clone(),
            Self::Project(error) => error.hint(),
            Self::Fix { .. } => Some("these fixes were left out; the mistake is in the rule".to_owned()),
        }
    }

    /// Source with a caret under the mistake, for errors that point into a file.
    pub fn snippet(&self) -> Option<&str> {
        match self {
            Self::Rule(problem) => problem.snippet.as_deref(),
            Self::Project(error) => error.snippet(),
            Self::Fix { .. } => None,
        }
    }
}

impl From<RuleProblem> for RulesError {
    fn from(problem: RuleProblem) -> Self {
        RulesError::Rule(Box::new(problem))
    }
}
