//! The tree as data: nested JSON objects that hold all of the text, and back.
//!
//! [`tree`] turns a parsed module into data, [`codegen`] turns data into source; `codegen(tree(x)) == x`, byte for byte, whatever `x`
//! is. In between, anyone may change the data with plain JSON operations: every piece of trivia belongs to the node that it would go
//! with, so taking a node out takes its comments and its comma along, and a new node needs no trivia at all.
//!
//! The model, key by key:
//! - `type`, `id` (its place in the original tree), `range` (byte offsets, without parentheses), attributes, fields, `text` of a leaf.
//! - `trivia`: per field the text before and behind it (`[open, close]`; a list with a separator behind its last item has that as third
//!   element), and `head` and `tail` of the node. Only what differs from the layout table is stored.
//! - On items of lists: `before` (comment lines directly above), `gap` and `after` (the text before and behind the separator, up to the
//!   next item's `before`). Only what differs from the layout.
//! - `parens`: the parentheses around an expression. `indent`: of a statement's block, so that it can move to another.

mod build;
mod codegen;
mod docstring;
mod layout;
mod precedence;
mod reference;
mod trivia;
mod walk;

pub use build::{MAX_DEPTH, tree};
pub use codegen::{code_of, codegen};
pub use docstring::docstring;
pub use reference::node_reference;
pub use walk::{Change, Visit, deep_equals, findall, matches, remove, replace, transform, visit};

use thiserror::Error;

use crate::Kind;

/// The same helpers for Python, in one module that the sandbox can run.
pub const PYTHON_MODULE: &str = include_str!("../../python/grail_tree.py");

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DataError {
    #[error("the tree is {depth} levels deep; as data it may be {MAX_DEPTH}")]
    TooDeep { depth: usize },
    #[error("`{field}` of `{parent}` cannot be removed: the syntax needs it")]
    Required { parent: String, field: String },
    #[error("`{field}` of `{parent}` holds one node, not {count}")]
    NotAList { parent: String, field: String, count: usize },
    #[error("there is no node with the id {id}")]
    NoSuchNode { id: u64 },
    #[error("{0}")]
    NotJson(String),
}

/// Reads data that another program wrote. Any tree of at most [`MAX_DEPTH`] levels is read, and nothing deeper.
pub fn from_json(text: &str) -> Result<serde_json::Value, DataError> {
    let depth = json_depth(text.as_bytes());
    // Every level of the tree may be a list in an object; some more for what wraps the tree.
    if depth > 2 * MAX_DEPTH + 8 {
        return Err(DataError::TooDeep { depth: depth / 2 });
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = stacker::grow(STACK_FOR_JSON, || serde::Deserialize::deserialize(&mut reader));
    value
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| DataError::NotJson(error.to_string()))
}

const STACK_FOR_JSON: usize = 16 * 1024 * 1024;

/// How deep brackets nest outside strings.
fn json_depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = text.iter();
    let mut is_string = false;
    while let Some(byte) = bytes.next() {
        match (is_string, byte) {
            (true, b'\\') => {
                bytes.next();
            }
            (_, b'"') => is_string = !is_string,
            (false, b'{' | b'[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Parts of a compound statement that start a line of their own.
const fn is_clause(kind: Kind) -> bool {
    matches!(kind, Kind::Elif | Kind::Else | Kind::ExceptHandler | Kind::Finally | Kind::MatchCase)
}

/// Statements that say nothing once their list is empty.
const fn is_void_without(kind: Kind) -> bool {
    matches!(kind, Kind::Import | Kind::ImportFrom | Kind::Global | Kind::Nonlocal | Kind::Delete)
}
