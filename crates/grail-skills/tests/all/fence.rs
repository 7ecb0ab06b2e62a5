//! What a fenced skill can and cannot touch. Each attempt is made by a real script, and each wall that this system lacks is said.

#![cfg(target_os = "linux")]

use std::fs;

use grail_skills::runnable::{FenceReport, Invocation, Wall};
use serde_json::{Value, json};

use crate::runnable_skill::{Scratch, skip};

/// Whether this kernel has every wall; if not, there is nothing to prove.
fn stands(report: &FenceReport) -> bool {
    let gaps = report.gaps();
    if !gaps.is_empty() {
        skip(&format!("this system has no wall for {}", gaps.join(", ")));
    }
    gaps.is_empty()
}

fn outcomes(invocation: &Invocation) -> Vec<&str> {
    invocation.answer.output.as_array().unwrap().iter().map(|outcome| outcome.as_str().unwrap()).collect()
}

#[test]
fn files_outside_of_the_fence_can_neither_be_read_nor_written() {
    let Some(scratch) = Scratch::new("escapes") else { return };
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.txt");
    fs::write(&secret, "a secret").unwrap();
    let planted = outside.path().join("planted.txt");
    let own = scratch.skill.folder.join("skill.py");
    let invocation = scratch
        .invoke(json!([
            ["read", secret],
            ["list", outside.path()],
            ["write", planted],
            ["remove", secret],
            ["read", "/etc/shadow"],
            ["read", "/proc/1/environ"],
            ["list", "/"],
            // Its own folder is there to be read, and its scratch folder to be written.
            ["read", own],
            ["write", own],
            ["write", scratch.skill.folder.join("more.py")],
            ["write", "notes.txt"],
            ["read", "notes.txt"],
            ["write", "/dev/null"],
            ["run", "true"],
        ]))
        .unwrap();
    if !stands(&invocation.fence) {
        return;
    }
    assert_eq!(
        outcomes(&invocation),
        [
            "PermissionError",
            "PermissionError",
            "PermissionError",
            "PermissionError",
            "PermissionError",
            "PermissionError",
            "PermissionError",
            "'# /// script\\n# requi'",
            "PermissionError",
            "PermissionError",
            "7",
            "'written'",
            "7",
            "0",
        ]
    );
    assert_eq!(fs::read_to_string(&secret).unwrap(), "a secret");
    assert!(!planted.exists());
}

#[test]
fn the_network_is_closed_unless_it_is_allowed() {
    let Some(mut scratch) = Scratch::new("escapes") else { return };
    let attempts = json!([["socket", "AF_INET"], ["socket", "AF_INET6"], ["socket", "AF_UNIX"]]);
    let closed = scratch.invoke(attempts.clone()).unwrap();
    if !stands(&closed.fence) {
        return;
    }
    assert_eq!(closed.fence.network, Wall::Stands);
    assert_eq!(outcomes(&closed), ["PermissionError", "PermissionError", "PermissionError"]);
    scratch.settings.start.network = true;
    let open = scratch.invoke(attempts).unwrap();
    assert_eq!(open.fence.network, Wall::Open);
    // Agents for keys and containers listen on local sockets, so these stay closed.
    assert_eq!(outcomes(&open), ["'open'", "'open'", "PermissionError"]);
}

#[test]
fn other_processes_cannot_be_signalled() {
    let Some(scratch) = Scratch::new("escapes") else { return };
    let invocation = scratch.invoke(json!([["signal", std::process::id()], ["signal", 0]])).unwrap();
    if !stands(&invocation.fence) {
        return;
    }
    assert_eq!(outcomes(&invocation), ["PermissionError", "None"]);
}

#[test]
fn nothing_leaves_the_process_group() {
    let Some(scratch) = Scratch::new("escapes") else { return };
    let invocation = scratch.invoke(json!([["leave", "setsid"], ["leave", "setpgid"]])).unwrap();
    if !stands(&invocation.fence) {
        return;
    }
    assert_eq!(outcomes(&invocation), ["PermissionError", "PermissionError"]);
}

#[test]
fn resources_are_limited() {
    let Some(mut scratch) = Scratch::new("escapes") else { return };
    scratch.settings.start.limits.address_bytes = 512 << 20;
    scratch.settings.start.limits.file_bytes = 4;
    let names = ["RLIMIT_CORE", "RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CPU"];
    let mut attempts: Vec<Value> = names.iter().map(|name| json!(["limit", name])).collect();
    attempts.push(json!(["allocate", 1u64 << 30]));
    let invocation = scratch.invoke(json!(attempts)).unwrap();
    assert_eq!(invocation.fence.limits, Wall::Stands);
    assert_eq!(outcomes(&invocation), ["0", "536870912", "4", "1024", "300", "MemoryError"]);
}

#[test]
fn without_a_launcher_the_report_says_that_nothing_stands() {
    let Some(mut scratch) = Scratch::template() else { return };
    scratch.settings.start.launcher = None;
    let invocation = scratch.invoke(json!({"text": ""})).unwrap();
    assert_eq!(
        invocation.fence.gaps(),
        ["privileges (no launcher)", "files (no launcher)", "network (no launcher)", "limits (no launcher)"]
    );
}
