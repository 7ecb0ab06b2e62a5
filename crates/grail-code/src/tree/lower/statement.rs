//! Statements, and what only they hold: clauses, aliases, decorators, parameters.

use ruff_python_ast as ast;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange};

use super::super::{Field, Kind, facts};
use super::Lowering;
use crate::Span;

impl<'a> Lowering<'a> {
    /// `else: …` or `finally: …` of a loop or `try`, for which the parser has no node.
    pub(super) fn clause(
        &mut self,
        kind: Kind,
        keyword: TokenKind,
        field: Field,
        after: u32,
        body: &'a [ast::Stmt],
    ) {
        let (Some(first), Some(last)) = (body.first(), body.last()) else { return };
        let body_start = first.range().start().to_u32();
        // Recovery can leave a body without its keyword; the clause then begins with its body.
        let start =
            self.token_in(Span::new(after, body_start), keyword).map_or(body_start, |token| token.start);
        let clause = self.open(kind, field, Span::new(start, last.range().end().to_u32()), 0);
        self.suite(body, Field::Body);
        self.close(clause);
    }

    pub(super) fn stmt(&mut self, statement: &'a ast::Stmt, field: Field) {
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

    pub(super) fn scope_declaration(
        &mut self,
        kind: Kind,
        field: Field,
        span: TextRange,
        names: &[ast::Identifier],
    ) {
        let index = self.open(kind, field, span, 0);
        for name in names {
            self.identifier(name, Field::Names);
        }
        self.close(index);
    }

    pub(super) fn aliases(&mut self, aliases: &[ast::Alias]) {
        for alias in aliases {
            let index = self.open(Kind::Alias, Field::Names, alias.range, 0);
            self.identifier(&alias.name, Field::Name);
            if let Some(asname) = &alias.asname {
                self.identifier(asname, Field::Asname);
            }
            self.close(index);
        }
    }

    pub(super) fn decorators(&mut self, decorators: &'a [ast::Decorator]) {
        for decorator in decorators {
            let index = self.open(Kind::Decorator, Field::Decorators, decorator.range, 0);
            self.expr(&decorator.expression, Field::Expression);
            self.close(index);
        }
    }

    pub(super) fn type_params(&mut self, type_params: Option<&'a ast::TypeParams>) {
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

    pub(super) fn parameters(&mut self, parameters: &'a ast::Parameters, field: Field) {
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

    pub(super) fn parameter(
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

    pub(super) fn parameter_marker(
        &mut self,
        kind: Kind,
        token: TokenKind,
        after: u32,
        parameters: &ast::Parameters,
    ) {
        let rest = Span::new(after, parameters.range.end().to_u32());
        if let Some(span) = self.token_in(rest, token) {
            self.leaf(kind, Field::Params, span, 0);
        }
    }
}

fn end_of(body: &[ast::Stmt], otherwise: TextRange) -> u32 {
    body.last().map_or(otherwise.end(), |last| last.range().end()).to_u32()
}
