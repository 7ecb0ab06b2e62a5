//! What the difference consists of: rules that are broken more or less often, and answers side by side.

use std::collections::BTreeMap;

use super::paired::Pair;
use super::{CompareSettings, RuleChange, SideBySide, Told};
use crate::evaluation::{Answer, broken_rules};

/// No more are told in all.
const MOST_EXAMPLES: usize = 40;

/// Rules that one side broke where the other did not, the most changed first.
pub(super) fn changed_rules(pairs: &[Pair<'_>]) -> Vec<RuleChange> {
    let mut changes: BTreeMap<&str, RuleChange> = BTreeMap::new();
    for pair in pairs {
        let (before, after) = (broken_rules(pair.before), broken_rules(pair.after));
        for rule in before.iter().chain(after.iter().filter(|rule| !before.contains(rule))) {
            let change = changes.entry(rule).or_insert_with(|| RuleChange {
                rule: (*rule).to_owned(),
                won: 0,
                lost: 0,
                before: 0,
                after: 0,
            });
            let (was, is) = (before.contains(rule), after.contains(rule));
            change.before += u64::from(was);
            change.after += u64::from(is);
            change.won += u64::from(was && !is);
            change.lost += u64::from(is && !was);
        }
    }
    let mut changes: Vec<RuleChange> =
        changes.into_values().filter(|change| change.won + change.lost > 0).collect();
    changes.sort_by_key(|change| (std::cmp::Reverse(change.won + change.lost), change.rule.clone()));
    changes
}

/// Pairs of which one passed: some of each rule and kind, so that many of a sort do not hide the others.
pub(super) fn side_by_side(pairs: &[Pair<'_>], settings: &CompareSettings) -> Vec<SideBySide> {
    let mut told: BTreeMap<(bool, String, String), usize> = BTreeMap::new();
    let mut examples = Vec::new();
    for pair in pairs {
        let (before, after) = (pair.before.passed(settings.measure), pair.after.passed(settings.measure));
        if before == after {
            continue;
        }
        let failed = if after { pair.before } else { pair.after };
        let rule = failed.problems.first().map(|problem| problem.rule.clone());
        let count = told.entry((after, rule.clone().unwrap_or_default(), failed.kind.clone())).or_default();
        *count += 1;
        if *count > settings.examples || examples.len() >= MOST_EXAMPLES {
            continue;
        }
        examples.push(SideBySide {
            prompt: pair.after.prompt.clone(),
            kind: pair.after.kind.clone(),
            group: pair.after.group,
            seed: pair.after.seed,
            won: after,
            rule,
            before: shown(pair.before, before),
            after: shown(pair.after, after),
        });
    }
    examples
        .sort_by_key(|example| (!example.won, example.kind.clone(), example.prompt.clone(), example.seed));
    examples
}

fn shown(answer: &Answer, passed: bool) -> Told {
    Told { passed, code: answer.code.clone(), problems: answer.problems.clone() }
}
