//! The parts of a string literal as written: prefix, quotes, content.

use std::borrow::Cow;

use crate::Span;

use super::{Kind, Node};

/// How a string, bytes, f-string or t-string literal is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringLiteral<'a> {
    /// For instance `""`, `"rb"`, `"f"`, as written.
    pub prefix: &'a str,
    /// One of `'`, `"`, `'''`, `"""`.
    pub quote: &'a str,
    /// The raw text between the quotes.
    pub content: &'a str,
    /// Where the content stands.
    pub span: Span,
}

impl<'a> StringLiteral<'a> {
    /// What the literal stands for: the content with its escapes resolved. Escapes that name no single Unicode scalar (`\\N{…}`, lone
    /// surrogates) stay as written, and so do the braces of an f-string.
    pub fn value(&self) -> Cow<'a, str> {
        if self.is_raw() || !self.content.contains('\\') {
            return Cow::Borrowed(self.content);
        }
        Cow::Owned(unescape(self.content, self.is_bytes()))
    }

    pub fn is_bytes(&self) -> bool {
        self.prefix.contains(['b', 'B'])
    }

    pub fn is_raw(&self) -> bool {
        self.prefix.contains(['r', 'R'])
    }

    pub fn is_triple_quoted(&self) -> bool {
        self.quote.len() == 3
    }
}

/// Splits a `String`, `Bytes`, `FString` or `TString` node; `None` for other nodes and for literals that broke off.
pub fn string_literal<'a>(node: Node<'a>) -> Option<StringLiteral<'a>> {
    if !matches!(node.kind(), Kind::String | Kind::Bytes | Kind::FString | Kind::TString) {
        return None;
    }
    let text = node.text();
    let prefix_len = text.find(['"', '\''])?;
    let (prefix, rest) = text.split_at(prefix_len);
    let quote_len = if rest.starts_with("\"\"\"") || rest.starts_with("'''") { 3 } else { 1 };
    let quote = &rest[..quote_len];
    let content = rest.get(quote_len..rest.len().checked_sub(quote_len)?)?;
    if !rest.ends_with(quote) {
        return None;
    }
    let start = node.span().start + (prefix_len + quote_len) as u32;
    Some(StringLiteral { prefix, quote, content, span: Span::new(start, start + content.len() as u32) })
}

fn unescape(content: &str, is_bytes: bool) -> String {
    let mut result = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.find('\\') {
        result.push_str(&rest[..at]);
        let escape = &rest[at..];
        let (character, length) = match unescape_one(escape, is_bytes) {
            Some((character, length)) => (character, length),
            None => {
                let length = 1 + escape[1..].chars().next().map_or(0, char::len_utf8);
                result.push_str(&escape[..length]);
                (None, length)
            }
        };
        result.extend(character);
        rest = &escape[length..];
    }
    result.push_str(rest);
    result
}

/// The character of the escape at the start of `text` (none for a joined line) and its length; `None` if it stays as written.
fn unescape_one(text: &str, is_bytes: bool) -> Option<(Option<char>, usize)> {
    let rest = &text[1..];
    let simple = |character: char| Some((Some(character), 2));
    let hexadecimal = |digits: usize| {
        let value = u32::from_str_radix(rest.get(1..=digits)?, 16).ok()?;
        Some((Some(char::from_u32(value)?), 2 + digits))
    };
    match rest.bytes().next()? {
        b'\n' => Some((None, 2)),
        b'\r' => Some((None, if rest.starts_with("\r\n") { 3 } else { 2 })),
        b'\\' => simple('\\'),
        b'\'' => simple('\''),
        b'"' => simple('"'),
        b'a' => simple('\u{7}'),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'v' => simple('\u{b}'),
        b'x' => hexadecimal(2),
        b'u' if !is_bytes => hexadecimal(4),
        b'U' if !is_bytes => hexadecimal(8),
        b'0'..=b'7' => {
            let length = rest.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let value = u32::from_str_radix(&rest[..length], 8).ok()?;
            Some((Some(char::from_u32(value)?), 1 + length))
        }
        _ => None,
    }
}
