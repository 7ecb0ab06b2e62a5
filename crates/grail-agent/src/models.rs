//! Which model does the work: `template`, which needs nothing, one of `grail.toml`, or a recorded conversation.

use std::path::Path;
use std::time::Duration;

use grail_model::{Model, Recording, Replay, ServerSettings, connect};
use grail_project::{ModelConfig, ModelMode};

use crate::AgentError;
use crate::abilities::with_abilities;
use crate::dialogue::{Mode, Prices};
use crate::templates::template_model;
use crate::workspace::Workspace;

/// The model that needs nothing.
pub const TEMPLATE: &str = "template";

/// A model that can be asked, and what is known about it.
pub struct ChosenModel {
    /// Its name in the settings.
    pub name: String,
    pub model: Box<dyn Model>,
    pub prices: Prices,
    /// How it uses tools best, as far as can be told.
    pub preferred_mode: Mode,
    /// How many tokens a request and its answer may have together, where that is known.
    pub context_tokens: Option<u64>,
}

/// The model of this name; without one, the project's own choice, else `template`. A server is asked what it can do, unless that is known.
pub async fn choose(workspace: &Workspace, name: Option<&str>) -> Result<ChosenModel, AgentError> {
    let config = &workspace.project.config;
    let name = name.or(config.generate.model.as_deref()).unwrap_or(TEMPLATE);
    if name == TEMPLATE {
        return Ok(plain(name, Box::new(template_model(workspace))));
    }
    if let Some(file) = name.strip_prefix("replay:") {
        return Ok(plain(name, Box::new(Replay::new(Recording::read(Path::new(file))?))));
    }
    if let Some(settings) = config.models.get(name) {
        return on_server(workspace, name, settings).await;
    }
    let own = config.models.keys().cloned();
    let known = [TEMPLATE.to_owned(), "replay:FILE".to_owned()].into_iter().chain(own).collect();
    Err(AgentError::UnknownModel { name: name.to_owned(), known })
}

/// What `grail.toml` says about a model, for whoever asks it.
pub fn server_settings(name: &str, config: &ModelConfig) -> ServerSettings {
    let mut settings =
        ServerSettings::new(&config.url, config.model.clone().unwrap_or_else(|| name.to_owned()));
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
        // Calls in words cost a round trip each and are often misspelt; a program is what such a model writes best.
        ModelMode::Auto if server.abilities().tool_calls => Mode::Direct,
        ModelMode::Auto => Mode::Code,
    };
    Ok(ChosenModel {
        name: name.to_owned(),
        model: Box::new(server),
        prices: Prices {
            input: config.input_price.unwrap_or_default(),
            output: config.output_price.unwrap_or_default(),
        },
        preferred_mode,
        context_tokens: config.context_tokens,
    })
}

/// A model that costs nothing and calls tools one by one.
fn plain(name: &str, model: Box<dyn Model>) -> ChosenModel {
    ChosenModel {
        name: name.to_owned(),
        model,
        prices: Prices::default(),
        preferred_mode: Mode::Direct,
        context_tokens: None,
    }
}
