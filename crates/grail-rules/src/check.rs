//! One file through the layers that Grail has itself: syntax, rules, fixes.

use std::sync::Arc;

use grail_code::index::FileIndex;
use grail_code::{ModuleName, Parsed, Source, parse_module};

use crate::file::FileUnderCheck;
use crate::fixing::{Fixed, fix_text};
use crate::ruleset::{FileReport, RuleSet, syntax_findings};
use crate::{CompiledRule, Finding, ProjectUnderCheck, RuleProblem, Safety};

/// Runs rules that are written in Python. Whoever checks brings one, because it takes worker processes.
pub trait PythonRules: Sync {
    /// What a rule's `check(tree)` says about one file.
    fn check_file(&self, rule: &CompiledRule, file: &FileUnderCheck<'_>)
    -> Result<Vec<Finding>, RuleProblem>;

    /// What a rule's `check_project(project)` says about all files.
    fn check_project(
        &self,
        rule: &CompiledRule,
        project: &ProjectUnderCheck<'_>,
    ) -> Result<Vec<Finding>, RuleProblem>;
}

/// Checks files with a set of rules.
#[derive(Clone, Copy)]
pub struct Checker<'c> {
    pub rules: &'c RuleSet,
    pub python: Option<&'c dyn PythonRules>,
}

/// What came of one file: what was found, and rules that could not do their work.
#[derive(Debug, Default)]
pub struct FileCheck {
    pub report: FileReport,
    pub problems: Vec<RuleProblem>,
    /// What it defines, imports and calls, as far as a rule across files asks for it.
    pub indexed: Option<FileIndex>,
}

impl Checker<'_> {
    /// Syntax and rules. Findings are raw: suppressions are applied by [`RuleSet::settle`] when rules across files have had their say.
    pub fn look(&self, file: &FileUnderCheck<'_>) -> FileCheck {
        let mut check = FileCheck { report: self.rules.look(file), ..FileCheck::default() };
        if let Some(python) = self.python {
            for index in std::mem::take(&mut check.report.python) {
                let Some(rule) = self.rules.rule(index) else { continue };
                match python.check_file(rule, file) {
                    Ok(findings) => check.report.findings.extend(findings),
                    Err(problem) => check.problems.push(problem),
                }
            }
        }
        check.indexed = self.index(file);
        check.report.findings.extend(syntax_findings(file));
        check
    }

    /// What rules across files have to know of a file; `None` if there are none.
    pub(crate) fn index(&self, file: &FileUnderCheck<'_>) -> Option<FileIndex> {
        let slice = self.rules.slice().filter(|_| self.python.is_some())?;
        Some(slice.index(file.semantic()))
    }

    /// Whether [`Checker::look_across`] has anything to do.
    pub fn has_project_rules(&self) -> bool {
        self.python.is_some() && self.rules.project_rules().next().is_some()
    }

    /// The rules that span files. Their findings belong among those of the files they name, before these are settled.
    pub fn look_across(&self, project: &ProjectUnderCheck<'_>) -> (Vec<Finding>, Vec<RuleProblem>) {
        let (mut findings, mut problems) = (Vec::new(), Vec::new());
        let Some(python) = self.python else { return (findings, problems) };
        for rule in self.rules.project_rules() {
            match python.check_project(rule, project) {
                Ok(found) => findings
                    .extend(found.into_iter().filter(|finding| self.rules.looks_at(rule, &finding.path))),
                Err(problem) => problems.push(problem),
            }
        }
        (findings, problems)
    }

    /// A file on its own: what is found and not suppressed.
    pub fn check(&self, file: &FileUnderCheck<'_>) -> FileCheck {
        let mut check = self.look(file);
        // Rules across files have not run, and a comment that answers one of them must not be taken for unused.
        self.rules.settle_with(&mut check.report, &file.path, |compiled| self.runs_alone(compiled));
        check
    }

    /// Whether a rule has had its say when a file was looked at on its own.
    pub(crate) fn runs_alone(&self, compiled: &CompiledRule) -> bool {
        compiled.rule.python().is_none_or(|python| self.python.is_some() && python.project.is_none())
    }

    /// Fixes a file on its own until nothing is left to fix.
    pub fn fix(&self, path: &Arc<str>, module: &ModuleName, text: &str, allowed: Safety) -> Fixed {
        fix_text(text, allowed, |text| {
            let parsed = parse_module(Source::from_text(text));
            self.check(&FileUnderCheck::new(Arc::clone(path), module.clone(), &parsed)).report.findings
        })
    }

    /// As [`Checker::check`], for a text that is parsed already.
    pub fn check_parsed(&self, path: &Arc<str>, module: &ModuleName, parsed: &Parsed) -> FileCheck {
        self.check(&FileUnderCheck::new(Arc::clone(path), module.clone(), parsed))
    }
}
