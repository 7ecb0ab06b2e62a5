//! The parts of a string literal as written: prefix, quotes, content.

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

impl StringLiteral<'_> {
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
