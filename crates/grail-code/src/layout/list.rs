//! Comma-separated lists: arguments, parameters, elements, imported names.

use ruff_python_ast::token::TokenKind;

use crate::tree::{Attribute, TokenSpan};
use crate::{Edit, Field, Kind, Node, Parsed, Span};

/// A list of items between two places of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommaList {
    /// Behind the opening bracket, or where the first item starts if there is none.
    pub start: u32,
    /// Before the closing bracket, or where the list ends if there is none.
    pub end: u32,
    /// The items with the parentheses that belong to them.
    pub items: Vec<Span>,
    /// Whether line breaks are free.
    pub is_bracketed: bool,
    /// Whether a single item needs a comma behind it.
    is_tuple: bool,
    /// `f(x for x in y)`: parentheses are owed as soon as there is a second argument.
    has_bare_generator: bool,
    /// An unbracketed tuple, or a set, that would become something else without items.
    empty_form: Option<(Span, &'static str)>,
}

impl CommaList {
    /// The list that a node holds: a call's arguments, a class's bases, parameters, type parameters, the elements of a display, the
    /// names of an import, `global`, `nonlocal` or `del`. `None` if the node holds no list (a class without parentheses).
    pub fn of(node: Node<'_>) -> Option<Self> {
        let field = match node.kind() {
            Kind::Call => Field::Args,
            Kind::ClassDef => Field::Bases,
            Kind::Parameters | Kind::TypeParams => Field::Params,
            Kind::List | Kind::Set | Kind::Tuple => Field::Elts,
            Kind::Dict => Field::Items,
            Kind::Import | Kind::ImportFrom | Kind::Global | Kind::Nonlocal => Field::Names,
            Kind::Delete => Field::Targets,
            _ => return None,
        };
        let items: Vec<Node<'_>> = node.list(field).collect();
        let (span, is_bracketed) = bounds(node, &items)?;
        let is_bare = |item: &Node<'_>| {
            item.kind() == Kind::GeneratorExp
                && item.attribute("parenthesized") == Some(Attribute::Flag(false))
        };
        let is_subscript = node.field() == Field::Slice;
        let empty_form = match node.kind() {
            Kind::Set => Some((node.span(), "set()")),
            Kind::Tuple if !is_bracketed => Some((node.span(), "()")),
            _ => None,
        };
        Some(Self {
            start: span.start,
            end: span.end,
            is_tuple: node.kind() == Kind::Tuple && !is_subscript,
            has_bare_generator: node.kind() == Kind::Call && items.iter().any(is_bare),
            items: items.into_iter().map(Node::span_with_parentheses).collect(),
            is_bracketed,
            empty_form,
        })
    }
}

/// Removes items with their commas. A comment behind an item that has its line to itself goes with it; all others stay.
pub fn remove_list_items(parsed: &Parsed, list: &CommaList, indexes: &[usize]) -> Vec<Edit> {
    let is_removed = |index: usize| indexes.contains(&index);
    let kept = (0..list.items.len()).filter(|index| !is_removed(*index)).count();
    let last = list.items.len().wrapping_sub(1);
    let inside = Span::new(list.start, list.end);
    if kept == 0 {
        if list.items.is_empty() {
            return Vec::new();
        }
        if let Some((span, text)) = list.empty_form {
            return vec![Edit::replace(span, text)];
        }
        if !parsed.tokens_in(inside).iter().any(|token| token.kind() == TokenKind::Comment) {
            return vec![Edit::remove(inside)];
        }
    }
    let mut removals: Vec<Span> = (0..list.items.len())
        .filter(|index| is_removed(*index))
        .map(|index| {
            let is_last = (index..list.items.len()).all(is_removed);
            removal(parsed, list, index, is_last)
        })
        .collect();
    if is_removed(last)
        && comma_after(parsed, list, last).is_none()
        && let Some(previous) = (0..last).rev().find(|index| !is_removed(*index))
        && !(list.is_tuple && kept == 1)
        && let Some(comma) = comma_after(parsed, list, previous)
    {
        removals.push(comma);
    }
    merge(removals).into_iter().map(Edit::remove).collect()
}

/// Inserts an item so that it becomes the one at `index`, in the list's own style: inline, or a line of its own.
pub fn insert_list_item(parsed: &Parsed, list: &CommaList, index: usize, text: &str) -> Vec<Edit> {
    insert_list_items(parsed, list, index, &[text])
}

/// Inserts several items side by side; see [`insert_list_item`].
pub fn insert_list_items(parsed: &Parsed, list: &CommaList, index: usize, items: &[&str]) -> Vec<Edit> {
    if items.is_empty() {
        return Vec::new();
    }
    let source = parsed.source();
    let inline = items.join(", ");
    let Some((&last, &first)) = list.items.last().zip(list.items.first()) else {
        return vec![Edit::insert(list.start, inline)];
    };
    let mut edits = Vec::new();
    if list.has_bare_generator {
        edits.push(Edit::insert(first.start, "("));
        edits.push(Edit::insert(first.end, ")"));
    }
    let is_vertical = |item: Span| list.is_bracketed && is_first_on_line(parsed, item.start);
    let lines = |neighbour: Span| {
        let line_start = format!("{}{}", source.newline(), source.indentation(neighbour.start));
        format!("{line_start}{}", items.join(&format!(",{line_start}")))
    };
    if index < list.items.len() {
        let item = list.items[index];
        let before = match index.checked_sub(1) {
            Some(previous) => comma_after(parsed, list, previous).map(|comma| comma.end),
            None => Some(list.start),
        };
        match before {
            // Right behind its neighbour's line, so that a comment above the next item stays with that.
            Some(before) if is_vertical(item) && is_last_on_line(parsed, before) => {
                edits.push(Edit::insert(source.line_end(before), format!("{},", lines(item))));
            }
            _ => edits.insert(0, Edit::insert(item.start, format!("{inline}, "))),
        }
        return edits;
    }
    let comma = comma_after(parsed, list, list.items.len() - 1);
    let end = comma.map_or(last.end, |comma| comma.end);
    let is_vertical = is_vertical(last) && is_last_on_line(parsed, end) && source.line_end(end) < list.end;
    match (is_vertical, comma) {
        (true, Some(comma)) => {
            edits.push(Edit::insert(source.line_end(comma.end), format!("{},", lines(last))));
        }
        (true, None) => {
            edits.push(Edit::insert(last.end, ","));
            edits.push(Edit::insert(source.line_end(last.end), lines(last)));
        }
        (false, Some(comma)) => {
            let is_single_tuple = list.is_tuple && list.items.len() == 1;
            let tail = if is_single_tuple { "" } else { "," };
            edits.push(Edit::insert(comma.end, format!(" {inline}{tail}")));
        }
        (false, None) => edits.push(Edit::insert(last.end, format!(", {inline}"))),
    }
    edits
}

/// Where a node's list starts and ends, and whether brackets hold it.
fn bounds(node: Node<'_>, items: &[Node<'_>]) -> Option<(Span, bool)> {
    let parsed = node.parsed();
    let inner = |span: Span| Span::new(span.start + 1, span.end.saturating_sub(1).max(span.start + 1));
    let unbracketed = || {
        let (first, last) = (items.first()?, items.last()?);
        let start = first.span_with_parentheses().start;
        let end = last.span_with_parentheses().end;
        // A trailing comma belongs to an unbracketed tuple.
        Some((Span::new(start, end.max(node.span().end)), false))
    };
    let bracket_after = |offset: u32, open: TokenKind| {
        parsed.token_after(offset).filter(|token| token.kind() == open).map(|token| token.range_span())
    };
    match node.kind() {
        Kind::List | Kind::Set | Kind::Dict | Kind::TypeParams => Some((inner(node.span()), true)),
        Kind::Tuple if node.is_parenthesized_tuple() => Some((inner(node.span()), true)),
        Kind::Parameters if node.text().starts_with('(') => Some((inner(node.span()), true)),
        Kind::Parameters if items.is_empty() => Some((node.span(), false)),
        Kind::Call => {
            let func = node.child(Field::Func)?;
            let open = bracket_after(func.span_with_parentheses().end, TokenKind::Lpar)?;
            Some((inner(Span::new(open.start, node.span().end)), true))
        }
        Kind::ClassDef => {
            let header = node.child(Field::TypeParams).or_else(|| node.child(Field::Name))?;
            let open = bracket_after(header.span().end, TokenKind::Lpar)?;
            let behind = items.last().map_or(open.end, |item| item.span_with_parentheses().end);
            let close = parsed
                .tokens_in(Span::new(behind, node.span().end))
                .iter()
                .find(|token| token.kind() == TokenKind::Rpar)?;
            Some((Span::new(open.end, close.range_span().start), true))
        }
        Kind::ImportFrom => {
            let first = items.first()?;
            match parsed.token_before(first.span().start) {
                Some(open) if open.kind() == TokenKind::Lpar => {
                    Some((inner(Span::new(open.range_span().start, node.span().end)), true))
                }
                _ => unbracketed(),
            }
        }
        _ => unbracketed(),
    }
}

/// The bytes to remove for one item; `is_last` if nothing behind it stays.
fn removal(parsed: &Parsed, list: &CommaList, index: usize, is_last: bool) -> Span {
    let source = parsed.source();
    let text = parsed.text();
    let item = list.items[index];
    let end = comma_after(parsed, list, index).map_or(item.end, |comma| comma.end);
    let next = list.items.get(index + 1).filter(|_| !is_last).map(|next| next.start);
    let has_own_lines = list.is_bracketed
        && is_first_on_line(parsed, item.start)
        && is_last_on_line(parsed, end)
        && source.line_end(end) < list.end;
    if has_own_lines {
        return Span::new(source.line_start(item.start), source.next_line_start(end));
    }
    let previous_end = match index.checked_sub(1) {
        Some(previous) => {
            comma_after(parsed, list, previous).map_or(list.items[previous].end, |comma| comma.end)
        }
        None => list.start,
    };
    let gap_before = Span::new(previous_end, item.start).of(text);
    if let Some(next) = next {
        let gap = Span::new(end, next).of(text);
        let is_blank = gap.trim().is_empty();
        if is_blank && (!gap.contains(['\n', '\r']) || (index == 0 && !gap_before.contains(['\n', '\r']))) {
            return Span::new(item.start, next);
        }
        if !list.is_bracketed {
            return Span::new(item.start, next);
        }
    }
    // What is left of the line behind the neighbour before it, or all the way to it for a last item.
    let trimmed = match is_last {
        _ if index == 0 => gap_before.len(),
        true if !list.is_bracketed => 0,
        true => gap_before.trim_end().len(),
        false => gap_before.trim_end_matches([' ', '\t']).len(),
    };
    let is_behind_comment = gap_before[..trimmed].contains('#');
    let start = if is_behind_comment { item.start } else { previous_end + trimmed as u32 };
    Span::new(start, end)
}

/// The comma behind an item.
fn comma_after(parsed: &Parsed, list: &CommaList, index: usize) -> Option<Span> {
    let item = list.items.get(index)?;
    let token = parsed.token_after(item.end)?;
    (token.kind() == TokenKind::Comma && token.range_span().end <= list.end).then(|| token.range_span())
}

fn is_first_on_line(parsed: &Parsed, offset: u32) -> bool {
    let line_start = parsed.source().line_start(offset);
    Span::new(line_start, offset).of(parsed.text()).trim().is_empty()
}

/// Whether nothing but white space and a comment follows on the line.
fn is_last_on_line(parsed: &Parsed, offset: u32) -> bool {
    let rest = Span::new(offset, parsed.source().line_end(offset)).of(parsed.text()).trim_start();
    rest.is_empty() || rest.starts_with('#')
}

/// Overlapping and touching spans become one.
pub(super) fn merge(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort();
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}
