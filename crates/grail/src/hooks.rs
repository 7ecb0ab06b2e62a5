//! `grail hooks`: git tells Grail what became of the work.

use clap::{Args, Subcommand};
use grail_flywheel::outcome::{HookState, HooksReport, catch_up, hooks_status, install_hooks, remove_hooks};
use grail_project::Project;
use serde_json::json;

use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, RESET, Terminal, path_text, visible, visible_line};

/// Let git tell Grail about commits, merges and branches
///
/// The hooks note in a few milliseconds what git did, without starting Grail, and never make a command of git fail. What the notes mean is
/// found out when somebody next looks at events. Hooks of others stay: shell scripts get a few marked lines, anything else is moved aside
/// and called, and `grail hooks remove` puts back every byte. Without hooks Grail still finds most of it by asking git later.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail hooks install
  grail hooks status
  grail hooks remove")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Add the hooks to this repository
    Install,
    /// Show which hooks are there
    Status,
    /// Take the hooks out again
    Remove,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let project = Project::discover(std::path::Path::new("."))?;
    let report = match arguments.command {
        Command::Install => install_hooks(&project.root)?,
        Command::Status => hooks_status(&project.root)?,
        Command::Remove => {
            // What was noted is told before it is gone.
            catch_up(&project.root, &project.config.events)?;
            remove_hooks(&project.root)?
        }
    };
    let is_whole = report.hooks.iter().all(|entry| is_there(entry.state));
    let is_wanted = matches!(arguments.command, Command::Remove) || is_whole;
    match terminal.format() {
        Format::Json => terminal.json(&json!({"hooks": {
            "folder": path_text(&report.folder),
            "is_shared": report.is_shared,
            "hooks": report.hooks,
            "advice": report.advice,
        }}))?,
        Format::Text => tell(&report, &arguments.command, terminal)?,
    }
    Ok(if is_wanted { Exit::Fine } else { Exit::Findings })
}

fn tell(report: &HooksReport, command: &Command, terminal: &mut Terminal) -> anyhow::Result<()> {
    for entry in &report.hooks {
        let state = match entry.state {
            HookState::Missing => "not there",
            HookState::Own => "there",
            HookState::Beside => "there, in the script that was there before",
            HookState::Around => "there, and calls the hook that was there before",
            HookState::Outdated => "of another version of Grail; install again",
        };
        terminal.line(format_args!("{BOLD}{}{RESET} {state}", entry.hook))?;
    }
    let folder = visible_line(&path_text(&report.folder));
    match &report.advice {
        Some(advice) if !matches!(command, Command::Remove) => {
            terminal
                .warning(format_args!("`{folder}` belongs to {}; nothing was changed there", advice.owner))?;
            terminal.note(format_args!("to have the hooks, add these lines yourself"))?;
            terminal.line(format_args!(""))?;
            terminal.raw(&visible(&advice.text))?;
        }
        _ if report.is_shared => {
            terminal.note(format_args!(
                "`{folder}` is part of the project: commit it if others should have the hooks too"
            ))?;
        }
        _ => {}
    }
    Ok(())
}

fn is_there(state: HookState) -> bool {
    matches!(state, HookState::Own | HookState::Beside | HookState::Around)
}
