//! What becomes of changes: kept as a proposal, and decided about, with the events that say so.

use grail_agent::{AgentError, Proposal, ProposalStore, Workspace};
use grail_flywheel::event::ProposalDecision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More of a diff is not told: it is in the proposal.
const MAX_DIFF_BYTES: usize = 48 * 1024;

/// A proposal as a program outside is told about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposalNote {
    /// Its name: `grail proposals show ID`.
    pub id: String,
    /// waiting, approved, rejected or reverted. Only an approved one has changed files.
    pub state: String,
    /// Files that change, below the project's root.
    pub files: Vec<String>,
    /// The change as a unified diff, cut where it is very long.
    pub diff: String,
    /// What can be done next.
    pub next: String,
}

impl ProposalNote {
    pub fn of(proposal: &Proposal) -> Self {
        let state = proposal.state.name();
        let id = &proposal.id;
        let next = match state {
            "waiting" => format!(
                "nothing is written yet: a person decides with `grail proposals approve {id}` or `grail proposals reject {id}`"
            ),
            "approved" => format!("the files are written; `grail proposals revert {id}` undoes it"),
            _ => "nothing more".to_owned(),
        };
        Self {
            id: id.clone(),
            state: state.to_owned(),
            files: proposal.files.iter().map(|file| file.path.clone()).collect(),
            diff: diff_of(proposal, MAX_DIFF_BYTES),
            next,
        }
    }
}

/// The whole change, cut to a number of bytes.
pub(crate) fn diff_of(proposal: &Proposal, most: usize) -> String {
    let mut diff: String = proposal.files.iter().map(grail_agent::ProposedFile::diff).collect();
    if diff.len() > most {
        diff.truncate(diff.floor_char_boundary(most));
        diff.push_str("\n… (cut)\n");
    }
    diff
}

pub(crate) fn store_of(workspace: &Workspace) -> ProposalStore {
    ProposalStore::of_project(&workspace.project.root)
}

pub(crate) fn keep(workspace: &Workspace, proposal: &Proposal) -> Result<(), AgentError> {
    store_of(workspace).save(proposal, None)?;
    announce(workspace, proposal);
    Ok(())
}

pub(crate) fn announce(workspace: &Workspace, proposal: &Proposal) {
    workspace.session.emit_proposal(proposal, ProposalDecision::Made, None);
}

pub(crate) fn approve(workspace: &Workspace, id: &str) -> Result<Proposal, AgentError> {
    let (proposal, _) = store_of(workspace).approve(id, workspace.clock.as_ref())?;
    workspace.session.emit_proposal(&proposal, ProposalDecision::Approved, None);
    Ok(proposal)
}

pub(crate) fn reject(
    workspace: &Workspace,
    id: &str,
    reason: Option<String>,
) -> Result<Proposal, AgentError> {
    let proposal = store_of(workspace).reject(id, reason.clone(), workspace.clock.as_ref())?;
    workspace.session.emit_proposal(&proposal, ProposalDecision::Rejected, reason);
    Ok(proposal)
}

pub(crate) fn revert(workspace: &Workspace, id: &str) -> Result<Proposal, AgentError> {
    let (proposal, _) = store_of(workspace).revert(id, workspace.clock.as_ref())?;
    workspace.session.emit_proposal(&proposal, ProposalDecision::Reverted, None);
    Ok(proposal)
}
