//! The layers of a check that are other tools' work: lint, types and tests.
//!
//! A layer never breaks a check: it always returns a [`LayerReport`]. What a tool says is believed only in the form the tool documents; an
//! empty or unknown output makes the layer [`LayerStatus::Failed`], never clean.

pub mod lint;
mod places;
mod target;
pub mod tests;
pub mod types;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use grail_project::{Project, TargetVersion, ToolConfig};
use serde::{Serialize, Serializer};

use self::tests::TestSettings;
use crate::tools::{self, Tool, ToolProblem, ToolSettings};
use crate::{Finding, Layer, RuleProblem};

/// What every layer needs to know about the project.
#[derive(Clone, Debug)]
pub struct LayerContext {
    /// The project's root: absolute, without links. Tools run here, and paths are relative to it.
    pub root: PathBuf,
    /// Larger files are not read back to find out where a finding lies.
    pub max_file_bytes: u64,
    /// The Python version of the project, told to tools whose own configuration says nothing about it.
    pub target_version: TargetVersion,
    pub tools: ToolSettings,
}

/// What became of one layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    pub layer: Layer,
    #[serde(flatten)]
    pub status: LayerStatus,
    /// By path and place. Left out of the data, where all findings are in one list.
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum LayerStatus {
    Ran {
        /// The tool with its version, such as `ruff 0.17.4`.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        findings: usize,
        #[serde(rename = "seconds", serialize_with = "as_seconds")]
        duration: Duration,
    },
    /// Not asked for, or nothing to do.
    Skipped { reason: String },
    /// The optional tool is not installed.
    Unavailable { tool: String, hint: String },
    /// The tool did not do its work; nothing is known about the code, and the check as a whole could not be done.
    Failed {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

impl LayerContext {
    pub fn new(project: &Project) -> Self {
        Self {
            root: project.root.clone(),
            max_file_bytes: project.config.code.max_file_bytes,
            target_version: project.config.project.target_version,
            tools: ToolSettings::default(),
        }
    }

    /// The same with the time that the project's settings give a tool.
    fn within(mut self, config: &ToolConfig) -> Self {
        if let Some(seconds) = config.timeout {
            self.tools.deadline = Duration::from_secs(seconds);
        }
        self
    }
}

impl LayerReport {
    pub fn skipped(layer: Layer, reason: impl Into<String>) -> Self {
        Self { layer, status: LayerStatus::Skipped { reason: reason.into() }, findings: Vec::new() }
    }

    pub fn failed(layer: Layer, problem: &ToolProblem) -> Self {
        let status = LayerStatus::Failed { message: problem.to_string(), hint: problem.hint() };
        Self { layer, status, findings: Vec::new() }
    }

    /// A layer that was carried out; puts the findings into order.
    pub fn ran(layer: Layer, tool: Option<String>, mut findings: Vec<Finding>, duration: Duration) -> Self {
        findings.sort_by(|one, other| {
            (&one.path, one.start, one.end, &one.rule).cmp(&(
                &other.path,
                other.start,
                other.end,
                &other.rule,
            ))
        });
        Self { layer, status: LayerStatus::Ran { tool, findings: findings.len(), duration }, findings }
    }

    /// Whether the check as a whole could not be done.
    pub fn is_failed(&self) -> bool {
        matches!(self.status, LayerStatus::Failed { .. })
    }
}

/// Runs those of these layers that are other tools' work, on files by their paths relative to the root. A setting that makes no sense is
/// refused before anything runs.
pub fn run_all(
    project: &Project,
    layers: &[Layer],
    files: &[Arc<str>],
) -> Result<Vec<LayerReport>, RuleProblem> {
    let context = LayerContext::new(project);
    let test_settings = TestSettings::new(project)?;
    // Tools run in the root and know nothing of files outside.
    let inside: Vec<Arc<str>> =
        files.iter().filter(|path| !Path::new(&***path).is_absolute()).cloned().collect();
    let config = &project.config.check;
    let report = |layer: &Layer| match layer {
        Layer::Syntax | Layer::Rules => None,
        Layer::Lint => Some(lint::run(&context.clone().within(&config.lint), &inside)),
        Layer::Types => Some(types::run(&context.clone().within(&config.types), &inside)),
        Layer::Tests => Some(tests::run(&context, &test_settings, &inside)),
    };
    Ok(layers.iter().filter_map(report).collect())
}

/// Finds the tool, lets `work` use it and reports.
fn with_tool(
    layer: Layer,
    name: &str,
    context: &LayerContext,
    work: impl FnOnce(&Tool) -> Result<Vec<Finding>, ToolProblem>,
) -> LayerReport {
    let begin = Instant::now();
    let (tool, version) = match tools::find_working(&context.root, name, &context.tools) {
        Ok(Some(found)) => found,
        Ok(None) => return unavailable(layer, name),
        Err(problem) => return LayerReport::failed(layer, &problem),
    };
    match work(&tool) {
        Ok(findings) => LayerReport::ran(layer, Some(version), findings, begin.elapsed()),
        Err(problem) => LayerReport::failed(layer, &problem),
    }
}

fn unavailable(layer: Layer, name: &str) -> LayerReport {
    let hint = format!("install it with `uv add --dev {name}` or `pip install {name}`");
    let status = LayerStatus::Unavailable { tool: name.to_owned(), hint };
    LayerReport { layer, status, findings: Vec::new() }
}

fn as_seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1000.0).round() / 1000.0)
}
