//! The arguments of a call as its signature sees them, and the edits that change them.

use super::calls::Call;
use super::error::{Place, RefactorError};
use crate::layout::{CommaList, insert_list_items, remove_list_items};
use crate::tree::Attribute;
use crate::{Edit, Field, Kind, Node, Project};

#[derive(Clone, Copy)]
pub(super) struct Argument<'a> {
    pub(super) node: Node<'a>,
    pub(super) shape: Shape<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape<'a> {
    /// A plain argument, with its place among the plain ones and `*`.
    Positional(usize),
    Starred(usize),
    Keyword(&'a str),
    DoubleStarred,
}

/// The arguments in source order; their index is that of the list.
pub(super) fn arguments<'a>(call: Node<'a>) -> Vec<Argument<'a>> {
    let mut position = 0;
    let mut next = || {
        position += 1;
        position - 1
    };
    call.list(Field::Args)
        .map(|node| {
            let shape = match node.kind() {
                Kind::Starred => Shape::Starred(next()),
                Kind::Keyword => node
                    .child(Field::Keyword)
                    .map_or(Shape::DoubleStarred, |name| Shape::Keyword(name.text())),
                _ => Shape::Positional(next()),
            };
            Argument { node, shape }
        })
        .collect()
}

/// The list index of the keyword argument with that name.
pub(super) fn keyword(arguments: &[Argument<'_>], name: &str) -> Option<usize> {
    arguments.iter().position(|argument| argument.shape == Shape::Keyword(name))
}

/// The first `*` that may reach the position, being at or before it.
pub(super) fn star_reaching<'a>(arguments: &[Argument<'a>], position: usize) -> Option<Argument<'a>> {
    arguments.iter().copied().find(|argument| matches!(argument.shape, Shape::Starred(at) if at <= position))
}

pub(super) fn double_star<'a>(arguments: &[Argument<'a>]) -> Option<Argument<'a>> {
    arguments.iter().copied().find(|argument| argument.shape == Shape::DoubleStarred)
}

/// How many arguments are passed by position, a `*` counted as one.
pub(super) fn positional_count(arguments: &[Argument<'_>]) -> usize {
    arguments
        .iter()
        .filter(|argument| matches!(argument.shape, Shape::Positional(_) | Shape::Starred(_)))
        .count()
}

/// Where a keyword argument goes: behind all others, but before a `**`.
pub(super) fn keyword_index(arguments: &[Argument<'_>]) -> usize {
    arguments.iter().position(|argument| argument.shape == Shape::DoubleStarred).unwrap_or(arguments.len())
}

/// The list index of the argument at a position.
pub(super) fn index_of_position(arguments: &[Argument<'_>], position: usize) -> Option<usize> {
    arguments.iter().position(
        |argument| matches!(argument.shape, Shape::Positional(at) | Shape::Starred(at) if at == position),
    )
}

pub(super) fn unpacked(project: &Project, file: usize, argument: Argument<'_>, name: &str) -> RefactorError {
    RefactorError::Unpacked {
        argument: argument.node.text().to_owned(),
        name: name.to_owned(),
        place: Place::new(project, file, argument.node.span()),
    }
}

pub(super) fn insert(call: &Call<'_>, index: usize, items: &[&str]) -> Vec<Edit> {
    CommaList::of(call.node)
        .map_or_else(Vec::new, |list| insert_list_items(call.node.parsed(), &list, index, items))
}

pub(super) fn remove(call: &Call<'_>, indexes: &[usize]) -> Vec<Edit> {
    CommaList::of(call.node)
        .map_or_else(Vec::new, |list| remove_list_items(call.node.parsed(), &list, indexes))
}

/// An argument's value as it may stand behind `name=`.
pub(super) fn value_text(argument: Node<'_>) -> String {
    let text = argument.span_with_parentheses().of(argument.parsed().text());
    if needs_parentheses(argument) { format!("({text})") } else { text.to_owned() }
}

pub(super) fn needs_parentheses(argument: Node<'_>) -> bool {
    let is_bare_generator = argument.kind() == Kind::GeneratorExp
        && argument.attribute("parenthesized") == Some(Attribute::Flag(false));
    let is_bare_walrus =
        argument.kind() == Kind::NamedExpr && argument.span_with_parentheses() == argument.span();
    is_bare_generator || is_bare_walrus
}
