//! `grail code usages`: every place that means a symbol.

use std::path::PathBuf;

use clap::Args;
use grail_code::rename::{MemberOracle, Place, Usages, usages_at, usages_named};
use serde::Serialize;

use super::target::{Target, TargetProject, rename_failure};
use crate::Exit;
use crate::cli::Format;
use crate::render::{ErrorRecord, Failure, Terminal, count};

/// List every place that means a symbol
///
/// The definition is among them. Places that only may mean it are marked `?`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code usages src/shop/core.py:12:5
  grail code usages --name shop.core.Order.total")]
pub struct Arguments {
    /// The place of the name
    #[arg(value_name = "FILE:LINE:COLUMN", required_unless_present = "name", conflicts_with = "name")]
    pub place: Option<String>,
    /// The symbol's dotted name instead of a place
    #[arg(long, value_name = "DOTTED")]
    pub name: Option<String>,
    /// Where to look; the whole project by default
    #[arg(long = "in", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

#[derive(Serialize)]
struct UsagesRecord {
    name: String,
    usages: Vec<Place>,
    unsure: Vec<Place>,
    errors: Vec<ErrorRecord>,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let target = match (arguments.name, arguments.place) {
        (Some(name), _) => Target::Name(name),
        (None, Some(place)) => Target::parse_place(&place)?,
        (None, None) => return Err(Failure::new("name a symbol or its place").into()),
    };
    let project = TargetProject::load(target, &arguments.paths)?;
    let usages = find(&project)?;
    match terminal.format() {
        Format::Json => terminal.json(&UsagesRecord {
            name: usages.name,
            usages: usages.certain,
            unsure: usages.unsure,
            errors: project.files.error_records(),
        })?,
        Format::Text => {
            let certain = usages.certain.iter().map(|place| (place, ""));
            for (place, mark) in certain.chain(usages.unsure.iter().map(|place| (place, " ?"))) {
                let line = line_text(&project, place);
                terminal.line(format_args!(
                    "{}:{}:{}:{mark} {line}",
                    place.path, place.at.line, place.at.column
                ))?;
            }
            terminal.note(format_args!("{} of `{}`", count(usages.certain.len(), "usage"), usages.name))?;
        }
    }
    project.files.finish(terminal, Exit::Fine)
}

fn find(project: &TargetProject) -> Result<Usages, Failure> {
    let oracle = project.oracle();
    let oracle = oracle.as_ref().map(|oracle| oracle as &dyn MemberOracle);
    let found = match &project.target {
        Target::Name(name) => usages_named(&project.loaded.project, name, oracle),
        Target::Place { file, at } => {
            let path = project.path_of(file).unwrap_or_else(|| file.display().to_string());
            usages_at(&project.loaded.project, &path, *at, oracle)
        }
    };
    found.map_err(|error| rename_failure(&error))
}

fn line_text<'a>(project: &'a TargetProject, place: &Place) -> &'a str {
    let Some(file) = project.loaded.project.file(&place.path) else { return "" };
    let source = file.parsed.source();
    let (start, end) = (source.line_start(place.span.start), source.line_end(place.span.start));
    source.text()[start as usize..end as usize].trim()
}
