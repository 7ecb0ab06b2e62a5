//! `grail code`: Python source as data. One file per subcommand.

pub mod codemod;
pub mod find;
pub mod imports;
pub mod refactor;
pub mod relocate;
pub mod rename;
pub mod symbols;
pub mod target;
pub mod transform;
pub mod tree;
pub mod usages;

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
    Codemod(codemod::Arguments),
    Find(find::Arguments),
    Imports(imports::Arguments),
    Refactor(refactor::Arguments),
    Rename(rename::Arguments),
    Move(relocate::Arguments),
    Symbols(symbols::Arguments),
    Transform(transform::Arguments),
    Tree(tree::Arguments),
    Usages(usages::Arguments),
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::Codemod(arguments) => codemod::run(arguments, terminal),
        Command::Find(arguments) => find::run(arguments, terminal),
        Command::Imports(arguments) => imports::run(arguments, terminal),
        Command::Refactor(arguments) => refactor::run(arguments, terminal),
        Command::Rename(arguments) => rename::run(arguments, terminal),
        Command::Move(arguments) => relocate::run(arguments, terminal),
        Command::Symbols(arguments) => symbols::run(arguments, terminal),
        Command::Transform(arguments) => transform::run(&arguments, terminal),
        Command::Tree(arguments) => tree::run(arguments, terminal),
        Command::Usages(arguments) => usages::run(arguments, terminal),
    }
}
