//! `grail code refactor keyword-only`.

use clap::Args;
use grail_code::refactor::make_keyword_only;

use super::{FunctionArguments, change_signature};
use crate::Exit;
use crate::render::Terminal;

/// Make parameters keyword-only, and name them at the calls
#[derive(Debug, Args)]
#[command(
    name = "keyword-only",
    after_help = "Examples:
  grail code refactor keyword-only shop.core.price tax currency --write"
)]
pub struct Arguments {
    #[command(flatten)]
    pub function: FunctionArguments,
    /// The parameters' names
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let names: Vec<&str> = arguments.names.iter().map(String::as_str).collect();
    change_signature(
        &arguments.function,
        |project, target, references| make_keyword_only(project, target, &names, references),
        terminal,
    )
}
