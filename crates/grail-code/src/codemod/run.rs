//! One file through one codemod: edits and imports together, and a result that parses if the file did.

use thiserror::Error;

use super::commands::{self, Arguments, Command, CommandError};
use super::definition::{Codemod, Rule};
use super::replace::replace_all;
use crate::imports::{self, ImportError, ImportRequest};
use crate::query::find_all;
use crate::{EditConflict, ModuleName, Parsed, Semantic, Source, edit, parse_module};

/// What to do to each file.
#[derive(Clone, Copy)]
pub enum Transformation<'a> {
    Codemod(&'a Codemod),
    Command(&'a Command, &'a Arguments),
}

/// What a codemod made of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOutcome {
    /// `None` if the file stays as it is.
    pub new_text: Option<String>,
    /// How many matches were replaced or reported.
    pub matches: usize,
    /// What the rules say about their matches, and what was left alone and why.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CodemodError {
    #[error("the result would not be valid Python: line {line}: {message}")]
    BrokenResult { line: u32, message: String },
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Conflict(#[from] EditConflict),
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// Runs a codemod on one file. `path` is relative to the project's root.
pub fn apply_to_file(
    parsed: &Parsed,
    module: &ModuleName,
    path: &str,
    transformation: Transformation<'_>,
) -> Result<FileOutcome, CodemodError> {
    match transformation {
        Transformation::Codemod(codemod) => run_rules(parsed, module, &codemod.rules),
        Transformation::Command(command, arguments) => {
            let semantic = Semantic::of_module(parsed, module.clone());
            let context = commands::CommandContext { parsed, semantic: &semantic, path };
            let result = commands::run(command, &context, arguments)?;
            let matches = result.edits.len();
            let new_text = Some(result.text).filter(|text| text != parsed.text());
            Ok(FileOutcome { new_text, matches, notes: result.notes })
        }
    }
}

/// Whether a file with this text can be changed at all. If not, it need not be parsed.
pub fn may_apply(text: &str, transformation: Transformation<'_>) -> bool {
    match transformation {
        Transformation::Codemod(codemod) => codemod.rules.iter().any(|rule| rule.pattern.prefilter(text)),
        Transformation::Command(..) => true,
    }
}

fn run_rules(parsed: &Parsed, module: &ModuleName, rules: &[Rule]) -> Result<FileOutcome, CodemodError> {
    let mut outcome = FileOutcome::default();
    let mut changed: Option<Parsed> = None;
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for rule in rules {
        let current = changed.as_ref().unwrap_or(parsed);
        if !rule.pattern.prefilter(current.text()) {
            continue;
        }
        let semantic = rule.pattern.needs_names().then(|| Semantic::of_module(current, module.clone()));
        let (edits, applied) = match &rule.template {
            Some(template) => {
                let replaced = replace_all(current, semantic.as_ref(), &rule.pattern, template);
                outcome.notes.extend(replaced.notes);
                (replaced.edits, replaced.applied)
            }
            None => {
                let matches = find_all(current, semantic.as_ref(), &rule.pattern);
                (Vec::new(), matches.iter().map(|found| found.span.start).collect())
            }
        };
        if applied.is_empty() {
            continue;
        }
        outcome.matches += applied.len();
        if let Some(message) = &rule.message {
            let line = |offset: &u32| current.source().position(*offset).line;
            outcome.notes.extend(applied.iter().map(|offset| format!("line {}: {message}", line(offset))));
        }
        extend(&mut added, &rule.add_imports);
        extend(&mut removed, &rule.remove_imports);
        if !edits.is_empty() {
            let text = edit::apply(current.text(), edits)?;
            changed = Some(parse_checked(text, parsed)?);
        }
    }
    let text = changed.as_ref().map_or(parsed.text(), Parsed::text);
    let with_imports = change_imports(text, module, &added, &removed)?;
    outcome.new_text = with_imports.or_else(|| changed.as_ref().map(|changed| changed.text().to_owned()));
    outcome.check(parsed)?;
    Ok(outcome)
}

/// Adds and removes imports. Adding comes first, so that a new name joins the statement an old one leaves; where an old import is in the
/// way, it goes first. `None` if nothing changes.
fn change_imports(
    text: &str,
    module: &ModuleName,
    added: &[ImportRequest],
    removed: &[ImportRequest],
) -> Result<Option<String>, ImportError> {
    let result = match imports::add_all(text, module, added) {
        Ok(text) => imports::remove_all(&text, module, removed)?,
        Err(ImportError::NameTaken { .. }) if !removed.is_empty() => {
            imports::add_all(&imports::remove_all(text, module, removed)?, module, added)?
        }
        Err(error) => return Err(error),
    };
    Ok((result != text).then_some(result))
}

impl FileOutcome {
    fn check(&mut self, before: &Parsed) -> Result<(), CodemodError> {
        self.new_text = self.new_text.take().filter(|text| text != before.text());
        match &self.new_text {
            Some(text) => parse_checked(text.clone(), before).map(drop),
            None => Ok(()),
        }
    }
}

/// A file that parsed must parse afterwards; one that did not may stay broken.
fn parse_checked(text: String, before: &Parsed) -> Result<Parsed, CodemodError> {
    let parsed = parse_module(Source::from_text(text));
    match parsed.diagnostics().first() {
        Some(problem) if before.is_valid() => {
            Err(CodemodError::BrokenResult { line: problem.start.line, message: problem.message.clone() })
        }
        _ => Ok(parsed),
    }
}

fn extend(requests: &mut Vec<ImportRequest>, more: &[ImportRequest]) {
    for request in more {
        if !requests.contains(request) {
            requests.push(request.clone());
        }
    }
}
