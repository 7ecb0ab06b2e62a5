//! One skill: what its `SKILL.md` says, what the specification says about that, and the files beside it.

pub(crate) mod document;
mod folder;
mod migrate;
mod validate;
mod yaml;

use std::path::PathBuf;

use grail_rules::Origin;
use serde::{Deserialize, Serialize};

pub use document::{Document, MAX_SKILL_BYTES, SKILL_FILE};
pub use folder::{SkillFile, SkillFolder};
pub(crate) use folder::{is_inside, read_bounded};
pub use migrate::migrate_front_matter;
pub use validate::{
    FindingSource, MAX_BODY_LINES, MAX_BODY_TOKENS, SkillFinding, check_skill_name,
    is_valid_by_specification, validate_skill, validate_specification,
};

/// What is known of a skill without reading its body: the first tier of disclosure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// The name of its folder, which is unique; a `SKILL.md` that says another one gets a warning.
    pub name: String,
    pub description: String,
    pub origin: Origin,
    /// The skill's folder; of built-in ones a name for it, since they have none.
    pub folder: PathBuf,
}
