//! Git, by git itself, on a real repository.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::Bench;

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=A Person",
            "-c",
            "user.email=person@example.org",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The shop with one commit and one change after it.
fn repository() -> Bench {
    let bench = Bench::shop();
    let root = bench.sample.root();
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "Sell things\n\nAt last."]);
    crate::sample::write(root, "shop/web.py", "print('größer')\n");
    crate::sample::write(root, "new file.py", "");
    bench
}

#[tokio::test]
async fn the_state_of_the_working_tree() {
    let bench = repository();
    git(bench.sample.root(), &["mv", "README.md", "READ ME.md"]);
    assert_eq!(
        bench.ok("git_status", json!({})).await,
        json!({
            "branch": "main", "upstream": null, "ahead": 0, "behind": 0,
            "files": [
                {"path": "READ ME.md", "status": "renamed", "in_index": true},
                {"path": "shop/web.py", "status": "modified", "in_index": false},
                {"path": "new file.py", "status": "untracked", "in_index": false},
            ],
            "more": 0
        })
    );
}

#[tokio::test]
async fn differences_are_of_files_and_revisions() {
    let bench = repository();
    let all = bench.ok("git_diff", json!({})).await;
    assert!(all["diff"].as_str().unwrap().contains("+print('größer')"), "{all}");
    let none = bench.ok("git_diff", json!({"path": "shop/core.py"})).await;
    assert_eq!(none, json!({"diff": "", "is_cut": false}));
    assert_eq!(bench.ok("git_diff", json!({"index": true})).await["diff"], json!(""));
    assert_eq!(bench.ok("git_diff", json!({"revision": "HEAD"})).await, all);
    crate::sample::write(bench.sample.root(), "shop/web.py", &"long line of code\n".repeat(20_000));
    let cut = bench.ok("git_diff", json!({})).await;
    assert!(cut["is_cut"] == json!(true) && cut["diff"].as_str().unwrap().len() < 30_000);
}

#[tokio::test]
async fn commits_newest_first() {
    let bench = repository();
    git(bench.sample.root(), &["commit", "-q", "-am", "Speak German"]);
    let log = bench.ok("git_log", json!({})).await;
    let subjects: Vec<&str> =
        log["commits"].as_array().unwrap().iter().map(|commit| commit["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["Speak German", "Sell things"]);
    assert_eq!(log["commits"][0]["author"], json!("A Person"));
    assert_eq!(log["commits"][0]["date"], json!("2026-01-02T03:04:05Z"));
    let of_file = bench.ok("git_log", json!({"path": "shop/core.py", "limit": 5})).await;
    assert_eq!(of_file["commits"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_git_would_misunderstand_is_refused() {
    let bench = repository();
    for revision in ["--output=/tmp/x", "-p", "", "a b", "$(id)", ":/x", "main..;ls"] {
        for tool in ["git_diff", "git_log"] {
            let said = bench.err(tool, json!({"revision": revision})).await;
            assert!(said.starts_with("that is no commit or branch"), "{revision}: {said}");
        }
    }
    assert!(bench.err("git_log", json!({"revision": "nowhere"})).await.starts_with("git refuses: "));
    assert!(bench.err("git_diff", json!({"path": "../.."})).await.contains("leads out of the project"));
}

#[tokio::test]
async fn programs_that_the_repository_names_are_not_run() {
    let bench = repository();
    let root = bench.sample.root();
    let trap = format!("touch {}", root.join("trapped").display());
    for setting in ["core.fsmonitor", "diff.external", "core.pager", "diff.trap.textconv"] {
        git(root, &["config", setting, &trap]);
    }
    crate::sample::write(root, ".git/info/attributes", "*.py diff=trap\n");
    for tool in ["git_status", "git_diff", "git_log"] {
        bench.ok(tool, json!({})).await;
    }
    assert!(!root.join("trapped").exists());
}

#[tokio::test]
async fn a_project_without_git_says_so() {
    let bench = Bench::shop();
    for tool in ["git_status", "git_diff", "git_log", "git_push"] {
        let said = bench.err(tool, json!({})).await;
        assert_eq!(said, "the project is not in a git repository; hint: go on without its history");
    }
}

#[tokio::test]
async fn a_push_goes_to_a_known_remote_and_needs_approval() {
    let bench = repository();
    assert!(bench.tools.needs_approval("git_push"));
    let root = bench.sample.root();
    assert_eq!(
        bench.err("git_push", json!({})).await,
        "the repository has no remote `origin`; hint: a person adds one with `git remote add`"
    );
    let remote = tempfile::TempDir::new().unwrap();
    git(remote.path(), &["init", "-q", "--bare"]);
    git(root, &["remote", "add", "origin", remote.path().to_str().unwrap()]);
    let pushed = bench.ok("git_push", json!({})).await;
    assert_eq!((&pushed["remote"], &pushed["branch"]), (&json!("origin"), &json!("main")));
    assert!(remote.path().join("refs/heads/main").exists());
    for arguments in [
        json!({"remote": "https://example.org/x.git"}),
        json!({"remote": "--mirror"}),
        json!({"branch": "+main"}),
        json!({"branch": "main:other"}),
        json!({"branch": "--delete"}),
        json!({"branch": "nowhere"}),
    ] {
        assert!(bench.call("git_push", arguments.clone()).await.is_err(), "{arguments}");
    }
}
