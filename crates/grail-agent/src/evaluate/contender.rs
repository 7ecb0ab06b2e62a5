//! Who is asked: a phase, a model by name, or whoever a test brings. The model is started with the first question, and not if there is none.

use grail_flywheel::dataset::{ChatForm, open_dataset};
use grail_flywheel::phase::{Phase, Phases};
use grail_model::local::catalogue_entry;
use grail_model::{Model, ModelError};
use tokio::sync::OnceCell;

use crate::AgentError;
use crate::models::{self, LOCAL_PREFIX, PHASE_PREFIX, TEMPLATE, local_choice};
use crate::templates::template_hash;
use crate::workspace::Workspace;

/// The name of the phase that answers.
pub const CURRENT: &str = "current";
/// So many characters of a hash name weights.
const SHORT_HASH: usize = 16;

pub struct Contender {
    /// As reports call it.
    pub name: String,
    /// The model that is asked, by its name.
    pub model: String,
    /// Who must answer.
    pub identity: String,
    pub phase: Option<String>,
    /// How it is asked: as it was trained.
    pub form: ChatForm,
    asked: OnceCell<Box<dyn Model>>,
}

impl Contender {
    /// A phase or a model by its name.
    pub async fn named(workspace: &Workspace, name: &str) -> Result<Self, AgentError> {
        let phase = name.strip_prefix(PHASE_PREFIX).unwrap_or(name);
        if phase != name || is_phase_name(name) || name == CURRENT {
            return Self::of_phase(workspace, &Phases::new(&workspace.project.root).get(phase)?);
        }
        Self::of_model(workspace, name).await
    }

    pub fn of_phase(workspace: &Workspace, phase: &Phase) -> Result<Self, AgentError> {
        Phases::new(&workspace.project.root).verify_adapter(phase)?;
        let unknown = || AgentError::Other {
            message: format!("nobody knows who phase `{}` is", phase.id),
            hint: Some("its training has not ended; train again, or resume the training".to_owned()),
        };
        Ok(Self {
            name: phase.id.clone(),
            model: format!("{PHASE_PREFIX}{}", phase.id),
            identity: phase.identity.clone().ok_or_else(unknown)?,
            phase: Some(phase.id.clone()),
            form: form_of(workspace, phase),
            asked: OnceCell::new(),
        })
    }

    /// What a phase was before training: its base, asked in the same form.
    pub fn base_of(workspace: &Workspace, phase: &Phase) -> Self {
        Self {
            name: phase.base.name.clone(),
            model: format!("{LOCAL_PREFIX}{}", phase.base.name),
            identity: phase.base.sha256.chars().take(SHORT_HASH).collect(),
            phase: None,
            form: form_of(workspace, phase),
            asked: OnceCell::new(),
        }
    }

    /// A model by its name. One of which nobody knows who it is before it says so is started at once.
    pub async fn of_model(workspace: &Workspace, name: &str) -> Result<Self, AgentError> {
        // Weights have one name, or those who were asked as a base would be asked again.
        let is_configured = workspace.project.config.models.contains_key(name);
        let model = match catalogue_entry(name).filter(|_| !is_configured) {
            Some(entry) => format!("{LOCAL_PREFIX}{}", entry.name),
            None => name.to_owned(),
        };
        let contender = |identity: String, asked| Self {
            name: name.strip_prefix(LOCAL_PREFIX).unwrap_or(name).to_owned(),
            model: model.clone(),
            identity,
            phase: None,
            form: ChatForm::default(),
            asked,
        };
        if let Some(identity) = known_identity(workspace, name)? {
            return Ok(contender(identity, OnceCell::new()));
        }
        let chosen = models::choose(workspace, Some(name)).await?;
        let identity = chosen.identity.unwrap_or_else(|| chosen.model.name().to_owned());
        Ok(contender(identity, OnceCell::new_with(Some(chosen.model))))
    }

    /// A model that is there already.
    pub fn with_model(name: &str, identity: &str, model: Box<dyn Model>) -> Self {
        Self {
            name: name.to_owned(),
            model: model.name().to_owned(),
            identity: identity.to_owned(),
            phase: None,
            form: ChatForm::default(),
            asked: OnceCell::new_with(Some(model)),
        }
    }

    /// The same, as a phase.
    pub fn in_phase(self, phase: &str) -> Self {
        Self { phase: Some(phase.to_owned()), ..self }
    }

    /// The model, started if need be, and only if it is who it should be.
    pub(super) async fn started(&self, workspace: &Workspace) -> Result<&dyn Model, AgentError> {
        let start = || async {
            let chosen = models::choose(workspace, Some(&self.model)).await?;
            match chosen.identity {
                Some(found) if found != self.identity => {
                    let (model, expected) = (self.name.clone(), self.identity.clone());
                    Err(AgentError::from(ModelError::OtherIdentity { model, expected, found }))
                }
                _ => Ok(chosen.model),
            }
        };
        Ok(self.asked.get_or_try_init(start).await?.as_ref())
    }
}

/// `p3` or `p3-1f2e3d`.
pub fn is_phase_name(name: &str) -> bool {
    let number = name.strip_prefix('p').map(|rest| rest.split_once('-').map_or(rest, |(number, _)| number));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Who a model is, as far as that can be told without asking it.
fn known_identity(workspace: &Workspace, name: &str) -> Result<Option<String>, AgentError> {
    if name == TEMPLATE {
        return Ok(Some(format!("template@{}", template_hash(workspace))));
    }
    if let Some(file) = name.strip_prefix("replay:") {
        let bytes =
            std::fs::read(file).map_err(|source| AgentError::Storage { path: file.to_owned(), source })?;
        return Ok(Some(format!("replay@{}", &blake3::hash(&bytes).to_hex()[..SHORT_HASH])));
    }
    if let Some(config) = workspace.project.config.models.get(name).filter(|config| config.weights.is_none())
    {
        return Ok(Some(config.model.clone().unwrap_or_else(|| name.to_owned())));
    }
    let choice = local_choice(workspace, name)?;
    let hash =
        choice.filter(|choice| choice.settings.adapter.is_none()).and_then(|choice| choice.settings.sha256);
    Ok(hash.map(|hash| hash.chars().take(SHORT_HASH).collect()))
}

/// How the examples of a phase were said. A dataset that is gone was said as all are by default.
fn form_of(workspace: &Workspace, phase: &Phase) -> ChatForm {
    let dataset =
        phase.dataset.as_deref().and_then(|hash| open_dataset(&workspace.project.root, Some(hash)).ok());
    dataset.map(|dataset| dataset.manifest.form).unwrap_or_default()
}
