//! White space and comments between tokens that a replacement leaves as neighbours: they stay as their author wrote them.
//!
//! `if ready:  # pragma: no cover` keeps its comment on its line when only the body changes, and `call( a )` its blanks.

use ruff_python_ast::token::TokenKind;

use crate::tree::TokenSpan;
use crate::{Edit, Parsed, Source, Span, edit, parse_expression, parse_module};

/// More comparisons than this are not worth the blanks.
const MAX_COMPARISONS: usize = 250_000;

/// A replacement with the gaps of what it replaces.
pub(super) struct Kept {
    pub(super) text: String,
    /// The gaps of the source that it took over.
    pub(super) gaps: Vec<Span>,
}

/// Puts the source's gaps between those tokens of `text` that are neighbours in `span` too. `is_bracketed` tells whether lines may break
/// freely around both.
pub(super) fn keep(parsed: &Parsed, span: Span, text: &str, is_expression: bool, is_bracketed: bool) -> Kept {
    let source = Source::from_text(text);
    let rendered = if is_expression { parse_expression(source) } else { parse_module(source) };
    let whole = Span::new(0, text.len() as u32);
    let (old, new) = (tokens(parsed, span, is_bracketed), tokens(&rendered, whole, is_bracketed));
    let mut kept = Kept { text: text.to_owned(), gaps: Vec::new() };
    let mut edits = Vec::new();
    for pair in align(&old, &new).windows(2) {
        let [(first, first_new), (second, second_new)] = [pair[0], pair[1]];
        if second != first + 1 || second_new != first_new + 1 || old[first].kind == TokenKind::Newline {
            continue;
        }
        let gap = Span::new(old[first].span.end, old[second].span.start);
        let new_gap = Span::new(new[first_new].span.end, new[second_new].span.start);
        let (old_text, new_text) = (gap.of(parsed.text()), new_gap.of(text));
        let is_free = old[second].is_bracketed && new[second_new].is_bracketed;
        let is_breakable = !breaks_line(old_text) || is_free;
        if old_text == new_text {
            kept.gaps.push(gap);
        } else if is_breakable && !new_text.contains(['\n', '\r', '#']) {
            kept.gaps.push(gap);
            edits.push(Edit::replace(new_gap, old_text));
        }
    }
    if let Ok(text) = edit::apply(text, edits) {
        kept.text = text;
    }
    kept
}

struct Word<'t> {
    kind: TokenKind,
    text: &'t str,
    span: Span,
    /// Whether a bracket is open before it.
    is_bracketed: bool,
}

fn tokens(parsed: &Parsed, span: Span, is_bracketed: bool) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut depth = usize::from(is_bracketed);
    for token in parsed.tokens_in(span) {
        let kind = token.kind();
        let place = token.range_span();
        if kind.is_trivia() || matches!(kind, TokenKind::Indent | TokenKind::Dedent) || place.end > span.end {
            continue;
        }
        words.push(Word { kind, text: place.of(parsed.text()), span: place, is_bracketed: depth > 0 });
        match kind {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => depth += 1,
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    words
}

/// Pairs of equal tokens, in order: what both ends share, and as many as possible in between.
fn align(old: &[Word<'_>], new: &[Word<'_>]) -> Vec<(usize, usize)> {
    let is_equal =
        |(left, right): &(&Word<'_>, &Word<'_>)| left.kind == right.kind && left.text == right.text;
    let head = old.iter().zip(new).take_while(is_equal).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(is_equal).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let (rows, columns) = (old_end - head, new_end - head);
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|index| (index, index)).collect();
    if rows * columns <= MAX_COMPARISONS {
        // The length of the longest common part from each pair on.
        let mut lengths = vec![0_u32; (rows + 1) * (columns + 1)];
        let at = |row: usize, column: usize| row * (columns + 1) + column;
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                lengths[at(row, column)] = match is_equal(&(&old[head + row], &new[head + column])) {
                    true => lengths[at(row + 1, column + 1)] + 1,
                    false => lengths[at(row + 1, column)].max(lengths[at(row, column + 1)]),
                };
            }
        }
        let (mut row, mut column) = (0, 0);
        while row < rows && column < columns {
            if is_equal(&(&old[head + row], &new[head + column])) {
                pairs.push((head + row, head + column));
                row += 1;
                column += 1;
            } else if lengths[at(row + 1, column)] >= lengths[at(row, column + 1)] {
                row += 1;
            } else {
                column += 1;
            }
        }
    }
    pairs.extend((0..tail).map(|index| (old_end + index, new_end + index)));
    pairs
}

/// Whether a gap ends the line without a backslash before it.
fn breaks_line(gap: &str) -> bool {
    let ends: Vec<usize> = gap.match_indices(['\n', '\r']).map(|(at, _)| at).collect();
    ends.iter().any(|&at| {
        let before = gap[..at].strip_suffix('\r').unwrap_or(&gap[..at]);
        !before.ends_with('\\')
    })
}
