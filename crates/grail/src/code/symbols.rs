//! `grail code symbols`: the classes and functions of files, with their signatures.

use clap::Args;
use grail_code::outline::{Outline, OutlineKind, outline};
use grail_code::{Semantic, parse_module};
use serde::Serialize;

use crate::Exit;
use crate::cli::Format;
use crate::files::PathArguments;
use crate::render::{ErrorRecord, Terminal, display_path, path_text};

/// List classes, functions and their signatures
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code symbols src/shop/core.py
  grail code symbols src --only class
  grail code symbols --format json")]
pub struct Arguments {
    #[command(flatten)]
    pub paths: PathArguments,
    /// List only these
    #[arg(long, value_enum)]
    pub only: Option<Only>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Only {
    Class,
    Function,
    Method,
}

#[derive(Serialize)]
struct SymbolsRecord {
    symbols: Vec<SymbolRecord>,
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
struct SymbolRecord {
    path: String,
    #[serde(flatten)]
    outline: Outline,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let mut files = arguments.paths.find()?;
    let is_wanted = |outline: &Outline| match arguments.only {
        None => true,
        Some(Only::Class) => outline.kind == OutlineKind::Class,
        Some(Only::Function) => outline.kind == OutlineKind::Function,
        Some(Only::Method) => outline.kind == OutlineKind::Method,
    };
    let results = files.map("reading", |_, source_file| {
        let parsed = parse_module(source_file.source);
        let mut symbols = outline(&Semantic::new(&parsed));
        symbols.retain(&is_wanted);
        Ok(symbols)
    });
    match terminal.format() {
        Format::Json => {
            let symbols = results.into_iter().flat_map(|(path, symbols)| {
                symbols.into_iter().map(move |outline| SymbolRecord { path: path_text(&path), outline })
            });
            terminal.json(&SymbolsRecord { symbols: symbols.collect(), errors: files.error_records() })?;
        }
        Format::Text => {
            for (path, symbols) in results.iter().filter(|(_, symbols)| !symbols.is_empty()) {
                terminal.line(format_args!("{}", display_path(path).display()))?;
                for symbol in symbols {
                    let indent = "  ".repeat(symbol.depth as usize + 1);
                    terminal.line(format_args!("{:>5}{indent}{}", symbol.start.line, symbol.signature))?;
                }
            }
        }
    }
    files.finish(terminal, Exit::Fine)
}
