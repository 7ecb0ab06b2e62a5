//! The numbers as a page: one file that opens anywhere, without a network and without scripts.
//!
//! Names of rules, skills, models and projects are other people's text. They reach the page through the template's escaping only, with what
//! no page may hold (control characters, turned writing) spelled out.

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment};
use serde::Serialize;

use super::chart::{self, Panel};
use super::{DEFINITIONS, Definition, Group, Metrics, Rate, Verdict};
use crate::error::FlywheelError;

const TEMPLATE: &str = include_str!("report.html");
/// Rows of a table; JSON has all.
const MAX_ROWS: usize = 40;

/// What the page is about.
#[derive(Clone, Debug, Default)]
pub struct About {
    pub project: String,
    /// The first day that counts.
    pub since: Option<String>,
    pub made_at: String,
}

/// What the template reads.
#[derive(Serialize)]
struct Page {
    project: String,
    since: Option<String>,
    made_at: String,
    events: String,
    sessions: String,
    generations: String,
    unreadable: u64,
    is_empty: bool,
    cards: Vec<Card>,
    facts: Vec<String>,
    panels: Vec<Panel>,
    tables: Vec<GroupTable>,
    rules: Vec<RuleRow>,
    more_rules: usize,
    skills: Vec<SkillRow>,
    definitions: &'static [Definition],
}

/// The whole page.
pub fn html(metrics: &Metrics, about: &About) -> Result<String, FlywheelError> {
    let page = Page {
        project: clean(&about.project),
        since: about.since.as_deref().map(clean),
        made_at: clean(&about.made_at),
        events: grouped(metrics.events),
        sessions: grouped(metrics.sessions),
        generations: grouped(metrics.total.generations),
        unreadable: metrics.unreadable,
        is_empty: metrics.is_empty(),
        cards: cards(metrics),
        facts: facts(metrics),
        panels: chart::panels(metrics),
        tables: tables(metrics),
        rules: rules(metrics),
        more_rules: metrics.rules.len().saturating_sub(MAX_ROWS),
        skills: skills(metrics),
        definitions: DEFINITIONS,
    };
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let mut render = || {
        let mut syntax = environment.syntax().to_builder();
        syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
        environment.set_syntax(syntax.build()?);
        environment.render_str(TEMPLATE, Value::from(Serde(&page)))
    };
    render().map_err(|error: minijinja::Error| FlywheelError::Other {
        message: format!("the report cannot be written: {error}"),
        hint: None,
    })
}

/// One number beside its target.
#[derive(Serialize)]
struct Card {
    name: &'static str,
    value: String,
    cases: String,
    likely: String,
    target: String,
    verdict: &'static str,
    class: &'static str,
}

fn cards(metrics: &Metrics) -> Vec<Card> {
    let total = &metrics.total;
    let rates = [Some(&total.validation), Some(&total.types), Some(&total.tests), None];
    let names = ["Validation", "Types", "Tests", "Retries"];
    let card = |((target, rate), name): ((&super::Target, Option<&Rate>), &'static str)| {
        let (verdict, class) = match target.verdict {
            Verdict::Met => ("✓ met", "met"),
            Verdict::Missed => ("✗ missed", "missed"),
            Verdict::TooFew => ("too few to say", "few"),
        };
        Card {
            name,
            value: match (rate, target.value) {
                (_, None) => "no data".to_owned(),
                (Some(_), Some(value)) => percent(value),
                (None, Some(value)) => format!("{value:.2}"),
            },
            cases: match rate {
                Some(rate) if rate.of > 0 => format!("{} of {}", grouped(rate.passed), grouped(rate.of)),
                Some(_) => "never checked".to_owned(),
                None => format!("{} in {}", grouped(total.retries.sum), grouped(total.retries.of)),
            },
            likely: rate.map(likely).unwrap_or_default(),
            target: match rate {
                Some(_) => format!("above {}", percent(target.target)),
                None => format!("below {}", target.target),
            },
            verdict,
            class,
        }
    };
    metrics.targets.iter().zip(rates).zip(names).map(card).collect()
}

/// Sentences that need no chart.
fn facts(metrics: &Metrics) -> Vec<String> {
    let (total, time) = (&metrics.total, &metrics.time);
    let mut facts = Vec::new();
    if total.first_try.of > 0 {
        facts.push(format!("{} passed at the first try.", with_cases(&total.first_try)));
    }
    if let (Some(hours), Some(artifacts), Some(lines)) =
        (time.active_hours, total.artifacts_per_hour, total.lines_per_hour)
    {
        facts.push(format!(
            "In {} of work, {artifacts:.1} artifacts and {lines:.0} lines an hour passed.",
            hours_text(hours)
        ));
    }
    if let Some(saved) = time.saved_hours {
        let what = if saved < 0.0 { "lost" } else { "saved" };
        facts.push(format!("About {} {what}, as an estimate: {}.", hours_text(saved.abs()), time.method));
    }
    if let Some(tokens) = total.tokens_per_valid {
        facts.push(format!("{} tokens for each artifact that passed.", grouped(tokens.round() as u64)));
    }
    facts
}

#[derive(Serialize)]
struct GroupTable {
    title: &'static str,
    noun: &'static str,
    rows: Vec<Vec<String>>,
    more: usize,
}

fn tables(metrics: &Metrics) -> Vec<GroupTable> {
    let tables = [
        ("By week", "week", &metrics.weeks),
        ("By skill", "skill", &metrics.skills),
        ("By kind of artifact", "kind", &metrics.kinds),
        ("By model", "model", &metrics.models),
        ("By phase", "phase", &metrics.phases),
    ];
    tables
        .into_iter()
        .map(|(title, noun, groups)| {
            let made: Vec<&Group> = groups.iter().filter(|group| group.generations > 0).collect();
            // The newest weeks count, and the first of everything else.
            let shown = if noun == "week" {
                &made[made.len().saturating_sub(MAX_ROWS)..]
            } else {
                &made[..made.len().min(MAX_ROWS)]
            };
            let rows = shown.iter().map(|group| group_row(group, noun)).collect();
            GroupTable { title, noun, rows, more: made.len() - shown.len() }
        })
        .filter(|table| table.rows.len() > 1 || table.rows.iter().any(|row| !row[0].starts_with('(')))
        .collect()
}

fn group_row(group: &Group, noun: &str) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    vec![
        if group.name.is_empty() { format!("(no {noun})") } else { clean(&group.name) },
        grouped(group.generations),
        with_cases(&group.validation),
        with_cases(&group.types),
        with_cases(&group.tests),
        with_cases(&group.first_try),
        or_dash(group.retries.mean.map(|mean| format!("{mean:.2}"))),
        with_cases(&group.fixed),
        or_dash(group.tokens_per_valid.map(|tokens| grouped(tokens.round() as u64))),
        or_dash(group.lines_per_hour.map(|lines| format!("{lines:.0}"))),
    ]
}

#[derive(Serialize)]
struct RuleRow {
    name: String,
    layer: String,
    fired: String,
    by_fixer: u64,
    by_model: u64,
    stays: u64,
    /// Of the widest bar, in percent.
    bars: [f64; 3],
    overridden: String,
    doubtful: bool,
}

fn rules(metrics: &Metrics) -> Vec<RuleRow> {
    let mut rules: Vec<_> = metrics.rules.iter().collect();
    rules.sort_by_key(|rule| (!rule.doubtful, std::cmp::Reverse(rule.overridden.of)));
    let most = rules.iter().map(|rule| rule.fired).max().unwrap_or(0).max(1) as f64;
    let row = |rule: &&super::Rule| RuleRow {
        name: clean(&rule.rule),
        layer: clean(&rule.layer),
        fired: grouped(rule.fired),
        by_fixer: rule.by_fixer,
        by_model: rule.by_model,
        stays: rule.stays,
        bars: [rule.by_fixer, rule.by_model, rule.stays]
            .map(|part| super::rounded(part as f64 / most * 100.0)),
        overridden: with_cases(&rule.overridden),
        doubtful: rule.doubtful,
    };
    rules.iter().take(MAX_ROWS).map(row).collect()
}

#[derive(Serialize)]
struct SkillRow {
    name: String,
    stages: Vec<Stage>,
}

#[derive(Serialize)]
struct Stage {
    number: String,
    /// Of those that were offered, in percent.
    width: f64,
}

fn skills(metrics: &Metrics) -> Vec<SkillRow> {
    let mut funnels: Vec<_> = metrics.funnel.iter().collect();
    funnels.sort_by_key(|funnel| std::cmp::Reverse(funnel.offered));
    funnels
        .into_iter()
        .take(MAX_ROWS)
        .map(|funnel| {
            let all = funnel.offered.max(1) as f64;
            let stages =
                [funnel.offered, funnel.loaded, funnel.used, funnel.passed, funnel.approved, funnel.merged];
            let stage = |number: u64| Stage {
                number: grouped(number),
                width: super::rounded(number as f64 / all * 100.0),
            };
            SkillRow { name: clean(&funnel.skill), stages: stages.into_iter().map(stage).collect() }
        })
        .collect()
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

pub(super) fn with_cases(rate: &Rate) -> String {
    match rate.rate {
        Some(share) => format!("{} ({} of {})", percent(share), grouped(rate.passed), grouped(rate.of)),
        None => "–".to_owned(),
    }
}

fn likely(rate: &Rate) -> String {
    match (rate.low, rate.high) {
        (Some(low), Some(high)) => format!("likely {:.0}–{}", low * 100.0, percent(high)),
        _ => String::new(),
    }
}

fn hours_text(hours: f64) -> String {
    if hours < 1.0 { format!("{:.0} minutes", hours * 60.0) } else { format!("{hours:.1} hours") }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Without characters that a page cannot hold or that would turn the order of letters round.
fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars().take(200) {
        let is_hidden = character.is_control()
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}');
        match is_hidden {
            true => cleaned.extend(character.escape_unicode()),
            false => cleaned.push(character),
        }
    }
    cleaned
}
