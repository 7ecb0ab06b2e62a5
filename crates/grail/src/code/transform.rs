//! `grail code transform`: a codemod written in Python, run in the sandbox over each file's tree as data.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::Args;
use grail_code::parse_module;
use grail_project::{ChangeSet, FileChange, ProjectError, SourceRoots, project_path, read_source};
use grail_rules::{Options, RuleProblem, ScriptRunner, Transform, TransformError};
use serde_json::Value as Json;

use crate::Exit;
use crate::changes::{OnProblem, WriteArguments, finish_changes};
use crate::files::PathArguments;
use crate::render::{Failure, Terminal, display_path, visible, visible_line};

/// Scripts beyond this are not even read.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

/// Change code with a function of yours, in a sandbox
///
/// The script defines `transform(tree)`. It is called with each file as nested dictionaries, and returns the changed tree, or changes it in
/// place and returns None. It finds `path`, `module` and `options`, and the functions of docs/guides/tree-as-data.md; it has no files, no
/// network and no clock. What it leaves alone stays byte for byte.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail code transform scripts/rename_argument.py src
  grail code transform scripts/rename_argument.py src --arg old=timeout --arg new=deadline --write
  grail code transform scripts/rename_argument.py --check")]
pub struct Arguments {
    /// The script, a Python file with `def transform(tree)`
    #[arg(value_name = "SCRIPT")]
    pub script: PathBuf,
    #[command(flatten)]
    pub paths: PathArguments,
    /// An entry of `options`: JSON, or else a string; may be repeated
    #[arg(long = "arg", value_name = "KEY=VALUE")]
    pub values: Vec<String>,
    #[command(flatten)]
    pub write: WriteArguments,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let source = read_source(&arguments.script, MAX_SCRIPT_BYTES)?;
    let transform =
        Transform::read(display_path(&arguments.script), source.source.text(), options(&arguments.values)?)
            .map_err(|problem| script_failure(&problem))?;
    let runner = ScriptRunner::new(env::current_exe()?);
    let mut files = arguments.paths.find()?;
    // The script itself is usually in the project, and is not meant.
    let script = arguments.script.canonicalize().ok();
    files.files.retain(|file| file.path.canonicalize().ok() != script);
    let root = files.project.root.clone();
    let roots = SourceRoots::new(&root, &files.project.config.project.src);
    // A script that fails on one file will fail on others; it is run no further.
    let broken: OnceLock<RuleProblem> = OnceLock::new();
    let results = files.map("running the script", |file, source_file| {
        if broken.get().is_some() {
            return Ok(None);
        }
        let parsed = parse_module(source_file.source.clone());
        let module = roots.module_of(&file.path).unwrap_or_default();
        match transform.apply(&runner, &project_path(&root, &file.path), &module, &parsed) {
            Ok(None) => Ok(None),
            Ok(Some(text)) => FileChange::replace(source_file, file.explicit, text),
            Err(TransformError::Script(problem)) => {
                let _ = broken.set(*problem);
                Ok(None)
            }
            Err(error) => Err(ProjectError::Refused {
                path: file.path.clone(),
                message: visible_line(&error.to_string()),
            }),
        }
    });
    if let Some(problem) = broken.get() {
        return Err(script_failure(problem).into());
    }
    let changes = results.into_iter().filter_map(|(_, change)| change).collect();
    finish_changes(&ChangeSet::new(changes), &files, arguments.write, OnProblem::WriteOthers, terminal)
}

fn options(values: &[String]) -> Result<Options, Failure> {
    let mut options = Options::new();
    for value in values {
        let (key, text) = value.split_once('=').ok_or_else(|| {
            Failure::with_hint(format!("`{value}` is not `KEY=VALUE`"), "for example `--arg old=timeout`")
        })?;
        let data = serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.to_owned()));
        options.insert(key.to_owned(), data);
    }
    Ok(options)
}

/// The script's own text is shown, so it passes through what keeps control characters off the terminal.
fn script_failure(problem: &RuleProblem) -> Failure {
    Failure {
        message: visible_line(&problem.to_string()),
        snippet: problem.snippet.as_deref().map(|snippet| visible(snippet).into_owned()),
        hint: problem.hint.as_deref().map(visible_line),
    }
}
