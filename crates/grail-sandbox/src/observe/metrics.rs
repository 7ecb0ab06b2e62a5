//! Counters of runs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::outcome::{Ending, Outcome};

/// Takes what happens in runs. Called from many threads; it must not block for long.
pub trait Metrics: Send + Sync {
    fn count(&self, name: &'static str, labels: &[(&'static str, &str)], by: u64);
    fn record(&self, name: &'static str, labels: &[(&'static str, &str)], seconds: f64);
}

/// One of the numbers that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub help: &'static str,
    pub labels: &'static [&'static str],
    /// Durations come through [`Metrics::record`], the others through [`Metrics::count`].
    pub is_duration: bool,
}

const RUNS: &str = "grail_runs_total";
const RUN_SECONDS: &str = "grail_run_seconds";
const EXECUTING_SECONDS: &str = "grail_executing_seconds";
const LIMIT_HITS: &str = "grail_limit_hits_total";
const CRASHES: &str = "grail_worker_crashes_total";
const SUSPENSIONS: &str = "grail_suspensions_total";
const TOOL_CALLS: &str = "grail_tool_calls_total";
const TOOL_CALL_SECONDS: &str = "grail_tool_call_seconds";

/// Everything that is reported: by contexts about their runs, and by the middleware [`crate::CountCalls`] about tools.
pub const METRICS: [Metric; 8] = [
    Metric { name: RUNS, help: "Runs that ended, by how.", labels: &["outcome"], is_duration: false },
    Metric { name: RUN_SECONDS, help: "Runs from start to end.", labels: &["outcome"], is_duration: true },
    Metric {
        name: EXECUTING_SECONDS,
        help: "Time the interpreter executed.",
        labels: &[],
        is_duration: true,
    },
    Metric { name: LIMIT_HITS, help: "Limits that were hit.", labels: &["limit"], is_duration: false },
    Metric { name: CRASHES, help: "Workers that died.", labels: &[], is_duration: false },
    Metric { name: SUSPENSIONS, help: "Calls to the host of any kind.", labels: &[], is_duration: false },
    Metric { name: TOOL_CALLS, help: "Calls of tools.", labels: &["tool", "failed"], is_duration: false },
    Metric {
        name: TOOL_CALL_SECONDS,
        help: "Calls of tools.",
        labels: &["tool", "failed"],
        is_duration: true,
    },
];

/// Upper ends of the buckets, in seconds.
const BUCKETS: [f64; 9] = [0.0001, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];

/// Labels come from names of tools and policies; a host that makes up names as it goes must not fill the memory.
const MAX_SERIES: usize = 1000;

type Key = (&'static str, Vec<(&'static str, String)>);

/// Counts in memory, for tests, for `--debug` and for a Prometheus endpoint.
#[derive(Debug, Default)]
pub struct Counters(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    counts: BTreeMap<Key, u64>,
    durations: BTreeMap<Key, Distribution>,
    dropped: u64,
}

#[derive(Clone, Debug, Default)]
struct Distribution {
    count: u64,
    sum: f64,
    buckets: [u64; BUCKETS.len()],
}

/// What the counters say at one moment, sorted by name and labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MetricsSnapshot {
    pub counts: Vec<CountSeries>,
    pub durations: Vec<DurationSeries>,
    /// Events that were not counted because there were too many different labels.
    pub dropped: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountSeries {
    pub name: &'static str,
    pub labels: BTreeMap<&'static str, String>,
    pub value: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DurationSeries {
    pub name: &'static str,
    pub labels: BTreeMap<&'static str, String>,
    pub count: u64,
    pub total_seconds: f64,
}

impl Counters {
    pub fn snapshot(&self) -> MetricsSnapshot {
        let state = self.state();
        let labels = |key: &Key| key.1.iter().cloned().collect();
        let counts = state.counts.iter().map(|(key, value)| CountSeries {
            name: key.0,
            labels: labels(key),
            value: *value,
        });
        let durations = state.durations.iter().map(|(key, distribution)| DurationSeries {
            name: key.0,
            labels: labels(key),
            count: distribution.count,
            total_seconds: distribution.sum,
        });
        MetricsSnapshot { counts: counts.collect(), durations: durations.collect(), dropped: state.dropped }
    }

    /// The counters in the text format that Prometheus reads.
    pub fn prometheus(&self) -> String {
        let state = self.state();
        let mut text = String::new();
        let mut last = "";
        for ((name, labels), value) in &state.counts {
            write_header(&mut text, &mut last, name, "counter");
            let _ = writeln!(text, "{name}{} {value}", label_text(labels, None));
        }
        for ((name, labels), distribution) in &state.durations {
            write_header(&mut text, &mut last, name, "histogram");
            for (end, count) in BUCKETS.iter().zip(distribution.buckets) {
                let _ = writeln!(text, "{name}_bucket{} {count}", label_text(labels, Some(&end.to_string())));
            }
            let _ =
                writeln!(text, "{name}_bucket{} {}", label_text(labels, Some("+Inf")), distribution.count);
            let _ = writeln!(text, "{name}_sum{} {}", label_text(labels, None), distribution.sum);
            let _ = writeln!(text, "{name}_count{} {}", label_text(labels, None), distribution.count);
        }
        text
    }

    /// A panic elsewhere leaves numbers that are as good as before.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Metrics for Counters {
    fn count(&self, name: &'static str, labels: &[(&'static str, &str)], by: u64) {
        let mut state = self.state();
        let key = key(name, labels);
        let is_full = state.counts.len() >= MAX_SERIES && !state.counts.contains_key(&key);
        if is_full {
            state.dropped += 1;
            return;
        }
        let value = state.counts.entry(key).or_default();
        *value = value.saturating_add(by);
    }

    fn record(&self, name: &'static str, labels: &[(&'static str, &str)], seconds: f64) {
        let mut state = self.state();
        let key = key(name, labels);
        let is_full = state.durations.len() >= MAX_SERIES && !state.durations.contains_key(&key);
        if is_full || !seconds.is_finite() {
            state.dropped += 1;
            return;
        }
        let distribution = state.durations.entry(key).or_default();
        distribution.count += 1;
        distribution.sum += seconds;
        for (count, end) in distribution.buckets.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= end);
        }
    }
}

/// Everything an outcome says about its run.
pub(crate) fn count_outcome(metrics: &dyn Metrics, outcome: &Outcome) {
    let labels = [("outcome", outcome.ending.name())];
    metrics.count(RUNS, &labels, 1);
    metrics.record(RUN_SECONDS, &labels, outcome.usage.elapsed.as_secs_f64());
    metrics.record(EXECUTING_SECONDS, &[], outcome.usage.executing.as_secs_f64());
    metrics.count(SUSPENSIONS, &[], outcome.usage.suspensions.into());
    match &outcome.ending {
        Ending::LimitHit(hit) => metrics.count(LIMIT_HITS, &[("limit", hit.limit.name())], 1),
        Ending::WorkerCrashed(_) => metrics.count(CRASHES, &[], 1),
        _ => {}
    }
}

/// Only for tools that exist: a name that the code made up is no label.
pub(crate) fn count_tool_call(metrics: &dyn Metrics, tool: &str, failed: bool, took: Duration) {
    let labels = [("tool", tool), ("failed", if failed { "true" } else { "false" })];
    metrics.count(TOOL_CALLS, &labels, 1);
    metrics.record(TOOL_CALL_SECONDS, &labels, took.as_secs_f64());
}

fn key(name: &'static str, labels: &[(&'static str, &str)]) -> Key {
    (name, labels.iter().map(|(label, value)| (*label, (*value).to_owned())).collect())
}

fn write_header(text: &mut String, last: &mut &'static str, name: &'static str, kind: &str) {
    if *last == name {
        return;
    }
    *last = name;
    if let Some(metric) = METRICS.iter().find(|metric| metric.name == name) {
        let _ = writeln!(text, "# HELP {name} {}", metric.help);
    }
    let _ = writeln!(text, "# TYPE {name} {kind}");
}

fn label_text(labels: &[(&'static str, String)], bucket: Option<&str>) -> String {
    let escape = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let mut parts: Vec<String> =
        labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escape(value))).collect();
    parts.extend(bucket.map(|end| format!("le=\"{end}\"")));
    if parts.is_empty() { String::new() } else { format!("{{{}}}", parts.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Crash, Limit, LimitHit, Printed, Usage};
    use crate::value::Value;

    fn outcome(ending: Ending) -> Outcome {
        let usage = Usage { elapsed: Duration::from_millis(250), suspensions: 2, ..Usage::default() };
        Outcome { ending, printed: Printed::default(), usage, notes: Vec::new(), timeline: None }
    }

    #[test]
    fn outcomes_and_tool_calls_are_counted() {
        let counters = Counters::default();
        let limit = LimitHit { limit: Limit::Memory, message: String::new(), traceback: Vec::new() };
        for ending in [
            Ending::Value { value: Value::None },
            Ending::Value { value: Value::None },
            Ending::LimitHit(limit),
            Ending::WorkerCrashed(Crash { message: String::new() }),
        ] {
            count_outcome(&counters, &outcome(ending));
        }
        count_tool_call(&counters, "fetch", false, Duration::from_millis(5));
        count_tool_call(&counters, "fetch", true, Duration::from_secs(100));
        let text = counters.prometheus();
        let shown = |line: &&str| !line.contains("_bucket") || line.contains("failed=\"false\"");
        insta::assert_snapshot!(text.lines().filter(shown).collect::<Vec<_>>().join("\n"), @r#"
        # HELP grail_limit_hits_total Limits that were hit.
        # TYPE grail_limit_hits_total counter
        grail_limit_hits_total{limit="memory"} 1
        # HELP grail_runs_total Runs that ended, by how.
        # TYPE grail_runs_total counter
        grail_runs_total{outcome="limit-hit"} 1
        grail_runs_total{outcome="value"} 2
        grail_runs_total{outcome="worker-crashed"} 1
        # HELP grail_suspensions_total Calls to the host of any kind.
        # TYPE grail_suspensions_total counter
        grail_suspensions_total 8
        # HELP grail_tool_calls_total Calls of tools.
        # TYPE grail_tool_calls_total counter
        grail_tool_calls_total{tool="fetch",failed="false"} 1
        grail_tool_calls_total{tool="fetch",failed="true"} 1
        # HELP grail_worker_crashes_total Workers that died.
        # TYPE grail_worker_crashes_total counter
        grail_worker_crashes_total 1
        # HELP grail_executing_seconds Time the interpreter executed.
        # TYPE grail_executing_seconds histogram
        grail_executing_seconds_sum 0
        grail_executing_seconds_count 4
        # HELP grail_run_seconds Runs from start to end.
        # TYPE grail_run_seconds histogram
        grail_run_seconds_sum{outcome="limit-hit"} 0.25
        grail_run_seconds_count{outcome="limit-hit"} 1
        grail_run_seconds_sum{outcome="value"} 0.5
        grail_run_seconds_count{outcome="value"} 2
        grail_run_seconds_sum{outcome="worker-crashed"} 0.25
        grail_run_seconds_count{outcome="worker-crashed"} 1
        # HELP grail_tool_call_seconds Calls of tools.
        # TYPE grail_tool_call_seconds histogram
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="0.0001"} 0
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="0.001"} 0
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="0.005"} 1
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="0.025"} 1
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="0.1"} 1
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="0.5"} 1
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="2.5"} 1
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="10"} 1
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="60"} 1
        grail_tool_call_seconds_bucket{tool="fetch",failed="false",le="+Inf"} 1
        grail_tool_call_seconds_sum{tool="fetch",failed="false"} 0.005
        grail_tool_call_seconds_count{tool="fetch",failed="false"} 1
        grail_tool_call_seconds_sum{tool="fetch",failed="true"} 100
        grail_tool_call_seconds_count{tool="fetch",failed="true"} 1
        "#);
    }

    #[test]
    fn only_documented_metrics_are_reported() {
        let counters = Counters::default();
        let limit = LimitHit { limit: Limit::Memory, message: String::new(), traceback: Vec::new() };
        count_outcome(&counters, &outcome(Ending::LimitHit(limit)));
        count_outcome(&counters, &outcome(Ending::WorkerCrashed(Crash { message: String::new() })));
        count_tool_call(&counters, "fetch", true, Duration::ZERO);
        let snapshot = counters.snapshot();
        let counts = snapshot
            .counts
            .iter()
            .map(|count| (count.name, count.labels.keys().copied().collect::<Vec<_>>(), false));
        let durations = snapshot
            .durations
            .iter()
            .map(|count| (count.name, count.labels.keys().copied().collect::<Vec<_>>(), true));
        let mut reported: Vec<_> = counts.chain(durations).collect();
        reported.sort();
        reported.dedup();
        let mut documented: Vec<_> = METRICS
            .iter()
            .map(|metric| {
                let mut labels = metric.labels.to_vec();
                labels.sort_unstable();
                (metric.name, labels, metric.is_duration)
            })
            .collect();
        documented.sort();
        assert_eq!(reported, documented);
    }
}
