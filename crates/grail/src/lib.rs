//! The command line: parse arguments, call one library function, render.
//!
//! One file per subcommand. Data goes to stdout, everything else to stderr. This is a library only so that the reference
//! documentation can be generated from the same command tree; nothing else depends on it.

pub mod approvals;
mod asking;
pub mod changes;
pub mod check;
pub mod cli;
pub mod code;
pub mod compare;
pub mod dataset;
pub mod demo;
pub mod eval;
pub mod events;
pub mod files;
pub mod generate;
pub mod hooks;
pub mod host;
pub mod improve;
pub mod init;
mod interrupt;
pub mod learn;
pub mod lsp;
pub mod mcp;
mod memory;
pub mod models;
pub mod progress;
pub mod promote;
pub mod proposals;
pub mod render;
pub mod rules;
pub mod run;
pub mod skills;
mod table;
pub mod train;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::render::Terminal;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine,
    /// There are findings, or a check failed.
    Findings,
    CouldNotRun,
}

/// The whole command tree, for documentation.
pub fn command() -> clap::Command {
    cli::Cli::command()
}

/// Runs the command line of this process.
pub fn run() -> Exit {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not failures, and a closed pipe is nobody's problem.
            let _ = error.print();
            return if error.use_stderr() { Exit::CouldNotRun } else { Exit::Fine };
        }
    };
    let mut terminal = Terminal::new(cli.global.format.plain(), cli.global.color);
    let result = cli.command.run(&mut terminal).and_then(|exit| {
        terminal.flush()?;
        Ok(exit)
    });
    result.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return Exit::Fine;
        }
        terminal.failure(&error);
        Exit::CouldNotRun
    })
}

/// Whoever read our output has seen enough, as with `grail … | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Findings => 1,
            Exit::CouldNotRun => 2,
        })
    }
}
