//! Other people's programs: where `ruff`, `ty` and `pytest` are, and how they are run.
//!
//! The project's own tool comes first, because its version is the one the project has chosen. Tools are found by looking; nothing is
//! installed, and `uvx`, which may fetch from the network, is asked only where the settings allow it.

mod problem;
mod process;

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use problem::{last_words, shorten};

pub use problem::ToolProblem;
pub use process::{Capture, Environment, Invocation, Output, interruption};

/// Output of a tool that has to be read as a whole.
const MAX_STDOUT: usize = 64 * 1024 * 1024;
const MAX_STDERR: usize = 1024 * 1024;
/// Asking for a version is no work; only `uvx` may have to fetch first.
const VERSION_DEADLINE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSettings {
    /// Whether a tool that is not installed may be run through `uvx`, which may fetch it.
    pub uvx: bool,
    /// How long one run of a tool may take.
    pub deadline: Duration,
    /// Where to look for programs, written as `PATH` is; `None` means this process's `PATH`.
    pub search_path: Option<OsString>,
}

/// A program that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    pub name: String,
    pub program: PathBuf,
    /// What comes before the tool's own arguments: `uvx` wants the tool's name.
    pub prefix_arguments: Vec<String>,
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The project's `.venv`.
    Project,
    Path,
    Uvx,
}

/// The first place that has the tool: the project's `.venv`, `PATH`, `uvx`.
pub fn find(project_root: &Path, name: &str, settings: &ToolSettings) -> Option<Tool> {
    candidates(project_root, name, settings).into_iter().next()
}

/// Every place that has the tool, best first.
pub fn candidates(project_root: &Path, name: &str, settings: &ToolSettings) -> Vec<Tool> {
    // A name that is a path would leave the folders that are searched.
    if name.is_empty() || name.contains(['/', '\\', ':']) || name.starts_with('.') {
        return Vec::new();
    }
    let tool =
        |program, origin, prefix_arguments| Tool { name: name.to_owned(), program, prefix_arguments, origin };
    let venv = project_root.join(".venv");
    let own = ["bin", "Scripts"].iter().filter_map(|folder| program_in(&venv.join(folder), name)).take(1);
    let mut found: Vec<Tool> = own.map(|program| tool(program, Origin::Project, Vec::new())).collect();
    found.extend(on_path(name, settings).map(|program| tool(program, Origin::Path, Vec::new())));
    // A test runner of its own environment would not see what the project's tests import.
    if settings.uvx && name != "pytest" {
        let prefix = || vec!["--quiet".to_owned(), name.to_owned()];
        found.extend(on_path("uvx", settings).map(|program| tool(program, Origin::Uvx, prefix())));
    }
    found
}

/// The first candidate that can say its version, with what it says. Shims of version managers are on `PATH` whether or not anything is
/// behind them, so a file that exists is no proof.
pub fn find_working(
    project_root: &Path,
    name: &str,
    settings: &ToolSettings,
) -> Result<Option<(Tool, String)>, ToolProblem> {
    let mut first_problem = None;
    for tool in candidates(project_root, name, settings) {
        match tool.version(project_root) {
            Ok(version) => return Ok(Some((tool, version))),
            // The project's own tool is never silently passed over.
            Err(problem) if tool.origin == Origin::Project => return Err(problem),
            Err(problem) => first_problem = first_problem.or(Some(problem)),
        }
    }
    match first_problem {
        // A shim without a program behind it, or `uvx` without a network: the tool is not there.
        None | Some(ToolProblem::ExitCode { .. } | ToolProblem::EmptyOutput { .. }) => Ok(None),
        Some(problem) => Err(problem),
    }
}

impl Tool {
    /// What `--version` says: `ruff 0.17.4`.
    pub fn version(&self, directory: &Path) -> Result<String, ToolProblem> {
        let output = self.run_with(vec!["--version".into()], directory, VERSION_DEADLINE)?;
        let said = last_words(&output.stderr);
        match output.code {
            Some(0) => {}
            Some(code) => return Err(ToolProblem::ExitCode { tool: self.name.clone(), code, said }),
            None => return Err(ToolProblem::Killed { tool: self.name.clone(), said }),
        }
        let text = String::from_utf8_lossy(&output.stdout);
        match text.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(line) => Ok(shorten(line, 80)),
            None => Err(ToolProblem::EmptyOutput { tool: self.name.clone(), code: 0, said }),
        }
    }

    /// Runs it to the end and reads all it says.
    pub(crate) fn run(
        &self,
        arguments: Vec<OsString>,
        directory: &Path,
        settings: &ToolSettings,
    ) -> Result<Output, ToolProblem> {
        self.run_with(arguments, directory, settings.deadline)
    }

    fn run_with(
        &self,
        arguments: Vec<OsString>,
        directory: &Path,
        deadline: Duration,
    ) -> Result<Output, ToolProblem> {
        let prefix = self.prefix_arguments.iter().map(OsString::from);
        self.invoke(&Invocation {
            program: self.program.clone(),
            arguments: prefix.chain(arguments).collect(),
            directory: directory.to_owned(),
            input: Vec::new(),
            environment: Environment::Plain,
            deadline,
            stdout: Capture::Whole(MAX_STDOUT),
            stderr: Capture::Tail(MAX_STDERR),
        })
    }

    /// Runs it as it is said, without a shell.
    pub fn invoke(&self, invocation: &Invocation) -> Result<Output, ToolProblem> {
        process::run(invocation).map_err(|problem| ToolProblem::of_process(&self.name, problem))
    }
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self { uvx: true, deadline: Duration::from_secs(300), search_path: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Origin::Project => "the project's `.venv`",
            Origin::Path => "`PATH`",
            Origin::Uvx => "`uvx`",
        })
    }
}

fn on_path(name: &str, settings: &ToolSettings) -> Option<PathBuf> {
    let path = settings.search_path.clone().or_else(|| env::var_os("PATH"))?;
    // A relative entry means another program in every folder, perhaps one that came with the project.
    env::split_paths(&path).filter(|folder| folder.is_absolute()).find_map(|folder| program_in(&folder, name))
}

fn program_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let file = if cfg!(windows) { format!("{name}.exe") } else { name.to_owned() };
    Some(folder.join(file)).filter(|path| is_program(path))
}

#[cfg(unix)]
pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file()
}
