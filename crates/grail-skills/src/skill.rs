//! One skill as its `SKILL.md` describes it.

use std::path::PathBuf;

use grail_rules::Origin;
use serde::{Deserialize, Serialize};

/// What is known of a skill without reading its body: the first tier of disclosure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub origin: Origin,
    /// The skill's folder; of built-in ones a name for it, since they have none.
    pub folder: PathBuf,
}
