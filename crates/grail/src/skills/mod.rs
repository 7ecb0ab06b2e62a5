//! `grail skills`: which skills there are, what they say, which of them fits, and those that run.
//!
//! One file per group of subcommands. What they share is here: the catalogue of the project and of the user, and what is trusted.

mod credentials;
mod eval;
mod generate;
mod install;
mod invoke;
mod lifecycle;
mod list;
mod load;
mod new;
mod new_rule;
mod read;
mod run;
mod search;
mod status;
mod trust;
mod validate;

use std::env;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use grail_project::Project;
use grail_skills::lifecycle::SkillStore;
use grail_skills::{Catalogue, Scopes, Skill, SkillProblem, Trust, TrustState, state_folder};

use crate::Exit;
use crate::render::{ErrorRecord, Terminal, visible_line};

pub(crate) use self::credentials::open_keyring;

/// The skill library: list skills, read them, look after them
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Arguments),
    Load(load::Arguments),
    Read(read::Arguments),
    Run(run::Arguments),
    Search(search::Arguments),
    Validate(validate::Arguments),
    New(new::Arguments),
    NewRule(new_rule::Arguments),
    Generate(generate::Arguments),
    Eval(Box<eval::Arguments>),
    Trust(trust::Arguments),
    Install(install::Arguments),
    Invoke(invoke::Arguments),
    Credentials(credentials::Arguments),
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
        Command::Load(arguments) => load::run(&arguments, terminal),
        Command::Read(arguments) => read::run(&arguments, terminal),
        Command::Run(arguments) => run::run(arguments, terminal),
        Command::Search(arguments) => search::run(&arguments, terminal),
        Command::Validate(arguments) => validate::run(&arguments, terminal),
        Command::New(arguments) => new::run(&arguments, terminal),
        Command::NewRule(arguments) => new_rule::run(&arguments, terminal),
        Command::Generate(arguments) => generate::run(&arguments, terminal),
        Command::Eval(arguments) => eval::run(&arguments, terminal),
        Command::Trust(arguments) => trust::run(&arguments, terminal),
        Command::Install(arguments) => install::run(&arguments, terminal),
        Command::Invoke(arguments) => invoke::run(&arguments, terminal),
        Command::Credentials(arguments) => credentials::run(&arguments, terminal),
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

    /// The runnable skills that can be invoked here: those installed for the project, then those for every project.
    fn installed(&self) -> Vec<Skill> {
        let Some(state) = &self.state else { return Vec::new() };
        let mut skills = SkillStore::of_project(state, &self.project.root).active_skills();
        skills.extend(SkillStore::of_user(state).active_skills());
        skills
    }
}

/// A person may read what is not trusted, and is told so.
fn note_on_trust(skill: &Skill, trust: TrustState, terminal: &mut Terminal) -> anyhow::Result<()> {
    let name = visible_line(&skill.name);
    match trust {
        TrustState::Trusted => Ok(()),
        TrustState::Untrusted => terminal.warning(format_args!(
            "no model is told this: the project's skill `{name}` is not trusted (`grail skills trust {name}`)"
        )),
        TrustState::Changed => terminal.warning(format_args!(
            "no model is told this: the files of `{name}` have changed since it was trusted (`grail skills trust {name}`)"
        )),
    }
}

impl From<&SkillProblem> for ErrorRecord {
    fn from(problem: &SkillProblem) -> Self {
        Self { message: problem.to_string(), hint: problem.hint.clone() }
    }
}
