//! `grail skills invoke`

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use grail_skills::credentials::CredentialEnvironment;
use grail_skills::lifecycle::ActiveSkill;
use grail_skills::runnable::{
    Capability, FenceReport, Invocation, Notification, RunFailure, RunnableSkill, invoke_once, protocol,
};
use grail_skills::{SkillError, SkillProblem};
use serde::Serialize;
use serde_json::Value;

use super::Shelf;
use super::credentials::credentials_of;
use super::lifecycle::{ScopeArguments, settings_for};
use super::run::report_gaps;
use crate::Exit;
use crate::cli::Format;
use crate::render::{Failure, Terminal, count, visible, visible_line};

/// Give an installed runnable skill an input and print its output
///
/// The skill is started, greeted, asked once and ended. Only active skills can be invoked: see `grail skills status`. It sees its own folder, a
/// folder for temporary files, its credentials and nothing else, unless `--read` and `--write` name more; it reaches the network if that is
/// among the capabilities that were accepted when it was installed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills invoke count-words --input '{\"text\": \"one two\"}'\n  \
                        grail skills invoke count-words --input - <input.json\n\n\
                        Exit codes: 0 an output, 1 the skill refused the input, 2 it could not be run.")]
pub struct Arguments {
    #[arg(value_name = "SKILL")]
    pub skill: String,
    /// The input as JSON; `-` reads it from stdin
    #[arg(long, value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    pub input: String,
    /// A file or folder that it may read
    #[arg(long, value_name = "PATH")]
    pub read: Vec<PathBuf>,
    /// A folder that it may change
    #[arg(long, value_name = "PATH")]
    pub write: Vec<PathBuf>,
    /// How long it may take to answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = protocol::REQUEST_TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    #[command(flatten)]
    pub scope: ScopeArguments,
}

#[derive(Serialize)]
struct InvokeRecord<'a> {
    skill: &'a str,
    version: String,
    output: &'a Value,
    notifications: &'a [Notification],
    /// Those beyond what is kept.
    dropped_notifications: usize,
    /// The end of it.
    stderr: &'a str,
    fence: &'a FenceReport,
    /// From the start of the process to the end of the handshake.
    handshake_ms: f64,
    request_ms: f64,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let input = read_input(&arguments.input)?;
    let store = arguments.scope.store_of(&shelf, &arguments.skill)?;
    let active = store.active(&arguments.skill)?;
    // Declared or accepted; a package may do it where the script's own text does not show it.
    let network = active.allows(&Capability::Network);
    let ActiveSkill { folder, manifest, .. } = active;
    let credentials = CredentialEnvironment::resolve(&manifest, &credentials_of(&shelf, &store)?)?;
    let mut settings = settings_for(&shelf, &store);
    let start = &mut settings.start;
    start.network = network;
    start.readable = real_paths(&arguments.read)?;
    start.writable = real_paths(&arguments.write)?;
    settings.request_timeout = Duration::from_secs(arguments.timeout);
    let skill = RunnableSkill::open(folder)?;
    match invoke_once(&skill, &credentials, &settings, &input) {
        Ok(invocation) => {
            show(&skill, &invocation, terminal)?;
            Ok(Exit::Fine)
        }
        Err(problem) => {
            if terminal.format() == Format::Text {
                show_errors(&problem.stderr, terminal)?;
            }
            if !matches!(problem.failure, RunFailure::Refused { .. }) {
                return Err(SkillError::from(problem).into());
            }
            terminal.error(&problem.to_string(), problem.hint().as_deref())?;
            Ok(Exit::Findings)
        }
    }
}

fn show(skill: &RunnableSkill, invocation: &Invocation, terminal: &mut Terminal) -> anyhow::Result<()> {
    let answer = &invocation.answer;
    if terminal.format() == Format::Json {
        return terminal.json(&InvokeRecord {
            skill: &skill.manifest.id,
            version: skill.manifest.version.to_string(),
            output: &answer.output,
            notifications: &answer.notifications,
            dropped_notifications: answer.dropped_notifications,
            stderr: &invocation.stderr,
            fence: &invocation.fence,
            handshake_ms: milliseconds(invocation.handshake),
            request_ms: milliseconds(invocation.request),
        });
    }
    for notification in &answer.notifications {
        let (method, params) =
            (visible_line(&notification.method), visible_line(&notification.params.to_string()));
        terminal.note(format_args!("{method}: {params}"))?;
    }
    if answer.dropped_notifications > 0 {
        terminal.note(format_args!("and {} more", count(answer.dropped_notifications, "notification")))?;
    }
    show_errors(&invocation.stderr, terminal)?;
    report_gaps(&invocation.fence, terminal)?;
    terminal.line(format_args!("{}", visible(&serde_json::to_string_pretty(&answer.output)?)))
}

/// To the microsecond.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}

fn show_errors(stderr: &str, terminal: &mut Terminal) -> anyhow::Result<()> {
    match stderr.trim_end() {
        "" => Ok(()),
        text => terminal.note(format_args!("{}", visible(text))),
    }
}

fn read_input(text: &str) -> anyhow::Result<Value> {
    let mut read = String::new();
    let text = if text == "-" {
        // One more than a line may have: what is longer cannot be sent.
        let most = protocol::MAX_LINE_BYTES as u64 + 1;
        std::io::stdin().take(most).read_to_string(&mut read).context("reading the input from stdin")?;
        &read
    } else {
        text
    };
    serde_json::from_str(text).map_err(|error| {
        Failure::with_hint(
            format!("the input is not JSON: {error}"),
            "quote it for the shell: --input '{\"text\": \"one two\"}'",
        )
        .into()
    })
}

fn real_paths(paths: &[PathBuf]) -> Result<Vec<PathBuf>, SkillProblem> {
    let real = |path: &PathBuf| {
        path.canonicalize()
            .map_err(|error| SkillProblem::new(path, 0, format!("it cannot be let in: {error}")))
    };
    paths.iter().map(real).collect()
}
