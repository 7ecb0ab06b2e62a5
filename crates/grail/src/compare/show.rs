//! A comparison as people see it: the difference, where it comes from, and answers side by side.

use grail_flywheel::comparison::{Comparison, Difference, Part, SideBySide, Told};
use grail_flywheel::evaluation::Measure;
use grail_flywheel::statistics::Decision;

use crate::eval::show::{likely, print, share};
use crate::render::{BOLD, GREEN, RED, RESET, Terminal, count, visible, visible_line};
use crate::table::Table;

/// Rules that are shown; JSON has all.
const MAX_RULES: usize = 10;
/// Lines of an answer that are shown.
const MAX_LINES: usize = 14;

pub(crate) fn comparison(comparison: &Comparison, terminal: &mut Terminal) -> anyhow::Result<()> {
    let measure = match comparison.settings.measure {
        Measure::FirstTry => "passed at the first try",
        Measure::WithFixes => "passed after fixes and retries",
    };
    terminal.line(format_args!(
        "{BOLD}{}{RESET} {}, {} of answers: {measure}",
        visible_line(&comparison.suite.name),
        count(comparison.prompts, "prompt"),
        count(comparison.pairs, "pair")
    ))?;
    terminal.line(format_args!(""))?;
    let mut sides = Table::new(&["", "passed", "likely"]);
    for (mark, side) in [("before", &comparison.before), ("after", &comparison.after)] {
        let name = format!("{mark}: {}", visible_line(&side.arm.name));
        sides.row(vec![name, share(&side.passed), likely(&side.passed)]);
    }
    print(&sides, terminal)?;
    let (colour, verdict) = verdict(comparison);
    let mcnemar = &comparison.mcnemar;
    terminal.line(format_args!(
        "{BOLD}{}{RESET}: {colour}{verdict}{RESET}; {} won, {} lost, p = {}",
        difference(&comparison.difference),
        count(mcnemar.won as usize, "prompt"),
        mcnemar.lost,
        chance(mcnemar.exact)
    ))?;
    let sequential = &comparison.sequential;
    let decided = match (sequential.decision, sequential.decided_after) {
        (Decision::Better, Some(after)) => format!("better, decided after {after} prompts"),
        (Decision::Worse, Some(after)) => format!("worse, decided after {after} prompts"),
        _ => "not decided".to_owned(),
    };
    terminal.line(format_args!("sequentially: {decided}"))?;
    terminal.line(format_args!(""))?;
    let mut parts = Table::new(&["", "before", "after", "difference", "won", "lost"]);
    for part in comparison.kinds.iter().chain(&comparison.groups) {
        parts.row(row(part));
    }
    print(&parts, terminal)?;
    let mut rules = Table::new(&["rule", "won", "lost", "before", "after"]);
    for rule in comparison.rules.iter().take(MAX_RULES) {
        let numbers = [rule.won, rule.lost, rule.before, rule.after].map(|number| number.to_string());
        rules.row([vec![visible_line(&rule.rule)], numbers.into()].concat());
    }
    print(&rules, terminal)?;
    for example in &comparison.examples {
        side_by_side(comparison, example, terminal)?;
    }
    Ok(())
}

pub(crate) fn verdict(comparison: &Comparison) -> (&'static str, &'static str) {
    if comparison.is_win() {
        (GREEN, "a win")
    } else if comparison.is_loss() {
        (RED, "a loss")
    } else {
        ("", "no difference beyond chance")
    }
}

fn row(part: &Part) -> Vec<String> {
    vec![
        visible_line(&part.name),
        share(&part.before),
        share(&part.after),
        difference(&part.difference),
        part.won.to_string(),
        part.lost.to_string(),
    ]
}

/// `+16.7 points [9.2, 23.3]`.
pub(crate) fn difference(difference: &Difference) -> String {
    let points = |share: f64| {
        let points = (share * 1000.0).round() / 10.0;
        // Nobody wants to read `-0`.
        if points == 0.0 { 0.0 } else { points }
    };
    format!(
        "{:+.1} points [{:.1}, {:.1}]",
        points(difference.estimate),
        points(difference.interval.low),
        points(difference.interval.high)
    )
}

fn chance(chance: f64) -> String {
    if chance < 0.001 { "0.001 or less".to_owned() } else { format!("{chance:.3}") }
}

fn side_by_side(
    comparison: &Comparison,
    example: &SideBySide,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let (mark, colour) = if example.won { ("won", GREEN) } else { ("lost", RED) };
    let rule = example.rule.as_deref().map(|rule| format!(", {}", visible_line(rule))).unwrap_or_default();
    terminal.line(format_args!(
        "{colour}{mark}{RESET} {BOLD}{}{RESET} seed {}{rule}",
        visible_line(&example.prompt),
        example.seed
    ))?;
    for (side, told) in [(&comparison.before, &example.before), (&comparison.after, &example.after)] {
        answer(&side.arm.name, told, terminal)?;
    }
    terminal.line(format_args!(""))
}

fn answer(name: &str, told: &Told, terminal: &mut Terminal) -> anyhow::Result<()> {
    let verdict = match told.problems.first() {
        _ if told.passed => "passed".to_owned(),
        Some(problem) => format!("[{}] {}", visible_line(&problem.rule), visible_line(&problem.message)),
        None => "did not pass".to_owned(),
    };
    terminal.line(format_args!("  {}: {verdict}", visible_line(name)))?;
    let lines: Vec<&str> = told.code.lines().collect();
    for line in lines.iter().take(MAX_LINES) {
        terminal.line(format_args!("    {}", visible(line)))?;
    }
    if lines.len() > MAX_LINES {
        terminal.line(format_args!("    … {} more", count(lines.len() - MAX_LINES, "line")))?;
    }
    Ok(())
}
