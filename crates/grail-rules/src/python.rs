//! Rules written in Python: `rules/<rule>.py` with `def check(tree)`, run in the sandbox over the tree as data, or with
//! `def check_project(project)`, over what all files define, import and call.
//!
//! A rule sees the file's tree, `path`, `module`, its `options` and the functions of `grail_tree.py`; it has no files, no tools and no
//! clock. A rule that raises, does not end or returns nonsense is a [`RuleProblem`], told once; it is not run again.

mod answer;
mod project;
mod runner;
mod script;
mod transform;
mod tree;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json, json};

use self::answer::Place;
use self::script::{Entry, Script};
use crate::check::PythonRules;
use crate::file::FileUnderCheck;
use crate::rule::Logic;
use crate::{CompiledRule, Finding, Layer, RuleProblem, Severity};

pub use self::project::ProjectUnderCheck;
pub use self::runner::ScriptRunner;
pub use self::transform::{Transform, TransformError};

pub(crate) use self::tree::tree_text;

/// Runs rules in worker processes of the sandbox.
pub struct SandboxedRules {
    runner: ScriptRunner,
    /// By the rule's hash; `None` for one that was dropped.
    scripts: Mutex<FxHashMap<blake3::Hash, Option<Arc<Script>>>>,
}

impl SandboxedRules {
    pub fn new(runner: ScriptRunner) -> Self {
        Self { runner, scripts: Mutex::default() }
    }

    /// The script of a rule, made ready once. `None` if the rule was dropped.
    fn script(&self, rule: &CompiledRule, entry: Entry) -> Result<Option<Arc<Script>>, RuleProblem> {
        let Logic::Python { rule: python, .. } = &*rule.logic else { return Ok(None) };
        let mut scripts = self.lock();
        if let Some(known) = scripts.get(&rule.rule.hash) {
            return Ok(known.clone());
        }
        let script = Script::read(&python.path, &python.source, entry).map(Arc::new);
        scripts.insert(rule.rule.hash, script.as_ref().ok().cloned());
        script.map(Some)
    }

    /// Runs a rule's function and reads what it returned; a rule that cannot do its work is dropped.
    fn findings<'f>(
        &self,
        rule: &CompiledRule,
        script: &Script,
        inputs: Json,
        place: impl Fn(&Map<String, Json>) -> Result<Place<'f>, String>,
    ) -> Result<Vec<Finding>, RuleProblem> {
        let found = self.runner.call(script, inputs).and_then(|text| {
            answer::findings(rule, &text, place).map_err(|message| {
                script
                    .problem(format!("`{}` {message}", script.entry.function()))
                    .hint("a finding is `{\"node\": node, \"message\": text}`, with `help` and `fix` if it has them")
            })
        });
        found.or_else(|problem| self.drop_rule(rule, problem))
    }

    /// Keeps a rule from being run again. Of several threads that find it broken, the first one says so.
    fn drop_rule(&self, rule: &CompiledRule, problem: RuleProblem) -> Result<Vec<Finding>, RuleProblem> {
        match self.lock().insert(rule.rule.hash, None) {
            Some(None) => Ok(Vec::new()),
            _ => Err(problem),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, FxHashMap<blake3::Hash, Option<Arc<Script>>>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PythonRules for SandboxedRules {
    fn check_file(
        &self,
        rule: &CompiledRule,
        file: &FileUnderCheck<'_>,
    ) -> Result<Vec<Finding>, RuleProblem> {
        let Some(script) = self.script(rule, Entry::Check)? else { return Ok(Vec::new()) };
        let Some(tree) = file.data() else { return Ok(vec![too_deep(rule, file)]) };
        let inputs = json!({
            "tree": tree,
            "path": *file.path,
            "module": file.module.name,
            "options": rule.python_options(),
        });
        let source = file.parsed.source();
        self.findings(rule, &script, inputs, |fields| match fields.get("path") {
            Some(_) => Err("`path` means something in `check_project` only".to_owned()),
            None => Ok(Place { path: Arc::clone(&file.path), source: Cow::Borrowed(source) }),
        })
    }

    fn check_project(
        &self,
        rule: &CompiledRule,
        project: &ProjectUnderCheck<'_>,
    ) -> Result<Vec<Finding>, RuleProblem> {
        let Some(query) = rule.rule.python().and_then(|python| python.project.as_ref()) else {
            return Ok(Vec::new());
        };
        let Some(script) = self.script(rule, Entry::CheckProject)? else { return Ok(Vec::new()) };
        let slice = match project::slice_text(project, query) {
            Ok(slice) => slice,
            Err(message) => {
                let problem = RuleProblem::new(&rule.rule.path, 1, message);
                return self.drop_rule(rule, problem.hint("ask for less with `project` in the front matter"));
            }
        };
        let inputs = json!({"project": slice, "path": "", "module": "", "options": rule.python_options()});
        self.findings(rule, &script, inputs, |fields| {
            let Some(Json::String(path)) = fields.get("path") else {
                return Err("it has no `path`".to_owned());
            };
            match project.file(path) {
                Some((path, source)) => Ok(Place { path, source: Cow::Owned(source) }),
                None => Err(format!("there is no file `{}`", one_line(path))),
            }
        })
    }
}

/// Said of files that no script can look at, so that they do not pass as checked.
fn too_deep(rule: &CompiledRule, file: &FileUnderCheck<'_>) -> Finding {
    let start = file.parsed.source().position(0);
    Finding {
        path: Arc::clone(&file.path),
        layer: Layer::Rules,
        rule: Arc::clone(&rule.rule.id),
        severity: Severity::Info,
        message: "the code nests too deeply for a rule in Python; it was not looked at".to_owned(),
        help: None,
        span: None,
        start,
        end: start,
        fix: None,
    }
}

/// Text of untrusted code on one line, without characters that a terminal would act on, and cut where it is long.
fn one_line(text: &str) -> String {
    let printable = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    let line: String = printable.take(MAX_LINE + 1).collect();
    let line = line.trim();
    match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

const MAX_LINE: usize = 1_000;
