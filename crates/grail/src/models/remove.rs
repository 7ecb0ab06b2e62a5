//! `grail models remove`

use clap::Args;
use grail_model::local::remove_weights;
use serde_json::json;

use super::{cache, megabytes};
use crate::Exit;
use crate::cli::Format;
use crate::render::Terminal;

/// Take pulled weights out of the cache
#[derive(Debug, Args)]
pub struct Arguments {
    /// A name that `grail models list` shows
    #[arg(value_name = "NAME")]
    pub name: String,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let bytes = remove_weights(&cache()?, &arguments.name)?;
    if terminal.format() == Format::Json {
        terminal.json(&json!({"removed": arguments.name, "bytes": bytes}))?;
    } else {
        terminal.line(format_args!("removed {}, {}", arguments.name, megabytes(bytes)))?;
    }
    Ok(Exit::Fine)
}
