//! `grail code`: Python source as data. One file per subcommand.

pub mod imports;

use clap::{Args, Subcommand};

use crate::Exit;
use crate::render::Terminal;

/// Search and change Python source
///
/// Changes are shown as a diff first; `--write` applies them. What a change does not name stays byte for byte.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Imports(imports::Arguments),
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::Imports(arguments) => imports::run(arguments, terminal),
    }
}
