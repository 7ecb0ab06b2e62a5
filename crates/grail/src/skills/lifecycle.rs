//! `grail skills enable`, `disable`, `quarantine`, `rollback`, `remove`: from one state of an installed skill to another.

use std::path::Path;

use clap::Args;
use grail_skills::SkillError;
use grail_skills::credentials::CredentialEnvironment;
use grail_skills::lifecycle::{self, Record, SkillStore};
use grail_skills::runnable::{
    Connection, ConnectionSettings, Manifest, RunProblem, RunnableSkill, StartSettings, Surroundings,
};
use serde::Serialize;

use super::Shelf;
use super::install::is_finding;
use crate::Exit;
use crate::cli::Format;
use crate::render::{GREEN, RESET, Terminal, visible_line};

/// Whose skills are meant
#[derive(Debug, Args)]
pub struct ScopeArguments {
    /// Skills that you installed for all your projects, not those of this project
    #[arg(long)]
    pub user: bool,
}

/// Test a disabled skill and switch it on
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills enable send-mail")]
pub struct EnableArguments {
    /// The skill's id
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub scope: ScopeArguments,
}

/// Switch a skill off; nothing can invoke it until it is enabled again
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills disable send-mail --why 'the service is down'")]
pub struct DisableArguments {
    /// The skill's id
    #[arg(value_name = "ID")]
    pub id: String,
    /// Why, for whoever looks at it later
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
    #[command(flatten)]
    pub scope: ScopeArguments,
}

/// Put an active skill under quarantine: it stays off until it is replaced, rolled back or disabled
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills quarantine send-mail --why 'it sent the same mail twice'")]
pub struct QuarantineArguments {
    /// The skill's id
    #[arg(value_name = "ID")]
    pub id: String,
    /// Why, for whoever looks at it later
    #[arg(long, value_name = "TEXT")]
    pub why: String,
    #[command(flatten)]
    pub scope: ScopeArguments,
}

/// Return to the last good version of a skill, after testing that it still works
///
/// Good is a version that passed its handshake and was never quarantined. Rolling back twice returns to where you were.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills rollback send-mail")]
pub struct RollbackArguments {
    /// The skill's id
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub scope: ScopeArguments,
}

/// Remove an installed skill with all its versions; the folder it came from stays
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills remove send-mail")]
pub struct RemoveArguments {
    /// The skill's id
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub scope: ScopeArguments,
}

#[derive(Serialize)]
struct ChangeRecord<'a> {
    #[serde(flatten)]
    record: &'a Record,
}

#[derive(Serialize)]
struct RemovedRecord<'a> {
    removed: &'a str,
}

impl ScopeArguments {
    /// Where a skill is installed to.
    pub(super) fn store(&self, shelf: &Shelf) -> anyhow::Result<SkillStore> {
        let state = shelf.state.as_deref().ok_or(SkillError::NoHome)?;
        Ok(match self.user {
            true => SkillStore::of_user(state),
            false => SkillStore::of_project(state, &shelf.project.root),
        })
    }

    /// Where the skill `id` is: in the project, or else with the user.
    pub(super) fn store_of(&self, shelf: &Shelf, id: &str) -> anyhow::Result<SkillStore> {
        let store = self.store(shelf)?;
        let user = SkillStore::of_user(shelf.state.as_deref().ok_or(SkillError::NoHome)?);
        Ok(if !store.has(id) && user.has(id) { user } else { store })
    }
}

/// Starts a skill behind the fence, without network and without credentials, and greets it.
pub(super) fn handshake(
    shelf: &Shelf,
    store: &SkillStore,
) -> impl Fn(&Path, &Manifest) -> Result<(), String> {
    let settings = settings_for(shelf, store);
    move |folder, _| {
        let skill = RunnableSkill::open(folder).map_err(|problem| problem.to_string())?;
        let connection = Connection::open(&skill, &CredentialEnvironment::default(), &settings)
            .map_err(|problem| told(&problem))?;
        connection.close();
        Ok(())
    }
}

/// One line that holds a problem and what to do about it: it is remembered with the skill.
pub(super) fn told(problem: &RunProblem) -> String {
    match problem.hint() {
        Some(hint) => format!("it {}; {hint}", problem.failure),
        None => format!("it {}", problem.failure),
    }
}

/// How a skill of this store is started.
pub(super) fn settings_for(shelf: &Shelf, store: &SkillStore) -> ConnectionSettings {
    let mut settings = connection_settings(shelf);
    // The programs of a project have no business with a skill that belongs to the user.
    if store.is_of_user() {
        settings.start.surroundings.project_root = None;
    }
    settings
}

pub(super) fn connection_settings(shelf: &Shelf) -> ConnectionSettings {
    let mut start = StartSettings::new(Surroundings::of_this_process(Some(shelf.project.root.clone())));
    start.launcher = std::env::current_exe().ok();
    ConnectionSettings::new(start)
}

pub(super) fn enable(arguments: &EnableArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let store = arguments.scope.store_of(&shelf, &arguments.id)?;
    finish(lifecycle::enable(&store, &arguments.id, &handshake(&shelf, &store)), terminal)
}

pub(super) fn disable(arguments: &DisableArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let store = arguments.scope.store_of(&Shelf::discover()?, &arguments.id)?;
    finish(lifecycle::disable(&store, &arguments.id, arguments.why.clone()), terminal)
}

pub(super) fn quarantine(arguments: &QuarantineArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let store = arguments.scope.store_of(&Shelf::discover()?, &arguments.id)?;
    finish(lifecycle::quarantine(&store, &arguments.id, arguments.why.clone()), terminal)
}

pub(super) fn rollback(arguments: &RollbackArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let store = arguments.scope.store_of(&shelf, &arguments.id)?;
    let result = lifecycle::rollback(&store, &arguments.id, &handshake(&shelf, &store), &|_| {});
    finish(result.map(|report| report.record), terminal)
}

pub(super) fn remove(arguments: &RemoveArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let store = arguments.scope.store_of(&Shelf::discover()?, &arguments.id)?;
    store.remove(&arguments.id)?;
    match terminal.format() {
        Format::Json => terminal.json(&RemovedRecord { removed: &arguments.id })?,
        Format::Text => terminal.line(format_args!("{} is removed", arguments.id))?,
    }
    Ok(Exit::Fine)
}

fn finish(result: Result<Record, SkillError>, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match result {
        Ok(record) => {
            match (terminal.format(), &record.current) {
                (Format::Json, _) => terminal.json(&ChangeRecord { record: &record })?,
                (Format::Text, Some(current)) => {
                    let (id, version, state) = (&record.id, &current.version, current.state);
                    let reason = current.reason.as_ref().map(|reason| format!(": {}", visible_line(reason)));
                    let reason = reason.unwrap_or_default();
                    terminal.line(format_args!("{id} {version} is {GREEN}{state}{RESET}{reason}"))?;
                }
                (Format::Text, None) => {}
            }
            Ok(Exit::Fine)
        }
        Err(error) if is_finding(&error) => {
            terminal.failure(&error.into());
            Ok(Exit::Findings)
        }
        Err(error) => Err(error.into()),
    }
}
