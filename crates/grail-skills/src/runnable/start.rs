//! From a skill's script to a program ready to start: the runtime, the fence, the environment, the scratch folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::fence::{Fence, Limits};
use super::inline_metadata::{InlineMetadata, read_inline_metadata};
use super::manifest::Manifest;
use super::problem::{RunFailure, RunProblem};
use super::process::{Ending, Process, Program, Stop};
use super::protocol;
use super::runtime::{Needs, Runtime, Surroundings, choose_runtime, fetch_environment, plain_environment};
use crate::credentials::{CredentialEnvironment, Redactor};
use crate::error::SkillProblem;

/// Of what uv says when it cannot fetch packages.
const FETCH_LINE_BYTES: usize = 64 * 1024;

/// A runnable skill on disk, read and understood.
#[derive(Clone, Debug, PartialEq)]
pub struct RunnableSkill {
    pub folder: PathBuf,
    pub manifest: Manifest,
    pub metadata: InlineMetadata,
}

/// How programs of skills are started.
#[derive(Clone, Debug)]
pub struct StartSettings {
    pub surroundings: Surroundings,
    /// The program that puts up the fence and becomes the skill's program. Without one there is no fence.
    pub launcher: Option<PathBuf>,
    pub network: bool,
    /// What a program may read beyond the system, its runtime and its skill's folder.
    pub readable: Vec<PathBuf>,
    /// Where a program may write besides its scratch folder.
    pub writable: Vec<PathBuf>,
    pub limits: Limits,
    /// How much of stderr is kept.
    pub stderr_bytes: usize,
    pub fetch_timeout: Duration,
}

impl StartSettings {
    pub fn new(surroundings: Surroundings) -> Self {
        Self {
            surroundings,
            launcher: None,
            network: false,
            readable: Vec::new(),
            writable: Vec::new(),
            limits: Limits::default(),
            stderr_bytes: 16 * 1024,
            fetch_timeout: Duration::from_secs(300),
        }
    }
}

impl RunnableSkill {
    /// Reads the manifest and the metadata of the script.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, SkillProblem> {
        let folder = folder.into();
        let (manifest, script) = Manifest::read_with_script(&folder)?;
        let metadata = read_inline_metadata(&folder.join(&manifest.entry_file), &script)?;
        Ok(Self { folder, manifest, metadata })
    }

    pub fn script(&self) -> PathBuf {
        self.folder.join(&self.manifest.entry_file)
    }

    pub(crate) fn problem(&self, failure: RunFailure) -> RunProblem {
        RunProblem { skill: self.manifest.id.clone(), failure, stderr: String::new() }
    }
}

/// What is started: a script of a skill, with what it needs.
pub(crate) struct Start<'a> {
    pub(crate) skill: &'a str,
    pub(crate) folder: &'a Path,
    pub(crate) script: &'a Path,
    pub(crate) arguments: &'a [OsString],
    /// `None` for the scratch folder.
    pub(crate) directory: Option<&'a Path>,
    pub(crate) needs: Needs<'a>,
    pub(crate) credentials: &'a CredentialEnvironment,
    pub(crate) max_line_bytes: usize,
}

/// A program that was started, with the folder it may write to. The process goes first when both are dropped.
pub(crate) struct Started {
    pub(crate) process: Process,
    pub(crate) is_fenced: bool,
    _scratch: TempDir,
}

impl<'a> Start<'a> {
    pub(crate) fn of_skill(
        skill: &'a RunnableSkill,
        script: &'a Path,
        credentials: &'a CredentialEnvironment,
    ) -> Self {
        Self {
            skill: &skill.manifest.id,
            folder: &skill.folder,
            script,
            arguments: &[],
            directory: None,
            needs: Needs::new(&skill.manifest, &skill.metadata),
            credentials,
            max_line_bytes: protocol::MAX_LINE_BYTES,
        }
    }

    pub(crate) fn start(&self, settings: &StartSettings) -> Result<Started, RunProblem> {
        let problem = |failure| RunProblem { skill: self.skill.to_owned(), failure, stderr: String::new() };
        let not_started =
            |error: std::io::Error| problem(RunFailure::NotStarted { reason: error.to_string() });
        let runtime = choose_runtime(&self.needs, &settings.surroundings).map_err(problem)?;
        // Links are followed here, not by the fenced program, which could not.
        let folder = fs::canonicalize(self.folder).map_err(not_started)?;
        let script = fs::canonicalize(self.script).map_err(not_started)?;
        let scratch = tempfile::Builder::new().prefix("grail-skill-").tempdir().map_err(not_started)?;
        let scratch_path = fs::canonicalize(scratch.path()).map_err(not_started)?;

        let mut fence = Fence { network: settings.network, limits: settings.limits, ..Fence::default() };
        fence.admit(&runtime);
        let cache = settings.surroundings.cache_of(&folder);
        fence.read.push(folder);
        fence.read.extend(settings.readable.iter().cloned());
        fence.write.push(scratch_path.clone());
        fence.write.extend(settings.writable.iter().cloned());
        if matches!(runtime, Runtime::Uv { .. }) {
            fs::create_dir_all(&cache).map_err(not_started)?;
            fence.write.push(cache.clone());
        }
        let environment = plain_environment(&runtime, &settings.surroundings, &scratch_path, &cache);
        if !self.needs.packages.is_empty() {
            self.fetch(&runtime, &script, &fence, &environment, &scratch_path, settings)?;
        }

        let (program, mut arguments) = runtime.command();
        arguments.push(script.into_os_string());
        arguments.extend(self.arguments.iter().cloned());
        let mut program = Program {
            program,
            arguments,
            directory: self.directory.unwrap_or(&scratch_path).to_owned(),
            environment,
            is_launched: false,
            max_line_bytes: self.max_line_bytes,
            // More than is shown, so that no half of a secret is left where it is cut.
            stderr_bytes: settings.stderr_bytes + self.credentials.redactor().longest(),
        };
        let secrets = self.credentials.variables().map(|(name, value)| (name.into(), value.into()));
        program.environment.extend(secrets);
        let program = behind(&fence, program, settings);
        let is_fenced = program.is_launched;
        let process = Process::start(&program).map_err(not_started)?;
        Ok(Started { process, is_fenced, _scratch: scratch })
    }

    /// Lets uv fetch the packages: with the network, without credentials.
    fn fetch(
        &self,
        runtime: &Runtime,
        script: &Path,
        fence: &Fence,
        environment: &[(OsString, OsString)],
        scratch: &Path,
        settings: &StartSettings,
    ) -> Result<(), RunProblem> {
        let Some((program, arguments)) = runtime.fetch_command(script) else { return Ok(()) };
        let mut fence = Fence { network: true, ..fence.clone() };
        fence.admit_settings_of_uv();
        let program = Program {
            program,
            arguments,
            directory: scratch.to_owned(),
            environment: environment.iter().cloned().chain(fetch_environment()).collect(),
            is_launched: false,
            max_line_bytes: FETCH_LINE_BYTES,
            stderr_bytes: settings.stderr_bytes,
        };
        let problem = |failure, stderr| RunProblem { skill: self.skill.to_owned(), failure, stderr };
        let mut process = Process::start(&behind(&fence, program, settings))
            .map_err(|error| problem(RunFailure::NotStarted { reason: error.to_string() }, String::new()))?;
        process.close_input();
        let how = process.wait(Instant::now() + settings.fetch_timeout);
        if how == Some(Ending::Code(0)) {
            return Ok(());
        }
        process.kill();
        let stderr = shown_errors(&process, &Redactor::default(), settings.stderr_bytes);
        Err(problem(RunFailure::NoPackages { how }, stderr))
    }
}

/// The program as the launcher starts it, where there is one.
fn behind(fence: &Fence, program: Program, settings: &StartSettings) -> Program {
    let Some(launcher) = settings.launcher.as_ref().filter(|_| cfg!(unix)) else { return program };
    let arguments = fence.launcher_arguments(program.program.into_os_string(), program.arguments);
    Program { program: launcher.clone(), arguments, is_launched: true, ..program }
}

/// The end of stderr as it may be shown: whole lines where there are any, and no secret.
pub(crate) fn shown_errors(process: &Process, redactor: &Redactor, most: usize) -> String {
    let text = redactor.redact(&String::from_utf8_lossy(&process.errors()));
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}

/// What a stop means while an answer is awaited.
pub(crate) fn failure_of_stop(stop: Stop, method: &'static str, limit: Duration) -> RunFailure {
    match stop {
        Stop::Deadline => RunFailure::NoAnswer { method, limit },
        Stop::LineTooLong => RunFailure::LineTooLong,
        Stop::OutputClosed => RunFailure::OutputClosed { method },
        Stop::Ended(how) => RunFailure::Died { method, how },
    }
}
