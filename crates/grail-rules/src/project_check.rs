//! A whole project through the layers that Grail has itself: files in parallel, what is remembered of them, fixes as changes.
//!
//! This is what the command line and a server call. Nothing of the project is written: fixes come back as a [`ChangeSet`]. The layers of
//! other tools come after these changes are written, and are run by [`crate::layers::run_all`].

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use grail_code::index::FileIndex;
use grail_code::{ModuleName, Source, parse_module};
use grail_project::{
    ChangeSet, FileChange, Project, ProjectError, PythonFile, SourceRoots, map_files, project_path,
    read_source,
};

use rustc_hash::FxHashMap;

use crate::cache::{Across, CheckCache, Entry};
use crate::check::{Checker, FileCheck};
use crate::file::FileUnderCheck;
use crate::{
    CompiledRule, FileReport, Finding, FixProblem, Fixed, Layer, ProjectUnderCheck, RuleProblem, RulesError,
    Safety,
};

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
    /// What tells this build of the program from another one, if findings may be remembered from run to run.
    pub cache: Option<&'c str>,
    /// Hears the number of files done.
    pub progress: &'c (dyn Fn(usize) + Sync),
}

/// What a check found, and what fixing would change.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// By path and place. After fixing these are what is left, and their places are those in the fixed text.
    pub findings: Vec<Finding>,
    /// Every file that was looked at, and how the user knows it.
    pub files: BTreeMap<Arc<str>, PathBuf>,
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
    /// What is worth remembering.
    entry: Option<Entry>,
    /// For rules across files; `None` if the cache knows it, or none asks.
    indexed: Option<FileIndex>,
    /// The hash of the text that was looked at, if findings are remembered.
    content: Option<String>,
}

/// What looking at any file needs.
struct Surroundings {
    roots: SourceRoots,
    cache: Option<CheckCache>,
}

impl ProjectCheck<'_> {
    pub fn run(&self) -> CheckReport {
        let roots = SourceRoots::new(&self.project.root, &self.project.config.project.src);
        let cache =
            self.cache.and_then(|build| CheckCache::open(&self.project.root, self.cache_key(build, &roots)));
        let surroundings = Surroundings { roots, cache };
        let is_ours = |layer: &Layer| matches!(layer, Layer::Syntax | Layer::Rules);
        let has_work = self.layers.iter().any(is_ours);
        let outcomes = map_files(self.files, self.progress, |file| {
            let path: Arc<str> = project_path(&self.project.root, &file.path).into();
            match has_work {
                true => self.look(file, path, &surroundings),
                false => Ok(Looked::new(path, FileCheck::default())),
            }
        });
        let mut report = CheckReport::default();
        let mut looked_at = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            match outcome.result {
                Ok(looked) => looked_at.push((outcome.path, looked)),
                Err(error) => report.problems.push(error.into()),
            }
        }
        let mut across = None;
        if has_work && self.checker.has_project_rules() {
            across = self.look_across(&mut looked_at, &surroundings, &mut report);
        }
        let mut changes = Vec::new();
        let mut entries = Vec::new();
        for (path, mut looked) in looked_at {
            entries.extend(looked.entry.take().map(|entry| (looked.path.to_string(), entry)));
            changes.extend(self.settle(path, looked, &mut report));
        }
        report.changes = ChangeSet::new(changes);
        report.findings.sort_by(Finding::by_place);
        // A rule that failed has not looked at every file: what is known is not the whole.
        let has_failed_rule = report.problems.iter().any(|problem| matches!(problem, RulesError::Rule(_)));
        if let Some(cache) = surroundings.cache.filter(|_| !has_failed_rule) {
            cache.save(entries, across);
        }
        report
    }

    /// Changes whenever the same text could be judged differently.
    fn cache_key(&self, build: &str, roots: &SourceRoots) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(build.as_bytes()).update(self.checker.rules.hash().as_bytes());
        hasher.update(&[u8::from(self.checker.python.is_some())]);
        for folder in roots.folders() {
            hasher.update(folder.as_os_str().as_encoded_bytes()).update(b"\0");
        }
        hasher.finalize()
    }

    fn look(&self, file: &PythonFile, path: Arc<str>, around: &Surroundings) -> Result<Looked, ProjectError> {
        let cache = around.cache.as_ref();
        // Asked before reading: a change in between then shows as another time.
        let metadata = cache.and_then(|_| fs::metadata(&file.path).ok());
        let known =
            cache.zip(metadata.as_ref()).and_then(|(cache, metadata)| cache.untouched(&path, metadata));
        if let Some(known) = known {
            let report = known.report(&path);
            if !self.may_fix(&report) {
                let check = FileCheck { report, ..FileCheck::default() };
                return Ok(Looked { content: Some(known.hash().to_owned()), ..Looked::new(path, check) });
            }
        }
        let source_file = read_source(&file.path, self.project.config.code.max_file_bytes)?;
        let module = around.roots.module_of(&file.path).unwrap_or_default();
        let known = cache.and_then(|cache| cache.same_text(&path, source_file.source.text()));
        let (check, content, entry) = match known {
            Some(known) => {
                let check = FileCheck { report: known.report(&path), ..FileCheck::default() };
                (check, Some(known.hash().to_owned()), known.touched(metadata.as_ref()))
            }
            None => {
                let check = self.look_at(&path, &module, source_file.source.clone());
                let text = source_file.source.text();
                let entry = cache.map(|_| Entry::new(&check, text, metadata.as_ref()));
                (check, entry.as_ref().map(|entry| entry.hash().to_owned()), entry)
            }
        };
        let fixed = self.fix.and_then(|allowed| {
            let is_wanted = self.may_fix(&check.report);
            is_wanted.then(|| self.checker.fix(&path, &module, source_file.source.text(), allowed))
        });
        let looked = Looked { entry, content, ..Looked::new(Arc::clone(&path), check) };
        let Some(Fixed { text, applied, problems, .. }) = fixed else { return Ok(looked) };
        let Some(change) = FileChange::replace(source_file, file.explicit, text)? else {
            return Ok(Looked { fix_problems: problems, ..looked });
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

    /// Adds what rules across files say to the files they name. What is new about it is given back, to be remembered.
    fn look_across(
        &self,
        looked_at: &mut [(PathBuf, Looked)],
        around: &Surroundings,
        report: &mut CheckReport,
    ) -> Option<Across> {
        // A file that is being fixed holds a text that is not on disk, and is not worth remembering.
        let contents: Option<Vec<(&str, &str)>> =
            looked_at.iter().map(|(_, looked)| Some((&*looked.path, looked.content.as_deref()?))).collect();
        let cache = around.cache.as_ref().zip(contents.map(|contents| Across::key(contents.into_iter())));
        if let Some(known) = cache.as_ref().and_then(|(cache, key)| cache.across(key)) {
            add_findings(looked_at, known.iter().cloned());
            return None;
        }
        let indexes = self.indexes(looked_at, around);
        let source = |path: &str| self.source(looked_at, path);
        let project = ProjectUnderCheck::new(indexes, &source);
        let (findings, problems) = self.checker.look_across(&project);
        report.problems.extend(problems.into_iter().map(RulesError::from));
        if let Some((cache, _)) = &cache {
            let content = contents_by_path(looked_at);
            let files = project.index.files().iter();
            cache.save_indexes(
                files.filter_map(|(path, index)| Some((&**path, *content.get(&**path)?, index))),
            );
        }
        drop(project);
        add_findings(looked_at, findings.iter().cloned());
        cache.map(|(_, key)| Across::new(key, findings))
    }

    /// The index of every file: as it was made a moment ago, or as it is remembered, or made now.
    fn indexes(
        &self,
        looked_at: &mut [(PathBuf, Looked)],
        around: &Surroundings,
    ) -> Vec<(Arc<str>, FileIndex)> {
        let is_incomplete = looked_at.iter().any(|(_, looked)| looked.indexed.is_none());
        let mut remembered = match around.cache.as_ref().filter(|_| is_incomplete) {
            Some(cache) => {
                let content = contents_by_path(looked_at);
                cache.indexes(|path, hash| content.get(path) == Some(&hash))
            }
            None => FxHashMap::default(),
        };
        let index = |(shown, looked): &mut (PathBuf, Looked)| {
            let known = looked.indexed.take().or_else(|| remembered.remove(&*looked.path));
            let index = known.or_else(|| {
                let source = read_source(shown, self.project.config.code.max_file_bytes).ok()?.source;
                let module = around.roots.module_of(shown).unwrap_or_default();
                let parsed = parse_module(source);
                self.checker.index(&FileUnderCheck::new(Arc::clone(&looked.path), module, &parsed))
            })?;
            Some((Arc::clone(&looked.path), index))
        };
        looked_at.iter_mut().filter_map(index).collect()
    }

    /// The text of a file as it was looked at: fixed, or as it is on disk.
    fn source(&self, looked_at: &[(PathBuf, Looked)], path: &str) -> Option<Source> {
        let (shown, looked) = looked_at.iter().find(|(_, looked)| &*looked.path == path)?;
        match looked.change.as_ref().and_then(|change| change.after.as_ref()) {
            Some(after) => Some(Source::from_text(after.text.as_str())),
            None => Some(read_source(shown, self.project.config.code.max_file_bytes).ok()?.source),
        }
    }

    /// Whether fixing could change anything. Which findings are suppressed, and which comments suppress nothing, is known only later.
    fn may_fix(&self, report: &FileReport) -> bool {
        let Some(allowed) = self.fix else { return false };
        let is_usable = |finding: &Finding| finding.fix.as_ref().is_some_and(|fix| fix.safety >= allowed);
        report.findings.iter().any(is_usable) || !report.suppressions.is_empty()
    }

    fn settle(&self, shown: PathBuf, mut looked: Looked, report: &mut CheckReport) -> Option<FileChange> {
        let has_python = self.checker.python.is_some();
        let has_run = |compiled: &CompiledRule| compiled.rule.python().is_none() || has_python;
        self.checker.rules.settle_with(&mut looked.report, &looked.path, has_run);
        let mut findings = looked.report.findings;
        findings.retain(|finding| self.layers.contains(&finding.layer));
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
        report.files.insert(looked.path, shown);
        looked.change
    }
}

fn contents_by_path(looked_at: &[(PathBuf, Looked)]) -> FxHashMap<&str, &str> {
    looked_at.iter().filter_map(|(_, looked)| Some((&*looked.path, looked.content.as_deref()?))).collect()
}

/// Puts findings among those of the files they name.
fn add_findings(looked_at: &mut [(PathBuf, Looked)], findings: impl Iterator<Item = Finding>) {
    let places: FxHashMap<Arc<str>, usize> =
        looked_at.iter().enumerate().map(|(at, (_, looked))| (Arc::clone(&looked.path), at)).collect();
    for finding in findings {
        if let Some(at) = places.get(&finding.path) {
            looked_at[*at].1.report.findings.push(finding);
        }
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
            entry: None,
            indexed: check.indexed,
            content: None,
        }
    }
}

impl CheckReport {
    /// Whether something was found that a check must not pass.
    pub fn has_failures(&self) -> bool {
        self.findings.iter().any(Finding::is_failure)
    }

    /// Adds what another layer found.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.findings.sort_by(Finding::by_place);
    }
}
