//! Where bars and whiskers of a page go. Only geometry and labels: the page draws them.

use grail_flywheel::comparison::{Comparison, Difference, Part};
use grail_flywheel::evaluation::{Evaluation, Proportion, Tally};
use serde::Serialize;

use super::{clean, points, told};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 220.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 8.0;
const ROW: f64 = 46.0;
const FOREST_ROW: f64 = 28.0;
const BOTTOM: f64 = 26.0;

/// Shares as bars, two for each row, with where the true share is likely to be.
#[derive(Serialize)]
pub(super) struct Bars {
    title: String,
    width: f64,
    height: f64,
    left: f64,
    bottom: f64,
    /// Read aloud.
    summary: String,
    rows: Vec<Row>,
    levels: Vec<Level>,
}

#[derive(Serialize)]
struct Row {
    label: String,
    y: f64,
    bars: Vec<Bar>,
}

#[derive(Serialize)]
struct Bar {
    class: &'static str,
    y: f64,
    width: f64,
    low: f64,
    high: f64,
    middle: f64,
    text: String,
    text_x: f64,
}

#[derive(Serialize)]
struct Level {
    x: f64,
    label: String,
}

/// Differences with their intervals, one row each.
#[derive(Serialize)]
pub(super) struct Forest {
    width: f64,
    height: f64,
    left: f64,
    bottom: f64,
    zero: f64,
    summary: String,
    rows: Vec<Whisker>,
    levels: Vec<Level>,
}

#[derive(Serialize)]
struct Whisker {
    label: String,
    y: f64,
    low: f64,
    high: f64,
    middle: f64,
    text: String,
    class: &'static str,
}

/// One row for each arm.
pub(super) fn arms(title: &str, evaluations: &[Evaluation]) -> Bars {
    let tallies: Vec<(String, Tally)> =
        evaluations.iter().map(|evaluation| (evaluation.arm.name.clone(), evaluation.score().all)).collect();
    bars(title, &tallies)
}

/// One row for each kind and group of an evaluation.
pub(super) fn parts(title: &str, evaluation: &Evaluation) -> Bars {
    let score = evaluation.score();
    let tallies: Vec<(String, Tally)> = score.by_kind.into_iter().chain(score.by_group).collect();
    bars(title, &tallies)
}

fn bars(title: &str, tallies: &[(String, Tally)]) -> Bars {
    let inner = WIDTH - LEFT - RIGHT;
    let x = |share: f64| tenth(LEFT + inner * share);
    let bar = |class: &'static str, y: f64, proportion: &Proportion| Bar {
        class,
        y: tenth(y),
        width: tenth(inner * proportion.share.unwrap_or_default()),
        low: x(proportion.low),
        high: x(proportion.high),
        middle: tenth(y + 7.0),
        text: format!("{:.0} %", proportion.share.unwrap_or_default() * 100.0),
        text_x: tenth(x(proportion.high) + 6.0),
    };
    let row = |(number, (name, tally)): (usize, &(String, Tally))| {
        let y = TOP + ROW * number as f64;
        Row {
            label: clean(name),
            y: tenth(y + ROW / 2.0),
            bars: vec![bar("first", y + 4.0, &tally.first_try), bar("fixed", y + 22.0, &tally.with_fixes)],
        }
    };
    let summary = tallies
        .iter()
        .map(|(name, tally)| {
            format!(
                "{}: {} at first, {} with fixes.",
                clean(name),
                told(&tally.first_try),
                told(&tally.with_fixes)
            )
        })
        .collect::<Vec<_>>()
        .join(" ");
    let height = TOP + ROW * tallies.len() as f64 + BOTTOM;
    Bars {
        title: clean(title),
        width: WIDTH,
        height,
        left: LEFT,
        bottom: height - BOTTOM,
        summary,
        rows: tallies.iter().enumerate().map(row).collect(),
        levels: [0.0, 0.25, 0.5, 0.75, 1.0]
            .map(|share| Level { x: x(share), label: format!("{:.0} %", share * 100.0) })
            .into(),
    }
}

/// The whole, then kinds and groups.
pub(super) fn forest(comparison: &Comparison) -> Forest {
    let parts = comparison.kinds.iter().chain(&comparison.groups);
    let mut rows: Vec<(&str, &Difference)> = vec![("all prompts", &comparison.difference)];
    rows.extend(parts.map(|part: &Part| (part.name.as_str(), &part.difference)));
    let reach = rows
        .iter()
        .flat_map(|(_, difference)| [difference.interval.low.abs(), difference.interval.high.abs()])
        .fold(0.1, f64::max)
        .min(1.0);
    let inner = WIDTH - LEFT - RIGHT;
    let x = |difference: f64| tenth(LEFT + inner * (difference.clamp(-reach, reach) / reach + 1.0) / 2.0);
    let whisker = |(number, (name, difference)): (usize, &(&str, &Difference))| Whisker {
        label: clean(name),
        y: tenth(TOP + FOREST_ROW * (number as f64 + 0.5)),
        low: x(difference.interval.low),
        high: x(difference.interval.high),
        middle: x(difference.estimate),
        text: points(difference),
        class: match difference.interval {
            interval if interval.low > 0.0 => "better",
            interval if interval.high < 0.0 => "worse",
            _ => "same",
        },
    };
    let height = TOP + FOREST_ROW * rows.len() as f64 + BOTTOM;
    Forest {
        width: WIDTH,
        height,
        left: LEFT,
        bottom: height - BOTTOM,
        zero: x(0.0),
        summary: rows
            .iter()
            .map(|(name, difference)| format!("{}: {}.", clean(name), points(difference)))
            .collect::<Vec<_>>()
            .join(" "),
        rows: rows.iter().enumerate().map(whisker).collect(),
        levels: [-reach, 0.0, reach]
            .map(|at| Level { x: x(at), label: format!("{:+.0}", at * 100.0) })
            .into(),
    }
}

fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
