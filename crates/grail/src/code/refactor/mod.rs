//! `grail code refactor`: changes that several places have to agree on. One file per refactoring.

pub mod add_parameter;
pub mod apply_stub;
pub mod extract_function;
pub mod keyword_only;
pub mod remove_parameter;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use grail_code::refactor::{self, Location, RefactorError, SignatureChange};
use grail_code::rename::MemberOracle;
use grail_code::{Field, Kind, Node, Project};
use grail_project::LoadedProject;

use super::target::{Target, TargetProject};
use crate::Exit;
use crate::changes::{OnProblem, WriteArguments, finish_changes};
use crate::files::Note;
use crate::render::{Failure, Terminal};

/// Change signatures with their calls, extract functions, apply stubs
///
/// Every refactoring makes all of its changes or none. Calls that only types could tell apart are reported and left alone.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    AddParameter(add_parameter::Arguments),
    RemoveParameter(remove_parameter::Arguments),
    KeywordOnly(keyword_only::Arguments),
    ExtractFunction(extract_function::Arguments),
    ApplyStub(apply_stub::Arguments),
}

/// The function to change. Flatten this into the arguments of a refactoring of signatures.
#[derive(Debug, Args)]
pub struct FunctionArguments {
    /// `package.module.function`, `package.module.Class.method`, or its place `FILE:LINE:COLUMN`
    #[arg(value_name = "FUNCTION")]
    pub function: String,
    /// Where to look for calls; the whole project by default
    #[arg(long = "in", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub write: WriteArguments,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::AddParameter(arguments) => add_parameter::run(&arguments, terminal),
        Command::RemoveParameter(arguments) => remove_parameter::run(&arguments, terminal),
        Command::KeywordOnly(arguments) => keyword_only::run(&arguments, terminal),
        Command::ExtractFunction(arguments) => extract_function::run(&arguments, terminal),
        Command::ApplyStub(arguments) => apply_stub::run(&arguments, terminal),
    }
}

/// Loads what may call the function, changes it, and shows or writes the result.
fn change_signature(
    arguments: &FunctionArguments,
    change: impl Fn(&Project, &refactor::Target, &[Location]) -> Result<SignatureChange, RefactorError>,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let target = match arguments.function.contains(':') {
        true => Target::parse_place(&arguments.function)?,
        false => Target::Name(arguments.function.clone()),
    };
    let mut project = TargetProject::load(target, &arguments.paths)?;
    let target = function_target(&project)?;
    let references = known_references(&project, &target);
    let changed = change(&project.loaded.project, &target, &references).map_err(|error| failure(&error))?;
    for location in &changed.unsure {
        let message = "may call the function too; left as it is";
        project.files.notes.push(note(&project.loaded, location, message));
    }
    for remark in &changed.notes {
        project.files.notes.push(note(&project.loaded, &remark.location, &remark.message));
    }
    let changes = project.loaded.changes(changed.files)?;
    finish_changes(&changes, &project.files, arguments.write, OnProblem::WriteNothing, terminal)
}

fn function_target(project: &TargetProject) -> Result<refactor::Target, Failure> {
    match &project.target {
        Target::Name(name) => Ok(refactor::Target::Named(name.clone())),
        Target::Place { file, at } => {
            let path = project.path_of(file);
            let place = path.and_then(|path| {
                let offset = project.loaded.project.file(&path)?.parsed.source().offset(*at)?;
                Some(refactor::Target::At { path, offset })
            });
            place.ok_or_else(|| {
                Failure::new(format!("`{}` has no line {}, column {}", file.display(), at.line, at.column))
            })
        }
    }
}

/// What types know of a method's calls, if they are at hand. Functions need no types.
fn known_references(project: &TargetProject, target: &refactor::Target) -> Vec<Location> {
    let place = match target {
        refactor::Target::Named(name) => method_place(&project.loaded.project, name),
        refactor::Target::At { path, offset } => Some((path.clone(), *offset)),
    };
    let (Some((path, offset)), Some(oracle)) = (place, project.oracle()) else { return Vec::new() };
    let certain = oracle.references(&path, offset).certain;
    certain.into_iter().map(|(path, span)| Location { path, span }).collect()
}

/// Where `package.module.Class.method` is defined.
fn method_place(project: &Project, name: &str) -> Option<(String, u32)> {
    let (class_name, method) = name.rsplit_once('.')?;
    let (module, class) = class_name.rsplit_once('.')?;
    let file = project.module(module)?;
    let class = definition(file.parsed.root(), Kind::ClassDef, class)?;
    let name = definition(class, Kind::FunctionDef, method)?.child(Field::Name)?;
    Some((file.path.clone(), name.span().start))
}

fn definition<'a>(within: Node<'a>, kind: Kind, name: &str) -> Option<Node<'a>> {
    within
        .list(Field::Body)
        .find(|node| node.kind() == kind && node.child(Field::Name).is_some_and(|own| own.text() == name))
}

fn note(loaded: &LoadedProject, location: &Location, message: &str) -> Note {
    let file = loaded.project.file(&location.path);
    let line = file.map_or(0, |file| file.parsed.source().position(location.span.start).line);
    let path = loaded
        .files
        .get(&location.path)
        .map_or_else(|| PathBuf::from(&location.path), |file| file.path.clone());
    Note { path, message: format!("line {line}: {message}") }
}

fn failure(error: &RefactorError) -> Failure {
    match error.hint() {
        Some(hint) => Failure::with_hint(error.to_string(), hint),
        None => Failure::new(error.to_string()),
    }
}
