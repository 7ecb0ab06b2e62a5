//! The same intent once more, for a phase on trial: nobody sees its answer, and what came of it is an event.

use std::sync::Arc;

use grail_flywheel::event::Tokens;
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
    let events = remembered.events().into_iter();
    let mut told: Vec<EventKind> =
        events.filter_map(|event| in_shadow(event.kind, &name, failure.as_deref())).collect();
    if told.is_empty() {
        told.push(EventKind::Shadow {
            challenger: name,
            artifact: String::new(),
            code: String::new(),
            validated: false,
            types: None,
            tests: None,
            problems: Vec::new(),
            retries: 0,
            path: String::new(),
            tokens: Tokens::default(),
            milliseconds: 0,
            failure,
        });
    }
    for kind in told {
        workspace.session.emit(kind);
    }
    Ok(())
}

/// A generation as one that nobody saw.
fn in_shadow(kind: EventKind, challenger: &str, failure: Option<&str>) -> Option<EventKind> {
    let EventKind::Generation {
        artifact,
        code,
        validated,
        types,
        tests,
        problems,
        retries,
        path,
        tokens,
        milliseconds,
        ..
    } = kind
    else {
        return None;
    };
    Some(EventKind::Shadow {
        challenger: challenger.to_owned(),
        artifact,
        code,
        validated,
        types,
        tests,
        problems,
        retries,
        path,
        tokens,
        milliseconds,
        failure: failure.map(str::to_owned),
    })
}
