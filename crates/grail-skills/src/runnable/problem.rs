//! What can go wrong when a skill runs. Each way has its own words, and none of them repeats a credential.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::process::Ending;
use super::protocol::MAX_LINE_BYTES;

/// A skill that could not be started, or did not do what it should.
#[derive(Clone, Debug, Error)]
#[error("the skill `{skill}` {failure}")]
pub struct RunProblem {
    pub skill: String,
    pub failure: RunFailure,
    /// The end of what the script wrote to stderr, without credentials.
    pub stderr: String,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RunFailure {
    #[error("needs Python {wanted}, and there is none here")]
    NoInterpreter { wanted: String, found: Vec<String> },
    #[error("needs the packages {}, and there is no uv to fetch them", quoted(packages))]
    NeedsUv { packages: Vec<String> },
    #[error("needs uv {wanted} or newer; this is uv {found}")]
    OldUv { wanted: String, found: String },
    #[error("could not get its packages: uv {}", ending(*how))]
    NoPackages { how: Option<Ending> },
    #[error("needs the credential `{name}`")]
    MissingCredential { name: String },
    #[error("wants the credential `{name}` as `{variable}`, which is not for credentials")]
    ReservedVariable { name: String, variable: String },
    #[error("cannot be started: {reason}")]
    NotStarted { reason: String },
    #[error("prints what is not JSON: `{line}`")]
    NotJson { line: String },
    #[error("does not speak JSON-RPC 2.0: {reason}")]
    NotProtocol { reason: String },
    #[error("prints a line of more than {} KiB", MAX_LINE_BYTES / 1024)]
    LineTooLong,
    #[error("prints more than {} MiB without an answer to `{method}`", most >> 20)]
    TooMuchOutput { method: &'static str, most: usize },
    #[error("answers request {got} when it was asked {asked}")]
    OtherId { asked: u64, got: String },
    #[error("has not answered `{method}` within {}", seconds(*limit))]
    NoAnswer { method: &'static str, limit: Duration },
    #[error("{} before it answered `{method}`", ending(Some(*how)))]
    Died { method: &'static str, how: Ending },
    #[error("closed its output before it answered `{method}`")]
    OutputClosed { method: &'static str },
    #[error("calls itself `{got}` in the handshake")]
    OtherName { got: String },
    #[error("says in the handshake that it is version `{got}`; its manifest says `{expected}`")]
    OtherVersion { expected: String, got: String },
    #[error("answers `{method}` with an error: {message} ({code})")]
    Refused { method: &'static str, code: i64, message: String },
    #[error("answers `{method}` without {missing}")]
    BadResult { method: &'static str, missing: &'static str },
    #[error("is not well: it says `{status}`")]
    Unhealthy { status: String },
    #[error("cannot take an input of {bytes} bytes; a line has at most {}", MAX_LINE_BYTES)]
    InputTooLong { bytes: usize },
    #[error("failed {failures} times in a row and is not started again for {}", seconds(*wait))]
    Resting { failures: u32, wait: Duration },
    #[error("has no script `{}`", path.display())]
    NoScript { path: PathBuf },
    #[error("ran longer than {}", seconds(*limit))]
    TooLong { limit: Duration },
    #[error("printed more than {} MiB", most >> 20)]
    PrintedTooMuch { most: usize },
}

impl RunProblem {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<String> {
        let skill = &self.skill;
        Some(match &self.failure {
            RunFailure::NoInterpreter { found, .. } if found.is_empty() => {
                "install Python, or uv: https://docs.astral.sh/uv/".to_owned()
            }
            RunFailure::NoInterpreter { found, .. } => format!("found are {}", quoted(found)),
            RunFailure::NeedsUv { .. } | RunFailure::OldUv { .. } => {
                "install uv: https://docs.astral.sh/uv/getting-started/installation/".to_owned()
            }
            RunFailure::MissingCredential { name } => {
                format!("set it with `grail skills credentials set {skill} {name}`; the value comes from stdin")
            }
            RunFailure::ReservedVariable { .. } => {
                "choose another `env_var` in `manifest.toml`: what steers the system or the interpreter carries no credential".to_owned()
            }
            RunFailure::NotJson { .. } => {
                "only responses go to stdout; everything else the script and its libraries print belongs on stderr".to_owned()
            }
            RunFailure::LineTooLong | RunFailure::TooMuchOutput { .. } => {
                "return a part of the result and say that it is one".to_owned()
            }
            RunFailure::OtherId { .. } => "a response carries the `id` of its request".to_owned(),
            RunFailure::NoAnswer { .. } | RunFailure::Died { .. } | RunFailure::OutputClosed { .. }
                if self.last_words().is_some() =>
            {
                format!("stderr ends with `{}`", self.last_words().unwrap_or_default())
            }
            RunFailure::NoPackages { .. } => match self.last_words() {
                Some(words) => format!("uv says `{words}`"),
                None => "look at the dependencies in the script's block `# /// script`".to_owned(),
            },
            RunFailure::NoAnswer { .. } => {
                "every response is flushed, and nothing long happens before the loop that reads requests".to_owned()
            }
            RunFailure::OtherName { .. } | RunFailure::OtherVersion { .. } => {
                "`NAME` and `VERSION` of the script are the `id` and `version` of its manifest".to_owned()
            }
            RunFailure::Refused { code: -32601, .. } => {
                "the script answers `skill.handshake`, `skill.invoke`, `skill.health` and `skill.shutdown`".to_owned()
            }
            RunFailure::NoScript { .. } => format!("`grail skills load {skill}` shows what there is"),
            _ => return None,
        })
    }

    /// The last line on stderr that says something.
    fn last_words(&self) -> Option<&str> {
        self.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty())
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn seconds(duration: Duration) -> String {
    match duration.as_millis() {
        milliseconds if milliseconds < 1000 => format!("{milliseconds} ms"),
        _ => format!("{} s", duration.as_secs()),
    }
}

fn ending(ending: Option<Ending>) -> String {
    match ending {
        Some(Ending::Code(code)) => format!("ended with code {code}"),
        Some(Ending::Signal(signal)) => format!("was ended by signal {signal}"),
        Some(Ending::Unknown) => "ended".to_owned(),
        None => "did not come to an end".to_owned(),
    }
}
