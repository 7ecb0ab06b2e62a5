//! What numbers cost: making the index, keeping it up to date, asking it.
//!
//! `index FOLDER COUNT` writes about so many events as sessions of an ordinary kind, measures, and prints one JSON object. Files and database
//! stay there for `benches/index.py`, which asks them the same in another way.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark talks, and ends when it cannot")]

use std::fs;
use std::path::Path;
use std::time::Instant;

use grail_flywheel::event::{
    Event, EventContext, EventKind, Problem, ProposalDecision, ResultSummary, SkillStage, Tokens,
};
use grail_flywheel::index::Index;
use grail_flywheel::metrics::{self, Period};
use serde_json::json;
use uuid::Uuid;

const ROUNDS: usize = 5;
const DAYS: u64 = 180;
const RULES: u64 = 60;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [folder, count] = arguments.as_slice() else {
        println!("usage: index FOLDER COUNT");
        return;
    };
    let root = Path::new(folder);
    let wanted: u64 = count.parse().unwrap();
    let mut written = 0;
    let mut sessions = 0;
    while written < wanted {
        written += write_session(root, sessions);
        sessions += 1;
    }
    let mut index = Index::open(root).unwrap();
    let start = Instant::now();
    let first = index.rebuild().unwrap();
    let rebuild = start.elapsed().as_secs_f64();
    let start = Instant::now();
    index.catch_up().unwrap();
    let nothing_new = start.elapsed().as_secs_f64();
    let more: u64 = (0..500).map(|number| write_session(root, sessions + number)).sum();
    let start = Instant::now();
    let new = index.catch_up().unwrap();
    let catch_up = start.elapsed().as_secs_f64();
    assert_eq!((first.events, new.events), (written, more));
    let mut stats: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let metrics = metrics::compute(&index, &Period::default()).unwrap();
            assert_eq!(metrics.events, written + more);
            start.elapsed().as_secs_f64()
        })
        .collect();
    stats.sort_by(f64::total_cmp);
    drop(index);
    let start = Instant::now();
    let mut index = Index::open(root).unwrap();
    index.catch_up().unwrap();
    let metrics = metrics::compute(&index, &Period::default()).unwrap();
    let cold = start.elapsed().as_secs_f64();
    println!(
        "{}",
        json!({
            "events": written + more,
            "files": sessions + 500,
            "bytes": first.bytes + new.bytes,
            "database_bytes": fs::metadata(root.join(".grail/grail.db")).unwrap().len(),
            "generations": metrics.total.generations,
            "rebuild_seconds": rebuild,
            "catch_up_events": more,
            "catch_up_seconds": catch_up,
            "nothing_new_seconds": nothing_new,
            "stats_seconds": stats[ROUNDS / 2],
            "opened_caught_up_and_asked_seconds": cold,
        })
    );
}

/// Writes one session; says how many events it has.
fn write_session(root: &Path, session: u64) -> u64 {
    let day = session % DAYS;
    let name = format!("session-{session:06}");
    let midnight = jiff::Timestamp::from_second(1_767_225_600 + day as i64 * 86_400).unwrap();
    let path = format!("app/part_{}.py", session % 500);
    let rule = |number: u64| format!("rule-{}", number % RULES);
    let problem = |number: u64| Problem {
        layer: "rules".to_owned(),
        rule: rule(number),
        message: "components return a node, not text".to_owned(),
        line: 7,
        hint: None,
    };
    let code = "def component(name: str) -> Node:\n    return html(t'<p>{name}</p>')\n".repeat(8);
    let skill = format!("skill-{}", session % 12);
    let retries = (session % 3) as u32;
    let passes = !session.is_multiple_of(11);
    let mut kinds = vec![
        EventKind::Intent {
            request: "a page with the orders of a customer".to_owned(),
            artifact: Some("component".to_owned()),
        },
        stage(&skill, SkillStage::Offered),
        stage(&format!("skill-{}", (session + 1) % 12), SkillStage::Offered),
        stage(&skill, SkillStage::Loaded),
    ];
    for number in 0..4 {
        kinds.push(EventKind::ModelAnswer {
            text: "Here is what I found.".to_owned(),
            tools: Vec::new(),
            tokens: Tokens { input: 1200, output: 150 },
        });
        kinds.push(EventKind::ToolCall {
            query: "orders".to_owned(),
            tool: "read_file".to_owned(),
            arguments: json!({"path": path}),
            result: ResultSummary {
                ok: number != 3,
                shape: "{text: string}".to_owned(),
                bytes: 900,
                error: None,
            },
            fields_accessed: Vec::new(),
            microseconds: 850,
        });
    }
    for attempt in 0..=u64::from(retries) {
        let is_last = attempt == u64::from(retries);
        kinds.push(EventKind::DomainValidation {
            validator: "house".to_owned(),
            artifact: "component".to_owned(),
            path: path.clone(),
            code: code.clone(),
            passed: is_last && passes,
            problems: if is_last && passes { Vec::new() } else { vec![problem(session + attempt)] },
            fixed: vec![rule(session + 7)],
            suppressed: if session.is_multiple_of(40) { vec![rule(session)] } else { Vec::new() },
            types: None,
            tests: None,
        });
        if !is_last {
            kinds.push(EventKind::Retry {
                query: "orders".to_owned(),
                artifact: "component".to_owned(),
                path: path.clone(),
                attempt: attempt as u32 + 1,
                problems: vec![problem(session + attempt)],
                original: code.clone(),
                corrected: code.clone(),
                passed: false,
            });
        }
    }
    kinds.push(EventKind::Generation {
        artifact: if session.is_multiple_of(2) { "component" } else { "service" }.to_owned(),
        request: "a page with the orders of a customer".to_owned(),
        code,
        validated: passes,
        types: Some(!session.is_multiple_of(17)),
        tests: session.is_multiple_of(4).then_some(passes),
        problems: if passes { Vec::new() } else { vec![problem(session + u64::from(retries))] },
        retries,
        path: path.clone(),
        skills: vec![skill],
        tokens: Tokens { input: 5200, output: 800 },
        milliseconds: 8_000,
    });
    let proposal = format!("proposal-{session}");
    kinds.push(EventKind::Proposal {
        proposal: proposal.clone(),
        decision: ProposalDecision::Made,
        reason: None,
        paths: vec![path],
    });
    let decision = if passes { ProposalDecision::Approved } else { ProposalDecision::Rejected };
    kinds.push(EventKind::Proposal { proposal, decision, reason: None, paths: Vec::new() });
    let mut text = String::new();
    for (place, kind) in kinds.iter().enumerate() {
        let number = place as u64 + 1;
        let at = midnight + std::time::Duration::from_secs(36_000 + number * 20);
        let event = Event {
            at: at.to_string(),
            id: Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, at.as_second() as u64, 0)),
            context: EventContext {
                branch: Some(format!("feature/{}", session % 900)),
                model: Some(format!("model-{}", session % 4)),
                phase: Some(format!("phase-{}", day / 30)),
                config: Some("3fa2c1".to_owned()),
                ..EventContext::default()
            },
            ..Event::new(name.clone(), number, kind.clone())
        };
        text.push_str(&serde_json::to_string(&event).unwrap());
        text.push('\n');
    }
    let folder = root.join(".grail/events");
    fs::create_dir_all(&folder).unwrap();
    let day = midnight.strftime("%Y-%m-%d");
    fs::write(folder.join(format!("{day}-{name}.jsonl")), text).unwrap();
    kinds.len() as u64
}

fn stage(skill: &str, stage: SkillStage) -> EventKind {
    EventKind::Skill { skill: skill.to_owned(), version: "1.0.0".to_owned(), stage }
}
