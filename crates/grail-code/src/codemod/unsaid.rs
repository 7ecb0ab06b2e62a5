//! What a code pattern leaves unsaid and a replacement must not lose.
//!
//! `def $F($$$A): $$$B` also finds decorated, `async` and annotated functions. What the pattern does not mention is carried over into the
//! template's own definition; where there is no place for it, the match is left alone.

use std::collections::BTreeSet;

use super::template::Form;
use crate::layout::CommaList;
use crate::query::Captures;
use crate::tree::TokenSpan;
use crate::{Field, Kind, Node, Span};

/// What a code pattern mentions.
#[derive(Default)]
pub(super) struct Mentioned {
    fields: BTreeSet<(Kind, Field)>,
    is_async: bool,
    decorators: usize,
}

/// Source text to put into the template.
pub(super) struct Carried {
    /// The place in the template.
    pub(super) at: u32,
    pub(super) source: Span,
    pub(super) before: &'static str,
    pub(super) after: &'static str,
}

impl Mentioned {
    pub(super) fn in_pattern(pattern: &Form) -> Self {
        let mut mentioned = Self::default();
        for node in pattern.parsed.nodes() {
            if let Some(parent) = node.parent() {
                mentioned.fields.insert((parent.kind(), node.field()));
            }
            mentioned.is_async |= node.is_async();
            mentioned.decorators += usize::from(node.kind() == Kind::Decorator);
        }
        mentioned
    }

    fn says(&self, kind: Kind, field: Field) -> bool {
        self.fields.contains(&(kind, field))
    }

    /// The parts of a matched statement that go into the statement of the same kind in the template.
    pub(super) fn carry(&self, target: Node<'_>, form: &Form) -> Vec<Carried> {
        let mut carried = Vec::new();
        let kind = target.kind();
        let heir = form.parsed.root().children().find(|statement| statement.kind() == kind);
        let Some(heir) = heir else { return carried };
        let mut carry = |at, source, before, after| carried.push(Carried { at, source, before, after });
        let is_unsaid =
            |field| !self.says(kind, field) && heir.child(field).is_none() && target.child(field).is_some();
        if is_unsaid(Field::Decorators)
            && let Some(first) = target.child(Field::Decorators)
        {
            carry(heir.span().start, Span::new(first.span().start, keyword_start(target)), "", "");
        }
        if target.is_async() && !heir.is_async() && !self.is_async {
            let start = keyword_start(target);
            carry(keyword_start(heir), Span::new(start, start + "async".len() as u32), "", " ");
        }
        let header_end = |node: Node<'_>| {
            let header = node.child(Field::TypeParams).or_else(|| node.child(Field::Name));
            header.map_or(node.span().start, |header| header.span().end)
        };
        if is_unsaid(Field::TypeParams)
            && let (Some(parameters), Some(name)) = (target.child(Field::TypeParams), heir.child(Field::Name))
        {
            carry(name.span().end, parameters.span(), "", "");
        }
        if is_unsaid(Field::Bases)
            && CommaList::of(heir).is_none()
            && let Some(bases) = CommaList::of(target)
        {
            carry(header_end(heir), Span::new(bases.start - 1, bases.end + 1), "", "");
        }
        if is_unsaid(Field::Returns)
            && let (Some(returns), Some(parameters)) =
                (target.child(Field::Returns), heir.child(Field::Params))
        {
            carry(parameters.span().end, returns.span_with_parentheses(), " -> ", "");
        }
        carried
    }

    /// The first part of a match that neither the pattern mentions nor the replacement holds.
    pub(super) fn lost<'a>(
        &self,
        first: Node<'a>,
        last: Node<'a>,
        captures: &Captures,
        used: &[Span],
    ) -> Option<Node<'a>> {
        let parsed = first.parsed();
        let captured: Vec<Span> = captures.iter().filter_map(|(_, capture)| capture.span(parsed)).collect();
        let is_safe = |span: Span| captured.iter().chain(used).any(|safe| safe.covers(span));
        let decorators = first.list(Field::Decorators).count();
        let mut safe_until = 0;
        let siblings = first.parent().into_iter().flat_map(|parent| parent.list(first.field()));
        let matched = siblings.filter(|node| first.id() <= node.id() && node.id() <= last.id());
        for node in matched.flat_map(Node::subtree) {
            if node.id().index() < safe_until {
                continue;
            }
            if is_safe(node.span()) {
                safe_until = node.subtree_end();
                continue;
            }
            let Some(parent) = node.parent().filter(|_| node != first) else { continue };
            let pair = (parent.kind(), node.field());
            let is_extra_decorator = node.kind() == Kind::Decorator && decorators > self.decorators;
            if (is_optional(pair) && !self.fields.contains(&pair)) || is_extra_decorator {
                return Some(node);
            }
        }
        None
    }
}

/// Parts that a code pattern without them does not forbid.
fn is_optional(pair: (Kind, Field)) -> bool {
    matches!(
        pair,
        (Kind::FunctionDef, Field::Returns | Field::TypeParams | Field::Decorators)
            | (Kind::ClassDef, Field::TypeParams | Field::Bases | Field::Decorators)
            | (Kind::TypeAlias, Field::TypeParams)
            | (Kind::Parameter, Field::Annotation | Field::Default)
            | (Kind::TypeVar, Field::Bound | Field::Default)
            | (Kind::TypeVarTuple | Kind::ParamSpec, Field::Default)
            | (Kind::ExceptHandler, Field::Name)
            | (Kind::WithItem, Field::OptionalVars)
            | (Kind::Alias, Field::Asname)
            | (Kind::Interpolation, Field::FormatSpec)
    )
}

/// Where `def`, `class`, `async`, `for` or `with` stands, behind the decorators.
fn keyword_start(statement: Node<'_>) -> u32 {
    let parsed = statement.parsed();
    let last = statement.list(Field::Decorators).last();
    let keyword = last.and_then(|last| {
        let newline = parsed.token_after(last.span().end)?;
        parsed.token_after(newline.range_span().end)
    });
    keyword.map_or(statement.span().start, |token| token.range_span().start)
}
