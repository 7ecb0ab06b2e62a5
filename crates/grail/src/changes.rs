//! Changes to results: a diff by default, written with `--write`, a verdict with `--check`.

use clap::Args;
use grail_project::{ChangeSet, FileChange, unified_diff, write_changes};
use serde::Serialize;

use crate::Exit;
use crate::cli::Format;
use crate::files::{Note, ProjectFiles};
use crate::render::{ErrorRecord, Terminal, count, path_text};

/// Flatten this into the arguments of a command that changes files.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WriteArguments {
    /// Write the changes instead of showing them
    #[arg(long, conflicts_with = "check", help_heading = "Changes")]
    pub write: bool,
    /// Show the changes and exit with 1 if there are any
    #[arg(long, help_heading = "Changes")]
    pub check: bool,
}

/// What a file that could not be read or worked on means for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnProblem {
    /// Write nothing: the changes belong together, like those of a rename.
    WriteNothing,
    /// Write the other files: each change stands for itself.
    WriteOthers,
}

#[derive(Debug, Serialize)]
struct ChangesRecord<'a> {
    changes: Vec<ChangeRecord>,
    written: bool,
    #[serde(skip_serializing_if = "<[Note]>::is_empty")]
    notes: &'a [Note],
    errors: Vec<ErrorRecord>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ChangeRecord {
    path: String,
    status: &'static str,
    /// Where a moved file was.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    diff: String,
}

/// Shows or writes the changes and decides the exit code: 0, or 1 with `--check` when there are changes, or 2 after problems.
pub fn finish_changes(
    changes: &ChangeSet,
    files: &ProjectFiles,
    arguments: WriteArguments,
    on_problem: OnProblem,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let may_write = files.problems.is_empty() || on_problem == OnProblem::WriteOthers;
    let written = arguments.write && may_write && !changes.is_empty();
    if written {
        write_changes(changes, &files.project.root)?;
    }
    match terminal.format() {
        Format::Json => terminal.json(&ChangesRecord {
            changes: changes.changes.iter().map(change_record).collect(),
            written,
            notes: &files.notes,
            errors: files.error_records(),
        })?,
        Format::Text if arguments.write => {}
        Format::Text => {
            for change in &changes.changes {
                terminal.diff(&unified_diff(change))?;
            }
        }
    }
    if terminal.format() == Format::Text {
        for Note { path, message } in &files.notes {
            terminal.note(format_args!("{}: {message}", path.display()))?;
        }
    }
    let exit = if arguments.check && !changes.is_empty() { Exit::Findings } else { Exit::Fine };
    let exit = files.finish(terminal, exit)?;
    if terminal.format() == Format::Text {
        summarise(changes.len(), arguments, written, terminal)?;
    }
    Ok(exit)
}

fn summarise(
    number: usize,
    arguments: WriteArguments,
    written: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let files = count(number, "file");
    match (number, arguments.write, written) {
        (0, _, _) => terminal.note(format_args!("nothing to change")),
        (_, true, true) => terminal.note(format_args!("changed {files}")),
        (_, true, false) => terminal.note(format_args!("nothing written; {files} would change")),
        (_, false, _) => terminal.note(format_args!("{files} would change; `--write` applies it")),
    }
}

pub(crate) fn change_record(change: &FileChange) -> ChangeRecord {
    let before = change.before.as_ref().map(|file| file.path.as_path());
    let after = change.after.as_ref().map(|file| file.path.as_path());
    let status = match (before, after) {
        (None, _) => "created",
        (_, None) => "removed",
        (before, after) if before == after => "changed",
        _ => "moved",
    };
    let from = before.filter(|_| status == "moved").map(path_text);
    ChangeRecord { path: path_text(change.path()), status, from, diff: unified_diff(change) }
}
