//! `convert-named-tuple-to-dataclass`: `class A(NamedTuple)` becomes a frozen dataclass.
//!
//! Only the declaration changes. Code that takes instances apart or calls `_replace` has to be changed by hand.

use ruff_python_ast::token::TokenKind;

use super::{Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::imports::ImportRequest;
use crate::tree::TokenSpan;
use crate::{Edit, Field, Kind, Node, Span};

const NAMED_TUPLES: [&str; 2] = ["typing.NamedTuple", "typing_extensions.NamedTuple"];

pub(super) const COMMAND: Command = Command {
    name: "convert-named-tuple-to-dataclass",
    summary: "Turn `NamedTuple` classes into frozen dataclasses",
    libcst: Some("ConvertNamedTupleToDataclassCommand"),
    arguments: &[],
    run,
};

fn run(context: &CommandContext<'_>, _arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let mut outcome = CommandOutcome::default();
    let mut bases = Vec::new();
    for class in context.nodes_of(Kind::ClassDef) {
        let base = class.list(Field::Bases).find(|base| is_named_tuple(context, *base));
        let Some(base) = base else { continue };
        if !context.is_free_for("dataclass", "dataclasses.dataclass") {
            outcome.notes.push(context.note(class, "`dataclass` means something else in this file"));
            continue;
        }
        if let Some(field) = mutable_default(class) {
            outcome.notes.push(context.note(field, "a dataclass refuses a mutable default"));
            continue;
        }
        let Some(keyword) = class_keyword(class) else { continue };
        let source = context.parsed.source();
        let indentation = source.indentation(keyword);
        let decorator = format!("@dataclass(frozen=True){}{indentation}", source.newline());
        outcome.edits.push(Edit::insert(keyword, decorator));
        outcome.edits.push(remove_base(class, base));
        bases.push(base.span());
    }
    if !outcome.edits.is_empty() {
        outcome.add_imports.push(ImportRequest::name("dataclasses", "dataclass"));
        outcome.remove_imports_if_unused = context.imports_used_in(&bases);
    }
    Ok(outcome)
}

fn is_named_tuple(context: &CommandContext<'_>, base: Node<'_>) -> bool {
    matches!(base.kind(), Kind::Name | Kind::Attribute)
        && NAMED_TUPLES.iter().any(|name| context.semantic.has_qualified_name(base, name))
}

/// A field that defaults to a list, dictionary or set.
fn mutable_default(class: Node<'_>) -> Option<Node<'_>> {
    class.list(Field::Body).filter(|statement| statement.kind() == Kind::AnnAssign).find(|statement| {
        statement.child(Field::Value).is_some_and(|value| {
            matches!(
                value.kind(),
                Kind::List | Kind::Dict | Kind::Set | Kind::ListComp | Kind::DictComp | Kind::SetComp
            )
        })
    })
}

/// Where the `class` keyword stands, behind the decorators.
fn class_keyword(class: Node<'_>) -> Option<u32> {
    let name = class.child(Field::Name)?;
    class
        .parsed()
        .token_before(name.span().start)
        .filter(|token| token.kind() == TokenKind::Class)
        .map(|token| token.range_span().start)
}

/// Removes one base, and the parentheses if nothing is left in them.
fn remove_base(class: Node<'_>, base: Node<'_>) -> Edit {
    let parsed = class.parsed();
    let span = base.span_with_parentheses();
    let is_alone = class.list(Field::Bases).count() == 1;
    let before = parsed.token_before(span.start).map(|token| (token.kind(), token.range_span()));
    let after = parsed.token_after(span.end).map(|token| (token.kind(), token.range_span()));
    // `(Base,)` has a comma and the parenthesis behind it.
    let (comma_end, closing) = match after {
        Some((TokenKind::Comma, comma)) => {
            (Some(comma.end), parsed.token_after(comma.end).map(|it| it.range_span()))
        }
        Some((_, span)) => (None, Some(span)),
        None => (None, None),
    };
    match (before, closing) {
        (Some((TokenKind::Lpar, open)), Some(close)) if is_alone => {
            let whole = Span::new(open.start, close.end);
            let has_comment = super::format_literal::has_comment(class, whole);
            if has_comment {
                Edit::remove(Span::new(span.start, comma_end.unwrap_or(span.end)))
            } else {
                Edit::remove(whole)
            }
        }
        _ => match comma_end {
            // Up to the next base, unless that has a line of its own.
            Some(end) => {
                let rest = &parsed.text()[end as usize..];
                let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                Edit::remove(Span::new(span.start, end + blanks as u32))
            }
            None => match before {
                Some((TokenKind::Comma, comma)) => Edit::remove(Span::new(comma.start, span.end)),
                _ => Edit::remove(span),
            },
        },
    }
}
