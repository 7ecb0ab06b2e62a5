//! `grail skills run`

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use grail_rules::Origin;
use grail_skills::runnable::{Ending, FenceReport, RunFailure, RunProblem};
use grail_skills::script::{ScriptRun, run_script};
use serde::Serialize;

use super::Shelf;
use super::lifecycle::connection_settings;
use crate::Exit;
use crate::cli::Format;
use crate::render::{Terminal, path_text, visible};

/// What a script may print.
const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// Run a Python script of a skill, fenced and for a bounded time
///
/// The script runs where you are. It can read that folder and the skill's own, and write to a folder for temporary files; `--write` lets it
/// write where you are, `--network` lets it out. It sees none of your environment but `PATH`. uv starts it where there is one; without uv, a
/// plain interpreter does if the script needs no packages.
///
/// A project's skill has to be trusted first: see `grail skills trust`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills run changelog scripts/collect.py\n  \
                        grail skills run changelog scripts/collect.py --write -- --since v1.2\n\n\
                        Exit codes: 0 the script ended with 0, 1 it did not, 2 it could not be run.")]
pub struct Arguments {
    #[arg(value_name = "SKILL")]
    pub skill: String,
    /// The script, from the skill's folder
    #[arg(value_name = "SCRIPT")]
    pub script: PathBuf,
    /// What the script is given
    #[arg(value_name = "ARGUMENTS", last = true)]
    pub arguments: Vec<OsString>,
    /// Let it write in the folder where it runs
    #[arg(long)]
    pub write: bool,
    /// Let it use the network
    #[arg(long)]
    pub network: bool,
    /// How long it may run, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

#[derive(Serialize)]
struct RunRecord<'a> {
    skill: &'a str,
    script: String,
    /// `null` if a signal ended it.
    code: Option<i32>,
    stdout: &'a str,
    /// The end of it.
    stderr: &'a str,
    fence: &'a FenceReport,
}

pub(super) fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let skill = &shelf.catalogue.entry(&arguments.skill)?.skill;
    shelf.trust.state(skill).require(skill)?;
    if skill.origin == Origin::BuiltIn {
        let failure = RunFailure::NoScript { path: arguments.script };
        let problem = RunProblem { skill: skill.name.clone(), failure, stderr: String::new() };
        return Err(grail_skills::SkillError::from(problem).into());
    }
    let run = ScriptRun {
        skill: skill.name.clone(),
        folder: skill.folder.clone(),
        script: arguments.script,
        arguments: arguments.arguments,
        directory: std::env::current_dir()?,
        writes: arguments.write,
        timeout: Duration::from_secs(arguments.timeout),
        max_output_bytes: MAX_OUTPUT_BYTES,
    };
    let mut settings = connection_settings(&shelf).start;
    settings.network = arguments.network;
    let output = run_script(&run, &settings)?;
    let code = match output.ending {
        Ending::Code(code) => Some(code),
        Ending::Signal(_) | Ending::Unknown => None,
    };
    match terminal.format() {
        Format::Json => terminal.json(&RunRecord {
            skill: &run.skill,
            script: path_text(&run.script),
            code,
            stdout: &output.stdout,
            stderr: &output.stderr,
            fence: &output.fence,
        })?,
        Format::Text => {
            terminal.raw(&visible(&output.stdout))?;
            if !output.stderr.is_empty() {
                terminal.note(format_args!("{}", visible(output.stderr.trim_end())))?;
            }
            report_gaps(&output.fence, terminal)?;
            match output.ending {
                Ending::Code(0) => {}
                Ending::Code(code) => terminal.note(format_args!("the script ended with code {code}"))?,
                Ending::Signal(signal) => terminal.note(format_args!("signal {signal} ended the script"))?,
                Ending::Unknown => terminal.note(format_args!("the script ended"))?,
            }
        }
    }
    Ok(if code == Some(0) { Exit::Fine } else { Exit::Findings })
}

/// What does not protect the user, if anything.
pub(super) fn report_gaps(fence: &FenceReport, terminal: &mut Terminal) -> anyhow::Result<()> {
    let gaps = fence.gaps();
    if gaps.is_empty() {
        return Ok(());
    }
    terminal.warning(format_args!("this system lacks walls round scripts: {}", gaps.join(", ")))
}
