//! Fixes applied again and again until nothing is left to fix.
//!
//! One fix may make room for the next, so a file is checked anew after each round. Three things could keep this from ending well, and each
//! is caught, named and dropped: a fix after which the file no longer parses, rules that undo each other in turn (a text that was there
//! before), and rules that never come to an end (more than [`MAX_ROUNDS`], or a text that only grows). What is left after that is a text on which no fix applies:
//! running it again changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_code::{Edit, Source, edit, parse_module};
use rustc_hash::FxHashSet;

use crate::{Finding, Safety};

/// More rounds than honest rules need: each round applies every fix that is in nobody's way.
pub const MAX_ROUNDS: usize = 50;

/// How much a file may grow: a fix that doubles what it finds would fill the memory long before the last round.
const MAX_GROWTH: usize = 64 * 1024;

/// What fixing made of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    pub text: String,
    /// How many fixes of each rule were applied.
    pub applied: BTreeMap<Arc<str>, usize>,
    /// The findings of the last round: what is left.
    pub findings: Vec<Finding>,
    pub problems: Vec<FixProblem>,
    pub rounds: usize,
}

/// Why fixes of a rule were dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FixProblem {
    /// The file would no longer parse.
    BreaksCode { rule: Arc<str>, line: u32, message: String },
    /// The rules brought back a text that was there before.
    UndoEachOther { rules: Vec<Arc<str>> },
    /// The rules kept finding something to fix.
    NeverEnds { rules: Vec<Arc<str>> },
}

/// Applies fixes that are at least as safe as `allowed` until none is left. `check` looks at a text.
pub fn fix_text(text: &str, allowed: Safety, mut check: impl FnMut(&str) -> Vec<Finding>) -> Fixed {
    let was_valid = parse_module(Source::from_text(text)).is_valid();
    let mut fixed = Fixed { text: text.to_owned(), ..Fixed::default() };
    let mut dropped: Vec<Arc<str>> = Vec::new();
    // Every text there has been, and the rules that led from it to the next.
    let mut history: Vec<(String, Vec<Arc<str>>)> = Vec::new();
    loop {
        let findings = check(&fixed.text);
        let usable = |finding: &&Finding| {
            !dropped.contains(&finding.rule)
                && finding.fix.as_ref().is_some_and(|fix| fix.safety >= allowed && !fix.edits.is_empty())
        };
        let (edits, rules) = compatible(findings.iter().filter(usable));
        if edits.is_empty() {
            fixed.findings = findings;
            return fixed;
        }
        if fixed.rounds == MAX_ROUNDS || fixed.text.len() > text.len() + MAX_GROWTH {
            let guilty = names(&rules);
            dropped.extend(guilty.iter().cloned());
            fixed.start_again(text, FixProblem::NeverEnds { rules: guilty });
            history.clear();
            continue;
        }
        fixed.rounds += 1;
        let next = match edit::apply(&fixed.text, edits) {
            Ok(next) if !was_valid || parse_module(Source::from_text(next.as_str())).is_valid() => next,
            _ => {
                let problem = culprit(&fixed.text, findings.iter().filter(usable));
                let rule = match &problem {
                    FixProblem::BreaksCode { rule, .. } => vec![Arc::clone(rule)],
                    FixProblem::UndoEachOther { rules } | FixProblem::NeverEnds { rules } => rules.clone(),
                };
                fixed.problems.push(problem);
                dropped.extend(rule);
                continue;
            }
        };
        history.push((std::mem::replace(&mut fixed.text, next), names(&rules)));
        if let Some(at) = history.iter().position(|(before, _)| *before == fixed.text) {
            let guilty: Vec<Arc<str>> = history[at..].iter().flat_map(|(_, rules)| rules.clone()).collect();
            let guilty = names(&guilty);
            dropped.extend(guilty.iter().cloned());
            fixed.start_again(text, FixProblem::UndoEachOther { rules: guilty });
            history.clear();
            continue;
        }
        for rule in rules {
            *fixed.applied.entry(rule).or_default() += 1;
        }
    }
}

impl Fixed {
    /// Nothing is kept of fixing that was not proved to end: the guilty rules are left out, and all begins anew.
    fn start_again(&mut self, text: &str, problem: FixProblem) {
        self.text = text.to_owned();
        self.applied.clear();
        self.rounds = 0;
        self.problems.push(problem);
    }
}

/// The edits of as many fixes as do not touch each other, with the rule of each fix. Edits that two fixes share, such as an import both
/// need, are made once.
fn compatible<'f>(findings: impl Iterator<Item = &'f Finding>) -> (Vec<Edit>, Vec<Arc<str>>) {
    let mut edits: Vec<Edit> = Vec::new();
    let mut known: FxHashSet<&Edit> = FxHashSet::default();
    // The places taken, by start: none touches another, unless one fix has both.
    let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
    let mut rules = Vec::new();
    for finding in findings {
        let Some(fix) = &finding.fix else { continue };
        let new: Vec<&Edit> = fix.edits.iter().filter(|edit| !known.contains(edit)).collect();
        let is_free = |edit: &&Edit| {
            taken.range(..=edit.span.end).next_back().is_none_or(|(_, end)| *end < edit.span.start)
        };
        // With nothing new, the same fix was found twice.
        if new.is_empty() || !new.iter().all(is_free) {
            continue;
        }
        for edit in new {
            let end = taken.entry(edit.span.start).or_insert(edit.span.end);
            *end = edit.span.end.max(*end);
            known.insert(edit);
            edits.push(edit.clone());
        }
        rules.push(Arc::clone(&finding.rule));
    }
    (edits, rules)
}

/// The rule whose fix alone breaks the text; if each is fine alone, all of them.
fn culprit<'f>(text: &str, findings: impl Iterator<Item = &'f Finding>) -> FixProblem {
    let mut rules = Vec::new();
    for finding in findings {
        let Some(fix) = &finding.fix else { continue };
        let rule = Arc::clone(&finding.rule);
        let broken = match edit::apply(text, fix.edits.clone()) {
            Err(conflict) => Some((finding.start.line, conflict.to_string())),
            Ok(next) => parse_module(Source::from_text(next))
                .diagnostics()
                .first()
                .map(|problem| (problem.start.line, problem.message.clone())),
        };
        if let Some((line, message)) = broken {
            return FixProblem::BreaksCode { rule, line, message };
        }
        rules.push(rule);
    }
    FixProblem::UndoEachOther { rules: names(&rules) }
}

fn names(rules: &[Arc<str>]) -> Vec<Arc<str>> {
    let mut names = rules.to_vec();
    names.sort();
    names.dedup();
    names
}

impl FixProblem {
    /// The rules whose fixes were dropped.
    pub fn rules(&self) -> &[Arc<str>] {
        match self {
            FixProblem::BreaksCode { rule, .. } => std::slice::from_ref(rule),
            FixProblem::UndoEachOther { rules } | FixProblem::NeverEnds { rules } => rules,
        }
    }
}

impl std::fmt::Display for FixProblem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |rules: &[Arc<str>]| {
            rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(" and ")
        };
        match self {
            FixProblem::BreaksCode { rule, line, message } => {
                write!(formatter, "the fix of `{rule}` breaks the code: line {line}: {message}")
            }
            FixProblem::UndoEachOther { rules } => {
                write!(formatter, "the fixes of {} undo each other", list(rules))
            }
            FixProblem::NeverEnds { rules } => {
                write!(formatter, "the fixes of {} never come to an end", list(rules))
            }
        }
    }
}
