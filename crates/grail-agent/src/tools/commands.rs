//! What has effects of its own: a command, an installation. A person is asked before either runs.
//!
//! A command runs in a copy of the project in which what is staged is written, so that it sees the project as it would be and cannot
//! harm the real one by accident. It is no wall: whoever approves a command trusts it.

use std::ffi::OsString;
use std::sync::{Arc, LazyLock};

use grail_rules::tools::{Origin, Tool};
use grail_sandbox::Toolset;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::programs::{Run, environment, installed, of_project, printed, refused};
use super::{failure, tool};
use crate::AgentError;
use crate::shadow::Shadow;
use crate::staging::{Staging, clean_path};
use crate::workspace::Workspace;

const DEFAULT_SECONDS: u64 = 60;
const MAX_SECONDS: u64 = 600;
/// Of either stream, from its end.
const MAX_OUTPUT_BYTES: usize = 24 * 1024;
const MAX_ARGUMENTS: usize = 200;
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;
const MAX_PACKAGES: usize = 20;
const MAX_NOT_KEPT: usize = 10;

#[derive(Deserialize, JsonSchema)]
struct RunCommand {
    /// The program: a name such as `python`, or a file of the project. There is no shell.
    program: String,
    /// What the program gets, one by one.
    #[serde(default)]
    arguments: Vec<String>,
    /// How long it may take: 60 if it is not said, at most 600.
    #[serde(default)]
    seconds: Option<u64>,
    /// Stage what the command creates, changes and removes; otherwise it is gone with the copy.
    #[serde(default)]
    keep_changes: bool,
}

/// How a command ended and what it printed.
#[derive(Serialize, JsonSchema)]
pub struct CommandResult {
    /// `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The end of it.
    pub stdout: String,
    /// The end of it.
    pub stderr: String,
    /// Files of the copy that the command created, changed or removed.
    pub changed: Vec<String>,
    /// Why some of them could not be staged, if they were to be kept.
    pub not_kept: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct InstallPackage {
    /// Such as `httpx` or `pytest>=8`; from the package index, never from an address or a path.
    packages: Vec<String>,
}

/// What became of an installation.
#[derive(Serialize, JsonSchema)]
pub struct Installed {
    pub success: bool,
    /// What installed it: `uv` or `pip`.
    pub installer: String,
    /// The end of what it said.
    pub output: String,
}

pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    Ok(Toolset::new([
        tool(
            workspace,
            "run_command",
            "Run a program in a copy of the project with everything staged in it. Needs approval.",
            run_command,
        )?,
        tool(
            workspace,
            "install_package",
            "Install packages into the project's virtual environment. Needs approval; `pyproject.toml` is not changed.",
            install_package,
        )?,
    ])?)
}

fn run_command(workspace: &Workspace, call: RunCommand) -> Result<CommandResult, AgentError> {
    check_arguments(&call.arguments)?;
    let shadow = Shadow::make(&workspace.project, &workspace.staging)?;
    let root = &shadow.project.root;
    let program = find_program(root, &call.program)?;
    let bin = root.join(".venv/bin");
    let before = shadow.files();
    let run = Run {
        program: &program,
        arguments: call.arguments.iter().map(OsString::from).collect(),
        directory: root,
        environment: environment(&[], &[], bin.is_dir().then_some(bin)),
        seconds: call.seconds.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS),
        tail: Some(MAX_OUTPUT_BYTES),
    };
    let output = run.start().map_err(|problem| refused(&problem))?;
    let mut changed = shadow.changed_since(&before);
    let keep = |path: &String| keep(workspace, &shadow, path).err().map(|error| error.to_string());
    let not_kept = match call.keep_changes {
        true => changed.iter().filter_map(keep).take(MAX_NOT_KEPT).collect(),
        false => Vec::new(),
    };
    changed.truncate(super::bounds::DEFAULT_LIMIT);
    Ok(CommandResult {
        exit_code: output.code,
        stdout: printed(&output.stdout),
        stderr: printed(&output.stderr),
        changed,
        not_kept,
    })
}

/// Stages a file as the copy has it.
fn keep(workspace: &Workspace, shadow: &Shadow, path: &str) -> Result<(), AgentError> {
    let copy = Staging::new(&shadow.project.root);
    match copy.read_from_disk(path)? {
        Some(text) => workspace.staging.write(path, text)?,
        None => workspace.staging.remove(path)?,
    };
    Ok(())
}

fn check_arguments(arguments: &[String]) -> Result<(), AgentError> {
    let bytes: usize = arguments.iter().map(String::len).sum();
    if arguments.len() > MAX_ARGUMENTS || bytes > MAX_ARGUMENT_BYTES {
        return Err(failure(
            "the arguments are too many",
            format!("at most {MAX_ARGUMENTS} with {MAX_ARGUMENT_BYTES} bytes together"),
        ));
    }
    match arguments.iter().any(|argument| argument.contains('\0')) {
        true => Err(failure("an argument has null bytes", "programs cannot be given any")),
        false => Ok(()),
    }
}

/// A name is looked for in the project's environment and on `PATH`; a path means a file of the project.
fn find_program(root: &std::path::Path, name: &str) -> Result<Tool, AgentError> {
    let shown: String = name.chars().filter(|character| !character.is_control()).take(80).collect();
    let missing = || {
        failure(
            format!("there is no program `{shown}`"),
            "give its name alone, without arguments: they go into `arguments`; there is no shell",
        )
    };
    if !name.contains('/') {
        return of_project(root, name).ok_or_else(missing);
    }
    let program = root.join(clean_path(name)?);
    let is_inside = program.canonicalize().is_ok_and(|real| real.starts_with(root) && real.is_file());
    let tool = Tool { name: shown.clone(), program, prefix_arguments: Vec::new(), origin: Origin::Project };
    if is_inside { Ok(tool) } else { Err(missing()) }
}

fn install_package(workspace: &Workspace, call: InstallPackage) -> Result<Installed, AgentError> {
    if call.packages.is_empty() || call.packages.len() > MAX_PACKAGES {
        return Err(failure("no packages, or too many", format!("name one to {MAX_PACKAGES}")));
    }
    if let Some(odd) = call.packages.iter().find(|package| !is_requirement(package)) {
        let shown: String = odd.chars().filter(|character| !character.is_control()).take(80).collect();
        return Err(failure(
            format!("`{shown}` is no name of a package"),
            "a name, extras and versions such as `httpx[http2]>=0.27`; no addresses, paths or options",
        ));
    }
    let root = &workspace.project.root;
    let python = ["bin/python", "Scripts/python.exe"]
        .iter()
        .map(|path| root.join(".venv").join(path))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            failure(
                "the project has no virtual environment",
                "a person makes one with `uv venv` or `python -m venv .venv`",
            )
        })?;
    let uv = installed(root, "uv");
    let (program, mut arguments): (Tool, Vec<OsString>) = match &uv {
        Some(uv) => (uv.clone(), ["pip", "install", "--python"].map(OsString::from).to_vec()),
        None => {
            let pip = Tool {
                name: "pip".to_owned(),
                program: python.clone(),
                prefix_arguments: Vec::new(),
                origin: Origin::Project,
            };
            let arguments = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input"];
            (pip, arguments.map(OsString::from).to_vec())
        }
    };
    if uv.is_some() {
        arguments.push(python.into_os_string());
    }
    arguments.push("--".into());
    arguments.extend(call.packages.iter().map(OsString::from));
    let run = Run {
        program: &program,
        arguments,
        directory: root,
        environment: environment(&INDEX_VARIABLES, &[], None),
        seconds: MAX_SECONDS,
        tail: Some(MAX_OUTPUT_BYTES),
    };
    let output = run.start().map_err(|problem| refused(&problem))?;
    Ok(Installed {
        success: output.code == Some(0),
        installer: program.name,
        output: printed(&output.stdout) + &printed(&output.stderr),
    })
}

/// Where packages come from is the user's to say.
const INDEX_VARIABLES: [&str; 15] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_CONFIG_FILE",
    "PIP_CERT",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// A name with extras and versions, as the package index knows it.
fn is_requirement(text: &str) -> bool {
    static REQUIREMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let version = r"\s*(===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*";
        Regex::new(&format!(
            r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._-]+(\s*,\s*[A-Za-z0-9._-]+)*\])?({version}(,{version})*)?$"
        ))
        .ok()
    });
    text.len() <= 200 && REQUIREMENT.as_ref().is_some_and(|pattern| pattern.is_match(text))
}
