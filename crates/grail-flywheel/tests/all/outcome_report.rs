//! Outcomes that are told by others, kept in the real log.

use std::fs;

use grail_flywheel::event::{Event, EventKind};
use grail_flywheel::log::{EventLog, Filter, forget_session, read_events};
use grail_flywheel::outcome::{Outcome, Report, branch_outcomes, catch_up, install_hooks, report_outcome};
use grail_project::EventSettings;
use serde_json::json;

use crate::git_scratch::Scratch;

fn payload(value: &serde_json::Value) -> String {
    match Report::from_payload(value.to_string().as_bytes()) {
        Ok(None) => "nothing".to_owned(),
        Ok(Some(report)) => format!(
            "{} {} into {:?} at {:?}",
            report.branch,
            if report.is_merged { "merged" } else { "closed" },
            report.into.as_deref().unwrap_or("?"),
            report.commit.map(|commit| commit[..4].to_owned()).unwrap_or_default()
        ),
        Err(problem) => format!("{problem}; {}", problem.hint().unwrap_or_default()),
    }
}

fn pull_request(action: &str, merged: bool, branch: &str) -> serde_json::Value {
    let head = json!({"ref": branch, "sha": "AB".repeat(20)});
    json!({"action": action, "number": 7, "pull_request": {"merged": merged, "head": head, "base": {"ref": "main"}}})
}

#[test]
fn payloads_of_github() {
    insta::assert_snapshot!(payload(&pull_request("closed", true, "cards")), @r#"cards merged into "main" at "abab""#);
    insta::assert_snapshot!(payload(&pull_request("closed", false, "cards")), @r#"cards closed into "main" at "abab""#);
    insta::assert_snapshot!(payload(&pull_request("opened", false, "cards")), @"nothing");
    insta::assert_snapshot!(payload(&pull_request("closed", true, "main")), @"nothing");
}

#[test]
fn payloads_of_gitlab() {
    let request = |action: Option<&str>, state: &str| {
        let mut attributes = json!({"state": state, "source_branch": "cards", "target_branch": "main", "last_commit": {"id": "cd".repeat(20)}});
        if let Some(action) = action {
            attributes["action"] = json!(action);
        }
        json!({"object_kind": "merge_request", "object_attributes": attributes})
    };
    insta::assert_snapshot!(payload(&request(Some("merge"), "merged")), @r#"cards merged into "main" at "cdcd""#);
    insta::assert_snapshot!(payload(&request(Some("close"), "closed")), @r#"cards closed into "main" at "cdcd""#);
    insta::assert_snapshot!(payload(&request(None, "merged")), @r#"cards merged into "main" at "cdcd""#);
    insta::assert_snapshot!(payload(&request(Some("update"), "merged")), @"nothing");
}

#[test]
fn hostile_payloads_are_refused() {
    insta::assert_snapshot!(payload(&json!({"zen": "Keep it logically awesome."})), @"the payload is neither a pull request of GitHub nor a merge request of GitLab; choose the event `Pull requests` or `Merge request events` for the webhook");
    insta::assert_snapshot!(payload(&pull_request("closed", true, "--upload-pack=touch x")), @"`--upload-pack=touch x` cannot be the name of a branch; give the name as `git branch` shows it, without `refs/heads/` or the remote");
    insta::assert_snapshot!(payload(&pull_request("closed", true, "a\u{1b}[2Jb")), @r#"`a\u{1b}[2Jb` cannot be the name of a branch; give the name as `git branch` shows it, without `refs/heads/` or the remote"#);
    insta::assert_snapshot!(payload(&json!({"action": "closed", "pull_request": {"merged": "yes"}})), @"the payload has no `pull_request.merged`; send the body of the webhook as it came");
    insta::assert_snapshot!(payload(&json!({"object_kind": "merge_request"})), @"the payload has no `object_attributes`; send the body of the webhook as it came");
    let refused = |bytes: &[u8]| Report::from_payload(bytes).unwrap_err().to_string();
    insta::assert_snapshot!(refused(b"\xff\xfe"), @"the payload is no JSON: expected value at line 1 column 1");
    insta::assert_snapshot!(refused("[".repeat(100_000).as_bytes()), @"the payload is no JSON: recursion limit exceeded at line 1 column 128");
    insta::assert_snapshot!(refused(&vec![b' '; 9 << 20]), @"the payload is larger than 8 MB");
}

fn stored(scratch: &Scratch) -> Vec<Event> {
    read_events(scratch.root(), &Filter::default()).unwrap().map(|event| event.unwrap().event).collect()
}

/// A project with one session on `cards` in its log.
fn with_session() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.branch("cards", "s1");
    let log = EventLog::open(scratch.root(), &EventSettings::default()).unwrap();
    for event in std::mem::take(&mut scratch.events) {
        log.append(event).wait().unwrap();
    }
    scratch
}

#[test]
fn a_report_is_kept_once_and_merged_beats_closed() {
    let scratch = with_session();
    let settings = EventSettings::default();
    let report = |is_merged| {
        let report = Report::new("cards", is_merged, Some("main"), None).unwrap();
        report_outcome(scratch.root(), &settings, &report).unwrap().is_some()
    };
    assert!(report(false));
    assert_eq!(branch_outcomes(stored(&scratch))["cards"], Outcome::Closed);
    assert!(!report(false), "it is known");
    assert!(report(true));
    assert!(!report(true) && !report(false));
    assert_eq!(branch_outcomes(stored(&scratch))["cards"], Outcome::Merged);
    assert_eq!(stored(&scratch).len(), 3);
}

#[test]
fn what_hooks_noted_is_told_once_even_if_everything_is_gone_since() {
    let scratch = with_session();
    let settings = EventSettings::default();
    install_hooks(scratch.root()).unwrap();
    scratch.commit("card", &[("card.py", "x = 1\n")]);
    scratch.git(&["checkout", "-q", "main"]);
    scratch.git(&["branch", "-q", "-D", "cards"]);
    scratch.git(&["reflog", "expire", "--expire=now", "--all"]);
    let kinds =
        |events: &[Event]| events.iter().map(|event| event.kind.name()).collect::<Vec<_>>().join(", ");
    let found = catch_up(scratch.root(), &settings).unwrap();
    insta::assert_snapshot!(kinds(&found.events), @"commit, branch_closed");
    assert_eq!(catch_up(scratch.root(), &settings).unwrap().events, []);
    fs::remove_file(scratch.root().join(".grail/outcomes.seen")).unwrap();
    assert_eq!(catch_up(scratch.root(), &settings).unwrap().events, []);
}

#[test]
fn several_who_look_at_once_tell_everything_once() {
    let scratch = with_session();
    scratch.commit("card", &[("card.py", "x = 1\n")]);
    let settings = EventSettings::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| catch_up(scratch.root(), &settings).unwrap());
        }
    });
    catch_up(scratch.root(), &settings).unwrap();
    let commits = stored(&scratch).into_iter().filter(|event| matches!(event.kind, EventKind::Commit { .. }));
    assert_eq!(commits.count(), 1);
}

#[test]
fn what_was_forgotten_is_not_told_again() {
    let scratch = with_session();
    scratch.commit("card", &[("card.py", "x = 1\n")]);
    let settings = EventSettings::default();
    let told = catch_up(scratch.root(), &settings).unwrap().events;
    forget_session(scratch.root(), &told[0].session).unwrap();
    fs::remove_file(scratch.root().join(".grail/outcomes.seen")).unwrap();
    assert_eq!(catch_up(scratch.root(), &settings).unwrap().events, []);
    assert_eq!(stored(&scratch).len(), 1);
}

#[test]
fn a_project_that_keeps_no_events_keeps_none() {
    let scratch = with_session();
    scratch.commit("card", &[("card.py", "x = 1\n")]);
    let settings = EventSettings { enabled: false, ..EventSettings::default() };
    assert_eq!(catch_up(scratch.root(), &settings).unwrap().events, []);
    let report = Report::new("cards", true, None, None).unwrap();
    insta::assert_snapshot!(report_outcome(scratch.root(), &settings, &report).unwrap_err(), @"this project keeps no events");
    assert_eq!(stored(&scratch).len(), 1);
}

#[test]
fn hand_edits_do_not_see_what_was_redacted() {
    let mut scratch = Scratch::new();
    scratch.branch("cards", "s1");
    let code = "class Card:\n    title: str\n    owner = 'ann@example.org'\n    price: int\n";
    scratch.keep("s1", "cards", "p1", "card.py", code);
    let settings = EventSettings::default();
    let log = EventLog::open(scratch.root(), &settings).unwrap();
    for event in std::mem::take(&mut scratch.events) {
        log.append(event).wait().unwrap();
    }
    scratch.commit("card", &[]);
    let told = catch_up(scratch.root(), &settings).unwrap().events;
    assert_eq!(told.iter().map(|event| event.kind.name()).collect::<Vec<_>>(), ["commit"]);
}
