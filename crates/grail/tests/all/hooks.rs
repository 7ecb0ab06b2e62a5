//! `grail hooks` and `grail events outcome`, in real repositories.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::scratch::{Scratch, render};

/// A project in a repository of its own, with one session on the branch `cards`.
fn project() -> Scratch {
    let scratch = Scratch::new(&[("grail.toml", ""), ("card.py", "x = 1\n")]);
    git(&scratch, &["init", "-q", "-b", "main"]);
    commit(&scratch, "base");
    git(&scratch, &["checkout", "-q", "-b", "cards"]);
    let folder = scratch.path(".grail/events");
    fs::create_dir_all(&folder).unwrap();
    let event = r#"{"version":1,"id":"019a8c00-0000-7000-8000-000000000001","at":"2025-01-01T00:00:00.000Z","session":"s1","number":1,"branch":"cards","event":"user_message","text":"hello"}"#;
    fs::write(folder.join("2025-01-01-s1.jsonl"), format!("{event}\n")).unwrap();
    fs::write(scratch.path(".grail/.gitignore"), "*\n").unwrap();
    scratch
}

fn git(scratch: &Scratch, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(scratch.root());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ann").env(format!("GIT_{role}_EMAIL"), "ann@example.org");
    }
    assert!(command.status().unwrap().success(), "git {arguments:?}");
}

fn commit(scratch: &Scratch, subject: &str) {
    git(scratch, &["add", "-A"]);
    git(scratch, &["commit", "-q", "-m", subject]);
}

/// With the names of commits left out.
fn run(scratch: &Scratch, arguments: &[&str]) -> String {
    let seen = scratch.run(arguments);
    let line = |line: &str| match line.strip_prefix("commit ") {
        Some(rest) => format!("commit … {}\n", &rest[11..]),
        None => format!("{line}\n"),
    };
    seen.lines().map(line).collect()
}

#[test]
fn hooks_note_what_happens_and_outcomes_are_told_once() {
    let scratch = project();
    insta::assert_snapshot!(run(&scratch, &["hooks", "status"]), @"
    post-commit not there
    post-merge not there
    post-checkout not there
    post-rewrite not there
    exit 1
    ");
    insta::assert_snapshot!(run(&scratch, &["hooks", "install"]), @"
    post-commit there
    post-merge there
    post-checkout there
    post-rewrite there
    exit 0
    ");
    fs::write(scratch.path("card.py"), "x = 2\n").unwrap();
    commit(&scratch, "card");
    git(&scratch, &["checkout", "-q", "main"]);
    git(&scratch, &["merge", "-q", "--no-ff", "cards"]);
    insta::assert_snapshot!(run(&scratch, &["events", "outcome"]), @"
    commit … on cards, 1 file
    cards merged into main: 1 session
    exit 0
    ");
    insta::assert_snapshot!(run(&scratch, &["events", "outcome"]), @"
    ! nothing new
    exit 0
    ");
    insta::assert_snapshot!(run(&scratch, &["hooks", "remove"]), @"
    post-commit not there
    post-merge not there
    post-checkout not there
    post-rewrite not there
    exit 0
    ");
    assert!(!scratch.path(".git/hooks/post-commit").exists() && !scratch.path(".git/grail-notes").exists());
}

#[test]
fn commands_that_show_events_look_at_git_first() {
    let scratch = project();
    fs::write(scratch.path("card.py"), "x = 2\n").unwrap();
    commit(&scratch, "card");
    git(&scratch, &["checkout", "-q", "main"]);
    git(&scratch, &["branch", "-q", "-D", "cards"]);
    assert!(run(&scratch, &["events", "tail"]).contains("cards"));
    insta::assert_snapshot!(run(&scratch, &["events", "outcome"]), @"
    ! nothing new
    exit 0
    ");
}

#[test]
fn outcomes_are_told_by_others() {
    let scratch = project();
    let cards = ["events", "outcome", "--branch", "cards"];
    insta::assert_snapshot!(run(&scratch, &[&cards[..], &["--closed"]].concat()), @"
    cards given up: 1 session
    exit 0
    ");
    insta::assert_snapshot!(run(&scratch, &[&cards[..], &["--merged", "--into", "main"]].concat()), @"
    cards merged into main: 1 session
    exit 0
    ");
    insta::assert_snapshot!(run(&scratch, &[&cards[..], &["--merged"]].concat()), @"
    ! that is known already
    exit 0
    ");
    insta::assert_snapshot!(run(&scratch, &cards), @"
    ! error: what became of the branch is missing
    ! hint: say `--merged` or `--closed`
    exit 2
    ");
    insta::assert_snapshot!(run(&scratch, &[&cards[..], &["--merged", "--commit", "12ab"]].concat()), @"
    ! error: `12ab` is no full name of a commit
    ! hint: give all 40 digits, as `git rev-parse` prints them
    exit 2
    ");
    insta::assert_snapshot!(run(&scratch, &["events", "outcome", "--payload", "nowhere.json"]), @"
    ! error: `nowhere.json`: No such file or directory (os error 2)
    exit 2
    ");
}

#[test]
fn a_webhook_is_read_from_standard_input() {
    let scratch = project();
    let send = |payload: &str| {
        let mut command = scratch.command(&["events", "outcome", "--payload", "-"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        render(&child.wait_with_output().unwrap())
    };
    let request =
        r#"{"action":"ACTION","pull_request":{"merged":true,"head":{"ref":"cards"},"base":{"ref":"main"}}}"#;
    insta::assert_snapshot!(send(&request.replace("ACTION", "synchronize")), @"
    ! the payload tells of no end; nothing was kept
    exit 0
    ");
    insta::assert_snapshot!(send(&request.replace("ACTION", "closed")), @"
    cards merged into main: 1 session
    exit 0
    ");
    insta::assert_snapshot!(send("\u{1b}[2J"), @"
    ! error: the payload is no JSON: expected value at line 1 column 1
    ! hint: send the body of the webhook as it came, with the content type `application/json`
    exit 2
    ");
}

#[test]
fn another_manager_of_hooks_keeps_its_folder() {
    let scratch = project();
    git(&scratch, &["config", "core.hooksPath", ".husky/_"]);
    let seen = run(&scratch, &["hooks", "install"]);
    let seen: Vec<&str> = seen.lines().filter(|line| !line.starts_with('!')).take(8).collect();
    insta::assert_snapshot!(seen.join("\n"), @"
    post-commit not there
    post-merge not there
    post-checkout not there
    post-rewrite not there

    in `.husky/post-commit`:

    # >>> grail hooks >>>
    ");
}

#[test]
fn without_a_repository_there_is_nothing_to_install() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    insta::assert_snapshot!(run(&scratch, &["hooks", "install"]), @"
    ! error: there is no git repository here, or no git
    ! hint: run `git init` first; if git says that somebody else owns the folder, see `safe.directory`
    exit 2
    ");
}
