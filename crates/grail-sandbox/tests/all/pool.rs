//! Workers that are busy, dead or not there: what a run loses by it, and what it does not.

use std::time::Duration;

use grail_sandbox::{Context, Ending, Signature, Step, Tool, Toolset, Value, WorkerConfig, Workers};
use serde_json::json;

use crate::support::shown;

const WORKER: &str = env!("CARGO_BIN_EXE_grail-sandbox-worker");

async fn one_worker(program: &std::path::Path, wait: Option<Duration>) -> Context {
    let mut config = WorkerConfig::new(program);
    (config.most, config.wait) = (1, wait);
    let ask = Tool::external(Signature::parse("def ask() -> int: ...").unwrap());
    let workers = Workers::start(config).await.unwrap();
    let tools = Toolset::new([ask]).unwrap();
    Context::builder().tools(tools).without_type_check().build(workers).unwrap()
}

#[tokio::test]
async fn a_run_that_finds_all_workers_busy_says_so() {
    let context = one_worker(WORKER.as_ref(), Some(Duration::from_millis(1))).await;
    let Step::Suspended(holder) = context.start("ask()", json!({})).await else { panic!("it calls a tool") };
    let outcome = context.execute("1 + 1", json!({})).await;
    let Ending::NoWorker { message } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(message, "all 1 workers were busy for 1ms");
    assert!(matches!(holder.resume(Value::Int(1)).await, Step::Finished(_)));
    assert_eq!(shown(&context.execute("1 + 1", json!({})).await), "2");
}

/// What a session leaves behind is cleared away while nobody waits; the next run must not see any of it, however soon it comes.
#[tokio::test]
async fn runs_that_follow_at_once_find_a_clean_worker() {
    let context = one_worker(WORKER.as_ref(), None).await;
    for number in 0..50 {
        let outcome = context.execute(&format!("kept = {number}\nkept"), json!({})).await;
        assert_eq!(shown(&outcome), number.to_string());
        let outcome =
            context.execute("try:\n    kept\nexcept NameError:\n    kept = None\nkept", json!({})).await;
        assert_eq!(shown(&outcome), "None");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_worker_that_dies_between_two_runs_is_no_runs_loss() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    let folder = tempfile::tempdir().unwrap();
    let (program, log) = (folder.path().join("worker"), folder.path().join("processes"));
    fs::write(&program, format!("#!/bin/sh\necho $$ >>{}\nexec {WORKER} \"$@\"\n", log.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let context = one_worker(&program, None).await;
    for _ in 0..3 {
        assert_eq!(shown(&context.execute("1 + 1", json!({})).await), "2");
        let started = fs::read_to_string(&log).unwrap();
        let process = started.lines().last().unwrap();
        assert!(Command::new("kill").args(["-KILL", process]).status().unwrap().success());
        // Until its last thread is gone and only the process is left to be asked how it ended.
        let threads = || fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
        let status = || fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        while threads() > 1 || !(status().is_empty() || status().contains("State:\tZ")) {
            std::thread::yield_now();
        }
    }
}
