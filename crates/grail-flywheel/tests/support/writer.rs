//! What the tests start in other processes, to be killed or to run out of room: it writes events and tells on its output which are safe.
//!
//! `stream ROOT SESSION FIRST SYNC` writes for ever. `some ROOT SESSION COUNT BYTES` writes that many and tells what became of each.

#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use grail_flywheel::event::{Event, EventKind};
use grail_flywheel::log::{EventSettings, SyncPolicy};
use grail_flywheel::{EventLog, Ticket};

/// How many events wait for the disk at a time.
const IN_FLIGHT: usize = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["stream", root, session, first, sync] => stream(Path::new(root), session, first, sync),
        ["some", root, session, count, bytes] => some(Path::new(root), session, count, bytes),
        _ => None,
    };
    if done.is_some() { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

fn stream(root: &Path, session: &str, first: &str, sync: &str) -> Option<()> {
    let sync = match sync {
        "always" => SyncPolicy::Always,
        "never" => SyncPolicy::Never,
        _ => SyncPolicy::Group,
    };
    let log = EventLog::open(root, &EventSettings { sync, ..EventSettings::default() }).ok()?;
    let mut waiting: VecDeque<(u64, Ticket)> = VecDeque::new();
    for number in first.parse::<u64>().ok()?.. {
        waiting.push_back((number, log.append(event(session, number, &text_of(number)))));
        if waiting.len() >= IN_FLIGHT {
            // Several at once, as far as they are written, so that being killed meets every stage.
            for (number, ticket) in waiting.drain(..IN_FLIGHT / 4) {
                ticket.wait().ok()?;
                tell(&number.to_string())?;
            }
        }
    }
    Some(())
}

fn some(root: &Path, session: &str, count: &str, bytes: &str) -> Option<()> {
    let log = EventLog::open(root, &EventSettings::default()).ok()?;
    let text = "x".repeat(bytes.parse().ok()?);
    for number in 1..=count.parse().ok()? {
        match log.append(event(session, number, &text)).wait() {
            Ok(()) => tell("kept")?,
            Err(error) => tell(&format!("{error}; hint: {}", error.hint().unwrap_or_default()))?,
        }
    }
    Some(())
}

fn tell(line: &str) -> Option<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}").ok()?;
    output.flush().ok()
}

fn event(session: &str, number: u64, text: &str) -> Event {
    let mut event = Event::new(session, number, EventKind::UserMessage { text: text.to_owned() });
    event.at = "2026-11-16T09:00:00.000Z".to_owned();
    event
}

/// What an event of that number says: short mostly, and now and then long enough for a write to be cut in the middle.
fn text_of(number: u64) -> String {
    let length = match number % 40 {
        0 => 300_000,
        7 | 14 => 40_000,
        rest => 20 + 7 * rest,
    };
    let word = format!("{number} ");
    word.chars().cycle().take(length as usize).collect()
}
