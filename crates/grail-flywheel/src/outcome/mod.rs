//! What became of the work: commits, branches that were merged or given up, and artifacts that a person changed afterwards.
//!
//! Git is the witness. [`install_hooks`] lets it leave notes, [`catch_up`] asks it what the events do not say yet, [`report_outcome`] takes the word
//! of a forge. [`session_outcomes`] is what everybody else wants to know.

mod branches;
mod catch_up;
mod edits;
mod git;
mod history;
mod hooks;
mod labels;
mod notes;
mod observe;
mod patch;
mod report;
mod repository;

pub use catch_up::{CaughtUp, Judge, catch_up, catch_up_judged, report_outcome};
pub use history::EventSource;
pub use hooks::{
    Advice, HOOKS, HookEntry, HookState, HooksReport, hook_lines, hooks_status, install_hooks, remove_hooks,
};
pub use labels::{GIT_SESSION_PREFIX, Outcome, SessionOutcomes, branch_outcomes, session_outcomes};
pub use observe::{Observation, observe};
pub use report::{MAX_PAYLOAD_BYTES, Report};
