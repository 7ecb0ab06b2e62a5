//! A whole project through the layers that Grail has itself: files in parallel, fixes as changes, rules across files.
//!
//! This is what the command line, a server and an editor call. Nothing is written: fixes come back as a [`ChangeSet`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use grail_code::{ModuleName, Source, parse_module};
use grail_project::{
    ChangeSet, FileChange, Project, ProjectError, PythonFile, SourceFile, SourceRoots, map_sources,
    project_path,
};

use crate::check::{Checker, FileCheck};
use crate::file::FileUnderCheck;
use crate::{FileReport, Finding, FixProblem, Fixed, Layer, RuleProblem, RulesError, Safety};

/// What is checked, and how.
#[derive(Clone, Copy)]
pub struct ProjectCheck<'c> {
    pub project: &'c Project,
    pub files: &'c [PythonFile],
    pub checker: Checker<'c>,
    /// Findings of other layers are left out.
    pub layers: &'c [Layer],
    /// Fixes that are at least as safe are made; `None` makes none.
    pub fix: Option<Safety>,
    /// Hears the number of files done.
    pub progress: &'c (dyn Fn(usize) + Sync),
}

/// What a check found, and what fixing would change.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// By path and place. After fixing these are what is left, and their places are those in the fixed text.
    pub findings: Vec<Finding>,
    /// How many files were looked at.
    pub files: usize,
    /// Files with findings, as the user knows them.
    pub paths: BTreeMap<Arc<str>, PathBuf>,
    pub changes: ChangeSet,
    /// How many fixes of each rule were made.
    pub fixed: BTreeMap<Arc<str>, usize>,
    /// Files that could not be read, rules that could not do their work, fixes that were dropped.
    pub problems: Vec<RulesError>,
}

/// One file after its own rules, before those across files.
struct Looked {
    path: Arc<str>,
    report: FileReport,
    rule_problems: Vec<RuleProblem>,
    fix_problems: Vec<FixProblem>,
    fixed: BTreeMap<Arc<str>, usize>,
    change: Option<FileChange>,
}

impl ProjectCheck<'_> {
    pub fn run(&self) -> CheckReport {
        let roots = SourceRoots::new(&self.project.root, &self.project.config.project.src);
        let max_bytes = self.project.config.code.max_file_bytes;
        let outcomes =
            map_sources(self.files, max_bytes, self.progress, |file, source| self.look(file, source, &roots));
        let mut report = CheckReport { files: self.files.len(), ..CheckReport::default() };
        let mut changes = Vec::new();
        for outcome in outcomes {
            match outcome.result {
                Ok(looked) => changes.extend(self.settle(outcome.path, looked, &mut report)),
                Err(error) => report.problems.push(error.into()),
            }
        }
        report.changes = ChangeSet::new(changes);
        report.findings.sort_by(Finding::by_place);
        report
    }

    fn look(
        &self,
        file: &PythonFile,
        source_file: SourceFile,
        roots: &SourceRoots,
    ) -> Result<Looked, ProjectError> {
        let path: Arc<str> = project_path(&self.project.root, &file.path).into();
        let module = roots.module_of(&file.path).unwrap_or_default();
        let check = self.look_at(&path, &module, source_file.source.clone());
        let fixed = self.fix.and_then(|allowed| {
            let is_wanted = self.may_fix(&check.report, allowed);
            is_wanted.then(|| self.checker.fix(&path, &module, source_file.source.text(), allowed))
        });
        let Some(Fixed { text, applied, problems, .. }) = fixed else {
            return Ok(Looked::new(path, check));
        };
        let Some(change) = FileChange::replace(source_file, file.explicit, text)? else {
            return Ok(Looked { fix_problems: problems, ..Looked::new(path, check) });
        };
        // What is left is looked for once more, because rules across files have yet to add to it.
        let after = change.after.as_ref().map_or("", |after| after.text.as_str());
        let check = self.look_at(&path, &module, Source::from_text(after));
        let looked = Looked::new(path, check);
        Ok(Looked { fix_problems: problems, fixed: applied, change: Some(change), ..looked })
    }

    fn look_at(&self, path: &Arc<str>, module: &ModuleName, source: Source) -> FileCheck {
        let parsed = parse_module(source);
        self.checker.look(&FileUnderCheck::new(Arc::clone(path), module.clone(), &parsed))
    }

    /// Whether fixing could change anything; suppressed findings and comments that suppress nothing are known only later.
    fn may_fix(&self, report: &FileReport, allowed: Safety) -> bool {
        let is_usable = |finding: &Finding| finding.fix.as_ref().is_some_and(|fix| fix.safety >= allowed);
        report.findings.iter().any(is_usable) || !report.suppressions.is_empty()
    }

    fn settle(&self, shown: PathBuf, mut looked: Looked, report: &mut CheckReport) -> Option<FileChange> {
        let has_python = self.checker.python.is_some();
        self.checker.rules.settle_with(&mut looked.report, &looked.path, |compiled| {
            compiled.rule.python().is_none_or(|python| has_python && python.project.is_none())
        });
        let mut findings = looked.report.findings;
        findings.retain(|finding| self.layers.contains(&finding.layer));
        if !findings.is_empty() {
            report.paths.insert(Arc::clone(&looked.path), shown);
        }
        report.findings.append(&mut findings);
        for (rule, count) in looked.fixed {
            *report.fixed.entry(rule).or_default() += count;
        }
        for problem in looked.fix_problems {
            report.problems.push(RulesError::Fix { path: Arc::clone(&looked.path), problem });
        }
        for problem in looked.rule_problems {
            // A rule that fails on every file is named once.
            let is_new = |known: &RulesError| !matches!(known, RulesError::Rule(known) if **known == problem);
            if report.problems.iter().all(is_new) {
                report.problems.push(problem.into());
            }
        }
        looked.change
    }
}

impl Looked {
    fn new(path: Arc<str>, check: FileCheck) -> Self {
        Self {
            path,
            report: check.report,
            rule_problems: check.problems,
            fix_problems: Vec::new(),
            fixed: BTreeMap::new(),
            change: None,
        }
    }
}

impl CheckReport {
    /// Whether something was found that a check must not pass.
    pub fn has_failures(&self) -> bool {
        self.findings.iter().any(Finding::is_failure)
    }
}
