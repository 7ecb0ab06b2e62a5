//! The content of string literals, unit by unit, and the f-strings made from it.
//!
//! Both `"…".format(…)` and `"…" % …` become a list of pieces; this file turns the pieces back into literals.

use super::interpolation::Refusal;
use crate::tree::{StringLiteral, string_literal};
use crate::{Edit, Field, Kind, Node, Source, Span, parse_expression};

/// A character or an escape sequence of a literal, as written.
#[derive(Clone, Copy)]
pub(super) struct Unit<'a> {
    pub(super) text: &'a str,
    /// The character it stands for; `None` if the unit stands for none or for one that no format cares about.
    pub(super) value: Option<char>,
}

impl Unit<'_> {
    pub(super) fn is_escape(&self) -> bool {
        self.text.len() > 1 && self.text.starts_with('\\')
    }

    /// Whether this is that character, spelled plainly.
    pub(super) fn is(&self, character: char) -> bool {
        self.value == Some(character) && !self.is_escape()
    }
}

/// What becomes of a piece of a literal.
#[derive(Debug)]
pub(super) enum Piece {
    /// Literal text as it stands in an f-string: braces doubled.
    Text(String),
    /// `{…}`, braces included.
    Interpolation(String),
}

/// The plain string literals of an expression: one, or several that the compiler joins.
pub(super) fn literals<'a>(node: Node<'a>) -> Option<Vec<(Node<'a>, StringLiteral<'a>)>> {
    let nodes = match node.kind() {
        Kind::String => vec![node],
        Kind::ConcatenatedString => node.list(Field::Parts).collect(),
        _ => return None,
    };
    nodes
        .into_iter()
        .map(|node| {
            let is_text = node.kind() == Kind::String;
            is_text.then(|| string_literal(node)).flatten().map(|literal| (node, literal))
        })
        .collect()
}

/// Splits content into characters and escapes.
pub(super) fn units(content: &str, is_raw: bool) -> Vec<Unit<'_>> {
    let mut units = Vec::with_capacity(content.len());
    let mut rest = content;
    while let Some(first) = rest.chars().next() {
        let (length, value) =
            if first == '\\' && !is_raw { escape(rest) } else { (first.len_utf8(), Some(first)) };
        let (text, after) = rest.split_at(length);
        units.push(Unit { text, value });
        rest = after;
    }
    units
}

/// The length and value of the escape that `text` starts with.
fn escape(text: &str) -> (usize, Option<char>) {
    let Some(letter) = text[1..].chars().next() else { return (1, Some('\\')) };
    let hexadecimal = |digits: usize| {
        let code = text.get(2..2 + digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        code.map_or((2, None), |code| (2 + digits, char::from_u32(code)))
    };
    match letter {
        'x' => hexadecimal(2),
        'u' => hexadecimal(4),
        'U' => hexadecimal(8),
        '0'..='7' => {
            let digits = text[1..].bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let code = u32::from_str_radix(&text[1..1 + digits], 8).ok();
            (1 + digits, code.and_then(char::from_u32))
        }
        'N' if text[2..].starts_with('{') => match text.find('}') {
            Some(end) => {
                let name = text[3..end].to_ascii_uppercase();
                let value = match name.as_str() {
                    "LEFT CURLY BRACKET" => Some('{'),
                    "RIGHT CURLY BRACKET" => Some('}'),
                    "PERCENT SIGN" => Some('%'),
                    _ => None,
                };
                (end + 1, value)
            }
            None => (2, None),
        },
        // Not an escape: the backslash stands for itself and the brace keeps its meaning.
        '{' | '}' | '%' => (1, Some('\\')),
        _ => (1 + letter.len_utf8(), None),
    }
}

/// The content of an f-string without interpolations, as a plain string spells it.
pub(super) fn undouble_braces(content: &str, is_raw: bool) -> String {
    let mut result = String::with_capacity(content.len());
    let units = units(content, is_raw);
    let mut index = 0;
    while let Some(unit) = units.get(index) {
        result.push_str(unit.text);
        let is_doubled = ['{', '}']
            .into_iter()
            .any(|brace| unit.is(brace) && units.get(index + 1).is_some_and(|next| next.is(brace)));
        index += if is_doubled { 2 } else { 1 };
    }
    result
}

/// The edits that give each literal its new pieces. Only literals that hold an interpolation become f-strings.
pub(super) fn rebuild(
    literals: &[(Node<'_>, StringLiteral<'_>)],
    pieces: &[Vec<Piece>],
) -> Result<Vec<Edit>, Refusal> {
    let mut edits = Vec::new();
    for ((node, literal), pieces) in literals.iter().zip(pieces) {
        let interpolations = pieces.iter().filter(|piece| matches!(piece, Piece::Interpolation(_))).count();
        let content: String = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) | Piece::Interpolation(text) => text.as_str(),
            })
            .collect();
        let text = if interpolations == 0 {
            let content = undouble_braces(&content, literal.is_raw());
            format!("{}{}{content}{}", literal.prefix, literal.quote, literal.quote)
        } else {
            let raw: String = literal.prefix.chars().filter(|letter| matches!(letter, 'r' | 'R')).collect();
            format!("f{raw}{}{content}{}", literal.quote, literal.quote)
        };
        if interpolations > 0 && !holds_interpolations(&text, interpolations) {
            return Err(Refusal("the f-string would mean something else"));
        }
        if text != node.text() {
            // `return"%s"` must not become `returnf"…"`.
            let before = node.parsed().text()[..node.span().start as usize].chars().next_back();
            let is_glued = before.is_some_and(|before| before.is_alphanumeric() || before == '_');
            let space = if is_glued { " " } else { "" };
            edits.push(Edit::replace(node.span(), format!("{space}{text}")));
        }
    }
    Ok(edits)
}

fn holds_interpolations(text: &str, count: usize) -> bool {
    let parsed = parse_expression(Source::from_text(text));
    let root = parsed.root();
    let found = root.list(Field::Parts).filter(|part| part.kind() == Kind::Interpolation).count();
    parsed.is_valid() && root.kind() == Kind::FString && root.text() == text && found == count
}

/// Whether a comment stands in the span.
pub(super) fn has_comment(node: Node<'_>, span: Span) -> bool {
    use ruff_python_ast::token::TokenKind;
    node.parsed().tokens_in(span).iter().any(|token| token.kind() == TokenKind::Comment)
}
