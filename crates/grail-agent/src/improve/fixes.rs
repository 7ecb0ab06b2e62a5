//! The first lever: fixes that rules have and that are not applied unasked, and the rules that have none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use grail_flywheel::comparison::{Comparison, Difference};
use grail_flywheel::evaluation::{Answer, Evaluation, Measure};
use grail_flywheel::suite::{Suite, check_code};
use grail_rules::{Rule, Safety};

use super::{Cost, Failing, Halves, Lever, LeverReport, compare_on, failures};
use crate::AgentError;
use crate::artifact::{check_with_fixes, find_kind, mend, path_of};
use crate::workspace::Workspace;

/// Rules without a fix that are told.
const MAX_RULES: usize = 3;

/// What fixes that may change the meaning would gain.
pub(super) fn try_fixes(
    workspace: &Workspace,
    suite: &Suite,
    evaluation: &Evaluation,
    halves: &Halves,
) -> Result<Vec<LeverReport>, AgentError> {
    let begun = Instant::now();
    let mut by_rule = BTreeMap::<String, u64>::new();
    let fixed = with_more_passing(evaluation, |answer| {
        let Some(rules) = passes_with_unsafe_fixes(workspace, suite, answer)? else { return Ok(false) };
        rules.into_iter().for_each(|rule| *by_rule.entry(rule).or_default() += 1);
        Ok(true)
    })?;
    let mut reports = Vec::new();
    if !by_rule.is_empty() {
        let Gain { gained, confirmed, accepted } = Gain::of(evaluation, &fixed, halves)?;
        let rules: Vec<String> =
            by_rule.iter().map(|(rule, answers)| format!("`{rule}` ({answers})")).collect();
        reports.push(LeverReport {
            lever: Lever::Fix,
            what: format!("apply the fixes that may change the meaning: {}", rules.join(", ")),
            gained,
            confirmed,
            accepted,
            cost: Some(Cost::default().since(begun)),
            next: "look at what they change with `grail check --fix --unsafe-fixes`; a fix that is always right can be \
                   declared `safe` in its rule"
                .to_owned(),
        });
    }
    Ok(reports)
}

/// What fixes gain on both halves.
pub(super) struct Gain {
    pub(super) gained: Option<Difference>,
    pub(super) confirmed: Option<Difference>,
    /// More on the half that was chosen by, and a win on the other.
    pub(super) accepted: bool,
}

impl Gain {
    pub(super) fn of(before: &Evaluation, after: &Evaluation, halves: &Halves) -> Result<Self, AgentError> {
        let on = |ids: &[String]| compare_on(before, after, ids, Measure::WithFixes);
        let (chosen, confirmed) = (on(&halves.choosing)?, on(&halves.confirming)?);
        let accepted = chosen.as_ref().is_some_and(|comparison| comparison.difference.estimate > 0.0)
            && confirmed.as_ref().is_some_and(Comparison::is_win);
        let difference = |comparison: Comparison| comparison.difference;
        Ok(Self { gained: chosen.map(difference), confirmed: confirmed.map(difference), accepted })
    }
}

/// The evaluation as it would be if some of the answers that fail were mended.
pub(super) fn with_more_passing(
    evaluation: &Evaluation,
    mut is_mended: impl FnMut(&Answer) -> Result<bool, AgentError>,
) -> Result<Evaluation, AgentError> {
    let mut mended = evaluation.clone();
    for answer in
        mended.answers.iter_mut().filter(|answer| !answer.passed_with_fixes && !answer.code.is_empty())
    {
        answer.passed_with_fixes = is_mended(answer)?;
    }
    Ok(mended)
}

/// The rules whose unsafe fixes make an answer pass, if they do.
fn passes_with_unsafe_fixes(
    workspace: &Workspace,
    suite: &Suite,
    answer: &Answer,
) -> Result<Option<BTreeSet<String>>, AgentError> {
    let (_, kind) = find_kind(workspace, &answer.kind)?;
    let Some(prompt) = suite.get(&answer.prompt) else { return Ok(None) };
    let code = mend(workspace, &kind, &answer.code, &prompt.prompt)?.code;
    let Ok(path) = path_of(workspace, &kind, &code) else { return Ok(None) };
    let (text, report) = check_with_fixes(workspace, Some(&kind.name), &path, &code, Safety::Unsafe)?;
    if !report.success || !check_code(&prompt.checks, &text).is_empty() {
        return Ok(None);
    }
    let rules = workspace.library.rules();
    let is_unsafe: BTreeSet<&str> =
        rules.filter(|(_, rule)| rule.fix == Some(Safety::Unsafe)).map(|(_, rule)| &*rule.id).collect();
    let applied: BTreeSet<String> =
        report.fixed.into_keys().filter(|rule| is_unsafe.contains(rule.as_str())).collect();
    Ok((!applied.is_empty()).then_some(applied))
}

/// Rules that answers break alone and that have no fix at all, the most broken first.
pub(super) fn rules_without_fix(workspace: &Workspace, evaluation: &Evaluation) -> Vec<(Failing, Arc<Rule>)> {
    let without_fix = |failing: Failing| {
        let mut rules = workspace.library.rules();
        let (_, rule) = rules.find(|(_, rule)| *rule.id == *failing.rule && rule.fix.is_none())?;
        Some((failing, Arc::clone(rule)))
    };
    let failing = failures(evaluation).into_iter().filter(|failing| failing.alone > 0);
    failing.filter_map(without_fix).take(MAX_RULES).collect()
}

/// What one could gain at most if somebody wrote a fix.
pub(super) fn wanted(failing: &Failing, evaluation: &Evaluation) -> LeverReport {
    LeverReport {
        lever: Lever::Fix,
        what: format!(
            "write a fix for `{}`, which {} answers break ({} of them nothing else)",
            failing.rule, failing.answers, failing.alone
        ),
        gained: None,
        confirmed: None,
        accepted: false,
        cost: None,
        next: format!(
            "at most {} of {} answers more would pass; `grail rules show {}` shows the rule",
            failing.alone,
            evaluation.answers.len(),
            failing.rule
        ),
    }
}
