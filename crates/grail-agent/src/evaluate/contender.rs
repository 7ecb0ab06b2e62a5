//! Who is asked: a phase, a model by name, or whoever a test brings. The model is started with the first question, and not if there is none.

use grail_flywheel::dataset::ChatForm;
use grail_flywheel::dataset::store::open_dataset;
use grail_flywheel::phase::{Phase, Phases};
use grail_model::{Model, ModelError};
use tokio::sync::OnceCell;

use crate::AgentError;
use crate::models;
use crate::workspace::Workspace;

pub struct Contender {
    /// As reports call it.
    pub name: String,
    /// The model that is asked, by its name.
    pub model: String,
    /// Who must answer, as far as that is known before it is asked.
    pub identity: String,
    pub phase: Option<String>,
    /// How it is asked: as it was trained.
    pub form: ChatForm,
    asked: OnceCell<Box<dyn Model>>,
}

impl Contender {
    /// A phase or a model by its name.
    pub fn named(workspace: &Workspace, name: &str) -> Result<Self, AgentError> {
        let phases = Phases::new(&workspace.project.root);
        if is_phase_name(name) || name == CURRENT {
            return Self::of_phase(workspace, &phases.get(name)?);
        }
        Self::of_model(workspace, name)
    }

    pub fn of_phase(workspace: &Workspace, phase: &Phase) -> Result<Self, AgentError> {
        Phases::new(&workspace.project.root).verify_adapter(phase)?;
        let unknown = || AgentError::Other {
            message: format!("nobody knows who phase `{}` is", phase.id),
            hint: Some("its training has not ended; `grail train --resume` goes on with it".to_owned()),
        };
        Ok(Self {
            name: phase.id.clone(),
            model: phase.id.clone(),
            identity: phase.identity.clone().ok_or_else(unknown)?,
            phase: Some(phase.id.clone()),
            form: form_of(workspace, phase),
            asked: OnceCell::new(),
        })
    }

    /// What a phase was before training: its base, asked in the same form.
    pub fn base_of(workspace: &Workspace, phase: &Phase) -> Result<Self, AgentError> {
        let base = Self::of_model(workspace, &phase.base.name)?;
        let identity = phase.base.sha256.get(..16).map_or(base.identity, str::to_owned);
        Ok(Self { identity, form: form_of(workspace, phase), ..base })
    }

    pub fn of_model(workspace: &Workspace, name: &str) -> Result<Self, AgentError> {
        Ok(Self {
            name: name.to_owned(),
            model: name.to_owned(),
            identity: models::identity_of(workspace, name)?,
            phase: None,
            form: ChatForm::default(),
            asked: OnceCell::new(),
        })
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

    /// The same as a phase of this name.
    pub fn in_phase(self, phase: &str) -> Self {
        Self { phase: Some(phase.to_owned()), ..self }
    }

    /// The model, started if need be, and only if it is who it should be.
    pub(super) async fn started(&self, workspace: &Workspace) -> Result<&dyn Model, AgentError> {
        let start = || async {
            let chosen = models::choose(workspace, Some(&self.model)).await?;
            match chosen.identity {
                Some(identity) if identity != self.identity => {
                    Err(ModelError::OtherModel { asked: self.identity.clone(), answered: identity }.into())
                }
                _ => Ok::<_, AgentError>(chosen.model),
            }
        };
        Ok(self.asked.get_or_try_init(start).await?.as_ref())
    }
}

/// The name of the phase that answers.
pub const CURRENT: &str = "current";

/// `p3` or `p3-1f2e3d`.
pub fn is_phase_name(name: &str) -> bool {
    let number = name.strip_prefix('p').map(|rest| rest.split_once('-').map_or(rest, |(number, _)| number));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// How the examples of a phase were said. A dataset that is gone was said as all are by default.
fn form_of(workspace: &Workspace, phase: &Phase) -> ChatForm {
    let dataset = phase.dataset.as_deref().and_then(|hash| open_dataset(&workspace.project.root, Some(hash)).ok());
    dataset.map(|dataset| dataset.manifest.form).unwrap_or_default()
}
