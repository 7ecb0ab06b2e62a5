//! `grail events`: what is remembered, counted and forgotten.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value as Json, json};

use crate::scratch::Scratch;

/// One line of a file: the `number`th event of a session.
fn line(session: &str, number: u64, mut event: Json) -> String {
    let digit = session.bytes().map(u64::from).sum::<u64>() % 10;
    let head = json!({
        "version": 1,
        "id": format!("01a2b3c4-{number:04}-7000-8000-00000000{digit}{number:03}"),
        "at": format!("2026-11-16T09:{number:02}:00.000Z"),
        "session": session, "number": number, "branch": "feature/page", "model": "small",
    });
    for (name, value) in head.as_object().unwrap() {
        event.as_object_mut().unwrap().insert(name.clone(), value.clone());
    }
    event.to_string() + "\n"
}

fn problem() -> Json {
    json!({"layer": "rules", "rule": "no-html", "message": "return a node", "line": 3})
}

fn generation(path: &str, validated: bool, retries: u32) -> Json {
    json!({
        "event": "generation", "artifact": "component", "request": "a page", "code": "a = 1\nb = 2\n", "validated": validated,
        "types": true, "problems": if validated { json!([]) } else { json!([problem()]) }, "retries": retries, "path": path,
        "skills": ["views"], "tokens": {"input": 900, "output": 100}, "milliseconds": 1200,
    })
}

/// Two sessions: one artifact that passed at the second attempt, one that did not.
fn remembered() -> Scratch {
    let events = [
        json!({"event": "intent", "request": "a page with\nall \u{1b}[2Jorders", "artifact": "component"}),
        json!({"event": "skill", "skill": "views", "stage": "loaded"}),
        json!({"event": "domain_validation", "validator": "house", "artifact": "component", "path": "app/page.py", "code": "a = 1",
               "passed": false, "problems": [problem()], "fixed": ["no-print"]}),
        json!({"event": "retry", "query": "a page", "artifact": "component", "path": "app/page.py", "attempt": 1,
               "problems": [problem()], "original": "", "corrected": "a = 1", "passed": true}),
        generation("app/page.py", true, 1),
        json!({"event": "proposal", "proposal": "p-1", "decision": "made", "paths": ["app/page.py"]}),
        json!({"event": "proposal", "proposal": "p-1", "decision": "approved"}),
    ];
    let first: String =
        events.into_iter().zip(1..).map(|(event, number)| line("morning", number, event)).collect();
    let second = line("noon", 11, generation("app/form.py", false, 2))
        + &line("noon", 12, json!({"event": "failed", "reason": "gave up"}));
    Scratch::new(&[
        ("grail.toml", ""),
        (".grail/events/2026-11-16-morning.jsonl", &first),
        (".grail/events/2026-11-16-noon.jsonl", &second),
    ])
}

#[test]
fn the_newest_events_come_last_and_cannot_command_a_terminal() {
    let scratch = remembered();
    insta::assert_snapshot!(scratch.run(&["events", "tail"]), @r#"
    2026-11-16 09:01:00  00002001  morning  intent  component: a page with\nall \u{1b}[2Jorders
    2026-11-16 09:02:00  00002002  morning  skill  views loaded
    2026-11-16 09:03:00  00002003  morning  domain_validation  component app/page.py: 1 problem, 1 fixed
    2026-11-16 09:04:00  00002004  morning  retry  app/page.py: attempt 1 passed
    2026-11-16 09:05:00  00002005  morning  generation  component app/page.py: passed, 1 retry, 2 lines, 900 + 100 tokens
    2026-11-16 09:06:00  00002006  morning  proposal  p-1 made
    2026-11-16 09:07:00  00002007  morning  proposal  p-1 approved
    2026-11-16 09:11:00  00002011  noon  generation  component app/form.py: did not pass, 2 retries, 2 lines, 900 + 100 tokens
    2026-11-16 09:12:00  00002012  noon  failed  gave up
    exit 0
    "#);
    insta::assert_snapshot!(scratch.run(&["events", "tail", "-n", "1", "--format", "json"]), @r#"
    {
      "events": [
        {
          "version": 1,
          "id": "01a2b3c4-0012-7000-8000-000000002012",
          "at": "2026-11-16T09:12:00.000Z",
          "session": "noon",
          "number": 12,
          "branch": "feature/page",
          "model": "small",
          "event": "failed",
          "reason": "gave up"
        }
      ]
    }
    exit 0
    "#);
}

#[test]
fn following_shows_what_other_programs_add() {
    let scratch = remembered();
    let mut child =
        scratch.command(&["events", "tail", "-n", "1", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().ends_with("failed  gave up"));
    let more = line("noon", 13, json!({"event": "user_message", "text": "once more"}));
    let path = scratch.path(".grail/events/2026-11-16-noon.jsonl");
    fs::File::options().append(true).open(path).unwrap().write_all(more.as_bytes()).unwrap();
    assert!(lines.next().unwrap().unwrap().ends_with("user_message  once more"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_event_is_shown_whole_and_a_session_as_a_story() {
    let scratch = remembered();
    insta::assert_snapshot!(scratch.run(&["events", "show", "morning"]), @r#"
    morning: 7 events, branch feature/page, model small
    2026-11-16 09:01:00  00002001    1  intent  component: a page with\nall \u{1b}[2Jorders
    2026-11-16 09:02:00  00002002    2  skill  views loaded
    2026-11-16 09:03:00  00002003    3  domain_validation  component app/page.py: 1 problem, 1 fixed
    2026-11-16 09:04:00  00002004    4  retry  app/page.py: attempt 1 passed
    2026-11-16 09:05:00  00002005    5  generation  component app/page.py: passed, 1 retry, 2 lines, 900 + 100 tokens
    2026-11-16 09:06:00  00002006    6  proposal  p-1 made
    2026-11-16 09:07:00  00002007    7  proposal  p-1 approved
    exit 0
    "#);
    let id = "01a2b3c4-0003-7000-8000-000000002003";
    insta::assert_snapshot!(scratch.run(&["events", "show", id]), @r#"
    2026-11-16 09:03:00  00002003  morning  domain_validation  component app/page.py: 1 problem, 1 fixed
    id: 01a2b3c4-0003-7000-8000-000000002003
    number: 3
    branch: feature/page
    model: small
    validator: house
    artifact: component
    path: app/page.py
    code: a = 1
    passed: false
    problems:
        [
          {
            "layer": "rules",
            "rule": "no-html",
            "message": "return a node",
            "line": 3
          }
        ]
    fixed:
        [
          "no-print"
        ]
    file: .grail/events/2026-11-16-morning.jsonl
    exit 0
    "#);
    insta::assert_snapshot!(scratch.run(&["events", "show", "2003"]).lines().nth(1).unwrap(), @"id: 01a2b3c4-0003-7000-8000-000000002003");
    let several = scratch.run(&["events", "show", "01a2b3c4"]);
    assert!(several.starts_with(
        "! error: `01a2b3c4` could be several\n! hint: name one of 01a2b3c4-0001-7000-8000-000000002001, "
    ));
    insta::assert_snapshot!(scratch.run(&["events", "show", "nothing"]), @"
    ! error: there is no event and no session `nothing`
    ! hint: `grail events tail` shows the newest
    exit 2
    ");
}

#[test]
fn numbers_say_what_they_are_shares_of() {
    let scratch = remembered();
    insta::assert_snapshot!(scratch.run(&["events", "stats"]), @"
    9 events, 2 sessions, 2 generations

                  share   cases    likely  target
    validation     50 %  1 of 2    9–91 %  > 90 %  too few to say
    types         100 %  2 of 2  34–100 %  > 95 %  too few to say
    tests       no data                    > 85 %  too few to say
    first try       0 %  0 of 2    0–66 %
    retries        1.50  3 in 2               < 2  too few to say

    7 min of work: 8.6 artifacts and 17 lines an hour
    about 4 min lost: 2 lines that passed and were kept, at 40 lines an hour by hand, less the time that was worked (pauses under 5 minutes)
    2,000 tokens for each artifact that passed

    week        made  validation        types  tests  first try  retries       fixed  tokens  lines/h
    2026-11-16     2  50 % (1/2)  100 % (2/2)      -  0 % (0/2)     1.50  67 % (2/3)   2,000       17

    rule      fired  by fixer  by model  stays  overridden
    no-html       2         0         1      1   0 % (0/2)
    no-print      1         1         0      0   0 % (0/1)

    skill  offered  loaded  used  passed  approved  merged
    views        2       2     2       1         1       0

    exit 0
    ");
    let by_model = scratch.run(&["events", "stats", "--by", "model"]);
    let of_rules = by_model.lines().filter(|line| line.starts_with("no-html"));
    assert_eq!(of_rules.count(), 2, "once for all, and once for its model: {by_model}");
    insta::assert_snapshot!(scratch.run(&["events", "stats", "--by", "skill", "--since", "2027-01-01"]), @"
    ! no events since 2027-01-01
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["events", "stats", "--since", "yesterday"]), @"
    ! error: `yesterday` is no day
    ! hint: write `2026-11-01`, `7d` for the last seven days, or `4w`
    exit 2
    ");
    let stats = scratch.command(&["events", "stats", "--format", "json"]).output().unwrap();
    let stats: Json = serde_json::from_slice(&stats.stdout).unwrap();
    assert_eq!(
        stats["stats"]["total"]["validation"],
        json!({"passed": 1, "of": 2, "rate": 0.5, "low": 0.0945, "high": 0.9055})
    );
    assert_eq!(
        stats["stats"]["total"]["tests"],
        json!({"passed": 0, "of": 0, "rate": null, "low": null, "high": null})
    );
}

#[test]
fn the_report_is_written_whole() {
    let scratch = remembered();
    assert_eq!(
        scratch.run(&["events", "stats", "--html", "report.html"]),
        "! the report is in `report.html`\nexit 0\n"
    );
    let page = scratch.read("report.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(
        scratch
            .run(&["events", "stats", "--html", "no/such/report.html"])
            .ends_with("! hint: name a file in a folder that is there\nexit 2\n")
    );
}

#[test]
fn what_is_forgotten_is_gone_from_files_and_index() {
    let scratch = remembered();
    insta::assert_snapshot!(scratch.run(&["events", "forget", "noo"]), @"
    ! error: there is no session `noo`
    ! hint: did you mean noon?
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["events", "forget", "noon"]), @"
    ! error: forgetting cannot be undone, and nobody can be asked here
    ! hint: add `--yes` if it is meant
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["events", "forget", "noon", "--yes"]), @"
    ! forgotten: 2 events of 1 file
    exit 0
    ");
    assert!(!scratch.path(".grail/events/2026-11-16-noon.jsonl").exists());
    assert!(!scratch.run(&["events", "tail"]).contains("gave up"));
    insta::assert_snapshot!(scratch.run(&["events", "rebuild"]), @"
    ! 7 events of 1 file are in the index
    exit 0
    ");
    assert!(!scratch.run(&["events", "tail"]).contains("gave up"));
}

#[test]
fn lines_that_are_no_events_are_named_by_a_rebuild() {
    let scratch = remembered();
    let path = scratch.path(".grail/events/2026-11-16-noon.jsonl");
    fs::File::options().append(true).open(path).unwrap().write_all(b"what?\n").unwrap();
    insta::assert_snapshot!(scratch.run(&["events", "rebuild"]), @"
    ! warning: `2026-11-16-noon.jsonl:3`: this is no event: expected value, at byte 1
    ! 9 events of 2 files are in the index
    exit 0
    ");
    assert!(scratch.run(&["events", "stats"]).ends_with(
        "! warning: 1 line of the files could not be read; `grail events rebuild` lists them\nexit 0\n"
    ));
}

#[test]
fn a_damaged_index_is_mended_on_the_way() {
    let scratch = remembered();
    let right = scratch.run(&["events", "stats"]);
    fs::write(
        scratch.path(".grail/grail.db"),
        "not a database at all, but long enough to look like one".repeat(40),
    )
    .unwrap();
    let seen = scratch.run(&["events", "stats"]);
    assert_eq!(
        seen.lines().find(|line| line.starts_with("! ")),
        Some(
            "! warning: `.grail/grail.db` was damaged (file is not a database); it was made anew from the events"
        )
    );
    assert_eq!(scratch.run(&["events", "stats"]), right);
}

#[test]
fn a_project_without_events_is_told_how_to_get_some() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let empty = "! no events yet; `grail generate` and `grail mcp` keep them as you work\nexit 0\n";
    for command in [["events", "tail"], ["events", "stats"], ["events", "rebuild"]] {
        assert_eq!(scratch.run(&command), empty);
    }
    assert!(!scratch.path(".grail").exists());
}
