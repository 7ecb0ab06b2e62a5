//! The sandbox and the bare worker pool under it, measured in one process by turns. `scripts/bench-sandbox` runs this beside the peers.
//!
//! Every figure is one line of JSON: `{"row", "tool", "unit", "value"}`. Of the times it is the one that a
//! tenth of the runs beat: what the work takes when nothing else is in the way. The bare pool needs the engine's own
//! worker program: `--monty PATH`.

mod bare;
mod memory;
mod ours;
mod programs;

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use grail_sandbox::WorkerConfig;
use serde_json::{Value as Json, json};

/// How a figure is told to whoever started this program.
pub(crate) fn report(row: &str, tool: &str, unit: &str, value: f64) {
    let line: Json = json!({"row": row, "tool": tool, "unit": unit, "value": value});
    #[allow(clippy::print_stdout)]
    {
        println!("{line}");
    }
}

/// The durations of one kind of work.
#[derive(Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) async fn add<Pending: Future>(&mut self, times: usize, mut work: impl FnMut() -> Pending) {
        for _ in 0..times {
            let started = Instant::now();
            std::hint::black_box(work().await);
            self.0.push(started.elapsed());
        }
    }

    pub(crate) fn add_blocking<Done>(&mut self, times: usize, mut work: impl FnMut() -> Done) {
        for _ in 0..times {
            let started = Instant::now();
            std::hint::black_box(work());
            self.0.push(started.elapsed());
        }
    }

    /// The time that a tenth of them beat, in microseconds.
    pub(crate) fn undisturbed(&mut self) -> f64 {
        self.0.sort();
        self.0.get(self.0.len() / 10).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    }
}

struct Arguments {
    worker: WorkerConfig,
    monty: Option<PathBuf>,
    /// Multiplies how often everything is repeated.
    scale: usize,
}

fn arguments() -> Arguments {
    let mut given = std::env::args().skip(1);
    let (mut worker, mut monty, mut scale) = (None, None, 1);
    while let Some(name) = given.next() {
        match name.as_str() {
            "--worker" => worker = given.next().map(WorkerConfig::new),
            "--monty" => monty = given.next().map(PathBuf::from),
            "--scale" => scale = given.next().and_then(|number| number.parse().ok()).unwrap_or(1),
            // `cargo bench` says `--bench`.
            _ => {}
        }
    }
    let worker = worker
        .unwrap_or_else(|| WorkerConfig::beside_this_program().expect("build `grail-sandbox-worker` first"));
    Arguments { worker, monty, scale }
}

fn main() {
    let given = arguments();
    // One task at a time is driven best where it waits: on a thread of its own, the answer need not wake another.
    let alone = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    alone.block_on(async {
        // Before anything else has touched memory.
        memory::measure(&given.worker, given.monty.as_deref()).await;
        measure_times(&given).await;
    });
    let crowded = tokio::runtime::Runtime::new().expect("a runtime");
    crowded.block_on(memory::concurrent(&given.worker, given.monty.as_deref()));
}

async fn measure_times(Arguments { worker, monty, scale }: &Arguments) {
    let scale = *scale;
    let ours = ours::Sandbox::start(worker).await;
    let bare = match monty {
        Some(program) => Some(bare::BarePool::start(program).await),
        None => None,
    };
    for (row, program) in programs::PROGRAMS {
        let (mut our_times, mut bare_times) = (Times::default(), Times::default());
        for _ in 0..10 {
            our_times.add(30 * scale, || ours.run(program)).await;
            if let Some(bare) = &bare {
                bare_times.add(30 * scale, || bare.run(program)).await;
            }
        }
        report(row, "grail", "us", our_times.undisturbed());
        if bare.is_some() {
            report(row, "monty-pool", "us", bare_times.undisturbed());
        }
    }
    tool_calls(&ours, bare.as_ref(), scale).await;
    snapshots(&ours, bare.as_ref(), scale).await;
    ours::contexts(worker, scale).await;
    ours::stubs(scale);
}

/// The time of one call: the time of many less the time of none.
async fn tool_calls(ours: &ours::Sandbox, bare: Option<&bare::BarePool>, scale: usize) {
    type Program = fn(usize) -> String;
    let kinds: [(&str, Program); 3] = [
        (programs::TOOL_CALL, programs::calls),
        ("a call of a quick tool", programs::quick_calls),
        ("an awaited tool call and its answer", programs::awaited_calls),
    ];
    let mut our_times: [[Times; 2]; 3] = Default::default();
    let mut bare_times: [Times; 2] = Default::default();
    for _ in 0..10 {
        for ((_, program), times) in kinds.iter().zip(&mut our_times) {
            for (times, calls) in times.iter_mut().zip([programs::CALLS, 0]) {
                times.add(10 * scale, || ours.run(program(calls))).await;
            }
        }
        if let Some(bare) = bare {
            for (times, calls) in bare_times.iter_mut().zip([programs::CALLS, 0]) {
                times.add(10 * scale, || bare.run(programs::calls(calls))).await;
            }
        }
    }
    let each =
        |[many, none]: &mut [Times; 2]| (many.undisturbed() - none.undisturbed()) / programs::CALLS as f64;
    for ((row, _), times) in kinds.iter().zip(&mut our_times) {
        report(row, "grail", "us", each(times));
    }
    if bare.is_some() {
        report(programs::TOOL_CALL, "monty-pool", "us", each(&mut bare_times));
    }
}

async fn snapshots(ours: &ours::Sandbox, bare: Option<&bare::BarePool>, scale: usize) {
    let (mut our_times, mut bare_times) = (Times::default(), Times::default());
    let mut size = 0;
    for _ in 0..20 * scale {
        size = ours.dump_and_load(&mut our_times).await;
        if let Some(bare) = bare {
            bare.dump_and_load(&mut bare_times).await;
        }
    }
    report(programs::SNAPSHOT, "grail", "us", our_times.undisturbed());
    report("size of that snapshot", "grail", "KB", size as f64 / 1e3);
    if bare.is_some() {
        report(programs::SNAPSHOT, "monty-pool", "us", bare_times.undisturbed());
    }
}
