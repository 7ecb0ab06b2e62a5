//! The life of a runnable skill: installed, tested, active, watched, replaced, rolled back.
//!
//! ```text
//!             handshake      ┌──────────▶ active ◀──▶ disabled
//! pending ──▶ testing ───────┤              │ 5 failed checks  ▲
//!                            └──────────▶ quarantined ─────────┘
//! ```
//!
//! Every change happens under the skill's lock, is checked before anything moves on disk, and takes effect at one moment: when the
//! record is replaced.

mod change;
mod health;
mod install;
mod problem;
mod record;
mod stage;
mod state;
mod store;

pub use change::{disable, enable, quarantine};
pub use health::{MAX_FAILURES, note_health};
pub use install::{InstallReport, InstallSettings, install, rollback};
pub use problem::LifecycleProblem;
pub use record::{Accepted, Health, Installed, Record};
pub use stage::{StagedSkill, validate_staged_skill};
pub use state::{MOVES, State};
pub use store::{ActiveSkill, SkillStore};

use std::path::Path;

use crate::runnable::Manifest;

/// Starts the skill in a folder and greets it, or says why it cannot be used.
pub type Handshake<'a> = dyn Fn(&Path, &Manifest) -> Result<(), String> + 'a;

/// What has just happened while a skill changes: for whoever shows progress, and for tests that stop there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Locked,
    Recovered,
    FileCopied,
    Staged,
    Validated,
    Placed,
    RecordStaged,
    RecordReplaced,
    Handshaken,
    Pruned,
}
