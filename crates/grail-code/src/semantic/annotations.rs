//! Annotations as strings: `def f(x: "Order")` refers to `Order` as much as without the quotes.
//!
//! Only literals without escapes are looked into, so that a name in the string has a span in the file.

use std::borrow::Cow;

use ruff_python_ast as ast;
use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_parser::{parse_expression_range, parse_parenthesized_expression_range};
use ruff_text_size::{Ranged, TextRange};

use super::bind::{Binder, spelled};
use super::{Reference, ReferenceKind, Role, ScopeId, StringChain};
use crate::tree::string_literal;
use crate::{Context, Field, Kind, Node, Span};

/// Longer strings are prose.
const MAX_ANNOTATION: usize = 1000;

/// Records the names within a string that stands where a type is expected.
pub(super) fn bind_string<'a>(binder: &mut Binder<'a>, node: Node<'a>, scope: ScopeId) {
    let Some(literal) = string_literal(node) else { return };
    let is_plain = matches!(literal.prefix, "" | "r" | "R" | "u" | "U") && !literal.content.contains('\\');
    if !is_plain || literal.content.len() > MAX_ANNOTATION {
        return;
    }
    let text = binder.parsed.text();
    let parsed = if literal.is_triple_quoted() {
        parse_parenthesized_expression_range(text, literal.span.into())
    } else {
        parse_expression_range(text, literal.span.into())
    };
    let Ok(parsed) = parsed else { return };
    let mut collector = Collector { chains: Vec::new() };
    collector.visit_expr(parsed.expr());
    for chain in collector.chains {
        let root = binder.add_reference(Reference {
            name: spelled(&text[chain.root]),
            scope,
            symbol: None,
            node: None,
            span: chain.root.into(),
            context: Context::Load,
            kind: ReferenceKind::StringAnnotation,
        });
        if !chain.attributes.is_empty() {
            let attributes = chain.attributes.into_iter().map(Span::from).collect();
            binder.string_chains.push(StringChain { root, attributes });
        }
    }
}

/// A name and the attributes read from it.
struct Chain {
    root: TextRange,
    attributes: Vec<TextRange>,
}

struct Collector {
    chains: Vec<Chain>,
}

impl<'a> Visitor<'a> for Collector {
    fn visit_expr(&mut self, expression: &'a ast::Expr) {
        let mut attributes = Vec::new();
        let mut current = expression;
        while let ast::Expr::Attribute(attribute) = current {
            attributes.push(attribute.attr.range());
            current = &attribute.value;
        }
        match current {
            ast::Expr::Name(name) => {
                attributes.reverse();
                self.chains.push(Chain { root: name.range(), attributes });
            }
            // `Literal["a"]` holds values, and a string within a string is beyond reach.
            ast::Expr::Subscript(subscript) if is_literal(&subscript.value) => {
                self.visit_expr(&subscript.value)
            }
            _ => walk_expr(self, current),
        }
    }
}

fn is_literal(expression: &ast::Expr) -> bool {
    match expression {
        ast::Expr::Name(name) => name.id.as_str() == "Literal",
        ast::Expr::Attribute(attribute) => attribute.attr.as_str() == "Literal",
        _ => false,
    }
}

/// Strings that are types outside annotations: `cast("Order", x)`, `TypeVar("T", bound="Order")`, `List["Order"]` as an alias.
pub(super) fn bind_typing_strings(binder: &mut Binder<'_>) {
    let imports_typing = binder
        .bindings
        .iter()
        .any(|pending| pending.binding.imported.as_deref().is_some_and(|name| name.starts_with("typing")));
    if !imports_typing {
        return;
    }
    let parsed = binder.parsed;
    for node in parsed.nodes_of(Kind::String) {
        if binder.roles[node.id().index()] != Role::None {
            continue;
        }
        if let Some(scope) = typing_scope(binder, node) {
            bind_string(binder, node, scope);
        }
    }
}

/// The scope to look a string's names up in, if the string stands where `typing` expects a type.
fn typing_scope(binder: &Binder<'_>, node: Node<'_>) -> Option<ScopeId> {
    let mut child = node;
    let mut parent = node.parent()?;
    while matches!(parent.kind(), Kind::Tuple | Kind::List) || is_union(parent) {
        (child, parent) = (parent, parent.parent()?);
    }
    let anchor = match (parent.kind(), child.field()) {
        (Kind::Call, Field::Args) if parent.list(Field::Args).next() == Some(child) => {
            is_typing(binder, parent.child(Field::Func)?, &["cast"])?
        }
        (Kind::Keyword, Field::Value) => {
            let call = parent.parent()?;
            let is_bound = parent.child(Field::Keyword)?.text() == "bound";
            if !is_bound || call.kind() != Kind::Call {
                return None;
            }
            is_typing(binder, call.child(Field::Func)?, &["TypeVar"])?
        }
        (Kind::Subscript, Field::Slice) => is_typing(
            binder,
            parent.child(Field::Value)?,
            &[
                "List",
                "Dict",
                "Set",
                "FrozenSet",
                "Tuple",
                "Type",
                "Optional",
                "Union",
                "Callable",
                "Iterable",
                "Iterator",
                "Sequence",
                "Mapping",
                "ClassVar",
                "Final",
            ],
        )?,
        _ => return None,
    };
    // Inside a proper annotation the walk has been here already.
    if binder.references.iter().any(|reference| {
        reference.kind == ReferenceKind::StringAnnotation && node.span().covers(reference.span)
    }) {
        return None;
    }
    Some(anchor)
}

fn is_union(node: Node<'_>) -> bool {
    node.kind() == Kind::BinOp && node.child(Field::Op).is_some_and(|op| op.text() == "|")
}

/// The scope of the name if it was imported from `typing` under one of these names.
fn is_typing(binder: &Binder<'_>, function: Node<'_>, names: &[&str]) -> Option<ScopeId> {
    let (root, attribute) = match function.kind() {
        Kind::Name => (function, None),
        Kind::Attribute => (function.child(Field::Value)?, Some(function.child(Field::Attr)?.text())),
        _ => return None,
    };
    let Role::Reference(reference) = binder.roles[root.id().index()] else { return None };
    let scope = binder.references[reference.index()].scope;
    let imported: Option<Cow<'_, str>> = binder
        .bindings
        .iter()
        .filter(|pending| pending.name == root.text())
        .find_map(|pending| pending.binding.imported.as_deref().map(Cow::Borrowed));
    let imported = imported?;
    let full = match attribute {
        Some(attribute) => format!("{imported}.{attribute}"),
        None => imported.into_owned(),
    };
    let name = full.strip_prefix("typing.").or_else(|| full.strip_prefix("typing_extensions."))?;
    names.contains(&name).then_some(scope)
}
