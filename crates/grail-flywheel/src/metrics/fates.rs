//! What became of rules and how far skills came, told apart by week, kind, model and phase.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Rate, week_name};
use crate::error::FlywheelError;
use crate::index::{Days, Fate, FateCount, FunnelWeek, Index, Word};

/// One rule in one week, for one kind of artifact, or with one model or phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleShare {
    pub rule: String,
    /// Weeks are called by their Monday; empty for what has none.
    pub group: String,
    pub fired: u64,
    pub fixed: Rate,
    pub overridden: Rate,
}

/// Every rule, told apart. By rule, then by group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RulesBy {
    pub weeks: Vec<RuleShare>,
    pub kinds: Vec<RuleShare>,
    pub models: Vec<RuleShare>,
    pub phases: Vec<RuleShare>,
}

/// In how many sessions of a week a skill came how far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SkillWeek {
    pub skill: String,
    /// Its Monday; empty for what has no time.
    pub week: String,
    pub offered: u64,
    pub loaded: u64,
    pub used: u64,
    pub passed: u64,
}

/// How rules ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fates {
    fixed: u64,
    stays: u64,
    overridden: u64,
}

#[derive(Default)]
pub(super) struct RuleTallies {
    weeks: FxHashMap<(Word, Option<i64>), Fates>,
    kinds: FxHashMap<(Word, Option<Word>), Fates>,
    models: FxHashMap<(Word, Option<Word>), Fates>,
    phases: FxHashMap<(Word, Option<Word>), Fates>,
}

impl Fates {
    pub(super) fn add(&mut self, count: &FateCount) {
        match count.fate {
            Fate::Fixed => self.fixed += count.times,
            Fate::Stays => self.stays += count.times,
            Fate::Overridden => self.overridden += count.times,
        }
    }

    pub(super) fn fired(self) -> u64 {
        self.fixed + self.stays
    }

    pub(super) fn fixed(self) -> Rate {
        Rate::new(self.fixed, self.fired())
    }

    pub(super) fn overridden(self) -> Rate {
        Rate::new(self.overridden, self.fired() + self.overridden)
    }
}

impl RuleTallies {
    pub(super) fn add(&mut self, count: &FateCount) {
        self.weeks.entry((count.rule, count.week)).or_default().add(count);
        self.kinds.entry((count.rule, count.artifact)).or_default().add(count);
        self.models.entry((count.rule, count.model)).or_default().add(count);
        self.phases.entry((count.rule, count.phase)).or_default().add(count);
    }

    pub(super) fn name(self, index: &Index) -> Result<RulesBy, FlywheelError> {
        let by_word = |word: Word| index.word(word);
        Ok(RulesBy {
            weeks: named(index, self.weeks, |week| Ok(week_name(week)))?,
            kinds: named(index, self.kinds, by_word)?,
            models: named(index, self.models, by_word)?,
            phases: named(index, self.phases, by_word)?,
        })
    }
}

fn named(
    index: &Index,
    tallies: FxHashMap<(Word, Option<i64>), Fates>,
    name: impl Fn(i64) -> Result<String, FlywheelError>,
) -> Result<Vec<RuleShare>, FlywheelError> {
    let mut shares = BTreeMap::new();
    for ((rule, group), fates) in tallies {
        let key = (index.word(rule)?, group.map(&name).transpose()?.unwrap_or_default());
        shares.insert(key, fates);
    }
    let share = |((rule, group), fates): ((String, String), Fates)| RuleShare {
        rule,
        group,
        fired: fates.fired(),
        fixed: fates.fixed(),
        overridden: fates.overridden(),
    };
    Ok(shares.into_iter().map(share).collect())
}

pub(super) fn skill_weeks(index: &Index, days: Days) -> Result<Vec<SkillWeek>, FlywheelError> {
    let week = |funnel: FunnelWeek| SkillWeek {
        skill: funnel.skill,
        week: funnel.week.map(week_name).unwrap_or_default(),
        offered: funnel.offered,
        loaded: funnel.loaded,
        used: funnel.used,
        passed: funnel.passed,
    };
    Ok(index.funnel_weeks(days)?.into_iter().map(week).collect())
}
