//! `grail code refactor add-parameter`.

use clap::Args;
use grail_code::refactor::{ParameterPosition, ParameterSpec, add_parameter};

use super::{FunctionArguments, change_signature};
use crate::Exit;
use crate::render::Terminal;

/// Add a parameter to a function, and a value to its calls
#[derive(Debug, Args)]
#[command(
    name = "add-parameter",
    after_help = "Examples:
  grail code refactor add-parameter shop.core.price currency --value '\"EUR\"'
  grail code refactor add-parameter shop.core.Order.total tax --annotation float --default 0.2 --keyword-only --write"
)]
pub struct Arguments {
    #[command(flatten)]
    pub function: FunctionArguments,
    /// The new parameter's name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Its annotation
    #[arg(long, value_name = "TYPE")]
    pub annotation: Option<String>,
    /// Its default
    #[arg(long, value_name = "EXPRESSION")]
    pub default: Option<String>,
    /// What every call passes; without it, the parameter needs a default unless nothing calls the function
    #[arg(long, value_name = "EXPRESSION")]
    pub value: Option<String>,
    /// Its place among the positional parameters, from 0; `self` and `cls` are not counted
    #[arg(long, value_name = "INDEX", conflicts_with = "keyword_only")]
    pub position: Option<usize>,
    /// Put it behind `*`
    #[arg(long)]
    pub keyword_only: bool,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let parameter = ParameterSpec {
        name: arguments.name.clone(),
        annotation: arguments.annotation.clone(),
        default: arguments.default.clone(),
        position: match (arguments.keyword_only, arguments.position) {
            (true, _) => ParameterPosition::KeywordOnly,
            (false, Some(index)) => ParameterPosition::Index(index),
            (false, None) => ParameterPosition::Last,
        },
    };
    let value = arguments.value.as_deref();
    change_signature(
        &arguments.function,
        |project, target, references| add_parameter(project, target, &parameter, value, references),
        terminal,
    )
}
