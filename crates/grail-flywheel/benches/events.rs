//! What remembering costs: appending with group commit, handing over, reading back.
//!
//! `events lines FOLDER COUNT FILE` writes the events that the others measure as plain lines, for programs that do the same in another way.
//! `events append|acknowledge|read FOLDER COUNT` measures and prints one JSON object. `benches/flywheel.py` puts them beside each other.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark talks, and ends when it cannot")]

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use grail_flywheel::event::{Event, EventKind, Problem, ResultSummary, Tokens};
use grail_flywheel::log::{EventSettings, Filter};
use grail_flywheel::redact::Redactor;
use grail_flywheel::{EventLog, Ticket, read_events};
use serde_json::{Value, json};

/// How many events are on their way when throughput is measured.
const MANY_IN_FLIGHT: usize = 16_384;
/// How many when the time to an acknowledgement is.
const FEW_IN_FLIGHT: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [command, folder, count, rest @ ..] = arguments.as_slice() else {
        println!("usage: events lines|append|acknowledge|read FOLDER COUNT [FILE]");
        return;
    };
    let folder = Path::new(folder);
    let count: usize = count.parse().unwrap();
    match *command {
        "lines" => lines(count, Path::new(rest[0])),
        "append" => println!("{}", append(folder, count, MANY_IN_FLIGHT)),
        "acknowledge" => println!("{}", append(folder, count, FEW_IN_FLIGHT)),
        "read" => println!("{}", read(folder)),
        _ => println!("no such measurement: {command}"),
    }
}

fn lines(count: usize, file: &Path) {
    let lines: Vec<String> =
        (0..count).map(|number| Redactor::shared().line(&event(number)) + "\n").collect();
    fs::write(file, lines.concat()).unwrap();
}

/// One process, one thread that hands over, so many on their way at a time.
fn append(folder: &Path, count: usize, in_flight: usize) -> Value {
    let events: Vec<Event> = (0..count).map(event).collect();
    let log = EventLog::open(folder, &EventSettings::default()).unwrap();
    // The first event makes folders.
    log.append(event(0)).wait().unwrap();
    let mut waiting: VecDeque<(Instant, Ticket)> = VecDeque::with_capacity(in_flight);
    let mut handing_over = Vec::with_capacity(count);
    let mut acknowledged = Vec::with_capacity(count);
    let start = Instant::now();
    for event in events {
        if waiting.len() == in_flight {
            settle(&mut waiting, &mut acknowledged);
        }
        let before = Instant::now();
        let ticket = log.append(event);
        handing_over.push(before.elapsed());
        waiting.push_back((before, ticket));
    }
    while !waiting.is_empty() {
        settle(&mut waiting, &mut acknowledged);
    }
    let took = start.elapsed();
    json!({
        "events": count,
        "in_flight": in_flight,
        "seconds": took.as_secs_f64(),
        "events_per_second": count as f64 / took.as_secs_f64(),
        "handing_over": percentiles(handing_over),
        "acknowledged": percentiles(acknowledged),
        "problem": log.problem(),
    })
}

fn settle(waiting: &mut VecDeque<(Instant, Ticket)>, acknowledged: &mut Vec<Duration>) {
    if let Some((handed_over, ticket)) = waiting.pop_front() {
        ticket.wait().unwrap();
        acknowledged.push(handed_over.elapsed());
    }
}

fn read(folder: &Path) -> Value {
    let start = Instant::now();
    let mut bytes = 0;
    let mut events = 0_u64;
    for item in read_events(folder, &Filter::default()).unwrap() {
        bytes += item.unwrap().length;
        events += 1;
    }
    let took = start.elapsed().as_secs_f64();
    json!({"events": events, "bytes": bytes, "seconds": took, "events_per_second": events as f64 / took})
}

/// In microseconds.
fn percentiles(mut durations: Vec<Duration>) -> Value {
    durations.sort_unstable();
    let at = |share: f64| {
        let place = ((durations.len() - 1) as f64 * share).round() as usize;
        durations[place].as_nanos() as f64 / 1000.0
    };
    json!({"p50": at(0.5), "p99": at(0.99), "p99.9": at(0.999), "max": at(1.0)})
}

/// What a session is made of, in about the right proportions: mostly calls of tools, now and then code.
fn event(number: usize) -> Event {
    let code = CODE.repeat(1 + number % 3);
    let text = |text: &str| text.to_owned();
    let kind = match number % 10 {
        0 => EventKind::Intent {
            request: text("a user card with name and address"),
            artifact: Some(text("component")),
        },
        1..=5 => EventKind::ToolCall {
            query: text("a user card with name and address"),
            tool: text("read_file"),
            arguments: json!({"path": format!("src/shop/components/card_{number}.py"), "lines": [1, 200]}),
            result: ResultSummary {
                ok: true,
                shape: text("{path: string, text: string, lines: int}"),
                bytes: 4096 + number as u64,
                error: None,
            },
            fields_accessed: vec![text("read_file.text")],
            microseconds: 420,
        },
        6 => EventKind::ModelAnswer {
            text: text("The card needs a heading and two fields; I take the layout of the order card."),
            tools: Vec::new(),
            tokens: Tokens { input: 5200, output: 410 },
        },
        7 => EventKind::DomainValidation {
            validator: text("view-conventions"),
            artifact: text("component"),
            path: text("src/shop/components/user_card.py"),
            code,
            passed: false,
            problems: vec![Problem {
                layer: text("rules"),
                rule: text("view-decorator"),
                message: text("`user_card` is a view without its decorator"),
                line: 7,
                hint: Some(text("put `@view` above it")),
            }],
            fixed: Vec::new(),
            suppressed: Vec::new(),
            types: Some(true),
            tests: None,
        },
        8 => EventKind::Generation {
            artifact: text("component"),
            request: text("a user card with name and address"),
            code,
            validated: true,
            types: Some(true),
            tests: None,
            problems: Vec::new(),
            retries: 1,
            path: text("src/shop/components/user_card.py"),
            skills: vec![text("tdom-components")],
            tokens: Tokens { input: 5200, output: 410 },
            milliseconds: 2100,
        },
        // One in a hundred has something to take out.
        _ if number % 100 == 99 => {
            EventKind::UserMessage { text: ["write to ada", "@", "engines.co.uk when it is done"].concat() }
        }
        _ => EventKind::UserMessage { text: text("and a button that removes it") },
    };
    let mut event = Event::new(format!("bench-{}", number % 3), number as u64 + 1, kind);
    event.context.branch = Some(text("feature/user-card"));
    event.context.config = Some(text("b1946ac92492d234"));
    event.context.model = Some(text("qwen3:8b"));
    event
}

const CODE: &str = r#"from dataclasses import dataclass

from tdom import html

from shop.views import view


@view("/users/{user_id}")
def user_card(user: "User", *, compact: bool = False):
    """A card with what is known of a user."""
    fields = [(label, getattr(user, name)) for label, name in FIELDS if getattr(user, name)]
    return html(t"<article class={CLASSES[compact]}><h2>{user.name}</h2><dl>{rows(fields)}</dl></article>")


@dataclass(frozen=True)
class Field:
    label: str
    name: str
    is_required: bool = True
"#;
