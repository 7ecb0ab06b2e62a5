//! Programs of other people, started for a model: found where programs belong, with few variables, for a bounded time.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use grail_rules::tools::{
    Capture, Environment, Invocation, Origin, Output, Tool, ToolProblem, ToolSettings, candidates,
};

use super::failure;
use crate::AgentError;

/// What programs need to work at all. Whatever else is in our environment may be a secret.
const KEPT: [&str; 15] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "SYSTEMROOT",
    "PYENV_ROOT",
];
/// More output ends a program whose output has to be read as a whole.
const MAX_WHOLE: usize = 4 << 20;

/// One run.
pub(super) struct Run<'r> {
    pub program: &'r Tool,
    pub arguments: Vec<OsString>,
    pub directory: &'r Path,
    pub environment: Vec<(OsString, OsString)>,
    pub seconds: u64,
    /// Keep the last bytes of what it prints; everything, up to a limit, without.
    pub tail: Option<usize>,
}

impl Run<'_> {
    pub(super) fn start(self) -> Result<Output, ToolProblem> {
        let stdout = self.tail.map_or(Capture::Whole(MAX_WHOLE), Capture::Tail);
        self.program.invoke(&Invocation {
            program: self.program.program.clone(),
            arguments: self.arguments,
            directory: self.directory.to_owned(),
            input: Vec::new(),
            environment: Environment::Only(self.environment),
            deadline: Duration::from_secs(self.seconds),
            stdout,
            stderr: Capture::Tail(self.tail.unwrap_or(16 * 1024)),
        })
    }
}

/// A program on `PATH`; never one that came with the project.
pub(super) fn installed(root: &Path, name: &str) -> Option<Tool> {
    found(root, name).into_iter().find(|tool| tool.origin == Origin::Path)
}

/// A program of the project's environment, or on `PATH`.
pub(super) fn of_project(root: &Path, name: &str) -> Option<Tool> {
    found(root, name).into_iter().next()
}

fn found(root: &Path, name: &str) -> Vec<Tool> {
    candidates(root, name, &ToolSettings { uvx: false, ..ToolSettings::default() })
}

/// What is kept of our variables, these among them, and what is set on top. Programs in `first` come before others.
pub(super) fn environment(
    also: &[&str],
    set: &[(&str, &str)],
    first: Option<PathBuf>,
) -> Vec<(OsString, OsString)> {
    let names = KEPT.iter().chain(also);
    let mut variables: Vec<(OsString, OsString)> =
        names.filter_map(|name| Some((OsString::from(name), env::var_os(name)?))).collect();
    if let Some(first) = first {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(first).chain(env::split_paths(&path));
        if let Ok(joined) = env::join_paths(folders) {
            variables.retain(|(name, _)| name != "PATH");
            variables.push(("PATH".into(), joined));
        }
    }
    variables.push(("NO_COLOR".into(), "1".into()));
    variables.extend(set.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    variables
}

/// A problem with a program as a model is told it.
pub(super) fn refused(problem: &ToolProblem) -> AgentError {
    match problem {
        ToolProblem::Deadline { .. } => {
            failure(problem.to_string(), "allow more with `seconds`, or do less at once")
        }
        ToolProblem::TooMuchOutput { .. } => failure(problem.to_string(), "ask for less"),
        problem => AgentError::Other { message: problem.to_string(), hint: problem.hint() },
    }
}

/// Bytes that a program printed, as text.
pub(super) fn printed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
