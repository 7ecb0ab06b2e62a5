//! What learning costs: events to examples, examples to those that are kept, and the split with its proof.
//!
//! `learning COUNT` measures so many events and prints one JSON object; `learning COUNT extract` stops when there are examples.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark talks, and ends when it cannot")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use grail_flywheel::Event;
use grail_flywheel::curate::{CurateSettings, RuleValidator, curate};
use grail_flywheel::event::{EventKind, Problem, Tokens, summarise};
use grail_flywheel::extract::{ExtractSettings, extract_log, fields_accessed};
use grail_flywheel::log::events_folder;
use grail_flywheel::split::{SplitSettings, split};
use grail_project::{Config, Project};
use grail_rules::Library;
use serde_json::{Value, json};

const WORDS: [&str; 24] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty", "knoll",
    "lagoon", "maple", "north", "ocean", "prism", "quill", "ridge", "slate", "tulip", "umber", "vault",
    "wharf", "zephyr",
];

fn main() {
    let count = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
    let only_extracts = std::env::args().any(|argument| argument == "extract");
    println!("{:#}", measure(count, only_extracts));
}

fn measure(count: usize, only_extracts: bool) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let bytes = write_events(folder.path(), count);
    let (extraction, extracting) =
        timed(|| extract_log(folder.path(), &ExtractSettings::default(), |_| ()).unwrap());
    let extracted = extraction.examples.len();
    let peak = peak_megabytes();
    if only_extracts {
        return json!({
            "events": count,
            "megabytes": bytes / 1_000_000,
            "sessions": extraction.sessions,
            "extracted": extracted,
            "peak_megabytes": {"extract": peak},
            "seconds": {"extract": extracting},
        });
    }
    let project = Project { root: PathBuf::from("."), config: Config::default() };
    let library = Library::built_in();
    let validator = RuleValidator::new(&project, &library);
    let (curated, curating) = timed(|| curate(extraction.examples, &CurateSettings::default(), &validator));
    let kept = curated.kept.len();
    let (split, splitting) = timed(|| split(curated.kept, &[], &SplitSettings::default()));
    json!({
        "events": count,
        "megabytes": bytes / 1_000_000,
        "sessions": extraction.sessions,
        "extracted": extracted,
        "dropped": curated.reasons,
        "kept": kept,
        "train_valid_test": [split.train.len(), split.valid.len(), split.test.len()],
        "clusters": split.proof.clusters,
        "proof_holds": split.proof.holds,
        "pairs_checked": split.proof.pairs_checked,
        "highest_similarity": split.proof.highest_similarity,
        "peak_megabytes": {"extract": peak, "all": peak_megabytes()},
        "seconds": {"extract": extracting, "curate": curating, "split": splitting},
    })
}

/// Writes so many events as a project would have them, holding one session at a time, and says how many bytes they are.
fn write_events(root: &Path, count: usize) -> usize {
    let folder = events_folder(root);
    fs::create_dir_all(&folder).unwrap();
    let (mut written, mut bytes) = (0, 0);
    for number in 0.. {
        let mut events = session(number);
        events.truncate(count - written);
        let Some(name) = events.first().map(|event| event.session.clone()) else { break };
        written += events.len();
        let lines: String = events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect();
        bytes += lines.len();
        fs::write(folder.join(format!("2026-11-16-{name}.jsonl")), lines).unwrap();
    }
    bytes
}

/// The most memory that this process ever had, where the system tells.
fn peak_megabytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1024)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let made = work();
    (made, (start.elapsed().as_secs_f64() * 1000.0).round() / 1000.0)
}

/// A session of two dozen events: talk, tools, retries, two artifacts, a correction.
fn session(number: usize) -> Vec<Event> {
    let word =
        |place: usize| WORDS[(number.wrapping_mul(31) + number / 24 + place * 7 + place * number) % 24];
    let name = format!("{}_{}_{number}", word(0), word(1));
    let request =
        format!("Create {name}_view that shows {} and {} with {} for {}", word(2), word(3), word(4), word(5));
    let view = |quote: &str, star: &str| {
        let rows: String = (0..8)
            .map(|row| {
                format!(
                    "    {}_{row} = format_{}({}, {})\n",
                    word(row),
                    word(row + 3),
                    word(row + 5),
                    number * 7 + row
                )
            })
            .collect();
        format!(
            "from myapp.web import view\nfrom tdom import html\n\n\n@view\ndef {name}_view({star}{}: str) -> str:\n{rows}    return html({quote}\"<div class='{}'>{{{}}}</div>\")\n",
            word(6),
            word(7),
            word(6)
        )
    };
    let (good, bad, worse) = (view("t", "*, "), view("f", "*, "), view("f", ""));
    let problem = |rule: &str| Problem {
        layer: "rules".to_owned(),
        rule: rule.to_owned(),
        message: "not as it is done here".to_owned(),
        line: 7,
        hint: None,
    };
    let program = format!(
        "found = search('{} {number}')\nfor hit in found[:{}]:\n    if hit.{} > {number}:\n        print(read(hit.path).{}, '{}', '{}')\n",
        word(8),
        number % 17,
        word(9),
        word(10),
        word(11),
        word(12)
    );
    let path = format!("views/{name}_view.py");
    let retry =
        |attempt: u32, rules: &[&str], original: &str, corrected: &str, passed: bool| EventKind::Retry {
            query: request.clone(),
            artifact: "view".to_owned(),
            path: path.clone(),
            attempt,
            problems: rules.iter().map(|rule| problem(rule)).collect(),
            original: original.to_owned(),
            corrected: corrected.to_owned(),
            passed,
        };
    let generation = |code: &str, retries: u32| EventKind::Generation {
        artifact: "view".to_owned(),
        request: request.clone(),
        code: code.to_owned(),
        validated: true,
        types: None,
        tests: None,
        problems: Vec::new(),
        retries,
        path: path.clone(),
        skills: Vec::new(),
        tokens: Tokens::default(),
        milliseconds: 900,
    };
    let answer = |text: &str| EventKind::ModelAnswer {
        text: format!("{text} {}", word(9)),
        tools: Vec::new(),
        tokens: Tokens { input: 900, output: 100 },
    };
    let call = |tool: &str, argument: &str| EventKind::ToolCall {
        query: request.clone(),
        tool: tool.to_owned(),
        arguments: json!({"path": argument}),
        result: summarise(&json!({"path": "a", "text": "b"})),
        fields_accessed: Vec::new(),
        microseconds: 300,
    };
    let kinds = vec![
        EventKind::UserMessage { text: format!("hello, about {}", word(10)) },
        answer("Yes?"),
        EventKind::Intent { request: request.clone(), artifact: Some("view".to_owned()) },
        call("search_code", &format!("src/{name}")),
        call("read_file", &format!("src/{name}/found_{}.py", word(11))),
        answer("I have looked at"),
        EventKind::SandboxRun {
            query: request.clone(),
            fields_accessed: fields_accessed(&program, &["search", "read"]),
            code: program,
            result: summarise(&Value::Null),
            tools: vec!["search".to_owned(), "read".to_owned()],
            microseconds: 900,
        },
        EventKind::DomainValidation {
            validator: "view-conventions".to_owned(),
            artifact: "view".to_owned(),
            path: path.clone(),
            code: worse.clone(),
            passed: false,
            problems: vec![problem("view-keyword-only"), problem("view-no-f-string")],
            fixed: Vec::new(),
            suppressed: Vec::new(),
            types: None,
            tests: None,
        },
        retry(1, &["view-keyword-only", "view-no-f-string"], &worse, &bad, false),
        answer("That was not right, now"),
        retry(2, &["view-no-f-string"], &bad, &good, true),
        generation(&good, 2),
        EventKind::UserConfirmation { text: "perfect".to_owned(), subject: None },
        EventKind::UserMessage { text: "and now the next".to_owned() },
        answer("Of course,"),
        EventKind::Commit {
            commit: format!("{number:040x}"),
            patch: None,
            paths: vec![path.clone()],
            suppressed: Vec::new(),
        },
    ];
    let name = format!("session-{number}");
    kinds.into_iter().enumerate().map(|(index, kind)| Event::new(&name, index as u64 + 1, kind)).collect()
}
