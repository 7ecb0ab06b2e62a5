//! `grail init`: set a project up.

use std::path::PathBuf;

use clap::Args;
use grail_project::{InitStatus, init_project};

use crate::Exit;
use crate::cli::Format;
use crate::render::{Terminal, display_path};

/// Set a project up: grail.toml, .grail/ and .agents/skills/
///
/// Safe to run twice: files that exist are left exactly as they are.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail init\n  grail init path/to/project")]
pub struct Arguments {
    /// The project's root; created if it does not exist
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let report = init_project(&arguments.directory)?;
    if terminal.format() == Format::Json {
        terminal.json(&report)?;
        return Ok(Exit::Fine);
    }
    for entry in &report.entries {
        let status = match entry.status {
            InitStatus::Created => "created",
            InitStatus::Exists => "exists ",
        };
        terminal.line(format_args!(
            "{status} {}",
            display_path(&arguments.directory.join(entry.path)).display()
        ))?;
    }
    Ok(Exit::Fine)
}
