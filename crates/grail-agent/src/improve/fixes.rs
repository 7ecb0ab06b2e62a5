//! The first lever: fixes that rules have and that are not applied unasked, and rules that have none.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use grail_flywheel::evaluation::{Answer, Evaluation, Measure};
use grail_flywheel::suite::{Suite, check_code};
use grail_rules::Safety;

use super::{Cost, Failing, Halves, Lever, LeverReport, compare_on, failures, seconds_since};
use crate::AgentError;
use crate::answer::name_of;
use crate::artifact::{check_with_fixes, find_kind, path_for};
use crate::workspace::Workspace;

/// Rules without a fix that are told.
const MAX_RULES: usize = 3;

/// What fixes that may change the meaning would gain, and which rules a fix is wanted for.
pub(super) fn try_fixes(
    workspace: &Workspace,
    suite: &Suite,
    evaluation: &Evaluation,
    halves: &Halves,
) -> Result<Vec<LeverReport>, AgentError> {
    let begun = Instant::now();
    let (mut fixed, mut by_rule) = (evaluation.clone(), BTreeMap::<String, u64>::new());
    for answer in
        fixed.answers.iter_mut().filter(|answer| !answer.passed_with_fixes && !answer.code.is_empty())
    {
        let Some(rules) = passes_with_unsafe_fixes(workspace, suite, answer)? else { continue };
        answer.passed_with_fixes = true;
        rules.into_iter().for_each(|rule| *by_rule.entry(rule).or_default() += 1);
    }
    let mut reports = Vec::new();
    if !by_rule.is_empty() {
        let on = |ids: &[String]| compare_on(evaluation, &fixed, ids, Measure::WithFixes);
        let (chosen, confirmed) = (on(&halves.choosing)?, on(&halves.confirming)?);
        let gained = chosen.as_ref().map(|comparison| comparison.difference);
        let accepted = chosen.is_some_and(|comparison| comparison.difference.estimate > 0.0)
            && confirmed.as_ref().is_some_and(grail_flywheel::comparison::Comparison::is_win);
        let rules: Vec<String> =
            by_rule.iter().map(|(rule, answers)| format!("`{rule}` ({answers})")).collect();
        reports.push(LeverReport {
            lever: Lever::Fix,
            what: format!("apply the fixes that may change the meaning: {}", rules.join(", ")),
            gained,
            confirmed: confirmed.map(|comparison| comparison.difference),
            accepted,
            cost: Cost { seconds: seconds_since(begun), ..Cost::default() },
            next: "look at what they change with `grail check --fix --unsafe-fixes`; a fix that is always right can be \
                   declared `safe` in its rule"
                .to_owned(),
        });
    }
    reports.extend(without_fix(workspace, evaluation));
    Ok(reports)
}

/// The rules whose unsafe fixes make an answer pass, if they do.
fn passes_with_unsafe_fixes(
    workspace: &Workspace,
    suite: &Suite,
    answer: &Answer,
) -> Result<Option<BTreeSet<String>>, AgentError> {
    let (_, kind) = find_kind(workspace, &answer.kind)?;
    let Ok(path) = path_for(workspace, &kind, &name_of(&answer.code, &kind.name)) else { return Ok(None) };
    let (text, report) = check_with_fixes(workspace, Some(&kind.name), &path, &answer.code, Safety::Unsafe)?;
    let Some(prompt) = suite.get(&answer.prompt) else { return Ok(None) };
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

/// Rules that fail often and have no fix at all: what one could gain at most.
fn without_fix(workspace: &Workspace, evaluation: &Evaluation) -> Vec<LeverReport> {
    let has_no_fix = |failing: &Failing| {
        let mut rules = workspace.library.rules();
        rules.any(|(_, rule)| *rule.id == *failing.rule && rule.fix.is_none())
    };
    let wanted = failures(evaluation).into_iter().filter(|failing| failing.alone > 0 && has_no_fix(failing));
    wanted
        .take(MAX_RULES)
        .map(|failing| LeverReport {
            lever: Lever::Fix,
            what: format!(
                "write a fix for `{}`, which {} answers break ({} of them nothing else)",
                failing.rule, failing.answers, failing.alone
            ),
            gained: None,
            confirmed: None,
            accepted: false,
            cost: Cost::default(),
            next: format!(
                "at most {} of {} answers more would pass; `grail rules show {}` shows the rule",
                failing.alone,
                evaluation.answers.len(),
                failing.rule
            ),
        })
        .collect()
}
