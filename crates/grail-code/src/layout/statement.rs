//! Whole statements: removing one leaves the lines around it as they were, and a block that still parses.

use ruff_python_ast::token::TokenKind;

use super::list::merge;
use crate::tree::TokenSpan;
use crate::{Edit, Kind, Node, Parsed, Span};

/// What happens to the comment lines right above a statement that is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadingComments {
    Keep,
    /// They go with the statement, up to the next blank line.
    Remove,
}

/// Removes a statement; a block that would be empty keeps a `pass`.
pub fn remove_statement(statement: Node<'_>, comments: LeadingComments) -> Vec<Edit> {
    remove_statements(&[statement], comments)
}

/// Removes statements of one file; a block that loses all of its own keeps a `pass`.
pub fn remove_statements(statements: &[Node<'_>], comments: LeadingComments) -> Vec<Edit> {
    let is_removed = |node: Node<'_>| statements.contains(&node);
    let mut edits: Vec<Edit> = Vec::new();
    let mut removals = Vec::new();
    for &statement in statements {
        if statement.ancestors().any(is_removed) {
            continue;
        }
        let block = block_of(statement);
        let is_module = statement.parent().is_none_or(|parent| parent.kind() == Kind::Module);
        let is_emptied = !is_module && block.iter().all(|sibling| is_removed(*sibling));
        // The first statement of an emptied block makes room for the `pass`.
        let is_kept = |node: Node<'_>| !is_removed(node) || (is_emptied && block.first() == Some(&node));
        if is_kept(statement) {
            edits.push(Edit::replace(statement.span(), "pass"));
        } else {
            removals.push(removal(statement, &block, &is_kept, comments));
        }
    }
    edits.extend(merge(removals).into_iter().map(Edit::remove));
    edits.sort_by_key(|edit| edit.span);
    edits
}

/// The statements of the block that holds this one, itself included.
fn block_of(statement: Node<'_>) -> Vec<Node<'_>> {
    statement.parent().map_or_else(
        || vec![statement],
        |parent| parent.list(statement.field()).filter(|node| node.kind().is_statement()).collect(),
    )
}

fn removal(
    statement: Node<'_>,
    siblings: &[Node<'_>],
    is_kept: &dyn Fn(Node<'_>) -> bool,
    comments: LeadingComments,
) -> Span {
    let parsed = statement.parsed();
    let source = parsed.source();
    let span = statement.span();
    let place = siblings.iter().position(|sibling| *sibling == statement).unwrap_or(0);
    let is_on_same_line = |node: &&Node<'_>| {
        let gap = Span::new(span.end.min(node.span().end), span.start.max(node.span().start));
        parsed.tokens_in(gap).iter().all(|token| token.kind() != TokenKind::Newline)
    };
    let line: Vec<Node<'_>> = siblings.iter().filter(is_on_same_line).copied().collect();
    let (first, last) = (line.first().unwrap_or(&statement).span(), line.last().unwrap_or(&statement).span());
    let semicolon = parsed
        .token_after(last.end)
        .filter(|token| token.kind() == TokenKind::Semi)
        .map(|token| token.range_span());
    let end = semicolon.map_or(last.end, |semicolon| semicolon.end);
    if !line.iter().any(|sibling| is_kept(*sibling)) {
        let line_start = source.line_start(first.start);
        let before = Span::new(line_start, first.start).of(parsed.text());
        let after = Span::new(end, source.line_end(end)).of(parsed.text()).trim_start();
        let is_last_on_line = after.is_empty() || after.starts_with('#');
        if before.trim().is_empty() && is_last_on_line {
            return whole_lines(parsed, Span::new(line_start, source.next_line_start(end)), comments);
        }
    }
    match siblings.get(place + 1).filter(is_on_same_line) {
        Some(next) => Span::new(span.start, next.span().start),
        None => {
            let mut earlier = line.iter().rev().filter(|sibling| is_kept(**sibling));
            // Without one that stays, the neighbours' own removals reach up to here.
            earlier.next().map_or(span, |kept| Span::new(kept.span().end, end))
        }
    }
}

/// Lines and, where blank lines stand on both sides, the smaller of the two gaps.
fn whole_lines(parsed: &Parsed, mut lines: Span, comments: LeadingComments) -> Span {
    let source = parsed.source();
    let text = parsed.text();
    let line_before = |offset: u32| (offset > 0).then(|| Span::new(source.line_start(offset - 1), offset));
    let is_blank = |line: &Span| line.of(text).trim().is_empty();
    if comments == LeadingComments::Remove {
        let indentation = source.indentation(lines.start).len();
        let is_comment = |line: &Span| {
            let line = line.of(text);
            line.trim_start().starts_with('#')
                && !line.starts_with("#!")
                && line.find('#') == Some(indentation)
        };
        while let Some(line) = line_before(lines.start).filter(is_comment) {
            lines.start = line.start;
        }
    }
    let mut start = lines.start;
    while let Some(line) = line_before(start).filter(is_blank) {
        start = line.start;
    }
    let mut end = lines.end;
    while (end as usize) < text.len() {
        let line = Span::new(end, source.next_line_start(end));
        if !is_blank(&line) {
            break;
        }
        end = line.end;
    }
    let count = |span: Span| span.of(text).lines().count();
    let above = count(Span::new(start, lines.start));
    let below = count(Span::new(lines.end, end));
    if start == 0 || (above > below && below > 0) {
        lines.end = end;
    } else if end as usize == text.len() || (above > 0 && below > 0) {
        lines.start = start;
    }
    lines
}
