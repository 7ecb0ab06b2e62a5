//! The command tree: global options and the list of subcommands. Each subcommand's arguments live in its own file.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::render::Terminal;
use crate::{
    Exit, approvals, check, code, compare, dataset, demo, eval, events, generate, hooks, host, improve, init,
    learn, lsp, mcp, models, promote, proposals, rules, run, skills, train,
};

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
    #[arg(long, global = true, value_parser = plain_formats(), default_value = "text", value_name = "FORMAT", help_heading = "Output")]
    pub format: OutputFormat,
    /// When to use colour; `auto` also honours NO_COLOR
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = "Output")]
    pub color: Color,
}

/// Whom a command speaks to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// What `--format` may be. Every command knows the first two; `check` takes an option of the same name that knows all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// For machines: one object on stdout
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

impl OutputFormat {
    /// Whom a command speaks to. The formats for other machines are one command's own business.
    pub fn plain(self) -> Format {
        if self == Self::Text { Format::Text } else { Format::Json }
    }
}

fn plain_formats() -> impl TypedValueParser<Value = OutputFormat> {
    let names = [OutputFormat::Text, OutputFormat::Json];
    PossibleValuesParser::new(names.iter().filter_map(ValueEnum::to_possible_value))
        .map(|name| if name == "json" { OutputFormat::Json } else { OutputFormat::Text })
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
    Check(Box<check::Arguments>),
    Rules(rules::Arguments),
    Skills(Box<skills::Arguments>),
    Generate(Box<generate::Arguments>),
    Proposals(proposals::Arguments),
    Hooks(hooks::Arguments),
    Events(events::Arguments),
    Dataset(Box<dataset::Arguments>),
    Models(models::Arguments),
    Train(Box<train::Arguments>),
    Eval(Box<eval::Arguments>),
    Compare(Box<compare::Arguments>),
    Promote(Box<promote::Arguments>),
    Rollback(promote::RollbackArguments),
    Learn(learn::Arguments),
    Improve(Box<improve::Arguments>),
    Demo(demo::Arguments),
    Mcp(mcp::Arguments),
    Host(host::Arguments),
    Lsp(lsp::Arguments),
    Code(code::Arguments),
    Run(Box<run::Arguments>),
    Approvals(approvals::Arguments),
}

impl Command {
    pub fn run(self, terminal: &mut Terminal) -> anyhow::Result<Exit> {
        match self {
            Self::Init(arguments) => init::run(&arguments, terminal),
            Self::Check(arguments) => check::run(&arguments, terminal),
            Self::Rules(arguments) => rules::run(arguments, terminal),
            Self::Skills(arguments) => skills::run(*arguments, terminal),
            Self::Generate(arguments) => generate::run(&arguments, terminal),
            Self::Proposals(arguments) => proposals::run(arguments, terminal),
            Self::Hooks(arguments) => hooks::run(&arguments, terminal),
            Self::Events(arguments) => events::run(arguments, terminal),
            Self::Dataset(arguments) => dataset::run(*arguments, terminal),
            Self::Models(arguments) => models::run(arguments, terminal),
            Self::Train(arguments) => train::run(&arguments, terminal),
            Self::Eval(arguments) => eval::run(&arguments, terminal),
            Self::Compare(arguments) => compare::run(&arguments, terminal),
            Self::Promote(arguments) => promote::run(&arguments, terminal),
            Self::Rollback(arguments) => promote::rollback(&arguments, terminal),
            Self::Learn(arguments) => learn::run(&arguments, terminal),
            Self::Improve(arguments) => improve::run(&arguments, terminal),
            Self::Demo(arguments) => demo::run(&arguments, terminal),
            Self::Mcp(arguments) => mcp::run(arguments, terminal),
            Self::Host(arguments) => host::run(&arguments, terminal),
            Self::Lsp(arguments) => lsp::run(&arguments, terminal),
            Self::Code(arguments) => code::run(arguments, terminal),
            Self::Run(arguments) => run::run(*arguments, terminal),
            Self::Approvals(arguments) => approvals::run(arguments, terminal),
        }
    }
}
