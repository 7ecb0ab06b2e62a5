//! Evaluations that were made before, and are still true: of the same suite, asked in the same way, judged by the rules of today.

use grail_flywheel::evaluation::{Evaluation, keep_evaluation, list_evaluations};
use grail_flywheel::phase::Phases;
use grail_flywheel::suite::Suite;
use grail_rules::tools::{ToolSettings, find_working};

use super::{
    ArmOf, EvaluateSettings, Evaluated, Progress, SkillTexts, asking, evaluate, render, rules_in_force,
};
use crate::AgentError;
use crate::workspace::Workspace;

/// The type checker.
const TYPE_CHECKER: &str = "ty";

/// The evaluation of an arm: as it is kept, else made now and kept.
pub async fn evaluate_once(
    workspace: &Workspace,
    suite: &Suite,
    arm: ArmOf<'_>,
    settings: &EvaluateSettings,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<Evaluated, AgentError> {
    let skill = arm.skill.map(SkillTexts::identity);
    let is_of_arm = |evaluation: &Evaluation| {
        let known = &evaluation.arm;
        known.identity == arm.contender.identity
            && known.model == arm.contender.model
            && known.phase == arm.contender.phase
            && known.skill == skill
            && known.control == arm.control
    };
    if let Some(evaluation) = find(workspace, suite, arm, settings, is_of_arm)? {
        let (notes, remembered) = (missing_layers(suite, &evaluation, settings), evaluation.answers.len());
        let remembered_tokens = evaluation.score().output_tokens;
        return Ok(Evaluated { evaluation, notes, remembered, remembered_tokens });
    }
    let evaluated = evaluate(workspace, suite, arm, settings, watch).await?;
    let root = &workspace.project.root;
    let evaluation = keep_evaluation(root, evaluated.evaluation)?;
    if let Some(phase) = &arm.contender.phase {
        Phases::new(root).add_evaluation(phase, &evaluation.hash)?;
    }
    Ok(Evaluated { evaluation, ..evaluated })
}

/// The newest evaluation of a phase, whoever answered: whether that was the phase is for others to judge.
pub fn of_phase(
    workspace: &Workspace,
    suite: &Suite,
    arm: ArmOf<'_>,
    settings: &EvaluateSettings,
) -> Result<Option<Evaluation>, AgentError> {
    find(workspace, suite, arm, settings, |evaluation| {
        evaluation.arm.phase == arm.contender.phase && evaluation.arm.skill.is_none()
    })
}

fn find(
    workspace: &Workspace,
    suite: &Suite,
    arm: ArmOf<'_>,
    settings: &EvaluateSettings,
    is_meant: impl Fn(&Evaluation) -> bool,
) -> Result<Option<Evaluation>, AgentError> {
    let rules = rules_in_force(workspace, suite)?;
    let asking = asking(arm, settings);
    let checks_types = settings.types
        && find_working(&workspace.project.root, TYPE_CHECKER, &ToolSettings::default())
            .is_ok_and(|found| found.is_some());
    let renders = settings.render && render::is_wanted(suite) && render::is_installed(workspace);
    let has = |evaluation: &Evaluation, name: &str| evaluation.layers.iter().any(|layer| layer == name);
    let is_true = |evaluation: &Evaluation| {
        evaluation.suite.hash == suite.hash
            && evaluation.seeds == settings.seeds
            && evaluation.asking == asking
            && evaluation.rules == rules
            && evaluation.grail == env!("CARGO_PKG_VERSION")
            && has(evaluation, "types") == checks_types
            && has(evaluation, render::RENDER) == renders
            && evaluation.gaps(suite).is_empty()
    };
    // One that is not what it was is made anew.
    let known = list_evaluations(&workspace.project.root)?.into_iter().flatten();
    Ok(known.into_iter().find(|evaluation| is_true(evaluation) && is_meant(evaluation)))
}

/// What is to be said of an evaluation that was made before: the layers that were wanted and are not there.
fn missing_layers(suite: &Suite, evaluation: &Evaluation, settings: &EvaluateSettings) -> Vec<String> {
    let has = |name: &str| evaluation.layers.iter().any(|layer| layer == name);
    let mut notes = Vec::new();
    if settings.types && !has("types") {
        let install =
            format!("install it with `uv add --dev {TYPE_CHECKER}` or `pip install {TYPE_CHECKER}`");
        notes.push(format!("types were not checked: `{TYPE_CHECKER}` is not installed; {install}"));
    }
    if settings.render && render::is_wanted(suite) && !has(render::RENDER) {
        notes.push(render::NOT_INSTALLED.to_owned());
    }
    notes
}
