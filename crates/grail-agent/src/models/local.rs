//! Models on this machine: weights by name or path, and phases, which are weights with an adapter that was trained here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use grail_flywheel::dataset::{ChatForm, open_dataset};
use grail_flywheel::phase::{Phase, Phases};
use grail_model::local::{LocalServer, LocalSettings, Weights, cache_folder, catalogue_entry, find_weights};
use grail_project::ModelMode;

use super::{ChosenModel, LOCAL_PREFIX, PHASE_PREFIX};
use crate::AgentError;
use crate::dialogue::{Mode, Prices};
use crate::workspace::Workspace;

/// A file of one artifact is no longer; a small model that has lost its way goes on and on.
const MAX_TOKENS: u32 = 1024;

/// A local model before it is started.
#[derive(Clone, Debug)]
pub struct LocalChoice {
    /// Its name in the settings.
    pub name: String,
    pub settings: LocalSettings,
    /// What the base is called: a name of the catalogue, or a path.
    pub base: String,
    /// The phase, if it is one.
    pub phase: Option<String>,
    pub mode: Mode,
    pub form: ChatForm,
    pub context_tokens: Option<u64>,
}

impl LocalChoice {
    pub async fn start(self, listener: Arc<dyn Fn(&str) + Send + Sync>) -> Result<ChosenModel, AgentError> {
        let server = LocalServer::start(self.settings, move |line: &str| listener(line)).await?;
        Ok(ChosenModel {
            name: self.name,
            phase: self.phase,
            identity: Some(server.identity().to_owned()),
            model: Box::new(server),
            prices: Prices::default(),
            preferred_mode: self.mode,
            form: self.form,
            context_tokens: self.context_tokens,
        })
    }
}

/// What a name means on this machine: `phase:ID`, `local:NAME_OR_PATH`, a name of the catalogue, or one of `grail.toml` that says `weights`.
/// Nothing if it means none of them.
pub fn local_choice(workspace: &Workspace, name: &str) -> Result<Option<LocalChoice>, AgentError> {
    if let Some(id) = name.strip_prefix(PHASE_PREFIX) {
        let phase = Phases::new(&workspace.project.root).get(id)?;
        return phase_choice(workspace, &phase).map(Some);
    }
    if let Some(config) = workspace.project.config.models.get(name) {
        let Some(weights) = &config.weights else { return Ok(None) };
        let mut choice = base_choice(workspace, weights)?;
        name.clone_into(&mut choice.name);
        let settings = &mut choice.settings;
        if let Some(adapter) = &config.adapter {
            settings.name = name.to_owned();
            settings.adapter = Some(existing_folder(&workspace.project.root, adapter)?);
        }
        settings.threads = config.threads;
        settings.context = config.context_tokens.and_then(|tokens| tokens.try_into().ok());
        settings.temperature = config.temperature.or(settings.temperature);
        settings.max_tokens = config.max_tokens.or(settings.max_tokens);
        choice.context_tokens = config.context_tokens;
        choice.mode = match config.mode {
            ModelMode::Direct => Mode::Direct,
            ModelMode::Code => Mode::Code,
            ModelMode::Answer | ModelMode::Auto => Mode::Answer,
        };
        return Ok(Some(choice));
    }
    let weights = name.strip_prefix(LOCAL_PREFIX).or_else(|| catalogue_entry(name).map(|entry| entry.name));
    weights.map(|weights| base_choice(workspace, weights)).transpose()
}

/// A phase, with its adapter as training left it and its base as it was then.
pub fn phase_choice(workspace: &Workspace, phase: &Phase) -> Result<LocalChoice, AgentError> {
    let phases = Phases::new(&workspace.project.root);
    phases.verify_adapter(phase)?;
    let mut choice = base_choice(workspace, &phase.base.name)?;
    choice.name = format!("{PHASE_PREFIX}{}", phase.id);
    choice.phase = Some(phase.id.clone());
    choice.form = form_of(&workspace.project.root, phase);
    let settings = &mut choice.settings;
    settings.name.clone_from(&phase.id);
    settings.adapter = Some(phases.adapter_folder(&phase.id));
    settings.sha256 = Some(phase.base.sha256.clone()).filter(|hash| !hash.is_empty());
    settings.identity.clone_from(&phase.identity);
    Ok(choice)
}

/// The phase that answers: the promoted one, or for its share of the intents the one that challenges it.
pub fn promoted_phase(workspace: &Workspace, intent: Option<&str>) -> Result<Option<Phase>, AgentError> {
    let phases = Phases::new(&workspace.project.root);
    let id = match intent {
        Some(intent) => phases.assign(intent)?.phase().map(str::to_owned),
        None => phases.current()?.phase,
    };
    Ok(id.map(|id| phases.get(&id)).transpose()?)
}

/// The phase that answers an intent as well, seen by nobody.
pub(super) fn shadow_phase(workspace: &Workspace, intent: &str) -> Result<Option<Phase>, AgentError> {
    let phases = Phases::new(&workspace.project.root);
    let current = phases.current()?;
    Ok(current.shadow(intent).map(|id| phases.get(id)).transpose()?)
}

/// How a phase was taught to be asked. Where its dataset is gone, as all are unless somebody says otherwise.
fn form_of(root: &Path, phase: &Phase) -> ChatForm {
    let dataset = phase.dataset.as_deref().and_then(|hash| open_dataset(root, Some(hash)).ok());
    dataset.map(|dataset| dataset.manifest.form).unwrap_or_default()
}

fn base_choice(workspace: &Workspace, name_or_path: &str) -> Result<LocalChoice, AgentError> {
    let weights = base_weights(workspace, name_or_path)?;
    let mut settings = LocalSettings::new(&weights.name, &weights.path);
    settings.sha256 = weights.sha256.map(str::to_owned);
    // The likeliest answer is the one that was learned.
    settings.temperature = Some(0.0);
    settings.max_tokens = Some(MAX_TOKENS);
    // What the project says about these weights holds for their phases as well.
    let mut models = workspace.project.config.models.values();
    let said = models.find(|config| config.weights.as_deref() == Some(name_or_path));
    settings.threads = said.and_then(|config| config.threads);
    let context_tokens = said.and_then(|config| config.context_tokens);
    settings.context = context_tokens.and_then(|tokens| tokens.try_into().ok());
    Ok(LocalChoice {
        name: name_or_path.to_owned(),
        settings,
        base: name_or_path.to_owned(),
        phase: None,
        mode: Mode::Answer,
        form: ChatForm::default(),
        context_tokens,
    })
}

/// Weights by name or by a path, which a project may write from its own root.
fn base_weights(workspace: &Workspace, name_or_path: &str) -> Result<Weights, AgentError> {
    let cache = cache_folder(workspace.home.as_deref())?;
    let in_project = workspace.project.root.join(name_or_path);
    if catalogue_entry(name_or_path).is_none() && in_project.exists() {
        return Ok(find_weights(&cache, &in_project.to_string_lossy())?);
    }
    Ok(find_weights(&cache, name_or_path)?)
}

fn existing_folder(root: &Path, folder: &str) -> Result<PathBuf, AgentError> {
    let path = root.join(folder);
    match path.is_dir() {
        true => Ok(path),
        false => Err(AgentError::Other {
            message: format!("there is no adapter in `{folder}`"),
            hint: Some("an adapter is a folder with `adapters.safetensors` and its configuration".to_owned()),
        }),
    }
}
