//! What can go wrong when a skill is installed or moved from one state to another.

use std::collections::BTreeSet;
use std::path::PathBuf;

use thiserror::Error;

use super::state::State;
use crate::runnable::Capability;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LifecycleProblem {
    #[error("the skill `{id}` is not installed")]
    NotInstalled { id: String, known: Vec<String> },
    #[error("the skill `{id}` is {state}, and only active skills can be invoked{}", because(reason.as_deref()))]
    NotActive { id: String, state: State, reason: Option<String> },
    #[error("the files of the skill `{id}` are not those that were tested")]
    ChangedSinceTested { id: String },
    #[error("the skill `{id}` is {from} and cannot become {to}")]
    MoveNotAllowed { id: String, from: State, to: State },
    #[error("the skill `{id}` is being changed by another process")]
    Busy { id: String },
    #[error("`{}` cannot be believed: {reason}", path.display())]
    BrokenRecord { path: PathBuf, reason: String },
    #[error("the skill `{id}` can do more than its manifest declares: {}", listed(undeclared))]
    Undeclared { id: String, undeclared: BTreeSet<Capability> },
    #[error("the skill `{id}` has no earlier version that worked")]
    NoLastGood { id: String },
    #[error("the skill `{id}` did not pass its handshake, so {outcome}: {reason}")]
    HandshakeFailed { id: String, outcome: String, reason: String },
    #[error("the folder `{}` has more than {limit} bytes", folder.display())]
    TooLarge { folder: PathBuf, limit: u64 },
    #[error("`{path}` is a link; a skill is installed from plain files")]
    Link { path: String },
    #[error("the folder `{}` holds the place where skills are installed", folder.display())]
    HoldsStore { folder: PathBuf },
}

impl LifecycleProblem {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotInstalled { known, .. } if known.is_empty() => {
                "`grail skills install FOLDER` installs one".to_owned()
            }
            Self::NotInstalled { id, known } => {
                let nearest = known
                    .iter()
                    .max_by(|a, b| strsim::jaro_winkler(a, id).total_cmp(&strsim::jaro_winkler(b, id)))?;
                format!("the nearest name is `{nearest}`; `grail skills status` has all that are")
            }
            Self::NotActive { id, state: State::Disabled, .. } => {
                format!("`grail skills enable {id}` tests it and switches it on")
            }
            Self::NotActive { id, state: State::Quarantined, .. } => {
                format!(
                    "install a version that works, or return to the last good one: `grail skills rollback {id}`"
                )
            }
            Self::NotActive { id, .. } => format!("`grail skills status {id}` says how far it is"),
            Self::ChangedSinceTested { .. } => "install it again".to_owned(),
            Self::MoveNotAllowed { from, .. } => {
                let allowed: Vec<&str> = from.moves().map(State::name).collect();
                format!("from {from} it can become {}", allowed.join(" or "))
            }
            Self::Busy { .. } => "try again when that is done".to_owned(),
            Self::BrokenRecord { .. } => {
                "`grail skills remove ID` takes it away; then install the skill again".to_owned()
            }
            Self::Undeclared { undeclared, .. } => {
                format!(
                    "look at the places above; to install it nevertheless: `--accept {}`",
                    joined(undeclared)
                )
            }
            Self::NoLastGood { .. } => "install a version that works".to_owned(),
            Self::Link { .. } => "put a copy of the file in its place".to_owned(),
            Self::HoldsStore { .. } => "name the skill's own folder".to_owned(),
            Self::HandshakeFailed { .. } | Self::TooLarge { .. } => return None,
        })
    }
}

fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

fn listed(capabilities: &BTreeSet<Capability>) -> String {
    capabilities.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ")
}

fn joined(capabilities: &BTreeSet<Capability>) -> String {
    capabilities.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
