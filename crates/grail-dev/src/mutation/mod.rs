//! How much harm the rules notice: good code is made bad in many ways, and each way must be found, by the right rule, at the right place.
//!
//! The operators know nothing of the rules. A third of the examples, chosen by their name, is frozen: its figures are shown apart, and nobody
//! may look at its mutants while writing a rule.

mod operators;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use grail_code::index::FileIndex;
use grail_code::{ModuleName, Source, edit, parse_module};
use grail_project::CheckConfig;
use grail_rules::{
    ALL, Checker, FileUnderCheck, Finding, Library, ProjectUnderCheck, PythonRules, RuleSet, Safety,
    Selection, Usage,
};

use serde::Serialize;

pub use operators::{HARMS, Harm, Mutation};

/// What became of all mutants.
#[derive(Debug, Default)]
pub struct Report {
    pub open: Tally,
    pub frozen: Tally,
    /// By harm: how many there were and how many were caught.
    pub harms: BTreeMap<&'static str, (usize, usize)>,
    /// Mutants of open examples that nobody caught, or that were not put right: for whoever writes rules.
    pub missed: Vec<String>,
    /// Mutants that no rule objects to after fixing, for the tools that have yet to judge them.
    pub fixed: Vec<FixedMutant>,
}

/// A mutant after fixing.
#[derive(Debug, Serialize)]
pub struct FixedMutant {
    pub skill: &'static str,
    pub example: String,
    pub harm: &'static str,
    pub is_frozen: bool,
    pub text: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub mutants: usize,
    pub caught: usize,
    /// Mutants that were caught by a rule with a fix, and how many of these pass everything afterwards.
    pub fixable: usize,
    pub fixed: usize,
}

/// Mutates all examples of the built-in skills.
pub fn run(root: &Path, python: Option<&dyn PythonRules>) -> anyhow::Result<Report> {
    let library = Library::built_in();
    let config = CheckConfig::default();
    let select = [ALL.to_owned()];
    let usage = |_: &str| Usage::AnyVersion;
    let selection = Selection { config: &config, select: &select, ignore: &[], kind: None, usage: &usage };
    let rules = selection.rules(&library).map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let mut report = Report::default();
    for skill in ["tdom-components", "svcs-services", "middleware"] {
        let folder = root.join("skills").join(skill).join("examples");
        let mut paths: Vec<_> = fs::read_dir(&folder)
            .with_context(|| format!("cannot read `{}`", folder.display()))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
        paths.sort();
        let mut examples = Vec::new();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            examples.push((name, fs::read_to_string(&path)?));
        }
        let checker = Checker { rules: &rules, python };
        let project = Examples::new(&checker, &examples);
        for (name, text) in &examples {
            report.mutate(&checker, &project, skill, name, text);
        }
    }
    Ok(report)
}

/// Whether an example is one that rules must not be written against. By its name, so that it stays so.
pub fn is_frozen(name: &str) -> bool {
    name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 3 == 0
}

/// All examples of a skill, as rules across files see them: a mutant takes the place of one.
struct Examples {
    files: Vec<(Arc<str>, FileIndex)>,
}

impl Examples {
    fn new(checker: &Checker<'_>, examples: &[(String, String)]) -> Self {
        let file = |(name, text): &(String, String)| {
            let parsed = parse_module(Source::from_text(text.as_str()));
            let check = checker.look(&FileUnderCheck::new(name.as_str(), module_of(name), &parsed));
            Some((name.as_str().into(), check.indexed?))
        };
        Self { files: examples.iter().filter_map(file).collect() }
    }

    /// What rules across files find in a mutant that takes the place of an example.
    fn look_across(
        &self,
        checker: &Checker<'_>,
        mutant: &FileUnderCheck<'_>,
        index: FileIndex,
    ) -> Vec<Finding> {
        let others = self.files.iter().filter(|(path, _)| *path != mutant.path).cloned();
        let source = |path: &str| (path == &*mutant.path).then(|| mutant.parsed.source().clone());
        let files = others.chain([(Arc::clone(&mutant.path), index)]);
        checker.look_across(&ProjectUnderCheck::new(files, &source)).0
    }
}

impl Report {
    fn mutate(&mut self, checker: &Checker<'_>, project: &Examples, skill: &str, name: &str, text: &str) {
        let parsed = parse_module(Source::from_text(text));
        for harm in HARMS.iter().filter(|harm| harm.skill == skill) {
            for mutation in (harm.mutate)(&parsed) {
                let lines = lines_of(&parsed, &mutation);
                let Ok(mutant) = edit::apply(text, mutation.edits) else { continue };
                if !parse_module(Source::from_text(mutant.as_str())).is_valid() {
                    continue;
                }
                let findings = check(checker, project, name, &mutant);
                self.judge(checker, harm, name, &mutant, &findings, lines);
            }
        }
    }

    fn judge(
        &mut self,
        checker: &Checker<'_>,
        harm: &Harm,
        name: &str,
        mutant: &str,
        findings: &[Finding],
        lines: (u32, u32),
    ) {
        let is_right = |finding: &&Finding| {
            harm.rules.contains(&&*finding.rule)
                && lines.0 <= finding.start.line
                && finding.start.line <= lines.1
        };
        let caught = findings.iter().find(is_right);
        let tally = if is_frozen(name) { &mut self.frozen } else { &mut self.open };
        let count = self.harms.entry(harm.name).or_default();
        tally.mutants += 1;
        count.0 += 1;
        let Some(caught) = caught else {
            if !is_frozen(name) {
                let said: Vec<&str> = findings.iter().map(|finding| &*finding.rule).collect();
                self.missed.push(format!("{name}:{}: {} (found: {said:?})", lines.0, harm.name));
            }
            return;
        };
        tally.caught += 1;
        count.1 += 1;
        if caught.fix.is_none() && !declares_fix(checker.rules, &caught.rule) {
            return;
        }
        tally.fixable += 1;
        let path: Arc<str> = name.into();
        let fixed = checker.fix(&path, &ModuleName::default(), mutant, Safety::Unsafe);
        if fixed.findings.is_empty() && fixed.problems.is_empty() {
            tally.fixed += 1;
            self.fixed.push(FixedMutant {
                skill: harm.skill,
                example: name.to_owned(),
                harm: harm.name,
                is_frozen: is_frozen(name),
                text: fixed.text,
            });
        } else if !is_frozen(name) {
            let left: Vec<&str> = fixed.findings.iter().map(|finding| &*finding.rule).collect();
            self.missed.push(format!("{name}:{}: {} is not put right (left: {left:?})", lines.0, harm.name));
        }
    }
}

fn declares_fix(rules: &RuleSet, id: &str) -> bool {
    rules.rules().any(|rule| *rule.rule.id == *id && rule.rule.fix.is_some())
}

/// What is found in a mutant that stands among the other examples.
fn check(checker: &Checker<'_>, project: &Examples, name: &str, text: &str) -> Vec<Finding> {
    let parsed = parse_module(Source::from_text(text));
    let file = FileUnderCheck::new(name, module_of(name), &parsed);
    let mut check = checker.look(&file);
    if let Some(index) = check.indexed.take() {
        let found = project.look_across(checker, &file, index);
        check.report.findings.extend(found.into_iter().filter(|finding| finding.path == file.path));
    }
    checker.rules.settle(&mut check.report, &file.path);
    check.report.findings
}

fn module_of(name: &str) -> ModuleName {
    ModuleName::module(name.trim_end_matches(".py"))
}

/// The lines of the mutant that the harm may be reported on: those of the place, and as many more as the mutation added.
fn lines_of(parsed: &grail_code::Parsed, mutation: &Mutation) -> (u32, u32) {
    let source = parsed.source();
    let added: usize = mutation.edits.iter().map(|edit| edit.text.matches('\n').count()).sum();
    let (start, end) = (source.position(mutation.place.start).line, source.position(mutation.place.end).line);
    (start, end + added as u32)
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (harm, (mutants, caught)) in &self.harms {
            writeln!(formatter, "{caught:>4} of {mutants:>3}  {harm}")?;
        }
        for (name, tally) in [("open", self.open), ("frozen", self.frozen)] {
            writeln!(
                formatter,
                "{name}: {} of {} mutants caught ({:.1} %), {} of {} fixed ({:.1} %)",
                tally.caught,
                tally.mutants,
                percent(tally.caught, tally.mutants),
                tally.fixed,
                tally.fixable,
                percent(tally.fixed, tally.fixable),
            )?;
        }
        Ok(())
    }
}

impl Tally {
    pub fn is_enough(self) -> bool {
        percent(self.caught, self.mutants) >= 95.0 && percent(self.fixed, self.fixable) >= 90.0
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}
