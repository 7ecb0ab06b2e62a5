//! One artifact through its layers: parsed, checked by the rules of its kind, fixed where a rule knows how, then shown to other tools.
//!
//! What comes back is the same whether a model, a template or another program wrote the code: where it goes, what each layer says, what
//! was fixed, and what is left, with lines and hints that a model can act on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use grail_code::{Source, parse_module};
use grail_flywheel::EventKind;
use grail_flywheel::event::Problem as EventProblem;
use grail_model::Usage;
use grail_rules::layers::tests::{Runner, TestSettings, choose_runner};
use grail_rules::layers::{self, LayerContext, LayerReport, LayerStatus};
use grail_rules::{
    ArtifactKind, Checker, FileUnderCheck, Finding, Layer, Pack, PythonRules, Safety, Suppressions,
    syntax_findings,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::answer::name_of;
use crate::dialogue::tokens;
use crate::first_line::{FIRST_LINE, is_out_of_joint, retell};
use crate::shadow::Shadow;
use crate::spelling::{SPELLING, Spelled, spell_as_said};
use crate::staging::Staging;
use crate::style::Style;
use crate::workspace::{CheckedArtifact, Workspace};

/// More findings are counted, not told: a model mends the first ones first.
const MAX_TOLD: usize = 20;
/// Longer code is no artifact.
const MAX_CODE_BYTES: usize = 256 * 1024;

/// What a model hands in.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactCode {
    /// The kind of artifact: component, service, view, test and so on.
    pub artifact_type: String,
    /// Its name, such as `UserCard` or `user_profile_view`.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// The whole Python file.
    pub code: String,
}

/// What came of an artifact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactReport {
    /// Whether every layer that could run is content; then the file is part of the proposal.
    pub success: bool,
    /// Where the file goes, below the project's root.
    pub path: String,
    /// What each layer says, in the order in which they ran.
    pub layers: Vec<LayerResult>,
    /// Fixes that were made, by rule.
    pub fixed: BTreeMap<String, usize>,
    /// What has to be mended, by place.
    pub problems: Vec<Problem>,
    /// Problems that are not told for want of room.
    pub more_problems: usize,
    /// What to do next.
    pub next: String,
}

/// One layer of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerResult {
    /// syntax, rules, lint, types or tests.
    pub layer: String,
    /// passed, failed, skipped, unavailable or broken (the tool itself failed).
    pub status: String,
    /// How many problems it found.
    pub findings: usize,
    /// The tool with its version, or why it did not run.
    pub detail: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The file, below the project's root.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
    pub layer: String,
    /// The rule that says so.
    pub rule: String,
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How artifacts are checked.
#[derive(Clone, Default)]
pub struct ArtifactSettings {
    /// Only these layers; without any, those that the kind asks for.
    pub layers: Vec<Layer>,
    /// Where the file goes, if not where the kind says.
    pub path: Option<String>,
    /// A file that exists may be replaced.
    pub may_replace: bool,
    /// Habits that the code must keep.
    pub style: Option<Arc<Style>>,
    /// What was asked for, if code is to be put right by it before it is checked: for models that have not learned to spell. The file is named by what
    /// the code gives then.
    pub mended_by: Option<String>,
    /// Somebody asked for tests to run, although they run what a model wrote with the rights of the user. Behind the walls of the `wasm`
    /// runner they run anyway.
    pub runs_tests: bool,
}

/// Checks and fixes an artifact; if it passes, it is staged.
pub fn check_artifact(
    workspace: &Workspace,
    artifact: &ArtifactCode,
    settings: &ArtifactSettings,
) -> Result<ArtifactReport, AgentError> {
    let (pack, kind) = find_kind(workspace, &artifact.artifact_type)?;
    if artifact.code.len() > MAX_CODE_BYTES {
        return Err(AgentError::Other {
            message: format!("the code has more than {MAX_CODE_BYTES} bytes"),
            hint: Some("one artifact is one file; make several".to_owned()),
        });
    }
    let path = settings.path.as_deref().map(crate::staging::clean_path).transpose()?;
    let (text, mut report) = match (&settings.mended_by, path) {
        (Some(request), path) => check_mended(workspace, &kind, path.as_deref(), &artifact.code, request)?,
        (None, Some(path)) => check_text(workspace, Some(&kind.name), &path, &artifact.code)?,
        (None, None) => {
            let path = path_for(workspace, &kind, &artifact.name)?;
            check_text(workspace, Some(&kind.name), &path, &artifact.code)?
        }
    };
    let path = report.path.clone();
    if !settings.may_replace && workspace.staging.read_from_disk(&path)?.is_some() {
        return Err(AgentError::Exists { path });
    }
    let mut code = text.clone();
    if let Some(style) = settings.style.as_ref().filter(|_| report.success) {
        check_style(workspace, style, &text, &mut report);
    }
    if report.success {
        let previous = workspace.staging.staged().remove(&path);
        workspace.staging.write(&path, text)?;
        let wanted = |layer: &Layer| match settings.layers.is_empty() {
            true => kind.checks.contains(layer),
            false => settings.layers.contains(layer),
        };
        let runs_tests = settings.runs_tests || settings.layers.contains(&Layer::Tests);
        run_tools(workspace, &[path.as_str()], wanted, runs_tests, &mut report)?;
        if let Some(request) = settings.mended_by.as_ref().filter(|_| !report.success)
            && let Some((told, mut retold)) =
                check_retold(workspace, &kind, &path, &artifact.code, request, &code)?
        {
            workspace.staging.write(&path, told.clone())?;
            if let Some(style) = &settings.style {
                check_style(workspace, style, &told, &mut retold);
            }
            run_tools(workspace, &[path.as_str()], wanted, runs_tests, &mut retold)?;
            if retold.success {
                (code, report) = (told, retold);
            }
        }
        if !report.success {
            // What does not pass is not part of the proposal.
            match previous {
                Some(Some(text)) => drop(workspace.staging.write(&path, text)?),
                _ => workspace.staging.forget(&path),
            }
        }
    }
    report.next = next_step(&report);
    let rules = workspace.rules_with_pack(&pack.name)?.hash().to_hex();
    let attempt = workspace.session.emit_check(EventKind::DomainValidation {
        validator: format!("{}@{}", pack.name, &rules[..16]),
        artifact: kind.name.clone(),
        path: report.path.clone(),
        code: artifact.code.clone(),
        passed: report.success,
        problems: report.event_problems(),
        fixed: report.fixed.keys().cloned().collect(),
        suppressed: suppressed_rules(&artifact.code),
        types: report.passed(Layer::Types),
        tests: report.passed(Layer::Tests),
    });
    let (kind, report) = (kind.name.clone(), report);
    workspace.artifacts.push(CheckedArtifact { kind, report: report.clone(), code, attempt });
    Ok(report)
}

/// How an artifact came about.
pub struct Making<'m> {
    pub request: &'m str,
    pub retries: usize,
    pub skills: Vec<String>,
    pub usage: Usage,
    pub took: Duration,
    /// Whether it became part of a proposal.
    pub is_kept: bool,
}

/// Keeps what came of an artifact as an event, for better or worse.
pub fn record_generation(workspace: &Workspace, checked: &CheckedArtifact, making: Making<'_>) {
    let report = &checked.report;
    workspace.session.emit(EventKind::Generation {
        artifact: checked.kind.clone(),
        request: making.request.to_owned(),
        code: checked.code.clone(),
        validated: report.success && making.is_kept,
        types: report.passed(Layer::Types),
        tests: report.passed(Layer::Tests),
        problems: report.event_problems(),
        retries: making.retries.try_into().unwrap_or(u32::MAX),
        path: report.path.clone(),
        skills: making.skills,
        tokens: tokens(making.usage),
        milliseconds: making.took.as_millis().try_into().unwrap_or(u64::MAX),
    });
}

/// Rules that comments in a text silence.
fn suppressed_rules(code: &str) -> Vec<String> {
    let suppressions = Suppressions::read(&parse_module(Source::from_text(code)));
    let rules: BTreeSet<&str> = suppressions.rules().collect();
    rules.into_iter().map(str::to_owned).collect()
}

/// Syntax, rules and safe fixes for a text that is meant to be at `path`. The text comes back as fixing left it.
pub fn check_text(
    workspace: &Workspace,
    kind: Option<&str>,
    path: &str,
    code: &str,
) -> Result<(String, ArtifactReport), AgentError> {
    check_and_fix(workspace, kind, path, code, Some(Safety::Safe))
}

/// The same for code that answers a request: before rules look at it, it is put right by what was said and by what it says of itself. It is meant to be at
/// `path`, or where its kind says.
pub fn check_mended(
    workspace: &Workspace,
    kind: &ArtifactKind,
    path: Option<&str>,
    code: &str,
    request: &str,
) -> Result<(String, ArtifactReport), AgentError> {
    let mended = mend(workspace, kind, code, request)?;
    let path = match path {
        Some(path) => path.to_owned(),
        None => path_of(workspace, kind, &mended.code)?,
    };
    let (text, mut report) = check_text(workspace, Some(&kind.name), &path, &mended.code)?;
    report.fixed.extend(mended.fixes);
    Ok((text, report))
}

/// The same for code that rules let pass and other tools do not: its own first line taken at its word, if that passes the rules and is something else
/// than what tools have looked at.
pub fn check_retold(
    workspace: &Workspace,
    kind: &ArtifactKind,
    path: &str,
    code: &str,
    request: &str,
    looked_at: &str,
) -> Result<Option<(String, ArtifactReport)>, AgentError> {
    let template = kind.template_text.as_deref().unwrap_or_default();
    let Some(told) = retell(workspace, kind, &spell_as_said(request, template, code).code, request) else {
        return Ok(None);
    };
    let (text, mut report) = check_text(workspace, Some(&kind.name), path, &told)?;
    report.fixed.insert(FIRST_LINE.to_owned(), 1);
    Ok((report.success && text != looked_at).then_some((text, report)))
}

/// Code as a request and its own first line want it.
pub struct Mended {
    pub code: String,
    /// What was put right, and how often; nothing if it was right.
    pub fixes: BTreeMap<String, usize>,
}

/// Spells names as they were said, and keeps code to its own first line if it does not pass as it is.
pub fn mend(
    workspace: &Workspace,
    kind: &ArtifactKind,
    code: &str,
    request: &str,
) -> Result<Mended, AgentError> {
    let template = kind.template_text.as_deref().unwrap_or_default();
    let Spelled { code, words, is_renamed } = spell_as_said(request, template, code);
    let passes = |code: &str| match path_of(workspace, kind, code) {
        Ok(path) => Ok(check_text(workspace, Some(&kind.name), &path, code)?.1.success),
        Err(_) => Ok::<bool, AgentError>(false),
    };
    if let Some(told) = retell(workspace, kind, &code, request)
        && (is_renamed || is_out_of_joint(&code, &told) || !passes(&code)?)
        && passes(&told)?
    {
        return Ok(Mended { code: told, fixes: BTreeMap::from([(FIRST_LINE.to_owned(), 1)]) });
    }
    let fixes = if words > 0 { BTreeMap::from([(SPELLING.to_owned(), words)]) } else { BTreeMap::new() };
    Ok(Mended { code, fixes })
}

/// Where code goes by the name that it gives.
pub fn path_of(workspace: &Workspace, kind: &ArtifactKind, code: &str) -> Result<String, AgentError> {
    path_for(workspace, kind, &name_of(code, &kind.name))
}

/// Syntax and rules for a text as it stands: what a fix would put right counts against it.
pub fn check_unfixed(
    workspace: &Workspace,
    kind: Option<&str>,
    path: &str,
    code: &str,
) -> Result<ArtifactReport, AgentError> {
    check_and_fix(workspace, kind, path, code, None).map(|(_, report)| report)
}

/// The same with fixes that are as safe as `allowed`.
pub fn check_with_fixes(
    workspace: &Workspace,
    kind: Option<&str>,
    path: &str,
    code: &str,
    allowed: Safety,
) -> Result<(String, ArtifactReport), AgentError> {
    check_and_fix(workspace, kind, path, code, Some(allowed))
}

fn check_and_fix(
    workspace: &Workspace,
    kind: Option<&str>,
    path: &str,
    code: &str,
    fixes: Option<Safety>,
) -> Result<(String, ArtifactReport), AgentError> {
    let shown: Arc<str> = path.into();
    let module = workspace.module_of(path);
    let parsed = parse_module(Source::from_text(code));
    let mut report = ArtifactReport {
        success: false,
        path: path.to_owned(),
        layers: Vec::new(),
        fixed: BTreeMap::new(),
        problems: Vec::new(),
        more_problems: 0,
        next: String::new(),
    };
    if !parsed.is_valid() {
        let findings = syntax_findings(&FileUnderCheck::new(shown, module, &parsed));
        report.layers.push(layer_result(Layer::Syntax, findings.len(), String::new()));
        report.tell(&findings);
        return Ok((code.to_owned(), report));
    }
    let python: &dyn PythonRules = workspace.python_rules();
    let rules = match kind {
        // Code that is plainly of its kind is judged as it is. Code that is not must be made to be: then everything in it is meant.
        Some(kind) => {
            let natural = workspace.rules_with_pack(&find_kind(workspace, kind)?.0.name)?;
            let found = Checker { rules: &natural, python: None }.check_parsed(&shown, &module, &parsed);
            let is_recognised = found.report.artifacts.iter().any(|artifact| artifact.kind == kind);
            if is_recognised { natural } else { workspace.rules(Some(kind))? }
        }
        None => workspace.rules(None)?,
    };
    let checker = Checker { rules: &rules, python: Some(python) };
    let (text, findings) = match fixes {
        Some(allowed) => {
            let fixed = checker.fix(&shown, &module, code, allowed);
            report.fixed = fixed.applied.iter().map(|(rule, count)| (rule.to_string(), *count)).collect();
            (fixed.text, fixed.findings)
        }
        None => (code.to_owned(), checker.check_parsed(&shown, &module, &parsed).report.findings),
    };
    let failures: Vec<Finding> = findings.into_iter().filter(Finding::is_failure).collect();
    report.layers.push(layer_result(Layer::Syntax, 0, String::new()));
    report.layers.push(layer_result(
        Layer::Rules,
        failures.len(),
        format!("{} rules in force", rules.rules().len()),
    ));
    report.success = failures.is_empty();
    report.tell(&failures);
    Ok((text, report))
}

/// The habits of the file that sets the style.
fn check_style(workspace: &Workspace, style: &Style, text: &str, report: &mut ArtifactReport) {
    let parsed = parse_module(Source::from_text(text));
    let (shown, module) = (Arc::from(report.path.as_str()), workspace.module_of(&report.path));
    let checker = Checker { rules: &style.rules, python: None };
    let mut broken = checker.check_parsed(&shown, &module, &parsed).report.findings;
    broken.retain(Finding::is_failure);
    let detail = format!("habits of {}: {}", style.path, style.habits.len());
    report
        .layers
        .push(LayerResult { layer: "style".to_owned(), ..layer_result(Layer::Rules, broken.len(), detail) });
    report.success &= broken.is_empty();
    report.tell(&broken);
}

/// The layers of other tools, on the project as it would be. Lint and types look at `paths`, tests at everything.
pub fn run_tools(
    workspace: &Workspace,
    paths: &[&str],
    is_wanted: impl Fn(&Layer) -> bool,
    runs_tests: bool,
    report: &mut ArtifactReport,
) -> Result<(), AgentError> {
    run_tools_over(workspace, &workspace.staging, paths, is_wanted, runs_tests, report)
}

/// The same, on the project as it would be with other things staged than the workspace has.
pub fn run_tools_over(
    workspace: &Workspace,
    staging: &Staging,
    paths: &[&str],
    is_wanted: impl Fn(&Layer) -> bool,
    runs_tests: bool,
    report: &mut ArtifactReport,
) -> Result<(), AgentError> {
    let wanted: Vec<Layer> =
        [Layer::Lint, Layer::Types, Layer::Tests].into_iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let shadow = Shadow::make(&workspace.project, staging)?;
    let files: Vec<Arc<str>> = paths.iter().map(|path| Arc::from(*path)).collect();
    let (tests, others): (Vec<Layer>, Vec<Layer>) =
        wanted.into_iter().partition(|layer| *layer == Layer::Tests);
    let mut reports = layers::run_all(&shadow.project, &others, &files)?;
    if !tests.is_empty() {
        reports.extend(test(&shadow, runs_tests)?);
    }
    for mut layer in reports {
        let findings = std::mem::take(&mut layer.findings);
        let failures: Vec<Finding> = findings.into_iter().filter(Finding::is_failure).collect();
        let (status, detail) = match layer.status {
            LayerStatus::Ran { tool, .. } => {
                let status = if failures.is_empty() { "passed" } else { "failed" };
                (status, tool.unwrap_or_default())
            }
            LayerStatus::Skipped { reason } => ("skipped", reason),
            LayerStatus::Unavailable { tool, hint } => {
                ("unavailable", format!("`{tool}` is not installed; {hint}"))
            }
            LayerStatus::Failed { message, .. } => ("broken", message),
        };
        report.success &= failures.is_empty() && status != "broken";
        let name = layer.layer.name().to_owned();
        report.layers.push(LayerResult {
            layer: name,
            status: status.to_owned(),
            findings: failures.len(),
            detail,
        });
        report.tell(&failures);
    }
    Ok(())
}

/// The tests, if somebody asked for them or if they run behind walls.
fn test(shadow: &Shadow, runs_tests: bool) -> Result<Vec<LayerReport>, AgentError> {
    let files = shadow.python_files();
    let settings = TestSettings::new(&shadow.project)?;
    let is_walled = || choose_runner(&LayerContext::new(&shadow.project), &settings, &files) == Runner::Wasm;
    if !runs_tests && !is_walled() {
        let reason = "tests would run what a model wrote, with your rights; `--layer tests` allows it";
        return Ok(vec![LayerReport::skipped(Layer::Tests, reason)]);
    }
    Ok(layers::run_all(&shadow.project, &[Layer::Tests], &files)?)
}

/// A kind by its name, with its pack.
pub fn find_kind<'w>(
    workspace: &'w Workspace,
    name: &str,
) -> Result<(&'w Pack, Arc<ArtifactKind>), AgentError> {
    let wanted = name.trim().to_lowercase().replace(['_', ' '], "-");
    let mut kinds = workspace.library.kinds();
    let found = kinds.find(|(_, kind)| kind.name == wanted).map(|(pack, kind)| (pack, Arc::clone(kind)));
    found.ok_or_else(|| {
        let mut known: Vec<String> = workspace.library.kinds().map(|(_, kind)| kind.name.clone()).collect();
        known.sort();
        known.dedup();
        AgentError::UnknownKind { kind: wanted.chars().take(80).collect(), known }
    })
}

/// Where a new artifact goes: inside the project's package if there is one, except for tests.
pub fn path_for(workspace: &Workspace, kind: &ArtifactKind, name: &str) -> Result<String, AgentError> {
    let bad = || AgentError::BadName { kind: kind.name.clone(), name: name.chars().take(80).collect() };
    let relative = kind.path_for(name).ok_or_else(bad)?;
    let relative = relative.to_str().ok_or_else(bad)?.to_owned();
    let package = workspace.package_folder().filter(|_| !relative.starts_with("tests/"));
    crate::staging::clean_path(&match package {
        Some(folder) => format!("{folder}/{relative}"),
        None => relative,
    })
}

impl ArtifactReport {
    /// What is wrong, in a line for people.
    pub fn reason(&self) -> String {
        match self.problems.first() {
            Some(first) => {
                let more = self.problems.len() + self.more_problems - 1;
                let rest = if more == 0 { String::new() } else { format!(", and {more} more") };
                format!("{}:{}: {} [{}]{rest}", first.path, first.line, first.message, first.rule)
            }
            None => format!("a tool could not look at {}", self.path),
        }
    }

    /// Whether a layer had its say, and what it said.
    pub fn passed(&self, layer: Layer) -> Option<bool> {
        let result = self.layers.iter().find(|result| result.layer == layer.name())?;
        match result.status.as_str() {
            "passed" => Some(true),
            "failed" => Some(false),
            _ => None,
        }
    }

    /// The problems as events keep them.
    pub fn event_problems(&self) -> Vec<EventProblem> {
        self.problems.iter().map(EventProblem::from).collect()
    }

    fn tell(&mut self, findings: &[Finding]) {
        let room = MAX_TOLD.saturating_sub(self.problems.len());
        self.problems.extend(findings.iter().take(room).map(Problem::from));
        self.more_problems += findings.len().saturating_sub(room);
    }
}

impl From<&Problem> for EventProblem {
    fn from(problem: &Problem) -> Self {
        Self {
            layer: problem.layer.clone(),
            rule: problem.rule.clone(),
            message: problem.message.clone(),
            line: problem.line,
            hint: problem.hint.clone(),
        }
    }
}

impl From<&Finding> for Problem {
    fn from(finding: &Finding) -> Self {
        Self {
            path: finding.path.to_string(),
            line: finding.start.line,
            column: finding.start.column,
            layer: finding.layer.name().to_owned(),
            rule: finding.rule.to_string(),
            message: finding.message.clone(),
            hint: finding.help.clone().or_else(|| finding.fix.as_ref().map(|fix| fix.title.clone())),
        }
    }
}

fn layer_result(layer: Layer, findings: usize, detail: String) -> LayerResult {
    let status = if findings == 0 { "passed" } else { "failed" };
    LayerResult { layer: layer.name().to_owned(), status: status.to_owned(), findings, detail }
}

fn next_step(report: &ArtifactReport) -> String {
    match (report.success, report.problems.first()) {
        (true, _) => {
            format!("`{}` is part of the proposal; say what was made, or make the next one", report.path)
        }
        (false, Some(first)) => {
            format!("mend the problems, beginning with line {}, and hand in the whole file again", first.line)
        }
        (false, None) => "a tool could not do its work; nothing about the code is known".to_owned(),
    }
}
