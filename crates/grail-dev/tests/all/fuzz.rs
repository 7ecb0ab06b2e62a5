//! Fuzz targets on the stable toolchain. Under `cargo test` each runs for a second; `scripts/fuzz SECONDS` runs them for longer.
//!
//! A failure prints a seed; `BOLERO_RANDOM_SEED=… cargo test -p grail-dev fuzz` repeats it.

use bolero::check;
use grail_code::{Edit, Source, Span, edit, parse_module};
use grail_dev::roundtrip::rebuild;

/// Fragments that make Python-like nonsense far more often than random bytes do.
#[rustfmt::skip]
const FRAGMENTS: [&str; 96] = [
    "def ", "class ", "f", "x", "é", "self", "(", ")", "[", "]", "{", "}", ":", ",", ";", ".", "...", "=",
    "==", ":=", "->", "+", "-", "*", "**", "/", "//", "@", "%", "&", "|", "~", "<", "!=", "not ", "and ",
    "or ", "in ", "is ", "if ", "elif ", "else", "for ", "while ", "with ", "as ", "try", "except", "except*",
    "finally", "raise ", "return ", "yield ", "await ", "async ", "lambda ", "match ", "case ", "_", "type ",
    "import ", "from ", "global ", "nonlocal ", "del ", "pass", "None", "0", "1.5e3j", "0x_f", "'", "\"",
    "'''", "\"\"\"", "f'", "t\"", "rb'", "{x!r:>{w}}", "\\", "\n", "\n    ", "\n        ", "\n\t", "\r\n",
    "\r", "\u{c}", " ", "  ", "# comment", "# type: ignore", "#!", "\u{feff}", "\u{200b}", "$", "?",
    "\u{1f600}",
];

fn python_like(picks: &[u8]) -> String {
    picks.iter().map(|&pick| FRAGMENTS[usize::from(pick) % FRAGMENTS.len()]).collect()
}

/// Parsing keeps every byte and every node in its place, whatever the text.
fn check_parse(source: Source) {
    let text = source.text().to_owned();
    let parsed = parse_module(source);
    assert_eq!(rebuild(&parsed).expect("the tree is well formed"), text);
    for diagnostic in parsed.diagnostics() {
        assert!(diagnostic.span.end as usize <= text.len(), "{diagnostic:?}");
    }
}

#[test]
fn any_bytes_are_decoded_exactly_or_refused() {
    check!().for_each(|bytes| {
        if let Ok(source) = Source::from_bytes(bytes) {
            assert_eq!(source.encode(source.text()).expect("it was decoded from this"), bytes);
            check_parse(source);
        }
    });
}

#[test]
fn python_like_text_is_parsed() {
    check!().for_each(|picks| check_parse(Source::from_text(python_like(picks))));
}

#[test]
fn edits_leave_the_rest_alone_or_are_refused() {
    check!().with_type::<(Vec<u8>, Vec<(u8, u8, u8)>)>().for_each(|(picks, cuts)| {
        let text = python_like(picks);
        let border = |offset: usize| text.floor_char_boundary(offset.min(text.len())) as u32;
        let edits: Vec<Edit> = cuts
            .iter()
            .map(|&(start, length, pick)| {
                let span = Span::new(border(start.into()), border(usize::from(start) + usize::from(length)));
                Edit::replace(span, FRAGMENTS[usize::from(pick) % FRAGMENTS.len()])
            })
            .collect();
        let Ok(changed) = edit::apply(&text, edits.clone()) else { return };
        // What is left when the replaced parts are taken out of either side is the same text.
        let ordered = edit::order(edits).expect("they were applied");
        let mut rest = changed.as_str();
        let mut cursor = 0;
        for edit in &ordered {
            let kept = &text[cursor..edit.span.start as usize];
            rest = rest
                .strip_prefix(kept)
                .and_then(|rest| rest.strip_prefix(&edit.text))
                .expect("kept, then replaced");
            cursor = edit.span.end as usize;
        }
        assert_eq!(rest, &text[cursor..]);
    });
}
