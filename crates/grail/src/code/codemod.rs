//! `grail code codemod`: built-in commands, codemod files, and replacements given on the command line.

use std::fs;
use std::path::Path;

use clap::{Args, Subcommand};
use grail_code::codemod::commands::{self, Command as BuiltIn, CommandError};
use grail_code::codemod::{Codemod, DefinitionError, Transformation, apply_to_file, may_apply};
use grail_code::imports::ImportRequest;
use grail_code::parse_module;
use grail_project::{ChangeSet, FileChange, ProjectError, SourceRoots, project_path};
use serde::Serialize;

use super::imports::parse_request;
use crate::Exit;
use crate::changes::{OnProblem, WriteArguments, finish_changes};
use crate::cli::Format;
use crate::files::{Note, PathArguments};
use crate::render::{Failure, Terminal};

/// Change code by rules: built-in, from a file, or given here
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the built-in codemods
    List,
    Show(ShowArguments),
    Run(RunArguments),
    Replace(ReplaceArguments),
}

/// Describe a codemod and its arguments
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// A built-in codemod, or a YAML file
    #[arg(value_name = "NAME|FILE")]
    pub codemod: String,
}

/// Run a codemod
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code codemod run convert-union-to-or src
  grail code codemod run ensure-import-present --arg module=__future__ --arg entity=annotations src --write
  grail code codemod run codemods/modern-paths.yaml --check")]
pub struct RunArguments {
    /// A built-in codemod, or a YAML file
    #[arg(value_name = "NAME|FILE")]
    pub codemod: String,
    #[command(flatten)]
    pub paths: PathArguments,
    /// An argument of a built-in codemod; may be repeated
    #[arg(long = "arg", value_name = "KEY=VALUE")]
    pub values: Vec<String>,
    #[command(flatten)]
    pub write: WriteArguments,
}

/// Replace every match of a pattern
///
/// `$NAME` stands for one piece of code, `$$$NAME` for any number of arguments or statements. Captured code is copied as it is written,
/// with parentheses where its new place needs them. An empty replacement removes statements, arguments and decorators.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code codemod replace 'os.path.exists($P)' 'Path($P).exists()' --add-import pathlib:Path --remove-import os
  grail code codemod replace 'self.assertEqual($A, $B)' 'assert $A == $B' tests --write
  grail code codemod replace 'print($$$)' ''")]
pub struct ReplaceArguments {
    /// Code with captures, or a structural pattern in YAML
    #[arg(value_name = "PATTERN")]
    pub pattern: String,
    /// Code with the pattern's captures
    #[arg(value_name = "REPLACEMENT", allow_hyphen_values = true)]
    pub replacement: String,
    #[command(flatten)]
    pub paths: PathArguments,
    /// Import this in files that change; may be repeated
    #[arg(long, value_name = "IMPORT")]
    pub add_import: Vec<String>,
    /// Remove this import from files that change, if nothing uses it any more; may be repeated
    #[arg(long, value_name = "IMPORT")]
    pub remove_import: Vec<String>,
    #[command(flatten)]
    pub write: WriteArguments,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::List => list(terminal),
        Command::Show(arguments) => show(&arguments.codemod, terminal),
        Command::Run(arguments) => run_codemod(&arguments, terminal),
        Command::Replace(arguments) => replace(&arguments, terminal),
    }
}

/// What a name or path on the command line stands for.
enum Found {
    BuiltIn(&'static BuiltIn),
    File(Codemod),
}

#[derive(Serialize)]
struct CodemodRecord<'a> {
    name: &'a str,
    summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    libcst: Option<&'a str>,
    arguments: Vec<ArgumentRecord<'a>>,
    /// How many rules a codemod file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<usize>,
}

#[derive(Serialize)]
struct ArgumentRecord<'a> {
    name: &'a str,
    help: &'a str,
    default: Option<&'a str>,
}

#[derive(Serialize)]
struct CodemodList<'a> {
    codemods: Vec<CodemodRecord<'a>>,
}

fn list(terminal: &mut Terminal) -> anyhow::Result<Exit> {
    if terminal.format() == Format::Json {
        let codemods = commands::ALL.iter().map(built_in_record).collect();
        terminal.json(&CodemodList { codemods })?;
        return Ok(Exit::Fine);
    }
    let width = commands::ALL.iter().map(|command| command.name.len()).max().unwrap_or(0);
    for command in commands::ALL {
        terminal.line(format_args!("{:width$}  {}", command.name, command.summary))?;
    }
    Ok(Exit::Fine)
}

fn show(name: &str, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let found = find(name)?;
    let record = match &found {
        Found::BuiltIn(command) => built_in_record(command),
        Found::File(codemod) => CodemodRecord {
            name: &codemod.name,
            summary: &codemod.description,
            libcst: None,
            arguments: Vec::new(),
            rules: Some(codemod.rules.len()),
        },
    };
    if terminal.format() == Format::Json {
        terminal.json(&record)?;
        return Ok(Exit::Fine);
    }
    terminal.line(format_args!("{}: {}", record.name, record.summary))?;
    if let Some(libcst) = record.libcst {
        terminal.line(format_args!("like LibCST's {libcst}"))?;
    }
    if let Some(rules) = record.rules {
        terminal.line(format_args!("{}", crate::render::count(rules, "rule")))?;
    }
    for ArgumentRecord { name, help, default } in &record.arguments {
        let default = match default {
            None => " (required)".to_owned(),
            Some("") => String::new(),
            Some(default) => format!(" (default: {default})"),
        };
        terminal.line(format_args!("  --arg {name}=…  {help}{default}"))?;
    }
    Ok(Exit::Fine)
}

fn built_in_record(command: &BuiltIn) -> CodemodRecord<'_> {
    let arguments = command.arguments.iter();
    CodemodRecord {
        name: command.name,
        summary: command.summary,
        libcst: command.libcst,
        arguments: arguments
            .map(|argument| ArgumentRecord {
                name: argument.name,
                help: argument.help,
                default: argument.default,
            })
            .collect(),
        rules: None,
    }
}

fn run_codemod(arguments: &RunArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let mut values = Vec::new();
    for value in &arguments.values {
        let pair = value.split_once('=').ok_or_else(|| {
            Failure::with_hint(format!("`{value}` is not `KEY=VALUE`"), "for example `--arg module=typing`")
        })?;
        values.push(pair);
    }
    match find(&arguments.codemod)? {
        Found::BuiltIn(command) => {
            let values = commands::Arguments::new(command, values)
                .map_err(|error| command_failure(command, &error))?;
            let transformation = Transformation::Command(command, &values);
            transform(transformation, &arguments.paths, arguments.write, terminal)
        }
        Found::File(_) if !values.is_empty() => {
            Err(Failure::new("a codemod file takes no `--arg`; only built-in codemods do").into())
        }
        Found::File(codemod) => {
            transform(Transformation::Codemod(&codemod), &arguments.paths, arguments.write, terminal)
        }
    }
}

fn replace(arguments: &ReplaceArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let mut codemod = Codemod::replace(&arguments.pattern, &arguments.replacement)
        .map_err(|error| definition_failure(None, &error))?;
    for rule in &mut codemod.rules {
        rule.add_imports = requests(&arguments.add_import)?;
        rule.remove_imports = requests(&arguments.remove_import)?;
    }
    transform(Transformation::Codemod(&codemod), &arguments.paths, arguments.write, terminal)
}

fn requests(texts: &[String]) -> Result<Vec<ImportRequest>, Failure> {
    texts.iter().map(|text| parse_request(text)).collect()
}

/// Runs a codemod over the files. Each file stands for itself: one that cannot be changed does not stop the others.
fn transform(
    transformation: Transformation<'_>,
    paths: &PathArguments,
    write: WriteArguments,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let mut files = paths.find()?;
    let root = files.project.root.clone();
    let roots = SourceRoots::new(&root, &files.project.config.project.src);
    let results = files.map("running the codemod", |file, source_file| {
        if !may_apply(source_file.source.text(), transformation) {
            return Ok((None, Vec::new()));
        }
        let parsed = parse_module(source_file.source.clone());
        let module = roots.module_of(&file.path).unwrap_or_default();
        let outcome = apply_to_file(&parsed, &module, &project_path(&root, &file.path), transformation)
            .map_err(|error| ProjectError::Refused { path: file.path.clone(), message: error.to_string() })?;
        let change = match outcome.new_text {
            Some(text) => FileChange::replace(source_file, file.explicit, text)?,
            None => None,
        };
        Ok((change, outcome.notes))
    });
    let mut changes = Vec::new();
    for (path, (change, notes)) in results {
        files.notes.extend(notes.into_iter().map(|message| Note { path: path.clone(), message }));
        changes.extend(change);
    }
    finish_changes(&ChangeSet::new(changes), &files, write, OnProblem::WriteOthers, terminal)
}

fn find(name: &str) -> Result<Found, Failure> {
    let path = Path::new(name);
    let is_file = path
        .extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json");
    if !is_file && !path.is_file() {
        return commands::find(name).map(Found::BuiltIn).map_err(|error| {
            Failure::with_hint(
                error.to_string(),
                "`grail code codemod list` names them; a codemod file ends in `.yaml`",
            )
        });
    }
    let text = fs::read_to_string(path).map_err(|error| {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "it does not exist".to_owned(),
            _ => error.to_string(),
        };
        Failure::new(format!("cannot read `{name}`: {reason}"))
    })?;
    Codemod::parse(&text).map(Found::File).map_err(|error| definition_failure(Some(name), &error))
}

fn definition_failure(file: Option<&str>, error: &DefinitionError) -> Failure {
    let message = match (file, error.line) {
        (Some(file), Some(line)) => format!("`{file}:{line}`: {}", error.message),
        (Some(file), None) => format!("`{file}`: {}", error.message),
        (None, _) => error.message.clone(),
    };
    Failure { message, snippet: error.snippet.clone(), hint: error.hint.clone() }
}

fn command_failure(command: &BuiltIn, error: &CommandError) -> Failure {
    let names: Vec<String> =
        command.arguments.iter().map(|argument| format!("`{}`", argument.name)).collect();
    let hint = match names.is_empty() {
        true => "it takes no arguments".to_owned(),
        false => {
            format!("it takes {}; `grail code codemod show {}` explains them", names.join(", "), command.name)
        }
    };
    Failure::with_hint(error.to_string(), hint)
}
