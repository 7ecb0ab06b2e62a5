//! The last lever: a phase, weighed by the gate that `grail promote` asks. It takes minutes to hours, so it is trained only for whoever asks for it;
//! everybody else is told what it would cost.
//!
//! Nothing answers with a phase that wins here: `grail promote` lets it.

use std::time::Instant;

use grail_flywheel::phase::{Phase, Phases};
use grail_flywheel::suite::Suite;

use super::{Cost, ImproveSettings, Lever, LeverReport};
use crate::AgentError;
use crate::compare::Watch;
use crate::evaluate::{ArmOf, Progress, SkillTexts, evaluate_once};
use crate::learn::{count_new, last_phase};
use crate::models::PHASE_PREFIX;
use crate::promotion::{Scales, WeighSettings, Weighed, weigh};
use crate::training::{TrainOrder, TrainWatch, train};
use crate::workspace::Workspace;

/// Makes a phase, and says who it is weighed against.
pub type Train<'t> = dyn Fn() -> Result<(Phase, Scales), AgentError> + 't;

/// Trains a phase on a dataset, as `[learn]` and `[train]` say. A training that was broken off is gone on with, and if nothing is new to the last
/// phase, it is that one.
pub fn train_phase(
    workspace: &Workspace,
    dataset: &str,
    watch: &mut TrainWatch<'_>,
) -> Result<(Phase, Scales), AgentError> {
    let root = &workspace.project.root;
    let last = last_phase(root)?;
    let has_learned_all = |phase: &Phase| {
        let new = count_new(root, Some(dataset), Some(phase)).map(|(_, new)| new);
        phase.is_usable() && new.is_ok_and(|new| new == 0)
    };
    let phase = match last {
        Some(phase) if has_learned_all(&phase) => phase,
        last => {
            let broken_off = last.filter(|phase| !phase.is_usable());
            let broken_off = broken_off.map(|phase| format!("{PHASE_PREFIX}{}", phase.id));
            let order = TrainOrder {
                dataset: broken_off.is_none().then_some(dataset),
                model: broken_off.as_deref().or(workspace.project.config.learn.model.as_deref()),
                resume: broken_off.is_some(),
                ..TrainOrder::default()
            };
            train(workspace, &order, watch)?
        }
    };
    let scales = Scales::of(workspace, &phase)?;
    Ok((phase, scales))
}

/// What a phase gains over whoever answers now, if one is to be trained.
pub(super) async fn try_training(
    workspace: &Workspace,
    suite: &Suite,
    settings: &ImproveSettings<'_>,
    watch: Watch<'_>,
) -> Result<LeverReport, AgentError> {
    let untried = LeverReport {
        lever: Lever::Training,
        what: "train a phase on what the project has taught".to_owned(),
        gained: None,
        confirmed: None,
        accepted: false,
        cost: None,
        next: String::new(),
    };
    let Some(train) = settings.train else {
        return Ok(LeverReport { next: forecast(workspace)?, ..untried });
    };
    let (begun, mut cost) = (Instant::now(), Cost::default());
    let tried = train_and_weigh(workspace, suite, train, settings, &mut cost, watch).await;
    let cost = Some(cost.since(begun));
    match tried {
        Ok(weighed) => Ok(LeverReport {
            what: format!("phase `{}` after `{}`", weighed.phase.id, weighed.comparison.before.arm.name),
            gained: Some(weighed.comparison.difference),
            accepted: weighed.verdict.promote,
            cost,
            next: what_next(workspace, &weighed)?,
            ..untried
        }),
        // Whoever interrupts training wants all of it to end.
        Err(error @ AgentError::TrainingInterrupted { .. }) => Err(error),
        // What the other levers came to is told all the same.
        Err(error) => {
            let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
            Ok(LeverReport { cost, next: format!("nothing came of it: {error}{hint}"), ..untried })
        }
    }
}

async fn train_and_weigh(
    workspace: &Workspace,
    suite: &Suite,
    train: &Train<'_>,
    settings: &ImproveSettings<'_>,
    cost: &mut Cost,
    watch: Watch<'_>,
) -> Result<Weighed, AgentError> {
    let (phase, scales) = train()?;
    // The gate does not say what it asked for. So everybody is asked here, and the gate finds the answers.
    let texts = SkillTexts::of_kinds(workspace, &suite.kinds())?;
    let mut arms = vec![ArmOf::told(&scales.candidate, None)];
    arms.extend(ArmOf::controls(&scales.base, &texts));
    arms.extend(scales.current.as_ref().map(|current| ArmOf::told(current, None)));
    for arm in arms {
        let label = arm.label();
        let told = |progress: Progress| watch(&label, progress);
        cost.add_evaluation(&evaluate_once(workspace, suite, arm, &settings.evaluate, &told).await?);
    }
    let settings = WeighSettings { evaluate: settings.evaluate.clone(), ..WeighSettings::of(workspace) };
    weigh(workspace, suite, &phase, &scales, &settings, watch).await
}

fn what_next(workspace: &Workspace, weighed: &Weighed) -> Result<String, AgentError> {
    let id = &weighed.phase.id;
    if Phases::new(&workspace.project.root).current()?.phase.as_ref() == Some(id) {
        return Ok("it answers already, and nothing is new since".to_owned());
    }
    let reasons: Vec<String> = weighed.verdict.refusals.iter().map(ToString::to_string).collect();
    Ok(match weighed.verdict.promote {
        true => format!("`grail promote {id}` lets it answer"),
        false => format!("the gate refuses it, so it is kept and does not answer: {}", reasons.join("; ")),
    })
}

/// What training would cost, as far as that is known, and what to type.
fn forecast(workspace: &Workspace) -> Result<String, AgentError> {
    let root = &workspace.project.root;
    let last = Phases::new(root).list()?.into_iter().filter_map(Result::ok).rfind(Phase::is_usable);
    let examples = match count_new(root, None, last.as_ref()) {
        Ok((all, new)) => format!("{new} of {all} examples are new"),
        Err(_) => "how much there is to learn from is known after `grail dataset build`".to_owned(),
    };
    let seconds = last.iter().flat_map(|phase| &phase.curves).map(|point| point.seconds).fold(0.0, f64::max);
    let time = match seconds > 0.0 {
        true => format!("the last phase took {seconds:.0} s"),
        false => "how long it takes is not known yet, minutes to hours".to_owned(),
    };
    Ok(format!(
        "`grail improve --train` trains one and weighs it as `grail promote` does; {examples}, {time}"
    ))
}
