//! Evaluations and comparisons as a page: one file that opens anywhere, without a network and without scripts.
//!
//! Names, code and messages are other people's text. They reach the page through the template's escaping only, with what no page may hold
//! (control characters, turned writing) spelled out.

mod chart;

use grail_flywheel::comparison::{Comparison, Difference, SideBySide, Told};
use grail_flywheel::evaluation::{Broken, Evaluation, Proportion};
use grail_flywheel::metrics::report::About;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment};
use serde::Serialize;

use self::chart::{Bars, Forest};
use crate::AgentError;

const TEMPLATE: &str = include_str!("page.html");
/// Rows of a table; JSON has all.
const MAX_ROWS: usize = 40;
/// Answers side by side.
const MAX_EXAMPLES: usize = 24;

/// What the template reads.
#[derive(Serialize)]
struct Page {
    title: String,
    project: String,
    made_at: String,
    suite: String,
    lead: Vec<String>,
    charts: Vec<Bars>,
    forest: Option<Forest>,
    tables: Vec<TableOf>,
    examples: Vec<ExampleOf>,
    more_examples: usize,
}

#[derive(Serialize)]
struct TableOf {
    caption: String,
    heading: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

#[derive(Serialize)]
struct ExampleOf {
    title: String,
    won: bool,
    sides: Vec<SideOf>,
}

#[derive(Serialize)]
struct SideOf {
    name: String,
    passed: bool,
    problems: Vec<String>,
    code: String,
}

/// The page of an evaluation and its controls. The first is what was asked for.
pub fn evaluation_page(evaluations: &[Evaluation], about: &About) -> Result<String, AgentError> {
    let first = evaluations.first();
    let name = first.map(|first| first.arm.name.clone()).unwrap_or_default();
    let mut page = page(&format!("{name} on its own prompts"), evaluations, about);
    page.title = clean(&name);
    if let Some(first) = first {
        page.lead.push(format!(
            "{} of the answers passed at the first try, {} after safe fixes.",
            told(&first.score().all.first_try),
            told(&first.score().all.with_fixes)
        ));
        page.charts.push(chart::parts("By kind and group", first));
        page.tables.push(rules_of(first));
    }
    render(&page)
}

/// The page of a comparison, before and after.
pub fn comparison_page(
    comparison: &Comparison,
    evaluations: &[Evaluation],
    about: &About,
) -> Result<String, AgentError> {
    let (before, after) = (&comparison.before.arm.name, &comparison.after.arm.name);
    let mut page = page(&format!("{after} after {before}"), evaluations, about);
    let verdict = if comparison.is_win() {
        "That is a win"
    } else if comparison.is_loss() {
        "That is a loss"
    } else {
        "That could be chance"
    };
    page.lead.push(format!(
        "{} on {} prompts. {verdict}: {} prompts won, {} lost, p = {:.3}.",
        points(&comparison.difference),
        comparison.prompts,
        comparison.mcnemar.won,
        comparison.mcnemar.lost,
        comparison.mcnemar.exact
    ));
    page.forest = Some(chart::forest(comparison));
    page.tables.push(TableOf {
        caption: "Rules, by how many answers broke them".to_owned(),
        heading: vec!["rule", "before", "after", "won", "lost"],
        rows: comparison
            .rules
            .iter()
            .take(MAX_ROWS)
            .map(|rule| {
                let numbers = [rule.before, rule.after, rule.won, rule.lost].map(|number| number.to_string());
                [vec![clean(&rule.rule)], numbers.into()].concat()
            })
            .collect(),
    });
    let examples = comparison.examples.iter().take(MAX_EXAMPLES);
    page.examples = examples.map(|example| example_of(comparison, example)).collect();
    page.more_examples = comparison.examples.len().saturating_sub(MAX_EXAMPLES);
    render(&page)
}

fn page(title: &str, evaluations: &[Evaluation], about: &About) -> Page {
    let suite = evaluations.first().map(|first| {
        format!(
            "suite {} ({} prompts, {} seeds), judged by {}",
            clean(&first.suite.name),
            first.suite.prompts,
            first.seeds.len(),
            first.layers.join(", ")
        )
    });
    Page {
        title: clean(title),
        project: clean(&about.project),
        made_at: clean(&about.made_at),
        suite: suite.unwrap_or_default(),
        lead: Vec::new(),
        charts: vec![chart::arms("Passed, by arm", evaluations)],
        forest: None,
        tables: vec![arms_table(evaluations)],
        examples: Vec::new(),
        more_examples: 0,
    }
}

fn arms_table(evaluations: &[Evaluation]) -> TableOf {
    let row = |evaluation: &Evaluation| {
        let tally = evaluation.score().all;
        vec![
            clean(&evaluation.arm.name),
            told(&tally.first_try),
            told(&tally.with_fixes),
            told(&tally.mended),
            format!("{:.2}", tally.retries),
            format!("{:.0}", tally.output_tokens),
            format!("{:.1} s", tally.milliseconds / 1000.0),
            clean(&evaluation.arm.identity),
        ]
    };
    TableOf {
        caption: "Every arm was asked the same prompts".to_owned(),
        heading: vec![
            "arm",
            "first try",
            "with fixes",
            "mended",
            "retries",
            "tokens",
            "time",
            "who answered",
        ],
        rows: evaluations.iter().map(row).collect(),
    }
}

fn rules_of(evaluation: &Evaluation) -> TableOf {
    let score = evaluation.score();
    let mut rules: Vec<(&String, &Broken)> = score.by_rule.iter().collect();
    rules.sort_by_key(|(rule, broken)| (std::cmp::Reverse(broken.answers), (*rule).clone()));
    TableOf {
        caption: "What first answers broke".to_owned(),
        heading: vec!["rule", "answers", "likely"],
        rows: rules
            .into_iter()
            .take(MAX_ROWS)
            .map(|(rule, broken)| {
                let likely = format!("{:.0}–{:.0} %", broken.low * 100.0, broken.high * 100.0);
                vec![clean(rule), told(&broken.proportion()), likely]
            })
            .collect(),
    }
}

fn example_of(comparison: &Comparison, example: &SideBySide) -> ExampleOf {
    let rule = example.rule.as_deref().map(|rule| format!(", {rule}")).unwrap_or_default();
    let side = |name: &str, told: &Told| SideOf {
        name: clean(name),
        passed: told.passed,
        problems: told
            .problems
            .iter()
            .take(5)
            .map(|problem| clean(&format!("[{}] {}", problem.rule, problem.message)))
            .collect(),
        code: clean_text(&told.code),
    };
    ExampleOf {
        title: clean(&format!("{} (seed {}){rule}", example.prompt, example.seed)),
        won: example.won,
        sides: vec![
            side(&comparison.before.arm.name, &example.before),
            side(&comparison.after.arm.name, &example.after),
        ],
    }
}

fn render(page: &Page) -> Result<String, AgentError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let mut render = || {
        let mut syntax = environment.syntax().to_builder();
        syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
        environment.set_syntax(syntax.build()?);
        environment.render_str(TEMPLATE, Value::from(Serde(page)))
    };
    render().map_err(|error: minijinja::Error| AgentError::Other {
        message: format!("the report cannot be written: {error}"),
        hint: None,
    })
}

/// `86 % (309 of 360)`.
fn told(proportion: &Proportion) -> String {
    match proportion.share {
        Some(share) => format!("{:.0} % ({} of {})", share * 100.0, proportion.passed, proportion.of),
        None => "–".to_owned(),
    }
}

/// `+16.7 points [9.2, 23.3]`.
fn points(difference: &Difference) -> String {
    let points = |share: f64| {
        let points = (share * 1000.0).round() / 10.0;
        if points == 0.0 { 0.0 } else { points }
    };
    let interval = difference.interval;
    format!(
        "{:+.1} points [{:.1}, {:.1}]",
        points(difference.estimate),
        points(interval.low),
        points(interval.high)
    )
}

/// One line, without characters that a page cannot hold or that would turn the order of letters round.
fn clean(text: &str) -> String {
    shown(text.chars().take(300), false)
}

/// The same for code, which has lines.
fn clean_text(text: &str) -> String {
    shown(text.chars().take(20_000), true)
}

fn shown(characters: impl Iterator<Item = char>, with_lines: bool) -> String {
    let mut cleaned = String::new();
    for character in characters {
        let is_hidden = (character.is_control() && !(with_lines && matches!(character, '\n' | '\t')))
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}');
        match is_hidden {
            true => cleaned.extend(character.escape_unicode()),
            false => cleaned.push(character),
        }
    }
    cleaned
}
