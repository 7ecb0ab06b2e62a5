//! Places as editors count them: lines from 0, columns in UTF-16 code units or, where the client can, in bytes of UTF-8.

use grail_code::{Source, Span};
use lsp_types::{InitializeParams, Position, PositionEncodingKind, Range};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
}

impl Encoding {
    /// UTF-8 if the client offers it; what it does not mention is UTF-16.
    pub(super) fn negotiate(parameters: &InitializeParams) -> Self {
        let general = parameters.capabilities.general.as_ref();
        let offered = general.and_then(|general| general.position_encodings.as_deref()).unwrap_or_default();
        if offered.contains(&PositionEncodingKind::UTF8) { Self::Utf8 } else { Self::Utf16 }
    }

    pub(super) fn range(self, source: &Source, span: Option<Span>) -> Range {
        let span = span.unwrap_or(Span::new(0, 0));
        Range { start: self.position(source, span.start), end: self.position(source, span.end) }
    }

    pub(super) fn position(self, source: &Source, offset: u32) -> Position {
        let text = source.text();
        let offset = text.floor_char_boundary((offset as usize).min(text.len()));
        let start = source.line_start(offset as u32) as usize;
        let column = match self {
            Self::Utf8 => offset - start,
            Self::Utf16 => text[start..offset].encode_utf16().count(),
        };
        Position { line: source.line_of(offset as u32) as u32, character: column as u32 }
    }

    /// The bytes of a range. A place that does not exist is taken for the nearest one before it.
    pub(super) fn span(self, source: &Source, range: Range) -> Span {
        let (start, end) = (self.offset(source, range.start), self.offset(source, range.end));
        Span::new(start.min(end), start.max(end))
    }

    fn offset(self, source: &Source, position: Position) -> u32 {
        let text = source.text();
        let Some(start) = source.line_starts().get(position.line as usize) else { return text.len() as u32 };
        let end = source.line_end(*start) as usize;
        let line = &text[*start as usize..end];
        let wanted = position.character as usize;
        let within = match self {
            Self::Utf8 => line.floor_char_boundary(wanted.min(line.len())),
            Self::Utf16 => {
                let mut units = 0;
                let fits = |character: &(usize, char)| {
                    units += character.1.len_utf16();
                    units <= wanted
                };
                let last = line.char_indices().take_while(fits).last();
                last.map_or(0, |(at, character)| at + character.len_utf8())
            }
        };
        start + within as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_there_and_back_in_both_encodings() {
        let source = Source::from_text("a = 'é😀'\r\nb\n");
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (offset, _) in
                source.text().char_indices().filter(|(_, character)| !"\r\n".contains(*character))
            {
                let position = encoding.position(&source, offset as u32);
                assert_eq!(encoding.offset(&source, position), offset as u32);
            }
        }
        let quote = source.text().find("'\r").expect("a quote") as u32;
        assert_eq!(Encoding::Utf16.position(&source, quote), Position { line: 0, character: 8 });
        assert_eq!(Encoding::Utf8.position(&source, quote), Position { line: 0, character: 11 });
    }

    #[test]
    fn places_that_do_not_exist_are_the_nearest_before() {
        let source = Source::from_text("'😀'\nb");
        let at = |line, character| Encoding::Utf16.offset(&source, Position { line, character });
        assert_eq!(at(0, 2), 1);
        assert_eq!(at(0, 99), 6);
        assert_eq!(at(9, 0), 8);
    }
}
