//! `grail skills install`: what a runnable skill can do, shown before it is tested and made active.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use grail_skills::SkillError;
use grail_skills::lifecycle::{
    self, InstallSettings, LifecycleProblem, StagedSkill, State, validate_staged_skill,
};
use grail_skills::runnable::Capability;
use serde::Serialize;

use super::Shelf;
use super::lifecycle::ScopeArguments;
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, ErrorRecord, GREEN, RED, RESET, Terminal, path_text, visible, visible_line};

/// Install a runnable skill: copied, checked, tested with a handshake, then active
///
/// What the script can do is read from its code and shown beside what its manifest declares. What it does not declare stops the install
/// until you accept it; what you accept is remembered for exactly these files. A new version replaces the old one only if it passes its
/// handshake.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills install .agents/skills/send-mail
  grail skills install send-mail --accept network,env:HOME
  grail skills install send-mail --user")]
pub struct Arguments {
    /// The skill's folder, with its `manifest.toml`
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Capabilities to accept although the manifest does not declare them: network, subprocess, files:read, files:write, env:NAME, env:*,
    /// native, dynamic
    #[arg(long, value_name = "CAPABILITIES", value_delimiter = ',')]
    pub accept: Vec<Capability>,
    #[command(flatten)]
    pub scope: ScopeArguments,
}

#[derive(Serialize)]
struct InstallRecord<'a> {
    id: &'a str,
    version: String,
    /// Where the skill stands now; nothing if it was not installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<State>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
    capabilities: Vec<CapabilityRecord>,
    imports: ImportsRecord,
    dependencies: &'a [String],
    credentials: Vec<&'a str>,
    hash: &'a str,
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
struct CapabilityRecord {
    capability: Capability,
    is_declared: bool,
    is_accepted: bool,
    places: Vec<PlaceRecord>,
}

#[derive(Serialize)]
struct PlaceRecord {
    path: String,
    line: usize,
    column: usize,
    by: String,
}

#[derive(Default, Serialize)]
struct ImportsRecord {
    standard: BTreeSet<String>,
    third_party: BTreeSet<String>,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let store = arguments.scope.store(&shelf)?;
    let accept: BTreeSet<Capability> = arguments.accept.iter().cloned().collect();
    // What is shown is what lies in the folder; what counts is the copy, which the install checks again.
    let staged = validate_staged_skill(&arguments.folder)?;
    let accepted_before = store.record(&staged.manifest.id).ok().and_then(|record| record.accepted);
    let mut accepted = accept.clone();
    if let Some(before) = accepted_before.filter(|before| before.hash == staged.hash) {
        accepted.extend(before.capabilities);
    }
    let capabilities = capability_records(&staged, &accepted);
    if terminal.format() == Format::Text {
        show(&staged, &arguments.folder, &capabilities, terminal)?;
    }

    let handshake = super::lifecycle::handshake(&shelf, &store);
    let settings = InstallSettings { accept, handshake: &handshake, on_step: &|_| {} };
    let result = lifecycle::install(&store, &arguments.folder, &settings);
    if terminal.format() == Format::Json {
        let (state, replaced) = match &result {
            Ok(report) => (
                report.record.current.as_ref().map(|current| current.state),
                report.replaced.as_ref().map(ToString::to_string),
            ),
            Err(_) => {
                let record = store.record(&staged.manifest.id).ok();
                (record.and_then(|record| record.current).map(|current| current.state), None)
            }
        };
        terminal.json(&InstallRecord {
            id: &staged.manifest.id,
            version: staged.manifest.version.to_string(),
            state,
            replaced,
            capabilities,
            imports: imports(&staged),
            dependencies: &staged.dependencies,
            credentials: staged.credentials().iter().map(|one| one.name.as_str()).collect(),
            hash: &staged.hash,
            errors: result.as_ref().err().map(ErrorRecord::from).into_iter().collect(),
        })?;
    }
    match result {
        Ok(report) => {
            let (id, version) = (&staged.manifest.id, &staged.manifest.version);
            match report.replaced {
                Some(old) => terminal
                    .note(format_args!("{GREEN}{id} {version} is active{RESET} and replaces {old}"))?,
                None => terminal.note(format_args!("{GREEN}{id} {version} is active{RESET}"))?,
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

/// Whether an error is about the skill rather than about what was asked: nothing is wrong with the command.
pub(super) fn is_finding(error: &SkillError) -> bool {
    matches!(
        error,
        SkillError::Lifecycle(LifecycleProblem::Undeclared { .. } | LifecycleProblem::HandshakeFailed { .. })
    )
}

fn show(
    staged: &StagedSkill,
    folder: &Path,
    capabilities: &[CapabilityRecord],
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let manifest = &staged.manifest;
    let (id, version) = (&manifest.id, &manifest.version);
    let folder = visible_line(&path_text(folder));
    terminal.line(format_args!("{BOLD}{id} {version}{RESET} ({folder})"))?;
    terminal.line(format_args!("  {}", visible_line(&manifest.description)))?;
    let imports = imports(staged);
    let groups = [("imports", &imports.standard), ("packages", &imports.third_party)];
    for (title, names) in groups.into_iter().filter(|(_, names)| !names.is_empty()) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        terminal.line(format_args!("  {title}: {}", visible_line(&names.join(", "))))?;
    }
    if !staged.dependencies.is_empty() {
        terminal.line(format_args!("  dependencies: {}", visible_line(&staged.dependencies.join(", "))))?;
    }
    for credential in staged.credentials() {
        let (name, variable) = (&credential.name, &credential.env_var);
        terminal.line(format_args!("  credential: {name} as {variable}"))?;
    }
    for record in capabilities {
        let (color, word) = match (record.is_declared, record.is_accepted) {
            (true, _) if record.places.is_empty() => (GREEN, "declared; nothing in the code shows it"),
            (true, _) => (GREEN, "declared"),
            (false, true) => (GREEN, "accepted"),
            (false, false) => (RED, "not declared"),
        };
        let capability = &record.capability;
        terminal.line(format_args!("  {color}{capability}{RESET}: {}, {word}", capability.meaning()))?;
        for place in record.places.iter().take(MAX_PLACES) {
            let PlaceRecord { path, line, column, by } = place;
            terminal.line(format_args!("    {}:{line}:{column}: {}", visible_line(path), visible(by)))?;
        }
        if record.places.len() > MAX_PLACES {
            terminal.line(format_args!("    and {} more", record.places.len() - MAX_PLACES))?;
        }
    }
    Ok(())
}

/// How many places of one capability are shown; JSON has all of them.
const MAX_PLACES: usize = 5;

fn capability_records(staged: &StagedSkill, accepted: &BTreeSet<Capability>) -> Vec<CapabilityRecord> {
    let declared = staged.manifest.declared();
    let covers =
        |allowed: &BTreeSet<Capability>, one: &Capability| allowed.iter().any(|other| other.covers(one));
    let places = |capability: &Capability| {
        let uses =
            staged.capabilities.iter().flat_map(|(path, file)| file.uses.iter().map(move |one| (path, one)));
        uses.filter(|(_, one)| one.capability == *capability)
            .map(|(path, one)| PlaceRecord {
                path: path.clone(),
                line: one.line,
                column: one.column,
                by: one.by.clone(),
            })
            .collect()
    };
    let used = staged.used();
    let promised = staged.manifest.capabilities.iter();
    let unused =
        promised.filter(|one| !used.iter().any(|used| one.covers(used))).cloned().collect::<Vec<_>>();
    used.into_iter()
        .chain(unused)
        .map(|capability| CapabilityRecord {
            is_declared: covers(&declared, &capability),
            is_accepted: covers(accepted, &capability),
            places: places(&capability),
            capability,
        })
        .collect()
}

fn imports(staged: &StagedSkill) -> ImportsRecord {
    let mut imports = ImportsRecord::default();
    for file in staged.capabilities.values() {
        imports.standard.extend(file.standard.iter().cloned());
        imports.third_party.extend(file.third_party.iter().cloned());
    }
    imports
}
