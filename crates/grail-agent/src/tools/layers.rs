//! The tools of other people over the project as it would be: types, lint, tests.

use std::sync::Arc;

use grail_project::Project;
use grail_rules::layers::tests::{self, TestSettings};
use grail_rules::layers::{LayerContext, LayerReport, LayerStatus, run_all};
use grail_rules::{Layer, RulesError};
use grail_sandbox::Toolset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{beginning, check_paths};
use super::check::told;
use super::sources::python_paths;
use super::tool;
use crate::AgentError;
use crate::artifact::Problem;
use crate::shadow::Shadow;
use crate::staging::clean_path;
use crate::workspace::Workspace;

pub(super) const PYTEST_RUN: &str = "pytest_run";

#[derive(Deserialize, JsonSchema)]
struct Look {
    /// Files and folders; the whole project if none is named.
    #[serde(default)]
    paths: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct RunTests {
    /// Files, folders, or single tests such as `tests/test_mail.py::test_send`; all tests if none is named.
    #[serde(default)]
    tests: Vec<String>,
}

/// What a tool of somebody else says.
#[derive(Serialize, JsonSchema)]
pub struct LayerAnswer {
    /// Whether it ran and found nothing.
    pub success: bool,
    /// passed, failed, skipped, unavailable, or broken (the tool itself failed, and nothing is known about the code).
    pub status: String,
    /// The tool with its version, or why it did not run.
    pub detail: String,
    /// By path and place.
    pub problems: Vec<Problem>,
    /// Problems that are not told for want of room.
    pub more_problems: usize,
}

pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    Ok(Toolset::new([
        tool(workspace, "typecheck", "Check types with ty. Staged text counts.", |workspace, call| {
            look(workspace, call, Layer::Types)
        })?,
        tool(workspace, "ruff_check", "Lint with ruff. Staged text counts.", |workspace, call| {
            look(workspace, call, Layer::Lint)
        })?,
        tool(
            workspace,
            PYTEST_RUN,
            "Run the project's tests in a copy with everything staged in it. Needs approval unless they run in WebAssembly.",
            run_tests,
        )?,
    ])?)
}

/// Whether tests run with the rights of the user. In WebAssembly they do not.
pub(super) fn tests_need_approval(project: &Project) -> bool {
    project.config.check.tests.runner.as_deref() != Some("wasm")
}

fn look(workspace: &Workspace, call: Look, layer: Layer) -> Result<LayerAnswer, AgentError> {
    let files: Vec<Arc<str>> = python_paths(workspace, &call.paths)?.into_iter().map(Arc::from).collect();
    let shadow = match workspace.staging.is_empty() {
        true => None,
        false => Some(Shadow::make(&workspace.project, &workspace.staging)?),
    };
    let project = shadow.as_ref().map_or(&workspace.project, |shadow| &shadow.project);
    let reports = run_all(project, &[layer], &files).map_err(RulesError::from)?;
    let skipped = || LayerReport::skipped(layer, "nothing to look at");
    Ok(LayerAnswer::new(reports.into_iter().next().unwrap_or_else(skipped)))
}

fn run_tests(workspace: &Workspace, call: RunTests) -> Result<LayerAnswer, AgentError> {
    check_paths(&call.tests)?;
    let shadow = Shadow::make(&workspace.project, &workspace.staging)?;
    let mut settings = TestSettings::new(&shadow.project).map_err(RulesError::from)?;
    for test in &call.tests {
        let (path, name) =
            test.split_once("::").map_or((test.as_str(), None), |(path, name)| (path, Some(name)));
        let path = clean_path(path)?;
        if name.is_some_and(|name| name.len() > 500 || name.chars().any(char::is_control)) {
            return Err(super::failure("that is no test", "such as `tests/test_mail.py::test_send`"));
        }
        if !shadow.project.root.join(&path).exists() {
            return Err(super::sources::missing(&path));
        }
        settings.command.push(name.map_or_else(|| path.clone(), |name| format!("{path}::{name}")));
    }
    let files: Vec<Arc<str>> = python_paths(workspace, &[])?.into_iter().map(Arc::from).collect();
    Ok(LayerAnswer::new(tests::run(&LayerContext::new(&shadow.project), &settings, &files)))
}

impl LayerAnswer {
    fn new(report: LayerReport) -> Self {
        let (problems, more_problems) = told(&report.findings);
        let (status, detail) = match report.status {
            LayerStatus::Ran { tool, .. } => {
                (if problems.is_empty() { "passed" } else { "failed" }, tool.unwrap_or_default())
            }
            LayerStatus::Skipped { reason } => ("skipped", reason),
            LayerStatus::Unavailable { tool, hint } => {
                ("unavailable", format!("`{tool}` is not installed; {hint}"))
            }
            LayerStatus::Failed { message, hint } => {
                ("broken", hint.map_or(message.clone(), |hint| format!("{message}; hint: {hint}")))
            }
        };
        Self {
            success: status == "passed",
            status: status.to_owned(),
            detail: beginning(&detail, 2_000),
            problems,
            more_problems,
        }
    }
}
