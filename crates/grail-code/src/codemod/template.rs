//! Replacements as code: Python with `$NAME` and `$$$NAME` where captured code goes.
//!
//! A template is parsed once, as everything its pattern's matches could need: an expression, statements, or a part of a statement such
//! as a keyword argument or an `except` clause. Captures are ordinary identifiers to the parser, so each one's place is known.

use ruff_python_ast::token::TokenKind;
use thiserror::Error;

use super::unsaid::Mentioned;
use crate::query::Pattern;
use crate::tree::TokenSpan;
use crate::{Diagnostic, Kind, Node, NodeId, Parsed, Position, Source, Span, parse_expression, parse_module};

/// A replacement that cannot be used. Line and column count from 1 and refer to the template.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("invalid replacement: {message}")]
pub struct TemplateError {
    pub message: String,
    pub at: Option<Position>,
    pub hint: Option<String>,
}

/// A parsed replacement. An empty one removes what it replaces.
pub struct Template {
    is_empty: bool,
    pub(super) expression: Option<Form>,
    pub(super) statements: Option<Form>,
    clauses: Vec<(Kind, Form)>,
    /// What the pattern says, if it is code.
    pub(super) mentioned: Option<Mentioned>,
}

/// A template read as one kind of code.
pub(super) struct Form {
    pub(super) parsed: Parsed,
    /// The template itself, without the frame that makes it parse.
    pub(super) inner: Span,
    pub(super) sigil: char,
    pub(super) placeholders: Vec<Placeholder>,
}

/// Where a capture goes: a `Name` or `Identifier` of the form's tree.
pub(super) struct Placeholder {
    pub(super) name: String,
    pub(super) node: NodeId,
}

/// Letters that stand for `$` while a template is parsed: valid in identifiers, and in nobody's program.
const SIGILS: [char; 4] = ['ǁ', 'ǂ', 'ǀ', 'ǃ'];

impl Template {
    /// Parses a replacement for what `pattern` finds. If the pattern is code, give it too: what it leaves unsaid is then kept.
    pub fn new(text: &str, pattern: &Pattern, code: Option<&str>) -> Result<Self, TemplateError> {
        let text = dedent(text);
        let mut template = Self {
            is_empty: text.is_empty(),
            expression: None,
            statements: None,
            clauses: Vec::new(),
            mentioned: code.and_then(mentioned_in),
        };
        if template.is_empty {
            return Ok(template);
        }
        let sigil = SIGILS.into_iter().find(|sigil| !text.contains(*sigil)).unwrap_or(SIGILS[0]);
        let kinds: Vec<Kind> = pattern.root_kinds().collect();
        let mut first_problem = None;
        if kinds.iter().any(|kind| kind.is_expression() || kind.is_statement()) {
            let statements = Form::parse(&text, sigil, &Frame::STATEMENTS);
            let expression = Form::parse(&text, sigil, &Frame::EXPRESSION).or_else(|problem| {
                // A walrus or a `yield` is an expression only in parentheses.
                let form = Form::parse(&text, sigil, &Frame::PARENTHESES).map_err(|_| problem.clone())?;
                let is_whole = form.inner.covers(form.parsed.root().span());
                if is_whole { Ok(form) } else { Err(problem) }
            });
            match (statements, expression) {
                (Err(problem), Err(_)) => first_problem = Some(problem),
                (statements, expression) => {
                    template.statements = statements.ok();
                    template.expression = expression.ok();
                }
            }
        }
        for kind in kinds {
            let Some(frame) = Frame::of_clause(kind) else { continue };
            match Form::parse(&text, sigil, &frame) {
                Ok(form) => template.clauses.push((kind, form)),
                Err(problem) => first_problem = first_problem.or(Some(problem)),
            }
        }
        let forms = || {
            let clauses = template.clauses.iter().map(|(_, form)| form);
            template.statements.iter().chain(&template.expression).chain(clauses)
        };
        let Some(form) = forms().next() else {
            return Err(first_problem.unwrap_or_else(|| TemplateError {
                message: "what the pattern finds cannot be replaced".to_owned(),
                at: None,
                hint: Some("let the pattern find an expression or a statement".to_owned()),
            }));
        };
        form.check_names(pattern.capture_names())?;
        Ok(template)
    }

    /// Whether matches are removed.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The template as a part of a statement.
    pub(super) fn clause(&self, kind: Kind) -> Option<&Form> {
        self.clauses.iter().find(|(known, _)| *known == kind).map(|(_, form)| form)
    }
}

fn mentioned_in(code: &str) -> Option<Mentioned> {
    let code = dedent(code);
    let sigil = SIGILS.into_iter().find(|sigil| !code.contains(*sigil))?;
    // A header without a body is a pattern too.
    let frames = [Frame::STATEMENTS, Frame::EXPRESSION, Frame::new("", ": pass")];
    let form = frames.iter().find_map(|frame| Form::parse(&code, sigil, frame).ok())?;
    Some(Mentioned::in_pattern(&form))
}

impl Form {
    fn parse(text: &str, sigil: char, frame: &Frame) -> Result<Self, TemplateError> {
        let mut first_problem = None;
        for is_unpacked in [false, true] {
            let (marked, origins) = mark(text, sigil, is_unpacked);
            let source = Source::from_text(format!("{}{marked}{}", frame.before, frame.after));
            let parsed = match frame.is_expression {
                true => parse_expression(source),
                false => parse_module(source),
            };
            let problem = parsed.diagnostics().iter().find(|problem| !is_tolerated(problem));
            let Some(problem) = problem else {
                let inner = Span::new(frame.before.len() as u32, (frame.before.len() + marked.len()) as u32);
                let placeholders = placeholders(&parsed, sigil);
                return Ok(Self { parsed, inner, sigil, placeholders });
            };
            let at = (problem.span.start as usize).saturating_sub(frame.before.len());
            let origin = origins.get(at).copied().unwrap_or(text.len() as u32);
            first_problem.get_or_insert_with(|| TemplateError {
                message: lower_first(&problem.message),
                at: Some(Source::from_text(text).position(origin)),
                hint: Some("a replacement is Python in which `$NAME` and `$$$NAME` stand for what the pattern captured".to_owned()),
            });
            if marked.len() == mark(text, sigil, !is_unpacked).0.len() {
                break;
            }
        }
        Err(first_problem.unwrap_or_else(|| TemplateError {
            message: "it is not Python".to_owned(),
            at: None,
            hint: None,
        }))
    }

    fn check_names(&self, known: &[String]) -> Result<(), TemplateError> {
        for placeholder in &self.placeholders {
            let Placeholder { name, node } = placeholder;
            if known.contains(name) {
                continue;
            }
            let start = self.parsed.node(*node).span().start - self.inner.start;
            let before = self.inner.of(self.parsed.text())[..start as usize].replace(self.sigil, "$");
            let source = Source::from_text(format!("{before}x"));
            let at = Some(source.position(before.len() as u32));
            let hint = match known {
                [] => "the pattern captures nothing".to_owned(),
                known => format!("the pattern captures {}", quoted(known)),
            };
            let message = match name.as_str() {
                "" | "_" => "a capture in a replacement needs a name".to_owned(),
                name => format!("the pattern has no capture `${name}`"),
            };
            return Err(TemplateError { message, at, hint: Some(hint) });
        }
        Ok(())
    }

    /// The node that stands for the whole template, if it is one expression.
    pub(super) fn root_expression(&self) -> Option<Node<'_>> {
        let root = self.parsed.root();
        root.kind().is_expression().then_some(root)
    }

    /// Whether the template has a bracket open before `offset`.
    pub(super) fn is_bracketed(&self, offset: u32) -> bool {
        open_brackets(&self.parsed, Span::new(self.inner.start, offset)) > 0
    }
}

/// How many brackets are open at the end of a span that starts outside of any. A logical line's end closes all.
pub(super) fn open_brackets(parsed: &Parsed, span: Span) -> usize {
    let mut depth = 0_usize;
    for token in parsed.tokens_in(span) {
        match token.kind() {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => depth += 1,
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => depth = depth.saturating_sub(1),
            TokenKind::Newline => depth = 0,
            _ => {}
        }
    }
    depth
}

/// Whether code breaks its line outside of any bracket, so that it needs some around it.
pub(super) fn has_bare_line_break(text: &str) -> bool {
    if !text.contains(['\n', '\r']) {
        return false;
    }
    let parsed = parse_expression(Source::from_text(text));
    let mut depth = 0_i32;
    parsed.tokens().iter().any(|token| {
        match token.kind() {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => depth += 1,
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => depth -= 1,
            _ => {}
        }
        let is_break = matches!(token.kind(), TokenKind::NonLogicalNewline | TokenKind::Comment);
        depth <= 0 && is_break && (token.range_span().end as usize) < parsed.text().trim_end().len()
    })
}

/// What stands around a template so that it parses.
struct Frame {
    before: &'static str,
    after: &'static str,
    is_expression: bool,
}

impl Frame {
    const STATEMENTS: Self = Self { before: "", after: "\n", is_expression: false };
    const EXPRESSION: Self = Self { before: "", after: "", is_expression: true };

    const PARENTHESES: Self = Self { before: "(", after: "\n)", is_expression: true };

    const fn new(before: &'static str, after: &'static str) -> Self {
        Self { before, after, is_expression: false }
    }

    /// For kinds that are neither expressions nor statements.
    fn of_clause(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::Keyword => Self::new("f(", "\n)"),
            Kind::DictItem => Self::new("{", "\n}"),
            Kind::Parameter => Self::new("def f(", "\n): pass"),
            Kind::Decorator => Self::new("", "\ndef f(): pass"),
            Kind::ExceptHandler => Self::new("try: pass\n", "\n"),
            Kind::Elif | Kind::Else => Self::new("if x: pass\n", "\n"),
            Kind::Finally => Self::new("try: pass\n", "\n"),
            Kind::WithItem => Self::new("with (", "\n): pass"),
            Kind::Alias => Self::new("from x import (", "\n)"),
            Kind::MatchCase => Self::new("match x:\n ", "\n"),
            _ => return None,
        })
    }
}

/// Replaces the dollars of captures. With `is_unpacked`, `$$$` directly in braces is read as entries of a dictionary. For each byte of
/// the result, the place in `text` it comes from.
fn mark(text: &str, sigil: char, is_unpacked: bool) -> (String, Vec<u32>) {
    let mut marked = String::with_capacity(text.len());
    let mut origins = Vec::with_capacity(text.len());
    let mut previous = ' ';
    let mut brackets = Vec::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let offset = (text.len() - rest.len()) as u32;
        let dollars = rest.len() - rest.trim_start_matches('$').len();
        let starts_name = rest[dollars..].starts_with(|next: char| next.is_ascii_alphabetic() || next == '_');
        let length = if dollars == 3 || (dollars == 1 && starts_name) {
            let is_entry = dollars == 3 && brackets.last() == Some(&'{') && matches!(previous, '{' | ',');
            if is_entry && is_unpacked {
                marked.push_str("**");
            }
            marked.extend(std::iter::repeat_n(sigil, dollars));
            previous = '$';
            dollars
        } else {
            match character {
                '(' | '[' | '{' => brackets.push(character),
                ')' | ']' | '}' => drop(brackets.pop()),
                _ => {}
            }
            if !character.is_whitespace() {
                previous = character;
            }
            marked.push(character);
            character.len_utf8()
        };
        origins.resize(marked.len(), offset);
        rest = &rest[length..];
    }
    (marked, origins)
}

fn placeholders(parsed: &Parsed, sigil: char) -> Vec<Placeholder> {
    let names = parsed.nodes().filter(|node| matches!(node.kind(), Kind::Name | Kind::Identifier));
    names
        .filter_map(|node| {
            let name = node.text().strip_prefix(sigil)?;
            Some(Placeholder { name: name.trim_start_matches(sigil).to_owned(), node: node.id() })
        })
        .collect()
}

/// Argument order is judged when the captures are filled in.
fn is_tolerated(problem: &Diagnostic) -> bool {
    problem.message.contains(" cannot follow ")
}

/// Takes off blank lines around the text and the indentation that all lines share; line endings become `\n`.
fn dedent(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.trim_end().split('\n').collect();
    let first = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(lines.len());
    let indentation = lines.get(first).map_or(0, |line| line.len() - line.trim_start().len());
    let lines = lines[first..].iter().map(|line| {
        let shared = line.bytes().take(indentation).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        &line[shared..]
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`${name}`")).collect::<Vec<_>>().join(", ")
}

fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    match characters.next() {
        Some(first) if !characters.as_str().starts_with(char::is_uppercase) => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => message.to_owned(),
    }
}
