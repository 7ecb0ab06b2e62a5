//! The syntax tree: a flat, pre-order array of small nodes over the source text.
//!
//! A node's descendants are the nodes right behind it, so walking is a loop, dropping is one deallocation, and a parent is an index
//! away: no depth of hostile input can overflow a stack here. Text is never stored; a node is a kind, a field and a span.

mod kind;
mod lower;
mod parse;
mod string;

use std::fmt;

use ruff_python_ast::token::{Token, TokenKind};
use serde::{Deserialize, Serialize};

pub use kind::{Arity, Field, FieldSpec, Kind};
pub use parse::{parse_expression, parse_module, parse_statement};
pub use string::{StringLiteral, string_literal};

use crate::{Diagnostic, Source, Span};

/// A parsed piece of Python: source, tree, and what the parser complained about. There is always a tree, however broken the source.
pub struct Parsed {
    source: Source,
    nodes: Vec<NodeData>,
    tokens: Vec<Token>,
    diagnostics: Vec<Diagnostic>,
}

/// Identifies a node within its [`Parsed`]: its pre-order index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

/// A node of a tree.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    parsed: &'a Parsed,
    id: NodeId,
}

/// Whether an expression is read, assigned or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    Load,
    Store,
    Delete,
}

/// How arguments bind to a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    PositionalOnly,
    Positional,
    Star,
    KeywordOnly,
    DoubleStar,
}

/// The value of a node's attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    Flag(bool),
    Number(u32),
    Word(&'static str),
    Absent,
}

#[derive(Clone, Copy, Debug)]
struct NodeData {
    kind: Kind,
    field: Field,
    /// Attributes, encoded by kind; read through [`Node::attribute`] and its friends.
    facts: u16,
    span: Span,
    parent: u32,
    /// One past the last descendant.
    end: u32,
}

/// Bits of [`NodeData::facts`].
mod facts {
    pub(super) const ASYNC: u16 = 1;
    pub(super) const STAR: u16 = 1;
    pub(super) const OR: u16 = 1;
    pub(super) const DEBUG: u16 = 1 << 8;
    pub(super) const PARENTHESIZED: u16 = 1 << 8;
    pub(super) const LAZY: u16 = 1 << 15;
    pub(super) const LOW: u16 = 0xff;
    pub(super) const LEVEL: u16 = 0x7fff;
}

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Parsed {
    pub fn source(&self) -> &Source {
        &self.source
    }

    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// Syntax errors, in source order. Empty for valid Python.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub fn is_valid(&self) -> bool {
        self.diagnostics.is_empty()
    }

    pub fn root(&self) -> Node<'_> {
        self.node(NodeId(0))
    }

    pub fn node(&self, id: NodeId) -> Node<'_> {
        Node { parsed: self, id }
    }

    /// Every node, parents before children, in source order.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = Node<'_>> + ExactSizeIterator {
        (0..self.nodes.len() as u32).map(|index| self.node(NodeId(index)))
    }

    pub fn nodes_of(&self, kind: Kind) -> impl DoubleEndedIterator<Item = Node<'_>> {
        self.nodes().filter(move |node| node.kind() == kind)
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The smallest node whose span holds `offset` (or ends there, as a cursor behind a name does).
    pub fn node_at(&self, offset: u32) -> Option<Node<'_>> {
        let holds = |span: Span| span.start <= offset && offset <= span.end;
        let mut best = None;
        let mut index = 0;
        while let Some(data) = self.nodes.get(index) {
            if holds(data.span) {
                // A node that starts here beats one that ends here.
                let is_better = best.is_none_or(|previous: NodeId| {
                    let previous = self.nodes[previous.index()].span;
                    previous.covers(data.span) || (previous.end == offset && data.span.start == offset)
                });
                if is_better {
                    best = Some(NodeId(index as u32));
                }
                index += 1;
            } else if data.span.start > offset {
                break;
            } else {
                index = data.end as usize;
            }
        }
        best.map(|id| self.node(id))
    }

    /// The comments, in source order.
    pub fn comments(&self) -> impl Iterator<Item = Span> + '_ {
        self.tokens.iter().filter(|token| token.kind() == TokenKind::Comment).map(|token| token.range_span())
    }

    /// All tokens, trivia included.
    pub(crate) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The tokens that start within `span`.
    pub(crate) fn tokens_in(&self, span: Span) -> &[Token] {
        let first = self.tokens.partition_point(|token| token.range_span().start < span.start);
        let count = self.tokens[first..].partition_point(|token| token.range_span().start < span.end);
        &self.tokens[first..first + count]
    }

    /// The first token at or behind `offset` that is not a comment or a line break within brackets.
    pub(crate) fn token_after(&self, offset: u32) -> Option<&Token> {
        let first = self.tokens.partition_point(|token| token.range_span().start < offset);
        self.tokens[first..].iter().find(|token| !token.kind().is_trivia())
    }

    /// The last token that ends at or before `offset` and is not a comment or a line break within brackets.
    pub(crate) fn token_before(&self, offset: u32) -> Option<&Token> {
        let count = self.tokens.partition_point(|token| token.range_span().end <= offset);
        self.tokens[..count].iter().rev().find(|token| !token.kind().is_trivia())
    }
}

/// The span of a token in our own currency.
pub(crate) trait TokenSpan {
    fn range_span(&self) -> Span;
}

impl TokenSpan for Token {
    fn range_span(&self) -> Span {
        ruff_text_size::Ranged::range(self).into()
    }
}

impl<'a> Node<'a> {
    fn data(self) -> &'a NodeData {
        &self.parsed.nodes[self.id.index()]
    }

    pub fn id(self) -> NodeId {
        self.id
    }

    pub fn parsed(self) -> &'a Parsed {
        self.parsed
    }

    pub fn kind(self) -> Kind {
        self.data().kind
    }

    /// Where in its parent this node stands.
    pub fn field(self) -> Field {
        self.data().field
    }

    /// The node's bytes, without parentheses around it.
    pub fn span(self) -> Span {
        self.data().span
    }

    pub fn text(self) -> &'a str {
        self.span().of(self.parsed.text())
    }

    pub fn parent(self) -> Option<Node<'a>> {
        (self.id.0 > 0).then(|| self.parsed.node(NodeId(self.data().parent)))
    }

    /// Parents from the nearest outwards.
    pub fn ancestors(self) -> impl Iterator<Item = Node<'a>> {
        std::iter::successors(self.parent(), |node| node.parent())
    }

    /// Direct children, in source order.
    pub fn children(self) -> impl Iterator<Item = Node<'a>> {
        let (parsed, end) = (self.parsed, self.data().end);
        let mut next = self.id.0 + 1;
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let node = parsed.node(NodeId(next));
                next = node.data().end;
                node
            })
        })
    }

    /// Everything below this node, in source order.
    pub fn descendants(self) -> impl DoubleEndedIterator<Item = Node<'a>> {
        let parsed = self.parsed;
        (self.id.0 + 1..self.data().end).map(move |index| parsed.node(NodeId(index)))
    }

    /// This node, then everything below it.
    pub fn subtree(self) -> impl DoubleEndedIterator<Item = Node<'a>> {
        let parsed = self.parsed;
        (self.id.0..self.data().end).map(move |index| parsed.node(NodeId(index)))
    }

    /// One past the index of the last node below this one.
    pub(crate) fn subtree_end(self) -> usize {
        self.data().end as usize
    }

    pub fn is_ancestor_of(self, other: Node<'_>) -> bool {
        self.id.0 < other.id.0 && other.id.0 < self.data().end
    }

    /// The node in a field that holds at most one.
    pub fn child(self, field: Field) -> Option<Node<'a>> {
        self.children().find(|child| child.field() == field)
    }

    /// The nodes in a field that holds many.
    pub fn list(self, field: Field) -> impl Iterator<Item = Node<'a>> {
        self.children().filter(move |child| child.field() == field)
    }

    /// The statement this node belongs to; for a statement, itself.
    pub fn statement(self) -> Option<Node<'a>> {
        std::iter::once(self).chain(self.ancestors()).find(|node| node.kind().is_statement())
    }

    pub fn context(self) -> Option<Context> {
        if !self.kind().attributes().contains(&"ctx") {
            return None;
        }
        Some(match self.data().facts & facts::LOW {
            1 => Context::Store,
            2 => Context::Delete,
            _ => Context::Load,
        })
    }

    pub fn parameter_kind(self) -> Option<ParameterKind> {
        (self.kind() == Kind::Parameter).then(|| match self.data().facts {
            0 => ParameterKind::PositionalOnly,
            1 => ParameterKind::Positional,
            2 => ParameterKind::Star,
            3 => ParameterKind::KeywordOnly,
            _ => ParameterKind::DoubleStar,
        })
    }

    /// How many dots a relative import starts with.
    pub fn import_level(self) -> u32 {
        if self.kind() == Kind::ImportFrom { u32::from(self.data().facts & facts::LEVEL) } else { 0 }
    }

    pub fn is_async(self) -> bool {
        self.attribute("is_async") == Some(Attribute::Flag(true))
    }

    pub fn is_parenthesized_tuple(self) -> bool {
        self.kind() == Kind::Tuple && self.data().facts & facts::PARENTHESIZED != 0
    }

    /// The attribute of that name, if the kind has it.
    pub fn attribute(self, name: &str) -> Option<Attribute> {
        let name = *self.kind().attributes().iter().find(|attribute| **attribute == name)?;
        let bits = self.data().facts;
        Some(match name {
            "is_async" => Attribute::Flag(bits & facts::ASYNC != 0),
            "is_star" => Attribute::Flag(bits & facts::STAR != 0),
            "is_lazy" => Attribute::Flag(bits & facts::LAZY != 0),
            "debug" => Attribute::Flag(bits & facts::DEBUG != 0),
            "parenthesized" => Attribute::Flag(bits & facts::PARENTHESIZED != 0),
            "level" => Attribute::Number(self.import_level()),
            "op" => Attribute::Word(if bits & facts::OR != 0 { "or" } else { "and" }),
            "conversion" => match (bits & facts::LOW) as u8 {
                b's' => Attribute::Word("s"),
                b'r' => Attribute::Word("r"),
                b'a' => Attribute::Word("a"),
                _ => Attribute::Absent,
            },
            "ctx" => Attribute::Word(match self.context() {
                Some(Context::Store) => "store",
                Some(Context::Delete) => "del",
                _ => "load",
            }),
            "kind" => Attribute::Word(match self.parameter_kind() {
                Some(ParameterKind::PositionalOnly) => "positional_only",
                Some(ParameterKind::Star) => "star",
                Some(ParameterKind::KeywordOnly) => "keyword_only",
                Some(ParameterKind::DoubleStar) => "double_star",
                _ => "positional",
            }),
            _ => return None,
        })
    }

    /// The node's bytes with all the parentheses that belong to it alone. A call's own parentheses do not.
    pub fn span_with_parentheses(self) -> Span {
        let mut span = self.span();
        if !self.kind().is_expression() {
            return span;
        }
        let parent_start = self.parent().map_or(0, |parent| parent.span().start);
        loop {
            let before = self.parsed.token_before(span.start);
            let after = self.parsed.token_after(span.end);
            match (before, after) {
                (Some(open), Some(close))
                    if open.kind() == TokenKind::Lpar
                        && close.kind() == TokenKind::Rpar
                        && open.range_span().start >= parent_start
                        && !self.is_bracketed_by_parent(open.range_span()) =>
                {
                    span = Span::new(open.range_span().start, close.range_span().end);
                }
                _ => return span,
            }
        }
    }

    /// Whether `open` is a parenthesis of the parent's own syntax rather than one around this node.
    fn is_bracketed_by_parent(self, open: Span) -> bool {
        let Some(parent) = self.parent() else { return false };
        match parent.kind() {
            Kind::Call if self.field() == Field::Args => parent.child(Field::Func).is_some_and(|func| {
                self.parsed
                    .token_after(func.span_with_parentheses().end)
                    .is_some_and(|token| token.range_span() == open)
            }),
            Kind::ClassDef if self.field() == Field::Bases => {
                let header = parent.child(Field::TypeParams).or_else(|| parent.child(Field::Name));
                header.is_some_and(|header| {
                    self.parsed.token_after(header.span().end).is_some_and(|token| token.range_span() == open)
                })
            }
            Kind::Tuple => parent.is_parenthesized_tuple() && open.start == parent.span().start,
            Kind::GeneratorExp => {
                open.start == parent.span().start
                    && self.field() == Field::Elt
                    && parent.data().facts & facts::PARENTHESIZED != 0
            }
            Kind::MatchClass | Kind::WithItem => false,
            _ => false,
        }
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.parsed, other.parsed) && self.id == other.id
    }
}

impl Eq for Node<'_> {}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:?}", self.kind().name(), self.text())
    }
}
