//! What commands about skills take and give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SkillList {
    pub skills: Vec<ListedSkill>,
    /// Skills that cannot be read.
    pub errors: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedSkill {
    pub name: String,
    pub description: String,
    /// project, home or built-in.
    pub origin: String,
    /// Whether what it says may reach a model.
    pub trusted: bool,
    pub runnable: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneSkill {
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LoadedSkill {
    pub name: String,
    /// What it says.
    pub body: String,
    /// Files that can be read next.
    pub files: Vec<String>,
    /// Files that are not named for want of room.
    pub more_files: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadSkill {
    pub name: String,
    /// A file below the skill's folder.
    pub path: String,
    /// The line to start at, from 1.
    #[serde(default = "first_line")]
    pub line: usize,
}

fn first_line() -> usize {
    1
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SkillFilePart {
    pub path: String,
    pub text: String,
    /// The first line of the part, from 1.
    pub line: usize,
    /// Lines of the whole file.
    pub lines: usize,
    /// The line to go on with, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_line: Option<usize>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchSkills {
    /// What is wanted, in the person's own words.
    pub intent: String,
    #[serde(default = "few")]
    pub limit: usize,
}

fn few() -> usize {
    5
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundSkills {
    pub hits: Vec<FoundSkill>,
    /// Skills that were looked at.
    pub searched: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundSkill {
    pub name: String,
    pub description: String,
    /// The chance that it does what is wanted, between 0 and 1.
    pub score: f32,
    /// Whether that is enough to call it the same thing.
    pub same: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvokeSkill {
    pub skill_id: String,
    #[serde(default)]
    pub input: Json,
    /// How long it may take to answer, in seconds.
    #[serde(default)]
    pub timeout: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Invoked {
    pub skill_id: String,
    pub version: String,
    pub output: Json,
    /// The end of what it wrote to stderr.
    pub stderr: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillStatus {
    /// Without one, every installed skill.
    #[serde(default)]
    pub skill_id: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstalledSkills {
    pub skills: Vec<InstalledSkill>,
    /// Those whose record cannot be read.
    pub errors: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstalledSkill {
    pub skill_id: String,
    /// project or user.
    pub scope: String,
    pub version: String,
    /// testing, active, disabled or quarantined.
    pub state: String,
    /// Why, if somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Failed checks in a row.
    pub failures: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneInstalled {
    pub skill_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithReason {
    pub skill_id: String,
    /// Why, for whoever looks at it later.
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    pub removed: String,
}
