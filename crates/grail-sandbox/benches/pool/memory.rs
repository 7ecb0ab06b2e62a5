//! Resident memory of the host and of its workers, as the kernel counts it. Linux only; elsewhere nothing is reported.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use grail_sandbox::WorkerConfig;
use monty_pool::ReplConfig;

use crate::bare::BarePool;
use crate::ours::{self, Sandbox};
use crate::programs::TWENTY_LINES;
use crate::report;

const CROWD: usize = 1000;

pub(crate) async fn measure(config: &WorkerConfig, monty: Option<&Path>) {
    let before = resident("self", "VmRSS");
    let sandbox = Sandbox::start(config).await;
    sandbox.run("1 + 1").await;
    let workers = children();
    let after = resident("self", "VmRSS");
    report("the host's own memory", "grail", "MB", megabytes(after - before));
    // The checker is the one that came second.
    let sizes: Vec<f64> = workers.iter().map(|pid| megabytes(resident(pid, "VmRSS"))).collect();
    report("an idle worker", "grail", "MB", sizes.iter().copied().fold(f64::INFINITY, f64::min));
    report("a worker that has checked types", "grail", "MB", sizes.iter().copied().fold(0.0, f64::max));
    drop(sandbox);
    let Some(program) = monty else { return };
    let before: Vec<String> = children();
    let bare = BarePool::start(program).await;
    bare.run("1 + 1").await;
    let own = || {
        children()
            .into_iter()
            .filter(|pid| !before.contains(pid))
            .map(|pid| megabytes(resident(&pid, "VmRSS")))
    };
    report("an idle worker", "monty-pool", "MB", own().fold(0.0, f64::max));
    bare.run_with("1 + 1", &ReplConfig { type_check: true, ..ReplConfig::default() }).await;
    report("a worker that has checked types", "monty-pool", "MB", own().fold(0.0, f64::max));
}

pub(crate) async fn concurrent(config: &WorkerConfig, monty: Option<&Path>) {
    let row = "1,000 runs at once";
    let elapsed = ours::crowd(config, CROWD).await;
    report(row, "grail", "ms", elapsed.as_secs_f64() * 1e3);
    let Some(program) = monty else { return };
    let bare = Arc::new(BarePool::start(program).await);
    let started = Instant::now();
    let runs: Vec<_> = (0..CROWD)
        .map(|_| {
            let bare = Arc::clone(&bare);
            tokio::spawn(async move { bare.run(TWENTY_LINES).await })
        })
        .collect();
    for run in runs {
        run.await.expect("no panic");
    }
    report(row, "monty-pool", "ms", started.elapsed().as_secs_f64() * 1e3);
}

/// The peaks of host and workers while a crowd ran. The host's peak is that of this whole program.
pub(crate) fn report_crowd(tool: &str) {
    report("their host's peak memory", tool, "MB", megabytes(resident("self", "VmHWM")));
    let workers: f64 = children().iter().map(|pid| megabytes(resident(pid, "VmHWM"))).sum();
    report("their workers' peak memory, together", tool, "MB", workers);
}

/// In kilobytes.
fn resident(process: &str, field: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(f64::NAN)
}

fn megabytes(kilobytes: f64) -> f64 {
    kilobytes * 1024.0 / 1e6
}

/// The processes that this one started.
fn children() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}
