//! `grail skills eval`: whether a skill's text makes answers better.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use grail_agent::Workspace;
use grail_agent::compare::{CompareArms, Compared, compare_arms};
use grail_agent::evaluate::{ArmOf, Contender, SkillTexts};
use grail_flywheel::comparison::CompareSettings;
use grail_flywheel::evaluation::Measure;
use grail_flywheel::suite::{HELD_OUT, Suite, load_suite};
use grail_project::{ChangeSet, FileChange, NewFile, read_source, write_changes};
use grail_rules::Origin;
use grail_skills::{BENCHMARK_FILE, Benchmark, CatalogueEntry, Trust, load_skill};

use crate::Exit;
use crate::asking::{AskingArguments, AskingBar, Desk};
use crate::compare::tell;
use crate::memory::open_workspace;
use crate::render::{Failure, Terminal, visible_line};

/// A text that is longer is no skill.
const MAX_TEXT_BYTES: u64 = 256 * 1024;

/// Measure what a skill's text is worth: the same prompts with it and without it
///
/// The prompts of the suite that ask for kinds of this skill are asked twice, with the skill's text before them and without. The difference,
/// with its interval, is kept in the skill's `evals/benchmark.json`, where the project has the skill. With `--text`, the skill as it is now
/// is compared with another text instead, and nothing is kept.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills eval tdom-components --model smollm2-135m
  grail skills eval house-style --model local --text SKILL.new.md")]
pub struct Arguments {
    /// The skill
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The model that is asked: a name, or a phase
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Compare the skill as it is with this text
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    #[command(flatten)]
    pub asking: AskingArguments,
    /// Stop as soon as the difference is decided
    #[arg(long)]
    pub sequential: bool,
    /// Count what passes after safe fixes and retries
    #[arg(long)]
    pub with_fixes: bool,
    /// How many examples of each rule are shown side by side
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub examples: usize,
    /// Write a page with charts, which opens without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace()?;
    let result = evaluate(arguments, &open.workspace, terminal);
    open.finish(terminal)?;
    result
}

fn evaluate(arguments: &Arguments, workspace: &Workspace, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let entry = workspace.catalogue.entry(&arguments.name)?;
    let suite = suite_of(arguments, workspace)?;
    let kinds = suite.kinds();
    let now = SkillTexts::of_skill(&arguments.name, &load_skill(&entry.skill)?.body, &kinds)?;
    let other = match &arguments.text {
        Some(path) => Some(SkillTexts::of_skill(&arguments.name, &read_text(path)?, &kinds)?),
        None => None,
    };
    let settings = CompareArms {
        evaluate: arguments.asking.settings(workspace.project.config.learn.seeds)?,
        compare: CompareSettings {
            measure: if arguments.with_fixes { Measure::WithFixes } else { Measure::FirstTry },
            examples: arguments.examples,
            ..CompareSettings::default()
        },
        sequential: arguments.sequential,
    };
    let model = arguments.model.as_deref().or(workspace.project.config.generate.model.as_deref());
    let model = model.unwrap_or(grail_agent::models::TEMPLATE);
    let (desk, bar) = (Desk::open()?, AskingBar::new());
    let labels = match other {
        Some(_) => [format!("{model} with the skill"), format!("{model} with the new text")],
        None => [format!("{model} without the skill"), format!("{model} with the skill")],
    };
    let texts = match &other {
        Some(other) => [Some(&now), Some(other)],
        None => [None, Some(&now)],
    };
    let compared = desk.work(async {
        let contender = Contender::named(workspace, model).await?;
        let arm = |number: usize| ArmOf {
            label: Some(labels[number].as_str()),
            ..ArmOf::told(&contender, texts[number])
        };
        let watch = |who: &str, progress| bar.advance(who, progress);
        compare_arms(workspace, &suite, [arm(0), arm(1)], &settings, &watch).await
    })?;
    drop(bar);
    tell(&compared, arguments.html.as_deref(), workspace, terminal)?;
    if arguments.text.is_none() {
        keep(entry, &benchmark(model, &compared, workspace), workspace, terminal)?;
    }
    Ok(Exit::Fine)
}

/// The prompts that ask for kinds of this skill.
fn suite_of(arguments: &Arguments, workspace: &Workspace) -> anyhow::Result<Suite> {
    let learn = &workspace.project.config.learn;
    let name = arguments.asking.suite.as_deref().or(learn.suite.as_deref()).unwrap_or(HELD_OUT);
    let suite = load_suite(&workspace.project.root, name)?;
    let kinds: Vec<String> = workspace
        .library
        .kinds()
        .filter(|(pack, _)| *pack.name == *arguments.name)
        .map(|(_, kind)| kind.name.clone())
        .collect();
    let prompts: Vec<_> = suite.prompts.into_iter().filter(|prompt| kinds.contains(&prompt.kind)).collect();
    if prompts.is_empty() {
        let name = visible_line(&arguments.name);
        return Err(Failure::with_hint(
            format!("no prompt of the suite `{}` asks for a kind of the skill `{name}`", suite.name),
            "name a suite that does with `--suite`; a project's own are in `.grail/suites/` or `evals/`",
        )
        .into());
    }
    Ok(Suite::new(suite.name, suite.description, prompts))
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    let shown = visible_line(&path.to_string_lossy());
    let metadata =
        fs::metadata(path).map_err(|error| Failure::new(format!("`{shown}` cannot be read: {error}")))?;
    if metadata.len() > MAX_TEXT_BYTES {
        return Err(Failure::new(format!("`{shown}` has more than {MAX_TEXT_BYTES} bytes")).into());
    }
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("`{shown}` cannot be read: {error}")))?;
    // A whole `SKILL.md` begins with what is for the catalogue.
    let body = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map(|(_, body)| body.to_owned());
    Ok(body.unwrap_or(text))
}

fn benchmark(model: &str, compared: &Compared, workspace: &Workspace) -> Benchmark {
    let comparison = &compared.comparison;
    let share = |share: Option<f64>| share.unwrap_or_default();
    let difference = comparison.difference;
    Benchmark {
        model: model.to_owned(),
        n: comparison.pairs as u64,
        with_skill: share(comparison.after.passed.share),
        without_skill: share(comparison.before.passed.share),
        difference: difference.estimate,
        interval: [
            difference.interval.low.min(difference.estimate),
            difference.interval.high.max(difference.estimate),
        ],
        confidence: comparison.settings.confidence,
        date: workspace.clock.now().get(..10).map(str::to_owned),
    }
}

/// Writes what was measured beside the skill, if it is the project's.
fn keep(
    entry: &CatalogueEntry,
    benchmark: &Benchmark,
    workspace: &Workspace,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let name = visible_line(&entry.skill.name);
    if entry.skill.origin != Origin::Project {
        return terminal.note(format_args!(
            "nothing is kept: `{name}` is not the project's own skill; {}",
            benchmark.summary()
        ));
    }
    let path = entry.skill.folder.join(BENCHMARK_FILE);
    let text = serde_json::to_string_pretty(benchmark)? + "\n";
    Benchmark::parse(&path, text.as_bytes())?;
    let before = match path.exists() {
        true => Some(read_source(&path, MAX_TEXT_BYTES)?),
        false => None,
    };
    let mut trust = Trust::open(workspace.state.as_deref());
    let was_trusted = trust.state(&entry.skill).is_trusted();
    let after = Some(NewFile { path, text });
    let changes = ChangeSet { changes: vec![FileChange { before, after, explicit: false }] };
    write_changes(&changes, &workspace.project.root)?;
    if was_trusted {
        // Nothing but numbers was added, and not by somebody else.
        trust.grant(&entry.skill)?;
    }
    terminal.note(format_args!("kept in `{BENCHMARK_FILE}` of `{name}`: {}", benchmark.summary()))
}
