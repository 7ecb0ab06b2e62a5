//! A rule's own examples, run: every bad one must be found where and as it says, every good one must pass.

use std::path::PathBuf;
use std::sync::Arc;

use grail_code::{ModuleName, Parsed, Source, parse_module};

use crate::check::{Checker, PythonRules};
use crate::file::FileUnderCheck;
use crate::kind::ArtifactKind;
use crate::rule::{CompiledRule, Example, Options, Rule};
use crate::ruleset::{RuleSet, RuleSetBuilder};
use crate::{Finding, ProjectUnderCheck, RuleProblem, Safety};

/// What running a rule's examples came to.
#[derive(Debug)]
pub struct SpecReport {
    pub rule: Arc<str>,
    pub path: PathBuf,
    /// How many examples there are.
    pub examples: usize,
    pub failures: Vec<SpecFailure>,
}

/// An example that does not do what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFailure {
    /// The line of the rule file.
    pub line: usize,
    pub message: String,
}

/// Runs all examples of a rule. `kinds` are those of its pack.
pub fn test_rule(
    rule: &Arc<Rule>,
    kinds: &[Arc<ArtifactKind>],
    python: Option<&dyn PythonRules>,
) -> SpecReport {
    let mut failures = Vec::new();
    if !rule.examples.iter().any(|example| example.is_bad && !example.files.is_empty()) {
        failures.push(
            SpecFailure::new(1, "the rule has no bad example that it finds")
                .of("add a section `## Bad` with a block of Python and `# error: message` behind the line"),
        );
    }
    if !rule.examples.iter().any(|example| !example.is_bad && !example.files.is_empty()) {
        failures.push(
            SpecFailure::new(1, "the rule has no good example that it passes")
                .of("add a section `## Good` with a block of Python"),
        );
    }
    if rule.fix.is_some() && !rule.examples.iter().any(|example| !example.fixed.is_empty()) {
        failures.push(
            SpecFailure::new(1, "the rule has a fix, but no example shows what it makes of bad code")
                .of("add a block that starts with ```python fixed"),
        );
    }
    for example in &rule.examples {
        run_example(rule, kinds, python, example, &mut failures);
    }
    SpecReport {
        rule: Arc::clone(&rule.id),
        path: rule.path.clone(),
        examples: rule.examples.len(),
        failures,
    }
}

fn run_example(
    rule: &Arc<Rule>,
    kinds: &[Arc<ArtifactKind>],
    python: Option<&dyn PythonRules>,
    example: &Example,
    failures: &mut Vec<SpecFailure>,
) {
    let compiled = match example_options(example)
        .and_then(|options| Arc::clone(rule).compile(&options, None).map_err(|problem| problem.message))
    {
        Ok(compiled) => compiled,
        Err(message) => return failures.push(SpecFailure::new(example.line, message)),
    };
    let rules = rule_set(compiled, kinds, example.kind.clone());
    let checker = Checker { rules: &rules, python };
    let parsed: Vec<Parsed> =
        example.files.iter().map(|file| parse_module(Source::from_text(file.text.as_str()))).collect();
    let (found, problems) = check_example(&checker, example, &parsed);
    failures.extend(problems.into_iter().map(|problem| SpecFailure::new(example.line, problem.to_string())));
    for (file, findings) in example.files.iter().zip(&found) {
        compare(file.line, &file.expected, findings, example.is_bad, failures);
    }
    if example.is_bad && found.iter().all(Vec::is_empty) {
        failures.push(SpecFailure::new(example.line, "the rule finds nothing in this bad example"));
    }
    for fixed in &example.fixed {
        let Some(before) = example.files.iter().find(|file| file.path == fixed.path) else {
            failures.push(SpecFailure::new(fixed.line, format!("there is no `{}` to fix", fixed.path)));
            continue;
        };
        let path: Arc<str> = before.path.as_str().into();
        let result = checker.fix(&path, &module_of(&before.path), &before.text, Safety::Unsafe);
        failures.extend(
            result.problems.iter().map(|problem| SpecFailure::new(example.line, problem.to_string())),
        );
        if result.text != fixed.text {
            failures.push(SpecFailure::new(fixed.line, difference(&fixed.text, &result.text)));
        }
    }
}

fn example_options(example: &Example) -> Result<Options, String> {
    let Some(text) = &example.options else { return Ok(Options::new()) };
    let table: toml::Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    match serde_json::to_value(table) {
        Ok(serde_json::Value::Object(options)) => Ok(options),
        _ => Err("the options are no table".to_owned()),
    }
}

fn rule_set(rule: CompiledRule, kinds: &[Arc<ArtifactKind>], kind: Option<String>) -> RuleSet {
    let mut builder = RuleSetBuilder::default();
    builder.rule(rule, Vec::new());
    kinds.iter().cloned().for_each(|kind| builder.kind(kind));
    builder.force_kind(kind);
    builder.build()
}

/// The findings of each file of an example, settled.
fn check_example(
    checker: &Checker<'_>,
    example: &Example,
    parsed: &[Parsed],
) -> (Vec<Vec<Finding>>, Vec<RuleProblem>) {
    let files: Vec<FileUnderCheck<'_>> = example
        .files
        .iter()
        .zip(parsed)
        .map(|(file, parsed)| FileUnderCheck::new(file.path.as_str(), module_of(&file.path), parsed))
        .collect();
    let mut problems = Vec::new();
    let mut reports = Vec::new();
    let mut indexed = Vec::new();
    for file in &files {
        let mut check = checker.look(file);
        problems.append(&mut check.problems);
        reports.push(check.report);
        indexed.extend(check.indexed.map(|index| (Arc::clone(&file.path), index)));
    }
    if checker.has_project_rules() {
        let source = |path: &str| {
            files.iter().find(|file| &*file.path == path).map(|file| file.parsed.source().clone())
        };
        let (findings, mut failed) = checker.look_across(&ProjectUnderCheck::new(indexed, &source));
        problems.append(&mut failed);
        for finding in findings {
            if let Some(at) = files.iter().position(|file| file.path == finding.path) {
                reports[at].findings.push(finding);
            }
        }
    }
    let settled = files.iter().zip(reports).map(|(file, mut report)| {
        checker.rules.settle(&mut report, &file.path);
        report.findings
    });
    (settled.collect(), problems)
}

fn compare(
    start: usize,
    expected: &[crate::Expectation],
    found: &[Finding],
    is_bad: bool,
    failures: &mut Vec<SpecFailure>,
) {
    let mut left: Vec<&Finding> = found.iter().collect();
    for expectation in expected {
        let is_it = |finding: &&Finding| {
            finding.start.line == expectation.line
                && finding.severity == expectation.severity
                && finding.message == expectation.message
        };
        match left.iter().position(is_it) {
            Some(index) => {
                left.remove(index);
            }
            None => failures.push(SpecFailure::new(
                start + expectation.line as usize - 1,
                format!("expected, not found: {}: {}", expectation.severity, expectation.message),
            )),
        }
    }
    for finding in left {
        let word = if is_bad { "found, not expected" } else { "found in good code" };
        failures.push(SpecFailure::new(
            start + finding.start.line as usize - 1,
            format!("{word}: {}: {}", finding.severity, finding.message),
        ));
    }
}

fn difference(expected: &str, found: &str) -> String {
    let line = expected.lines().zip(found.lines()).position(|(a, b)| a != b);
    let line = line.unwrap_or(expected.lines().count().min(found.lines().count()));
    let show =
        |text: &str| text.lines().nth(line).map_or("nothing".to_owned(), |line| format!("`{}`", line.trim()));
    format!("the fix gives {} on line {}, not {}", show(found), line + 1, show(expected))
}

fn module_of(path: &str) -> ModuleName {
    let dotted = path.trim_end_matches(".py").trim_start_matches("src/").replace('/', ".");
    match dotted.strip_suffix(".__init__") {
        Some(package) => ModuleName::package(package),
        None => ModuleName::module(dotted),
    }
}

impl SpecFailure {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }

    fn of(mut self, hint: &str) -> Self {
        self.message = format!("{}; {hint}", self.message);
        self
    }
}

impl SpecReport {
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}
