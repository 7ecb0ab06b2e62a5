//! The command tree: global options and the list of subcommands. Each subcommand's arguments live in its own file.

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::render::Terminal;
use crate::{Exit, approvals, code, init, run};

#[derive(Debug, Parser)]
#[command(
    name = "grail",
    version,
    about = "Teaches a coding agent your project's own Python dialect",
    after_help = "Exit codes: 0 fine, 1 findings or a failed check, 2 could not run.",
    disable_help_subcommand = true,
    propagate_version = false
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArguments,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Clone, Copy, Debug, Args)]
pub struct GlobalArguments {
    /// How results are printed
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: Format,
    /// When to use colour; `auto` also honours NO_COLOR
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = "Output")]
    pub color: Color,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For machines: one object on stdout
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Init(init::Arguments),
    Code(code::Arguments),
    Run(Box<run::Arguments>),
    Approvals(approvals::Arguments),
}

impl Command {
    pub fn run(self, terminal: &mut Terminal) -> anyhow::Result<Exit> {
        match self {
            Self::Init(arguments) => init::run(&arguments, terminal),
            Self::Code(arguments) => code::run(arguments, terminal),
            Self::Run(arguments) => run::run(*arguments, terminal),
            Self::Approvals(arguments) => approvals::run(arguments, terminal),
        }
    }
}
