//! Small changes of one place, for fixes: each gives edits over the text, or none where there is nothing to do.
//!
//! A recipe changes what it is pointed at and nothing else: no imports, no calls elsewhere. Each has one implementation, which the
//! codemods and refactorings use too.

mod prefix;

pub use prefix::string_prefix;

use crate::codemod::{Template, replace_matches};
use crate::layout::{self, CommaList, DecoratorPlace, LeadingComments, insert_list_item};
use crate::query::Match;
use crate::refactor::{MethodKind, method_kind};
use crate::rename::{RenameError, RenameOptions, rename_in};
use crate::tree::ParameterKind;
use crate::{Edit, Field, Kind, Node, Parsed, Semantic};

pub use crate::layout::{annotate_parameter, annotate_return, remove_decorator};

/// Puts a decorator, given without its `@`, above the others of a function or class.
pub fn add_decorator(definition: Node<'_>, decorator: &str) -> Vec<Edit> {
    layout::add_decorator(definition, decorator, DecoratorPlace::Outer)
}

/// Makes every parameter of a function keyword-only, but the one that a method gets from its instance or class. Nothing moves: there is
/// nothing to do if a `*` or `*args` says already what is keyword-only, or if parameters are positional-only.
pub fn keyword_only(function: Node<'_>) -> Vec<Edit> {
    let Some(parameters) = function.child(Field::Params).filter(|_| function.kind() == Kind::FunctionDef)
    else {
        return Vec::new();
    };
    let Some(list) = CommaList::of(parameters) else { return Vec::new() };
    let items: Vec<Node<'_>> = parameters.list(Field::Params).collect();
    let bound = usize::from(is_method(function) && method_kind(function) != MethodKind::Static);
    // `self, /` is no reason against a star behind it.
    let has_slash = items.get(bound).is_some_and(|item| bound > 0 && item.kind() == Kind::ParamSlash);
    let first = bound + usize::from(has_slash);
    let Some(candidates) = items.get(first..) else { return Vec::new() };
    let is_allowed = |item: &Node<'_>| {
        matches!(item.parameter_kind(), Some(ParameterKind::Positional | ParameterKind::DoubleStar))
    };
    let has_work = candidates.iter().any(|item| item.parameter_kind() == Some(ParameterKind::Positional));
    let is_bound_first = items[..bound].iter().all(|item| {
        matches!(item.parameter_kind(), Some(ParameterKind::Positional | ParameterKind::PositionalOnly))
    });
    if !has_work || !is_bound_first || !candidates.iter().all(is_allowed) {
        return Vec::new();
    }
    insert_list_item(function.parsed(), &list, first, "*")
}

/// Makes a parameter and those behind it keyword-only. Nothing to do if a `*` or `*args` says already what is keyword-only.
pub fn keyword_only_from(parameter: Node<'_>) -> Vec<Edit> {
    let Some(parameters) = parameter.parent().filter(|parent| parent.kind() == Kind::Parameters) else {
        return Vec::new();
    };
    let Some(list) = CommaList::of(parameters) else { return Vec::new() };
    let items: Vec<Node<'_>> = parameters.list(Field::Params).collect();
    let Some(first) = items.iter().position(|item| item.id() == parameter.id()) else { return Vec::new() };
    let has_star = items
        .iter()
        .any(|item| item.kind() == Kind::ParamStar || item.parameter_kind() == Some(ParameterKind::Star));
    if has_star || parameter.parameter_kind() != Some(ParameterKind::Positional) {
        return Vec::new();
    }
    insert_list_item(parameter.parsed(), &list, first, "*")
}

/// Replaces this one match as [`crate::codemod::replace_all`] would; if it has to be left alone, says why.
pub fn rewrite(found: &Match, template: &Template, parsed: &Parsed) -> Result<Vec<Edit>, String> {
    let replacements = replace_matches(parsed, vec![found.clone()], template);
    match replacements.applied.is_empty() {
        false => Ok(replacements.edits),
        true => Err(replacements.notes.into_iter().next().unwrap_or_default()),
    }
}

/// Removes a statement with its lines; comments above it stay, and a block that would be empty keeps a `pass`.
pub fn remove_statement(statement: Node<'_>) -> Vec<Edit> {
    if !statement.kind().is_statement() {
        return Vec::new();
    }
    layout::remove_statement(statement, LeadingComments::Keep)
}

/// Renames what a `Name` or `Identifier` stands for within this file: a variable, function, class, import, a parameter with the keywords
/// of its calls, a member as far as its class shows it.
pub fn rename(semantic: &Semantic<'_>, name: Node<'_>, new: &str) -> Result<Vec<Edit>, RenameError> {
    rename_in(semantic, name, new, &RenameOptions::default())
}

/// Whether a function belongs to a class, be it under an `if`.
fn is_method(function: Node<'_>) -> bool {
    function
        .ancestors()
        .find(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef))
        .is_some_and(|scope| scope.kind() == Kind::ClassDef)
}
