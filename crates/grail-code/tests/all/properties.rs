//! Round trips of text that nobody wrote: snippets cut up, doubled and shuffled.

use grail_code::data::{codegen, tree};
use grail_code::{Edit, Source, Span, edit, parse_module};
use proptest::prelude::*;

use crate::agreement::snippets;

/// A cut of the text: where it starts and how long it is, in thousandths of the whole, and what becomes of it.
type Cut = (u32, u32, u8);

fn mutated() -> impl Strategy<Value = String> {
    let count = snippets().count();
    (0..count, prop::collection::vec((0..1000_u32, 0..60_u32, 0..3_u8), 0..6)).prop_map(|(index, cuts)| {
        let text = snippets().nth(index).unwrap_or_default().to_owned();
        cuts.into_iter().fold(text, mutate)
    })
}

fn mutate(text: String, (start, length, action): Cut) -> String {
    let place = |thousandth: u32| text.floor_char_boundary(text.len() * thousandth.min(1000) as usize / 1000);
    let (start, end) = (place(start), place(start + length));
    let (before, cut, after) = (&text[..start], &text[start..end], &text[end..]);
    match action {
        0 => format!("{before}{after}"),
        1 => format!("{before}{cut}{cut}{after}"),
        _ => {
            let middle = after.floor_char_boundary(cut.len().min(after.len()));
            format!("{before}{}{cut}{}", &after[..middle], &after[middle..])
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn data_prints_as_the_source_it_was_made_from(text in mutated()) {
        let parsed = parse_module(Source::from_text(text.clone()));
        let data = tree(&parsed).expect("not too deep");
        prop_assert_eq!(codegen(&data), parsed.text());
    }

    #[test]
    fn spans_nest_and_lie_on_character_borders(text in mutated()) {
        let parsed = parse_module(Source::from_text(text));
        for node in parsed.nodes() {
            prop_assert!(parsed.text().get(node.span().start as usize..node.span().end as usize).is_some());
            prop_assert!(node.parent().is_none_or(|parent| parent.span().covers(node.span())), "{:?}", node);
        }
    }

    #[test]
    fn edits_touch_nothing_else(text in mutated(), places in prop::collection::btree_set(0..1000_usize, 0..8), new in "[a-zé\n]{0,5}") {
        // Neighbouring places are the ends of spans that do not overlap.
        let offsets: Vec<usize> = places.iter().map(|place| text.floor_char_boundary(text.len() * place / 1000)).collect();
        let spans: Vec<Span> =
            offsets.chunks_exact(2).map(|pair| Span::new(pair[0] as u32, pair[1] as u32)).collect();
        let edits = spans.iter().rev().map(|&span| Edit::replace(span, new.clone())).collect();
        if let Ok(changed) = edit::apply(&text, edits) {
            let mut expected = String::new();
            let mut cursor = 0;
            for span in spans {
                expected.push_str(&text[cursor..span.start as usize]);
                expected.push_str(&new);
                cursor = span.end as usize;
            }
            expected.push_str(&text[cursor..]);
            prop_assert_eq!(changed, expected);
        }
    }
}
