//! Writing events: what is acknowledged is there, what cannot be kept is told.

use std::fs;

use grail_flywheel::EventLog;
use grail_flywheel::event::{Event, EventKind, EventSink};
use grail_flywheel::log::{EventSettings, SyncPolicy, forget_session, set_torn_aside};
use serde_json::{Value, json};

use crate::project::{Project, line, message, settings};

#[test]
fn what_is_acknowledged_is_in_the_file_of_its_session_and_day() {
    let project = Project::new();
    let log = EventLog::open(project.root(), &settings()).unwrap();
    let first = message("ada", 1, "a form, please");
    let second = message("ada", 2, "perfect");
    log.append(first.clone()).wait().unwrap();
    log.append(second.clone()).wait().unwrap();
    log.append(message("bob", 1, "hello")).wait().unwrap();
    assert_eq!(project.files(), ["2026-11-16-ada.jsonl", "2026-11-16-bob.jsonl"]);
    assert_eq!(project.read("2026-11-16-ada.jsonl"), format!("{}{}", line(&first), line(&second)));
    assert_eq!(project.told(), ["ada/1 a form, please", "ada/2 perfect", "bob/1 hello"]);
    assert_eq!(log.problem(), None);
}

#[test]
fn every_policy_keeps_everything_in_order() {
    for sync in [SyncPolicy::Group, SyncPolicy::Always, SyncPolicy::Never] {
        let project = Project::new();
        let log = EventLog::open(project.root(), &EventSettings { sync, ..settings() }).unwrap();
        for number in 1..=50 {
            log.record(message("ada", number, "x"));
        }
        log.flush().unwrap();
        let expected: Vec<String> = (1..=50).map(|number| format!("ada/{number} x")).collect();
        assert_eq!(project.told(), expected);
    }
}

#[test]
fn dropping_the_log_writes_what_is_left() {
    let project = Project::new();
    let log = EventLog::open(project.root(), &settings()).unwrap();
    (1..=1000).for_each(|number| log.record(message("ada", number, "x")));
    drop(log);
    assert_eq!(project.told().len(), 1000);
}

#[test]
fn a_project_that_wants_no_memory_gets_none() {
    let project = Project::new();
    let log = EventLog::open(project.root(), &EventSettings { enabled: false, ..settings() }).unwrap();
    log.append(message("ada", 1, "x")).wait().unwrap();
    log.flush().unwrap();
    drop(log);
    assert_eq!(fs::read_dir(project.root()).unwrap().count(), 0);
}

#[test]
fn nothing_is_made_before_the_first_event() {
    let project = Project::new();
    drop(EventLog::open(project.root(), &settings()).unwrap());
    assert_eq!(fs::read_dir(project.root()).unwrap().count(), 0);
}

#[test]
fn a_torn_tail_is_set_aside_and_told() {
    let project = Project::new();
    let whole = line(&message("ada", 1, "whole"));
    let torn = &line(&message("ada", 2, "torn"))[..50];
    project.write("2026-11-16-ada.jsonl", format!("{whole}{torn}"));
    let log = EventLog::open(project.root(), &settings()).unwrap();
    log.append(message("ada", 3, "after")).wait().unwrap();
    assert_eq!(project.told(), ["ada/1 whole", "ada/3 after"]);
    let piece = project.files().into_iter().find(|name| name.starts_with("torn/")).unwrap();
    assert_eq!(project.read(&piece), torn);
    let notices = log.notices();
    let said =
        "`2026-11-16-ada.jsonl` ended in the middle of a line, as after a crash: 50 bytes were set aside as";
    assert_eq!(notices, [format!("{said} `{piece}`")]);
    assert_eq!(log.problem(), None);
}

#[test]
fn a_last_line_that_only_lacks_its_line_feed_is_kept() {
    let project = Project::new();
    project.write("2026-11-16-ada.jsonl", line(&message("ada", 1, "by hand")).trim_end());
    assert_eq!(project.told(), ["ada/1 by hand"]);
    let log = EventLog::open(project.root(), &settings()).unwrap();
    log.append(message("ada", 2, "after")).wait().unwrap();
    assert_eq!(project.told(), ["ada/1 by hand", "ada/2 after"]);
    assert_eq!(project.files(), ["2026-11-16-ada.jsonl"]);
}

#[test]
fn events_that_are_too_large_or_too_deep_are_refused_and_the_others_kept() {
    let project = Project::new();
    let log = EventLog::open(project.root(), &settings()).unwrap();
    let large = log.append(message("ada", 1, &"x".repeat(50_000_000)));
    // Small in memory, too large as JSON: every character is escaped.
    let escaped = log.append(message("ada", 2, &"\u{1}".repeat(900_000)));
    let mut arguments = json!(1);
    for _ in 0..100 {
        arguments = Value::Array(vec![arguments]);
    }
    let deep = EventKind::Approval { tool: "search".to_owned(), arguments, allowed: true };
    let deep = log.append(Event::new("ada", 3, deep));
    let nameless = log.append(message("../ada", 4, "x"));
    let good = log.append(message("ada", 5, "fine"));
    let said: Vec<String> =
        [large, escaped, deep, nameless].map(|ticket| ticket.wait().unwrap_err().to_string()).to_vec();
    assert_eq!(
        said,
        [
            "an event `user_message` is too large, at most 1048576 bytes are kept",
            "an event `user_message` takes 5400149 bytes, at most 1048576 are kept",
            "an event `approval` is nested more than 64 levels deep",
            "`../ada` is no name of a session",
        ]
    );
    good.wait().unwrap();
    assert_eq!(project.told(), ["ada/5 fine"]);
    let problem = "4 events were not kept, the first because: an event `user_message` is too large, at most 1048576 bytes are kept";
    assert_eq!(log.problem().as_deref(), Some(problem));
}

#[test]
fn a_clock_that_jumps_back_changes_no_order() {
    let project = Project::new();
    let log = EventLog::open(project.root(), &settings()).unwrap();
    let moments = ["2026-11-16T23:59:59Z", "2026-11-17T00:00:01Z", "2026-11-16T08:00:00Z", "yesterday"];
    for (number, at) in (1..).zip(moments) {
        let mut event = message("ada", number, "x");
        event.at = at.to_owned();
        log.append(event).wait().unwrap();
    }
    let later: Vec<String> = project.told().into_iter().skip(1).collect();
    assert_eq!(later, ["ada/2 x", "ada/3 x", "ada/4 x"]);
    assert_eq!(project.files().first().map(String::as_str), Some("2026-11-16-ada.jsonl"));
}

#[test]
fn a_folder_that_is_deleted_meanwhile_is_made_again() {
    let project = Project::new();
    let log = EventLog::open(project.root(), &settings()).unwrap();
    log.append(message("ada", 1, "gone")).wait().unwrap();
    fs::remove_dir_all(project.root().join(".grail")).unwrap();
    log.append(message("ada", 2, "here")).wait().unwrap();
    assert_eq!(project.told(), ["ada/2 here"]);
}

#[test]
fn a_place_that_cannot_be_written_is_told_and_tried_again() {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".grail")).unwrap();
    // A file where the folder should be.
    fs::write(project.events(), "").unwrap();
    let log = EventLog::open(project.root(), &settings()).unwrap();
    let error = log.append(message("ada", 1, "lost")).wait().unwrap_err();
    assert!(error.to_string().starts_with(&format!("`{}`: ", project.events().display())), "{error}");
    fs::remove_file(project.events()).unwrap();
    log.append(message("ada", 2, "kept")).wait().unwrap();
    assert_eq!(project.told(), ["ada/2 kept"]);
    assert!(log.problem().unwrap().starts_with("an event was not kept: "));
    assert!(log.flush().is_err());
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;

    let project = Project::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("victim");
    fs::write(&target, "mine\n").unwrap();
    fs::create_dir_all(project.events()).unwrap();
    symlink(&target, project.events().join("2026-11-16-ada.jsonl")).unwrap();
    let log = EventLog::open(project.root(), &settings()).unwrap();
    let error = log.append(message("ada", 1, "x")).wait().unwrap_err().to_string();
    assert!(error.ends_with("this is no regular file; Grail leaves it alone"), "{error}");
    assert_eq!(project.told(), ["`2026-11-16-ada.jsonl`: this is no regular file; Grail leaves it alone"]);
    fs::remove_dir_all(project.events()).unwrap();
    symlink(elsewhere.path(), project.events()).unwrap();
    let error = log.append(message("ada", 2, "x")).wait().unwrap_err().to_string();
    assert!(error.ends_with("this is a symbolic link; Grail does not follow it"), "{error}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn a_forgotten_session_stays_forgotten() {
    let project = Project::new();
    let log = EventLog::open(project.root(), &settings()).unwrap();
    log.append(message("ada", 1, "secret plan")).wait().unwrap();
    log.append(message("bob", 1, "stays")).wait().unwrap();
    project.write("torn-by-hand", "");
    let report = forget_session(project.root(), "ada").unwrap();
    assert_eq!((report.was_forgotten, report.files, report.events), (false, 1, 1));
    let error = log.append(message("ada", 2, "again")).wait().unwrap_err();
    assert_eq!(error.to_string(), "the session `ada` was forgotten");
    let report = forget_session(project.root(), "ada").unwrap();
    assert_eq!((report.was_forgotten, report.files, report.events), (true, 0, 0));
    assert_eq!(project.told(), ["bob/1 stays"]);
    let tombstones = project.read("forgotten.jsonl");
    assert_eq!(tombstones.lines().count(), 1);
    assert!(!tombstones.contains("secret plan"));
    log.append(message("bob", 2, "goes on")).wait().unwrap();
}

#[test]
fn half_a_line_of_a_session_that_nobody_goes_on_with_is_set_aside() {
    let project = Project::new();
    let whole = line(&message("ada", 1, "good"));
    let unended = line(&message("bob", 1, "only the line feed is missing"));
    project.write("2026-11-16-ada.jsonl", format!("{whole}{{\"version\":1,\"id"));
    project.write("2026-11-16-bob.jsonl", unended.trim_end());
    project.write("2026-11-16-eve.jsonl", line(&message("eve", 1, "fine")));
    let notices = set_torn_aside(project.root()).unwrap();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].starts_with("`2026-11-16-ada.jsonl` ended in the middle of a line"), "{notices:?}");
    assert_eq!(project.read("2026-11-16-ada.jsonl"), whole);
    assert_eq!(project.read("2026-11-16-bob.jsonl"), unended);
    assert_eq!(project.files().iter().filter(|name| name.starts_with("torn/")).count(), 1);
    assert_eq!(set_torn_aside(project.root()).unwrap(), Vec::<String>::new());
}
