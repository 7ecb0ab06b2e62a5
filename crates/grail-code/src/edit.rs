//! Changes to source text as byte-range edits: what no edit names stays byte for byte.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Span;

/// Replace the text at `span` with `text`; an empty span inserts, an empty text removes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

impl Edit {
    pub fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }

    pub fn insert(offset: u32, text: impl Into<String>) -> Self {
        Self::replace(Span::at(offset), text)
    }

    pub fn remove(span: Span) -> Self {
        Self::replace(span, "")
    }
}

/// Two edits want the same bytes.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("two changes overlap: bytes {}..{} and {}..{}", first.start, first.end, second.start, second.end)]
pub struct EditConflict {
    pub first: Span,
    pub second: Span,
}

/// Applies edits in source order. Insertions at one place keep the order in which they were given; a repeated edit counts once.
pub fn apply(text: &str, edits: Vec<Edit>) -> Result<String, EditConflict> {
    let edits = order(edits)?;
    let mut result =
        String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut cursor = 0;
    for edit in &edits {
        result.push_str(&text[cursor..edit.span.start as usize]);
        result.push_str(&edit.text);
        cursor = edit.span.end as usize;
    }
    result.push_str(&text[cursor..]);
    Ok(result)
}

/// Sorts edits by place and reports the first overlap. Equal replacements of one span are merged.
pub fn order(mut edits: Vec<Edit>) -> Result<Vec<Edit>, EditConflict> {
    edits.sort_by_key(|edit| (edit.span.start, !edit.span.is_empty(), edit.span.end));
    edits.dedup_by(|later, earlier| !later.span.is_empty() && later == earlier);
    for pair in edits.windows(2) {
        let (first, second) = (pair[0].span, pair[1].span);
        if second.start < first.end || (first == second && !first.is_empty()) {
            return Err(EditConflict { first, second });
        }
    }
    Ok(edits)
}
