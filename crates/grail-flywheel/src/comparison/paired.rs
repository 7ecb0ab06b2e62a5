//! The comparison itself.

use std::collections::{BTreeMap, BTreeSet};

use super::examples::{changed_rules, side_by_side};
use super::{CompareSettings, Comparison, Difference, Part, Side};
use crate::FlywheelError;
use crate::evaluation::{Answer, Evaluation, Proportion};
use crate::statistics::{Cluster, SequentialTest, bootstrap_difference, mcnemar};
use crate::suite::shuffled;

/// Both answers to one prompt with one seed.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) before: &'a Answer,
    pub(super) after: &'a Answer,
}

/// Compares two evaluations of one suite, with the usual settings.
pub fn compare(before: &Evaluation, after: &Evaluation) -> Result<Comparison, FlywheelError> {
    compare_with(before, after, &CompareSettings::default())
}

/// Compares two evaluations of one suite on the prompts and seeds that both answered.
pub fn compare_with(
    before: &Evaluation,
    after: &Evaluation,
    settings: &CompareSettings,
) -> Result<Comparison, FlywheelError> {
    if before.suite.hash != after.suite.hash {
        return Err(FlywheelError::refused(
            format!(
                "`{}` answered suite `{}` and `{}` answered `{}`: they cannot be compared",
                before.arm.name, before.suite.hash, after.arm.name, after.suite.hash
            ),
            "evaluate both with the same suite",
        ));
    }
    let pairs = pairs(before, after);
    if pairs.is_empty() {
        return Err(FlywheelError::refused(
            format!("`{}` and `{}` have no prompt and seed in common", before.arm.name, after.arm.name),
            "evaluate both with the same seeds",
        ));
    }
    let all: Vec<&Pair<'_>> = pairs.iter().collect();
    let whole = part("all", &all, settings);
    let mut sequential = SequentialTest::new(settings.confidence);
    let differences: BTreeMap<&str, f64> =
        clusters(&all, settings).into_iter().map(|(prompt, cluster)| (prompt, mean(cluster))).collect();
    for prompt in shuffled(differences.keys().copied(), settings.seed) {
        sequential.push(differences[prompt]);
    }
    let parts = |name: fn(&Answer) -> &str| {
        let mut parts: BTreeMap<&str, Vec<&Pair<'_>>> = BTreeMap::new();
        all.iter().for_each(|pair| parts.entry(name(pair.after)).or_default().push(pair));
        parts.into_iter().map(|(name, pairs)| part(name, &pairs, settings)).collect()
    };
    Ok(Comparison {
        suite: after.suite.clone(),
        settings: settings.clone(),
        before: Side::of(before, whole.before),
        after: Side::of(after, whole.after),
        prompts: whole.prompts,
        pairs: pairs.len(),
        difference: whole.difference,
        mcnemar: mcnemar(whole.won, whole.lost),
        sequential: sequential.verdict(),
        kinds: parts(|answer| &answer.kind),
        groups: parts(|answer| answer.group.name()),
        rules: changed_rules(&pairs),
        examples: side_by_side(&pairs, settings),
    })
}

/// By prompt and seed; what is there twice on one side is taken once.
fn pairs<'a>(before: &'a Evaluation, after: &'a Evaluation) -> Vec<Pair<'a>> {
    let key = |answer: &'a Answer| (answer.prompt.as_str(), answer.seed);
    let known: BTreeMap<(&str, u64), &Answer> =
        before.answers.iter().map(|answer| (key(answer), answer)).collect();
    let after: BTreeMap<(&str, u64), &Answer> =
        after.answers.iter().map(|answer| (key(answer), answer)).collect();
    let pair = |(key, after)| Some(Pair { before: known.get(&key)?, after });
    after.into_iter().filter_map(pair).collect()
}

fn part(name: &str, pairs: &[&Pair<'_>], settings: &CompareSettings) -> Part {
    let clusters = clusters(pairs, settings);
    let prompts: BTreeSet<&str> = clusters.keys().copied().collect();
    let clusters: Vec<Cluster> = clusters.into_values().collect();
    let gained: i64 = clusters.iter().map(|cluster| i64::from(cluster.gained)).sum();
    let share = |side: for<'p> fn(&Pair<'p>) -> &'p Answer| {
        Proportion::of(
            pairs.iter().map(|pair| (pair.after.prompt.as_str(), side(pair).passed(settings.measure))),
        )
    };
    Part {
        name: name.to_owned(),
        prompts: prompts.len(),
        before: share(|pair| pair.before),
        after: share(|pair| pair.after),
        difference: Difference {
            estimate: gained as f64 / pairs.len().max(1) as f64,
            interval: bootstrap_difference(&clusters, settings.confidence, settings.resamples, settings.seed),
        },
        won: clusters.iter().filter(|cluster| cluster.gained > 0).count() as u64,
        lost: clusters.iter().filter(|cluster| cluster.gained < 0).count() as u64,
    }
}

fn clusters<'a>(pairs: &[&Pair<'a>], settings: &CompareSettings) -> BTreeMap<&'a str, Cluster> {
    let mut clusters: BTreeMap<&str, Cluster> = BTreeMap::new();
    for pair in pairs {
        let cluster = clusters.entry(pair.after.prompt.as_str()).or_default();
        cluster.pairs += 1;
        cluster.gained +=
            i32::from(pair.after.passed(settings.measure)) - i32::from(pair.before.passed(settings.measure));
    }
    clusters
}

fn mean(cluster: Cluster) -> f64 {
    f64::from(cluster.gained) / f64::from(cluster.pairs.max(1))
}
