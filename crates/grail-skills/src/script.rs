//! Runs a script of a skill: any file of its `scripts/` folder, fenced, for a bounded time, with bounded output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::bounded::{is_plain, read_text, resolve_inside};
use crate::credentials::CredentialEnvironment;
use crate::error::{SkillError, SkillProblem};
use crate::runnable::inline_metadata::read_optional_metadata;
use crate::runnable::{Ending, FenceReport, RunFailure, RunProblem, StartSettings};
use crate::runnable::{LauncherWord, Needs, Start, Stop, launcher_word, shown_errors};

/// A script is a text that somebody wrote.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

/// What to run and how far it may go.
#[derive(Clone, Debug)]
pub struct ScriptRun {
    pub skill: String,
    pub folder: PathBuf,
    /// Relative to the folder, as in `scripts/report.py`.
    pub script: PathBuf,
    pub arguments: Vec<OsString>,
    /// Where it runs; readable for it.
    pub directory: PathBuf,
    /// Whether it may write where it runs.
    pub writes: bool,
    pub timeout: Duration,
    pub max_output_bytes: usize,
}

/// What a script printed and how it ended.
#[derive(Clone, Debug)]
pub struct ScriptOutput {
    pub ending: Ending,
    pub stdout: String,
    /// The end of it.
    pub stderr: String,
    pub fence: FenceReport,
}

/// Runs to the end, or to one of the limits.
pub fn run_script(run: &ScriptRun, settings: &StartSettings) -> Result<ScriptOutput, SkillError> {
    let problem =
        |failure, stderr| SkillError::from(RunProblem { skill: run.skill.clone(), failure, stderr });
    let path = run.folder.join(&run.script);
    let real = match resolve_inside(&run.folder, &run.script) {
        Ok(real) if real.is_file() => real,
        Ok(_) => return Err(problem(RunFailure::NoScript { path: run.script.clone() }, String::new())),
        Err(_) if is_plain(&run.script) && !path.exists() => {
            return Err(problem(RunFailure::NoScript { path: run.script.clone() }, String::new()));
        }
        Err(reason) => return Err(SkillProblem::new(&path, 0, reason).into()),
    };
    if path.extension().is_none_or(|extension| extension != "py") {
        return Err(SkillProblem::new(&path, 0, "only Python scripts can be run")
            .hint("read it with `grail skills read` and run it yourself")
            .into());
    }
    let text = read_text(&real, MAX_SCRIPT_BYTES).map_err(|reason| SkillProblem::new(&path, 0, reason))?;
    let metadata = read_optional_metadata(&path, &text)?;
    let directory = std::fs::canonicalize(&run.directory).map_err(|reason| SkillError::File {
        action: "open",
        path: run.directory.clone(),
        reason,
    })?;
    let mut settings = settings.clone();
    settings.readable.push(directory.clone());
    if run.writes {
        settings.writable.push(directory.clone());
    }
    let credentials = CredentialEnvironment::default();
    let start = Start {
        skill: &run.skill,
        folder: &run.folder,
        script: &real,
        arguments: &run.arguments,
        directory: Some(&directory),
        needs: Needs::of_script(metadata.as_ref()),
        credentials: &credentials,
        max_line_bytes: run.max_output_bytes,
    };
    let mut started = start.start(&settings)?;
    started.process.close_input();
    let deadline = Instant::now() + run.timeout.min(Duration::from_secs(24 * 60 * 60));
    let mut stdout = Vec::new();
    let ended = loop {
        match started.process.next_line(deadline) {
            Ok(line) if stdout.len() + line.len() < run.max_output_bytes => {
                stdout.extend_from_slice(&line);
                stdout.push(b'\n');
            }
            Ok(_) | Err(Stop::LineTooLong) => {
                break Err(RunFailure::PrintedTooMuch { most: run.max_output_bytes });
            }
            Err(Stop::Ended(ending)) => break Ok(ending),
            Err(Stop::OutputClosed) if Instant::now() < deadline => {}
            Err(Stop::OutputClosed | Stop::Deadline) => {
                break Err(RunFailure::TooLong { limit: run.timeout });
            }
        }
    };
    if ended.is_err() {
        started.process.kill();
    }
    let word = started.process.launcher_word(Duration::ZERO);
    let stderr = shown_errors(&started.process, credentials.redactor(), settings.stderr_bytes);
    let ending = ended.map_err(|failure| problem(failure, stderr.clone()))?;
    if started.is_fenced && ending == Ending::Code(126) {
        let last = stderr.lines().next_back().and_then(|line| launcher_word(line.as_bytes()));
        if let Some(LauncherWord::NotStarted(reason)) = last {
            return Err(problem(RunFailure::NotStarted { reason }, String::new()));
        }
    }
    let fence = match word {
        Some(LauncherWord::Fenced(report)) => report,
        _ => FenceReport::missing("no launcher"),
    };
    Ok(ScriptOutput { ending, stdout: String::from_utf8_lossy(&stdout).into_owned(), stderr, fence })
}
