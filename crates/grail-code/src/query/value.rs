//! What nodes stand for, whatever their spelling: the ground on which patterns compare.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc};

use crate::tree::string_literal;
use crate::{Field, Kind, Node};

/// The name, the value of a string or number, the operator; for other nodes the source text.
pub(super) fn value(node: Node<'_>) -> Cow<'_, str> {
    match node.kind() {
        Kind::Name | Kind::Identifier => name(node.text()),
        Kind::Operator => operator(node.text()),
        Kind::Integer | Kind::Float | Kind::Imaginary => number(node),
        Kind::String | Kind::Bytes => {
            string_literal(node).map_or(Cow::Borrowed(node.text()), |literal| literal.value())
        }
        Kind::ConcatenatedString
            if node.children().all(|part| matches!(part.kind(), Kind::String | Kind::Bytes)) =>
        {
            Cow::Owned(node.children().map(value).collect())
        }
        _ => Cow::Borrowed(node.text()),
    }
}

/// Python compares names in NFKC; a dotted name may have white space round its dots.
pub(super) fn name(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        if !text.bytes().any(|byte| byte.is_ascii_whitespace() || byte == b'\\') {
            return Cow::Borrowed(text);
        }
    } else if is_nfkc(text) && !text.contains(char::is_whitespace) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().filter(|character| !character.is_whitespace() && *character != '\\').collect())
}

/// `not   in` is `not in`, and `<>`, where it is allowed, stays itself.
fn operator(text: &str) -> Cow<'_, str> {
    if !text.contains(|character: char| character.is_whitespace()) || matches!(text, "not in" | "is not") {
        return Cow::Borrowed(text);
    }
    let words: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()).collect();
    match (words.first(), words.last()) {
        (Some(&"not"), Some(&"in")) => Cow::Borrowed("not in"),
        (Some(&"is"), Some(&"not")) => Cow::Borrowed("is not"),
        _ => Cow::Borrowed(text),
    }
}

fn number(node: Node<'_>) -> Cow<'_, str> {
    let text = node.text();
    let is_plain =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    if is_plain {
        return Cow::Borrowed(text);
    }
    let digits = text.replace('_', "").to_ascii_lowercase();
    let value = match node.kind() {
        Kind::Integer => {
            let radix = match digits.get(..2) {
                Some("0x") => 16,
                Some("0o") => 8,
                Some("0b") => 2,
                _ => 10,
            };
            let body = if radix == 10 { digits.as_str() } else { &digits[2..] };
            u128::from_str_radix(body, radix).ok().map(|value| value.to_string())
        }
        Kind::Float => digits.parse::<f64>().ok().map(|value| format!("{value:?}")),
        _ => digits.trim_end_matches('j').parse::<f64>().ok().map(|value| format!("{value:?}j")),
    };
    Cow::Owned(value.unwrap_or(digits))
}

/// Whether nodes of the kind are told apart by their text, not by their children.
fn has_value(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Name
            | Kind::Identifier
            | Kind::Operator
            | Kind::Integer
            | Kind::Float
            | Kind::Imaginary
            | Kind::Boolean
            | Kind::String
            | Kind::Bytes
            | Kind::InterpolationText
            | Kind::MatchSingleton
    )
}

/// Whether two nodes are the same code: equal but for white space, comments, parentheses, quotes, and read or written.
///
/// Stands on the flat order of nodes, so depth costs nothing.
pub fn same_code(left: Node<'_>, right: Node<'_>) -> bool {
    let (left, right) = (bare_name(left, right), bare_name(right, left));
    let mut others = right.subtree();
    let mut is_root = true;
    for node in left.subtree() {
        let Some(other) = others.next() else { return false };
        let is_same_place = is_root || node.field() == other.field();
        is_root = false;
        if !is_same_place || !same_node(node, other) {
            return false;
        }
    }
    others.next().is_none()
}

/// Where a parameter or alias is compared with a mere name, its own name is meant.
fn bare_name<'a>(node: Node<'a>, other: Node<'_>) -> Node<'a> {
    let is_name = matches!(other.kind(), Kind::Name | Kind::Identifier);
    match node.kind() {
        Kind::Parameter | Kind::TypeVar if is_name => node.child(Field::Name).unwrap_or(node),
        Kind::Alias if is_name => {
            node.child(Field::Asname).or_else(|| node.child(Field::Name)).unwrap_or(node)
        }
        Kind::MatchAs if is_name && node.children().count() == 1 => node.child(Field::Name).unwrap_or(node),
        _ => node,
    }
}

fn same_node(left: Node<'_>, right: Node<'_>) -> bool {
    let is_name = |kind| matches!(kind, Kind::Name | Kind::Identifier);
    let is_same_kind = left.kind() == right.kind() || (is_name(left.kind()) && is_name(right.kind()));
    if !is_same_kind || left.children().count() != right.children().count() {
        return false;
    }
    if has_value(left.kind()) {
        return left.text() == right.text() || value(left) == value(right);
    }
    left.kind()
        .attributes()
        .iter()
        .filter(|attribute| !matches!(**attribute, "ctx" | "parenthesized"))
        .all(|attribute| left.attribute(attribute) == right.attribute(attribute))
}
