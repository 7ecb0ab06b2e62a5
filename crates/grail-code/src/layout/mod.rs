//! Edits that respect how a file is laid out: items of comma-separated lists, whole statements, headers, indentation.
//!
//! These work on text and tokens, never by printing a tree: what they do not remove keeps its comments, quotes and line breaks.

mod definition;
mod list;
mod statement;

use ruff_python_ast::token::TokenKind;

pub use definition::{DecoratorPlace, add_decorator, annotate_parameter, annotate_return, remove_decorator};
pub use list::{CommaList, insert_list_item, insert_list_items, remove_list_items};
pub use statement::{LeadingComments, remove_statement, remove_statements};

use crate::tree::TokenSpan;
use crate::{Field, Kind, Node, Parsed, Source, Span, parse_module};

/// One level of indentation as this file writes it: its first indented block decides, else four spaces.
pub fn indentation_unit(parsed: &Parsed) -> &str {
    let first = parsed.tokens().iter().find(|token| token.kind() == TokenKind::Indent);
    first.map_or("    ", |token| {
        let text = token.range_span().of(parsed.text());
        if text.starts_with('\t') { "\t" } else { text }
    })
}

/// The indentation of a statement, or of the statements in a block that stands on its header's line.
pub fn block_indentation(statement: Node<'_>) -> String {
    let parsed = statement.parsed();
    let source = parsed.source();
    let Some(first) = first_of_block(statement) else { return String::new() };
    let start = first.span().start;
    let line_start = source.line_start(start);
    let before = Span::new(line_start, start).of(parsed.text());
    if before.trim_start_matches('\u{c}').trim_matches([' ', '\t']).is_empty() {
        return source.indentation(start).to_owned();
    }
    match first.parent() {
        Some(parent) if parent.kind() != Kind::Module => {
            let header = parent.span().start;
            let header_indentation = match parent.statement() {
                // A decorated definition starts with its decorator, an `else` on a line of its own.
                Some(outer) if outer == parent => block_indentation(outer),
                _ => source.indentation(header).to_owned(),
            };
            header_indentation + indentation_unit(parsed)
        }
        _ => source.indentation(start).to_owned(),
    }
}

/// Moves a block of code from one indentation to another. Lines that begin within a string literal stay as they are, and so do blank
/// ones; a line indented less than `from` gives up what it has of it.
pub fn reindent(text: &str, from: &str, to: &str) -> String {
    let parsed = parse_module(Source::from_text(text));
    // A byte-order mark is no part of the parsed text.
    let whole = Span::new(0, parsed.text().len() as u32);
    reindent_span(&parsed, whole, from, to)
}

/// As [`reindent`], for a part of a file. The part's first line counts as a line if the span starts where the line starts.
pub fn reindent_span(parsed: &Parsed, span: Span, from: &str, to: &str) -> String {
    let source = parsed.source();
    let text = parsed.text();
    let within_strings = multi_line_strings(parsed, span);
    let mut result = String::with_capacity(span.len() as usize);
    let mut cursor = span.start;
    while cursor < span.end {
        let line_end = source.next_line_start(cursor).min(span.end);
        let line = Span::new(cursor, line_end).of(text);
        let is_line_start = source.line_start(cursor) == cursor;
        let is_in_string = within_strings.iter().any(|string| string.start < cursor && cursor < string.end);
        if !is_line_start || is_in_string || line.trim().is_empty() {
            result.push_str(line);
        } else {
            let shared = line.bytes().zip(from.bytes()).take_while(|(left, right)| left == right).count();
            result.push_str(to);
            result.push_str(&line[shared..]);
        }
        cursor = line_end;
    }
    result
}

/// String literals that reach over a line's end, interpolations included.
fn multi_line_strings(parsed: &Parsed, span: Span) -> Vec<Span> {
    let mut strings = Vec::new();
    let mut open = Vec::new();
    for token in parsed.tokens_in(span) {
        let place = token.range_span();
        match token.kind() {
            TokenKind::String => strings.push(place),
            TokenKind::FStringStart | TokenKind::TStringStart => open.push(place.start),
            TokenKind::FStringEnd | TokenKind::TStringEnd => {
                if let Some(start) = open.pop() {
                    strings.push(Span::new(start, place.end));
                }
            }
            _ => {}
        }
    }
    strings.retain(|string| string.of(parsed.text()).contains(['\n', '\r']));
    strings
}

/// The first statement of the block that holds this one.
fn first_of_block(statement: Node<'_>) -> Option<Node<'_>> {
    let parent = statement.parent()?;
    parent.list(Field::Body).next()
}
