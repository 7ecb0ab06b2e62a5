//! `grail skills`: which skills there are, what they say, which of them fits, and those that run.
//!
//! One file per group of subcommands. What they share is here: the catalogue of the project and of the user, and what is trusted.

mod install;
mod lifecycle;
mod list;
mod status;

use std::env;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use grail_project::Project;
use grail_skills::{Catalogue, Scopes, SkillProblem, Trust, state_folder};

use crate::Exit;
use crate::render::{ErrorRecord, Terminal};

/// The skill library: list skills, read them, look after them
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Arguments),
    Install(install::Arguments),
    Status(status::Arguments),
    Enable(lifecycle::EnableArguments),
    Disable(lifecycle::DisableArguments),
    Quarantine(lifecycle::QuarantineArguments),
    Rollback(lifecycle::RollbackArguments),
    Remove(lifecycle::RemoveArguments),
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::List(arguments) => list::run(&arguments, terminal),
        Command::Install(arguments) => install::run(&arguments, terminal),
        Command::Status(arguments) => status::run(&arguments, terminal),
        Command::Enable(arguments) => lifecycle::enable(&arguments, terminal),
        Command::Disable(arguments) => lifecycle::disable(&arguments, terminal),
        Command::Quarantine(arguments) => lifecycle::quarantine(&arguments, terminal),
        Command::Rollback(arguments) => lifecycle::rollback(&arguments, terminal),
        Command::Remove(arguments) => lifecycle::remove(&arguments, terminal),
    }
}

/// The skills of the project that the command runs in, and whose they are.
pub struct Shelf {
    pub project: Project,
    pub catalogue: Catalogue,
    pub trust: Trust,
    /// The folder of what is remembered for the user, not for the project.
    pub state: Option<PathBuf>,
}

impl Shelf {
    pub fn discover() -> anyhow::Result<Self> {
        let project = Project::discover(Path::new("."))?;
        let home = env::home_dir();
        let state = state_folder(home.as_deref());
        let catalogue = Catalogue::discover(&Scopes::new(&project.root, home.as_deref()));
        let trust = Trust::open(state.as_deref());
        Ok(Self { project, catalogue, trust, state })
    }
}

impl From<&SkillProblem> for ErrorRecord {
    fn from(problem: &SkillProblem) -> Self {
        Self { message: problem.to_string(), hint: problem.hint.clone() }
    }
}
