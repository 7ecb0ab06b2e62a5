//! What became of the work: commits, branches that were merged or given up, and artifacts that a person changed afterwards.

mod branches;
mod edits;
mod git;
mod history;
mod labels;
mod notes;
mod observe;
mod patch;
mod repository;

pub use history::EventSource;
pub use labels::{GIT_SESSION_PREFIX, Outcome, SessionOutcomes, branch_outcomes, session_outcomes};
pub use observe::{Observation, observe};
