//! `grail events stats`: the numbers, as tables, JSON or a page.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use grail_flywheel::index::Days;
use grail_flywheel::metrics::report::{self, About};
use grail_flywheel::metrics::{
    self, DEFINITIONS, Group, Grouping, Metrics, Period, Rate, Rule, RuleShare, SkillFunnel, Target, Verdict,
    day_number,
};
use serde_json::json;

use super::{open_index, project_root, story, tell_empty};
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, Failure, GREEN, RED, RESET, Terminal, YELLOW, count, path_text, visible_line};
use crate::table::{Table, sparkline};

/// Rows of rules and skills that are shown; JSON has all.
const MAX_ROWS: usize = 20;
/// Weeks in a sparkline.
const MAX_WEEKS: usize = 26;

/// Count what the events say: how often code passes, what it takes, which rules and skills earn their place
///
/// Shares say what they are shares of, and where the true share is likely to be (95 %). `--explain` says how each number is counted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail events stats
  grail events stats --by skill --since 30d
  grail events stats --since 2026-11-01 --format json
  grail events stats --html report.html
  grail events stats --explain")]
pub struct Arguments {
    /// One row for each week, skill, kind of artifact, model or phase
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Week)]
    pub by: By,
    /// Only events since a day: `2026-11-01`, `7d` or `4w`
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Pauses of this many minutes and more are no work
    #[arg(long, value_name = "MINUTES", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=60), help_heading = "Assumptions")]
    pub pause: u32,
    /// How many lines an hour you would write by hand
    #[arg(long, value_name = "LINES", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Assumptions")]
    pub lines_by_hand: u32,
    /// Write a page with charts instead, which opens without a network
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    pub html: Option<PathBuf>,
    /// Say how each number is counted
    #[arg(long)]
    pub explain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    Week,
    Skill,
    Kind,
    Model,
    Phase,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    if arguments.explain {
        return explain(terminal);
    }
    let from = arguments
        .since
        .as_deref()
        .map(|since| first_day(since, &grail_flywheel::event::now()))
        .transpose()?;
    let period = Period {
        days: Days { from, to: None },
        pause_minutes: arguments.pause,
        lines_by_hand: f64::from(arguments.lines_by_hand),
    };
    let root = project_root()?;
    let mut index = open_index(&root, terminal)?;
    let metrics = index.answer(|index| metrics::compute(index, &period))?;
    let since = from.map(metrics::day_name);
    if let Some(path) = &arguments.html {
        write_report(path, &metrics, &root, since.clone())?;
        terminal.note(format_args!("the report is in `{}`", visible_line(&path_text(path))))?;
        if terminal.format() == Format::Text {
            return Ok(Exit::Fine);
        }
    }
    if terminal.format() == Format::Json {
        terminal.json(&json!({"since": since, "stats": metrics}))?;
        return Ok(Exit::Fine);
    }
    if metrics.is_empty() {
        match &arguments.since {
            Some(since) => terminal.note(format_args!("no events since {}", story::brief(since, 20)))?,
            None => tell_empty(terminal)?,
        }
        return Ok(Exit::Fine);
    }
    show(&metrics, arguments.by, terminal)?;
    if metrics.unreadable > 0 {
        let lines = count(metrics.unreadable as usize, "line");
        terminal.warning(format_args!(
            "{lines} of the files could not be read; `grail events rebuild` lists them"
        ))?;
    }
    Ok(Exit::Fine)
}

/// All of it or nothing: a report that was opened before stays whole until then.
fn write_report(path: &Path, metrics: &Metrics, root: &Path, since: Option<String>) -> anyhow::Result<()> {
    let project = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let made_at = story::short_time(&grail_flywheel::event::now());
    let page = report::html(metrics, &About { project, since, made_at })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(page.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| {
        Failure::with_hint(
            format!("`{}` cannot be written: {error}", visible_line(&path_text(path))),
            "name a file in a folder that is there",
        )
        .into()
    })
}

fn explain(terminal: &mut Terminal) -> anyhow::Result<Exit> {
    if terminal.format() == Format::Json {
        terminal.json(&json!({"definitions": DEFINITIONS}))?;
        return Ok(Exit::Fine);
    }
    for definition in DEFINITIONS {
        terminal.line(format_args!("{BOLD}{}{RESET}: {}", definition.name, definition.text))?;
    }
    Ok(Exit::Fine)
}

/// The first day that counts: a date, or so many days or weeks before today.
fn first_day(since: &str, now: &str) -> anyhow::Result<i64> {
    let wrong = || {
        Failure::with_hint(
            format!("`{}` is no day", story::brief(since, 40)),
            "write `2026-11-01`, `7d` for the last seven days, or `4w`",
        )
    };
    let back = |text: &str, days: i64| -> Option<i64> {
        let today = day_number(now.get(..10)?)?;
        let number: i64 = text.parse().ok().filter(|number| (0..100_000).contains(number))?;
        Some(today - (number * days - 1).max(0))
    };
    let day = match since.char_indices().last() {
        Some((end, 'd')) => back(&since[..end], 1),
        Some((end, 'w')) => back(&since[..end], 7),
        _ => day_number(since),
    };
    Ok(day.ok_or_else(wrong)?)
}

fn show(metrics: &Metrics, by: By, terminal: &mut Terminal) -> anyhow::Result<()> {
    let (events, sessions) =
        (count(metrics.events as usize, "event"), count(metrics.sessions as usize, "session"));
    terminal.line(format_args!(
        "{events}, {sessions}, {}",
        count(metrics.total.generations as usize, "generation")
    ))?;
    terminal.line(format_args!(""))?;
    show_targets(metrics, terminal)?;
    show_speed(metrics, terminal)?;
    let (grouping, title) = match by {
        By::Week => (Grouping::Week, "week"),
        By::Skill => (Grouping::Skill, "skill"),
        By::Kind => (Grouping::Kind, "kind"),
        By::Model => (Grouping::Model, "model"),
        By::Phase => (Grouping::Phase, "phase"),
    };
    show_groups(metrics.by(grouping), title, terminal)?;
    if by == By::Week {
        show_trend(&metrics.weeks, terminal)?;
    }
    show_rules(metrics, terminal)?;
    match by {
        By::Week => show_rule_trend(metrics, terminal)?,
        _ => show_rules_by(metrics.rules_by(grouping), title, terminal)?,
    }
    show_funnel(metrics, terminal)?;
    if by == By::Week {
        show_funnel_trend(metrics, terminal)?;
    }
    Ok(())
}

fn show_targets(metrics: &Metrics, terminal: &mut Terminal) -> anyhow::Result<()> {
    let mut table = Table::new(&["", "share", "cases", "likely", "target"]);
    let target = |name: &str| metrics.targets.iter().find(|target| target.name == name);
    let total = &metrics.total;
    let rates = [
        ("validation", &total.validation),
        ("types", &total.types),
        ("tests", &total.tests),
        ("first try", &total.first_try),
    ];
    for (name, rate) in rates {
        let wanted = target(name).map(|target| format!("> {}", percent(target.target))).unwrap_or_default();
        table.row(vec![name.to_owned(), share(rate), cases(rate), likely(rate), wanted]);
    }
    let mean = total.retries.mean.map_or("no data".to_owned(), |mean| format!("{mean:.2}"));
    let of = format!("{} in {}", total.retries.sum, total.retries.of);
    table.row(vec!["retries".to_owned(), mean, of, String::new(), "< 2".to_owned()]);
    let names = ["", "validation", "types", "tests", "first try", "retries"];
    for (name, line) in names.iter().zip(table.lines()) {
        let verdict = target(name).map(verdict).unwrap_or_default();
        terminal.line(format_args!("{line}{verdict}"))?;
    }
    terminal.line(format_args!(""))
}

fn verdict(target: &Target) -> String {
    match target.verdict {
        Verdict::Met => format!("  {GREEN}met{RESET}"),
        Verdict::Missed => format!("  {RED}missed{RESET}"),
        Verdict::TooFew => "  too few to say".to_owned(),
    }
}

fn show_speed(metrics: &Metrics, terminal: &mut Terminal) -> anyhow::Result<()> {
    let (total, time) = (&metrics.total, &metrics.time);
    if let (Some(hours), Some(artifacts), Some(lines)) =
        (time.active_hours, total.artifacts_per_hour, total.lines_per_hour)
    {
        terminal.line(format_args!(
            "{} of work: {artifacts:.1} artifacts and {lines:.0} lines an hour",
            hours_text(hours)
        ))?;
    }
    if let Some(saved) = time.saved_hours {
        let what = if saved < 0.0 { "lost" } else { "saved" };
        terminal.line(format_args!("about {} {what}: {}", hours_text(saved.abs()), time.method))?;
    }
    if let Some(tokens) = total.tokens_per_valid {
        terminal
            .line(format_args!("{} tokens for each artifact that passed", grouped(tokens.round() as u64)))?;
    }
    terminal.line(format_args!(""))
}

fn show_groups(groups: &[Group], title: &str, terminal: &mut Terminal) -> anyhow::Result<()> {
    let mut table = Table::new(&[
        title,
        "made",
        "validation",
        "types",
        "tests",
        "first try",
        "retries",
        "fixed",
        "tokens",
        "lines/h",
    ]);
    for group in groups.iter().filter(|group| group.generations > 0) {
        table.row(vec![
            if group.name.is_empty() { format!("(no {title})") } else { story::brief(&group.name, 40) },
            grouped(group.generations),
            with_cases(&group.validation),
            with_cases(&group.types),
            with_cases(&group.tests),
            with_cases(&group.first_try),
            group.retries.mean.map_or("-".to_owned(), |mean| format!("{mean:.2}")),
            with_cases(&group.fixed),
            group.tokens_per_valid.map_or("-".to_owned(), |tokens| grouped(tokens.round() as u64)),
            group.lines_per_hour.map_or("-".to_owned(), |lines| format!("{lines:.0}")),
        ]);
    }
    print_table(&table, terminal)
}

fn show_trend(weeks: &[Group], terminal: &mut Terminal) -> anyhow::Result<()> {
    let weeks: Vec<&Group> = weeks.iter().filter(|week| !week.name.is_empty()).collect();
    if weeks.len() < 2 {
        return Ok(());
    }
    let weeks = &weeks[weeks.len().saturating_sub(MAX_WEEKS)..];
    let mut line = |name: &str, rate: fn(&Group) -> &Rate| {
        terminal.line(format_args!("{name:<11} {}", sparkline(weeks.iter().map(|week| rate(week).rate))))
    };
    line("validation", |week| &week.validation)?;
    line("types", |week| &week.types)?;
    line("tests", |week| &week.tests)?;
    line("first try", |week| &week.first_try)?;
    let retries = weeks.iter().map(|week| week.retries.mean.map(|mean| mean / 4.0));
    terminal.line(format_args!("{:<11} {}  (full: 4)", "retries", sparkline(retries)))?;
    terminal.line(format_args!(""))
}

fn show_rules(metrics: &Metrics, terminal: &mut Terminal) -> anyhow::Result<()> {
    let rules = sorted_rules(metrics);
    let mut table = Table::new(&["rule", "fired", "by fixer", "by model", "stays", "overridden"]);
    for rule in rules.iter().take(MAX_ROWS) {
        table.row(vec![
            story::brief(&rule.rule, 40),
            grouped(rule.fired),
            grouped(rule.by_fixer),
            grouped(rule.by_model),
            grouped(rule.stays),
            with_cases(&rule.overridden),
        ]);
    }
    let mut lines = table.lines().into_iter();
    if table.is_empty() {
        return Ok(());
    }
    terminal.line(format_args!("{BOLD}{}{RESET}", lines.next().unwrap_or_default()))?;
    for (rule, line) in rules.iter().zip(lines) {
        let mark = if rule.doubtful { format!("  {YELLOW}may be wrong{RESET}") } else { String::new() };
        terminal.line(format_args!("{line}{mark}"))?;
    }
    tell_more(rules.len(), terminal)?;
    terminal.line(format_args!(""))
}

/// How often each rule was put right, week by week.
fn show_rule_trend(metrics: &Metrics, terminal: &mut Terminal) -> anyhow::Result<()> {
    let rows = sorted_rules(metrics).into_iter().map(|rule| {
        let of_rule = metrics.rules_by.weeks.iter().filter(|share| share.rule == rule.rule);
        let fixed: BTreeMap<_, _> = of_rule.map(|share| (share.group.as_str(), share.fixed.rate)).collect();
        (rule.rule.as_str(), fixed)
    });
    show_weeks("rules put right, by week", metrics, rows, terminal)
}

/// How often a skill that was offered was used, week by week.
fn show_funnel_trend(metrics: &Metrics, terminal: &mut Terminal) -> anyhow::Result<()> {
    let rows = sorted_skills(metrics).into_iter().map(|skill| {
        let of_skill = metrics.funnel_by_week.iter().filter(|week| week.skill == skill.skill);
        let used = of_skill.map(|week| {
            let share = (week.offered > 0).then(|| week.used as f64 / week.offered as f64);
            (week.week.as_str(), share)
        });
        (skill.skill.as_str(), used.collect::<BTreeMap<_, _>>())
    });
    show_weeks("skills used where offered, by week", metrics, rows, terminal)
}

/// One little chart a row, all over the same weeks; nothing if there is only one.
fn show_weeks<'m>(
    title: &str,
    metrics: &Metrics,
    rows: impl Iterator<Item = (&'m str, BTreeMap<&'m str, Option<f64>>)>,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let weeks: Vec<&str> =
        metrics.weeks.iter().map(|week| week.name.as_str()).filter(|name| !name.is_empty()).collect();
    let weeks = &weeks[weeks.len().saturating_sub(MAX_WEEKS)..];
    let mut table = Table::new(&[title, ""]);
    for (name, shares) in rows.take(MAX_ROWS) {
        if weeks.iter().any(|week| shares.get(week).copied().flatten().is_some()) {
            let chart = sparkline(weeks.iter().map(|week| shares.get(week).copied().flatten()));
            table.row(vec![story::brief(name, 40), chart]);
        }
    }
    if weeks.len() < 2 { Ok(()) } else { print_table(&table, terminal) }
}

/// Rules told apart by what else is told apart.
fn show_rules_by(shares: &[RuleShare], title: &str, terminal: &mut Terminal) -> anyhow::Result<()> {
    let mut table = Table::new(&["rule", title, "fired", "fixed", "overridden"]);
    let mut most: Vec<&RuleShare> = shares.iter().collect();
    most.sort_by_key(|share| std::cmp::Reverse(share.overridden.of));
    for share in most.iter().take(MAX_ROWS) {
        table.row(vec![
            story::brief(&share.rule, 40),
            if share.group.is_empty() { format!("(no {title})") } else { story::brief(&share.group, 40) },
            grouped(share.fired),
            with_cases(&share.fixed),
            with_cases(&share.overridden),
        ]);
    }
    print_table(&table, terminal)?;
    tell_more(shares.len(), terminal)
}

fn show_funnel(metrics: &Metrics, terminal: &mut Terminal) -> anyhow::Result<()> {
    let mut table = Table::new(&["skill", "offered", "loaded", "used", "passed", "approved", "merged"]);
    let skills = sorted_skills(metrics);
    for skill in skills.iter().take(MAX_ROWS) {
        let stages = [skill.offered, skill.loaded, skill.used, skill.passed, skill.approved, skill.merged];
        let mut row = vec![story::brief(&skill.skill, 40)];
        row.extend(stages.map(grouped));
        table.row(row);
    }
    print_table(&table, terminal)?;
    tell_more(skills.len(), terminal)
}

/// Those that may be wrong first, then those that there is most to say about.
fn sorted_rules(metrics: &Metrics) -> Vec<&Rule> {
    let mut rules: Vec<_> = metrics.rules.iter().collect();
    rules.sort_by_key(|rule| (!rule.doubtful, std::cmp::Reverse(rule.overridden.of)));
    rules
}

fn sorted_skills(metrics: &Metrics) -> Vec<&SkillFunnel> {
    let mut skills: Vec<_> = metrics.funnel.iter().collect();
    skills.sort_by_key(|skill| std::cmp::Reverse(skill.offered));
    skills
}

fn tell_more(all: usize, terminal: &mut Terminal) -> anyhow::Result<()> {
    match all.saturating_sub(MAX_ROWS) {
        0 => Ok(()),
        more => terminal.line(format_args!("… {more} more; `--format json` has all")),
    }
}

fn print_table(table: &Table, terminal: &mut Terminal) -> anyhow::Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    for (number, line) in table.lines().into_iter().enumerate() {
        match number {
            0 => terminal.line(format_args!("{BOLD}{line}{RESET}"))?,
            _ => terminal.line(format_args!("{line}"))?,
        }
    }
    terminal.line(format_args!(""))
}

fn share(rate: &Rate) -> String {
    rate.rate.map_or("no data".to_owned(), percent)
}

fn cases(rate: &Rate) -> String {
    if rate.of == 0 { String::new() } else { format!("{} of {}", grouped(rate.passed), grouped(rate.of)) }
}

fn likely(rate: &Rate) -> String {
    match (rate.low, rate.high) {
        (Some(low), Some(high)) => format!("{:.0}–{}", low * 100.0, percent(high)),
        _ => String::new(),
    }
}

fn with_cases(rate: &Rate) -> String {
    match rate.rate {
        Some(_) => format!("{} ({}/{})", share(rate), grouped(rate.passed), grouped(rate.of)),
        None => "-".to_owned(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn hours_text(hours: f64) -> String {
    if hours < 1.0 { format!("{:.0} min", hours * 60.0) } else { format!("{hours:.1} h") }
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_takes_days_and_distances() {
        let day = |since: &str| first_day(since, "2026-11-16T12:00:00Z").ok().map(metrics::day_name);
        assert_eq!(day("2026-11-01").as_deref(), Some("2026-11-01"));
        assert_eq!(day("1d").as_deref(), Some("2026-11-16"));
        assert_eq!(day("7d").as_deref(), Some("2026-11-10"));
        assert_eq!(day("2w").as_deref(), Some("2026-11-03"));
        for wrong in ["", "d", "-3d", "yesterday", "2026-13-01", "9999999999999999d", "é"] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn great_numbers_can_be_read() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
