//! Tool calls in every spelling: `tests/tool_text_cases.txt` holds what a model wrote and what it was understood as.

use std::fmt::Write as _;

use grail_model::ToolDefinition;
use grail_model::tool_text::{MAX_CALLS, understand};
use proptest::prelude::*;
use serde_json::json;

const CASES: &str = include_str!("../tool_text_cases.txt");

fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, properties: serde_json::Value| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": properties}),
    };
    vec![
        tool("read_file", json!({"path": {"type": "string"}})),
        tool("write_file", json!({"path": {"type": "string"}, "text": {"type": "string"}})),
        tool(
            "check",
            json!({"fix": {"type": "boolean"}, "lines": {"type": "integer"}, "kind": {"type": ["string", "null"]}}),
        ),
    ]
}

/// An answer as it was understood, for people to read.
fn shown(answer: &str) -> String {
    let understood = understand(answer, &tools());
    let mut shown = String::new();
    for call in &understood.calls {
        let _ = writeln!(shown, "{} {} {}", call.id, call.name, call.arguments);
    }
    for problem in &understood.problems {
        let _ = writeln!(shown, "problem: {problem}");
    }
    if !understood.text.is_empty() {
        let _ = writeln!(shown, "text: {:?}", understood.text);
    }
    shown
}

#[test]
fn every_case_is_understood_as_it_says() {
    let mut wrong = String::new();
    let mut count = 0;
    for case in CASES.split("##### ").skip(1) {
        let (title, rest) = case.split_once('\n').expect("a title");
        let (answer, expected) = rest.split_once("\n-----\n").expect("what is expected");
        let shown = shown(answer);
        count += 1;
        if shown.trim() != expected.trim() {
            let _ = writeln!(wrong, "##### {title}\n{answer}\n-----\n{shown}");
        }
    }
    assert!(count > 25);
    assert!(wrong.is_empty(), "understood differently:\n{wrong}");
}

#[test]
fn a_flood_of_calls_is_cut_and_told() {
    let answer = r#"<tool_call>{"name": "check", "arguments": {}}</tool_call>"#.repeat(MAX_CALLS + 5);
    let understood = understand(&answer, &tools());
    assert_eq!(understood.calls.len(), MAX_CALLS);
    assert_eq!(understood.problems[0], "only the first 64 tool calls of an answer are read");
}

#[test]
fn deep_json_is_refused_and_does_no_harm() {
    let answer = format!("<tool_call>{}</tool_call>", "[".repeat(1_000_000));
    let understood = understand(&answer, &tools());
    assert!(understood.calls.is_empty());
    assert_eq!(understood.problems.len(), 1);
}

proptest! {
    /// Whatever a model writes, it is read without harm, and text without marks stays as it is.
    #[test]
    fn any_text_can_be_read(text in "(<tool_call>|</tool_call>|<function=|<parameter=a>|</parameter>|```|json\n|<think>|[{}\\[\\]\"',:\\\\a-z \n<>=é]){0,40}") {
        let _ = understand(&text, &tools());
    }

    #[test]
    fn text_without_marks_stays(text in "[a-zA-Z .,\n]{0,200}") {
        prop_assert_eq!(understand(&text, &tools()).text, text.trim());
    }

    /// Arguments survive the way through JSON between tags.
    #[test]
    fn arguments_survive(path in ".{0,60}", text in "(?s).{0,60}") {
        let call = json!({"name": "write_file", "arguments": {"path": path, "text": text}});
        prop_assume!(!call.to_string().contains("</tool_call>"));
        let understood = understand(&format!("<tool_call>{call}</tool_call>"), &tools());
        prop_assert_eq!(&understood.calls[0].arguments, &call["arguments"]);
    }
}
