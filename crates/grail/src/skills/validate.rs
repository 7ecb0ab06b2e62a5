//! `grail skills validate`

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use grail_project::{ChangeSet, FileChange, NewFile, read_source, write_changes};
use grail_rules::{Origin, PythonRules, SKILLS_FOLDER, Severity};
use grail_skills::{
    FindingSource, MAX_SKILL_BYTES, SKILL_FILE, SkillFinding, is_valid_by_specification,
    migrate_front_matter, validate_skill,
};
use serde::Serialize;

use super::Shelf;
use crate::Exit;
use crate::check::python_rules;
use crate::cli::Format;
use crate::render::{
    BOLD, CYAN, Failure, RED, RESET, Terminal, count, display_path, path_text, visible, visible_line,
};

/// Check skills: by the specification of agentskills.io, and by what Grail knows
///
/// Findings marked `agentskills` are what the reference validator refuses, so that other clients may as well. Those marked `grail` are
/// about the rest: rules that fail their own examples, a manifest or evals that cannot be read, a body that is too long. Errors of either
/// kind make the command exit with 1.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills validate
  grail skills validate shop
  grail skills validate path/to/skills
  grail skills validate --fix")]
pub struct Arguments {
    /// Names of skills, their folders, and folders of skills; without any, every skill of the project
    #[arg(value_name = "NAME|PATH")]
    pub names: Vec<String>,
    /// Move `version`, `requires` and `patterns` of older skills under `metadata`; nothing else changes
    #[arg(long)]
    pub fix: bool,
}

#[derive(Serialize)]
struct ValidateRecord {
    skills: Vec<SkillRecord>,
}

#[derive(Serialize)]
struct SkillRecord {
    folder: String,
    /// By the specification.
    valid: bool,
    /// The front matter was brought to the specification.
    fixed: bool,
    findings: Vec<SkillFinding>,
}

/// A folder to check.
struct Target {
    folder: PathBuf,
    /// As messages name it.
    shown: PathBuf,
    /// The user named it.
    is_named: bool,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let targets = targets(&arguments.names, &shelf)?;
    let mut fixed = vec![false; targets.len()];
    if arguments.fix {
        let mut changes = Vec::new();
        for (target, fixed) in targets.iter().zip(&mut fixed) {
            if let Some(change) = migration(target) {
                *fixed = true;
                changes.push(change);
            }
        }
        write_changes(&ChangeSet::new(changes), &shelf.project.root)?;
    }
    let python = python_rules();
    let python = python.as_ref().map(|python| python as &dyn PythonRules);
    let mut skills = Vec::new();
    for (target, fixed) in targets.iter().zip(fixed) {
        let mut findings = validate_skill(&target.folder, &target.shown, python);
        findings.sort_by(|a, b| (&a.path, a.line, a.source).cmp(&(&b.path, b.line, b.source)));
        let valid = is_valid_by_specification(&findings);
        skills.push(SkillRecord { folder: path_text(&target.shown), valid, fixed, findings });
    }
    let number = |severity| {
        skills.iter().flat_map(|skill| &skill.findings).filter(|finding| finding.severity == severity).count()
    };
    let (errors, warnings) = (number(Severity::Error), number(Severity::Warning));
    match terminal.format() {
        Format::Json => terminal.json(&ValidateRecord { skills })?,
        Format::Text => {
            for skill in &skills {
                for finding in &skill.findings {
                    show(finding, terminal)?;
                }
                if skill.fixed {
                    terminal.note(format_args!("changed {}/{SKILL_FILE}", visible_line(&skill.folder)))?;
                }
            }
            let skills = count(skills.len(), "skill");
            let (errors, warnings) = (count(errors, "error"), count(warnings, "warning"));
            terminal.note(format_args!("{skills}: {errors}, {warnings}"))?;
        }
    }
    Ok(if errors == 0 { Exit::Fine } else { Exit::Findings })
}

fn show(finding: &SkillFinding, terminal: &mut Terminal) -> anyhow::Result<()> {
    let path = visible_line(&finding.path.to_string_lossy());
    let place = match finding.line {
        0 => path,
        line => format!("{path}:{line}"),
    };
    let style = if finding.severity == Severity::Error { RED } else { CYAN };
    let source = match finding.source {
        FindingSource::Agentskills => "agentskills",
        FindingSource::Grail => "grail",
    };
    let (severity, message) = (finding.severity.name(), visible(&finding.message));
    terminal.line(format_args!("{place}: {BOLD}{style}{severity}{RESET} [{source}] {message}"))?;
    if let Some(hint) = &finding.hint {
        terminal.line(format_args!("  {BOLD}{CYAN}hint:{RESET} {}", visible(hint)))?;
    }
    Ok(())
}

fn targets(names: &[String], shelf: &Shelf) -> anyhow::Result<Vec<Target>> {
    if names.is_empty() {
        let folder = shelf.project.root.join(SKILLS_FOLDER);
        return Ok(folders_in(&folder, Path::new(SKILLS_FOLDER), false));
    }
    let mut targets = Vec::new();
    for name in names {
        let path = display_path(Path::new(name));
        let known = shelf.catalogue.entries.iter().find(|entry| entry.skill.name == *name);
        match known {
            Some(entry) if entry.skill.origin == Origin::BuiltIn && !path.is_dir() => {
                let message = format!("the skill `{name}` is built in, and was checked when Grail was made");
                return Err(Failure::new(message).into());
            }
            Some(entry) if !path.is_dir() => targets.push(Target {
                folder: entry.skill.folder.clone(),
                shown: entry.shown.clone(),
                is_named: true,
            }),
            _ if path.is_file()
                && path.file_name().is_some_and(|file| file.eq_ignore_ascii_case(SKILL_FILE)) =>
            {
                let folder =
                    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
                targets.push(named(folder));
            }
            _ if path.is_dir() => {
                let inside = folders_in(path, path, true);
                let is_skill = path.join(SKILL_FILE).exists() || path.join("skill.md").exists();
                match is_skill || inside.is_empty() {
                    true => targets.push(named(path)),
                    false => targets.extend(inside),
                }
            }
            _ => {
                return Err(shelf.catalogue.entry(name).err().map_or_else(
                    || Failure::new(format!("there is no skill `{name}`")).into(),
                    anyhow::Error::from,
                ));
            }
        }
    }
    Ok(targets)
}

fn named(folder: &Path) -> Target {
    Target { folder: folder.to_owned(), shown: folder.to_owned(), is_named: true }
}

/// The folders right below one, each of which should be a skill.
fn folders_in(folder: &Path, shown: &Path, is_named: bool) -> Vec<Target> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<Target> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| Target { folder: entry.path(), shown: shown.join(entry.file_name()), is_named })
        .collect();
    folders.sort_by(|a, b| a.shown.cmp(&b.shown));
    folders
}

/// The change that brings a skill's front matter to the specification, if there is something to do.
fn migration(target: &Target) -> Option<FileChange> {
    let path = target.folder.join(SKILL_FILE);
    let before = read_source(&path, MAX_SKILL_BYTES).ok()?;
    let text = migrate_front_matter(before.source.text())?;
    let after = Some(NewFile { path, text });
    Some(FileChange { before: Some(before), after, explicit: target.is_named })
}
