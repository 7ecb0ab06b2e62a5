//! The skill library: what skills there are, what each one says, which of them fits a task, and those that do something themselves.
//!
//! A skill is disclosed step by step: its name and description ([`Skill`]), then its body, then its files. A *runnable* skill has a
//! [`Manifest`] and a script that answers requests; it is tested before it is active, watched while it runs, and rolled back when it breaks.
//! Everything a skill brings is somebody else's: bounded when read, checked before it is believed, fenced when it runs.

mod bounded;
mod cache;
mod catalogue;
mod conversation;
pub mod credentials;
mod disclosure;
mod error;
mod evals;
mod home;
pub mod lifecycle;
pub mod runnable;
pub mod script;
mod script_tool;
pub mod search;
mod search_tool;
mod skill;
#[cfg(feature = "keyring")]
pub mod system_keyring;
mod tokens;
mod trust;

pub use catalogue::{Catalogue, CatalogueEntry, Cut, Limits, Scopes, ShadowedSkill};
pub use conversation::{Conversation, DEFAULT_BUDGET, SkillTool, ToolDescription};
pub use disclosure::{FilePart, ListedSkill, Listing, LoadedSkill, load_skill, read_skill_file};
pub use error::{SkillError, SkillProblem};
pub use evals::{BENCHMARK_FILE, Benchmark, EVALS_FILE, Eval, EvalKind, Evals};
pub use home::state_folder;
pub use runnable::{MANIFEST_FILE, Manifest};
pub use script_tool::RunTool;
pub use search_tool::SearchTool;
pub use skill::{
    Document, FindingSource, MAX_BODY_LINES, MAX_BODY_TOKENS, MAX_SKILL_BYTES, SKILL_FILE, Skill, SkillFile,
    SkillFinding, SkillFolder, check_skill_name, is_valid_by_specification, migrate_front_matter,
    validate_skill, validate_specification,
};
pub use tokens::estimate_tokens;
pub use trust::{Trust, TrustRecord, TrustState, content_hash};
