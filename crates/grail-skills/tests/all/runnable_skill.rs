//! Runnable skills made from the scripts in `tests/fixtures/runnable`, ready to be started with the Python of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use grail_skills::credentials::CredentialEnvironment;
use grail_skills::runnable::{
    Connection, ConnectionSettings, Invocation, Needs, RunProblem, RunnableSkill, StartSettings,
    Surroundings, choose_runtime, invoke_once,
};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const TEMPLATES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/python-skill/templates");

/// A skill in a folder of its own, and how to run it.
pub(crate) struct Scratch {
    pub(crate) skill: RunnableSkill,
    pub(crate) settings: ConnectionSettings,
    pub(crate) credentials: CredentialEnvironment,
    pub(crate) folder: TempDir,
}

impl Scratch {
    /// The skill of a fixture; `None`, and said so, where there is no Python to run it with.
    pub(crate) fn new(name: &str) -> Option<Self> {
        Self::with_manifest(name, "")
    }

    /// With more lines in its manifest.
    pub(crate) fn with_manifest(name: &str, more: &str) -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/runnable/{name}.py"));
        let manifest = format!("id = \"{name}\"\nname = \"{name}\"\ndescription = \"A test.\"\n{more}");
        Self::made_of(name, &fs::read_to_string(script).unwrap(), &manifest)
    }

    /// The template that skills are made from, as it is.
    pub(crate) fn template() -> Option<Self> {
        let read = |file: &str| fs::read_to_string(Path::new(TEMPLATES).join(file)).unwrap();
        Self::made_of("example", &read("skill.py"), &read("manifest.toml"))
    }

    pub(crate) fn made_of(name: &str, script: &str, manifest: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let skill = folder.path().join(name);
        fs::create_dir(&skill).unwrap();
        fs::write(skill.join("skill.py"), script).unwrap();
        fs::write(skill.join("manifest.toml"), manifest).unwrap();
        let skill = RunnableSkill::open(skill).unwrap();
        let settings = settings(folder.path());
        if choose_runtime(&Needs::default(), &settings.start.surroundings).is_err() {
            skip("there is no Python here to run skills with");
            return None;
        }
        Some(Self { skill, settings, credentials: CredentialEnvironment::default(), folder })
    }

    pub(crate) fn open(&self) -> Result<Connection, RunProblem> {
        Connection::open(&self.skill, &self.credentials, &self.settings)
    }

    pub(crate) fn invoke(&self, input: Value) -> Result<Invocation, RunProblem> {
        invoke_once(&self.skill, &self.credentials, &self.settings, &input)
    }

    /// What a person reads when the invocation fails.
    pub(crate) fn failure(&self, input: Value) -> String {
        match self.invoke(input) {
            Ok(invocation) => panic!("it answered {}", invocation.answer.output),
            Err(problem) => told(&problem),
        }
    }
}

/// A message with its hint.
pub(crate) fn told(problem: &RunProblem) -> String {
    match problem.hint() {
        Some(hint) => format!("{problem}\nhint: {hint}"),
        None => problem.to_string(),
    }
}

/// Fenced, with the plain interpreter.
pub(crate) fn settings(cache: &Path) -> ConnectionSettings {
    let surroundings =
        Surroundings { with_uv: false, cache: cache.join("cache"), ..Surroundings::of_this_process(None) };
    let mut start = StartSettings::new(surroundings);
    start.launcher = Some(PathBuf::from(env!("CARGO_BIN_EXE_grail-skills-test-launcher")));
    // Far more than a busy machine needs; the tests for limits set their own.
    let mut settings = ConnectionSettings::new(start);
    settings.handshake_timeout = Duration::from_secs(120);
    settings.request_timeout = Duration::from_secs(120);
    settings.shutdown_timeout = Duration::from_secs(60);
    settings
}

/// Whether a process is gone, or at least dead: who reaps it is another's business. It was killed a moment ago at most.
#[cfg(target_os = "linux")]
pub(crate) fn is_gone(process: u64) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    let is_dead = || match fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X'])),
        Err(_) => true,
    };
    while !is_dead() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[expect(clippy::print_stderr, reason = "a skipped test has to be seen")]
pub(crate) fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}
