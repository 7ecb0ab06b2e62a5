//! How deep a file's syntax nests, judged from its tokens alone.
//!
//! ty walks trees by recursion with large frames, and merely dropping a deep tree recurses too, so files past the limit
//! must never reach it. The estimate is an upper bound: every token since the last comma or line break counts as a level.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::Mode;
use ruff_python_parser::lexer::lex;

/// Far beyond code that people write, and within the stack that the queries get.
const LIMIT: usize = 4_000;

/// Blocks cost more stack than operators do.
const INDENT_WEIGHT: usize = 20;

pub(super) fn nests_too_deep(text: &str) -> bool {
    if u32::try_from(text.len()).is_err() {
        return true;
    }
    let mut lexer = lex(text, Mode::Module);
    let mut brackets: Vec<usize> = Vec::new();
    let mut current: usize = 0;
    let mut outer: usize = 0;
    let mut indents: usize = 0;
    loop {
        match lexer.next_token() {
            TokenKind::EndOfFile => return false,
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                brackets.push(current);
                outer += current + 1;
                current = 0;
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                let before = brackets.pop().unwrap_or_default();
                outer = outer.saturating_sub(before + 1);
                current = before + 1;
            }
            TokenKind::Comma | TokenKind::Newline | TokenKind::Semi => current = 0,
            // No expression contains these: a bracket was left open, and the parser starts over here.
            TokenKind::Def
            | TokenKind::Class
            | TokenKind::Return
            | TokenKind::Import
            | TokenKind::Pass
            | TokenKind::Raise
            | TokenKind::While
            | TokenKind::With
            | TokenKind::Try => {
                brackets.clear();
                outer = 0;
                current = 0;
            }
            TokenKind::Indent => indents += 1,
            TokenKind::Dedent => indents = indents.saturating_sub(1),
            TokenKind::NonLogicalNewline | TokenKind::Comment | TokenKind::String => {}
            _ => current += 1,
        }
        if outer + current + indents * INDENT_WEIGHT > LIMIT {
            return true;
        }
    }
}
