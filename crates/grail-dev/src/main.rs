//! Developer tasks: `cargo run -p grail-dev -- tidy`, `… gen`, `… roundtrip`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use grail_dev::{generated, mutation, roundtrip, tidy};
use grail_rules::{SandboxedRules, ScriptRunner};
use grail_sandbox::worker;

/// Rules in Python run in a worker, which this program is when it is started so.
#[global_allocator]
static ALLOCATOR: worker::LimitedAllocator = worker::LimitedAllocator;

#[derive(Parser)]
#[command(name = "grail-dev", about = "Tasks for people who work on Grail itself")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check the house rules: file headers and sizes, crate borders, commented dependencies
    Tidy,
    /// Write the generated documentation
    Gen {
        /// Only tell which files are stale
        #[arg(long)]
        check: bool,
    },
    /// Parse and re-create the standard library of every Python found, or the given folders
    Roundtrip {
        folders: Vec<PathBuf>,
        /// Check the tree only, not the tree as data
        #[arg(long)]
        tree_only: bool,
    },
    /// Make the reference examples wrong in many ways, and tell how much of it the built-in rules notice and put right
    Mutants {
        /// Also write the mutants that no rule objects to after fixing, as JSON
        #[arg(long, value_name = "FILE")]
        fixed: Option<PathBuf>,
    },
}

#[expect(clippy::print_stdout, reason = "this is a command line")]
fn main() -> anyhow::Result<ExitCode> {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == worker::ARGUMENT) {
        return Ok(worker::serve());
    }
    let root = grail_dev::repository_root();
    let findings = match Cli::parse().command {
        Command::Tidy => tidy::check_repository(&root)?,
        Command::Gen { check: true } => generated::find_stale(&root)?,
        Command::Gen { check: false } => {
            for path in generated::write_stale(&root)? {
                println!("wrote {path}");
            }
            Vec::new()
        }
        Command::Roundtrip { folders, tree_only } => {
            let depth = if tree_only { roundtrip::Depth::Tree } else { roundtrip::Depth::Data };
            let folders = if folders.is_empty() { roundtrip::find_standard_libraries() } else { folders };
            anyhow::ensure!(!folders.is_empty(), "no Python found on this machine; name a folder");
            let mut differences = Vec::new();
            for folder in folders {
                let result = roundtrip::check_folder(&folder, 1, depth)?;
                println!("{result}");
                differences.extend(result.differences);
            }
            differences
        }
        Command::Mutants { fixed } => {
            let python = SandboxedRules::new(ScriptRunner::new(std::env::current_exe()?));
            let report = mutation::run(&root, Some(&python))?;
            print!("{report}");
            if let Some(path) = fixed {
                std::fs::write(path, serde_json::to_vec(&report.fixed)?)?;
            }
            report.missed
        }
    };
    for finding in &findings {
        println!("{finding}");
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
