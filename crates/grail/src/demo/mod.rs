//! `grail demo`: the whole wheel in a project of its own, step by step.
//!
//! Every step is a command of Grail that anybody could type, started as a process of its own and shown as it would be shown. The demo adds
//! nothing to them but a sample project, the order, and a table at the end.

mod lessons;
mod project;
mod steps;
mod teacher;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use grail_agent::AgentError;
use grail_agent::models::LOCAL_PREFIX;
use grail_flywheel::phase::{PhaseState, Phases};
use grail_flywheel::suite::curriculum;
use grail_model::local::{cache_folder, catalogue_entry, find_weights};
use serde_json::{Value as Json, json};

use self::steps::{Show, Step};
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, Failure, RESET, Terminal, display_path};
use crate::table::Table;

/// The model that is taught.
const PUPIL: &str = "smollm2-135m";
/// So many of so many lessons are kept for daily work with a phase, where there are more than one. Training stirs up what had settled: whoever goes on
/// with a few hundred examples has not settled again when they are over, and is worse than before.
const LATER_SHARE: (usize, usize) = (5, 12);
/// One of so many answers is learned whole by a later phase: it makes few mistakes, and they can be anywhere.
const LATER_WHOLE: &str = "3";
/// So many examples make a step of training.
const IN_A_STEP: &str = "2";
/// What is asked before and after.
const INTENT: &str = "a lighthouse keeper view with name, shift and log";
/// Lessons of the short form: enough to see what a dataset is.
const FEW_LESSONS: usize = 16;
const REPORT: &str = "report.html";

/// Show everything Grail does, in a sample project of its own
///
/// The short form needs nothing and takes half a minute: rules find and mend what is wrong, a sentence becomes code, the work is remembered
/// and becomes a dataset that a model could learn from. `--full` goes on where the short form ends: a small local model is asked before, trained
/// for some minutes on what was generated, asked again about things that it has never seen, and promoted only if it is better.
///
/// The sample project is kept, with a page of charts, so that you can look around.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail demo
  grail demo --folder try-grail
  grail models pull smollm2-135m && grail demo --full")]
pub struct Arguments {
    /// The short form, without a model; this is what happens unless `--full` is there
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Train, evaluate, compare and promote as well: some twenty minutes on two cores
    #[arg(long)]
    pub full: bool,
    /// Where the sample project is made; a new or empty folder
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Go on with a demo that was broken off in the folder: what was done is not done again
    #[arg(long, requires = "folder")]
    pub resume: bool,
    /// The model that is taught: weights by name or path
    #[arg(long, value_name = "MODEL", default_value = PUPIL, help_heading = "Full")]
    pub model: String,
    /// The suite that decides
    #[arg(long, value_name = "SUITE", default_value = "quick", help_heading = "Full")]
    pub suite: String,
    /// How many sentences are worked on at most
    #[arg(long, value_name = "N", default_value_t = 500, help_heading = "Full")]
    pub lessons: usize,
    /// What answers are checked for types and rendered with: a folder that `scripts/runtimes` of Grail's repository has filled
    #[arg(long, value_name = "DIR", help_heading = "Full")]
    pub runtimes: Option<PathBuf>,
    /// How often a phase sees every example that is new to it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100), help_heading = "Full")]
    pub rounds: u64,
    /// How many steps of training, instead of rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Full")]
    pub iterations: Option<u64>,
    /// How often every prompt is asked, each time with another seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100), help_heading = "Full")]
    pub seeds: u64,
    /// How many turns the wheel makes; from the second on, a phase learns from the work with the one before
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=9), help_heading = "Full")]
    pub phases: u64,
    /// Where the chance of training begins
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Full")]
    pub seed: u64,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let pupil = arguments.full.then(|| find_pupil(&arguments.model)).transpose()?;
    let runtimes = arguments.runtimes.as_deref().map(project::find_runtimes).transpose()?;
    let started = Instant::now();
    let root = match &arguments.folder {
        Some(folder) if arguments.resume => begun_folder(folder)?,
        folder => {
            let root = sample_folder(folder.as_deref())?;
            if let Some(runtimes) = &runtimes {
                project::link_runtimes(&root, runtimes)?;
            }
            root
        }
    };
    let mut show = Show::new(&root, terminal)?;
    let asked = match &pupil {
        Some(model) => full(model, arguments, &mut show)?,
        None => quick(&mut show)?,
    };
    let Show { terminal, steps, .. } = show;
    if terminal.format() == Format::Json {
        terminal.json(&json!({
            "folder": root,
            "seconds": started.elapsed().as_secs_f64(),
            "steps": steps,
            "evaluation": asked,
        }))?;
        return Ok(Exit::Fine);
    }
    tell(&steps, asked.as_ref(), terminal)?;
    terminal.note(format_args!("the project and `{REPORT}` are in {}", display_path(&root).display()))?;
    if !arguments.full {
        terminal.note(format_args!("`grail models pull {PUPIL}` and `grail demo --full` close the loop"))?;
    }
    Ok(Exit::Fine)
}

/// Check, mend, generate, remember.
fn quick(show: &mut Show<'_>) -> anyhow::Result<Option<Json>> {
    begin(show)?;
    let intents = curriculum()?;
    lessons::teach(show, &intents[..FEW_LESSONS.min(intents.len())])?;
    show.grail("what the project remembers", &["events", "stats"])?;
    show.grail(
        "a dataset of it: judged again, told once, split without a leak",
        &["dataset", "build", "--no-types"],
    )?;
    show.grail("the same numbers as a page", &["events", "stats", "--html", REPORT])?;
    Ok(None)
}

/// The same with a model that is taught.
fn full(model: &str, arguments: &Arguments, show: &mut Show<'_>) -> anyhow::Result<Option<Json>> {
    begin(show)?;
    let generate =
        ["generate", INTENT, "--kind", "view", "--layer", "syntax", "--layer", "rules", "--turns", "2"];
    let before = [&generate[..], &["--model", model]].concat();
    show.grail_may_fail("what the small model makes of a sentence before it is taught", &before)?;
    let mut intents = curriculum()?;
    intents.truncate(arguments.lessons);
    let phases = usize::try_from(arguments.phases)?;
    let later = if phases > 1 { intents.len() * LATER_SHARE.0 / LATER_SHARE.1 } else { 0 };
    let (first, later) = intents.split_at(intents.len() - later);
    lessons::teach(show, first)?;
    // Sentences are what is hard: more are read in the same time if only some answers are learned whole, and of the others the first lines. The
    // more there are, the smaller is the share that shows all there is to the rest.
    let whole_every = (intents.len() / 700).clamp(2, 4).to_string();
    let mut asked = turn(show, arguments, model, None, &whole_every)?;
    let share = later.len().div_ceil((phases - 1).max(1)).max(1);
    for (number, intents) in later.chunks(share).enumerate() {
        let phase = format!("p{}", number + 1);
        lessons::practise(show, intents, &phase)?;
        asked = turn(show, arguments, model, Some(number + 1), LATER_WHOLE)?;
    }
    show.grail_may_fail(
        "the same sentence again, and now the promoted phase answers",
        &[&generate[..], &["--yes"]].concat(),
    )?;
    Ok(Some(asked))
}

/// One turn of the wheel: what happened becomes a dataset, the dataset a phase, and the phase is promoted if it is better.
fn turn(
    show: &mut Show<'_>,
    arguments: &Arguments,
    model: &str,
    before: Option<usize>,
    whole_every: &str,
) -> anyhow::Result<Json> {
    let phase = format!("p{}", before.unwrap_or_default() + 1);
    // What decides is the suite, so little is kept back.
    show.grail(
        "a dataset of it: judged again, told once, split without a leak",
        &["dataset", "build", "--no-types", "--valid", "0.04", "--test", "0.01"],
    )?;
    let parent = before.map(|number| format!("phase:p{number}"));
    let [seeds, seed] = [arguments.seeds, arguments.seed].map(|number| number.to_string());
    let (how, count) = match arguments.iterations {
        Some(count) => ("--iterations", count.to_string()),
        None => ("--rounds", arguments.rounds.to_string()),
    };
    let pupil = parent.as_deref().unwrap_or(model);
    let train = ["train", "--model", pupil, "--seed", &seed, how, &count];
    let train = [&train[..], &["--batch-size", IN_A_STEP, "--whole-every", whole_every]].concat();
    // A training that was broken off goes on at its last checkpoint.
    let goes_on = !show.is_replaying() && is_in_training(&show.root)?;
    let train = if goes_on { &["train", "--resume"] } else { &train[..] };
    show.grail("training", train)?;
    let asking = ["--suite", arguments.suite.as_str(), "--seeds", &seeds];
    let asked = show.grail_json(
        "prompts that were in no lesson, strictly judged",
        &[&["eval", phase.as_str()][..], &asking].concat(),
    )?;
    let compare = [&["compare", model, &phase, "--html", REPORT][..], &asking].concat();
    show.grail("before and after, prompt by prompt", &compare)?;
    if let Some(parent) = &parent {
        let compare = [&["compare", parent, &phase][..], &asking].concat();
        show.grail("the phase before and this one", &compare)?;
    }
    let promote = [&["promote", phase.as_str()][..], &asking].concat();
    show.grail_may_fail("promoted only if it is proven better", &promote)?;
    Ok(asked)
}

/// Whether a phase was begun and not finished.
fn is_in_training(root: &Path) -> anyhow::Result<bool> {
    let phases = Phases::new(root).list().map_err(AgentError::from)?;
    Ok(phases.into_iter().flatten().any(|phase| phase.state == PhaseState::Training))
}

/// What both forms begin with.
fn begin(show: &mut Show<'_>) -> anyhow::Result<()> {
    show.grail("the skills that come with Grail", &["skills", "list"])?;
    show.grail_may_fail("a page with a hole in it, seen by the project's rules", &["check"])?;
    show.grail_may_fail("mended where a rule knows how", &["check", "--fix"])?;
    let profile = "a user profile view with avatar, name and bio";
    let arguments =
        ["generate", profile, "--model", "template", "--layer", "syntax", "--layer", "rules", "--yes"];
    show.grail("a sentence becomes code", &arguments)
}

fn tell(steps: &[Step], asked: Option<&Json>, terminal: &mut Terminal) -> anyhow::Result<()> {
    let mut table = Table::new(&["step", "seconds"]);
    for step in steps {
        table.row(vec![step.title.clone(), format!("{:.1}", step.seconds)]);
    }
    terminal.line(format_args!(""))?;
    lines(&table, terminal)?;
    let arms = asked.and_then(|asked| asked["arms"].as_array()).map(Vec::as_slice).unwrap_or_default();
    if arms.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&["who answered", "right at once", "right after fixes", "prompts"]);
    for arm in arms {
        let all = &arm["score"]["all"];
        let share = |name: &str| format!("{:.0} %", all[name]["share"].as_f64().unwrap_or_default() * 100.0);
        let name = arm["arm"]["name"].as_str().unwrap_or_default().to_owned();
        let count = all["first_try"]["of"].as_u64().unwrap_or_default().to_string();
        table.row(vec![name, share("first_try"), share("with_fixes"), count]);
    }
    terminal.line(format_args!(""))?;
    lines(&table, terminal)
}

fn lines(table: &Table, terminal: &mut Terminal) -> anyhow::Result<()> {
    for (number, line) in table.lines().iter().enumerate() {
        match number {
            0 => terminal.line(format_args!("{BOLD}{line}{RESET}"))?,
            _ => terminal.line(format_args!("{line}"))?,
        }
    }
    Ok(())
}

/// The model as every step can name it, from whatever folder. The weights have to be there before anything is begun: nobody wants to learn of
/// it after five minutes.
fn find_pupil(model: &str) -> anyhow::Result<String> {
    let name = model.strip_prefix(LOCAL_PREFIX).unwrap_or(model);
    let cache = cache_folder(std::env::home_dir().as_deref()).map_err(AgentError::from)?;
    let weights = find_weights(&cache, name).map_err(AgentError::from)?;
    Ok(match catalogue_entry(name) {
        Some(entry) => entry.name.to_owned(),
        None => format!("{LOCAL_PREFIX}{}", weights.path.canonicalize()?.display()),
    })
}

/// A folder in which a demo was begun.
fn begun_folder(folder: &Path) -> anyhow::Result<PathBuf> {
    if steps::read_journal(folder).is_empty() {
        let message = format!("no demo was begun in `{}`", folder.display());
        return Err(Failure::with_hint(message, "leave `--resume` out to begin one").into());
    }
    Ok(folder.canonicalize()?)
}

/// A folder with the sample project in it.
fn sample_folder(wanted: Option<&Path>) -> anyhow::Result<PathBuf> {
    let root = match wanted {
        Some(folder) => {
            fs::create_dir_all(folder)?;
            if fs::read_dir(folder)?.next().is_some() {
                let message = format!("`{}` is not empty", folder.display());
                return Err(
                    Failure::with_hint(message, "name a new folder: the demo makes a project in it").into()
                );
            }
            folder.canonicalize()?
        }
        None => tempfile::Builder::new().prefix("grail-demo-").tempdir()?.keep(),
    };
    project::write(&root)?;
    Ok(root)
}
