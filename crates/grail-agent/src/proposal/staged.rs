//! A proposal of what is staged, whoever staged it: a program outside that called tools, not only a model inside a conversation.

use grail_project::project_path;

use super::{ModelIdentity, Proposal, ProposalState, ProposedFile, RulesIdentity};
use crate::AgentError;
use crate::generate::{capabilities, checks};
use crate::workspace::Workspace;

/// Who staged it, and what for.
#[derive(Clone, Debug, Default)]
pub struct StagedWork {
    /// What was asked for, in a sentence.
    pub request: String,
    /// The kind of artifact, if it is one.
    pub kind: Option<String>,
    pub author: ModelIdentity,
    /// The way it came: `mcp`, `host`.
    pub mode: String,
}

/// Makes a proposal of everything that is staged and of what was found out about it; `None` if nothing would change. It is neither kept
/// nor taken out of the staging: that is for whoever asked.
pub fn propose_staged(workspace: &Workspace, work: StagedWork) -> Result<Option<Proposal>, AgentError> {
    let root = &workspace.project.root;
    let changes = workspace.staging.file_changes()?;
    let files: Vec<ProposedFile> = changes
        .iter()
        .map(|change| ProposedFile::of_change(project_path(root, change.path()), change))
        .collect();
    if files.is_empty() {
        return Ok(None);
    }
    let rules = workspace.rules(None)?;
    Ok(Some(Proposal {
        id: workspace.clock.new_id()?,
        created: workspace.clock.now(),
        session: workspace.session.id.clone(),
        state: ProposalState::Waiting,
        lineage: vec![work.request],
        kind: work.kind,
        model: work.author,
        mode: work.mode,
        checks: checks(&files, &workspace.artifacts.since(0)),
        capabilities: capabilities(&files),
        files,
        retries: 0,
        turns: 0,
        usage: grail_model::Usage::default(),
        cost: None,
        skills: std::collections::BTreeMap::new(),
        rules: RulesIdentity { count: rules.rules().len(), hash: rules.hash().to_hex()[..16].to_owned() },
        review: Vec::new(),
        summary: String::new(),
    }))
}
