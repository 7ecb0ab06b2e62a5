//! The project's rules over files as they would be, and fixes that are staged.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_code::{Source, parse_module};
use grail_project::PythonFile;
use grail_rules::{Checker, Finding, Layer, ProjectCheck, Safety};
use grail_sandbox::Toolset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{MAX_DIFF_BYTES, beginning, diff};
use super::sources::{python_paths, text};
use super::tool;
use crate::AgentError;
use crate::artifact::Problem;
use crate::shadow::Shadow;
use crate::workspace::Workspace;

/// More problems are counted, not told.
const MAX_TOLD: usize = 50;
/// As many files are looked at one by one; more are a project, whose rules across files have a say too.
const MAX_ALONE: usize = 8;
/// Of what could not be done.
const MAX_NOTES: usize = 10;

#[derive(Deserialize, JsonSchema)]
struct CheckFiles {
    /// Files and folders; the whole project if none is named.
    #[serde(default)]
    paths: Vec<String>,
}

/// What the rules say.
#[derive(Serialize, JsonSchema)]
pub struct CheckResult {
    /// Whether nothing has to be mended.
    pub success: bool,
    /// How many files were looked at.
    pub files: usize,
    /// By path and place.
    pub problems: Vec<Problem>,
    /// Problems that are not told for want of room.
    pub more_problems: usize,
    /// How many problems `fix` would put right.
    pub fixable: usize,
    /// What could not be looked at, and why.
    pub notes: Vec<String>,
}

/// What was fixed.
#[derive(Serialize, JsonSchema)]
pub struct FixResult {
    /// Files that were staged with their fixes.
    pub changed: Vec<FixedFile>,
    /// How many fixes were made, by rule.
    pub fixed: BTreeMap<String, usize>,
    /// What is left, by path and place.
    pub problems: Vec<Problem>,
    /// Problems that are not told for want of room.
    pub more_problems: usize,
    /// All fixes as one unified diff, against the text that was fixed.
    pub diff: String,
}

/// A file with fixes.
#[derive(Serialize, JsonSchema)]
pub struct FixedFile {
    pub path: String,
    /// How many fixes were made in it.
    pub fixes: usize,
}

pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    Ok(Toolset::new([
        tool(
            workspace,
            "check",
            "Check files by syntax and by the project's rules. Staged text counts.",
            check,
        )?,
        tool(
            workspace,
            "fix",
            "Fix what the project's rules know how to fix safely, and stage the result.",
            fix,
        )?,
    ])?)
}

fn check(workspace: &Workspace, call: CheckFiles) -> Result<CheckResult, AgentError> {
    let rules = workspace.rules(None)?;
    let checker = Checker { rules: &rules, python: Some(workspace.python_rules()) };
    let paths = python_paths(workspace, &call.paths)?;
    if !call.paths.is_empty() && paths.len() <= MAX_ALONE {
        let (mut findings, mut notes) = (Vec::new(), Vec::new());
        for path in &paths {
            let (path, text) = text(workspace, path)?;
            let module = workspace.module_of(&path);
            let parsed = parse_module(Source::from_text(text));
            let looked = checker.check_parsed(&path.into(), &module, &parsed);
            findings.extend(looked.report.findings);
            notes.extend(looked.problems.iter().map(ToString::to_string));
        }
        return Ok(CheckResult::new(paths.len(), &findings, notes));
    }
    let shadow = match workspace.staging.is_empty() {
        true => None,
        false => Some(Shadow::make(&workspace.project, &workspace.staging)?),
    };
    let project = shadow.as_ref().map_or(&workspace.project, |shadow| &shadow.project);
    let file = |path: &String| PythonFile { path: project.root.join(path), explicit: false };
    let files: Vec<PythonFile> = paths.iter().map(file).collect();
    let check = ProjectCheck {
        project,
        files: &files,
        checker,
        layers: &[Layer::Syntax, Layer::Rules],
        fix: None,
        cache: None,
        progress: &|_| {},
    };
    let report = check.run();
    let notes = report.problems.iter().map(ToString::to_string).collect();
    Ok(CheckResult::new(report.files.len(), &report.findings, notes))
}

fn fix(workspace: &Workspace, call: CheckFiles) -> Result<FixResult, AgentError> {
    let rules = workspace.rules(None)?;
    let checker = Checker { rules: &rules, python: Some(workspace.python_rules()) };
    let mut result = FixResult {
        changed: Vec::new(),
        fixed: BTreeMap::new(),
        problems: Vec::new(),
        more_problems: 0,
        diff: String::new(),
    };
    let mut left: Vec<Finding> = Vec::new();
    for path in python_paths(workspace, &call.paths)? {
        let (path, before) = text(workspace, &path)?;
        let module = workspace.module_of(&path);
        let fixed = checker.fix(&path.as_str().into(), &module, &before, Safety::Safe);
        left.extend(fixed.findings);
        if fixed.text == before {
            continue;
        }
        if result.diff.len() < MAX_DIFF_BYTES {
            result.diff += &diff(&path, &before, &fixed.text);
        }
        workspace.staging.write(&path, fixed.text)?;
        for (rule, count) in &fixed.applied {
            *result.fixed.entry(rule.to_string()).or_default() += count;
        }
        result.changed.push(FixedFile { path, fixes: fixed.applied.values().sum() });
    }
    result.diff = beginning(&result.diff, MAX_DIFF_BYTES);
    (result.problems, result.more_problems) = told(&left);
    Ok(result)
}

impl CheckResult {
    fn new(files: usize, findings: &[Finding], mut notes: Vec<String>) -> Self {
        notes.truncate(MAX_NOTES);
        let (problems, more_problems) = told(findings);
        let is_fixable =
            |finding: &&Finding| finding.fix.as_ref().is_some_and(|fix| fix.safety == Safety::Safe);
        Self {
            success: problems.is_empty() && notes.is_empty(),
            files,
            fixable: findings.iter().filter(is_fixable).count(),
            problems,
            more_problems,
            notes,
        }
    }
}

/// Findings that fail a check, as far as there is room, and how many are left out.
pub(super) fn told(findings: &[Finding]) -> (Vec<Problem>, usize) {
    let failures: Vec<&Finding> = findings.iter().filter(|finding| finding.is_failure()).collect();
    let problems = failures.iter().take(MAX_TOLD).map(|finding| Problem::from(*finding)).collect();
    (problems, failures.len().saturating_sub(MAX_TOLD))
}
