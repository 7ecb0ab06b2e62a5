//! What became of the work: commits, branches that were merged or given up, and artifacts that a person changed afterwards.

mod labels;

pub use labels::{GIT_SESSION_PREFIX, Outcome, SessionOutcomes, branch_outcomes, session_outcomes};
