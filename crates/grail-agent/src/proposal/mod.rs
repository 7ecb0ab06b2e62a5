//! A proposal: file changes that passed their checks and wait for a person, byte for byte as they were shown.
//!
//! It says what was asked, who answered, what was checked with which rules and skills, and what the files were before; so that it can be
//! approved later, refused when the files have changed meanwhile, and undone.

mod decide;
mod made;
mod recheck;
mod staged;
mod store;

use std::collections::BTreeMap;

use grail_model::Usage;
use grail_project::FileChange;
use serde::{Deserialize, Serialize};

use crate::artifact::{LayerResult, Problem};

pub(crate) use made::Making;
pub use staged::{StagedWork, propose_staged};
pub use store::ProposalStore;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    pub id: String,
    /// RFC 3339.
    pub created: String,
    pub session: String,
    pub state: ProposalState,
    /// What was asked for, and every correction after it.
    pub lineage: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub model: ModelIdentity,
    pub mode: String,
    pub files: Vec<ProposedFile>,
    pub checks: Vec<FileChecks>,
    /// How often the model had to be told what is wrong.
    pub retries: usize,
    pub turns: usize,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Skills that the model was told, with the hash of what they said.
    pub skills: BTreeMap<String, String>,
    pub rules: RulesIdentity,
    /// What the new code does to the world around it: network, files, processes.
    pub capabilities: Vec<String>,
    /// What a second pass had to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub review: Vec<ReviewFinding>,
    /// What the model said at the end.
    #[serde(default)]
    pub summary: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ProposalState {
    Waiting,
    Approved {
        at: String,
    },
    Rejected {
        at: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Reverted {
        at: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// The name in the settings.
    pub name: String,
    /// The model that was asked.
    pub asked: String,
    /// The model that answered, as the server names it.
    pub answered: String,
}

/// The rules that judged: how many, and a hash that changes with any of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesIdentity {
    pub count: usize,
    pub hash: String,
}

/// One file, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedFile {
    /// Below the project's root, with `/`.
    pub path: String,
    /// `None` if there was none.
    pub before: Option<String>,
    /// `None` removes it.
    pub after: Option<String>,
}

/// What was found out about one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileChecks {
    pub path: String,
    pub layers: Vec<LayerResult>,
    pub fixed: BTreeMap<String, usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// One remark of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFinding {
    /// edge-cases, errors, types or style.
    pub topic: String,
    /// must or may.
    pub weight: String,
    pub message: String,
}

impl ReviewFinding {
    pub fn must_be_mended(&self) -> bool {
        self.weight == "must"
    }
}

impl ProposalState {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved { .. } => "approved",
            Self::Rejected { .. } => "rejected",
            Self::Reverted { .. } => "reverted",
        }
    }
}

impl Proposal {
    /// What was asked for in the first place.
    pub fn intent(&self) -> &str {
        self.lineage.first().map_or("", String::as_str)
    }
}

impl ProposedFile {
    /// The change as it is shown.
    pub fn diff(&self) -> String {
        let (before, after) = (self.before.as_deref().unwrap_or(""), self.after.as_deref().unwrap_or(""));
        let from = if self.before.is_some() { format!("a/{}", self.path) } else { "/dev/null".to_owned() };
        let to = if self.after.is_some() { format!("b/{}", self.path) } else { "/dev/null".to_owned() };
        similar::TextDiff::from_lines(before, after)
            .unified_diff()
            .context_radius(3)
            .header(&from, &to)
            .to_string()
    }

    pub(crate) fn of_change(path: String, change: &FileChange) -> Self {
        Self {
            path,
            before: change.before.as_ref().map(|file| file.source.text().to_owned()),
            after: change.after.as_ref().map(|file| file.text.clone()),
        }
    }
}
