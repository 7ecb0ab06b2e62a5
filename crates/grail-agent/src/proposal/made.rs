//! Proposals that are no artifacts: rules and tools, whose files were proved in another way than by layers.

use std::collections::BTreeMap;

use grail_model::Usage;

use super::{ModelIdentity, Proposal, ProposalState, ProposedFile, RulesIdentity};
use crate::AgentError;
use crate::workspace::Workspace;

/// What making it took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Making {
    pub(crate) model: ModelIdentity,
    pub(crate) retries: usize,
    pub(crate) turns: usize,
    pub(crate) usage: Usage,
    pub(crate) summary: String,
}

impl Proposal {
    /// Files of a kind, asked for in a sentence.
    pub(crate) fn of_files(
        workspace: &Workspace,
        kind: &str,
        intent: &str,
        model: &str,
        files: Vec<ProposedFile>,
        making: Making,
    ) -> Result<Self, AgentError> {
        Ok(Self {
            id: workspace.clock.new_id()?,
            created: workspace.clock.now(),
            session: workspace.session.id.clone(),
            state: ProposalState::Waiting,
            lineage: vec![intent.to_owned()],
            kind: Some(kind.to_owned()),
            model: ModelIdentity { name: model.to_owned(), ..making.model },
            mode: "direct".to_owned(),
            files,
            checks: Vec::new(),
            retries: making.retries,
            turns: making.turns,
            usage: making.usage,
            cost: None,
            skills: BTreeMap::new(),
            rules: RulesIdentity::default(),
            capabilities: Vec::new(),
            review: Vec::new(),
            summary: making.summary,
        })
    }
}
