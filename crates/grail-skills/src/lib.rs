//! The skill library: what skills there are, what each one says, which of them fits a task, and those that do something themselves.
//!
//! A skill is disclosed step by step: its name and description ([`Skill`]), then its body, then its files. A *runnable* skill has a
//! [`Manifest`] and a script that answers requests; it is tested before it is active, watched while it runs, and rolled back when it breaks.
//! Everything a skill brings is somebody else's: bounded when read, checked before it is believed, fenced when it runs.

mod bounded;
mod catalogue;
pub mod credentials;
mod error;
mod home;
pub mod lifecycle;
pub mod runnable;
pub mod script;
mod skill;
mod tokens;
mod trust;

pub use catalogue::{Catalogue, CatalogueEntry, Cut, Limits, Scopes, ShadowedSkill};
pub use error::{SkillError, SkillProblem};
pub use home::state_folder;
pub use runnable::{MANIFEST_FILE, Manifest};
pub use skill::{Document, MAX_SKILL_BYTES, SKILL_FILE, Skill, SkillFile, SkillFolder};
pub use tokens::estimate_tokens;
pub use trust::{Trust, TrustRecord, TrustState, content_hash};
