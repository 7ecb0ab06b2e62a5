//! `grail code imports`: add an import, remove one that is no longer used, find all that are not used.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use grail_code::imports::{self, ImportRequest, UnusedImport, UnusedOptions};
use grail_code::{ModuleName, Semantic, Span, parse_module};
use grail_project::{ChangeSet, FileChange, ProjectError, SourceRoots};
use serde::Serialize;

use crate::Exit;
use crate::changes::{OnProblem, WriteArguments, finish_changes};
use crate::cli::Format;
use crate::files::{PathArguments, ProjectFiles};
use crate::render::{ErrorRecord, Failure, Terminal, count};

/// Add, remove and check imports
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Add(AddArguments),
    Remove(RemoveArguments),
    Unused(UnusedArguments),
}

/// Add an import to files that lack it
///
/// It joins an existing `from` import where there is one, else it goes into its group behind the docstring and `__future__` imports.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code imports add typing:Optional src/shop/models.py
  grail code imports add 'numpy as np' src --write
  grail code imports add 'from . import settings' src/shop/app.py")]
pub struct AddArguments {
    /// `module`, `module as alias`, `module:name`, `.module:name as alias`, or an import statement
    #[arg(value_name = "IMPORT")]
    pub import: String,
    #[command(flatten)]
    pub paths: PathArguments,
    #[command(flatten)]
    pub write: WriteArguments,
}

/// Remove an import from files that do not use it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code imports remove typing:Optional
  grail code imports remove six src --even-if-used --write")]
pub struct RemoveArguments {
    /// `module`, `module as alias`, `module:name`, `.module:name as alias`, or an import statement
    #[arg(value_name = "IMPORT")]
    pub import: String,
    /// Remove the import although names refer to it
    #[arg(long)]
    pub even_if_used: bool,
    #[command(flatten)]
    pub paths: PathArguments,
    #[command(flatten)]
    pub write: WriteArguments,
}

/// List imports that nothing uses; exit 1 if there are any
///
/// Kept are names in `__all__`, `import a as a`, imports tried under `except ImportError`, `__future__`, `# noqa`, and what an
/// `__init__.py` imports for others. Files that do not parse are skipped: the lost part may use the name.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code imports unused
  grail code imports unused src --diff
  grail code imports unused src --write")]
pub struct UnusedArguments {
    #[command(flatten)]
    pub paths: PathArguments,
    /// Look into `__init__.py` files too
    #[arg(long)]
    pub packages: bool,
    /// Remove them
    #[arg(long, visible_alias = "fix", help_heading = "Changes")]
    pub write: bool,
    /// Show what removing them would change
    #[arg(long, conflicts_with = "write", help_heading = "Changes")]
    pub diff: bool,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::Add(arguments) => add(&arguments, terminal),
        Command::Remove(arguments) => remove(&arguments, terminal),
        Command::Unused(arguments) => unused(&arguments, terminal),
    }
}

/// Reads an import as people write it on the command line.
pub fn parse_request(text: &str) -> Result<ImportRequest, Failure> {
    ImportRequest::parse(text).map_err(|error| {
        Failure::with_hint(
            error.to_string(),
            "write `module`, `module:name`, `module:name as alias` or an import statement with one name",
        )
    })
}

fn add(arguments: &AddArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let request = parse_request(&arguments.import)?;
    let mut files = arguments.paths.find()?;
    let roots = SourceRoots::new(&files.project.root, &files.project.config.project.src);
    let changes = files.map("adding imports", |file, source_file| {
        let parsed = parse_module(source_file.source.clone());
        let module = roots.module_of(&file.path).unwrap_or_default();
        let edits = imports::add(&Semantic::of_module(&parsed, module), &request)
            .map_err(|error| ProjectError::Refused { path: file.path.clone(), message: error.to_string() })?;
        FileChange::from_edits(source_file, file.explicit, edits)
    });
    finish(changes, &files, arguments.write, terminal)
}

fn remove(arguments: &RemoveArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let request = parse_request(&arguments.import)?;
    let mut files = arguments.paths.find()?;
    let roots = SourceRoots::new(&files.project.root, &files.project.config.project.src);
    let changes = files.map("removing imports", |file, source_file| {
        if !mentions_import(source_file.source.text()) {
            return Ok(None);
        }
        let parsed = parse_module(source_file.source.clone());
        let module = roots.module_of(&file.path).unwrap_or_default();
        let semantic = Semantic::of_module(&parsed, module);
        let edits = match arguments.even_if_used {
            true => imports::remove(&semantic, &request),
            false if !parsed.is_valid() => Vec::new(),
            false => imports::remove_if_unused(&semantic, &request),
        };
        FileChange::from_edits(source_file, file.explicit, edits)
    });
    finish(changes, &files, arguments.write, terminal)
}

fn finish(
    changes: Vec<(PathBuf, Option<FileChange>)>,
    files: &ProjectFiles,
    write: WriteArguments,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let changes = ChangeSet::new(changes.into_iter().filter_map(|(_, change)| change).collect());
    finish_changes(&changes, files, write, OnProblem::WriteOthers, terminal)
}

/// What is known of one file after looking for unused imports.
enum Looked {
    Clean,
    /// The file does not parse: where and why.
    Skipped(u32, String),
    Found(Vec<UnusedImport>, Option<FileChange>),
}

#[derive(Serialize)]
struct UnusedRecord<'a> {
    path: &'a Path,
    line: u32,
    column: u32,
    imported: &'a str,
    name: &'a str,
    span: Span,
}

#[derive(Serialize)]
struct SkippedRecord<'a> {
    path: &'a Path,
    line: u32,
    message: &'a str,
}

#[derive(Serialize)]
struct UnusedReport<'a> {
    unused: Vec<UnusedRecord<'a>>,
    skipped: Vec<SkippedRecord<'a>>,
    errors: Vec<ErrorRecord>,
}

fn unused(arguments: &UnusedArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let options = UnusedOptions { include_packages: arguments.packages };
    let wants_changes = arguments.write || arguments.diff;
    let mut files = arguments.paths.find()?;
    let looked = files.map("looking for unused imports", |file, source_file| {
        if !mentions_import(source_file.source.text()) {
            return Ok(Looked::Clean);
        }
        // The file's own name would only make relative imports absolute; that it is a package can be seen for less.
        let is_package = file.path.file_stem().is_some_and(|stem| stem == "__init__");
        if is_package && !options.include_packages {
            return Ok(Looked::Clean);
        }
        let kept = wants_changes.then(|| source_file.clone());
        let parsed = parse_module(source_file.source);
        if let Some(problem) = parsed.diagnostics().first() {
            return Ok(Looked::Skipped(problem.start.line, problem.message.clone()));
        }
        let semantic = Semantic::of_module(&parsed, ModuleName { name: String::new(), is_package });
        let found = imports::unused(&semantic, &options);
        if found.is_empty() {
            return Ok(Looked::Clean);
        }
        let change = match kept {
            Some(kept) => {
                let edits = imports::remove_unused(&semantic, &options);
                FileChange::from_edits(kept, file.explicit, edits)?
            }
            None => None,
        };
        Ok(Looked::Found(found, change))
    });
    if wants_changes {
        warn_of_skipped(&looked, terminal)?;
        let changes = looked.into_iter().map(|(path, looked)| match looked {
            Looked::Found(_, change) => (path, change),
            _ => (path, None),
        });
        let write = WriteArguments { write: arguments.write, check: false };
        return finish(changes.collect(), &files, write, terminal);
    }
    report_unused(&looked, &files, terminal)
}

fn report_unused(
    looked: &[(PathBuf, Looked)],
    files: &ProjectFiles,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let mut unused = Vec::new();
    let mut skipped = Vec::new();
    for (path, looked) in looked {
        match looked {
            Looked::Clean => {}
            Looked::Skipped(line, message) => skipped.push(SkippedRecord { path, line: *line, message }),
            Looked::Found(found, _) => unused.extend(found.iter().map(|import| UnusedRecord {
                path,
                line: import.start.line,
                column: import.start.column,
                imported: &import.imported,
                name: &import.name,
                span: import.span,
            })),
        }
    }
    let number = unused.len();
    let exit = if number == 0 { Exit::Fine } else { Exit::Findings };
    match terminal.format() {
        Format::Json => {
            terminal.json(&UnusedReport { unused, skipped, errors: files.error_records() })?;
            files.finish(terminal, exit)
        }
        Format::Text => {
            for UnusedRecord { path, line, column, imported, .. } in &unused {
                let path = path.display();
                terminal.line(format_args!("{path}:{line}:{column}: `{imported}` is never used"))?;
            }
            warn_of_skipped(looked, terminal)?;
            let exit = files.finish(terminal, exit)?;
            match number {
                0 => terminal.note(format_args!("no unused imports"))?,
                _ => terminal
                    .note(format_args!("{}; `--write` removes them", count(number, "unused import")))?,
            }
            Ok(exit)
        }
    }
}

fn warn_of_skipped(looked: &[(PathBuf, Looked)], terminal: &mut Terminal) -> anyhow::Result<()> {
    for (path, looked) in looked {
        if let Looked::Skipped(line, message) = looked {
            terminal.warning(format_args!(
                "skipped `{}`, which does not parse: line {line}: {message}",
                path.display()
            ))?;
        }
    }
    Ok(())
}

/// Whether a text can contain an import statement at all.
fn mentions_import(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"import").is_some()
}
