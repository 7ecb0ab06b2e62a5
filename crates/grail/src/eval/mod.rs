//! `grail eval`: a suite asked of a phase or a model, and what came of it.

pub(crate) mod show;

use std::path::PathBuf;

use clap::Args;
use grail_agent::evaluate::evaluate_with_controls;
use grail_flywheel::evaluation::{Evaluation, list_evaluations};
use grail_flywheel::suite::{HELD_OUT, load_suite};
use grail_project::Project;
use serde_json::{Value as Json, json};

use crate::Exit;
use crate::asking::{AskingArguments, AskingBar, Desk};
use crate::cli::Format;
use crate::memory::open_workspace;
use crate::render::{Terminal, visible_line};
use crate::table::Table;

/// Ask a phase or a model the prompts of a suite, and judge every answer strictly
///
/// A suite is a list of prompts that nothing was learned from. Each is asked in the form that phases are trained in; the answer has to be a
/// whole file that keeps the rules of its kind, has what the prompt asks for and, if a type checker is there, its types. Two controls are
/// always asked as well: the base without a skill, and the base with the skill's text in its prompt. Answers are kept as they come: after
/// Ctrl-C the same command goes on, and what was asked before is not asked again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail eval p3
  grail eval smollm2-135m --suite quick --seeds 1
  grail eval template --html report.html
  grail eval --list")]
pub struct Arguments {
    /// A phase (`p3`, `current`), a model, or either with the text of the skills (`MODEL+skill`)
    #[arg(value_name = "PHASE|MODEL", required_unless_present = "list")]
    pub name: Option<String>,
    #[command(flatten)]
    pub asking: AskingArguments,
    /// Write a page with charts, which opens without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// List what was evaluated before
    #[arg(long, conflicts_with_all = ["name", "html"])]
    pub list: bool,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let Some(name) = arguments.name.as_deref().filter(|_| !arguments.list) else { return list(terminal) };
    let open = open_workspace()?;
    let result = evaluate(name, arguments, &open.workspace, terminal);
    open.finish(terminal)?;
    result
}

fn evaluate(
    name: &str,
    arguments: &Arguments,
    workspace: &grail_agent::Workspace,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let learn = &workspace.project.config.learn;
    let settings = arguments.asking.settings(learn.seeds)?;
    let suite_name = arguments.asking.suite.as_deref().or(learn.suite.as_deref()).unwrap_or(HELD_OUT);
    let suite = load_suite(&workspace.project.root, suite_name)?;
    let (desk, bar) = (Desk::open()?, AskingBar::new());
    let many = desk.work(evaluate_with_controls(workspace, &suite, name, &settings, &|who, progress| {
        bar.advance(who, progress);
    }))?;
    drop(bar);
    if let Some(path) = &arguments.html {
        let page = grail_agent::report::evaluation_page(&many.evaluations, &show::about(workspace))?;
        show::write_page(path, &page, terminal)?;
    }
    if terminal.format() == Format::Json {
        let arms: Vec<Json> = many.evaluations.iter().map(arm_json).collect();
        terminal.json(&json!({
            "suite": many.evaluations.first().map(|evaluation| &evaluation.suite),
            "seeds": settings.seeds,
            "arms": arms,
            "remembered": many.remembered,
            "notes": many.notes,
        }))?;
        return Ok(Exit::Fine);
    }
    show::evaluations(&many.evaluations, terminal)?;
    for note in &many.notes {
        terminal.note(format_args!("{}", visible_line(note)))?;
    }
    Ok(Exit::Fine)
}

fn arm_json(evaluation: &Evaluation) -> Json {
    json!({
        "evaluation": evaluation.hash,
        "arm": evaluation.arm,
        "asking": evaluation.asking,
        "rules": evaluation.rules,
        "layers": evaluation.layers,
        "score": evaluation.score(),
    })
}

fn list(terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = Project::discover(std::path::Path::new("."))?.root;
    let (mut known, mut broken) = (Vec::new(), Vec::new());
    for evaluation in list_evaluations(&root)? {
        match evaluation {
            Ok(evaluation) => known.push(evaluation),
            Err(error) => broken.push(error),
        }
    }
    if terminal.format() == Format::Json {
        let arms: Vec<Json> = known.iter().map(arm_json).collect();
        terminal.json(&json!({"evaluations": arms}))?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["evaluation", "arm", "suite", "first try", "with fixes"]);
    for evaluation in &known {
        let score = evaluation.score();
        table.row(vec![
            evaluation.hash.chars().take(12).collect(),
            visible_line(&evaluation.arm.name),
            visible_line(&evaluation.suite.name),
            show::share(&score.all.first_try),
            show::share(&score.all.with_fixes),
        ]);
    }
    match table.is_empty() {
        true => terminal.note(format_args!("nothing was evaluated yet; `grail eval MODEL` does"))?,
        false => show::print(&table, terminal)?,
    }
    for error in broken {
        terminal.error(&error.to_string(), error.hint().as_deref())?;
    }
    Ok(Exit::Fine)
}
