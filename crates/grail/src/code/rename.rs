//! `grail code rename`: a symbol, or a module, with everything that refers to it.

use std::path::PathBuf;

use clap::Args;
use grail_code::ModuleName;
use grail_code::rename::{
    MemberOracle, MoveError, RenameOptions, RenamePlan, RenamedModule, rename_at, rename_module, rename_named,
};
use grail_project::{ChangeSet, FileChange};

use super::target::{Target, TargetProject, rename_failure};
use crate::Exit;
use crate::changes::{OnProblem, WriteArguments, finish_changes};
use crate::files::PathArguments;
use crate::render::{Failure, Terminal, count};

/// Rename a symbol and everything that refers to it
///
/// Follows imports, aliases, re-exports, `__all__`, attributes of imported modules, keyword arguments, and methods by inferred types.
/// Never touches a shadowing local or an unrelated attribute of the same name. Refuses, and changes nothing, where the new name would
/// collide or change what another name means.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code rename src/shop/core.py:12:5 total_price
  grail code rename --name shop.core.price total_price --write
  grail code rename --name shop.core.Order.total sum_up
  grail code rename --name shop.core.price.amount value
  grail code rename --module shop.core shop.pricing --write")]
pub struct Arguments {
    /// The place of the name, and the new name; with `--name` or `--module` only the new name
    #[arg(value_name = "FILE:LINE:COLUMN> <NEW", num_args = 1..=2, required = true)]
    pub words: Vec<String>,
    /// The symbol's dotted name instead of a place: `package.module.Class.method`
    #[arg(long, value_name = "DOTTED")]
    pub name: Option<String>,
    /// Rename a module or package: its files move, imports follow
    #[arg(long, value_name = "DOTTED", conflicts_with = "name")]
    pub module: Option<String>,
    /// Where to look for references; the whole project by default
    #[arg(long = "in", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Rename whole words in docstrings of the files it touches, too
    #[arg(long)]
    pub docstrings: bool,
    /// Leave names within string annotations alone
    #[arg(long)]
    pub no_string_annotations: bool,
    #[command(flatten)]
    pub write: WriteArguments,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    match (&arguments.name, &arguments.module, &words[..]) {
        (Some(name), None, [new]) => rename(Target::Name(name.clone()), new, &arguments, terminal),
        (None, Some(module), [new]) => rename_whole_module(module, new, &arguments, terminal),
        (None, None, [place, new]) => rename(Target::parse_place(place)?, new, &arguments, terminal),
        (None, None, _) => Err(Failure::with_hint(
            "the new name is missing",
            "write `grail code rename FILE:LINE:COLUMN NEW`, or `--name DOTTED NEW`",
        )
        .into()),
        _ => Err(Failure::new("`--name` and `--module` take one new name and no place").into()),
    }
}

fn rename(target: Target, new: &str, arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let options = RenameOptions {
        string_annotations: !arguments.no_string_annotations,
        docstrings: arguments.docstrings,
    };
    let project = TargetProject::load(target, &arguments.paths)?;
    let plan = {
        let oracle = project.oracle();
        let oracle = oracle.as_ref().map(|oracle| oracle as &dyn MemberOracle);
        match &project.target {
            Target::Name(name) => rename_named(&project.loaded.project, name, new, &options, oracle),
            Target::Place { file, at } => {
                let path = project.path_of(file).unwrap_or_else(|| file.display().to_string());
                rename_at(&project.loaded.project, &path, *at, new, &options, oracle)
            }
        }
    };
    let plan = plan.map_err(|error| rename_failure(&error))?;
    report_unsure(&plan, terminal)?;
    let changes = project.loaded.changes(plan.files)?;
    finish_changes(&changes, &project.files, arguments.write, OnProblem::WriteNothing, terminal)
}

/// Places that may mean the name are the user's to look at.
fn report_unsure(plan: &RenamePlan, terminal: &mut Terminal) -> anyhow::Result<()> {
    const SHOWN: usize = 10;
    for place in plan.unsure.iter().take(SHOWN) {
        terminal.warning(format_args!(
            "{}:{}:{}: `{}` may be meant here too; left as it is",
            place.path, place.at.line, place.at.column, plan.old
        ))?;
    }
    if plan.unsure.len() > SHOWN {
        let rest = count(plan.unsure.len() - SHOWN, "more place");
        terminal.warning(format_args!("and {rest} where `{}` may be meant", plan.old))?;
    }
    if plan.may_override_outside {
        terminal.warning(format_args!(
            "a base class could not be found; if it defines `{}`, this is no longer an override",
            plan.old
        ))?;
    }
    Ok(())
}

fn rename_whole_module(
    old: &str,
    new: &str,
    arguments: &Arguments,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let mut files = PathArguments { paths: arguments.paths.clone(), exclude: Vec::new() }.find()?;
    let last = old.rsplit('.').next().unwrap_or(old);
    let finder = memchr::memmem::Finder::new(last.as_bytes());
    // Modules of a package move even if they never mention it.
    let is_inside = |module: &ModuleName| module.name.starts_with(old);
    let is_new = |module: &ModuleName| module.name == new;
    let loaded = files.load("reading", |module, text| {
        is_inside(module) || is_new(module) || finder.find(text.as_bytes()).is_some()
    });
    let renamed = rename_module(&loaded.project, old, new).map_err(|error| move_failure(&error))?;
    let changes = module_changes(&loaded, renamed)?;
    finish_changes(&changes, &files, arguments.write, OnProblem::WriteNothing, terminal)
}

fn module_changes(
    loaded: &grail_project::LoadedProject,
    renamed: RenamedModule,
) -> anyhow::Result<ChangeSet> {
    let mut changes = Vec::new();
    for file in &loaded.project.files {
        let text = renamed.files.iter().find(|text| text.path == file.path).map(|text| text.text.clone());
        let moved = renamed.moves.iter().find(|change| change.from == file.path);
        let Some(source_file) = loaded.source_file(&file.path) else { continue };
        match (moved, text) {
            (Some(moved), text) => {
                let to = moved_path(&source_file.path, &moved.from, &moved.to);
                let text = text.unwrap_or_else(|| file.parsed.text().to_owned());
                changes.push(FileChange::relocate(source_file, false, to, text)?);
            }
            (None, Some(text)) => changes.extend(FileChange::replace(source_file, false, text)?),
            (None, None) => {}
        }
    }
    Ok(ChangeSet::new(changes))
}

/// The user's path of a file with its project path replaced.
fn moved_path(path: &std::path::Path, from: &str, to: &str) -> PathBuf {
    let text = path.to_string_lossy().replace('\\', "/");
    let root = text.strip_suffix(from).unwrap_or_default();
    PathBuf::from(format!("{root}{to}"))
}

/// An error of a move as the command line shows it.
pub(super) fn move_failure(error: &MoveError) -> Failure {
    match error.hint() {
        Some(hint) => Failure::with_hint(error.to_string(), hint),
        None => Failure::new(error.to_string()),
    }
}
