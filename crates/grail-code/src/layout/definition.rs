//! The header of a definition: its decorators and annotations, each added, replaced or removed where it stands.

use ruff_python_ast::token::TokenKind;

use crate::tree::TokenSpan;
use crate::{Edit, Field, Kind, Node, Span};

/// Where a new decorator goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecoratorPlace {
    /// Above the others.
    Outer,
    /// Right above the `def` or `class`.
    Inner,
}

/// Puts a decorator on a line of its own. Nothing to do for a definition that has it already, word for word.
pub fn add_decorator(definition: Node<'_>, decorator: &str, place: DecoratorPlace) -> Vec<Edit> {
    if !matches!(definition.kind(), Kind::FunctionDef | Kind::ClassDef) {
        return Vec::new();
    }
    let parsed = definition.parsed();
    let source = parsed.source();
    let has_it = definition
        .list(Field::Decorators)
        .any(|other| other.child(Field::Expression).is_some_and(|expression| expression.text() == decorator));
    if has_it {
        return Vec::new();
    }
    let last = definition.list(Field::Decorators).last();
    let start = match last {
        Some(last) if place == DecoratorPlace::Inner => parsed
            .tokens_in(Span::new(last.span().end, definition.span().end))
            .iter()
            .find(|token| matches!(token.kind(), TokenKind::Def | TokenKind::Class | TokenKind::Async))
            .map_or(definition.span().start, |token| token.range_span().start),
        _ => definition.span().start,
    };
    let indentation = source.indentation(start);
    vec![Edit::insert(start, format!("@{decorator}{}{indentation}", source.newline()))]
}

/// Removes a decorator with its line. A comment behind it gets the line, unless it speaks to a tool about that line.
pub fn remove_decorator(decorator: Node<'_>) -> Vec<Edit> {
    if decorator.kind() != Kind::Decorator {
        return Vec::new();
    }
    let source = decorator.parsed().source();
    let span = decorator.span();
    let behind = Span::new(span.end, source.line_end(span.end)).of(source.text());
    let removal = if behind.trim().is_empty() || is_about_the_line(behind.trim()) {
        Span::new(source.line_start(span.start), source.next_line_start(span.end))
    } else {
        let gap = behind.len() - behind.trim_start_matches([' ', '\t']).len();
        Span::new(span.start, span.end + gap as u32)
    };
    vec![Edit::remove(removal)]
}

/// Gives a function a return annotation, in place of the one it has.
pub fn annotate_return(function: Node<'_>, annotation: &str) -> Vec<Edit> {
    if function.kind() != Kind::FunctionDef {
        return Vec::new();
    }
    match (function.child(Field::Returns), function.child(Field::Params)) {
        (Some(existing), _) => vec![Edit::replace(existing.span_with_parentheses(), annotation)],
        (None, Some(parameters)) if parameters.text().ends_with(')') => {
            vec![Edit::insert(parameters.span().end, format!(" -> {annotation}"))]
        }
        _ => Vec::new(),
    }
}

/// Gives a function's parameter an annotation, in place of the one it has. The `=` of a default gets spaces, as PEP 8 wants beside an
/// annotation. A lambda's parameters cannot have one.
pub fn annotate_parameter(parameter: Node<'_>, annotation: &str) -> Vec<Edit> {
    let owner = parameter.parent().and_then(Node::parent);
    let is_fit =
        parameter.kind() == Kind::Parameter && owner.is_some_and(|owner| owner.kind() == Kind::FunctionDef);
    let Some(name) = parameter.child(Field::Name).filter(|_| is_fit) else { return Vec::new() };
    let existing = parameter.child(Field::Annotation).map(Node::span_with_parentheses);
    let (replaced, text) = match existing {
        Some(existing) => (existing, annotation.to_owned()),
        None => (Span::at(name.span().end), format!(": {annotation}")),
    };
    let default = parameter.child(Field::Default).map(Node::span_with_parentheses);
    let gap = default.map(|default| Span::new(replaced.end, default.start));
    match gap {
        // What else stands between, such as a comment, is worth more than the spaces.
        Some(gap) if gap.of(parameter.parsed().text()).trim() == "=" => {
            vec![Edit::replace(Span::new(replaced.start, gap.end), format!("{text} = "))]
        }
        _ => vec![Edit::replace(replaced, text)],
    }
}

/// Whether a comment only makes sense on the line it stands on.
fn is_about_the_line(comment: &str) -> bool {
    let content = comment.trim_start_matches('#').trim_start();
    ["noqa", "type:", "pragma", "pylint:", "ruff:", "pyright:", "mypy:"]
        .iter()
        .any(|marker| content.starts_with(marker))
}
