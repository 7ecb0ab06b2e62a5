//! Fuzz targets on the stable toolchain. Under `cargo test` each runs for a second; `scripts/fuzz SECONDS` runs them for longer.
//!
//! A failure prints a seed; `BOLERO_RANDOM_SEED=… cargo test -p grail-dev fuzz` repeats it.

use bolero::check;
use grail_code::data::DataError;
use grail_code::imports::{self, ImportRequest, UnusedOptions};
use grail_code::query::{self, Pattern};
use grail_code::{Edit, Semantic, Source, Span, data, edit, parse_module};
use grail_dev::roundtrip::{check_data, rebuild};
use serde_json::{Value, json};

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

/// Whole statements: most sequences of them are valid modules.
#[rustfmt::skip]
const STATEMENTS: [&str; 36] = [
    "import os\n", "import os, sys as s\n", "import a.b.c\n", "import a.b as ab; x = 1\n", "from a import b\n",
    "from a import (\n    b,\n    c as d,  # why\n)\n", "from . import b, c\n", "from ..a import *\n",
    "from __future__ import annotations\n", "from a import b, \\\n    c\n", "if x: import os\n",
    "if x: import os; y = os\n", "if x:\n    import os\n", "if x:\n    import os  # last\nelse:\n    import b\n",
    "try:\n    import os\nexcept ImportError:\n    os = None\n", "def f():\n    import os\n",
    "def f():\n    'doc'\n    from a import b\n    return b\n", "class A:\n    import os\n    x: os.T\n",
    "from typing import TYPE_CHECKING\n", "if TYPE_CHECKING:\n    from a import b\n", "'''doc'''\n", "# comment\n",
    "\n", "\u{c}\n", "x = 1\n", "os.path\n", "b(c)\n", "print(s, ab, d)\n", "__all__ = ['b', 'os']\n",
    "def g(b: 'os.T') -> 'c': ...\n", "import os\r\n", "from a import b;\n", "x = 1; import os\n",
    "with a as os: pass\n", "match os:\n    case b: import c\n", "#!python\n",
];

fn statements(picks: &[u8]) -> String {
    picks.iter().map(|&pick| STATEMENTS[usize::from(pick) % STATEMENTS.len()]).collect()
}

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
    let semantic = Semantic::new(&parsed);
    for reference in semantic.references() {
        let Span { start, end } = reference.span;
        assert!(text.get(start as usize..end as usize).is_some(), "{start}..{end} in {text:?}");
    }
    for node in parsed.nodes().take(200) {
        semantic.qualified_names(node);
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

#[test]
fn adding_an_import_keeps_a_module_valid_and_happens_once() {
    let requests = ["os", "a.b as ab", "a:c", "a:b as d", ".:c", "typing:Optional"]
        .map(|text| ImportRequest::parse(text).unwrap());
    check!().with_type::<(Vec<u8>, u8)>().for_each(|(picks, pick)| {
        let text = statements(&picks[..picks.len().min(12)]);
        let request = &requests[usize::from(*pick) % requests.len()];
        let parsed = parse_module(Source::from_text(text.as_str()));
        let Ok(edits) = imports::add(&Semantic::new(&parsed), request) else { return };
        let changed = edit::apply(parsed.text(), edits).expect("no overlap");
        if parsed.is_valid() {
            let again = parse_module(Source::from_text(changed.as_str()));
            assert!(again.is_valid(), "{request:?}: {text:?} became {changed:?}");
            let edits = imports::add(&Semantic::new(&again), request);
            assert_eq!(edits, Ok(vec![]), "{request:?}: {text:?} became {changed:?}");
        }
    });
}

#[test]
fn removing_unused_imports_keeps_a_module_valid() {
    check!().for_each(|picks| {
        let text = statements(&picks[..picks.len().min(12)]);
        let parsed = parse_module(Source::from_text(text.as_str()));
        if parsed.is_valid() {
            let edits = imports::remove_unused(&Semantic::new(&parsed), &UnusedOptions::default());
            let changed = edit::apply(parsed.text(), edits).expect("no overlap");
            let again = parse_module(Source::from_text(changed.as_str()));
            assert!(again.is_valid(), "{text:?} became {changed:?}");
        }
    });
}

#[test]
fn the_tree_as_data_prints_as_it_was() {
    check!().with_type::<(bool, Vec<u8>)>().for_each(|(is_valid, picks)| {
        let text = if *is_valid { statements(picks) } else { python_like(picks) };
        let parsed = parse_module(Source::from_text(text));
        if let Err(error) = check_data(&parsed) {
            assert!(error.is::<DataError>(), "{error}: {:?}", parsed.text());
        }
    });
}

#[test]
fn any_pattern_is_compiled_or_refused_and_its_words_are_in_every_match() {
    const PIECES: [&str; 16] = [
        "$X",
        "$$$",
        "$$$REST",
        "$_",
        "$",
        "$x",
        "type: Call",
        "func: ",
        "\n  ",
        "any: [",
        "not: {",
        "- ",
        "$X.a",
        "f($X)",
        "…",
        "",
    ];
    check!().with_type::<(Vec<(bool, u8)>, Vec<u8>)>().for_each(|(pieces, picks)| {
        let piece = |(is_fragment, pick): &(bool, u8)| {
            let list = if *is_fragment { &FRAGMENTS[..] } else { &PIECES[..] };
            list[usize::from(*pick) % list.len()]
        };
        let pattern: String = pieces.iter().take(8).map(piece).collect();
        let Ok(pattern) = Pattern::parse(&pattern) else { return };
        let parsed = parse_module(Source::from_text(statements(&picks[..picks.len().min(12)])));
        let semantic = Semantic::new(&parsed);
        let found = query::find_all(&parsed, Some(&semantic), &pattern);
        assert!(found.is_empty() || pattern.prefilter(parsed.text()), "{pattern:?} in {:?}", parsed.text());
    });
}

/// Data from a sandboxed program need not look like a tree at all.
#[test]
fn whatever_data_is_printed_without_a_panic() {
    let source = "@d\ndef f(a, *b, c=1) -> int:  # c\n    x = [1, 2]; return f'{a!r:>{w}}'\nfrom m import (a,\n  b)\nwith (a, b): pass\n";
    let tree = data::tree(&parse_module(Source::from_text(source))).expect("not too deep");
    let strange = [
        json!(null),
        json!([]),
        json!("x\ny"),
        json!(-1),
        json!({}),
        json!({"type": "Tuple"}),
        json!([[]]),
        json!({"type": "If", "body": 1}),
        json!("# c"),
        json!(["(", ")"]),
        json!({"type": "Code", "text": "a\n  b"}),
    ];
    check!().with_type::<Vec<(u16, u8)>>().for_each(|changes| {
        let mut tree = tree.clone();
        for &(place, pick) in changes {
            let mut values = vec![&mut tree];
            let mut count = 0;
            while let Some(value) = values.pop() {
                count += 1;
                if count > place % 600 {
                    *value = strange[usize::from(pick) % strange.len()].clone();
                    break;
                }
                match value {
                    Value::Array(items) => values.extend(items),
                    Value::Object(fields) => values.extend(fields.values_mut()),
                    _ => {}
                }
            }
        }
        data::codegen(&tree);
        data::code_of(&tree);
        data::docstring(&tree);
        data::findall(&tree, &json!({"type": "Call", "func": "f"}));
        let _ = data::transform(tree.clone(), |_| data::Change::Keep);
        let _ = data::remove(tree, 7);
    });
}

/// Pieces of lines of events.
const EVENT_PIECES: [&str; 16] = [
    "{\"version\":1,\"id\":\"019a8e1c-5b7e-7c3a-9f00-6d2b8a4e1f55\",\"at\":\"2026-11-16T09:00:00Z\",\"session\":\"ada\",\"number\":1,",
    "\"event\":\"user_message\",\"text\":\"x\"}",
    "\"event\":\"tool_call\",\"tool\":\"t\",\"arguments\":[[[[{\"a\":1e999}]]]],\"result\":{\"ok\":true,\"shape\":\"\",\"bytes\":0},\"microseconds\":1}",
    "\"event\":\"telepathy\"}",
    "\"branch\":null,",
    "\"version\":2,",
    "\"parent\":\"\",",
    "{",
    "}",
    "[",
    "\"",
    "\\ud800",
    "\n",
    "\r\n",
    "\u{0}",
    "é",
];

#[test]
fn any_file_of_events_is_read_line_by_line() {
    use grail_flywheel::log::{Filter, events_folder, read_events};

    let project = tempfile::tempdir().unwrap();
    let folder = events_folder(project.path());
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("2026-11-16-ada.jsonl");
    check!().for_each(|bytes: &[u8]| {
        let pieces: Vec<&str> =
            bytes.iter().map(|&pick| EVENT_PIECES[usize::from(pick) % EVENT_PIECES.len()]).collect();
        for text in [bytes.to_vec(), pieces.concat().into_bytes()] {
            std::fs::write(&file, &text).unwrap();
            let mut end = 0;
            for item in read_events(project.path(), &Filter::default()).unwrap() {
                let (offset, length) = match item {
                    Ok(stored) => (stored.offset, stored.length),
                    Err(problem) => (problem.offset, problem.length),
                };
                assert!(offset >= end && length > 0);
                end = offset + length;
            }
            assert!(end <= text.len() as u64);
        }
    });
}
