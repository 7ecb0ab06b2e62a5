//! `grail code tree`: one file as a tree, for people as an outline, for programs as data; and data back to source.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use grail_code::{Diagnostic, Field, Parsed, data, parse_module};
use grail_project::{DEFAULT_MAX_BYTES, read_source};
use serde::Serialize;
use serde_json::Value;

use crate::Exit;
use crate::cli::Format;
use crate::render::{Failure, Terminal, display_path, path_text};

/// Show the syntax tree of a file; with `--format json` as lossless data
///
/// The data holds every byte of the source. A program may change it; `--print` turns it back into source.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code tree src/shop/core.py
  grail code tree src/shop/core.py --format json > core.json
  grail code tree --print core.json")]
pub struct Arguments {
    /// A Python file; with `--print` a tree in JSON
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print the source of a tree
    #[arg(long)]
    pub print: bool,
}

#[derive(Serialize)]
struct TreeRecord<'a> {
    path: String,
    diagnostics: &'a [Diagnostic],
    tree: Value,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    if arguments.print {
        return print(&arguments, terminal);
    }
    let parsed = parse_module(read_source(&arguments.file, DEFAULT_MAX_BYTES)?.source);
    match terminal.format() {
        Format::Json => {
            let tree = data::tree(&parsed).map_err(|error| Failure::new(error.to_string()))?;
            let path = path_text(&arguments.file);
            terminal.json(&TreeRecord { path, diagnostics: parsed.diagnostics(), tree })?;
        }
        Format::Text => {
            terminal.raw(&outline(&parsed))?;
            for diagnostic in parsed.diagnostics() {
                let place = format!("{}:{}", diagnostic.start.line, diagnostic.start.column);
                let path = display_path(&arguments.file).display();
                terminal.warning(format_args!("{path}:{place}: {}", diagnostic.message))?;
            }
        }
    }
    Ok(Exit::Fine)
}

/// A tree may be larger than any source: it is some twenty times the size of the text it holds.
const MAX_TREE_BYTES: u64 = 32 * DEFAULT_MAX_BYTES;

fn print(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let text = read_source(&arguments.file, MAX_TREE_BYTES)?.source;
    let value = data::from_json(text.text()).map_err(|error| {
        let file = display_path(&arguments.file).display();
        Failure::with_hint(
            format!("`{file}` holds no tree: {error}"),
            "`grail code tree FILE --format json` makes one",
        )
    })?;
    terminal.raw(&data::codegen(value.get("tree").unwrap_or(&value)))?;
    Ok(Exit::Fine)
}

/// One line a node: its field, kind and place, and the text of a leaf.
fn outline(parsed: &Parsed) -> String {
    let mut result = String::new();
    let mut depths = vec![0_usize; parsed.len()];
    for node in parsed.nodes() {
        let depth = node.parent().map_or(0, |parent| depths[parent.id().index()] + 1);
        depths[node.id().index()] = depth;
        let field = match node.field() {
            Field::Root => String::new(),
            field => format!("{}: ", field.name()),
        };
        let start = parsed.source().position(node.span().start);
        // Deep trees lean to the left; their indentation need not.
        let indent = "  ".repeat(depth.min(60));
        let _ = write!(result, "{indent}{field}{} {}:{}", node.kind().name(), start.line, start.column);
        if node.children().next().is_none() && !node.span().is_empty() {
            let _ = write!(result, " {}", first_line(node.text()));
        }
        result.push('\n');
    }
    result
}

fn first_line(text: &str) -> String {
    match text.split_once('\n') {
        None => text.to_owned(),
        Some((first, _)) => format!("{} …", first.trim_end()),
    }
}
