//! `grail skills read`

use clap::Args;
use grail_skills::{FilePart, TrustState, read_skill_file};
use serde::Serialize;

use super::{Shelf, note_on_trust};
use crate::Exit;
use crate::cli::Format;
use crate::render::{Terminal, visible};

/// Show one file of a skill
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills read middleware references/testing.md
  grail skills read middleware references/testing.md --line 200")]
pub struct Arguments {
    /// The skill's name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The file, below the skill's folder
    #[arg(value_name = "PATH")]
    pub path: String,
    /// The line to start at
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub line: usize,
}

#[derive(Serialize)]
struct ReadRecord {
    #[serde(flatten)]
    part: FilePart,
    trust: TrustState,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let skill = &shelf.catalogue.entry(&arguments.name)?.skill;
    let part = read_skill_file(skill, &arguments.path, arguments.line)?;
    let trust = shelf.trust.state(skill);
    if terminal.format() == Format::Json {
        terminal.json(&ReadRecord { part, trust })?;
        return Ok(Exit::Fine);
    }
    terminal.raw(&visible(&part.text))?;
    if let Some(next) = part.next_line {
        let (line, lines) = (part.line, part.lines);
        terminal.note(format_args!("lines {line} to {} of {lines}; `--line {next}` goes on", next - 1))?;
    }
    note_on_trust(skill, trust, terminal)?;
    Ok(Exit::Fine)
}
