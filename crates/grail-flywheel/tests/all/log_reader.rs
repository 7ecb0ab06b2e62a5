//! Reading events: files come from anywhere, and whatever is no event is told with its place.

use std::collections::BTreeMap;

use grail_flywheel::log::{Filter, Position, forget_session, forgotten_sessions};
use grail_flywheel::{ReadProblem, StoredEvent, read_events};
use proptest::prelude::*;

use crate::project::{Project, line, message, tell};

#[test]
fn whatever_is_no_event_is_told_with_its_place() {
    let project = Project::new();
    let good = line(&message("ada", 1, "good"));
    let mut newer: serde_json::Value = serde_json::from_str(&good).unwrap();
    newer["version"] = 2.into();
    newer["event"] = "telepathy".into();
    let mut unknown: serde_json::Value = serde_json::from_str(&good).unwrap();
    unknown["event"] = "tele\u{1b}[31mpathy".into();
    let other = line(&message("bob", 1, "smuggled"));
    let mut bytes = Vec::new();
    bytes.extend_from_slice(good.as_bytes());
    bytes.extend_from_slice(b"\n{\"version\":1\n\xff\xfe\n");
    bytes.extend_from_slice(format!("{newer}\n{unknown}\n{other}{good}[]\n\r\n").as_bytes());
    bytes.extend_from_slice("x".repeat(9_000_000).as_bytes());
    bytes.extend_from_slice(format!("\n{}", line(&message("ada", 2, "also good"))).as_bytes());
    bytes.extend_from_slice(b"{\"version\":1,\"id\":");
    project.write("2026-11-16-ada.jsonl", bytes);
    project.write("notes.txt", "left alone");
    let id = serde_json::from_str::<serde_json::Value>(&good).unwrap()["id"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(project.told().join("\n").replace(&id, "ID"), @r#"
    ada/1 good
    `2026-11-16-ada.jsonl:3`: this is no event: EOF while parsing an object, at byte 12
    `2026-11-16-ada.jsonl:4`: the line is not UTF-8
    `2026-11-16-ada.jsonl:5`: written by a newer Grail: version 2 of the format, this one knows 1
    `2026-11-16-ada.jsonl:6`: events of the kind `tele\u{1b}[31mpathy` are unknown to this Grail
    `2026-11-16-ada.jsonl:7`: this is an event of the session `bob`, not of the file's
    `2026-11-16-ada.jsonl:8`: the event `ID` was read before
    `2026-11-16-ada.jsonl:9`: this is no event: invalid type: sequence, expected struct Event, at byte 0
    `2026-11-16-ada.jsonl:11`: the line is too long for an event
    ada/2 also good
    `2026-11-16-ada.jsonl:13`: the file ends in the middle of this line
    "#);
}

#[test]
fn files_come_in_the_order_of_their_names() {
    let project = Project::new();
    project.write("2026-11-17-ada.jsonl", line(&message("ada", 2, "second day")));
    project.write("2026-11-16-bob.jsonl", line(&message("bob", 1, "first day")));
    project.write("2026-11-16-ada.jsonl", line(&message("ada", 1, "first day")));
    assert_eq!(project.told(), ["ada/1 first day", "bob/1 first day", "ada/2 second day"]);
    let only: Vec<String> =
        read_events(project.root(), &Filter::of_session("ada")).unwrap().map(tell).collect();
    assert_eq!(only, ["ada/1 first day", "ada/2 second day"]);
}

#[test]
fn a_reader_goes_on_where_it_stopped() {
    let project = Project::new();
    let name = "2026-11-16-ada.jsonl";
    let first = line(&message("ada", 1, "first"));
    let second = line(&message("ada", 2, "second"));
    project.write(name, &first);
    let stored = read_events(project.root(), &Filter::default()).unwrap().next().unwrap().unwrap();
    assert_eq!((stored.file.as_str(), stored.line, stored.offset), (name, 1, 0));
    let resumed = |position: Position| -> Vec<String> {
        let filter = Filter { resume: BTreeMap::from([(name.to_owned(), position)]), ..Filter::default() };
        read_events(project.root(), &filter).unwrap().map(tell).collect()
    };
    assert_eq!(resumed(stored.end()), Vec::<String>::new());
    project.write(name, format!("{first}{second}?\n"));
    assert_eq!(
        resumed(stored.end()),
        ["ada/2 second", "`2026-11-16-ada.jsonl:3`: this is no event: expected value, at byte 1"]
    );
    // Before its line feed was written.
    let early = Position { offset: stored.end().offset - 1, lines: 1 };
    assert_eq!(resumed(early).first().map(String::as_str), Some("ada/2 second"));
    let rewritten = "`2026-11-16-ada.jsonl`: the file is not the one that was read before";
    assert_eq!(resumed(Position { offset: 5, lines: 0 }), [rewritten]);
    assert_eq!(resumed(Position { offset: 100_000, lines: 0 }), [rewritten]);
}

#[test]
fn a_file_of_a_forgotten_session_is_not_read() {
    let project = Project::new();
    let name = "2026-11-16-ada.jsonl";
    project.write(name, line(&message("ada", 1, "forget me")));
    project.write("2026-11-16-ada-two.jsonl", line(&message("ada-two", 1, "another")));
    forget_session(project.root(), "ada").unwrap();
    // As from a backup.
    project.write(name, line(&message("ada", 1, "forget me")));
    assert_eq!(
        project.told(),
        ["ada-two/1 another", "`2026-11-16-ada.jsonl`: the session was forgotten, but its file is here"]
    );
    assert_eq!(forget_session(project.root(), "ada").unwrap().files, 1);
    assert_eq!(forgotten_sessions(project.root()).unwrap().into_iter().collect::<Vec<_>>(), ["ada"]);
    assert_eq!(project.told(), ["ada-two/1 another"]);
}

#[test]
fn a_project_without_events_has_none() {
    let project = Project::new();
    assert_eq!(project.told(), Vec::<String>::new());
    assert!(forgotten_sessions(project.root()).unwrap().is_empty());
}

/// Pieces of lines, whole and broken.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let event = line(&message("ada", 1, "x"));
    let half = event[..event.len() / 2].to_owned();
    let fixed = [
        &event, &half, "\n", "\r\n", "{", "}", "[[[[", "\"", "\\u12", "\\ud800", "{}", "null", "1e999",
        "\u{0}", " ",
    ];
    let fixed: Vec<Vec<u8>> = fixed.iter().map(|piece| piece.as_bytes().to_vec()).collect();
    let fresh = any::<u32>().prop_map(|number| line(&message("ada", number.into(), "y")).into_bytes());
    let piece = prop_oneof![
        3 => fresh,
        4 => prop::sample::select(fixed),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// Every line with something in it is told once, where it is, and a reader that comes back tells the same rest.
    #[test]
    fn any_file_is_read_to_its_end(bytes in pieces()) {
        let project = Project::new();
        let name = "2026-11-16-ada.jsonl";
        project.write(name, &bytes);
        let read = |position| {
            let filter = Filter { resume: BTreeMap::from([(name.to_owned(), position)]), ..Filter::default() };
            read_events(project.root(), &filter).unwrap().collect::<Vec<Result<StoredEvent, ReadProblem>>>()
        };
        let items = read(Position::default());
        let lines: Vec<&[u8]> =
            bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
        prop_assert_eq!(items.len(), lines.len());
        for (place, (item, line)) in items.iter().zip(lines).enumerate() {
            let (offset, length) = match item {
                Ok(stored) => (stored.offset, stored.length),
                Err(problem) => (problem.offset, problem.length),
            };
            prop_assert_eq!(&bytes[offset as usize..(offset + length) as usize], line);
            if let Ok(stored) = item {
                let rest = read(stored.end());
                prop_assert_eq!(rest.len(), items.len() - place - 1);
            }
        }
    }
}
