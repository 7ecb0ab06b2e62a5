//! `grail learn`: one turn of the wheel, for a person or a timer.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use grail_agent::Workspace;
use grail_agent::learn::{LearnSettings, Outcome, Step, Turn, lock, turn};
use grail_agent::training::TrainWatch;
use grail_flywheel::EventKind;
use grail_flywheel::dataset::store::short_hash;
use grail_flywheel::suite::{HELD_OUT, load_suite};
use grail_rules::tools::interruption;
use serde_json::json;

use crate::Exit;
use crate::asking::{AskingBar, Desk};
use crate::cli::Format;
use crate::dataset::build::build_quietly;
use crate::memory::open_workspace;
use crate::render::{BOLD, GREEN, RESET, Terminal, count, visible_line};

/// Turn the wheel once: build, train if enough is new, evaluate, compare, promote or keep
///
/// Made for a timer: only one goes on at a time, it has a budget of time, and whatever ends it loses nothing; the next one goes on there. A
/// phase answers only if it wins on held-out prompts. `[learn]` in `grail.toml` says how much has to be new, how long it may take, and how
/// much of the daily work a phase gets that is not clearly better yet.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail learn --dry-run
  grail learn --minutes 45 --format json")]
pub struct Arguments {
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Minutes that it may take
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_080))]
    pub minutes: Option<u64>,
    /// What phases are trained on: weights by name or path
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The suite that decides
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// How many examples have to be new
    #[arg(long, value_name = "N")]
    pub new_examples: Option<u64>,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace()?;
    let result = learn(arguments, &open.workspace, terminal);
    open.finish(terminal)?;
    result
}

fn learn(arguments: &Arguments, workspace: &Workspace, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = &workspace.project.root;
    let config = &workspace.project.config.learn;
    let _lock = lock(root)?;
    let mut settings = LearnSettings { dry_run: arguments.dry_run, ..LearnSettings::of(workspace) };
    if let Some(minutes) = arguments.minutes {
        settings.budget = Duration::from_secs(minutes * 60);
    }
    settings.new_examples = arguments.new_examples.unwrap_or(settings.new_examples);
    settings.model = arguments.model.clone().or(settings.model);
    let suite_name = arguments.suite.as_deref().or(config.suite.as_deref()).unwrap_or(HELD_OUT);
    let suite = load_suite(root, suite_name)?;
    let begun = Instant::now();
    let built = build_quietly(terminal)?;
    let manifest = &built.frozen.manifest;
    let dataset = short_hash(&manifest.hash);
    let building = Step {
        step: "build",
        seconds: (begun.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        said: match arguments.dry_run && !built.frozen.is_known {
            // What is new can be told only of a dataset that lies there.
            true => format!("dataset {dataset}, which is kept although nothing else is done"),
            false => format!("dataset {dataset}"),
        },
    };
    settings.budget = settings.budget.saturating_sub(begun.elapsed());
    let (desk, bar) = (Desk::open()?, AskingBar::new());
    let is_interrupted = || interruption().load(Ordering::SeqCst);
    let asking = |who: &str, progress| bar.advance(who, progress);
    let mut done = {
        let mut watch = TrainWatch { hear: &mut bar.hears_training(), is_interrupted: &is_interrupted };
        desk.work(turn(workspace, &suite, manifest, &settings, &mut watch, &asking))?
    };
    drop(bar);
    done.steps.insert(0, building);
    if let Some(phase) = done.phase.as_ref().filter(|_| matches!(done.outcome, Outcome::Promoted { .. })) {
        workspace.session.emit(EventKind::Made { what: "promotion".to_owned(), name: phase.id.clone() });
    }
    match terminal.format() {
        Format::Json => terminal.json(&json!({
            "dataset": done.dataset,
            "examples": done.examples,
            "new_examples": done.new_examples,
            "phase": done.phase,
            "steps": done.steps,
            "result": done.outcome,
            "weighed": done.weighed.as_ref().map(|weighed| {
                crate::promote::as_json(weighed, matches!(done.outcome, Outcome::Promoted { .. }))
            }),
        }))?,
        Format::Text => tell(&done, terminal)?,
    }
    Ok(Exit::Fine)
}

fn tell(done: &Turn, terminal: &mut Terminal) -> anyhow::Result<()> {
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    terminal.line(format_args!(
        "{BOLD}{}{RESET} {} to train with, {} of them new",
        done.dataset.chars().take(12).collect::<String>(),
        count(number(done.examples), "example"),
        done.new_examples
    ))?;
    for step in &done.steps {
        terminal.note(format_args!(
            "{} took {:.0} s: {}",
            step.step,
            step.seconds,
            visible_line(&step.said)
        ))?;
    }
    let phase = done.phase.as_ref().map(|phase| phase.id.clone()).unwrap_or_default();
    match &done.outcome {
        Outcome::NothingNew { wanted } => {
            terminal.line(format_args!("nothing was trained: {wanted} examples would have to be new"))
        }
        Outcome::WouldTrain => terminal.line(format_args!("a phase would be trained on it, and weighed")),
        Outcome::WouldResume { phase } => {
            terminal.line(format_args!("the training of {phase} was broken off and would be gone on with"))
        }
        Outcome::WouldWeigh { phase } => {
            terminal.line(format_args!("{phase} is trained and would be weighed"))
        }
        Outcome::OutOfTime { during } => {
            terminal.line(format_args!("out of time during {during}; the next turn goes on there"))
        }
        Outcome::Promoted { reason } => {
            terminal.line(format_args!("{GREEN}promoted{RESET} {phase}: {}", visible_line(reason)))
        }
        Outcome::Challenges { share, reasons } => {
            terminal.line(format_args!("{phase} answers {:.0} % of the intents on trial", share * 100.0))?;
            reasons_of(reasons, terminal)
        }
        Outcome::Kept { reasons } => {
            terminal.line(format_args!("{phase} is not promoted"))?;
            reasons_of(reasons, terminal)
        }
    }
}

fn reasons_of(reasons: &[String], terminal: &mut Terminal) -> anyhow::Result<()> {
    reasons.iter().try_for_each(|reason| terminal.line(format_args!("  {}", visible_line(reason))))
}
