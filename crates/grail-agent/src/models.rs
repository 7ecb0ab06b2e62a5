//! Which model does the work: `template`, which needs nothing, one of `grail.toml`, weights on this machine, a phase that was trained here, or
//! a recorded conversation.

mod local;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use grail_flywheel::dataset::ChatForm;
use grail_flywheel::phase::Phase;
use grail_model::local::CATALOGUE;
use grail_model::{Model, Recording, Replay, ServerSettings, connect};
use grail_project::{ModelConfig, ModelMode};

use crate::AgentError;
use crate::abilities::with_abilities;
use crate::dialogue::{Mode, Prices};
use crate::templates::template_model;
use crate::workspace::Workspace;

pub use local::{LocalChoice, local_choice, phase_choice, promoted_phase};

/// The model that needs nothing.
pub const TEMPLATE: &str = "template";
/// Before the name or path of weights on this machine.
pub const LOCAL_PREFIX: &str = "local:";
/// Before the name of a phase.
pub const PHASE_PREFIX: &str = "phase:";
const REPLAY_PREFIX: &str = "replay:";

/// A model that can be asked, and what is known about it.
pub struct ChosenModel {
    /// Its name in the settings.
    pub name: String,
    pub model: Box<dyn Model>,
    /// The phase, if it is one.
    pub phase: Option<String>,
    pub prices: Prices,
    /// How it uses tools best, as far as can be told.
    pub preferred_mode: Mode,
    /// How it is asked where it uses no tools: as it was trained.
    pub form: ChatForm,
    /// The hashes of its weights and of its adapter, where it runs on this machine.
    pub identity: Option<String>,
    /// How many tokens a request and its answer may have together, where that is known.
    pub context_tokens: Option<u64>,
}

/// What is known when a model is chosen.
#[derive(Clone)]
pub struct Choosing<'c> {
    /// The model that somebody named.
    pub name: Option<&'c str>,
    /// What it is to do: a phase on trial gets a share of the intents.
    pub intent: Option<&'c str>,
    /// Hears what a local model says while it starts.
    pub listener: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for Choosing<'_> {
    fn default() -> Self {
        Self { name: None, intent: None, listener: Arc::new(|_| {}) }
    }
}

/// The model of this name; without one, the project's own choice. A server is asked what it can do, unless that is known.
pub async fn choose(workspace: &Workspace, name: Option<&str>) -> Result<ChosenModel, AgentError> {
    choose_with(workspace, Choosing { name, ..Choosing::default() }).await
}

/// The same, for whoever knows more. Without a name it is the one that `[generate]` names, or the promoted phase, which stands in for its own
/// base also where that is named; else `template`.
pub async fn choose_with(workspace: &Workspace, choosing: Choosing<'_>) -> Result<ChosenModel, AgentError> {
    let name = match choosing.name {
        Some(name) => name.to_owned(),
        None => default_name(workspace, choosing.intent)?,
    };
    let name = name.as_str();
    if name == TEMPLATE {
        return Ok(plain(name, Box::new(template_model(workspace))));
    }
    if let Some(file) = name.strip_prefix(REPLAY_PREFIX) {
        return Ok(plain(name, Box::new(Replay::new(Recording::read(Path::new(file))?))));
    }
    let config = workspace.project.config.models.get(name);
    if let Some(settings) = config.filter(|settings| settings.weights.is_none()) {
        return on_server(workspace, name, settings).await;
    }
    match local_choice(workspace, name)? {
        Some(choice) => choice.start(choosing.listener).await,
        None => Err(unknown_model(workspace, name)),
    }
}

/// The model that answers where nobody names one.
fn default_name(workspace: &Workspace, intent: Option<&str>) -> Result<String, AgentError> {
    if let Some(phase) = promoted_phase(workspace, intent)?.filter(|phase| stands_in(workspace, phase)) {
        return Ok(format!("{PHASE_PREFIX}{}", phase.id));
    }
    Ok(workspace.project.config.generate.model.as_deref().unwrap_or(TEMPLATE).to_owned())
}

/// The model that answers an intent as well, unseen, where nobody names one: a phase that challenges in the shadow.
pub fn shadow_name(workspace: &Workspace, intent: &str) -> Result<Option<String>, AgentError> {
    let phase = local::shadow_phase(workspace, intent)?.filter(|phase| stands_in(workspace, phase));
    Ok(phase.map(|phase| format!("{PHASE_PREFIX}{}", phase.id)))
}

/// Whether a phase may answer where nobody names a model: the project names none either, or the phase's own base.
fn stands_in(workspace: &Workspace, phase: &Phase) -> bool {
    let config = &workspace.project.config;
    config.generate.model.as_deref().is_none_or(|name| {
        let weights = config.models.get(name).and_then(|model| model.weights.as_deref());
        weights.unwrap_or(name.strip_prefix(LOCAL_PREFIX).unwrap_or(name)) == phase.base.name
    })
}

fn unknown_model(workspace: &Workspace, name: &str) -> AgentError {
    let forms = [TEMPLATE, "replay:FILE", "local:PATH", "phase:ID"].map(str::to_owned);
    let pulled = CATALOGUE.iter().map(|entry| entry.name.to_owned());
    let own = workspace.project.config.models.keys().cloned();
    AgentError::UnknownModel {
        name: name.to_owned(),
        known: forms.into_iter().chain(pulled).chain(own).collect(),
    }
}

/// What `grail.toml` says about a model, for whoever asks it.
pub fn server_settings(name: &str, config: &ModelConfig) -> ServerSettings {
    let mut settings = ServerSettings::new(
        config.url.as_deref().unwrap_or_default(),
        config.model.clone().unwrap_or_else(|| name.to_owned()),
    );
    settings.aliases.clone_from(&config.aliases);
    settings.key_env.clone_from(&config.key_env);
    settings.temperature = config.temperature;
    settings.max_tokens = config.max_tokens;
    settings.retries = config.retries.unwrap_or(settings.retries);
    settings.timeout = config.timeout.map_or(settings.timeout, Duration::from_secs);
    settings.total_timeout = config.total_timeout.map_or(settings.total_timeout, Duration::from_secs);
    settings
}

async fn on_server(
    workspace: &Workspace,
    name: &str,
    config: &ModelConfig,
) -> Result<ChosenModel, AgentError> {
    let server = connect(&server_settings(name, config))?;
    let server = with_abilities(server, &workspace.project.root, workspace.clock.as_ref()).await?;
    let preferred_mode = match config.mode {
        ModelMode::Direct => Mode::Direct,
        ModelMode::Code => Mode::Code,
        ModelMode::Answer => Mode::Answer,
        // Calls in words cost a round trip each and are often misspelt; a program is what such a model writes best.
        ModelMode::Auto if server.abilities().tool_calls => Mode::Direct,
        ModelMode::Auto => Mode::Code,
    };
    Ok(ChosenModel {
        name: name.to_owned(),
        model: Box::new(server),
        phase: None,
        prices: Prices {
            input: config.input_price.unwrap_or_default(),
            output: config.output_price.unwrap_or_default(),
        },
        preferred_mode,
        form: ChatForm::default(),
        identity: None,
        context_tokens: config.context_tokens,
    })
}

/// A model that costs nothing and calls tools one by one.
fn plain(name: &str, model: Box<dyn Model>) -> ChosenModel {
    ChosenModel {
        name: name.to_owned(),
        model,
        phase: None,
        prices: Prices::default(),
        preferred_mode: Mode::Direct,
        form: ChatForm::default(),
        identity: None,
        context_tokens: None,
    }
}
