//! Whether an example is true today: the answer parses, keeps the rules, has its types and runs; what should not be answered still fails.
//!
//! Rules are those of the project as they are now, applied as they are when an artifact is made. Code is judged as it stands: what only
//! passes after a fix is not the answer. What cannot be judged here is said, never guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use grail_code::{ModuleName, Source, parse_module};
use grail_project::{Project, SourceRoots};
use grail_rules::layers::{self, LayerStatus};
use grail_rules::libraries::ProjectLibraries;
use grail_rules::{
    Checker, FileUnderCheck, Finding, Layer, Library, PythonRules, RuleSet, Selection, syntax_findings,
};
use rayon::prelude::*;

use super::{Reason, Validator};
use crate::example::{Example, ExampleType};

/// Where code goes that has no place.
const NO_PLACE: &str = "example.py";
/// The folder of what is checked for types, beside the project's own files.
const TYPES_FOLDER: &str = "grail_examples";
/// What ty calls an import that it cannot find, in all its versions.
const MISSING_IMPORTS: [&str; 2] = ["import-not-found", "unresolved-import"];
/// Longer code is no artifact.
const MAX_CODE_BYTES: usize = 256 * 1024;

/// Runs a program, where it can run.
pub trait ProgramRunner: Sync {
    fn run(&self, code: &str, tools: &[String]) -> Ran;
}

/// What came of running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    Well,
    Failed(String),
    /// It needs what is not there: tools, libraries, files.
    CannotRun,
}

/// Judges by the rules of a project.
pub struct RuleValidator<'v> {
    project: &'v Project,
    library: &'v Library,
    libraries: ProjectLibraries,
    python: Option<&'v dyn PythonRules>,
    runner: Option<&'v dyn ProgramRunner>,
    checks_types: bool,
    rules: Mutex<BTreeMap<Choice, Option<Arc<RuleSet>>>>,
    notes: Mutex<BTreeSet<String>>,
}

/// Packs that are selected, and a kind that everything is taken for.
type Choice = (Option<String>, Option<String>);

impl<'v> RuleValidator<'v> {
    pub fn new(project: &'v Project, library: &'v Library) -> Self {
        let libraries =
            ProjectLibraries::of(project, &[]).unwrap_or_else(|_| ProjectLibraries::read(&project.root, &[]));
        Self {
            project,
            library,
            libraries,
            python: None,
            runner: None,
            checks_types: false,
            rules: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    /// Also by rules that are written in Python.
    pub fn with_python(mut self, python: &'v dyn PythonRules) -> Self {
        self.python = Some(python);
        self
    }

    /// Also by running programs.
    pub fn with_runner(mut self, runner: &'v dyn ProgramRunner) -> Self {
        self.runner = Some(runner);
        self
    }

    /// Also by types, if a type checker is installed: once for all examples.
    pub fn with_types(mut self) -> Self {
        self.checks_types = true;
        self
    }

    fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).insert(note);
    }

    /// The rules for a kind of artifact; without a kind, those in force.
    fn rules(&self, choice: Choice) -> Option<Arc<RuleSet>> {
        let mut known = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = known.get(&choice) {
            return rules.clone();
        }
        let mut config = self.project.config.check.clone();
        config.select.extend(choice.0.iter().cloned());
        let selection = Selection {
            config: &config,
            select: &[],
            ignore: &[],
            kind: choice.1.as_deref(),
            usage: &|name| self.libraries.usage(name),
        };
        let rules = match selection.rules(self.library) {
            Ok(rules) => Some(Arc::new(rules)),
            Err(problem) => {
                self.note(format!("rules could not be read, so they were not applied: {problem}"));
                None
            }
        };
        known.insert(choice, rules.clone());
        rules
    }

    /// As for a new artifact: code that is plainly of its kind is judged as it is; otherwise everything in it is taken to be of it.
    fn rules_for(&self, artifact: Option<&str>, file: &FileUnderCheck<'_>) -> Option<Arc<RuleSet>> {
        let wanted = artifact.map(|name| name.trim().to_lowercase().replace(['_', ' '], "-"));
        let Some(wanted) = wanted else { return self.rules((None, None)) };
        let Some((pack, _)) = self.library.kinds().find(|(_, kind)| kind.name == wanted) else {
            self.note(format!("no skill declares the kind `{wanted}` any more; its examples are judged by the rules for all code"));
            return self.rules((None, None));
        };
        let natural = self.rules((Some(pack.name.to_string()), None))?;
        let is_recognised = natural.recognise(file).iter().any(|artifact| artifact.kind == wanted);
        if is_recognised { Some(natural) } else { self.rules((None, Some(wanted))) }
    }

    fn module_of(&self, path: &str) -> ModuleName {
        let roots = SourceRoots::new(&self.project.root, &self.project.config.project.src);
        roots.module_of(&self.project.root.join(path)).unwrap_or_default()
    }

    /// What is wrong with code as it stands.
    fn findings(&self, example: &Example, code: &str) -> Findings {
        let path: Arc<str> = safe_path(example.path.as_deref()).into();
        let parsed = parse_module(Source::from_text(code));
        let file = FileUnderCheck::new(Arc::clone(&path), self.module_of(&path), &parsed);
        if !parsed.is_valid() {
            return Findings { syntax: syntax_findings(&file).into_iter().next(), rules: Vec::new() };
        }
        let Some(rules) = self.rules_for(example.artifact.as_deref(), &file) else {
            return Findings::default();
        };
        let check = Checker { rules: &rules, python: self.python }.check(&file);
        if self.python.is_none() && !check.report.python.is_empty() {
            self.note("rules that are written in Python were not applied".to_owned());
        }
        for problem in check.problems {
            self.note(format!("a rule could not do its work: {problem}"));
        }
        let mut found = check.report.findings;
        found.retain(Finding::is_failure);
        Findings { syntax: None, rules: found }
    }

    fn judge_answer(&self, example: &Example) -> Result<(), Reason> {
        let Some(chosen) = &example.chosen else { return Ok(()) };
        if Some(chosen) == example.rejected.as_ref() {
            return Err(Reason::SameAnswer);
        }
        // An answer in words is no code.
        if !is_code(example) {
            return Ok(());
        }
        if chosen.len() > MAX_CODE_BYTES {
            return Err(Reason::Syntax { message: format!("more than {MAX_CODE_BYTES} bytes") });
        }
        let found = self.findings(example, chosen);
        if let Some(finding) = found.syntax {
            return Err(Reason::Syntax { message: finding.message.to_string() });
        }
        if let Some(first) = found.rules.first() {
            let rules: BTreeSet<String> =
                found.rules.iter().map(|finding| finding.rule.to_string()).collect();
            return Err(Reason::Rules {
                rules: rules.into_iter().collect(),
                message: first.message.to_string(),
            });
        }
        if let Some(runner) = self.runner
            && let Ran::Failed(message) = runner.run(chosen, &example.tools)
        {
            return Err(Reason::Run { message });
        }
        Ok(())
    }

    /// The error that an example teaches must still be one.
    fn judge_label(&self, example: &Example) -> Result<(), Reason> {
        let (ExampleType::Corrective, Some(rejected)) = (example.example_type, &example.rejected) else {
            return Ok(());
        };
        // Types and tests need more than this one file.
        let is_judged_here = |layer: &str| matches!(layer, "rules" | "syntax" | "");
        let layers = || example.problems.iter().map(|problem| problem.layer.as_str());
        if !example.problems.is_empty() && !layers().any(is_judged_here) {
            return Ok(());
        }
        let found = self.findings(example, rejected);
        let holds = found.syntax.is_some()
            || found.rules.iter().any(|finding| example.rules.iter().any(|rule| **rule == *finding.rule));
        let has_others = layers().any(|layer| !is_judged_here(layer));
        if holds || has_others { Ok(()) } else { Err(Reason::LabelGone { rules: example.rules.clone() }) }
    }

    /// Checks all answers for types in one run and drops those with errors; and what should not be answered for its types, if it has none.
    fn judge_types(&self, examples: &[Example], verdicts: &mut [Result<(), Reason>]) {
        let mut files: Vec<(usize, &str)> = Vec::new();
        let mut labels: Vec<usize> = Vec::new();
        for (index, example) in examples.iter().enumerate().filter(|(index, _)| verdicts[*index].is_ok()) {
            if let Some(chosen) = example.chosen.as_deref().filter(|_| is_code(example)) {
                files.push((index, chosen));
            }
        }
        let answers = files.len();
        for (index, example) in examples.iter().enumerate().filter(|(index, _)| verdicts[*index].is_ok()) {
            let is_about_types = example.example_type == ExampleType::Corrective
                && !example.problems.is_empty()
                && example.problems.iter().all(|problem| problem.layer == "types");
            if let Some(rejected) = example.rejected.as_deref().filter(|_| is_about_types) {
                files.push((index, rejected));
                labels.push(index);
            }
        }
        if files.is_empty() {
            return;
        }
        let texts: Vec<&str> = files.iter().map(|(_, text)| *text).collect();
        let found = match type_errors(self.project, &texts) {
            Ok(found) => found,
            Err(note) => return self.note(note),
        };
        for (place, index) in labels.into_iter().enumerate() {
            if !found.contains_key(&(answers + place)) {
                verdicts[index] = Err(Reason::LabelGone { rules: examples[index].rules.clone() });
            }
        }
        for (place, message) in found.into_iter().filter(|(place, _)| *place < answers) {
            verdicts[files[place].0] = Err(Reason::Types { message });
        }
    }
}

impl Validator for RuleValidator<'_> {
    fn validate(&self, example: &Example) -> Result<(), Reason> {
        self.judge_answer(example)?;
        self.judge_label(example)
    }

    fn validate_all(&self, examples: &[Example]) -> Vec<Result<(), Reason>> {
        let mut verdicts: Vec<Result<(), Reason>> =
            examples.par_iter().map(|example| self.validate(example)).collect();
        if self.checks_types {
            self.judge_types(examples, &mut verdicts);
        }
        verdicts
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[derive(Default)]
struct Findings {
    syntax: Option<Finding>,
    rules: Vec<Finding>,
}

/// What has a kind, a place or tools is code. Anything else may be words.
fn is_code(example: &Example) -> bool {
    example.artifact.is_some()
        || example.path.as_deref().is_some_and(|path| path.ends_with(".py"))
        || (example.example_type == ExampleType::MultiTool && example.calls.is_empty())
}

/// Paths come from events: only plain ones below the root are used, and only as names.
fn safe_path(path: Option<&str>) -> String {
    let is_safe = |path: &&str| {
        let plain = path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        plain && path.len() < 512 && path.ends_with(".py") && !path.contains(['\\', ':', '\0'])
    };
    path.filter(is_safe).unwrap_or(NO_PLACE).to_owned()
}

/// The first error of types of each of these files that has one, by its place. They lie together in a folder beside the project's own, so
/// that they can import them; what they import from beside their own place cannot be found there and is not held against them.
#[cfg(unix)]
fn type_errors(project: &Project, texts: &[&str]) -> Result<BTreeMap<usize, String>, String> {
    let folder = tempfile::TempDir::with_prefix("grail-types-")
        .map_err(|error| format!("types were not checked: {error}"))?;
    let failed = |error: std::io::Error| format!("types were not checked: {error}");
    let root = folder.path().canonicalize().map_err(failed)?;
    for entry in std::fs::read_dir(&project.root).map_err(failed)?.flatten() {
        let name = entry.file_name();
        let is_left_out = [".git", ".grail", "target", TYPES_FOLDER].iter().any(|out| name == *out);
        if !is_left_out {
            std::os::unix::fs::symlink(entry.path(), root.join(&name)).map_err(failed)?;
        }
    }
    std::fs::create_dir(root.join(TYPES_FOLDER)).map_err(failed)?;
    let mut paths: BTreeMap<String, usize> = BTreeMap::new();
    for (place, text) in texts.iter().enumerate() {
        let path = format!("{TYPES_FOLDER}/example_{place}.py");
        std::fs::write(root.join(&path), text).map_err(failed)?;
        paths.insert(path, place);
    }
    let files: Vec<Arc<str>> = paths.keys().map(|path| Arc::from(path.as_str())).collect();
    let copy = Project { root, config: project.config.clone() };
    let reports = layers::run_all(&copy, &[Layer::Types], &files)
        .map_err(|problem| format!("types were not checked: {problem}"))?;
    let mut found: BTreeMap<usize, String> = BTreeMap::new();
    for report in reports {
        match report.status {
            LayerStatus::Ran { .. } => {}
            LayerStatus::Skipped { reason } => return Err(format!("types were not checked: {reason}")),
            LayerStatus::Unavailable { tool, hint } => {
                return Err(format!("types were not checked: `{tool}` is not installed; {hint}"));
            }
            LayerStatus::Failed { message, .. } => return Err(format!("types were not checked: {message}")),
        }
        for finding in report.findings.iter().filter(|finding| finding.is_failure()) {
            let is_about_place = MISSING_IMPORTS.contains(&&*finding.rule);
            if let Some(index) = paths.get(&*finding.path).filter(|_| !is_about_place) {
                found.entry(*index).or_insert_with(|| finding.message.to_string());
            }
        }
    }
    Ok(found)
}

#[cfg(not(unix))]
fn type_errors(_: &Project, _: &[&str]) -> Result<BTreeMap<usize, String>, String> {
    Err("types were not checked: that needs links to the project's files".to_owned())
}
