//! What commands about proposals and code take and give.

use grail_agent::artifact::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::CommandDescription;
use crate::ProposalNote;

/// Nothing needs to be known.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Commands {
    /// The version of the envelope.
    pub version: u32,
    pub commands: Vec<CommandDescription>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Files and folders below the project's root; without any, the whole project.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Take everything in the files for an artifact of this kind.
    #[serde(default)]
    pub kind: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Whether nothing was found that fails a check.
    pub passed: bool,
    /// Files that were looked at.
    pub files: usize,
    pub problems: Vec<Problem>,
    /// Problems that are not told for want of room.
    pub more_problems: usize,
    /// Files and rules that could not be looked at.
    pub errors: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// What is wanted, in a sentence.
    pub intent: String,
    /// The kind of artifact, if the sentence does not say.
    #[serde(default)]
    pub kind: Option<String>,
    /// Several files that belong together.
    #[serde(default)]
    pub feature: bool,
    /// The model's name in `grail.toml`; `template` needs nothing.
    #[serde(default)]
    pub model: Option<String>,
    /// Only these layers: syntax, rules, lint, types, tests. Without any, those that the kind asks for.
    #[serde(default)]
    pub layers: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProposalAnswer {
    pub proposal: ProposalNote,
    /// What was asked for, and every correction after it.
    pub lineage: Vec<String>,
    /// How often the model had to be told what is wrong.
    pub retries: usize,
    /// The model that answered.
    pub model: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListProposals {
    /// Also those that are decided.
    #[serde(default)]
    pub all: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProposalList {
    pub proposals: Vec<ProposalLine>,
    /// Those that cannot be read.
    pub errors: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProposalLine {
    pub id: String,
    /// RFC 3339.
    pub created: String,
    pub state: String,
    pub intent: String,
    pub files: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneProposal {
    /// Its name, or a beginning or an end that only one has.
    pub id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectProposal {
    /// Its name, or a beginning or an end that only one has.
    pub id: String,
    #[serde(default)]
    pub reason: Option<String>,
}
