//! `grail dataset review`: a person looks at examples, one by one.
//!
//! Each decision is an event and on the disk before the next example is shown. Without a terminal the queue is a list, and decisions are
//! made by name.

mod screen;
mod session;

use std::env;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use clap::Args;
use grail_flywheel::Example;
use grail_flywheel::dataset::build::{BuildSettings, Prepared, prepare};
use grail_flywheel::dataset::review::{ASKED_FIRST, Queue, Reviewer};
use grail_flywheel::event::ReviewVerdict;
use grail_flywheel::log::EventLog;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use serde_json::json;

use self::session::{Action, Session};
use super::{Judges, Workshop};
use crate::Exit;
use crate::cli::Format;
use crate::progress::Progress;
use crate::render::{BOLD, Failure, RESET, Terminal, count, visible_line};

/// A longer file is no correction.
const MAX_CORRECTION_BYTES: u64 = 1024 * 1024;

/// Look at examples one by one: accept, reject or correct them
///
/// In a terminal: `a` accepts, `r` rejects, `c` corrects the answer in your editor (`VISUAL` or `EDITOR`), `s` skips, `u` undoes, `q` quits,
/// `?` helps. Decisions are events: they count in every dataset built later, and are forgotten with the session they are about. Without a
/// terminal the examples that wait are listed, and ID decides about one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail dataset review
  grail dataset review --format json
  grail dataset review 3fa2c1d0 --accept
  grail dataset review 3fa2c1d0 --correct answer.py")]
pub struct Arguments {
    /// The example, or the beginning of its name
    #[arg(value_name = "ID", requires = "decision")]
    pub id: Option<String>,
    /// It may be learned from
    #[arg(long, group = "decision", requires = "id")]
    pub accept: bool,
    /// It must not be learned from
    #[arg(long, group = "decision", requires = "id")]
    pub reject: bool,
    /// The answer should have been what is in this file
    #[arg(long, value_name = "FILE", group = "decision", requires = "id")]
    pub correct: Option<PathBuf>,
    /// What was decided about it does not count any more
    #[arg(long, group = "decision", requires = "id")]
    pub withdraw: bool,
    /// Everything that waits, not only the first hundred
    #[arg(long)]
    pub all: bool,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let workshop = Workshop::open()?;
    let progress = Progress::counting("reading events");
    let settings = BuildSettings::default();
    let prepared = workshop
        .work(Judges::Rules, &|events| progress.advance(events as usize), |it| prepare(it, &settings))?;
    drop(progress);
    let project = &workshop.project;
    if arguments.id.is_some() && !project.config.events.enabled {
        return Err(not_kept().into());
    }
    let log = EventLog::open(&project.root, &project.config.events)?;
    let mut reviewer = Reviewer::new(&log, prepared.numbers.clone());
    if let Some(id) = &arguments.id {
        let example = find(&prepared, id)?;
        let (verdict, corrected) = arguments.decision()?;
        reviewer.decide(example, verdict, corrected)?;
        return decided(example, verdict, terminal);
    }
    let mut queue = prepared.queue();
    if !arguments.all {
        queue.waiting.truncate(ASKED_FIRST);
    }
    let is_watched = io::stdin().is_terminal() && io::stdout().is_terminal();
    if terminal.format() == Format::Json || !is_watched {
        return list(&queue, terminal);
    }
    if queue.waiting.is_empty() {
        terminal.note(format_args!("nothing waits for review; {} were decided", queue.decided))?;
        return Ok(Exit::Fine);
    }
    if !project.config.events.enabled {
        return Err(not_kept().into());
    }
    terminal.flush()?;
    let session = converse(Session::new(queue.waiting), &mut reviewer)?;
    let told = session.summary();
    terminal.note(format_args!("{told}"))?;
    Ok(Exit::Fine)
}

impl Arguments {
    fn decision(&self) -> anyhow::Result<(ReviewVerdict, Option<String>)> {
        Ok(match &self.correct {
            Some(path) => {
                let shown = path.display();
                let size = fs::metadata(path).with_context(|| format!("`{shown}` cannot be read"))?.len();
                if size > MAX_CORRECTION_BYTES {
                    return Err(Failure::new(format!("`{shown}` is too large for an answer")).into());
                }
                let text = fs::read_to_string(path).with_context(|| format!("`{shown}` cannot be read"))?;
                (ReviewVerdict::Correct, Some(text))
            }
            None if self.accept => (ReviewVerdict::Accept, None),
            None if self.withdraw => (ReviewVerdict::Withdraw, None),
            None => (ReviewVerdict::Reject, None),
        })
    }
}

/// The conversation with a person at a terminal, which is put back however it ends.
fn converse(mut session: Session, reviewer: &mut Reviewer<'_>) -> anyhow::Result<Session> {
    let mut screen = Screen::open()?;
    loop {
        screen.terminal.draw(|frame| screen::draw(frame, &mut session))?;
        let key = match event::read()? {
            Event::Key(key) if key.kind == KeyEventKind::Press => key,
            _ => continue,
        };
        match session.press(key.code, key.modifiers) {
            Action::Wait => {}
            Action::Quit => return Ok(session),
            Action::Decide(verdict) => decide(&mut session, reviewer, verdict, None),
            Action::Withdraw(example) => {
                if let Err(error) = reviewer.decide(&example, ReviewVerdict::Withdraw, None) {
                    session.tell(&error.to_string());
                }
            }
            Action::Edit(text) => {
                drop(screen);
                let edited = edit(&text);
                screen = Screen::open()?;
                match edited {
                    Ok(Some(text)) => decide(&mut session, reviewer, ReviewVerdict::Correct, Some(text)),
                    Ok(None) => session.tell("nothing was changed; accept it with `a`"),
                    Err(error) => session.tell(&format!("{error:#}")),
                }
            }
        }
    }
}

/// What could not be written down was not decided.
fn decide(
    session: &mut Session,
    reviewer: &mut Reviewer<'_>,
    verdict: ReviewVerdict,
    corrected: Option<String>,
) {
    let Some(example) = session.current() else { return };
    match reviewer.decide(example, verdict, corrected) {
        Ok(()) => session.decided(verdict),
        Err(error) => session.tell(&error.to_string()),
    }
}

/// The terminal while it is ours. A panic puts it back too.
struct Screen {
    terminal: ratatui::DefaultTerminal,
}

impl Screen {
    fn open() -> io::Result<Self> {
        Ok(Self { terminal: ratatui::try_init()? })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = ratatui::try_restore();
    }
}

/// Opens the editor on an answer; `None` if it comes back as it was.
fn edit(text: &str) -> anyhow::Result<Option<String>> {
    let editor = env::var("VISUAL").or_else(|_| env::var("EDITOR")).unwrap_or_else(|_| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let scratch = tempfile::Builder::new().prefix("grail-").suffix(".py").tempfile()?;
    fs::write(scratch.path(), text)?;
    let status = Command::new(program)
        .args(words)
        .arg(scratch.path())
        .status()
        .with_context(|| format!("the editor `{program}` cannot be started"))?;
    if !status.success() {
        return Err(Failure::with_hint("the editor failed", "name another one in `EDITOR`").into());
    }
    let edited = fs::read_to_string(scratch.path())?;
    Ok(Some(edited).filter(|edited| edited != text))
}

/// By the beginning of its name, among everything that was extracted or imported.
fn find<'p>(prepared: &'p Prepared, id: &str) -> anyhow::Result<&'p Example> {
    let dropped = prepared.curated.dropped.iter().map(|(example, _)| example);
    let mut found: Vec<&Example> =
        prepared.curated.kept.iter().chain(dropped).filter(|example| example.id.starts_with(id)).collect();
    found.dedup_by(|one, other| one.id == other.id);
    match found.as_slice() {
        [only] => Ok(only),
        [] => Err(Failure::with_hint(
            format!("there is no example `{}`", visible_line(id)),
            "`grail dataset review --format json` lists those that wait",
        )
        .into()),
        _ => Err(Failure::with_hint(format!("several examples begin with `{id}`"), "write more of its name")
            .into()),
    }
}

fn list(queue: &Queue, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    if terminal.format() == Format::Json {
        terminal.json(&json!({
            "waiting": queue.waiting,
            "asked": queue.asked(),
            "decided": queue.decided,
        }))?;
        return Ok(Exit::Fine);
    }
    for example in &queue.waiting {
        let request: String = visible_line(&example.request).chars().take(80).collect();
        terminal.line(format_args!(
            "{BOLD}{}{RESET} {}: {request}",
            example.id,
            example.example_type.name()
        ))?;
    }
    let waiting = count(queue.waiting.len(), "example");
    terminal.note(format_args!(
        "{waiting} left, {} decided; `grail dataset review ID --accept` decides",
        queue.decided
    ))?;
    Ok(Exit::Fine)
}

fn decided(example: &Example, verdict: ReviewVerdict, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match terminal.format() {
        Format::Json => terminal.json(&json!({"example": example.id, "verdict": verdict}))?,
        Format::Text => terminal.note(format_args!("{}: {}", example.id, session::verdict_name(verdict)))?,
    }
    Ok(Exit::Fine)
}

fn not_kept() -> Failure {
    Failure::with_hint(
        "decisions are events, and this project keeps none",
        "set `enabled = true` under `[events]` in `grail.toml`",
    )
}
