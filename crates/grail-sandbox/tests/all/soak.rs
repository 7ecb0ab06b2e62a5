//! Many runs through one context: neither the host nor its workers may grow.
//!
//! `just soak RUNS` runs as many as one likes; the short one here belongs to every test run. Memory is measured per process, so the
//! long one is ignored by default and the short one starts it as a process of its own. Runs overlap, and every five-thousandth is one
//! that must be stopped: with them in every hundred, a million runs would take hours of waiting for limits.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use grail_sandbox::{Context, Ending, Policies, Tool, Toolset};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::workers;

/// Growth beyond this is a leak, at any number of runs: allocators and caches settle far below.
const MOST_HOST_GROWTH: u64 = 48 << 20;
const MOST_WORKER_GROWTH: u64 = 48 << 20;

/// Variable with the number of runs.
const RUNS: &str = "GRAIL_SOAK_RUNS";

/// Runs at a time.
const TASKS: u32 = 8;

/// How often a run comes that is stopped by a limit; in a short soak, some come all the same.
const RARE: u32 = 5_000;

/// Every kind of ending but the slow ones, which come more rarely.
const PROGRAMS: &[&str] = &[
    "1 + 1",
    "[number * number for number in range(200)]",
    "sum(len(word) for word in 'the quick brown fox'.split())",
    "import json\njson.loads(json.dumps({'a': [1, 2, {'b': None}]}))",
    "def fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)\nfibonacci(10)",
    "double(value=21)",
    "sum(double(value=number) for number in range(5))",
    "print('x' * 1000)\nprint('done')\nTrue",
    "raise ValueError('no')",
    "1 / 0",
    "def deep():\n    return deep()\ndeep()",
    "def numbers():\n    yield 1\nnumbers()",
    "len(1)",
    "'a' * 100_000",
    "double(value='not a number')",
];
const RARE_PROGRAMS: &[&str] =
    &["'a' * 1_000_000_000", "while True:\n    print('x' * 1000)", "while True:\n    pass"];

#[test]
fn a_short_soak_leaks_nothing() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["soak::a_soak_leaks_nothing", "--exact", "--ignored", "--nocapture"])
        .env(RUNS, "400")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("after 400 runs"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[derive(Deserialize, JsonSchema)]
struct Double {
    value: i64,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long; run it with `just soak RUNS`"]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the report is what it is for")]
async fn a_soak_leaks_nothing() {
    let runs: u32 = std::env::var(RUNS).map_or(10_000, |runs| runs.parse().unwrap());
    let limits =
        "[soak]\nmax-duration = '200ms'\nmax-memory = '32MiB'\nmax-output = '64KiB'\nmax-recursion = 100\n";
    let policy = Policies::from_toml(&toml::from_str(limits).unwrap()).unwrap().resolve("soak").unwrap();
    let double = Tool::typed("double", "Twice the value.", |double: Double| Ok(double.value * 2)).unwrap();
    let tools = Toolset::new([double]).unwrap();
    let context = Context::builder().policy(policy).tools(tools).build(workers().await).unwrap();

    let started = Instant::now();
    let soak = Arc::new(Soak { context, runs, next: AtomicU32::new(0), workers: Mutex::default() });
    let mut measured = Vec::new();
    // The first tenth fills caches and pools.
    for tenth in 1..=10 {
        let until = u32::try_from(u64::from(runs) * tenth / 10).unwrap();
        let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(Arc::clone(&soak).run_until(until))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        let memory = Memory::now();
        let (seconds, workers) = (started.elapsed().as_secs(), soak.workers.lock().unwrap().len());
        eprintln!(
            "{until} runs, {seconds} s: host {} KiB, largest worker {} KiB, {workers} workers so far",
            memory.host >> 10,
            memory.worker >> 10
        );
        measured.push(memory);
    }
    let (before, after) = (&measured[0], &measured[9]);
    println!(
        "after {runs} runs: host {} to {} KiB, largest worker {} to {} KiB, {} s",
        before.host >> 10,
        after.host >> 10,
        before.worker >> 10,
        after.worker >> 10,
        started.elapsed().as_secs()
    );
    assert!(after.host.saturating_sub(before.host) < MOST_HOST_GROWTH, "the host grew");
    assert!(after.worker.saturating_sub(before.worker) < MOST_WORKER_GROWTH, "a worker grew");
}

struct Soak {
    context: Context,
    runs: u32,
    next: AtomicU32,
    /// The processes that have been seen.
    workers: Mutex<BTreeSet<String>>,
}

impl Soak {
    /// One of the tasks that share the runs before `until`.
    async fn run_until(self: Arc<Self>, until: u32) {
        loop {
            let taken = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |number| {
                (number < until).then_some(number + 1)
            });
            let Ok(number) = taken else { return };
            if number.is_multiple_of(500) {
                self.workers.lock().unwrap().extend(children());
            }
            self.run(number).await;
        }
    }

    async fn run(&self, number: u32) {
        let rare = RARE.min(self.runs / 4).max(1);
        let (programs, turn) =
            if number % rare == rare - 1 { (RARE_PROGRAMS, number / rare) } else { (PROGRAMS, number / 7) };
        let program = programs[turn as usize % programs.len()];
        // Most sources come again, as they do in use; some are new to the context, so that its memory of programs must forget.
        let code =
            if number.is_multiple_of(50) { format!("{program}\n# {number}") } else { program.to_owned() };
        let outcome = self.context.execute(&code, json!({})).await;
        let is_lost = matches!(outcome.ending, Ending::WorkerCrashed(_) | Ending::NoWorker { .. });
        assert!(!is_lost, "{program}: {:?}", outcome.ending);
    }
}

/// Resident bytes of this process and of the largest of its workers.
struct Memory {
    host: u64,
    worker: u64,
}

impl Memory {
    fn now() -> Self {
        let workers = children();
        let largest = workers.iter().map(|process| resident(process)).max();
        Self { host: resident("self"), worker: largest.unwrap_or(0) }
    }
}

/// The processes that this one started.
fn children() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Zero for a process that has just ended.
fn resident(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
