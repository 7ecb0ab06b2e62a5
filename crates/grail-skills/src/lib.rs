//! The skill library: what skills there are, what each one says, which of them fits a task, and those that do something themselves.
//!
//! A skill is disclosed step by step: its name and description ([`Skill`]), then its body, then its files. A *runnable* skill has a
//! [`Manifest`] and a script that answers requests; it is tested before it is active, watched while it runs, and rolled back when it breaks.
//! Everything a skill brings is somebody else's: bounded when read, checked before it is believed, fenced when it runs.

mod error;
pub mod runnable;
mod skill;

pub use error::{SkillError, SkillProblem};
pub use runnable::Manifest;
pub use skill::Skill;
