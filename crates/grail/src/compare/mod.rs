//! `grail compare`: two phases, models or skills on the same prompts, side by side.

pub(crate) mod show;

use std::path::PathBuf;

use clap::Args;
use grail_agent::Workspace;
use grail_agent::compare::{CompareArms, Compared, compare_arms};
use grail_agent::evaluate::NamedArm;
use grail_flywheel::comparison::CompareSettings;
use grail_flywheel::evaluation::Measure;
use grail_flywheel::suite::{HELD_OUT, load_suite};
use serde_json::json;

use crate::Exit;
use crate::asking::{AskingArguments, AskingBar, Desk};
use crate::cli::Format;
use crate::memory::open_workspace;
use crate::render::{Terminal, visible_line};

/// Compare two phases or models on the same prompts and seeds
///
/// Everything is paired, and the unit is the prompt. The difference comes with an interval by bootstrap and with McNemar's test; rules won
/// and lost are told with examples side by side. With `--sequential`, asking stops as soon as the difference is decided: that test may be
/// looked at after every prompt.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail compare p2 p3
  grail compare smollm2-135m p1 --suite quick --seeds 1
  grail compare template template+skill
  grail compare p2 p3 --sequential --html comparison.html")]
pub struct Arguments {
    /// Before: a phase, a model, or either with the text of the skills (`MODEL+skill`)
    #[arg(value_name = "A")]
    pub before: String,
    /// After
    #[arg(value_name = "B")]
    pub after: String,
    #[command(flatten)]
    pub asking: AskingArguments,
    /// Stop as soon as the difference is decided
    #[arg(long)]
    pub sequential: bool,
    /// Count what passes after safe fixes and retries, instead of what passes at the first try as it is
    #[arg(long)]
    pub with_fixes: bool,
    /// How many examples of each rule are shown side by side
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub examples: usize,
    /// Write a page with charts, which opens without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace()?;
    let result = compare(arguments, &open.workspace, terminal);
    open.finish(terminal)?;
    result
}

fn compare(arguments: &Arguments, workspace: &Workspace, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let learn = &workspace.project.config.learn;
    let settings = CompareArms {
        evaluate: arguments.asking.settings(learn.seeds)?,
        compare: CompareSettings {
            measure: if arguments.with_fixes { Measure::WithFixes } else { Measure::FirstTry },
            examples: arguments.examples,
            ..CompareSettings::default()
        },
        sequential: arguments.sequential,
    };
    let suite_name = arguments.asking.suite.as_deref().or(learn.suite.as_deref()).unwrap_or(HELD_OUT);
    let suite = load_suite(&workspace.project.root, suite_name)?;
    let (desk, bar) = (Desk::open()?, AskingBar::new());
    let compared = desk.work(async {
        let [before, after] =
            NamedArm::pair(workspace, &suite, [&arguments.before, &arguments.after]).await?;
        let watch = |who: &str, progress| bar.advance(who, progress);
        compare_arms(workspace, &suite, [before.arm(), after.arm()], &settings, &watch).await
    })?;
    drop(bar);
    tell(&compared, arguments.html.as_deref(), workspace, terminal)?;
    Ok(Exit::Fine)
}

/// A comparison as text, JSON or a page.
pub(crate) fn tell(
    compared: &Compared,
    html: Option<&std::path::Path>,
    workspace: &Workspace,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let comparison = &compared.comparison;
    if let Some(path) = html {
        let [before, after] = compared.evaluations();
        let about = crate::eval::show::about(workspace);
        let page =
            grail_agent::report::comparison_page(comparison, &[before.clone(), after.clone()], &about)?;
        crate::eval::show::write_page(path, &page, terminal)?;
    }
    let mut notes: Vec<&String> = compared.before.notes.iter().chain(&compared.after.notes).collect();
    notes.sort();
    notes.dedup();
    if terminal.format() == Format::Json {
        terminal.json(&json!({"comparison": comparison, "whole": compared.is_whole, "notes": notes}))?;
        return Ok(());
    }
    show::comparison(comparison, terminal)?;
    for note in notes {
        terminal.note(format_args!("{}", visible_line(note)))?;
    }
    if !compared.is_whole {
        terminal.note(format_args!(
            "stopped after {} of {} prompts: it is decided",
            comparison.prompts, comparison.suite.prompts
        ))?;
    }
    Ok(())
}
