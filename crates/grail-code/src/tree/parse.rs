//! Text to tree. Any Python up to 3.14; broken source gives diagnostics and the tree of what could be understood.

use std::cell::RefCell;

use ruff_python_ast as ast;
use ruff_python_ast::PythonVersion;
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_parser::{Mode, ParseError, ParseErrorType, ParseOptions, parse_unchecked};

use super::lower::lower;
use super::{Kind, NodeData, Parsed};
use crate::{Diagnostic, Source, Span};

/// Left-leaning chains up to this length are dropped by plain recursion.
const SHORT_SPINE: usize = 500;

/// Parses a whole file.
pub fn parse_module(source: Source) -> Parsed {
    parse(source, Mode::Module)
}

/// Parses one expression, which becomes the root. Line breaks are allowed, as within parentheses.
pub fn parse_expression(source: Source) -> Parsed {
    parse(source, Mode::ParenthesizedExpression)
}

/// Parses exactly one statement; the root is a module that holds it.
pub fn parse_statement(source: Source) -> Parsed {
    let mut parsed = parse(source, Mode::Module);
    let count = parsed.root().children().count();
    if count != 1 && parsed.diagnostics.is_empty() {
        let span = parsed.root().children().nth(1).map_or(Span::at(0), |second| second.span());
        let message = format!("Expected exactly one statement, found {count}");
        parsed.diagnostics.push(diagnostic(message, span, &parsed.source));
    }
    parsed
}

fn parse(source: Source, mode: Mode) -> Parsed {
    let options = ParseOptions::from(mode).with_target_version(PythonVersion::PY314);
    let result = parse_unchecked(source.text(), options);
    let tokens = result.tokens().to_vec();
    let mut lowered = lower(result.syntax(), source.text(), &tokens);
    if !result.errors().is_empty() {
        straighten(&mut lowered.nodes);
    }
    let mut diagnostics: Vec<Diagnostic> = result
        .errors()
        .iter()
        .filter(|error| !is_false_alarm(error, source.text()))
        .map(|error| diagnostic(error.error.to_string(), error.location.into(), &source))
        .collect();
    for error in result.unsupported_syntax_errors() {
        diagnostics.push(diagnostic(error.to_string(), error.range.into(), &source));
    }
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
    drop_syntax(result.into_syntax(), lowered.longest_spine);
    Parsed { source, nodes: lowered.nodes, tokens, diagnostics }
}

/// Recovery sometimes puts what it made up before what it has read. Moves such nodes, so that children always lie inside their
/// parent and behind their elder siblings.
fn straighten(nodes: &mut [NodeData]) {
    // For each node, where the next child may begin.
    let mut frontier: Vec<u32> = nodes.iter().map(|node| node.span.start).collect();
    for index in 1..nodes.len() {
        let parent = nodes[index].parent as usize;
        let end = nodes[parent].span.end;
        let span = &mut nodes[index].span;
        span.start = span.start.clamp(frontier[parent].min(end), end);
        span.end = span.end.clamp(span.start, end);
        frontier[index] = span.start;
        frontier[parent] = span.end;
    }
}

/// `a = 1; match = 2` is valid, but the parser takes `match` for the keyword and complains before it looks further.
fn is_false_alarm(error: &ParseError, text: &str) -> bool {
    let rest = &text[error.location.start().to_usize()..];
    matches!(error.error, ParseErrorType::SimpleAndCompoundStatementOnSameLine)
        && ["match", "type", "case"].iter().any(|keyword| {
            rest.strip_prefix(keyword).is_some_and(|rest| {
                rest.trim_start_matches([' ', '\t']).starts_with(['=', '.', ',', ';', '['])
            })
        })
}

fn diagnostic(message: String, span: Span, source: &Source) -> Diagnostic {
    let end = span.end.min(source.text().len() as u32);
    let span = Span::new(span.start.min(end), end);
    Diagnostic { message, span, start: source.position(span.start), end: source.position(span.end) }
}

/// Drops the parser's tree without recursing along chains that lean left, however long.
fn drop_syntax(mut syntax: ast::Mod, longest_spine: usize) {
    if longest_spine <= SHORT_SPINE {
        return;
    }
    let dismantler = Dismantler::default();
    match &mut syntax {
        ast::Mod::Module(module) => dismantler.visit_body(&mut module.body),
        ast::Mod::Expression(expression) => dismantler.visit_expr(&mut expression.body),
    }
    loop {
        let Some(mut expression) = dismantler.detached.borrow_mut().pop() else { break };
        transformer::walk_expr(&dismantler, &mut expression);
    }
}

/// Takes every left-leaning expression out of its parent, so that each is dropped alone.
#[derive(Default)]
struct Dismantler {
    detached: RefCell<Vec<ast::Expr>>,
}

impl Transformer for Dismantler {
    fn visit_expr(&self, expression: &mut ast::Expr) {
        use ast::Expr;
        match expression {
            Expr::BinOp(_) | Expr::Attribute(_) | Expr::Subscript(_) | Expr::Call(_) => {
                let empty = Expr::NoneLiteral(ast::ExprNoneLiteral::default());
                self.detached.borrow_mut().push(std::mem::replace(expression, empty));
            }
            _ => transformer::walk_expr(self, expression),
        }
    }
}

impl Parsed {
    /// The first statement of a module parsed with [`parse_statement`], or the root expression.
    pub fn only(&self) -> Option<super::Node<'_>> {
        match self.root().kind() {
            Kind::Module => self.root().children().next(),
            _ => Some(self.root()),
        }
    }
}
