//! `grail train`: a dataset becomes a phase.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use grail_agent::training::{TrainEvent, TrainOrder, TrainWatch, train};
use grail_flywheel::dataset::store::short_hash;
use grail_flywheel::phase::{CurvePoint, Phase};
use grail_project::{TrainConfig, TrainerName};
use grail_rules::tools::interruption;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::Exit;
use crate::cli::Format;
use crate::interrupt::while_tools_run;
use crate::memory::open_workspace;
use crate::render::{BOLD, RESET, Terminal, visible_line};

/// Train a model on what was learned here: a new phase
///
/// A dataset and weights become an adapter, kept with everything it was made of in `.grail/phases/`. Nothing answers with it before
/// `grail promote`. Ctrl-C leaves what was learned so far; `--resume` goes on from there.
///
/// `local` trains in `grail-local` and counts the weight of every example. `mlx` runs `mlx_lm.lora`, `trl` a script for TRL and PEFT; both take
/// folders with `.safetensors` files. What is not said here is said by `[train]` in `grail.toml`, or follows from the dataset.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail train
  grail train --dataset 3fa2c1d0 --model smollm2-135m --iterations 120
  grail train --model phase:p1
  grail train --resume")]
pub struct Arguments {
    /// The dataset, or the beginning of its hash; without it, the newest
    #[arg(long, value_name = "HASH")]
    pub dataset: Option<String>,
    /// What to begin with: weights by name, `local:PATH`, or `phase:ID` to go on from a phase
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Who trains
    #[arg(long, value_name = "TRAINER", value_parser = trainers())]
    pub trainer: Option<TrainerName>,
    /// Go on with the training that was broken off last
    #[arg(long, conflicts_with_all = ["trainer", "rounds", "iterations", "batch_size", "learning_rate", "rank", "scale", "seed", "max_tokens", "whole_every", "layers", "validate", "preferences"])]
    pub resume: bool,
    /// How often every example is seen; without it, twice
    #[arg(long, value_name = "N", conflicts_with = "iterations", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Settings")]
    pub rounds: Option<u64>,
    /// How many steps; without it, as the rounds say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Settings")]
    pub iterations: Option<u64>,
    /// How many examples a step has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Settings")]
    pub batch_size: Option<u64>,
    /// The highest learning rate
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Settings")]
    pub learning_rate: Option<f64>,
    /// How many dimensions the adapter has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Settings")]
    pub rank: Option<u64>,
    /// The factor of what the adapter says
    #[arg(long, value_name = "FACTOR", value_parser = rate, help_heading = "Settings")]
    pub scale: Option<f64>,
    /// Where chance begins
    #[arg(long, value_name = "NUMBER", help_heading = "Settings")]
    pub seed: Option<u64>,
    /// Longer examples are left out
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Settings")]
    pub max_tokens: Option<u64>,
    /// Learn one of N examples whole and of the others only the beginning, which decides what an answer is about; only `local` can
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Settings")]
    pub whole_every: Option<u64>,
    /// How many layers get an adapter, from the last; without it, all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Settings")]
    pub layers: Option<u64>,
    /// How many validation prompts every checkpoint is asked: the one that gets most of them right is kept, with 0 the last
    #[arg(long, value_name = "N", help_heading = "Settings")]
    pub validate: Option<u64>,
    /// Learn from pairs of a wrong and a right answer in a second stage; only `local` can
    #[arg(long, help_heading = "Settings")]
    pub preferences: bool,
    /// How many threads it may use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Settings")]
    pub threads: Option<u64>,
}

fn trainers() -> impl TypedValueParser<Value = TrainerName> {
    PossibleValuesParser::new(TrainerName::ALL.map(TrainerName::name))
        .map(|name| TrainerName::ALL.into_iter().find(|trainer| trainer.name() == name).unwrap_or_default())
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1e6 => Ok(number),
        _ => Err("a number above 0".to_owned()),
    }
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace()?;
    let order = TrainOrder {
        dataset: arguments.dataset.as_deref(),
        model: arguments.model.as_deref(),
        trainer: arguments.trainer,
        wishes: TrainConfig {
            iterations: arguments.iterations,
            rounds: arguments.rounds,
            batch_size: arguments.batch_size,
            learning_rate: arguments.learning_rate,
            rank: arguments.rank,
            scale: arguments.scale,
            seed: arguments.seed,
            max_tokens: arguments.max_tokens,
            whole_every: arguments.whole_every,
            layers: arguments.layers,
            validate: arguments.validate,
            preferences: arguments.preferences.then_some(true),
            threads: arguments.threads,
            ..TrainConfig::default()
        },
        resume: arguments.resume,
    };
    interruption().store(false, Ordering::SeqCst);
    let progress = RefCell::new(TrainProgress::new());
    let mut hear = |event: TrainEvent<'_>| progress.borrow_mut().hear(event);
    let mut watch = TrainWatch { hear: &mut hear, is_interrupted: &|| interruption().load(Ordering::SeqCst) };
    let trained = while_tools_run(|| train(&open.workspace, &order, &mut watch));
    let progress = progress.into_inner();
    progress.clear();
    let phase = trained?;
    for note in &progress.notes {
        terminal.note(format_args!("{}", visible_line(note)))?;
    }
    if terminal.format() == Format::Json {
        terminal.json(&json!({"phase": phase}))?;
        return Ok(Exit::Fine);
    }
    show(&phase, terminal)?;
    Ok(Exit::Fine)
}

fn show(phase: &Phase, terminal: &mut Terminal) -> anyhow::Result<()> {
    let dataset = phase.dataset.as_deref().map_or("unknown", short_hash);
    terminal.line(format_args!(
        "{BOLD}phase:{}{RESET} {} with dataset {dataset}, trained by {}",
        phase.id,
        visible_line(&phase.base.name),
        phase.trainer
    ))?;
    let losses: Vec<f64> = phase.curves.iter().filter_map(|point| point.loss).collect();
    if let (Some(first), Some(last)) = (losses.first(), losses.last()) {
        terminal.line(format_args!("  {} steps, loss {first:.3} to {last:.3}", losses.len()))?;
    }
    let asked = phase.curves.iter().filter_map(|point| Some((point.step, point.passed?)));
    let asked: Vec<String> =
        asked.map(|(step, passed)| format!("{:.0} % after {step}", passed * 100.0)).collect();
    if !asked.is_empty() {
        terminal.line(format_args!("  validation prompts right: {}", asked.join(", ")))?;
    }
    if let Some(identity) = &phase.identity {
        terminal.line(format_args!("  identity {}", visible_line(identity)))?;
    }
    terminal.note(format_args!(
        "`--model phase:{id}` asks it; `grail eval phase:{id}` says what it is worth, `grail promote` uses it",
        id = phase.id
    ))
}

/// Loss, tokens and remaining time on stderr, for people who wait: a bar on a terminal, and nothing elsewhere.
pub(crate) struct TrainProgress {
    bar: Option<ProgressBar>,
    /// For everybody, when it has ended.
    notes: Vec<String>,
}

impl TrainProgress {
    pub(crate) fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self { bar: None, notes: Vec::new() };
        }
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg} {eta} left") {
            bar.set_style(style);
        }
        Self { bar: Some(bar), notes: Vec::new() }
    }

    pub(crate) fn hear(&mut self, event: TrainEvent<'_>) {
        if let TrainEvent::Noted(note) = event {
            self.notes.push(note.to_owned());
        }
        let Some(bar) = &self.bar else { return };
        match event {
            TrainEvent::Began { phase } => bar.set_message(format!("phase {phase}")),
            TrainEvent::Planned { iterations } => bar.set_length(iterations),
            TrainEvent::Point(point) => {
                bar.set_position(point.step);
                bar.set_message(measured(point));
            }
            TrainEvent::Validated { step, right, of } => {
                bar.set_message(format!("checkpoint {step}: {right} of {of} validation prompts right"));
            }
            TrainEvent::Said(line) => bar.println(visible_line(line)),
            TrainEvent::Noted(_) => {}
        }
    }

    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn measured(point: &CurvePoint) -> String {
    let mut parts = Vec::new();
    parts.extend(point.loss.map(|loss| format!("loss {loss:.3}")));
    parts.extend(point.validation_loss.map(|loss| format!("validation loss {loss:.3}")));
    parts.extend(point.tokens_per_second.map(|speed| format!("{speed:.0} tokens/s")));
    parts.join(", ")
}
