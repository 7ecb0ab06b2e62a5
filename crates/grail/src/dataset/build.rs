//! `grail dataset build`

use clap::Args;
use grail_flywheel::EventKind;
use grail_flywheel::dataset::build::{BuildSettings, Built, build};
use grail_flywheel::dataset::review::ASKED_FIRST;
use grail_flywheel::dataset::store::short_hash;
use grail_flywheel::dataset::{ChatForm, MOST_READINGS};
use serde_json::json;

use super::{Judges, Workshop, show};
use crate::Exit;
use crate::cli::Format;
use crate::events::outcome::look;
use crate::memory::keep_event;
use crate::progress::Progress;
use crate::render::{BOLD, Failure, RESET, Terminal, count, visible_line};

/// Make a dataset of what Grail has seen
///
/// Events and imports become examples; each is checked with the rules that are in force today, told once, balanced, and put on one side of
/// the split together with everything like it. What is left out is listed with its reason. The same events, imports, rules and settings give
/// the same dataset.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail dataset build
  grail dataset build --reviewed-only
  grail dataset build --valid 0.2 --test 0.2 --format json")]
pub struct Arguments {
    /// Take only examples that a person accepted or corrected
    #[arg(long)]
    pub reviewed_only: bool,
    /// Leave imports out, those of skills among them
    #[arg(long)]
    pub no_imports: bool,
    /// Do not check examples for types
    #[arg(long)]
    pub no_types: bool,
    /// The share of examples to validate with while training
    #[arg(long, value_name = "SHARE")]
    pub valid: Option<f64>,
    /// The share of examples to test with afterwards
    #[arg(long, value_name = "SHARE")]
    pub test: Option<f64>,
    /// How many turns before a request are kept
    #[arg(long, value_name = "TURNS", value_parser = clap::value_parser!(u8).range(0..=5))]
    pub window: Option<u8>,
    /// So many other ways to ask for the same, for each example
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(0..=5))]
    pub variations: Option<u8>,
    /// What every example begins with, instead of Grail's own system prompt
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// How often every request is said: small models find more in it the second time
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_READINGS)))]
    pub readings: Option<u8>,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let settings = arguments.settings()?;
    let judges = if arguments.no_types { Judges::Rules } else { Judges::RulesAndTypes };
    let built = build_with(judges, &settings, terminal)?;
    if terminal.format() == Format::Json {
        terminal.json(&json!({
            "dataset": built.frozen.manifest,
            "known": built.frozen.is_known,
            "warnings": built.warnings,
            "review": {"waiting": built.queue.waiting.len(), "asked": built.queue.asked()},
        }))?;
        return Ok(Exit::Fine);
    }
    tell(&built, terminal)?;
    Ok(Exit::Fine)
}

/// The dataset as it is built without options, for whoever goes on with it.
pub(crate) fn build_quietly(terminal: &mut Terminal) -> anyhow::Result<Built> {
    build_with(Judges::RulesAndTypes, &BuildSettings::default(), terminal)
}

fn build_with(judges: Judges, settings: &BuildSettings, terminal: &mut Terminal) -> anyhow::Result<Built> {
    let workshop = Workshop::open()?;
    look(&workshop.project.root, terminal)?;
    let progress = Progress::counting("reading events");
    let built =
        workshop.work(judges, &|events| progress.advance(events as usize), |it| build(it, settings))?;
    drop(progress);
    if !built.frozen.is_known {
        let made = EventKind::Made { what: "dataset".to_owned(), name: built.frozen.manifest.hash.clone() };
        keep_event(&workshop.project, made, terminal)?;
    }
    Ok(built)
}

impl Arguments {
    fn settings(&self) -> anyhow::Result<BuildSettings> {
        let mut settings = BuildSettings {
            reviewed_only: self.reviewed_only,
            with_imports: !self.no_imports,
            ..BuildSettings::default()
        };
        if let Some(window) = self.window {
            settings.window = window.into();
        }
        if let Some(variations) = self.variations {
            settings.curate.variations = variations.into();
        }
        settings.split.valid = self.valid.unwrap_or(settings.split.valid);
        settings.split.test = self.test.unwrap_or(settings.split.test);
        let (valid, test) = (settings.split.valid, settings.split.test);
        if !(valid >= 0.0 && test >= 0.0 && valid + test < 1.0) {
            let message =
                format!("with {valid} to validate and {test} to test nothing is left to train with");
            return Err(Failure::with_hint(
                message,
                "shares from 0, together below 1: `--valid 0.1 --test 0.1`",
            )
            .into());
        }
        if let Some(system_prompt) = &self.system_prompt {
            settings.form = ChatForm { system_prompt: system_prompt.clone(), ..settings.form };
        }
        settings.form.readings = self.readings.unwrap_or(settings.form.readings);
        Ok(settings)
    }
}

fn tell(built: &Built, terminal: &mut Terminal) -> anyhow::Result<()> {
    let manifest = &built.frozen.manifest;
    let counts = &manifest.counts;
    terminal.line(format_args!(
        "{BOLD}{}{RESET} {}: {} train, {} valid, {} test",
        short_hash(&manifest.hash),
        count(counts.kept as usize, "example"),
        counts.train,
        counts.valid,
        counts.test
    ))?;
    show::dropped(counts, terminal)?;
    for warning in &built.warnings {
        terminal.warning(format_args!("{}", visible_line(warning)))?;
    }
    if manifest.sources.unreadable_lines > 0 {
        let lines = count(manifest.sources.unreadable_lines as usize, "line");
        terminal.warning(format_args!(
            "{lines} of the event files could not be read; `grail events show` names them"
        ))?;
    }
    if built.frozen.is_known {
        terminal.note(format_args!("nothing has changed: this dataset was there already"))?;
    }
    let asked = built.queue.asked();
    if asked > 0 {
        terminal.note(format_args!(
            "{asked} of the first {ASKED_FIRST} examples wait for a person: `grail dataset review`"
        ))?;
    }
    Ok(())
}
