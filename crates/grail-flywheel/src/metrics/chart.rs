//! Where lines and dots of the report go. Only geometry and labels: the page draws them.

use serde::Serialize;

use super::report::{percent, with_cases};
use super::{ENOUGH, Group, Metrics, Rate, day_number};

pub(super) const WIDTH: f64 = 340.0;
pub(super) const HEIGHT: f64 = 180.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;
/// Earlier weeks are in the table.
const MAX_WEEKS: i64 = 52;

/// One number over the weeks.
#[derive(Serialize)]
pub(super) struct Panel {
    id: &'static str,
    title: &'static str,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    bottom: f64,
    /// Read aloud, and shown if there is nothing to draw.
    summary: String,
    is_empty: bool,
    levels: Vec<Level>,
    weeks: Vec<Mark>,
    target: Level,
    /// Areas where the true share is likely to be, as corners.
    bands: Vec<String>,
    lines: Vec<String>,
    dots: Vec<Dot>,
}

#[derive(Serialize)]
struct Level {
    y: f64,
    label: String,
}

#[derive(Serialize)]
struct Mark {
    x: f64,
    label: String,
    anchor: &'static str,
}

#[derive(Serialize)]
struct Dot {
    x: f64,
    y: f64,
    label: String,
    /// Too few cases to say much.
    is_faint: bool,
}

/// What is known of one week.
struct Point {
    week: i64,
    value: f64,
    likely: Option<(f64, f64)>,
    label: String,
    is_faint: bool,
}

pub(super) fn panels(metrics: &Metrics) -> Vec<Panel> {
    let weeks: Vec<(i64, &Group)> = metrics
        .weeks
        .iter()
        .filter(|week| week.generations > 0)
        .filter_map(|week| Some((day_number(&week.name)?.div_euclid(7), week)))
        .collect();
    let newest = weeks.last().map_or(0, |(week, _)| *week);
    let weeks: Vec<(i64, &Group)> = weeks.into_iter().filter(|(week, _)| newest - week < MAX_WEEKS).collect();
    let of_rate = |rate: fn(&Group) -> &Rate| {
        weeks.iter().filter_map(|(week, group)| rate_point(*week, group, rate(group))).collect::<Vec<_>>()
    };
    let retries: Vec<Point> = weeks
        .iter()
        .filter_map(|(week, group)| {
            let value = group.retries.mean?;
            Some(Point {
                week: *week,
                value,
                likely: None,
                label: format!(
                    "week of {}: {value:.2} ({} in {})",
                    group.name, group.retries.sum, group.retries.of
                ),
                is_faint: group.retries.of < ENOUGH,
            })
        })
        .collect();
    let most = retries.iter().map(|point| point.value).fold(3.0, f64::max).ceil();
    let shares: fn(f64) -> String = percent;
    let counts: fn(f64) -> String = |count| format!("{count}");
    vec![
        panel("validation", "Validation", &of_rate(|group| &group.validation), 1.0, 0.90, shares),
        panel("types", "Types", &of_rate(|group| &group.types), 1.0, 0.95, shares),
        panel("tests", "Tests", &of_rate(|group| &group.tests), 1.0, 0.85, shares),
        panel("first-try", "First try", &of_rate(|group| &group.first_try), 1.0, 0.0, shares),
        panel("retries", "Retries for each generation", &retries, most, 2.0, counts),
    ]
}

fn rate_point(week: i64, group: &Group, rate: &Rate) -> Option<Point> {
    Some(Point {
        week,
        value: rate.rate?,
        likely: rate.low.zip(rate.high),
        label: format!("week of {}: {}", group.name, with_cases(rate)),
        is_faint: !rate.is_enough(),
    })
}

fn panel(
    id: &'static str,
    title: &'static str,
    points: &[Point],
    most: f64,
    target: f64,
    text: fn(f64) -> String,
) -> Panel {
    let (first, last) =
        (points.first().map_or(0, |point| point.week), points.last().map_or(0, |point| point.week));
    let span = (last - first).max(1) as f64;
    let inner = WIDTH - LEFT - RIGHT;
    let x = |week: i64| match last == first {
        true => tenth(LEFT + inner / 2.0),
        false => tenth(LEFT + inner * (week - first) as f64 / span),
    };
    let y = |value: f64| tenth(TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / most));
    // A week in which nothing was made breaks the line.
    let runs: Vec<&[Point]> = points.chunk_by(|left, right| right.week - left.week == 1).collect();
    let corners = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        points.map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" ")
    };
    let line = |run: &&[Point]| corners(&mut run.iter().map(|point| (x(point.week), y(point.value))));
    let band = |run: &&[Point]| {
        let low = run.iter().filter_map(|point| Some((x(point.week), y(point.likely?.0))));
        let high = run.iter().rev().filter_map(|point| Some((x(point.week), y(point.likely?.1))));
        corners(&mut low.chain(high))
    };
    let is_line = |run: &&&[Point]| run.len() > 1;
    let dot = |point: &Point| Dot {
        x: x(point.week),
        y: y(point.value),
        label: point.label.clone(),
        is_faint: point.is_faint,
    };
    let mut weeks = Vec::new();
    if let Some(point) = points.first() {
        let anchor = if last == first { "middle" } else { "start" };
        weeks.push(Mark { x: x(first), label: week_label(point), anchor });
    }
    if let Some(point) = points.last().filter(|_| last != first) {
        weeks.push(Mark { x: x(last), label: week_label(point), anchor: "end" });
    }
    let summary = match (points.first(), points.last()) {
        (Some(first), Some(last)) if points.len() > 1 => {
            format!(
                "{title} over {} weeks: from {} to {}.",
                points.len(),
                text(first.value),
                text(last.value)
            )
        }
        (Some(only), _) => format!("{title}: {}.", only.label),
        _ => "No data yet.".to_owned(),
    };
    Panel {
        id,
        title,
        width: WIDTH,
        height: HEIGHT,
        left: LEFT,
        right: WIDTH - RIGHT,
        bottom: HEIGHT - BOTTOM,
        summary,
        is_empty: points.is_empty(),
        levels: [0.0, most / 2.0, most].map(|level| Level { y: y(level), label: text(level) }).into(),
        weeks,
        target: Level {
            y: y(target),
            label: if target > 0.0 { format!("target {}", text(target)) } else { String::new() },
        },
        bands: runs.iter().filter(is_line).map(band).filter(|band| !band.is_empty()).collect(),
        lines: runs.iter().filter(is_line).map(line).collect(),
        dots: points.iter().map(dot).collect(),
    }
}

/// Its Monday: the first one was the fifth day.
fn week_label(point: &Point) -> String {
    super::day_name(point.week * 7 + 4)
}

fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
