//! `grail promote` and `grail rollback`: which phase answers.

use clap::Args;
use grail_agent::Workspace;
use grail_agent::promotion::{Scales, WeighSettings, Weighed, weigh, win};
use grail_flywheel::EventKind;
use grail_flywheel::phase::Phases;
use grail_flywheel::suite::{HELD_OUT, load_suite};
use grail_project::Project;
use serde_json::{Value as Json, json};

use crate::Exit;
use crate::asking::{AskingArguments, AskingBar, Desk};
use crate::cli::Format;
use crate::memory::{keep_event, open_workspace};
use crate::render::{BOLD, GREEN, RED, RESET, Terminal, visible_line};

/// Let a phase answer from now on, if it is better on prompts that it has never seen
///
/// The phase is compared with the one that answers now on the held-out suite. It has to be a win beyond chance, no kind of artifact may lose
/// more than the margin, it must be known what the phase learned, nothing of that may be near the suite, and who answered has to be the
/// phase. Every reason against it is told. `--force` promotes it all the same, and that is recorded. `grail generate` uses the promoted
/// phase unless another model is named.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail promote p3
  grail promote p3 --dry-run
  grail promote p3 --challenge 0.1
  grail promote p3 --challenge 0.1 --shadow
  grail rollback")]
pub struct Arguments {
    /// The phase
    #[arg(value_name = "PHASE", required_unless_present = "end_challenge")]
    pub phase: Option<String>,
    #[command(flatten)]
    pub asking: AskingArguments,
    /// Promote it although the gate refuses
    #[arg(long, conflicts_with_all = ["dry_run", "challenge"])]
    pub force: bool,
    /// Only say what would be decided
    #[arg(long)]
    pub dry_run: bool,
    /// Let it answer a share of the intents instead, so that both can be compared in daily work; without a number, `[learn] challenger-share`
    #[arg(long, value_name = "SHARE", num_args = 0..=1, conflicts_with = "dry_run")]
    pub challenge: Option<Option<f64>>,
    /// Let it answer that share in the shadow: beside the one that answers, seen by nobody, and kept as events only
    #[arg(long, requires = "challenge")]
    pub shadow: bool,
    /// End the challenge: the promoted phase answers everything
    #[arg(long, conflicts_with_all = ["phase", "challenge", "force", "dry_run"])]
    pub end_challenge: bool,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let Some(name) = arguments.phase.as_deref().filter(|_| !arguments.end_challenge) else {
        return end_challenge(terminal);
    };
    let open = open_workspace()?;
    let result = match arguments.challenge {
        Some(share) => challenge(name, share, arguments.shadow, &open.workspace, terminal),
        None => promote(name, arguments, &open.workspace, terminal),
    };
    open.finish(terminal)?;
    result
}

fn promote(
    name: &str,
    arguments: &Arguments,
    workspace: &Workspace,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let root = &workspace.project.root;
    let phase = Phases::new(root).get(name)?;
    let learn = &workspace.project.config.learn;
    let settings =
        WeighSettings { evaluate: arguments.asking.settings(learn.seeds)?, ..WeighSettings::of(workspace) };
    let suite_name = arguments.asking.suite.as_deref().or(learn.suite.as_deref()).unwrap_or(HELD_OUT);
    let suite = load_suite(root, suite_name)?;
    let (desk, bar) = (Desk::open()?, AskingBar::new());
    let weighed = desk.work(async {
        let scales = Scales::of(workspace, &phase)?;
        let watch = |who: &str, progress| bar.advance(who, progress);
        weigh(workspace, &suite, &phase, &scales, &settings, &watch).await
    })?;
    drop(bar);
    let is_promoted = !arguments.dry_run && (weighed.verdict.promote || arguments.force);
    if is_promoted {
        weighed.promote(workspace, arguments.force)?;
        workspace.session.emit(EventKind::Made { what: "promotion".to_owned(), name: phase.id.clone() });
    }
    if terminal.format() == Format::Json {
        terminal.json(&as_json(&weighed, is_promoted))?;
    } else {
        tell(&weighed, is_promoted, terminal)?;
    }
    Ok(if weighed.verdict.promote || is_promoted { Exit::Fine } else { Exit::Findings })
}

pub(crate) fn as_json(weighed: &Weighed, is_promoted: bool) -> Json {
    let reasons: Vec<String> = weighed.verdict.refusals.iter().map(ToString::to_string).collect();
    json!({
        "phase": weighed.phase.id,
        "promoted": is_promoted,
        "forced": is_promoted && !weighed.verdict.promote,
        "verdict": weighed.verdict,
        "reasons": reasons,
        "comparison": weighed.comparison,
        "controls": weighed.controls.iter().map(|control| json!({
            "arm": control.arm,
            "evaluation": control.hash,
            "score": control.score(),
        })).collect::<Vec<_>>(),
        "notes": weighed.notes,
    })
}

/// What was weighed, and what came of it.
pub(crate) fn tell(weighed: &Weighed, is_promoted: bool, terminal: &mut Terminal) -> anyhow::Result<()> {
    let (id, verdict) = (&weighed.phase.id, &weighed.verdict);
    let mut arms = vec![weighed.candidate.clone()];
    if weighed.current.arm.phase.is_some() {
        arms.push(weighed.current.clone());
    }
    arms.extend(weighed.controls.iter().cloned());
    crate::eval::show::evaluations(&arms, terminal)?;
    let before = visible_line(&weighed.current.arm.name);
    terminal.line(format_args!(
        "{BOLD}{id}{RESET} after {before}: {}",
        crate::compare::show::difference(&weighed.comparison.difference)
    ))?;
    for refusal in &verdict.refusals {
        terminal.line(format_args!("  {RED}refused{RESET}: {}", visible_line(&refusal.to_string())))?;
    }
    match (verdict.promote, is_promoted) {
        (true, true) => {
            terminal.line(format_args!("{GREEN}promoted{RESET}: {}", win(&weighed.comparison)))?
        }
        (false, true) => terminal.line(format_args!("promoted by force, which is recorded"))?,
        (true, false) => terminal.line(format_args!("it would be promoted: {}", win(&weighed.comparison)))?,
        (false, false) => terminal.line(format_args!("nothing has changed"))?,
    }
    for note in &weighed.notes {
        terminal.note(format_args!("{}", visible_line(note)))?;
    }
    Ok(())
}

fn challenge(
    name: &str,
    share: Option<f64>,
    shadow: bool,
    workspace: &Workspace,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let phases = Phases::new(&workspace.project.root);
    let phase = phases.get(name)?;
    let configured = workspace.project.config.learn.challenger_share;
    let share = share.or(Some(configured).filter(|share| *share > 0.0)).unwrap_or(0.1);
    let current = match shadow {
        true => phases.shadow(&phase.id, share)?,
        false => phases.challenge(&phase.id, share)?,
    };
    if terminal.format() == Format::Json {
        terminal.json(&json!({"phase": phase.id, "share": share, "current": current}))?;
        return Ok(Exit::Fine);
    }
    let percent = share * 100.0;
    if shadow {
        terminal.line(format_args!("{} answers {percent:.0} % of the intents in the shadow", phase.id))?;
        terminal.note(format_args!(
            "`grail events show SESSION` tells what came of it; `grail promote --end-challenge` ends it"
        ))?;
        return Ok(Exit::Fine);
    }
    terminal.line(format_args!("{} answers {percent:.0} % of the intents", phase.id))?;
    terminal.note(format_args!(
        "`grail events stats --by phase` compares them; `grail promote --end-challenge` ends it"
    ))?;
    Ok(Exit::Fine)
}

fn end_challenge(terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let project = Project::discover(std::path::Path::new("."))?;
    let current = Phases::new(&project.root).end_challenge()?;
    match terminal.format() {
        Format::Json => terminal.json(&json!({"current": current}))?,
        Format::Text => terminal.line(format_args!("the challenge has ended"))?,
    }
    Ok(Exit::Fine)
}

/// Let the phase answer that did before the last promotion
///
/// Before the first promotion that is the base, and `grail generate` uses whatever `[generate] model` names.
#[derive(Debug, Args)]
pub struct RollbackArguments {
    /// Why, for the history
    #[arg(long, value_name = "TEXT", default_value = "somebody wanted it")]
    pub reason: String,
}

pub fn rollback(arguments: &RollbackArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let project = Project::discover(std::path::Path::new("."))?;
    let current = Phases::new(&project.root).rollback(&arguments.reason)?;
    let name = current.phase.clone().unwrap_or_else(|| "base".to_owned());
    keep_event(&project, EventKind::Made { what: "rollback".to_owned(), name: name.clone() }, terminal)?;
    match (terminal.format(), &current.phase) {
        (Format::Json, _) => terminal.json(&json!({"current": current}))?,
        (Format::Text, Some(phase)) => terminal.line(format_args!("{phase} answers again"))?,
        (Format::Text, None) => terminal.line(format_args!("no phase answers any more: the base does"))?,
    }
    Ok(Exit::Fine)
}
