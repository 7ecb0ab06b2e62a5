//! The same numbers for everything, for each week, skill, kind of artifact, model and phase, counted in one pass.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::fates::Fates;
use super::rate::rounded;
use super::{Mean, Rate, week, week_name};
use crate::error::FlywheelError;
use crate::index::{FateCount, GenerationFact, Index, Word, WorkedTime};

/// Of less work nothing is told by the hour: a minute would look like a miracle.
const LEAST_HOURS: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    Week,
    Skill,
    Kind,
    Model,
    Phase,
}

/// Numbers about some generations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Group {
    /// Weeks are called by their Monday; empty for what has none.
    pub name: String,
    pub generations: u64,
    pub validation: Rate,
    pub types: Rate,
    pub tests: Rate,
    pub first_try: Rate,
    pub retries: Mean,
    /// Of artifacts that passed.
    pub lines: u64,
    pub tokens: u64,
    /// All tokens, also of what failed, for each artifact that passed.
    pub tokens_per_valid: Option<f64>,
    /// Rules that fired and were put right, of those that fired. Not told for skills.
    pub fixed: Rate,
    /// Rules that were silenced or broken by hand, of these and of those that fired. Not told for skills.
    pub overridden: Rate,
    /// Not told for skills and kinds: an hour is not spent on one of them.
    pub active_hours: Option<f64>,
    pub artifacts_per_hour: Option<f64>,
    pub lines_per_hour: Option<f64>,
}

/// What a group is computed of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    generations: u64,
    validated: u64,
    types: (u64, u64),
    tests: (u64, u64),
    first_try: u64,
    retries: u64,
    lines: u64,
    tokens: u64,
    rules: Fates,
    milliseconds: Option<u64>,
}

#[derive(Default)]
pub(super) struct Groups {
    total: Tally,
    weeks: FxHashMap<Option<i64>, Tally>,
    skills: FxHashMap<Option<Word>, Tally>,
    kinds: FxHashMap<Option<Word>, Tally>,
    models: FxHashMap<Option<Word>, Tally>,
    phases: FxHashMap<Option<Word>, Tally>,
}

/// With names, in the order of the names.
pub(super) struct NamedGroups {
    pub(super) total: Group,
    pub(super) weeks: Vec<Group>,
    pub(super) skills: Vec<Group>,
    pub(super) kinds: Vec<Group>,
    pub(super) models: Vec<Group>,
    pub(super) phases: Vec<Group>,
}

impl Groups {
    pub(super) fn add(&mut self, fact: &GenerationFact) {
        self.total.add(fact);
        self.weeks.entry(week(fact.day)).or_default().add(fact);
        self.skills.entry(fact.skills).or_default().add(fact);
        self.kinds.entry(fact.artifact).or_default().add(fact);
        self.models.entry(fact.model).or_default().add(fact);
        self.phases.entry(fact.phase).or_default().add(fact);
    }

    pub(super) fn add_fate(&mut self, count: &FateCount) {
        self.total.rules.add(count);
        self.weeks.entry(count.week).or_default().rules.add(count);
        self.kinds.entry(count.artifact).or_default().rules.add(count);
        self.models.entry(count.model).or_default().rules.add(count);
        self.phases.entry(count.phase).or_default().rules.add(count);
    }

    pub(super) fn add_time(&mut self, worked: &WorkedTime) {
        self.total.add_time(worked.milliseconds);
        self.weeks.entry(worked.week).or_default().add_time(worked.milliseconds);
        self.models.entry(worked.model).or_default().add_time(worked.milliseconds);
        self.phases.entry(worked.phase).or_default().add_time(worked.milliseconds);
    }

    pub(super) fn name(self, index: &Index) -> Result<NamedGroups, FlywheelError> {
        let mut weeks: Vec<(Option<i64>, Tally)> = self.weeks.into_iter().collect();
        weeks.sort_unstable_by_key(|(week, _)| *week);
        // A generation with several skills counts for each of them.
        let mut skills: BTreeMap<String, Tally> = BTreeMap::new();
        for (list, tally) in self.skills {
            let names = list.map(|list| skill_names(index, list)).transpose()?.unwrap_or_default();
            let names = if names.is_empty() { vec![String::new()] } else { names };
            names.into_iter().for_each(|name| skills.entry(name).or_default().join(&tally));
        }
        Ok(NamedGroups {
            total: self.total.group(String::new()),
            weeks: weeks
                .into_iter()
                .map(|(week, tally)| tally.group(week.map(week_name).unwrap_or_default()))
                .collect(),
            skills: skills.into_iter().map(|(name, tally)| tally.group(name)).collect(),
            kinds: by_word(index, self.kinds)?,
            models: by_word(index, self.models)?,
            phases: by_word(index, self.phases)?,
        })
    }
}

fn by_word(index: &Index, tallies: FxHashMap<Option<Word>, Tally>) -> Result<Vec<Group>, FlywheelError> {
    let mut groups = Vec::with_capacity(tallies.len());
    for (word, tally) in tallies {
        groups.push(tally.group(word.map(|word| index.word(word)).transpose()?.unwrap_or_default()));
    }
    groups.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    Ok(groups)
}

/// In how many sessions each skill occurs in these lists.
pub(super) fn count_skills(
    index: &Index,
    lists: &FxHashSet<(Word, Word)>,
) -> Result<BTreeMap<String, u64>, FlywheelError> {
    let mut names: FxHashMap<Word, Vec<String>> = FxHashMap::default();
    let mut sessions: FxHashSet<(Word, String)> = FxHashSet::default();
    for (session, list) in lists {
        if !names.contains_key(list) {
            names.insert(*list, skill_names(index, *list)?);
        }
        for name in &names[list] {
            sessions.insert((*session, name.clone()));
        }
    }
    let mut counts = BTreeMap::new();
    for (_, name) in sessions {
        *counts.entry(name).or_default() += 1;
    }
    Ok(counts)
}

fn skill_names(index: &Index, list: Word) -> Result<Vec<String>, FlywheelError> {
    Ok(serde_json::from_str(&index.word(list)?).unwrap_or_default())
}

impl Tally {
    fn add(&mut self, fact: &GenerationFact) {
        self.generations += 1;
        self.validated += u64::from(fact.validated);
        count(&mut self.types, fact.types);
        count(&mut self.tests, fact.tests);
        self.first_try += u64::from(fact.validated && fact.retries == 0);
        self.retries += fact.retries;
        self.lines += if fact.validated { fact.lines } else { 0 };
        self.tokens += fact.tokens;
    }

    fn add_time(&mut self, milliseconds: u64) {
        *self.milliseconds.get_or_insert(0) += milliseconds;
    }

    fn join(&mut self, other: &Self) {
        self.generations += other.generations;
        self.validated += other.validated;
        self.types = (self.types.0 + other.types.0, self.types.1 + other.types.1);
        self.tests = (self.tests.0 + other.tests.0, self.tests.1 + other.tests.1);
        self.first_try += other.first_try;
        self.retries += other.retries;
        self.lines += other.lines;
        self.tokens += other.tokens;
    }

    fn group(self, name: String) -> Group {
        let hours = self.milliseconds.filter(|time| *time > 0).map(|time| time as f64 / 3_600_000.0);
        let per_hour = |number: u64| {
            hours.filter(|hours| *hours >= LEAST_HOURS).map(|hours| rounded(number as f64 / hours))
        };
        Group {
            name,
            generations: self.generations,
            validation: Rate::new(self.validated, self.generations),
            types: Rate::new(self.types.0, self.types.1),
            tests: Rate::new(self.tests.0, self.tests.1),
            first_try: Rate::new(self.first_try, self.generations),
            retries: Mean::new(self.retries, self.generations),
            lines: self.lines,
            tokens: self.tokens,
            tokens_per_valid: Mean::new(self.tokens, self.validated).mean,
            fixed: self.rules.fixed(),
            overridden: self.rules.overridden(),
            active_hours: hours.map(rounded),
            artifacts_per_hour: per_hour(self.validated),
            lines_per_hour: per_hour(self.lines),
        }
    }
}

fn count(counts: &mut (u64, u64), passed: Option<bool>) {
    if let Some(passed) = passed {
        counts.0 += u64::from(passed);
        counts.1 += 1;
    }
}
