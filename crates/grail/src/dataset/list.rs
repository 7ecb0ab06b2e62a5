//! `grail dataset list`

use clap::Args;
use grail_flywheel::dataset::import::read_imports;
use grail_flywheel::dataset::list_datasets;
use grail_flywheel::dataset::store::short_hash;
use grail_project::Project;
use serde_json::json;

use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, RESET, Terminal, count, visible_line};

/// List the datasets of the project, newest first, and its imports
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail dataset list
  grail dataset list --format json")]
pub struct Arguments {}

pub fn run(_: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = Project::discover(std::path::Path::new("."))?.root;
    let (read, broken): (Vec<_>, Vec<_>) = list_datasets(&root)?.into_iter().partition(Result::is_ok);
    let datasets: Vec<_> = read.into_iter().flatten().collect();
    let imports: Vec<_> = read_imports(&root)?.into_iter().map(|import| import.record).collect();
    for error in broken.into_iter().filter_map(Result::err) {
        terminal.error(&error.to_string(), error.hint().as_deref())?;
    }
    if terminal.format() == Format::Json {
        terminal.json(&json!({"datasets": datasets, "imports": imports}))?;
        return Ok(Exit::Fine);
    }
    for manifest in &datasets {
        let counts = &manifest.counts;
        terminal.line(format_args!(
            "{BOLD}{}{RESET} {} {}: {} train, {} valid, {} test",
            short_hash(&manifest.hash),
            manifest.built,
            count(counts.kept as usize, "example"),
            counts.train,
            counts.valid,
            counts.test
        ))?;
    }
    for import in &imports {
        let licences: Vec<String> = import.licences.keys().map(|licence| visible_line(licence)).collect();
        terminal.line(format_args!(
            "import {BOLD}{}{RESET} {}, {}: {}",
            visible_line(&import.name),
            count(import.examples as usize, "example"),
            licences.join(", "),
            visible_line(&import.origin)
        ))?;
    }
    if datasets.is_empty() {
        terminal.note(format_args!("no dataset yet; `grail dataset build` makes one"))?;
    }
    Ok(Exit::Fine)
}
