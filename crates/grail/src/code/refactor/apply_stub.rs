//! `grail code refactor apply-stub`.

use std::path::PathBuf;

use clap::Args;
use grail_code::FileEdits;
use grail_code::refactor::{StubOptions, apply_stub};
use grail_project::project_path;

use super::{failure, note};
use crate::Exit;
use crate::changes::{OnProblem, WriteArguments, finish_changes};
use crate::files::PathArguments;
use crate::render::{Failure, Terminal};

/// Write the annotations of a stub file into the source it describes
#[derive(Debug, Args)]
#[command(
    name = "apply-stub",
    after_help = "Examples:
  grail code refactor apply-stub stubs/core.pyi src/shop/core.py
  grail code refactor apply-stub src/shop/core.pyi --overwrite --write"
)]
pub struct Arguments {
    /// The stub file
    #[arg(value_name = "STUB")]
    pub stub: PathBuf,
    /// The source; by default the `.py` beside the stub
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Replace annotations that are there already
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub write: WriteArguments,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let file = arguments.file.clone().unwrap_or_else(|| arguments.stub.with_extension("py"));
    let paths = vec![file.clone(), arguments.stub.clone()];
    let mut files = PathArguments { paths, exclude: Vec::new() }.find()?;
    let loaded = files.load("reading", |_, _| true);
    let find = |path: &PathBuf| loaded.project.file(&project_path(&files.project.root, path));
    let (Some(source), Some(stub)) = (find(&file), find(&arguments.stub)) else {
        return files.finish(terminal, Exit::CouldNotRun);
    };
    if source.path == stub.path {
        return Err(Failure::with_hint(
            format!("`{}` is both stub and source", source.path),
            "give the source as a second path",
        )
        .into());
    }
    let options = StubOptions { overwrite: arguments.overwrite };
    let change = apply_stub(source, stub, &options).map_err(|error| failure(&error))?;
    let notes = change.notes.iter().map(|remark| note(&loaded, &remark.location, &remark.message));
    let notes: Vec<_> = notes.collect();
    let changes = loaded.changes(vec![FileEdits { path: source.path.clone(), edits: change.edits }])?;
    files.notes.extend(notes);
    finish_changes(&changes, &files, arguments.write, OnProblem::WriteNothing, terminal)
}
