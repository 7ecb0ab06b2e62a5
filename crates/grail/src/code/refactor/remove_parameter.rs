//! `grail code refactor remove-parameter`.

use clap::Args;
use grail_code::refactor::{RemoveParameter, remove_parameter};

use super::{FunctionArguments, change_signature};
use crate::Exit;
use crate::render::Terminal;

/// Remove a parameter of a function, and its argument from the calls
#[derive(Debug, Args)]
#[command(
    name = "remove-parameter",
    after_help = "Examples:
  grail code refactor remove-parameter shop.core.price verbose
  grail code refactor remove-parameter src/shop/core.py:12:5 verbose --force --write"
)]
pub struct Arguments {
    #[command(flatten)]
    pub function: FunctionArguments,
    /// The parameter's name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Remove it though the function uses it
    #[arg(long)]
    pub force: bool,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let request = RemoveParameter { name: arguments.name.clone(), force: arguments.force };
    change_signature(
        &arguments.function,
        |project, target, references| remove_parameter(project, target, &request, references),
        terminal,
    )
}
