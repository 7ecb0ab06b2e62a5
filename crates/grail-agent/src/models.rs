//! Which model does the work: `template`, which needs nothing, one of `grail.toml`, or a recorded conversation.

use std::path::Path;

use grail_model::{Model, Recording, Replay};

use crate::AgentError;
use crate::dialogue::{Mode, Prices};
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
}

/// The model of this name; without one, the project's own choice, else `template`.
pub fn choose(workspace: &Workspace, name: Option<&str>) -> Result<ChosenModel, AgentError> {
    let name = name.unwrap_or(TEMPLATE);
    if let Some(file) = name.strip_prefix("replay:") {
        return replay(name, Path::new(file));
    }
    let _ = workspace;
    Err(AgentError::UnknownModel {
        name: name.to_owned(),
        known: vec![TEMPLATE.to_owned(), "replay:FILE".to_owned()],
    })
}

fn replay(name: &str, file: &Path) -> Result<ChosenModel, AgentError> {
    let text = std::fs::read_to_string(file)
        .map_err(|source| AgentError::Storage { path: file.display().to_string(), source })?;
    let recording: Recording = serde_json::from_str(&text).map_err(|error| AgentError::Other {
        message: format!("`{}` is no recording: {error}", file.display()),
        hint: None,
    })?;
    Ok(ChosenModel {
        name: name.to_owned(),
        model: Box::new(Replay::new(recording)),
        prices: Prices::default(),
        preferred_mode: Mode::Direct,
    })
}
