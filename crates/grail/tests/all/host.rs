//! `grail host`: envelopes on stdin, answers on stdout.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value as Json, json};

use crate::scratch::Scratch;

/// The answers to these lines, by their names.
fn answers(scratch: &Scratch, lines: &[&str]) -> Vec<Json> {
    let mut process =
        scratch.command(&["host"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut answers: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["request_id"].as_str().unwrap().to_owned());
    answers
}

#[test]
fn every_line_is_answered_before_the_end() {
    let scratch = Scratch::new(&[("grail.toml", ""), ("shop.py", "TAX = 0.2\n")]);
    let told = answers(
        &scratch,
        &[
            r#"{"v": 1, "request_id": "1", "command": "check", "payload": {"paths": ["shop.py"]}}"#,
            r#"{"v": 1, "request_id": "2", "command": "proposal.list"}"#,
            r#"{"v": 1, "request_id": "3", "command": "explode"}"#,
            r#"{"v": 9, "request_id": "4", "command": "check"}"#,
        ],
    );
    assert_eq!(
        told,
        [
            json!({"v": 1, "request_id": "1", "ok": true, "payload": {
                "passed": true, "files": 1, "problems": [], "more_problems": 0, "errors": [],
            }}),
            json!({"v": 1, "request_id": "2", "ok": true, "payload": {"proposals": [], "errors": []}}),
            json!({"v": 1, "request_id": "3", "ok": false, "error": {
                "code": "unknown-command", "message": "there is no command `explode`", "hint": "`host.commands` lists them",
            }}),
            json!({"v": 1, "request_id": "4", "ok": false, "error": {
                "code": "unsupported-version", "message": "version 9 of the envelope is not spoken here", "hint": "use version 1",
            }}),
        ]
    );
}

#[test]
fn nothing_asked_is_nothing_answered() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    assert!(answers(&scratch, &[]).is_empty());
}
