//! `grail code move`: a top-level symbol to another module.

use std::path::PathBuf;

use clap::Args;
use grail_code::rename::move_symbol;
use grail_project::{ChangeSet, FileChange};

use super::rename::move_failure;
use super::target::{Target, TargetProject};
use crate::Exit;
use crate::changes::{OnProblem, WriteArguments, finish_changes};
use crate::render::Terminal;

/// Move a function, class or variable to another module
///
/// The destination gets the imports the code needs, the old module imports it back if it still uses it, and everyone who imports it
/// follows. Refuses where the two modules would come to import each other.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code move shop.core.price shop.pricing
  grail code move shop.core.Order shop.models --write")]
pub struct Arguments {
    /// The symbol's dotted name
    #[arg(value_name = "DOTTED")]
    pub name: String,
    /// The module to move it to, which has to exist
    #[arg(value_name = "MODULE")]
    pub destination: String,
    /// Where to look for references; the whole project by default
    #[arg(long = "in", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub write: WriteArguments,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let target = Target::Name(arguments.name.clone());
    let project =
        TargetProject::load_with(target, &arguments.paths, std::slice::from_ref(&arguments.destination))?;
    let files = move_symbol(&project.loaded.project, &arguments.name, &arguments.destination)
        .map_err(|error| move_failure(&error))?;
    let mut changes = Vec::new();
    for file in files {
        if let Some(source_file) = project.loaded.source_file(&file.path) {
            changes.extend(FileChange::replace(source_file, false, file.text)?);
        }
    }
    finish_changes(
        &ChangeSet::new(changes),
        &project.files,
        arguments.write,
        OnProblem::WriteNothing,
        terminal,
    )
}
