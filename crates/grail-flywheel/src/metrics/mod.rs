//! The numbers: how often code passes, how much help it takes, what it costs, which rules and skills earn their place.
//!
//! Every number is a count or says what it is a share of. [`DEFINITIONS`] says in words how each is counted.

mod chart;
mod definitions;
mod fates;
mod groups;
mod rate;
pub mod report;

use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::error::FlywheelError;
use crate::index::{Days, Index, RuleCount, Word, week_of};
pub use definitions::{DEFINITIONS, Definition};
use fates::RuleTallies;
pub use fates::{RuleShare, RulesBy, SkillWeek};
use groups::Groups;
pub use groups::{Group, Grouping};
use rate::rounded;
pub use rate::{ENOUGH, Mean, Rate};

/// Below this many decisions about a rule nothing is said about it.
pub const FEWEST_DECISIONS: u64 = 5;
/// A rule that is overridden in more than this share of its decisions may be wrong.
pub const DOUBTFUL_SHARE: f64 = 0.25;

/// Which events count, and what cannot be counted but has to be assumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    pub days: Days,
    /// A longer pause between two events of a session is no work.
    pub pause_minutes: u32,
    /// How many lines an hour a person would write without help.
    pub lines_by_hand: f64,
}

impl Default for Period {
    fn default() -> Self {
        Self { days: Days::default(), pause_minutes: 5, lines_by_hand: 40.0 }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    pub events: u64,
    /// Of all days.
    pub sessions: u64,
    /// Lines in the files that are no events.
    pub unreadable: u64,
    /// By kind of event.
    pub kinds_of_events: Vec<(String, u64)>,
    pub total: Group,
    pub targets: Vec<Target>,
    pub time: Time,
    pub weeks: Vec<Group>,
    pub skills: Vec<Group>,
    pub kinds: Vec<Group>,
    pub models: Vec<Group>,
    pub phases: Vec<Group>,
    pub rules: Vec<Rule>,
    pub rules_by: RulesBy,
    pub funnel: Vec<SkillFunnel>,
    pub funnel_by_week: Vec<SkillWeek>,
}

/// One number beside what it should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    pub name: &'static str,
    /// `above` or `below` the target is good.
    pub good: &'static str,
    pub target: f64,
    pub value: Option<f64>,
    pub cases: u64,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Met,
    Missed,
    /// Too few cases to say.
    TooFew,
}

/// Time, and what it is guessed to have saved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Time {
    pub active_hours: Option<f64>,
    pub pause_minutes: u32,
    /// Lines of artifacts that passed and were neither rejected nor reverted.
    pub kept_lines: u64,
    pub lines_by_hand: f64,
    pub hours_by_hand: Option<f64>,
    /// An estimate; negative if it took longer than by hand.
    pub saved_hours: Option<f64>,
    pub method: String,
}

/// One rule: how often it fires, who puts it right, and how often people will have none of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    pub rule: String,
    pub layer: String,
    pub fired: u64,
    pub by_fixer: u64,
    pub by_model: u64,
    pub stays: u64,
    /// Put right, by whomever, of those that fired.
    pub fixed: Rate,
    pub suppressed_in_generated: u64,
    pub suppressed_in_commits: u64,
    pub violated_by_hand: u64,
    /// Suppressed or violated, of all that people and models did about it.
    pub overridden: Rate,
    /// People decide against it too often: it should be looked at.
    pub doubtful: bool,
}

/// In how many sessions a skill came how far. Later stages include earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SkillFunnel {
    pub skill: String,
    pub offered: u64,
    pub loaded: u64,
    pub used: u64,
    pub passed: u64,
    pub approved: u64,
    pub merged: u64,
}

impl Metrics {
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Rules told apart; none by skill, for a rule fires whatever skills were told.
    pub fn rules_by(&self, grouping: Grouping) -> &[RuleShare] {
        match grouping {
            Grouping::Week => &self.rules_by.weeks,
            Grouping::Skill => &[],
            Grouping::Kind => &self.rules_by.kinds,
            Grouping::Model => &self.rules_by.models,
            Grouping::Phase => &self.rules_by.phases,
        }
    }

    pub fn by(&self, grouping: Grouping) -> &[Group] {
        match grouping {
            Grouping::Week => &self.weeks,
            Grouping::Skill => &self.skills,
            Grouping::Kind => &self.kinds,
            Grouping::Model => &self.models,
            Grouping::Phase => &self.phases,
        }
    }
}

/// All numbers of a period.
pub fn compute(index: &Index, period: &Period) -> Result<Metrics, FlywheelError> {
    index.at_once(|| count(index, period))
}

fn count(index: &Index, period: &Period) -> Result<Metrics, FlywheelError> {
    let decided = Decided {
        approved: index.decided("approved")?,
        rejected: index.decided("rejected")?,
        reverted: index.decided("reverted")?,
        merged: index.decided("merged")?,
        merged_sessions: index.decided("session_merged")?,
    };
    let mut groups = Groups::default();
    let mut kept_lines = 0;
    // In which sessions which lists of skills led to something that was approved, and merged.
    let (mut approved, mut merged) = (FxHashSet::default(), FxHashSet::default());
    index.generations(period.days, |fact| {
        groups.add(&fact);
        let is_dropped = decided.is_in(&decided.rejected, fact.proposal)
            || decided.is_in(&decided.reverted, fact.proposal);
        if fact.validated && !is_dropped {
            kept_lines += fact.lines;
        }
        if let (true, Some(skills)) = (fact.validated, fact.skills)
            && decided.is_in(&decided.approved, fact.proposal)
            && !decided.is_in(&decided.reverted, fact.proposal)
        {
            approved.insert((fact.session, skills));
            if decided.is_in(&decided.merged_sessions, Some(fact.session))
                || decided.is_in(&decided.merged, fact.branch)
            {
                merged.insert((fact.session, skills));
            }
        }
    })?;
    for worked in index.worked(period.days, i64::from(period.pause_minutes))? {
        groups.add_time(&worked);
    }
    let mut rules = RuleTallies::default();
    index.fates(period.days, |count| {
        groups.add_fate(&count);
        rules.add(&count);
    })?;
    let named = groups.name(index)?;
    let kinds_of_events = index.event_counts(period.days)?;
    let time = time(&named.total, kept_lines, period);
    Ok(Metrics {
        events: kinds_of_events.iter().map(|(_, number)| number).sum(),
        sessions: index.session_count()?,
        unreadable: index.unreadable()?.len() as u64,
        kinds_of_events,
        targets: targets(&named.total),
        time,
        total: named.total,
        weeks: named.weeks,
        skills: named.skills,
        kinds: named.kinds,
        models: named.models,
        phases: named.phases,
        rules: index.rule_counts(period.days)?.into_iter().map(rule).collect(),
        rules_by: rules.name(index)?,
        funnel: funnels(index, period.days, &approved, &merged)?,
        funnel_by_week: fates::skill_weeks(index, period.days)?,
    })
}

/// What was said about proposals and branches.
struct Decided {
    approved: FxHashSet<Word>,
    rejected: FxHashSet<Word>,
    reverted: FxHashSet<Word>,
    merged: FxHashSet<Word>,
    merged_sessions: FxHashSet<Word>,
}

impl Decided {
    fn is_in(&self, decided: &FxHashSet<Word>, subject: Option<Word>) -> bool {
        subject.is_some_and(|subject| decided.contains(&subject))
    }
}

fn targets(total: &Group) -> Vec<Target> {
    let above = |name, rate: &Rate, target: f64| Target {
        name,
        good: "above",
        target,
        value: rate.rate,
        cases: rate.of,
        verdict: verdict(rate.of, rate.rate.is_some_and(|rate| rate > target)),
    };
    let retries = &total.retries;
    vec![
        above("validation", &total.validation, 0.90),
        above("types", &total.types, 0.95),
        above("tests", &total.tests, 0.85),
        Target {
            name: "retries",
            good: "below",
            target: 2.0,
            value: retries.mean,
            cases: retries.of,
            verdict: verdict(retries.of, retries.mean.is_some_and(|mean| mean < 2.0)),
        },
    ]
}

fn verdict(cases: u64, is_good: bool) -> Verdict {
    match (cases >= ENOUGH, is_good) {
        (false, _) => Verdict::TooFew,
        (true, true) => Verdict::Met,
        (true, false) => Verdict::Missed,
    }
}

fn time(total: &Group, kept_lines: u64, period: &Period) -> Time {
    let active_hours = total.active_hours;
    let is_guessable = active_hours.is_some() && period.lines_by_hand > 0.0;
    let hours_by_hand = is_guessable.then(|| rounded(kept_lines as f64 / period.lines_by_hand));
    let saved_hours = hours_by_hand.zip(active_hours).map(|(by_hand, active)| rounded(by_hand - active));
    let method = format!(
        "{kept_lines} lines that passed and were kept, at {} lines an hour by hand, less the time that was worked (pauses under {} minutes)",
        period.lines_by_hand, period.pause_minutes
    );
    Time {
        active_hours,
        pause_minutes: period.pause_minutes,
        kept_lines,
        lines_by_hand: period.lines_by_hand,
        hours_by_hand,
        saved_hours,
        method,
    }
}

fn rule(count: RuleCount) -> Rule {
    let fired = count.fixer + count.model + count.stays;
    let against = count.silenced + count.committed + count.violated;
    let overridden = Rate::new(against, fired + against);
    let is_doubtful =
        overridden.of >= FEWEST_DECISIONS && overridden.rate.is_some_and(|rate| rate > DOUBTFUL_SHARE);
    Rule {
        fired,
        by_fixer: count.fixer,
        by_model: count.model,
        stays: count.stays,
        fixed: Rate::new(count.fixer + count.model, fired),
        suppressed_in_generated: count.silenced,
        suppressed_in_commits: count.committed,
        violated_by_hand: count.violated,
        overridden,
        doubtful: is_doubtful,
        rule: count.rule,
        layer: count.layer,
    }
}

fn funnels(
    index: &Index,
    days: Days,
    approved: &FxHashSet<(Word, Word)>,
    merged: &FxHashSet<(Word, Word)>,
) -> Result<Vec<SkillFunnel>, FlywheelError> {
    let approved = groups::count_skills(index, approved)?;
    let merged = groups::count_skills(index, merged)?;
    let funnels = index.funnels(days)?;
    Ok(funnels
        .into_iter()
        .map(|funnel| SkillFunnel {
            approved: approved.get(&funnel.skill).copied().unwrap_or(0),
            merged: merged.get(&funnel.skill).copied().unwrap_or(0),
            skill: funnel.skill,
            offered: funnel.offered,
            loaded: funnel.loaded,
            used: funnel.used,
            passed: funnel.passed,
        })
        .collect())
}

/// The Monday of the week that a day is in, as `2026-11-16`.
pub(crate) fn week_name(week: i64) -> String {
    day_name(crate::index::monday_of(week))
}

/// A day since 1970 as `2026-11-16`.
pub fn day_name(day: i64) -> String {
    let seconds = day.saturating_mul(24 * 60 * 60);
    match jiff::Timestamp::from_second(seconds) {
        Ok(moment) => moment.strftime("%Y-%m-%d").to_string(),
        Err(_) => format!("day {day}"),
    }
}

/// `2026-11-16` as a day since 1970.
pub fn day_number(name: &str) -> Option<i64> {
    let moment: jiff::Timestamp = format!("{name}T00:00:00Z").parse().ok()?;
    (name.len() == 10).then(|| moment.as_second().div_euclid(24 * 60 * 60))
}

pub(crate) fn week(day: Option<i64>) -> Option<i64> {
    day.map(week_of)
}
