//! Byte ranges of the decoded source text: the one currency between a tree, a match and an edit.

use ruff_text_size::{TextRange, TextSize};
use serde::{Deserialize, Serialize};

/// A half-open range of byte offsets, always on character borders of the text it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The empty span where something can be inserted.
    pub const fn at(offset: u32) -> Self {
        Self::new(offset, offset)
    }

    pub const fn len(self) -> u32 {
        self.end - self.start
    }

    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub const fn contains(self, offset: u32) -> bool {
        self.start <= offset && offset < self.end
    }

    pub const fn covers(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The slice of `text` this span names.
    pub fn of(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }
}

impl From<TextRange> for Span {
    fn from(range: TextRange) -> Self {
        Self::new(range.start().to_u32(), range.end().to_u32())
    }
}

impl From<Span> for TextRange {
    fn from(span: Span) -> Self {
        TextRange::new(TextSize::new(span.start), TextSize::new(span.end))
    }
}
