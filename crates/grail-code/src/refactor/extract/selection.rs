//! From a range of text to the nodes it means: whole statements of one block, or one expression.

use ruff_python_ast::token::TokenKind;

use crate::refactor::error::{Place, RefactorError};
use crate::tree::TokenSpan;
use crate::{Field, Kind, Node, Parsed, ProjectFile, Span};

/// What to extract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Bytes of the file; white space and comments at either end do not matter.
    Span(Span),
    /// Whole lines, from 1, both included.
    Lines { first: u32, last: u32 },
}

/// A selection understood.
pub(super) struct Selected<'a> {
    /// Never empty; several only if they are statements.
    pub(super) nodes: Vec<Node<'a>>,
    /// From the first node to the last, with an expression's parentheses if they were selected.
    pub(super) span: Span,
    /// What the selection covered, comments included.
    pub(super) asked: Span,
}

impl Selected<'_> {
    pub(super) fn is_expression(&self) -> bool {
        !self.nodes[0].kind().is_statement()
    }
}

pub(super) fn find(file: &ProjectFile, selection: Selection) -> Result<Selected<'_>, RefactorError> {
    let parsed = &file.parsed;
    let asked = range(parsed, selection);
    let refuse = |span: Span| RefactorError::NothingSelected { place: Place::of(&file.path, parsed, span) };
    let core = core(parsed, asked).ok_or_else(|| refuse(Span::at(asked.start)))?;
    let found = statements(parsed, core).or_else(|| expression(parsed, core).map(|node| vec![node]));
    let nodes = found.ok_or_else(|| refuse(core))?;
    let is_expression = !nodes[0].kind().is_statement();
    let span = match (nodes.first(), nodes.last()) {
        (Some(first), Some(last)) if !is_expression => Span::new(first.span().start, last.span().end),
        _ => core,
    };
    Ok(Selected { nodes, span, asked })
}

fn range(parsed: &Parsed, selection: Selection) -> Span {
    let source = parsed.source();
    let end = parsed.text().len() as u32;
    match selection {
        Selection::Span(span) => {
            let floor = |offset: u32| {
                let offset = offset.min(end) as usize;
                (0..=offset).rev().find(|at| parsed.text().is_char_boundary(*at)).unwrap_or(0) as u32
            };
            let start = floor(span.start);
            Span::new(start, floor(span.end).max(start))
        }
        Selection::Lines { first, last } => {
            let starts = source.line_starts();
            let start = |line: u32| starts.get(line as usize).copied().unwrap_or(end);
            let first = start(first.saturating_sub(1));
            Span::new(first, start(last).max(first))
        }
    }
}

/// From the first to the last token that means something.
fn core(parsed: &Parsed, span: Span) -> Option<Span> {
    let mut tokens = parsed.tokens_in(span).iter().filter(|token| {
        let is_layout = matches!(
            token.kind(),
            TokenKind::Comment
                | TokenKind::NonLogicalNewline
                | TokenKind::Newline
                | TokenKind::Indent
                | TokenKind::Dedent
                | TokenKind::Semi
                | TokenKind::EndOfFile
        );
        !is_layout
    });
    let first = tokens.next()?.range_span();
    let last = tokens.next_back().map_or(first, |token| token.range_span());
    (last.end <= span.end).then(|| Span::new(first.start, last.end))
}

fn statements(parsed: &Parsed, core: Span) -> Option<Vec<Node<'_>>> {
    let mut candidates =
        parsed.nodes().filter(|node| node.kind().is_statement() && node.span().start == core.start);
    candidates.find_map(|first| {
        let siblings = first.parent()?.list(first.field()).filter(|node| node.kind().is_statement());
        let run: Vec<Node<'_>> = siblings
            .skip_while(|node| *node != first)
            .take_while(|node| node.span().end <= core.end)
            .collect();
        run.last().is_some_and(|last| last.span().end == core.end).then_some(run)
    })
}

/// The expression that is selected, if it can be replaced by a call.
fn expression(parsed: &Parsed, core: Span) -> Option<Node<'_>> {
    parsed.nodes().find(|node| {
        node.kind().is_expression()
            && core.covers(node.span())
            && (node.span() == core || is_parenthesized_as(*node, core))
            && !matches!(node.kind(), Kind::Starred | Kind::Slice)
            && !matches!(node.context(), Some(crate::Context::Store | crate::Context::Delete))
            && node.field() != Field::Parts
    })
}

/// Whether the range is the expression with some of the parentheses around it.
fn is_parenthesized_as(node: Node<'_>, core: Span) -> bool {
    let whole = node.span_with_parentheses();
    if !whole.covers(core) {
        return false;
    }
    let parsed = node.parsed();
    let count = |span: Span, kind: TokenKind| {
        parsed.tokens_in(span).iter().filter(|token| token.kind() == kind).count()
    };
    let opened = count(Span::new(core.start, node.span().start), TokenKind::Lpar);
    let closed = count(Span::new(node.span().end, core.end), TokenKind::Rpar);
    opened == closed
}
