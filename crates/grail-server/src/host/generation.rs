//! Commands that make skills. A preview is remembered, and confirming it installs those bytes: nothing is generated a second time.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_agent::generate::{Company, check_intent};
use grail_agent::skill_generator::{
    CredentialSchema, GenerationRecord, GenerationState, GenerationStore, GeneratorOutcome,
    SkillGeneratorPipeline, SkillProposal, SkillWriter,
};
use grail_agent::{AgentError, Workspace, models};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::envelope::{ErrorCode, HostError};
use super::work::host_error;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerateSkill {
    /// What the skill is to do, in a sentence.
    pub intent: String,
    /// Install what was previewed for this intent. Otherwise a preview is made, and nothing is installed.
    #[serde(default)]
    pub confirm: bool,
    /// When confirming: the skill that was previewed, if the intent does not say enough.
    #[serde(default)]
    pub skill_id: Option<String>,
    /// When confirming: install it only if it is still what was previewed.
    #[serde(default)]
    pub hash: Option<String>,
    /// The model's name in `grail.toml`; `template` needs nothing.
    #[serde(default)]
    pub model: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GeneratedSkill {
    /// proposed, existing-match, failed or installed.
    pub outcome: String,
    /// The skill that was made, or the one that does this already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// How sure it is that a skill does this already, between 0 and 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// Why nothing came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<SkillPreview>,
    /// What can be done next.
    pub next: String,
}

/// A skill as it would be installed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SkillPreview {
    pub skill_id: String,
    pub name: String,
    pub version: String,
    pub description: String,
    /// Every file with its text, by path.
    pub files: BTreeMap<String, String>,
    /// Over every file.
    pub hash: String,
    pub credentials: Vec<CredentialSchema>,
    /// Packages that its script needs.
    pub dependencies: Vec<String>,
    /// What its code can do to the world around it.
    pub capabilities: Vec<String>,
    /// Whether it was started and greeted.
    pub tried: bool,
    /// What a person should know before deciding.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerationStatus {
    pub skill_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GenerationStatusAnswer {
    pub skill_id: String,
    /// proposed, installed, rejected, existing-match or failed.
    pub state: String,
    /// RFC 3339.
    pub at: String,
    pub intent: String,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<SkillPreview>,
}

/// Makes a preview.
pub(super) async fn preview(
    workspace: &Arc<Workspace>,
    wanted: &GenerateSkill,
) -> Result<GeneratedSkill, HostError> {
    let made = async {
        let own = workspace.project.config.generate.model.as_deref();
        let chosen = match wanted.model.as_deref().or(own) {
            None | Some(models::TEMPLATE) => None,
            name => Some(models::choose(workspace, name).await?),
        };
        let writer = match &chosen {
            None => SkillWriter::Template,
            Some(chosen) => SkillWriter::Model { model: chosen.model.as_ref(), name: &chosen.name },
        };
        let pipeline = SkillGeneratorPipeline::default();
        pipeline.generate(workspace, writer, &wanted.intent, Company::default()).await
    };
    let nothing = GeneratedSkill {
        outcome: String::new(),
        skill_id: None,
        score: None,
        reason: None,
        preview: None,
        next: String::new(),
    };
    Ok(match made.await.map_err(|error| host_error(&error))? {
        GeneratorOutcome::Proposed(proposal) => GeneratedSkill {
            outcome: "proposed".to_owned(),
            skill_id: Some(proposal.skill_id.clone()),
            preview: Some(SkillPreview::of(&proposal)),
            next: "nothing is installed yet: send it again with `confirm`".to_owned(),
            ..nothing
        },
        GeneratorOutcome::ExistingMatch { skill_id, score, .. } => GeneratedSkill {
            outcome: "existing-match".to_owned(),
            next: format!("use `{skill_id}`"),
            skill_id: Some(skill_id),
            score: Some(score),
            ..nothing
        },
        GeneratorOutcome::Failed { reason } => GeneratedSkill {
            outcome: "failed".to_owned(),
            reason: Some(reason),
            next: "say it in other words, or name another `model`".to_owned(),
            ..nothing
        },
    })
}

/// Installs what was previewed, and nothing else.
pub(super) fn confirm(workspace: &Workspace, wanted: &GenerateSkill) -> Result<GeneratedSkill, HostError> {
    let id = match &wanted.skill_id {
        Some(id) => id.clone(),
        None => previewed(workspace, &wanted.intent)?,
    };
    let installed = SkillGeneratorPipeline::default().confirm(workspace, &id, wanted.hash.as_deref());
    installed.map_err(|error| host_error(&error))?;
    Ok(GeneratedSkill {
        outcome: "installed".to_owned(),
        next: format!("`skill.invoke` with `{id}`"),
        skill_id: Some(id),
        score: None,
        reason: None,
        preview: None,
    })
}

pub(super) fn status(workspace: &Workspace, skill_id: &str) -> Result<GenerationStatusAnswer, HostError> {
    let record = SkillGeneratorPipeline::default().status(workspace, skill_id);
    let record: GenerationRecord = record.map_err(|error| host_error(&error))?;
    Ok(GenerationStatusAnswer {
        skill_id: record.skill_id,
        state: record.state.name().to_owned(),
        at: record.at,
        intent: record.intent,
        model: record.model,
        reason: record.reason,
        preview: record.proposal.as_ref().map(SkillPreview::of),
    })
}

/// The skill that was previewed for an intent and waits.
fn previewed(workspace: &Workspace, intent: &str) -> Result<String, HostError> {
    let found = || -> Result<Option<String>, AgentError> {
        let intent = check_intent(intent)?;
        let records = GenerationStore::of(workspace)?.list().into_iter();
        let mut waiting = records.filter(|record| record.state == GenerationState::Proposed);
        Ok(waiting.find(|record| record.intent == intent).map(|record| record.skill_id))
    };
    found().map_err(|error| host_error(&error))?.ok_or_else(|| {
        HostError::new(ErrorCode::NotFound, "nothing that was previewed for this intent waits")
            .hint("send it without `confirm` first, or name the `skill_id`")
    })
}

impl SkillPreview {
    fn of(proposal: &SkillProposal) -> Self {
        Self {
            skill_id: proposal.skill_id.clone(),
            name: proposal.name.clone(),
            version: proposal.version.clone(),
            description: proposal.description.clone(),
            files: proposal.files.clone(),
            hash: proposal.hash.clone(),
            credentials: proposal.credentials.clone(),
            dependencies: proposal.dependencies.clone(),
            capabilities: proposal.capabilities.iter().map(ToString::to_string).collect(),
            tried: proposal.tried,
            notes: proposal.notes.clone(),
        }
    }
}
