//! The same intent once more, for a phase on trial: nobody sees its answer, and what came of it is an event.

use std::sync::Arc;

use grail_flywheel::{EventKind, RememberedEvents};
use grail_sandbox::Toolset;

use super::{Company, GenerateSettings, Generation};
use crate::AgentError;
use crate::dialogue::DialogueLimits;
use crate::models::ChosenModel;
use crate::workspace::{Surroundings, Workspace};

/// Lets a challenger answer, asked as it was trained, in a workspace of its own whose events nobody keeps. What it makes is checked like any
/// other work, and lost; this session only tells how it ended. Whether it passes or not is no failure.
pub async fn answer_in_shadow(
    workspace: &Workspace,
    challenger: &ChosenModel,
    intent: &str,
    settings: GenerateSettings,
) -> Result<(), AgentError> {
    let name = challenger.phase.clone().unwrap_or_else(|| challenger.name.clone());
    let settings = GenerateSettings {
        model_name: challenger.name.clone(),
        phase: challenger.phase.clone(),
        mode: challenger.preferred_mode,
        form: challenger.form.clone(),
        limits: DialogueLimits { prices: challenger.prices, ..settings.limits },
        ..settings
    };
    let remembered = Arc::new(RememberedEvents::default());
    let surroundings = Surroundings {
        home: workspace.home.clone(),
        program: workspace.program.clone(),
        clock: Arc::clone(&workspace.clock),
        events: Arc::clone(&remembered) as _,
        classifier: Arc::clone(&workspace.classifier),
    };
    let beside = Arc::new(Workspace::open(workspace.project.clone(), surroundings)?);
    let (model, tools, company) = (challenger.model.as_ref(), Toolset::default(), Company::default());
    let made = match Generation::start(&beside, model, tools, intent, settings, company).await {
        Ok(mut generation) => generation.run().await,
        Err(error) => Err(error),
    };
    let failure = made.err().map(|error| error.to_string());
    let is_answer = |kind: &EventKind| matches!(kind, EventKind::Generation { .. });
    let mut answers: Vec<Option<Box<EventKind>>> = remembered
        .events()
        .into_iter()
        .map(|event| event.kind)
        .filter(is_answer)
        .map(|kind| Some(Box::new(kind)))
        .collect();
    if answers.is_empty() {
        answers.push(None);
    }
    for answer in answers {
        workspace.session.emit(EventKind::Shadow {
            challenger: name.clone(),
            answer,
            failure: failure.clone(),
        });
    }
    Ok(())
}
