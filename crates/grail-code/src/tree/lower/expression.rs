//! Expressions: chains that lean left by a loop, all others by recursion that the parser bounds.

use ruff_python_ast as ast;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange};

use super::super::{Field, Kind, TokenSpan, facts};
use super::Lowering;
use crate::Span;

impl<'a> Lowering<'a> {
    pub(super) fn arguments(&mut self, arguments: &'a ast::Arguments, field: Field) {
        for argument in arguments.iter_source_order() {
            match argument {
                ast::ArgOrKeyword::Arg(argument) => self.expr(argument, field),
                ast::ArgOrKeyword::Keyword(keyword) => {
                    let index = self.open(Kind::Keyword, field, keyword.range, 0);
                    if let Some(arg) = &keyword.arg {
                        self.identifier(arg, Field::Keyword);
                    }
                    self.expr(&keyword.value, Field::Value);
                    self.close(index);
                }
            }
        }
    }

    /// The operator token between two operands: what is left after white space, comments, line joins and parentheses.
    pub(super) fn operator(&mut self, after: u32, before: u32) {
        let span = self.operator_span(after, before);
        self.leaf(Kind::Operator, Field::Op, span, 0);
    }

    pub(super) fn operator_span(&self, after: u32, before: u32) -> Span {
        let first = self.tokens.partition_point(|token| token.range_span().start < after);
        let mut operator: Option<Span> = None;
        for token in &self.tokens[first..] {
            let span = token.range_span();
            if span.start >= before {
                break;
            }
            let is_punctuation = matches!(token.kind(), TokenKind::Lpar | TokenKind::Rpar);
            if token.kind().is_trivia() || is_punctuation {
                if operator.is_some() && token.kind() == TokenKind::Lpar {
                    break;
                }
                continue;
            }
            // `not in` and `is not` are two tokens.
            operator = Some(operator.map_or(span, |start| Span::new(start.start, span.end)));
        }
        operator.unwrap_or(Span::at(after.min(self.text.len() as u32)))
    }

    pub(super) fn expr(&mut self, expression: &'a ast::Expr, field: Field) {
        use ast::Expr;
        let base = self.spine.len();
        let mut current = expression;
        let mut field = field;
        loop {
            let (kind, facts, leftmost, left_field) = match current {
                Expr::BinOp(node) => (Kind::BinOp, 0, &*node.left, Field::Left),
                Expr::Attribute(node) => (Kind::Attribute, context(node.ctx), &*node.value, Field::Value),
                Expr::Subscript(node) => (Kind::Subscript, context(node.ctx), &*node.value, Field::Value),
                Expr::Call(node) => (Kind::Call, 0, &*node.func, Field::Func),
                _ => break,
            };
            let index = self.open(kind, field, current.range(), facts);
            self.spine.push((index, current));
            (current, field) = (leftmost, left_field);
        }
        self.longest_spine = self.longest_spine.max(self.spine.len());
        self.other_expr(current, field);
        while self.spine.len() > base {
            let Some((index, node)) = self.spine.pop() else { break };
            match node {
                Expr::BinOp(node) => {
                    self.operator(node.left.range().end().to_u32(), node.right.range().start().to_u32());
                    self.expr(&node.right, Field::Right);
                }
                Expr::Attribute(node) => self.identifier(&node.attr, Field::Attr),
                Expr::Subscript(node) => self.expr(&node.slice, Field::Slice),
                Expr::Call(node) => self.arguments(&node.arguments, Field::Args),
                _ => {}
            }
            self.close(index);
        }
    }

    /// Expressions that do not lean left.
    pub(super) fn other_expr(&mut self, expression: &'a ast::Expr, field: Field) {
        use ast::Expr;
        let span = expression.range();
        match expression {
            Expr::BinOp(_) | Expr::Attribute(_) | Expr::Subscript(_) | Expr::Call(_) => {}
            Expr::BoolOp(node) => {
                let index = self.open(Kind::BoolOp, field, span, u16::from(node.op == ast::BoolOp::Or));
                self.exprs(&node.values, Field::Values);
                self.close(index);
            }
            Expr::Named(node) => {
                let index = self.open(Kind::NamedExpr, field, span, 0);
                self.expr(&node.target, Field::Target);
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Expr::UnaryOp(node) => {
                let index = self.open(Kind::UnaryOp, field, span, 0);
                self.operator(span.start().to_u32(), node.operand.range().start().to_u32());
                self.expr(&node.operand, Field::Operand);
                self.close(index);
            }
            Expr::Lambda(node) => {
                let index = self.open(Kind::Lambda, field, span, 0);
                if let Some(parameters) = node.parameters.as_deref() {
                    self.parameters(parameters, Field::Params);
                }
                self.expr(&node.body, Field::Body);
                self.close(index);
            }
            Expr::If(node) => {
                let index = self.open(Kind::IfExp, field, span, 0);
                self.expr(&node.body, Field::Body);
                self.expr(&node.test, Field::Test);
                self.expr(&node.orelse, Field::Orelse);
                self.close(index);
            }
            Expr::Dict(node) => {
                let index = self.open(Kind::Dict, field, span, 0);
                for item in &node.items {
                    let start = match &item.key {
                        Some(key) => self.start_with_parentheses(key, span.start().to_u32()),
                        None => self
                            .double_star_before(item.value.range().start().to_u32(), span.start().to_u32()),
                    };
                    let end = self.end_with_parentheses(&item.value, span.end().to_u32());
                    let inner = self.open(Kind::DictItem, Field::Items, Span::new(start, end), 0);
                    self.optional(item.key.as_ref(), Field::Key);
                    self.expr(&item.value, Field::Value);
                    self.close(inner);
                }
                self.close(index);
            }
            Expr::Set(node) => {
                let index = self.open(Kind::Set, field, span, 0);
                self.exprs(&node.elts, Field::Elts);
                self.close(index);
            }
            Expr::ListComp(node) => {
                let index = self.open(Kind::ListComp, field, span, 0);
                self.expr(&node.elt, Field::Elt);
                self.generators(&node.generators);
                self.close(index);
            }
            Expr::SetComp(node) => {
                let index = self.open(Kind::SetComp, field, span, 0);
                self.expr(&node.elt, Field::Elt);
                self.generators(&node.generators);
                self.close(index);
            }
            Expr::DictComp(node) => {
                let index = self.open(Kind::DictComp, field, span, 0);
                self.optional(node.key.as_deref(), Field::Key);
                self.expr(&node.value, Field::Value);
                self.generators(&node.generators);
                self.close(index);
            }
            Expr::Generator(node) => {
                let facts = if node.parenthesized { facts::PARENTHESIZED } else { 0 };
                let index = self.open(Kind::GeneratorExp, field, span, facts);
                self.expr(&node.elt, Field::Elt);
                self.generators(&node.generators);
                self.close(index);
            }
            Expr::Await(node) => {
                let index = self.open(Kind::Await, field, span, 0);
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Expr::Yield(node) => {
                let index = self.open(Kind::Yield, field, span, 0);
                self.optional(node.value.as_deref(), Field::Value);
                self.close(index);
            }
            Expr::YieldFrom(node) => {
                let index = self.open(Kind::YieldFrom, field, span, 0);
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Expr::Compare(node) => self.compare(node, field),
            Expr::FString(node) => {
                let parts = node.value.as_slice();
                let index = self.open_concatenation(parts.len(), field, span);
                let field = if index.is_some() { Field::Parts } else { field };
                for part in parts {
                    match part {
                        ast::FStringPart::Literal(literal) => {
                            self.leaf(Kind::String, field, literal.range, 0)
                        }
                        ast::FStringPart::FString(string) => {
                            self.interpolated(Kind::FString, field, string.range, &string.elements);
                        }
                    }
                }
                if let Some(index) = index {
                    self.close(index);
                }
            }
            Expr::TString(node) => {
                let parts = node.value.as_slice();
                let index = self.open_concatenation(parts.len(), field, span);
                let field = if index.is_some() { Field::Parts } else { field };
                for part in parts {
                    self.interpolated(Kind::TString, field, part.range, &part.elements);
                }
                if let Some(index) = index {
                    self.close(index);
                }
            }
            Expr::StringLiteral(node) => {
                let parts = node.value.as_slice();
                self.literal_parts(Kind::String, field, span, parts.iter().map(|part| part.range));
            }
            Expr::BytesLiteral(node) => {
                let parts = node.value.as_slice();
                self.literal_parts(Kind::Bytes, field, span, parts.iter().map(|part| part.range));
            }
            Expr::NumberLiteral(node) => {
                let kind = match node.value {
                    ast::Number::Int(_) => Kind::Integer,
                    ast::Number::Float(_) => Kind::Float,
                    ast::Number::Complex { .. } => Kind::Imaginary,
                };
                self.leaf(kind, field, span, 0);
            }
            Expr::BooleanLiteral(_) => self.leaf(Kind::Boolean, field, span, 0),
            Expr::NoneLiteral(_) => self.leaf(Kind::NoneLiteral, field, span, 0),
            Expr::EllipsisLiteral(_) => self.leaf(Kind::Ellipsis, field, span, 0),
            Expr::Starred(node) => {
                let index = self.open(Kind::Starred, field, span, context(node.ctx));
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Expr::Name(node) => self.leaf(Kind::Name, field, span, context(node.ctx)),
            Expr::List(node) => {
                let index = self.open(Kind::List, field, span, context(node.ctx));
                self.exprs(&node.elts, Field::Elts);
                self.close(index);
            }
            Expr::Tuple(node) => {
                let facts = context(node.ctx) | if node.parenthesized { facts::PARENTHESIZED } else { 0 };
                let index = self.open(Kind::Tuple, field, span, facts);
                self.exprs(&node.elts, Field::Elts);
                self.close(index);
            }
            Expr::Slice(node) => {
                let index = self.open(Kind::Slice, field, span, 0);
                self.optional(node.lower.as_deref(), Field::Lower);
                self.optional(node.upper.as_deref(), Field::Upper);
                self.optional(node.step.as_deref(), Field::Step);
                self.close(index);
            }
            // Notebook syntax is never asked for, so the parser does not produce it.
            Expr::IpyEscapeCommand(_) => self.leaf(Kind::Ellipsis, field, span, 0),
        }
    }

    pub(super) fn compare(&mut self, node: &'a ast::ExprCompare, field: Field) {
        let index = self.open(Kind::Compare, field, node.range, 0);
        self.expr(&node.left, Field::Left);
        let mut after = node.left.range().end().to_u32();
        let end = node.range.end().to_u32();
        for comparator in &node.comparators {
            let operator = self.operator_span(after, comparator.range().start().to_u32());
            let span = Span::new(operator.start, self.end_with_parentheses(comparator, end));
            let inner = self.open(Kind::ComparisonTarget, Field::Comparisons, span, 0);
            self.leaf(Kind::Operator, Field::Op, operator, 0);
            self.expr(comparator, Field::Comparator);
            self.close(inner);
            after = comparator.range().end().to_u32();
        }
        self.close(index);
    }

    /// Where an expression ends with the closing parentheses behind it, up to `limit`.
    pub(super) fn end_with_parentheses(&self, expression: &ast::Expr, limit: u32) -> u32 {
        let mut end = expression.range().end().to_u32();
        let first = self.tokens.partition_point(|token| token.range_span().start < end);
        for token in &self.tokens[first..] {
            if token.kind() == TokenKind::Rpar && token.range_span().end <= limit {
                end = token.range_span().end;
            } else if !token.kind().is_trivia() {
                break;
            }
        }
        end
    }

    pub(super) fn start_with_parentheses(&self, expression: &ast::Expr, limit: u32) -> u32 {
        self.start_after(expression.range().start().to_u32(), limit, TokenKind::Lpar)
    }

    pub(super) fn double_star_before(&self, start: u32, limit: u32) -> u32 {
        let start = self.start_after(start, limit, TokenKind::Lpar);
        self.start_after(start, limit, TokenKind::DoubleStar)
    }

    /// Moves `start` left over tokens of one kind.
    pub(super) fn start_after(&self, mut start: u32, limit: u32, kind: TokenKind) -> u32 {
        let count = self.tokens.partition_point(|token| token.range_span().start < start);
        for token in self.tokens[..count].iter().rev() {
            if token.kind() == kind && token.range_span().start >= limit {
                start = token.range_span().start;
            } else if !token.kind().is_trivia() {
                break;
            }
        }
        start
    }

    pub(super) fn generators(&mut self, generators: &'a [ast::Comprehension]) {
        for generator in generators {
            let index = self.open(
                Kind::Comprehension,
                Field::Generators,
                generator.range,
                u16::from(generator.is_async),
            );
            self.expr(&generator.target, Field::Target);
            self.expr(&generator.iter, Field::Iter);
            self.exprs(&generator.ifs, Field::Ifs);
            self.close(index);
        }
    }

    pub(super) fn open_concatenation(&mut self, parts: usize, field: Field, span: TextRange) -> Option<u32> {
        (parts > 1).then(|| self.open(Kind::ConcatenatedString, field, span, 0))
    }

    pub(super) fn literal_parts(
        &mut self,
        kind: Kind,
        field: Field,
        span: TextRange,
        parts: impl ExactSizeIterator<Item = TextRange>,
    ) {
        match self.open_concatenation(parts.len(), field, span) {
            None => self.leaf(kind, field, span, 0),
            Some(index) => {
                for part in parts {
                    self.leaf(kind, Field::Parts, part, 0);
                }
                self.close(index);
            }
        }
    }

    pub(super) fn interpolated(
        &mut self,
        kind: Kind,
        field: Field,
        span: TextRange,
        elements: &'a ast::InterpolatedStringElements,
    ) {
        let index = self.open(kind, field, span, 0);
        self.interpolated_elements(elements);
        self.close(index);
    }

    pub(super) fn interpolated_elements(&mut self, elements: &'a ast::InterpolatedStringElements) {
        for element in elements {
            match element {
                ast::InterpolatedStringElement::Literal(literal) => {
                    self.leaf(Kind::InterpolationText, Field::Parts, literal.range, 0);
                }
                ast::InterpolatedStringElement::Interpolation(element) => {
                    let conversion = match element.conversion {
                        ast::ConversionFlag::None => 0,
                        ast::ConversionFlag::Str => u16::from(b's'),
                        ast::ConversionFlag::Ascii => u16::from(b'a'),
                        ast::ConversionFlag::Repr => u16::from(b'r'),
                    };
                    let debug = if element.debug_text.is_some() { facts::DEBUG } else { 0 };
                    let index =
                        self.open(Kind::Interpolation, Field::Parts, element.range, conversion | debug);
                    self.expr(&element.expression, Field::Value);
                    if let Some(spec) = element.format_spec.as_deref() {
                        let inner = self.open(Kind::FormatSpec, Field::FormatSpec, spec.range, 0);
                        self.interpolated_elements(&spec.elements);
                        self.close(inner);
                    }
                    self.close(index);
                }
            }
        }
    }
}

fn context(context: ast::ExprContext) -> u16 {
    match context {
        ast::ExprContext::Store => 1,
        ast::ExprContext::Del => 2,
        ast::ExprContext::Load | ast::ExprContext::Invalid => 0,
    }
}
