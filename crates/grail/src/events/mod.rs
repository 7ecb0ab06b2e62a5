//! `grail events`: what happened at work, the numbers in it, and what is to be forgotten.

mod forget;
pub(crate) mod outcome;
mod rebuild;
mod show;
mod stats;
mod story;
mod tail;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use grail_flywheel::index::Index;
use grail_project::Project;

use crate::Exit;
use crate::progress::Progress;
use crate::render::Terminal;

/// See what Grail remembers of your work, and what follows from it
///
/// Generating, checking, correcting and merging leave events in `.grail/events/`, one line of JSON each. They never leave this computer by
/// themselves. `.grail/grail.db` is only an index over them and can be deleted at any time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail events tail --follow
  grail events stats --by model --since 30d
  grail events stats --html report.html
  grail events show 0f3a9c12
  grail events forget 20261116-104500-3fa2c1")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Tail(tail::Arguments),
    Show(show::Arguments),
    Stats(stats::Arguments),
    Rebuild(rebuild::Arguments),
    Outcome(outcome::Arguments),
    Forget(forget::Arguments),
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::Tail(arguments) => tail::run(&arguments, terminal),
        Command::Show(arguments) => show::run(&arguments, terminal),
        Command::Stats(arguments) => stats::run(&arguments, terminal),
        Command::Rebuild(arguments) => rebuild::run(&arguments, terminal),
        Command::Outcome(arguments) => outcome::run(&arguments, terminal),
        Command::Forget(arguments) => forget::run(&arguments, terminal),
    }
}

fn project_root() -> anyhow::Result<PathBuf> {
    Ok(Project::discover(Path::new("."))?.root)
}

/// The index with all that is in the files, and a word about whatever is wrong with it.
fn open_index(root: &Path, terminal: &mut Terminal) -> anyhow::Result<Index> {
    outcome::look(root, terminal)?;
    let mut index = Index::open(root)?;
    let mut reading = Reading::default();
    index.catch_up_with(&mut |done, total| reading.advance(done, total))?;
    drop(reading);
    tell_notes(&index, terminal)?;
    Ok(index)
}

fn tell_notes(index: &Index, terminal: &mut Terminal) -> anyhow::Result<()> {
    index.notes().iter().try_for_each(|note| terminal.warning(format_args!("{note}")))
}

/// What there is to say when there is nothing.
fn tell_empty(terminal: &mut Terminal) -> anyhow::Result<()> {
    terminal.note(format_args!("no events yet; `grail generate` and `grail mcp` keep them as you work"))
}

/// Progress in megabytes, once it is known how many.
#[derive(Default)]
struct Reading(Option<Progress>);

impl Reading {
    fn advance(&mut self, done: u64, total: u64) {
        let megabytes = |bytes: u64| usize::try_from(bytes >> 20).unwrap_or(usize::MAX);
        self.0
            .get_or_insert_with(|| Progress::of("reading events", megabytes(total), "MB"))
            .advance(megabytes(done));
    }
}
