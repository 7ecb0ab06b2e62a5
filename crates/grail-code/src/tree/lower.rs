//! From the parser's tree of boxes to our flat one.
//!
//! The parser bounds its own recursion, so only chains that lean left (`a + a + …`, `a.b.b…`, `f()()…`) can be deep; those are
//! lowered by a loop. Everything else may recurse.

use ruff_python_ast as ast;
use ruff_python_ast::token::{Token, TokenKind};
use ruff_text_size::{Ranged, TextRange};

use super::{Field, Kind, NodeData, TokenSpan, facts};
use crate::Span;

pub(super) struct Lowering<'a> {
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

    /// `else: …` or `finally: …` of a loop or `try`, for which the parser has no node.
    fn clause(&mut self, kind: Kind, keyword: TokenKind, field: Field, after: u32, body: &'a [ast::Stmt]) {
        let (Some(first), Some(last)) = (body.first(), body.last()) else { return };
        let body_start = first.range().start().to_u32();
        // Recovery can leave a body without its keyword; the clause then begins with its body.
        let start =
            self.token_in(Span::new(after, body_start), keyword).map_or(body_start, |token| token.start);
        let clause = self.open(kind, field, Span::new(start, last.range().end().to_u32()), 0);
        self.suite(body, Field::Body);
        self.close(clause);
    }

    fn stmt(&mut self, statement: &'a ast::Stmt, field: Field) {
        use ast::Stmt;
        let span = statement.range();
        let flag = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
        match statement {
            Stmt::FunctionDef(node) => {
                let index = self.open(Kind::FunctionDef, field, span, flag(node.is_async, facts::ASYNC));
                self.decorators(&node.decorator_list);
                self.identifier(&node.name, Field::Name);
                self.type_params(node.type_params.as_deref());
                self.parameters(&node.parameters, Field::Params);
                self.optional(node.returns.as_deref(), Field::Returns);
                self.suite(&node.body, Field::Body);
                self.close(index);
            }
            Stmt::ClassDef(node) => {
                let index = self.open(Kind::ClassDef, field, span, 0);
                self.decorators(&node.decorator_list);
                self.identifier(&node.name, Field::Name);
                self.type_params(node.type_params.as_deref());
                if let Some(arguments) = node.arguments.as_deref() {
                    self.arguments(arguments, Field::Bases);
                }
                self.suite(&node.body, Field::Body);
                self.close(index);
            }
            Stmt::Return(node) => {
                let index = self.open(Kind::Return, field, span, 0);
                self.optional(node.value.as_deref(), Field::Value);
                self.close(index);
            }
            Stmt::Delete(node) => {
                let index = self.open(Kind::Delete, field, span, 0);
                self.exprs(&node.targets, Field::Targets);
                self.close(index);
            }
            Stmt::TypeAlias(node) => {
                let index = self.open(Kind::TypeAlias, field, span, 0);
                self.expr(&node.name, Field::Name);
                self.type_params(node.type_params.as_deref());
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Stmt::Assign(node) => {
                let index = self.open(Kind::Assign, field, span, 0);
                self.exprs(&node.targets, Field::Targets);
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Stmt::AugAssign(node) => {
                let index = self.open(Kind::AugAssign, field, span, 0);
                self.expr(&node.target, Field::Target);
                self.operator(node.target.range().end().to_u32(), node.value.range().start().to_u32());
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Stmt::AnnAssign(node) => {
                let index = self.open(Kind::AnnAssign, field, span, 0);
                self.expr(&node.target, Field::Target);
                self.expr(&node.annotation, Field::Annotation);
                self.optional(node.value.as_deref(), Field::Value);
                self.close(index);
            }
            Stmt::For(node) => {
                let index = self.open(Kind::For, field, span, flag(node.is_async, facts::ASYNC));
                self.expr(&node.target, Field::Target);
                self.expr(&node.iter, Field::Iter);
                self.suite(&node.body, Field::Body);
                let after = end_of(&node.body, node.iter.range());
                self.clause(Kind::Else, TokenKind::Else, Field::Orelse, after, &node.orelse);
                self.close(index);
            }
            Stmt::While(node) => {
                let index = self.open(Kind::While, field, span, 0);
                self.expr(&node.test, Field::Test);
                self.suite(&node.body, Field::Body);
                let after = end_of(&node.body, node.test.range());
                self.clause(Kind::Else, TokenKind::Else, Field::Orelse, after, &node.orelse);
                self.close(index);
            }
            Stmt::If(node) => {
                let index = self.open(Kind::If, field, span, 0);
                self.expr(&node.test, Field::Test);
                self.suite(&node.body, Field::Body);
                for clause in &node.elif_else_clauses {
                    let (kind, field) = match clause.test {
                        Some(_) => (Kind::Elif, Field::Elifs),
                        None => (Kind::Else, Field::Orelse),
                    };
                    let inner = self.open(kind, field, clause.range, 0);
                    self.optional(clause.test.as_ref(), Field::Test);
                    self.suite(&clause.body, Field::Body);
                    self.close(inner);
                }
                self.close(index);
            }
            Stmt::With(node) => {
                let index = self.open(Kind::With, field, span, flag(node.is_async, facts::ASYNC));
                for item in &node.items {
                    let inner = self.open(Kind::WithItem, Field::Items, item.range, 0);
                    self.expr(&item.context_expr, Field::ContextExpr);
                    self.optional(item.optional_vars.as_deref(), Field::OptionalVars);
                    self.close(inner);
                }
                self.suite(&node.body, Field::Body);
                self.close(index);
            }
            Stmt::Match(node) => {
                let index = self.open(Kind::Match, field, span, 0);
                self.expr(&node.subject, Field::Subject);
                for case in &node.cases {
                    let inner = self.open(Kind::MatchCase, Field::Cases, case.range, 0);
                    self.pattern(&case.pattern, Field::Pattern);
                    self.optional(case.guard.as_deref(), Field::Guard);
                    self.suite(&case.body, Field::Body);
                    self.close(inner);
                }
                self.close(index);
            }
            Stmt::Raise(node) => {
                let index = self.open(Kind::Raise, field, span, 0);
                self.optional(node.exc.as_deref(), Field::Exc);
                self.optional(node.cause.as_deref(), Field::Cause);
                self.close(index);
            }
            Stmt::Try(node) => {
                let index = self.open(Kind::Try, field, span, flag(node.is_star, facts::STAR));
                self.suite(&node.body, Field::Body);
                let mut after = end_of(&node.body, TextRange::empty(span.start()));
                for ast::ExceptHandler::ExceptHandler(handler) in &node.handlers {
                    let inner = self.open(Kind::ExceptHandler, Field::Handlers, handler.range, 0);
                    self.optional(handler.type_.as_deref(), Field::Exc);
                    if let Some(name) = &handler.name {
                        self.identifier(name, Field::Name);
                    }
                    self.suite(&handler.body, Field::Body);
                    self.close(inner);
                    after = handler.range.end().to_u32();
                }
                self.clause(Kind::Else, TokenKind::Else, Field::Orelse, after, &node.orelse);
                let after = node.orelse.last().map_or(after, |last| last.range().end().to_u32());
                self.clause(Kind::Finally, TokenKind::Finally, Field::Finalbody, after, &node.finalbody);
                self.close(index);
            }
            Stmt::Assert(node) => {
                let index = self.open(Kind::Assert, field, span, 0);
                self.expr(&node.test, Field::Test);
                self.optional(node.msg.as_deref(), Field::Msg);
                self.close(index);
            }
            Stmt::Import(node) => {
                let index = self.open(Kind::Import, field, span, flag(node.is_lazy, facts::LAZY));
                self.aliases(&node.names);
                self.close(index);
            }
            Stmt::ImportFrom(node) => {
                let level = u16::try_from(node.level).unwrap_or(u16::MAX) & facts::LEVEL;
                let index = self.open(Kind::ImportFrom, field, span, level | flag(node.is_lazy, facts::LAZY));
                if let Some(module) = &node.module {
                    self.identifier(module, Field::Module);
                }
                self.aliases(&node.names);
                self.close(index);
            }
            Stmt::Global(node) => self.scope_declaration(Kind::Global, field, span, &node.names),
            Stmt::Nonlocal(node) => self.scope_declaration(Kind::Nonlocal, field, span, &node.names),
            Stmt::Expr(node) => {
                let index = self.open(Kind::Expr, field, span, 0);
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Stmt::Pass(_) => self.leaf(Kind::Pass, field, span, 0),
            Stmt::Break(_) => self.leaf(Kind::Break, field, span, 0),
            Stmt::Continue(_) => self.leaf(Kind::Continue, field, span, 0),
            // Notebook syntax is never asked for, so the parser does not produce it.
            Stmt::IpyEscapeCommand(_) => self.leaf(Kind::Pass, field, span, 0),
        }
    }

    fn scope_declaration(&mut self, kind: Kind, field: Field, span: TextRange, names: &[ast::Identifier]) {
        let index = self.open(kind, field, span, 0);
        for name in names {
            self.identifier(name, Field::Names);
        }
        self.close(index);
    }

    fn aliases(&mut self, aliases: &[ast::Alias]) {
        for alias in aliases {
            let index = self.open(Kind::Alias, Field::Names, alias.range, 0);
            self.identifier(&alias.name, Field::Name);
            if let Some(asname) = &alias.asname {
                self.identifier(asname, Field::Asname);
            }
            self.close(index);
        }
    }

    fn decorators(&mut self, decorators: &'a [ast::Decorator]) {
        for decorator in decorators {
            let index = self.open(Kind::Decorator, Field::Decorators, decorator.range, 0);
            self.expr(&decorator.expression, Field::Expression);
            self.close(index);
        }
    }

    fn type_params(&mut self, type_params: Option<&'a ast::TypeParams>) {
        let Some(type_params) = type_params else { return };
        let index = self.open(Kind::TypeParams, Field::TypeParams, type_params.range, 0);
        for param in &type_params.type_params {
            let (kind, name, bound, default) = match param {
                ast::TypeParam::TypeVar(param) => {
                    (Kind::TypeVar, &param.name, param.bound.as_deref(), &param.default)
                }
                ast::TypeParam::TypeVarTuple(param) => {
                    (Kind::TypeVarTuple, &param.name, None, &param.default)
                }
                ast::TypeParam::ParamSpec(param) => (Kind::ParamSpec, &param.name, None, &param.default),
            };
            let inner = self.open(kind, Field::Params, param.range(), 0);
            self.identifier(name, Field::Name);
            self.optional(bound, Field::Bound);
            self.optional(default.as_deref(), Field::Default);
            self.close(inner);
        }
        self.close(index);
    }

    fn parameters(&mut self, parameters: &'a ast::Parameters, field: Field) {
        let index = self.open(Kind::Parameters, field, parameters.range, 0);
        for (position, parameter) in parameters.posonlyargs.iter().enumerate() {
            self.parameter(&parameter.parameter, parameter.range, parameter.default.as_deref(), 0);
            if position + 1 == parameters.posonlyargs.len() {
                self.parameter_marker(
                    Kind::ParamSlash,
                    TokenKind::Slash,
                    parameter.range.end().to_u32(),
                    parameters,
                );
            }
        }
        for parameter in &parameters.args {
            self.parameter(&parameter.parameter, parameter.range, parameter.default.as_deref(), 1);
        }
        if let Some(vararg) = parameters.vararg.as_deref() {
            self.parameter(vararg, vararg.range, None, 2);
        } else if !parameters.kwonlyargs.is_empty() {
            let last = parameters.args.last().or(parameters.posonlyargs.last());
            let after = last.map_or(parameters.range.start(), |parameter| parameter.range.end()).to_u32();
            self.parameter_marker(Kind::ParamStar, TokenKind::Star, after, parameters);
        }
        for parameter in &parameters.kwonlyargs {
            self.parameter(&parameter.parameter, parameter.range, parameter.default.as_deref(), 3);
        }
        if let Some(kwarg) = parameters.kwarg.as_deref() {
            self.parameter(kwarg, kwarg.range, None, 4);
        }
        self.close(index);
    }

    fn parameter(
        &mut self,
        parameter: &'a ast::Parameter,
        range: TextRange,
        default: Option<&'a ast::Expr>,
        kind: u16,
    ) {
        let index = self.open(Kind::Parameter, Field::Params, range, kind);
        self.identifier(&parameter.name, Field::Name);
        self.optional(parameter.annotation.as_deref(), Field::Annotation);
        self.optional(default, Field::Default);
        self.close(index);
    }

    fn parameter_marker(&mut self, kind: Kind, token: TokenKind, after: u32, parameters: &ast::Parameters) {
        let rest = Span::new(after, parameters.range.end().to_u32());
        if let Some(span) = self.token_in(rest, token) {
            self.leaf(kind, Field::Params, span, 0);
        }
    }

    fn arguments(&mut self, arguments: &'a ast::Arguments, field: Field) {
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
    fn operator(&mut self, after: u32, before: u32) {
        let span = self.operator_span(after, before);
        self.leaf(Kind::Operator, Field::Op, span, 0);
    }

    fn operator_span(&self, after: u32, before: u32) -> Span {
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

    fn expr(&mut self, expression: &'a ast::Expr, field: Field) {
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
    fn other_expr(&mut self, expression: &'a ast::Expr, field: Field) {
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

    fn compare(&mut self, node: &'a ast::ExprCompare, field: Field) {
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
    fn end_with_parentheses(&self, expression: &ast::Expr, limit: u32) -> u32 {
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

    fn start_with_parentheses(&self, expression: &ast::Expr, limit: u32) -> u32 {
        self.start_after(expression.range().start().to_u32(), limit, TokenKind::Lpar)
    }

    fn double_star_before(&self, start: u32, limit: u32) -> u32 {
        let start = self.start_after(start, limit, TokenKind::Lpar);
        self.start_after(start, limit, TokenKind::DoubleStar)
    }

    /// Moves `start` left over tokens of one kind.
    fn start_after(&self, mut start: u32, limit: u32, kind: TokenKind) -> u32 {
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

    fn generators(&mut self, generators: &'a [ast::Comprehension]) {
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

    fn open_concatenation(&mut self, parts: usize, field: Field, span: TextRange) -> Option<u32> {
        (parts > 1).then(|| self.open(Kind::ConcatenatedString, field, span, 0))
    }

    fn literal_parts(
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

    fn interpolated(
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

    fn interpolated_elements(&mut self, elements: &'a ast::InterpolatedStringElements) {
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

    fn pattern(&mut self, pattern: &'a ast::Pattern, field: Field) {
        use ast::Pattern;
        let span = pattern.range();
        match pattern {
            Pattern::MatchValue(node) => {
                let index = self.open(Kind::MatchValue, field, span, 0);
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Pattern::MatchSingleton(_) => self.leaf(Kind::MatchSingleton, field, span, 0),
            Pattern::MatchSequence(node) => self.patterns(Kind::MatchSequence, field, span, &node.patterns),
            Pattern::MatchOr(node) => self.patterns(Kind::MatchOr, field, span, &node.patterns),
            Pattern::MatchMapping(node) => {
                let index = self.open(Kind::MatchMapping, field, span, 0);
                for (key, value) in node.keys.iter().zip(&node.patterns) {
                    let item = Span::new(key.range().start().to_u32(), value.range().end().to_u32());
                    let inner = self.open(Kind::MatchMappingItem, Field::Items, item, 0);
                    self.expr(key, Field::Key);
                    self.pattern(value, Field::Pattern);
                    self.close(inner);
                }
                if let Some(rest) = &node.rest {
                    self.identifier(rest, Field::Rest);
                }
                self.close(index);
            }
            Pattern::MatchClass(node) => {
                let index = self.open(Kind::MatchClass, field, span, 0);
                self.expr(&node.cls, Field::Cls);
                for pattern in &node.arguments.patterns {
                    self.pattern(pattern, Field::Patterns);
                }
                for keyword in &node.arguments.keywords {
                    let inner = self.open(Kind::MatchKeyword, Field::Patterns, keyword.range, 0);
                    self.identifier(&keyword.attr, Field::Attr);
                    self.pattern(&keyword.pattern, Field::Pattern);
                    self.close(inner);
                }
                self.close(index);
            }
            Pattern::MatchStar(node) => {
                let index = self.open(Kind::MatchStar, field, span, 0);
                if let Some(name) = &node.name {
                    self.identifier(name, Field::Name);
                }
                self.close(index);
            }
            Pattern::MatchAs(node) => {
                let index = self.open(Kind::MatchAs, field, span, 0);
                if let Some(pattern) = node.pattern.as_deref() {
                    self.pattern(pattern, Field::Pattern);
                }
                if let Some(name) = &node.name {
                    self.identifier(name, Field::Name);
                }
                self.close(index);
            }
        }
    }

    fn patterns(&mut self, kind: Kind, field: Field, span: TextRange, patterns: &'a [ast::Pattern]) {
        let index = self.open(kind, field, span, 0);
        for pattern in patterns {
            self.pattern(pattern, Field::Patterns);
        }
        self.close(index);
    }
}

fn context(context: ast::ExprContext) -> u16 {
    match context {
        ast::ExprContext::Store => 1,
        ast::ExprContext::Del => 2,
        ast::ExprContext::Load | ast::ExprContext::Invalid => 0,
    }
}

fn end_of(body: &[ast::Stmt], otherwise: TextRange) -> u32 {
    body.last().map_or(otherwise.end(), |last| last.range().end()).to_u32()
}
