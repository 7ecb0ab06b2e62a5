//! From the parser's tree of boxes to our flat one.
//!
//! The parser bounds its own recursion, so only chains that lean left (`a + a + …`, `a.b.b…`, `f()()…`) can be deep; those are
//! lowered by a loop. Everything else may recurse.

mod expression;
mod pattern;
mod statement;

use ruff_python_ast as ast;
use ruff_python_ast::token::{Token, TokenKind};

use super::{Field, Kind, NodeData, TokenSpan};
use crate::Span;

struct Lowering<'a> {
    text: &'a str,
    tokens: &'a [Token],
    nodes: Vec<NodeData>,
    parent: u32,
    /// Left-leaning expressions that are open; shared by nested calls, each of which uses the part above its own base.
    spine: Vec<(u32, &'a ast::Expr)>,
    longest_spine: usize,
}

pub(super) struct Lowered {
    pub(super) nodes: Vec<NodeData>,
    /// How deep the parser's tree leans left: dropping it recursively is safe only for small values.
    pub(super) longest_spine: usize,
}

pub(super) fn lower<'a>(syntax: &'a ast::Mod, text: &'a str, tokens: &'a [Token]) -> Lowered {
    let mut lowering = Lowering {
        text,
        tokens,
        // Measured on the standard library: a node every six to seven bytes.
        nodes: Vec::with_capacity(text.len() / 6 + 8),
        parent: 0,
        spine: Vec::new(),
        longest_spine: 0,
    };
    match syntax {
        ast::Mod::Module(module) => {
            let root = lowering.open(Kind::Module, Field::Root, Span::new(0, text.len() as u32), 0);
            lowering.suite(&module.body, Field::Body);
            lowering.close(root);
        }
        ast::Mod::Expression(expression) => lowering.expr(&expression.body, Field::Root),
    }
    Lowered { nodes: lowering.nodes, longest_spine: lowering.longest_spine }
}

impl<'a> Lowering<'a> {
    fn open(&mut self, kind: Kind, field: Field, span: impl Into<Span>, facts: u16) -> u32 {
        let index = self.nodes.len() as u32;
        self.nodes.push(NodeData {
            kind,
            field,
            facts,
            span: span.into(),
            parent: self.parent,
            end: index + 1,
        });
        self.parent = index;
        index
    }

    fn close(&mut self, index: u32) {
        let end = self.nodes.len() as u32;
        let data = &mut self.nodes[index as usize];
        data.end = end;
        self.parent = data.parent;
    }

    fn leaf(&mut self, kind: Kind, field: Field, span: impl Into<Span>, facts: u16) {
        let end = self.nodes.len() as u32 + 1;
        self.nodes.push(NodeData { kind, field, facts, span: span.into(), parent: self.parent, end });
    }

    fn identifier(&mut self, identifier: &ast::Identifier, field: Field) {
        self.leaf(Kind::Identifier, field, identifier.range, 0);
    }

    fn suite(&mut self, statements: &'a [ast::Stmt], field: Field) {
        for statement in statements {
            self.stmt(statement, field);
        }
    }

    fn exprs(&mut self, expressions: &'a [ast::Expr], field: Field) {
        for expression in expressions {
            self.expr(expression, field);
        }
    }

    fn optional(&mut self, expression: Option<&'a ast::Expr>, field: Field) {
        if let Some(expression) = expression {
            self.expr(expression, field);
        }
    }

    /// The first token of that kind in the span.
    fn token_in(&self, span: Span, kind: TokenKind) -> Option<Span> {
        let first = self.tokens.partition_point(|token| token.range_span().start < span.start);
        self.tokens[first..]
            .iter()
            .take_while(|token| token.range_span().start < span.end)
            .find(|token| token.kind() == kind)
            .map(|token| token.range_span())
    }
}
