//! `grail skills credentials`
//!
//! Values come from stdin or from a prompt, never from an argument that other programs could see, and are never printed.

use std::io::{IsTerminal, Read, Write};
use std::process::{Command as Program, Stdio};

use anyhow::Context;
use clap::{Args, Subcommand};
use grail_skills::credentials::{CredentialFile, CredentialStore, Keyring, MAX_SECRET_BYTES, Secret};
use grail_skills::lifecycle::SkillStore;
use grail_skills::{Manifest, SkillError};
use serde::Serialize;

use super::Shelf;
use super::lifecycle::ScopeArguments;
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, Failure, RESET, Terminal, visible_line};

/// Look after the credentials of installed skills
///
/// A skill declares in its manifest what it needs. The values are kept in the system's keyring, or where there is none in a file that only
/// you can read, outside of any project, and reach the skill's own process as environment variables. They are never printed, and taken out of what the skill prints.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills credentials set weather api-key\n  \
                        pass show weather | grail skills credentials set weather api-key\n  \
                        grail skills credentials list")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Remember a value: from stdin, or asked for
    Set(CredentialArguments),
    /// List what installed skills need, and what is set
    List,
    /// Forget a value
    Remove(CredentialArguments),
}

#[derive(Debug, Args)]
pub struct CredentialArguments {
    #[arg(value_name = "SKILL")]
    pub skill: String,
    /// The credential, as the skill's manifest names it
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub scope: ScopeArguments,
}

#[derive(Serialize)]
struct ListRecord {
    credentials: Vec<CredentialRecord>,
}

#[derive(Serialize)]
struct CredentialRecord {
    skill: String,
    name: String,
    /// Whether the skill is installed for all projects.
    user: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    env_var: Option<String>,
    required: bool,
    /// Whether there is a value. `false` for those that have a default only.
    set: bool,
    /// Whether the installed skill declares it.
    declared: bool,
}

#[derive(Serialize)]
struct ChangeRecord<'a> {
    skill: &'a str,
    name: &'a str,
    set: bool,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    match &arguments.command {
        Command::Set(one) => set(&shelf, one, terminal),
        Command::List => list(&shelf, terminal),
        Command::Remove(one) => remove(&shelf, one, terminal),
    }
}

/// Set to anything, it keeps credentials out of the system's keyring: for servers, and for tests, whose secrets are nobody's.
#[cfg(feature = "keyring")]
const NO_KEYRING: &str = "GRAIL_NO_KEYRING";

/// Where the credentials of a scope's skills are. A project's skill does not get what was meant for the user's skill of the same name.
pub(super) fn credentials_of(shelf: &Shelf, store: &SkillStore) -> Result<CredentialFile, SkillError> {
    let state = shelf.state.as_deref().ok_or(SkillError::NoHome)?;
    let path = state.join("credentials").join(format!("{}.json", store.scope_name()));
    Ok(CredentialFile::with_keyring(path, open_keyring()))
}

/// The system's keyring, where there is one and it may be used.
pub(crate) fn open_keyring() -> Option<Box<dyn Keyring>> {
    #[cfg(feature = "keyring")]
    if std::env::var_os(NO_KEYRING).is_none() {
        return grail_skills::system_keyring::system_keyring();
    }
    None
}

fn set(shelf: &Shelf, one: &CredentialArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let CredentialArguments { skill, name, scope } = one;
    let store = scope.store_of(shelf, skill)?;
    let number = store.record(skill)?.current.map_or(0, |current| current.number);
    let manifest = Manifest::read(&store.version_folder(skill, number))?;
    if !manifest.credentials.iter().any(|credential| credential.name == *name) {
        let names: Vec<String> = manifest.credentials.iter().map(|one| format!("`{}`", one.name)).collect();
        let hint = match names.is_empty() {
            true => "its manifest declares none".to_owned(),
            false => format!("its manifest declares {}", names.join(", ")),
        };
        return Err(
            Failure::with_hint(format!("the skill `{skill}` has no credential `{name}`"), hint).into()
        );
    }
    credentials_of(shelf, &store)?.set(skill, name, &read_secret(skill, name)?)?;
    match terminal.format() {
        Format::Json => terminal.json(&ChangeRecord { skill, name, set: true })?,
        Format::Text => terminal.note(format_args!("`{name}` of `{skill}` is set"))?,
    }
    Ok(Exit::Fine)
}

fn remove(shelf: &Shelf, one: &CredentialArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let CredentialArguments { skill, name, scope } = one;
    let store = scope.store_of(shelf, skill)?;
    if !credentials_of(shelf, &store)?.remove(skill, name)? {
        return Err(Failure::with_hint(
            format!("`{name}` of `{skill}` is not set"),
            "`grail skills credentials list` shows what is",
        )
        .into());
    }
    match terminal.format() {
        Format::Json => terminal.json(&ChangeRecord { skill, name, set: false })?,
        Format::Text => terminal.note(format_args!("`{name}` of `{skill}` is forgotten"))?,
    }
    Ok(Exit::Fine)
}

fn list(shelf: &Shelf, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let credentials = all_credentials(shelf)?;
    if terminal.format() == Format::Json {
        terminal.json(&ListRecord { credentials })?;
        return Ok(Exit::Fine);
    }
    for one in &credentials {
        let word = match (one.set, one.required, one.declared) {
            (true, _, true) => "set",
            (true, _, false) => "set, but no installed skill declares it",
            (false, true, _) => "missing",
            (false, false, _) => "not set",
        };
        let (skill, name) = (visible_line(&one.skill), visible_line(&one.name));
        let scope = if one.user { " (user)" } else { "" };
        terminal.line(format_args!("{BOLD}{skill}{RESET}{scope} {name}: {word}"))?;
    }
    if credentials.is_empty() {
        terminal.note(format_args!("no installed skill needs a credential"))?;
    }
    Ok(Exit::Fine)
}

/// What installed skills declare, the project's first, and what is remembered beyond that.
fn all_credentials(shelf: &Shelf) -> anyhow::Result<Vec<CredentialRecord>> {
    let mut credentials = Vec::new();
    for user in [false, true] {
        let store = ScopeArguments { user }.store(shelf)?;
        let mut stored = credentials_of(shelf, &store)?.names()?;
        let (records, _) = store.installed();
        let manifests = records.iter().filter_map(|record| {
            let folder = store.version_folder(&record.id, record.current.as_ref()?.number);
            Manifest::read(&folder).ok()
        });
        for manifest in manifests {
            for credential in manifest.credentials {
                let key = (manifest.id.clone(), credential.name);
                let set = stored.contains(&key);
                stored.retain(|other| *other != key);
                let required = credential.required && credential.default.is_none();
                let (skill, name) = key;
                let env_var = Some(credential.env_var);
                credentials.push(CredentialRecord {
                    skill,
                    name,
                    user,
                    env_var,
                    required,
                    set,
                    declared: true,
                });
            }
        }
        credentials.extend(stored.into_iter().map(|(skill, name)| CredentialRecord {
            skill,
            name,
            user,
            env_var: None,
            required: false,
            set: true,
            declared: false,
        }));
    }
    Ok(credentials)
}

fn read_secret(skill: &str, name: &str) -> anyhow::Result<Secret> {
    let stdin = std::io::stdin();
    let mut text = String::new();
    if stdin.is_terminal() {
        let _quiet = QuietTerminal::new().ok_or_else(|| {
            Failure::with_hint("this terminal cannot hide what you type", "pipe the value in")
        })?;
        let mut messages = std::io::stderr();
        write!(messages, "value for `{}` of `{}`: ", visible_line(name), visible_line(skill))?;
        messages.flush()?;
        stdin.read_line(&mut text).context("reading the value")?;
        writeln!(messages)?;
    } else {
        let most = MAX_SECRET_BYTES as u64 + 2;
        stdin.take(most).read_to_string(&mut text).context("reading the value from stdin")?;
    }
    // What ends the line is not part of the value.
    let value = text.strip_suffix('\n').map_or(text.as_str(), |rest| rest.strip_suffix('\r').unwrap_or(rest));
    Ok(Secret::new(value))
}

/// A terminal that does not show what is typed, until this is dropped.
struct QuietTerminal;

impl QuietTerminal {
    fn new() -> Option<Self> {
        set_echo("-echo").then_some(Self)
    }
}

impl Drop for QuietTerminal {
    fn drop(&mut self) {
        set_echo("echo");
    }
}

fn set_echo(word: &str) -> bool {
    let status = Program::new("stty").arg(word).stdin(Stdio::inherit()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
