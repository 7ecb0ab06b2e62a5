//! `grail skills status`: which runnable skills are installed, in which state, and how they are.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use grail_skills::SkillError;
use grail_skills::credentials::CredentialEnvironment;
use grail_skills::lifecycle::{Installed, MAX_FAILURES, Record, SkillStore, State, note_health};
use grail_skills::runnable::{RunnableSkill, check_health_once};
use serde::Serialize;

use super::Shelf;
use super::lifecycle::{ScopeArguments, settings_for, told};
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, ErrorRecord, GREEN, RED, RESET, Terminal, count, visible_line};

/// Show which runnable skills are installed, their state, health and last good version
///
/// With `--check` every active skill that is shown is started and asked after its health. How often that failed in a row is remembered;
/// five times put a skill under quarantine. Exits with 1 if a skill that is shown is not well.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills status
  grail skills status send-mail --check
  grail skills status --format json")]
pub struct Arguments {
    /// The skill's id; without one, every installed skill
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Ask active skills after their health
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub scope: ScopeArguments,
}

#[derive(Serialize)]
struct StatusRecord<'a> {
    skills: Vec<SkillRecord<'a>>,
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
struct SkillRecord<'a> {
    scope: &'static str,
    #[serde(flatten)]
    record: &'a Record,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let (mut found, problems) = find(arguments, &shelf)?;
    if arguments.check {
        for one in &mut found {
            check(one, &shelf)?;
        }
    }
    let is_well = |record: &Record| {
        record.health.failures == 0
            && record.current.as_ref().is_some_and(|one| one.state != State::Quarantined)
    };
    let exit = match problems.is_empty() && found.iter().all(|one| is_well(&one.record)) {
        true => Exit::Fine,
        false => Exit::Findings,
    };
    if terminal.format() == Format::Json {
        let skills = found.iter().map(|one| SkillRecord { scope: one.scope, record: &one.record }).collect();
        terminal.json(&StatusRecord { skills, errors: problems.iter().map(ErrorRecord::from).collect() })?;
        return Ok(exit);
    }
    for one in &found {
        show(one, terminal)?;
    }
    for problem in &problems {
        terminal.error(&problem.to_string(), problem.hint().as_deref())?;
    }
    if arguments.id.is_none() {
        terminal.note(format_args!("{} installed", count(found.len(), "skill")))?;
    }
    Ok(exit)
}

struct Found {
    scope: &'static str,
    store: SkillStore,
    record: Record,
}

fn find(arguments: &Arguments, shelf: &Shelf) -> anyhow::Result<(Vec<Found>, Vec<SkillError>)> {
    let state = shelf.state.as_deref().ok_or(SkillError::NoHome)?;
    if let Some(id) = &arguments.id {
        let store = arguments.scope.store_of(shelf, id)?;
        let scope = if store == SkillStore::of_user(state) { "user" } else { "project" };
        let record = store.record(id)?;
        return Ok((vec![Found { scope, store, record }], Vec::new()));
    }
    let mut stores = vec![("user", SkillStore::of_user(state))];
    if !arguments.scope.user {
        stores.insert(0, ("project", SkillStore::of_project(state, &shelf.project.root)));
    }
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for (scope, store) in stores {
        let (records, broken) = store.installed();
        found.extend(records.into_iter().map(|record| Found { scope, store: store.clone(), record }));
        problems.extend(broken);
    }
    Ok((found, problems))
}

/// Asks an active skill after its health, and remembers the answer.
fn check(found: &mut Found, shelf: &Shelf) -> anyhow::Result<()> {
    let id = found.record.id.clone();
    if found.record.current.as_ref().is_none_or(|current| current.state != State::Active) {
        return Ok(());
    }
    let settings = settings_for(shelf, &found.store);
    let asked = found.store.active(&id).map_err(|error| error.to_string()).and_then(|active| {
        let skill = RunnableSkill::open(active.folder).map_err(|problem| problem.to_string())?;
        check_health_once(&skill, &CredentialEnvironment::default(), &settings)
            .map(|_| ())
            .map_err(|problem| told(&problem))
    });
    found.record = note_health(&found.store, &id, &asked)?;
    Ok(())
}

fn show(found: &Found, terminal: &mut Terminal) -> anyhow::Result<()> {
    let Found { scope, record, .. } = found;
    let Some(current) = &record.current else { return Ok(()) };
    let Installed { version, state, since, .. } = current;
    let color = if *state == State::Active { GREEN } else { RED };
    terminal.line(format_args!(
        "{BOLD}{} {version}{RESET} ({scope}): {color}{state}{RESET}, {}",
        record.id,
        age(*since)
    ))?;
    if let Some(reason) = &current.reason {
        terminal.line(format_args!("  why: {}", visible_line(reason)))?;
    }
    let health = &record.health;
    match (health.checked, &health.problem) {
        (None, _) => terminal.line(format_args!("  health: not checked since then"))?,
        (Some(checked), None) => terminal.line(format_args!("  health: fine, {}", age(checked)))?,
        (Some(checked), Some(problem)) => {
            let (failures, problem) = (health.failures, visible_line(problem));
            terminal.line(format_args!(
                "  health: {failures} of {MAX_FAILURES} checks failed, {}: {problem}",
                age(checked)
            ))?;
        }
    }
    if let Some(good) = &record.last_good {
        terminal.line(format_args!("  last good: {}", good.version))?;
    }
    if let Some(candidate) = &record.candidate {
        terminal.line(format_args!("  being tested: {}", candidate.version))?;
    }
    let capabilities: Vec<String> = current.capabilities.iter().map(ToString::to_string).collect();
    let capabilities = if capabilities.is_empty() { "none".to_owned() } else { capabilities.join(", ") };
    terminal.line(format_args!("  capabilities: {capabilities}"))
}

/// How long ago a moment was, in one unit.
fn age(moment: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seconds = now.saturating_sub(moment);
    let ago = |number: u64, unit: &str| {
        format!("{} ago", count(usize::try_from(number).unwrap_or(usize::MAX), unit))
    };
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => ago(seconds / 60, "minute"),
        3600..86_400 => ago(seconds / 3600, "hour"),
        _ => ago(seconds / 86_400, "day"),
    }
}
