//! Numbers of an evaluation, with how sure they are.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Answer, Measure};
use crate::statistics::clustered_wilson;

/// What answers come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    pub prompts: usize,
    pub answers: usize,
    pub all: Tally,
    pub by_kind: BTreeMap<String, Tally>,
    pub by_group: BTreeMap<String, Tally>,
    /// The rules that first answers broke.
    pub by_rule: BTreeMap<String, Broken>,
    /// How many answers ended for which reason.
    pub by_finish: BTreeMap<String, u64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The time of all answers together; answers that were decoded in one batch overlap.
    pub milliseconds: u64,
}

/// Shares of one part of the answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Strictly: as answered, at the first try.
    pub first_try: Proportion,
    /// After safe fixes and retries.
    pub with_fixes: Proportion,
    /// Of those that did not pass at first: how many did in the end.
    pub mended: Proportion,
    /// The mean number of retries.
    pub retries: f64,
    pub output_tokens: f64,
    pub milliseconds: f64,
}

/// How many first answers broke a rule, each counted once, of all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Broken {
    pub answers: u64,
    pub of: u64,
    pub share: f64,
    pub low: f64,
    pub high: f64,
}

/// So many of so many. The interval is Wilson's at 95 %, with seeds of one prompt counted as what they are worth together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Proportion {
    pub passed: u64,
    pub of: u64,
    /// None of nothing.
    pub share: Option<f64>,
    pub low: f64,
    pub high: f64,
}

impl Proportion {
    /// Of cases by what they belong together by.
    pub fn of<'a>(cases: impl IntoIterator<Item = (&'a str, bool)>) -> Self {
        let mut clusters: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (prompt, passed) in cases {
            let (passes, of) = clusters.entry(prompt).or_default();
            *passes += u64::from(passed);
            *of += 1;
        }
        let clusters: Vec<(u64, u64)> = clusters.into_values().collect();
        let (passed, of) =
            clusters.iter().fold((0, 0), |sum, cluster| (sum.0 + cluster.0, sum.1 + cluster.1));
        let interval = clustered_wilson(&clusters);
        let share = (of > 0).then(|| rounded(passed as f64 / of as f64));
        Self { passed, of, share, low: rounded(interval.low), high: rounded(interval.high) }
    }
}

impl Tally {
    fn of(answers: &[&Answer]) -> Self {
        let share = |measure: Measure| {
            Proportion::of(answers.iter().map(|answer| (answer.prompt.as_str(), answer.passed(measure))))
        };
        let failed = answers.iter().filter(|answer| !answer.first_try_passed);
        let mean = |value: fn(&Answer) -> u64| {
            let sum: u64 = answers.iter().map(|answer| value(answer)).sum();
            if answers.is_empty() { 0.0 } else { rounded(sum as f64 / answers.len() as f64) }
        };
        Self {
            first_try: share(Measure::FirstTry),
            with_fixes: share(Measure::WithFixes),
            mended: Proportion::of(failed.map(|answer| (answer.prompt.as_str(), answer.passed_with_fixes))),
            retries: mean(|answer| u64::from(answer.retries)),
            output_tokens: mean(|answer| answer.tokens.output),
            milliseconds: mean(|answer| answer.milliseconds),
        }
    }
}

impl Broken {
    /// Of answers by their prompts.
    fn of<'a>(answers: impl IntoIterator<Item = (&'a str, bool)>) -> Self {
        let Proportion { passed, of, share, low, high } = Proportion::of(answers);
        Self { answers: passed, of, share: share.unwrap_or_default(), low, high }
    }

    /// The same for whoever shows shares: what is counted is what broke it.
    pub fn proportion(&self) -> Proportion {
        let Self { answers, of, share, low, high } = *self;
        Proportion { passed: answers, of, share: Some(share), low, high }
    }
}

impl Score {
    pub fn of(answers: &[Answer]) -> Self {
        let all: Vec<&Answer> = answers.iter().collect();
        let mut score = Self { answers: answers.len(), all: Tally::of(&all), ..Self::default() };
        let (mut kinds, mut groups) =
            (BTreeMap::<String, Vec<&Answer>>::new(), BTreeMap::<String, Vec<&Answer>>::new());
        let mut prompts: Vec<&str> = Vec::new();
        let mut broken: Vec<(&str, Vec<&str>)> = Vec::new();
        for answer in answers {
            prompts.push(&answer.prompt);
            broken.push((answer.prompt.as_str(), broken_rules(answer)));
            kinds.entry(answer.kind.clone()).or_default().push(answer);
            groups.entry(answer.group.name().to_owned()).or_default().push(answer);
            *score.by_finish.entry(answer.finish.clone()).or_default() += 1;
            score.input_tokens += answer.tokens.input;
            score.output_tokens += answer.tokens.output;
            score.milliseconds += answer.milliseconds;
        }
        prompts.sort_unstable();
        prompts.dedup();
        score.prompts = prompts.len();
        let rules: BTreeSet<&str> = broken.iter().flat_map(|(_, rules)| rules.iter().copied()).collect();
        for rule in rules {
            let cases = broken.iter().map(|(prompt, rules)| (*prompt, rules.contains(&rule)));
            score.by_rule.insert(rule.to_owned(), Broken::of(cases));
        }
        score.by_kind = kinds.into_iter().map(|(kind, answers)| (kind, Tally::of(&answers))).collect();
        score.by_group = groups.into_iter().map(|(group, answers)| (group, Tally::of(&answers))).collect();
        score
    }
}

/// The rules that an answer broke, each once, sorted.
pub(crate) fn broken_rules(answer: &Answer) -> Vec<&str> {
    let mut rules: Vec<&str> = answer.problems.iter().map(|problem| problem.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// To four places, so that the same counts are written the same everywhere.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
