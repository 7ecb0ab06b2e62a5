//! `grail skills load`

use clap::Args;
use grail_skills::{LoadedSkill, TrustState, load_skill};
use serde::Serialize;

use super::{Shelf, note_on_trust};
use crate::Exit;
use crate::cli::Format;
use crate::render::{Terminal, count, visible, visible_line};

/// Show what a skill says: the body of its SKILL.md, and which files it has
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  grail skills load middleware\n  grail skills load middleware --format json"
)]
pub struct Arguments {
    /// The skill's name
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Serialize)]
struct LoadRecord {
    #[serde(flatten)]
    loaded: LoadedSkill,
    trust: TrustState,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let skill = &shelf.catalogue.entry(&arguments.name)?.skill;
    let loaded = load_skill(skill)?;
    let trust = shelf.trust.state(skill);
    if terminal.format() == Format::Json {
        terminal.json(&LoadRecord { loaded, trust })?;
        return Ok(Exit::Fine);
    }
    terminal.raw(&visible(&loaded.body))?;
    terminal.raw("\n")?;
    let files = count(loaded.files.len() + loaded.more_files, "file");
    terminal.note(format_args!("about {}, {files} to read", count(loaded.tokens, "token")))?;
    for file in &loaded.files {
        terminal.note(format_args!("  {}", visible_line(&file.path)))?;
    }
    if loaded.more_files > 0 {
        terminal.note(format_args!("  and {} more", loaded.more_files))?;
    }
    note_on_trust(skill, trust, terminal)?;
    Ok(Exit::Fine)
}
