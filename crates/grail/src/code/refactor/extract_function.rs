//! `grail code refactor extract-function`.

use std::path::PathBuf;

use clap::Args;
use grail_code::refactor::{Selection, extract_function};
use grail_code::{FileEdits, Position, Source, Span};

use super::failure;
use crate::Exit;
use crate::changes::{OnProblem, WriteArguments, finish_changes};
use crate::files::PathArguments;
use crate::render::{Failure, Terminal};

/// Make a function of some lines or of an expression, and call it in their place
///
/// The function gets the parameters it needs and gives back what is used afterwards. What could not keep its meaning (a `break` out of the
/// lines, a name that may be unbound) is refused.
#[derive(Debug, Args)]
#[command(
    name = "extract-function",
    after_help = "Examples:
  grail code refactor extract-function src/shop/core.py:12-18 load_prices
  grail code refactor extract-function src/shop/core.py:12:9-12:30 net_price --write"
)]
pub struct Arguments {
    /// Lines `FILE:FIRST-LAST`, or characters `FILE:LINE:COLUMN-LINE:COLUMN`; both ends are included
    #[arg(value_name = "SELECTION")]
    pub selection: String,
    /// The new function's name
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub write: WriteArguments,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let (file, range) = parse_selection(&arguments.selection)?;
    let mut files = PathArguments { paths: vec![file], exclude: Vec::new() }.find()?;
    let loaded = files.load("reading", |_, _| true);
    let Some(file) = loaded.project.files.first() else { return files.finish(terminal, Exit::CouldNotRun) };
    let selection = range.selection(file.parsed.source()).ok_or_else(|| {
        Failure::new(format!("`{}` has no such place as `{}`", file.path, arguments.selection))
    })?;
    let extraction = extract_function(file, selection, &arguments.name).map_err(|error| failure(&error))?;
    let edits = FileEdits { path: file.path.clone(), edits: extraction.edits };
    let changes = loaded.changes(vec![edits])?;
    finish_changes(&changes, &files, arguments.write, OnProblem::WriteNothing, terminal)
}

/// A selection as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    Lines(u32, u32),
    Characters(Position, Position),
}

impl Range {
    fn selection(self, source: &Source) -> Option<Selection> {
        match self {
            Self::Lines(first, last) => {
                let has_lines = first > 0 && last >= first && last as usize <= source.line_starts().len();
                has_lines.then_some(Selection::Lines { first, last })
            }
            Self::Characters(first, last) => {
                let (start, last) = (source.offset(first)?, source.offset(last)?);
                let end =
                    last + source.text()[last as usize..].chars().next().map_or(0, char::len_utf8) as u32;
                (start < end).then_some(Selection::Span(Span::new(start, end)))
            }
        }
    }
}

fn parse_selection(text: &str) -> Result<(PathBuf, Range), Failure> {
    let parsed = || {
        let (head, end) = text.rsplit_once('-')?;
        let (before, last_of_head) = head.rsplit_once(':')?;
        let number = last_of_head.parse().ok()?;
        if let Some((line, column)) = end.split_once(':') {
            let (file, line_of_head) = before.rsplit_once(':')?;
            let first = Position { line: line_of_head.parse().ok()?, column: number };
            let last = Position { line: line.parse().ok()?, column: column.parse().ok()? };
            return Some((PathBuf::from(file), Range::Characters(first, last)));
        }
        Some((PathBuf::from(before), Range::Lines(number, end.parse().ok()?)))
    };
    parsed().ok_or_else(|| {
        Failure::with_hint(
            format!("`{text}` is not a selection"),
            "write `path/to/file.py:FIRST-LAST` or `path/to/file.py:LINE:COLUMN-LINE:COLUMN`",
        )
    })
}
