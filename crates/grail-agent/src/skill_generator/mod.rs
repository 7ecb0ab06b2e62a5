//! A runnable skill from a sentence: looked for first, then written, tried behind the fence, shown, and installed as it was shown.
//!
//! ```text
//! intent ─▶ is there one already? ─▶ staging ─▶ model or template ─▶ checked and tried ─▶ SkillProposal ─▶ a person ─▶ installed, indexed
//! ```
//!
//! The proposal holds the bytes of every file. What is installed are these bytes and no others, and only if they still have the hash that was
//! shown. The staging folder is gone when [`SkillGeneratorPipeline::generate`] returns, however it does.

mod conversation;
mod instructions;
mod record;
mod staged;
mod template;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use grail_flywheel::EventKind;
use grail_flywheel::event::ProposalDecision;
use grail_model::Model;
use grail_skills::lifecycle::{InstallReport, InstallSettings, SkillStore, StagedSkill, install};
use grail_skills::runnable::{Capability, Credential, Manifest};
use grail_skills::search::{SAME, SearchIndex};
use grail_skills::{MANIFEST_FILE, Skill, SkillError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::embedder::search_index;
use crate::generate::{Company, check_intent};
use crate::workspace::Workspace;

pub use instructions::build_generation_prompt;
pub use record::{GenerationRecord, GenerationState, GenerationStore};
pub use template::skill_id_for;

use staged::StagingFolder;
use template::TEMPLATE;

/// A skill that was written and tried, and waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillProposal {
    pub skill_id: String,
    pub name: String,
    pub version: String,
    pub description: String,
    pub manifest_toml: String,
    pub script_source: String,
    pub credentials: Vec<CredentialSchema>,
    /// The requirements of the script's PEP 723 block.
    pub dependencies: Vec<String>,
    /// What the code can do to the world around it. All of it is declared.
    pub capabilities: BTreeSet<Capability>,
    /// The folder in which it was written and tried; it is gone.
    pub staging_dir: PathBuf,
    /// Every file with its text, by path below the skill's folder: this is what is installed.
    pub files: BTreeMap<String, String>,
    /// Over every file, as installed skills are hashed.
    pub hash: String,
    /// Whether it was started and greeted. What needs packages is not, because nobody has agreed to fetch them yet.
    pub tried: bool,
    pub intent: String,
    /// Who wrote it: the name of a model in the settings.
    pub model: String,
    /// What a person should know before deciding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Something secret that the skill will ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialSchema {
    pub name: String,
    pub env_var: String,
    pub description: String,
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// What came of an intent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum GeneratorOutcome {
    Proposed(Box<SkillProposal>),
    /// There is a skill that does this.
    ExistingMatch {
        skill_id: String,
        name: String,
        score: f32,
    },
    /// Nothing came of it, and nothing is left of it.
    Failed {
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct SkillGeneratorConfig {
    /// How often the model is asked.
    pub max_llm_turns: usize,
    /// How often a whole skill may be tried and fail.
    pub max_test_rounds: usize,
    /// A skill with this score does what is asked, so none is made.
    pub discovery_threshold: f32,
    /// Where the staging folder is made, and is gone afterwards.
    pub staging_root: PathBuf,
}

impl Default for SkillGeneratorConfig {
    fn default() -> Self {
        Self {
            max_llm_turns: 8,
            max_test_rounds: 4,
            discovery_threshold: SAME,
            staging_root: std::env::temp_dir(),
        }
    }
}

/// Who writes the skill.
#[derive(Clone, Copy)]
pub enum SkillWriter<'w> {
    /// The template that needs no model.
    Template,
    Model {
        model: &'w dyn Model,
        /// The name in the settings.
        name: &'w str,
    },
}

impl SkillWriter<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Template => TEMPLATE,
            Self::Model { name, .. } => name,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct SkillGeneratorPipeline {
    config: SkillGeneratorConfig,
}

impl SkillGeneratorPipeline {
    pub fn new(config: SkillGeneratorConfig) -> Self {
        Self { config }
    }

    /// Makes a proposal of an intent, or says why there is none. Nothing is installed; the attempt is remembered.
    pub async fn generate(
        &self,
        workspace: &Workspace,
        writer: SkillWriter<'_>,
        intent: &str,
        company: Company<'_>,
    ) -> Result<GeneratorOutcome, AgentError> {
        let intent = check_intent(intent)?;
        let records = GenerationStore::of(workspace)?;
        workspace.session.emit_intent(intent, Some("skill"), writer.name());
        let result = self.attempt(workspace, writer, intent, company).await;
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(AgentError::NotAchieved { reason }) => GeneratorOutcome::Failed { reason },
            Err(error @ AgentError::Limit { .. }) => GeneratorOutcome::Failed { reason: error.to_string() },
            Err(error) => {
                let reason = error.to_string();
                workspace.session.emit(EventKind::Failed { reason: reason.clone() });
                let failed = GeneratorOutcome::Failed { reason };
                records.save(&GenerationRecord::of(&failed, intent, writer.name(), workspace.clock.now()))?;
                return Err(error);
            }
        };
        match &outcome {
            GeneratorOutcome::Proposed(proposal) => {
                workspace.session.emit(decided(&proposal.skill_id, ProposalDecision::Made));
            }
            GeneratorOutcome::Failed { reason } => {
                workspace.session.emit(EventKind::Failed { reason: reason.clone() });
            }
            GeneratorOutcome::ExistingMatch { .. } => {}
        }
        records.save(&GenerationRecord::of(&outcome, intent, writer.name(), workspace.clock.now()))?;
        Ok(outcome)
    }

    /// Installs the bytes of a proposal: tested with a handshake, then active, then found by searches.
    ///
    /// A person has approved. A skill that is already there is never replaced by one that was generated.
    pub fn install_proposal(
        &self,
        workspace: &Workspace,
        proposal: &SkillProposal,
    ) -> Result<InstallReport, AgentError> {
        let store = store_of(workspace)?;
        if store.has(&proposal.skill_id) {
            return Err(AgentError::SkillInstalled { id: proposal.skill_id.clone() });
        }
        let staging = StagingFolder::new(&self.config.staging_root)?;
        let folder = staging.place(&proposal.skill_id, &proposal.files)?;
        let changed = || AgentError::ProposalChanged { id: proposal.skill_id.clone() };
        let staged = grail_skills::lifecycle::validate_staged_skill(&folder)?;
        if staged.hash != proposal.hash || !proposal.agrees_with(&staged) {
            return Err(changed());
        }
        let settings = trial::settings(workspace);
        let greet = |folder: &std::path::Path, _: &Manifest| {
            // What counts is the copy that will be active.
            let copy =
                grail_skills::lifecycle::validate_staged_skill(folder).map_err(|error| error.to_string())?;
            match copy.hash == proposal.hash {
                true => trial::greet(folder, &settings),
                false => Err(changed().to_string()),
            }
        };
        let settings = InstallSettings { accept: BTreeSet::new(), handshake: &greet, on_step: &|_| {} };
        let report = install(&store, &folder, &settings)?;
        index_skills(workspace)?;
        workspace.session.emit(EventKind::Made { what: "skill".to_owned(), name: proposal.skill_id.clone() });
        Ok(report)
    }

    /// Installs what was proposed earlier, perhaps by another process. With a hash: only if it is this one.
    pub fn confirm(
        &self,
        workspace: &Workspace,
        skill_id: &str,
        hash: Option<&str>,
    ) -> Result<InstallReport, AgentError> {
        let records = GenerationStore::of(workspace)?;
        let _lock = records.lock(skill_id)?;
        let mut record = records.read(skill_id)?;
        let proposal = match (&record.state, &record.proposal) {
            (GenerationState::Proposed, Some(proposal)) => proposal,
            (state, _) => {
                let state = state.name().to_owned();
                return Err(AgentError::AlreadyDecided { id: skill_id.to_owned(), state });
            }
        };
        if hash.is_some_and(|hash| hash != proposal.hash) {
            return Err(AgentError::ProposalChanged { id: skill_id.to_owned() });
        }
        let result = self.install_proposal(workspace, proposal);
        match &result {
            Ok(_) => record.state = GenerationState::Installed,
            // A skill that does not start is not made better by asking again.
            Err(AgentError::Skill(SkillError::Lifecycle(problem))) => {
                record.state = GenerationState::Failed;
                record.reason = Some(problem.to_string());
            }
            Err(_) => return result,
        }
        record.at = workspace.clock.now();
        records.save(&record)?;
        result
    }

    /// A person does not want it.
    pub fn reject(&self, workspace: &Workspace, skill_id: &str) -> Result<GenerationRecord, AgentError> {
        let records = GenerationStore::of(workspace)?;
        let _lock = records.lock(skill_id)?;
        let mut record = records.read(skill_id)?;
        if record.state != GenerationState::Proposed {
            let state = record.state.name().to_owned();
            return Err(AgentError::AlreadyDecided { id: skill_id.to_owned(), state });
        }
        record.state = GenerationState::Rejected;
        record.at = workspace.clock.now();
        records.save(&record)?;
        workspace.session.emit(decided(skill_id, ProposalDecision::Rejected));
        Ok(record)
    }

    /// What became of the last attempt at a skill.
    pub fn status(&self, workspace: &Workspace, skill_id: &str) -> Result<GenerationRecord, AgentError> {
        GenerationStore::of(workspace)?.read(skill_id)
    }

    async fn attempt(
        &self,
        workspace: &Workspace,
        writer: SkillWriter<'_>,
        intent: &str,
        company: Company<'_>,
    ) -> Result<GeneratorOutcome, AgentError> {
        if let Some(found) = self.find_existing(workspace, intent)? {
            return Ok(found);
        }
        // Removed when this function is left, also by a panic or by whoever stops waiting for it.
        let staging = StagingFolder::new(&self.config.staging_root)?;
        let proposal = match writer {
            SkillWriter::Template => make_from_template(workspace, intent, &staging).await?,
            SkillWriter::Model { model, name } => {
                conversation::write_skill(&self.config, workspace, model, name, intent, &staging, company)
                    .await?
            }
        };
        Ok(GeneratorOutcome::Proposed(Box::new(proposal)))
    }

    /// The skill that already does it: one that is installed, or one of the catalogue.
    fn find_existing(
        &self,
        workspace: &Workspace,
        intent: &str,
    ) -> Result<Option<GeneratorOutcome>, AgentError> {
        let index = index_skills(workspace)?;
        let hits = match index.search(intent, 1) {
            Ok(hits) => hits,
            // Without a word that could be searched for there is nothing to find.
            Err(SkillError::EmptyQuery { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let same = hits.into_iter().find(|hit| hit.score >= self.config.discovery_threshold);
        Ok(same.map(|hit| GeneratorOutcome::ExistingMatch {
            name: shown_name(&hit.skill),
            skill_id: hit.skill.name,
            score: hit.score,
        }))
    }
}

/// Where generated skills go: to the user's skills for this project.
pub fn store_of(workspace: &Workspace) -> Result<SkillStore, AgentError> {
    let state = workspace.state.as_deref().ok_or(SkillError::NoHome)?;
    Ok(SkillStore::of_project(state, &workspace.project.root))
}

/// Brings the index of skills up to date with what is installed and what the catalogue has.
pub fn index_skills(workspace: &Workspace) -> Result<SearchIndex, AgentError> {
    let root = &workspace.project.root;
    let mut skills: Vec<Skill> =
        workspace.catalogue.entries.iter().map(|entry| entry.skill.clone()).collect();
    if let Some(state) = &workspace.state {
        skills.extend(SkillStore::of_project(state, root).active_skills());
        skills.extend(SkillStore::of_user(state).active_skills());
    }
    let mut index = search_index(&workspace.project)?;
    index.update(&skills)?;
    index.save(root);
    Ok(index)
}

/// Fills the template from the sentence, and tries what comes out like anything else.
async fn make_from_template(
    workspace: &Workspace,
    intent: &str,
    staging: &StagingFolder,
) -> Result<SkillProposal, AgentError> {
    let made = template::make(intent, &taken_ids(workspace)?)?;
    let folder = staging.place(&made.id, &made.files)?;
    let failed = |reason: String| AgentError::NotAchieved { reason };
    let staged = staged::check(&folder).map_err(failed)?;
    let tried = trial::attempt(workspace, &folder, &staged).await.map_err(failed)?;
    let mut proposal = SkillProposal::new(staged, made.files, folder, intent, TEMPLATE);
    proposal.tried = tried;
    proposal.notes = made.notes;
    Ok(proposal)
}

/// Ids that a new skill must not have.
fn taken_ids(workspace: &Workspace) -> Result<BTreeSet<String>, AgentError> {
    let state = workspace.state.as_deref().ok_or(SkillError::NoHome)?;
    let mut taken: BTreeSet<String> =
        workspace.catalogue.entries.iter().map(|entry| entry.skill.name.clone()).collect();
    for store in [store_of(workspace)?, SkillStore::of_user(state)] {
        taken.extend(store.installed().0.into_iter().map(|record| record.id));
    }
    Ok(taken)
}

/// The name for people: a runnable skill has one of its own.
fn shown_name(skill: &Skill) -> String {
    Manifest::read(&skill.folder).map_or_else(|_| skill.name.clone(), |manifest| manifest.name)
}

impl SkillProposal {
    fn new(
        staged: StagedSkill,
        files: BTreeMap<String, String>,
        folder: PathBuf,
        intent: &str,
        model: &str,
    ) -> Self {
        Self {
            manifest_toml: files.get(MANIFEST_FILE).cloned().unwrap_or_default(),
            capabilities: staged.used(),
            credentials: staged.credentials().iter().map(CredentialSchema::from).collect(),
            skill_id: staged.manifest.id,
            name: staged.manifest.name,
            version: staged.manifest.version.to_string(),
            description: staged.manifest.description,
            script_source: staged.script,
            dependencies: staged.dependencies,
            staging_dir: folder,
            files,
            hash: staged.hash,
            tried: false,
            intent: intent.to_owned(),
            model: model.to_owned(),
            notes: Vec::new(),
        }
    }

    /// Whether what was shown of it is what its files say.
    fn agrees_with(&self, staged: &StagedSkill) -> bool {
        let credentials: Vec<CredentialSchema> =
            staged.credentials().iter().map(CredentialSchema::from).collect();
        self.skill_id == staged.manifest.id
            && self.name == staged.manifest.name
            && self.description == staged.manifest.description
            && Some(&self.manifest_toml) == self.files.get(MANIFEST_FILE)
            && self.script_source == staged.script
            && self.dependencies == staged.dependencies
            && self.capabilities == staged.used()
            && self.credentials == credentials
    }
}

impl From<&Credential> for CredentialSchema {
    fn from(credential: &Credential) -> Self {
        Self {
            name: credential.name.clone(),
            env_var: credential.env_var.clone(),
            description: credential.description.clone(),
            required: credential.required,
            default: credential.default.clone(),
        }
    }
}

/// A decision about the skill's proposal, which has no files in the project.
fn decided(skill_id: &str, decision: ProposalDecision) -> EventKind {
    EventKind::Proposal { proposal: format!("skill {skill_id}"), decision, reason: None, paths: Vec::new() }
}
