//! Expressions inside f-strings, spelled so that every Python with f-strings accepts them.
//!
//! Before 3.12 an interpolation may hold neither the quote of its string, nor a backslash, a comment or a line break. What cannot be
//! spelled that way is refused.

use ruff_python_ast::token::TokenKind;

use crate::tree::{Attribute, TokenSpan};
use crate::{Field, Kind, Node, Span};

/// Why something cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) &'static str);

/// The text of an expression within an f-string that is quoted with `quote`.
pub(super) fn expression_text(expression: Node<'_>, quote: &str) -> Result<String, Refusal> {
    let is_bare_generator = expression.kind() == Kind::GeneratorExp
        && expression.attribute("parenthesized") == Some(Attribute::Flag(false));
    let needs_parentheses = is_bare_generator
        || matches!(expression.kind(), Kind::Yield | Kind::YieldFrom)
        || expression.subtree().any(|node| matches!(node.kind(), Kind::Lambda | Kind::NamedExpr));
    let text = one_line(expression, quote)?;
    Ok(if needs_parentheses { format!("({text})") } else { text })
}

/// As [`expression_text`], ready for `.attribute` or `[index]` behind it.
pub(super) fn primary_text(expression: Node<'_>, quote: &str) -> Result<String, Refusal> {
    let text = expression_text(expression, quote)?;
    let is_primary = match expression.kind() {
        Kind::Name
        | Kind::Attribute
        | Kind::Subscript
        | Kind::Call
        | Kind::List
        | Kind::Dict
        | Kind::Set
        | Kind::ListComp
        | Kind::SetComp
        | Kind::DictComp => true,
        Kind::Tuple => expression.is_parenthesized_tuple(),
        _ => text.starts_with('(') && expression.kind() == Kind::GeneratorExp,
    };
    Ok(if is_primary { text } else { format!("({text})") })
}

/// `{text!r:spec}`.
pub(super) fn interpolation(text: &str, conversion: Option<char>, spec: &str) -> String {
    // `{{` would be a brace.
    let space = if text.starts_with('{') { " " } else { "" };
    let conversion = conversion.map(|letter| format!("!{letter}")).unwrap_or_default();
    let colon = if spec.is_empty() { "" } else { ":" };
    format!("{{{space}{text}{conversion}{colon}{spec}}}")
}

/// Whether evaluating the expression twice, later or not at all makes no difference worth speaking of.
pub(super) fn is_simple(expression: Node<'_>) -> bool {
    let mut current = expression;
    loop {
        match current.kind() {
            Kind::Attribute => match current.child(Field::Value) {
                Some(value) => current = value,
                None => return false,
            },
            kind => {
                return matches!(
                    kind,
                    Kind::Name
                        | Kind::String
                        | Kind::Integer
                        | Kind::Float
                        | Kind::Imaginary
                        | Kind::Boolean
                        | Kind::NoneLiteral
                        | Kind::Ellipsis
                );
            }
        }
    }
}

/// Whether the values may be evaluated in the order `used` (indices into `values`) instead of each once, first to last.
pub(super) fn check_order(values: &[Node<'_>], used: &[usize]) -> Result<(), Refusal> {
    if (0..values.len()).any(|index| !used.contains(&index)) {
        return Err(Refusal("an argument is not used"));
    }
    let is_in_order = used.len() == values.len() && used.windows(2).all(|pair| pair[0] < pair[1]);
    if is_in_order {
        return Ok(());
    }
    for (index, value) in values.iter().enumerate() {
        if is_simple(*value) {
            continue;
        }
        if used.iter().filter(|used| **used == index).count() > 1 {
            return Err(Refusal("an argument would be evaluated twice"));
        }
        let others_are_simple =
            values.iter().enumerate().all(|(other, value)| other == index || is_simple(*value));
        let binds = value
            .subtree()
            .any(|node| matches!(node.kind(), Kind::NamedExpr | Kind::Await | Kind::Yield | Kind::YieldFrom));
        if !others_are_simple || binds {
            return Err(Refusal("the arguments would be evaluated in another order"));
        }
    }
    Ok(())
}

/// The expression on one line, with strings in quotes that do not end the f-string.
fn one_line(expression: Node<'_>, quote: &str) -> Result<String, Refusal> {
    let parsed = expression.parsed();
    let source = parsed.text();
    let span = expression.span();
    let mut text = String::new();
    let mut cursor = span.start;
    let mut is_behind_opening = true;
    for token in parsed.tokens_in(span) {
        let token_span = token.range_span();
        if token.kind() == TokenKind::Comment {
            return Err(Refusal("a comment would be lost"));
        }
        if token.kind() == TokenKind::NonLogicalNewline || token_span.is_empty() {
            continue;
        }
        let gap = Span::new(cursor, token_span.start.max(cursor)).of(source);
        let is_closing = matches!(token.kind(), TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace);
        if !gap.contains(['\n', '\r']) {
            text.push_str(gap);
        } else if !is_behind_opening && !is_closing {
            text.push(' ');
        }
        let piece = token_span.of(source);
        if token.kind() == TokenKind::String {
            text.push_str(&requote(piece, quote)?);
        } else {
            text.push_str(piece);
        }
        is_behind_opening = matches!(token.kind(), TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace);
        cursor = token_span.end;
    }
    if text.contains(quote) {
        return Err(Refusal("the quotes of a string inside would end the f-string"));
    }
    if text.contains(['\\', '#', '\n', '\r']) {
        return Err(Refusal(
            "an f-string expression may not hold a backslash, `#` or line break before Python 3.12",
        ));
    }
    // A trailing comma left by a joined line is harmless; a trailing `=` would print the source.
    Ok(text)
}

/// A string literal with the other kind of quotes if its own would end the f-string.
fn requote(literal: &str, quote: &str) -> Result<String, Refusal> {
    if !literal.contains(quote) {
        return Ok(literal.to_owned());
    }
    let other = if quote.starts_with('"') { "'" } else { "\"" };
    let refusal = Refusal("the quotes of a string inside would end the f-string");
    let start = literal.find(['"', '\'']).ok_or(refusal)?;
    let (prefix, quoted) = literal.split_at(start);
    let own = &quote[..1];
    let length = if quoted.starts_with(&own.repeat(3)) && quoted.len() >= 6 { 3 } else { 1 };
    let content = quoted.get(length..quoted.len().saturating_sub(length)).ok_or(refusal)?;
    if content.contains(['"', '\'', '\\', '\n', '\r']) {
        return Err(refusal);
    }
    Ok(format!("{prefix}{other}{content}{other}"))
}
