//! `grail improve`: what would make answers better, the cheapest first.

use std::sync::atomic::Ordering;

use clap::Args;
use grail_agent::evaluate::CURRENT;
use grail_agent::improve::{ImproveSettings, Improvements, Lever, LeverReport, Train, improve, train_phase};
use grail_agent::learn::lock;
use grail_agent::models;
use grail_agent::promotion::Scales;
use grail_agent::training::TrainWatch;
use grail_agent::{AgentError, Workspace};
use grail_flywheel::phase::{Phase, Phases};
use grail_flywheel::suite::{HELD_OUT, load_suite};
use grail_project::{ChangeSet, FileChange, NewFile, read_source, write_changes};
use grail_rules::Origin;
use grail_rules::tools::interruption;
use grail_skills::{MAX_SKILL_BYTES, SKILL_FILE};
use serde_json::json;

use crate::Exit;
use crate::asking::{AskingArguments, AskingBar, Desk};
use crate::cli::Format;
use crate::compare::show::difference;
use crate::dataset::build::build_quietly;
use crate::memory::open_workspace;
use crate::render::{BOLD, GREEN, RESET, Terminal, count, visible_line};

/// Rules that are shown; JSON has all.
const MAX_RULES: usize = 8;

/// Look at what fails, and try what would mend it, the cheapest first
///
/// In this order, each on prompts that nothing was learned from: fixes that rules have and that are not applied unasked, and fixes that a model
/// drafts for rules that have none; another text of the skill, proposed from the failures by templates or by a model; with `--train`, a phase.
/// What is proposed is made of the failures of one half of the prompts and chosen on it, and has to win on the other. Every lever is told with
/// what it gained and what it cost. Nothing is changed without `--write`, and nobody answers with a phase before `grail promote`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail improve
  grail improve template --suite quick --seeds 1
  grail improve smollm2-135m --proposer local --write
  grail improve --train")]
pub struct Arguments {
    /// The phase or model; without it, the phase that answers, else the project's model
    #[arg(value_name = "PHASE|MODEL")]
    pub name: Option<String>,
    #[command(flatten)]
    pub asking: AskingArguments,
    /// The model that drafts fixes and proposes texts; without it, texts get the rules that were broken most with an example each
    #[arg(long, value_name = "MODEL", help_heading = "Proposals")]
    pub proposer: Option<String>,
    /// How many texts are tried for each skill, and how many fixes for each rule
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = "Proposals")]
    pub candidates: usize,
    /// Write fixes and texts that won into the project's own skills
    #[arg(long, help_heading = "Proposals")]
    pub write: bool,
    /// Train a phase on what the project has taught, as `[learn]` and `[train]` say, and weigh it; this takes minutes to hours
    #[arg(long, help_heading = "Training")]
    pub train: bool,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace()?;
    let result = look(arguments, &open.workspace, terminal);
    open.finish(terminal)?;
    result
}

fn look(arguments: &Arguments, workspace: &Workspace, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = &workspace.project.root;
    let learn = &workspace.project.config.learn;
    let evaluate = arguments.asking.settings(learn.seeds)?;
    let suite_name = arguments.asking.suite.as_deref().or(learn.suite.as_deref()).unwrap_or(HELD_OUT);
    let suite = load_suite(root, suite_name)?;
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None if Phases::new(root).current()?.phase.is_some() => CURRENT.to_owned(),
        None => {
            workspace.project.config.generate.model.clone().unwrap_or_else(|| models::TEMPLATE.to_owned())
        }
    };
    let _lock = arguments.train.then(|| lock(root)).transpose()?;
    let built = arguments.train.then(|| build_quietly(terminal)).transpose()?;
    let (desk, bar) = (Desk::open()?, AskingBar::new());
    let proposer = match arguments.proposer.as_deref() {
        Some(proposer) => Some(desk.work(models::choose(workspace, Some(proposer)))?),
        None => None,
    };
    let train = built.as_ref().map(|built| {
        let (dataset, bar) = (&built.frozen.manifest.hash, &bar);
        move || trained(workspace, dataset, bar)
    });
    let settings = ImproveSettings {
        evaluate,
        proposer: proposer.as_ref().map(|chosen| chosen.model.as_ref()),
        candidates: arguments.candidates,
        train: train.as_ref().map(|train| train as &Train<'_>),
    };
    let found = desk.work(improve(workspace, &suite, &name, &settings, &|who, progress| {
        bar.advance(who, progress);
    }))?;
    drop(bar);
    match terminal.format() {
        Format::Json => terminal.json(&json!({"improvements": found}))?,
        Format::Text => tell(&found, terminal)?,
    }
    if arguments.write {
        for fix in &found.fixes {
            let file = format!("rules/{}.md", fix.rule);
            write(&fix.skill, &file, |_| format!("{}\n", fix.text.trim()), workspace, terminal)?;
        }
        for candidate in &found.texts {
            let text = |old: &str| with_body(old, &candidate.text);
            write(&candidate.skill, SKILL_FILE, text, workspace, terminal)?;
        }
    }
    Ok(Exit::Fine)
}

/// A phase, and how far its training is.
fn trained(workspace: &Workspace, dataset: &str, bar: &AskingBar) -> Result<(Phase, Scales), AgentError> {
    let mut hear = bar.hears_training();
    let is_interrupted = || interruption().load(Ordering::SeqCst);
    train_phase(workspace, dataset, &mut TrainWatch { hear: &mut hear, is_interrupted: &is_interrupted })
}

fn tell(found: &Improvements, terminal: &mut Terminal) -> anyhow::Result<()> {
    terminal.line(format_args!("{BOLD}{}{RESET}", visible_line(&found.arm)))?;
    for failing in found.failures.iter().take(MAX_RULES) {
        let answers = count(usize::try_from(failing.answers).unwrap_or(usize::MAX), "answer");
        terminal.line(format_args!(
            "  {} breaks {answers}, {} of them alone",
            visible_line(&failing.rule),
            failing.alone
        ))?;
    }
    if found.failures.is_empty() {
        terminal.line(format_args!("  nothing fails"))?;
    }
    terminal.line(format_args!(""))?;
    for (number, report) in found.levers.iter().enumerate() {
        lever(number + 1, report, terminal)?;
    }
    Ok(())
}

fn lever(number: usize, report: &LeverReport, terminal: &mut Terminal) -> anyhow::Result<()> {
    let name = match report.lever {
        Lever::Fix => "fix",
        Lever::SkillText => "skill text",
        Lever::Training => "training",
    };
    let mark = if report.accepted { format!(" {GREEN}wins{RESET}") } else { String::new() };
    terminal.line(format_args!("{number}. {BOLD}{name}{RESET}{mark}: {}", visible_line(&report.what)))?;
    if let Some(gained) = &report.gained {
        terminal.line(format_args!("   gained {}", difference(gained)))?;
    }
    if let Some(confirmed) = &report.confirmed {
        terminal.line(format_args!("   on the other half {}", difference(confirmed)))?;
    }
    if let Some(cost) = &report.cost {
        let answers = count(cost.answers, "answer");
        let tokens = count(usize::try_from(cost.output_tokens).unwrap_or(usize::MAX), "token");
        terminal.line(format_args!("   cost {answers}, {tokens}, {:.1} s", cost.seconds))?;
    }
    terminal.line(format_args!("   {}", visible_line(&report.next)))
}

/// The new text of a skill: what stands before its body stays.
fn with_body(old: &str, body: &str) -> String {
    let head =
        old.strip_prefix("---\n").and_then(|rest| rest.find("\n---\n")).map_or("", |end| &old[..end + 9]);
    format!("{head}{}\n", body.trim())
}

/// Puts what won into a file of its skill, if that is the project's.
fn write(
    skill: &str,
    file: &str,
    text: impl FnOnce(&str) -> String,
    workspace: &Workspace,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let (name, file) = (visible_line(skill), visible_line(file));
    let entry = workspace.catalogue.entry(skill)?;
    if entry.skill.origin != Origin::Project {
        return terminal.note(format_args!(
            "`{name}` is not the project's own skill, so its `{file}` is not changed; copy it to `.agents/skills/{name}` first"
        ));
    }
    let path = entry.skill.folder.join(&*file);
    let before = read_source(&path, MAX_SKILL_BYTES)?;
    let after = Some(NewFile { path, text: text(before.source.text()) });
    let changes = ChangeSet { changes: vec![FileChange { before: Some(before), after, explicit: false }] };
    write_changes(&changes, &workspace.project.root)?;
    terminal.note(format_args!(
        "changed `{file}` of `{name}`; look at it and trust it again: `grail skills trust {name}`"
    ))
}
