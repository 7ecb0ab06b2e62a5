//! `grail events tail`: the newest events, and those to come.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use clap::Args;
use grail_flywheel::event::Event;
use grail_flywheel::log::{Filter, Position, ReadProblemKind, read_events};
use serde_json::json;

use super::{open_index, project_root, story, tell_empty};
use crate::Exit;
use crate::cli::Format;
use crate::render::Terminal;

/// How long a look at the files waits for the next.
const INTERVAL: Duration = Duration::from_millis(250);

/// Show the newest events, one line each
///
/// Newest last, by their ids, which sort by time. With `--follow`, `--format json` prints one event per line.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail events tail -n 50\n  grail events tail --follow --format json")]
pub struct Arguments {
    /// How many
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
    pub lines: usize,
    /// Go on with what is added, until Ctrl-C
    #[arg(short, long)]
    pub follow: bool,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = project_root()?;
    let mut index = open_index(&root, terminal)?;
    let places = index.answer(|index| index.latest(arguments.lines))?;
    let events: Vec<Event> = places.iter().filter_map(|place| index.read(place)).collect();
    if terminal.format() == Format::Json && !arguments.follow {
        terminal.json(&json!({"events": events}))?;
        return Ok(Exit::Fine);
    }
    if events.is_empty() {
        tell_empty(terminal)?;
    }
    events.iter().try_for_each(|event| print(event, terminal))?;
    if arguments.follow {
        let positions = index.answer(|index| index.positions())?;
        // Others may want to write to it.
        drop(index);
        follow(&root, positions, terminal)?;
    }
    Ok(Exit::Fine)
}

/// Looks at the files again and again; whole new lines are shown. Ends with the process, or when nobody reads on.
fn follow(root: &Path, positions: BTreeMap<String, Position>, terminal: &mut Terminal) -> anyhow::Result<()> {
    let mut filter = Filter { resume: positions, ..Filter::default() };
    loop {
        terminal.flush()?;
        thread::sleep(INTERVAL);
        let mut read = Vec::new();
        for line in read_events(root, &filter)? {
            match line {
                Ok(stored) => {
                    print(&stored.event, terminal)?;
                    read.push((stored.file.clone(), stored.end()));
                }
                // Written anew: from its start, next time.
                Err(problem) if problem.kind == ReadProblemKind::Rewritten => {
                    read.push((problem.file, Position::default()));
                }
                Err(problem) if problem.may_go_on() || problem.line == 0 => {}
                Err(problem) => {
                    let end = Position { offset: problem.offset + problem.length, lines: problem.line };
                    terminal.warning(format_args!("{problem}"))?;
                    read.push((problem.file, end));
                }
            }
        }
        filter.resume.extend(read);
    }
}

fn print(event: &Event, terminal: &mut Terminal) -> anyhow::Result<()> {
    match terminal.format() {
        Format::Json => terminal.line(format_args!("{}", serde_json::to_string(event)?)),
        Format::Text => terminal.line(format_args!("{}", story::line(event, true))),
    }
}
