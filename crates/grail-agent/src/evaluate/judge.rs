//! Answers, judged strictly: a whole file that parses, keeps the rules of its kind, holds what its prompt asks for and has its types.
//!
//! Every answer is judged twice: as it stands, and as safe fixes leave it. Comments that silence rules are no way to keep them. What a tool that
//! is not there would have said is not guessed; that it did not speak is told with the result.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::thread;

use grail_code::{Source, parse_module};
use grail_flywheel::curate::{Reason, RuleValidator, Validator};
use grail_flywheel::dataset::ChatForm;
use grail_flywheel::event::Problem;
use grail_flywheel::example::{Example, ExampleType, Origin, Weight};
use grail_flywheel::suite::{SuitePrompt, check_code};
use grail_rules::Suppressions;

use super::render::RENDER;
use crate::AgentError;
use crate::answer::{self, Question};
use crate::artifact::{check_retold, find_kind};
use crate::workspace::Workspace;

/// The layer of types, where all answers are checked together.
pub(super) const TYPES: &str = "types";

/// What one file came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Verdict {
    /// As it was answered.
    pub code: Option<String>,
    pub path: String,
    /// What is wrong with it as it stands. Nothing: it passes.
    pub problems: Vec<Problem>,
    /// As safe fixes leave it.
    pub fixed: Option<String>,
    /// What is still wrong then.
    pub left: Vec<Problem>,
    /// Rules whose fixes were applied, sorted.
    pub fixed_rules: Vec<String>,
}

impl Verdict {
    pub(super) fn passes(&self) -> bool {
        self.code.is_some() && self.problems.is_empty()
    }

    pub(super) fn passes_with_fixes(&self) -> bool {
        self.fixed.is_some() && self.left.is_empty()
    }
}

/// Judges one file by syntax, rules and what its prompt asks for.
pub(super) fn judge_file(
    workspace: &Workspace,
    prompt: &SuitePrompt,
    code: Option<&str>,
) -> Result<Verdict, AgentError> {
    let form = ChatForm::default();
    let question = Question {
        kind: &prompt.kind,
        request: &prompt.prompt,
        form: &form,
        skill_text: None,
        seed: None,
        temperature: None,
        max_tokens: None,
        // Types are checked for all answers together.
        layers: Some(&[]),
    };
    let judged = answer::judge(workspace, &question, code)?;
    let mut verdict = Verdict {
        code: code.map(str::to_owned),
        path: judged.strict.path.clone(),
        problems: judged.strict.event_problems(),
        fixed: judged.fixed_code,
        left: judged.fixed.event_problems(),
        fixed_rules: judged.fixed.fixed.keys().cloned().collect(),
    };
    if let Some(code) = code {
        verdict.problems.extend(beyond_rules(prompt, code, &verdict.problems));
    }
    if let Some(fixed) = &verdict.fixed {
        verdict.left.extend(beyond_rules(prompt, fixed, &verdict.left));
    }
    Ok(verdict)
}

/// What no rule of the kind says: what the prompt asks for, and that rules are kept, not silenced.
fn beyond_rules(prompt: &SuitePrompt, code: &str, found: &[Problem]) -> Vec<Problem> {
    // What cannot be read holds nothing.
    if found.iter().any(|problem| problem.layer == "syntax") {
        return Vec::new();
    }
    let suppressions = Suppressions::read(&parse_module(Source::from_text(code)));
    let silenced: BTreeSet<&str> = suppressions.rules().collect();
    let mut problems = check_code(&prompt.checks, code);
    problems.extend(silenced.into_iter().map(|rule| Problem {
        layer: "rules".to_owned(),
        rule: rule.to_owned(),
        message: format!("a comment silences `{rule}` instead of keeping it"),
        line: 0,
        hint: None,
    }));
    problems
}

/// Judges many files on all cores. Each is a prompt and a file; the verdicts come in the same order.
pub(super) fn judge_files(
    workspace: &Workspace,
    files: &[(&SuitePrompt, Option<&str>)],
) -> Result<Vec<Verdict>, AgentError> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let share = files.len().div_ceil(threads).max(1);
    let judge = |files: &[(&SuitePrompt, Option<&str>)]| {
        files.iter().map(|(prompt, code)| judge_file(workspace, prompt, *code)).collect::<Result<Vec<_>, _>>()
    };
    let judged = thread::scope(|scope| {
        let workers: Vec<_> = files.chunks(share).map(|files| scope.spawn(move || judge(files))).collect();
        workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
    });
    let mut verdicts = Vec::with_capacity(files.len());
    for share in judged {
        let failed = || AgentError::Other { message: "an answer could not be judged".to_owned(), hint: None };
        verdicts.extend(share.map_err(|_| failed())??);
    }
    Ok(verdicts)
}

/// Where only tools object to what fixes have left, the first line of the answer is taken at its word, as it is where rules do. Returns what is to be
/// judged anew, with its kind.
pub(super) fn retell_objected<'v>(
    workspace: &Workspace,
    files: &[(&'v SuitePrompt, Option<&str>)],
    verdicts: &'v mut [Verdict],
) -> Result<Vec<(&'v str, &'v mut Verdict)>, AgentError> {
    let mut retold = Vec::new();
    for ((prompt, _), verdict) in files.iter().zip(verdicts) {
        let is_of_tool = |problem: &Problem| [TYPES, RENDER].contains(&problem.layer.as_str());
        let Some(code) = verdict.code.as_ref().filter(|_| !verdict.left.is_empty()) else { continue };
        if !verdict.left.iter().all(is_of_tool) {
            continue;
        }
        let (_, kind) = find_kind(workspace, &prompt.kind)?;
        let looked_at = verdict.fixed.as_deref().unwrap_or(code);
        let told = check_retold(workspace, &kind, &verdict.path, code, &prompt.prompt, looked_at)?;
        let Some((told, report)) = told else { continue };
        verdict.left = beyond_rules(prompt, &told, &[]);
        verdict.fixed = Some(told);
        verdict.fixed_rules = report.fixed.into_keys().collect();
        retold.push((prompt.kind.as_str(), verdict));
    }
    Ok(retold)
}

/// Whether types were checked, and what is to be said about that.
pub(super) struct TypesChecked {
    pub ran: bool,
    pub notes: Vec<String>,
}

/// Checks the files that pass so far for types, all in one run.
pub(super) fn judge_types(workspace: &Workspace, verdicts: &mut [(&str, &mut Verdict)]) -> TypesChecked {
    let (mut examples, mut places) = (Vec::new(), Vec::new());
    for (place, (kind, verdict)) in verdicts.iter().enumerate() {
        let as_it_stands = verdict.code.as_ref().filter(|_| verdict.passes());
        let after_fixes = verdict.fixed.as_ref().filter(|_| verdict.passes_with_fixes());
        let is_same = as_it_stands == after_fixes;
        for (code, is_fixed) in [(as_it_stands, false), (after_fixes.filter(|_| !is_same), true)] {
            if let Some(code) = code {
                examples.push(example(kind, &verdict.path, code));
                places.push((place, is_fixed, is_same));
            }
        }
    }
    if examples.is_empty() {
        // Whether types would have been checked is part of what an evaluation is compared by.
        examples.push(example("", "example.py", "NOTHING: int = 0\n"));
    }
    let validator = RuleValidator::new(&workspace.project, &workspace.library)
        .with_python(workspace.python_rules())
        .with_tools();
    for ((place, is_fixed, is_same), outcome) in places.into_iter().zip(validator.validate_all(&examples)) {
        let Err(Reason::Types { message }) = outcome else { continue };
        let layer = TYPES.to_owned();
        let problem = Problem { rule: layer.clone(), layer, message, line: 0, hint: None };
        let verdict = &mut *verdicts[place].1;
        if !is_fixed {
            verdict.problems.push(problem.clone());
        }
        if is_fixed || is_same {
            verdict.left.push(problem);
        }
    }
    let notes: Vec<String> =
        validator.notes().into_iter().filter(|note| note.starts_with("types were not checked")).collect();
    TypesChecked { ran: notes.is_empty(), notes }
}

fn example(kind: &str, path: &str, code: &str) -> Example {
    Example {
        id: String::new(),
        example_type: ExampleType::Positive,
        artifact: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
        rules: Vec::new(),
        tools: Vec::new(),
        context: None,
        window: Vec::new(),
        request: String::new(),
        chosen: Some(code.to_owned()),
        calls: Vec::new(),
        rejected: None,
        problems: Vec::new(),
        path: Some(path.to_owned()),
        weight: Weight { base: 1.0, outcome: 1.0, balance: 1.0 },
        origin: Origin::default(),
    }
}
