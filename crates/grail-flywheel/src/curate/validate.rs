//! Whether an example is true today: the answer parses, keeps the rules, has its types and runs; what should not be answered still fails.
//!
//! Rules are those of the project as they are now, applied as they are when an artifact is made. Code is judged as it stands: what only
//! passes after a fix is not the answer. What cannot be judged here is said, never guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use grail_code::{ModuleName, Source, parse_module};
use grail_project::{Project, SourceRoots};
use grail_rules::libraries::ProjectLibraries;
use grail_rules::{
    Checker, FileUnderCheck, Finding, Layer, Library, PythonRules, RuleSet, Selection, syntax_findings,
};
use rayon::prelude::*;

use super::{Reason, Validator, tools};
use crate::example::{Example, ExampleType};

/// Where code goes that has no place.
const NO_PLACE: &str = "example.py";
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
    asks_tools: bool,
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
            asks_tools: false,
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

    /// Also by type checker and linter, if they are installed: once for all examples.
    pub fn with_tools(mut self) -> Self {
        self.asks_tools = true;
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
        match self.label(example) {
            Label::Gone => Err(Reason::LabelGone { rules: example.rules.clone() }),
            Label::Holds | Label::AsksTools => Ok(()),
        }
    }

    fn label(&self, example: &Example) -> Label {
        let (ExampleType::Corrective, Some(rejected)) = (example.example_type, &example.rejected) else {
            return Label::Holds;
        };
        let layers = || example.problems.iter().map(|problem| problem.layer.as_str());
        if example.problems.is_empty() || layers().any(is_judged_here) {
            let found = self.findings(example, rejected);
            let is_known = |finding: &Finding| example.rules.iter().any(|rule| **rule == *finding.rule);
            if found.syntax.is_some() || found.rules.iter().any(is_known) {
                return Label::Holds;
            }
        }
        // Lint, types and tests need more than this one file.
        if layers().all(is_judged_here) { Label::Gone } else { Label::AsksTools }
    }

    /// Checks all answers for types in one run and drops those with errors; then what should not be answered for types or lint, and is
    /// nothing of that any more.
    fn judge_with_tools(&self, examples: &[Example], verdicts: &mut [Result<(), Reason>]) {
        let mut asking: Vec<(usize, &Example, &str)> = Vec::new();
        let mut answers: Vec<(usize, &str)> = Vec::new();
        for (index, example) in examples.iter().enumerate().filter(|(index, _)| verdicts[*index].is_ok()) {
            if let Some(chosen) = example.chosen.as_deref().filter(|_| is_code(example)) {
                answers.push((index, chosen));
            }
            let is_told_by_tools = example.problems.iter().any(|problem| !is_judged_here(&problem.layer));
            if let Some(rejected) = example.rejected.as_deref().filter(|_| is_told_by_tools)
                && self.label(example) == Label::AsksTools
            {
                asking.push((index, example, rejected));
            }
        }
        let of_layer = |layer: Layer| {
            let is_asked =
                |example: &Example| example.problems.iter().any(|problem| problem.layer == layer.name());
            asking.iter().filter(move |(_, example, _)| is_asked(example)).copied().collect::<Vec<_>>()
        };
        let mut labels = Labels::default();
        let by_types = of_layer(Layer::Types);
        let texts = answers.iter().map(|(_, text)| *text).chain(by_types.iter().map(|(.., text)| *text));
        match self.tool_findings(Layer::Types, &texts.collect::<Vec<_>>()) {
            Some(found) => {
                // Type checkers rename their rules, so any error will do.
                let holds = |place: usize, _: &Example| found.contains_key(&(answers.len() + place));
                labels.note(&by_types, holds);
                for (place, (index, _)) in answers.iter().enumerate() {
                    if let Some(first) = found.get(&place).and_then(|found| found.first()) {
                        verdicts[*index] = Err(Reason::Types { message: first.message.to_string() });
                    }
                }
            }
            None => labels.leave(&by_types),
        }
        let by_lint = of_layer(Layer::Lint);
        let texts: Vec<&str> = by_lint.iter().map(|(.., text)| *text).collect();
        match self.tool_findings(Layer::Lint, &texts) {
            Some(found) => labels.note(&by_lint, |place, example| {
                let found = found.get(&place).map(Vec::as_slice).unwrap_or_default();
                found.iter().any(|finding| example.rules.iter().any(|rule| **rule == *finding.rule))
            }),
            None => labels.leave(&by_lint),
        }
        let by_tests = of_layer(Layer::Tests);
        let is_undecided = |index: &usize| !labels.held.contains(index) && verdicts[*index].is_ok();
        let untested = by_tests.iter().filter(|(index, ..)| is_undecided(index)).count();
        if untested > 0 {
            let examples = if untested == 1 { "example" } else { "examples" };
            self.note(format!(
                "tests are not run again: what they found is taken as it was in {untested} {examples}"
            ));
        }
        labels.leave(&by_tests);
        for (index, example, _) in asking {
            let is_gone = !labels.held.contains(&index) && !labels.left.contains(&index);
            if is_gone && verdicts[index].is_ok() {
                verdicts[index] = Err(Reason::LabelGone { rules: example.rules.clone() });
            }
        }
    }

    /// None if the tool could not be asked; then there is a note.
    fn tool_findings(&self, layer: Layer, texts: &[&str]) -> Option<BTreeMap<usize, Vec<Finding>>> {
        if texts.is_empty() {
            return Some(BTreeMap::new());
        }
        match tools::findings(self.project, layer, texts) {
            Ok(found) => Some(found),
            Err(why) => {
                self.note(format!("{} not checked: {why}", tools::told(layer)));
                None
            }
        }
    }
}

/// Whether what should not be answered is still wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Holds,
    Gone,
    /// Other tools found it, so they have to say.
    AsksTools,
}

/// What other tools said about labels, by the places of examples.
#[derive(Default)]
struct Labels {
    held: BTreeSet<usize>,
    /// Those that could not be judged.
    left: BTreeSet<usize>,
}

impl Labels {
    fn note(&mut self, asked: &[(usize, &Example, &str)], holds: impl Fn(usize, &Example) -> bool) {
        let held = asked.iter().enumerate().filter(|(place, (_, example, _))| holds(*place, example));
        self.held.extend(held.map(|(_, (index, ..))| *index));
    }

    fn leave(&mut self, asked: &[(usize, &Example, &str)]) {
        self.left.extend(asked.iter().map(|(index, ..)| *index));
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
        if self.asks_tools {
            self.judge_with_tools(examples, &mut verdicts);
        }
        verdicts
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Whether one file says all that a layer needs.
fn is_judged_here(layer: &str) -> bool {
    matches!(layer, "rules" | "syntax" | "")
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
