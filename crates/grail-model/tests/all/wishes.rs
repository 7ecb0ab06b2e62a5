//! What is read from sentences. `tests/wishes.txt` is the specification: sentences, corrections to them, and what they come to.

use grail_model::template::{Field, KindGuess, KindWords, Wish, guess_kind};

const WISHES: &str = include_str!("../wishes.txt");

/// The kinds of the built-in skills, with some of the words for them.
fn kinds() -> Vec<KindWords> {
    let kind = |kind: &str, words: &[&str], such_as: &[&str]| KindWords {
        kind: kind.to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        such_as: such_as.iter().map(|word| (*word).to_owned()).collect(),
    };
    vec![
        kind("component", &["component", "widget"], &["card", "badge", "table", "form", "list"]),
        kind("view", &["view", "page"], &[]),
        kind("service", &["service"], &[]),
        kind("factory", &["factory", "service factory"], &[]),
        kind("asgi-middleware", &["middleware", "asgi middleware"], &[]),
        kind("tdom-middleware", &["component middleware"], &[]),
        kind("route", &["route", "endpoint"], &[]),
        kind("test", &["test"], &[]),
        kind("test-class", &["test class"], &[]),
        kind("fixture", &["fixture"], &[]),
        kind("screen", &["page"], &[]),
    ]
}

/// One paragraph of the file: a sentence, corrections behind `→`, and below what is expected.
#[test]
fn sentences_are_read_as_written_down() {
    let mut shown = String::new();
    for paragraph in WISHES.split("\n\n") {
        let lines = paragraph.lines().filter(|line| !line.starts_with("    "));
        let asked: Vec<&str> = lines.clone().filter(|line| !line.starts_with('#')).collect();
        let comments = lines.filter(|line| line.starts_with('#')).map(|line| format!("{line}\n"));
        shown.extend(comments);
        let is_correction = |line: &&&str| line.starts_with('→');
        let sentence: Vec<&str> = asked.iter().take_while(|line| !is_correction(line)).copied().collect();
        if !sentence.is_empty() {
            shown.push_str(&show(&sentence.join("\n"), &asked[sentence.len()..]));
        }
        shown.push('\n');
    }
    if std::env::var_os("GRAIL_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wishes.txt");
        std::fs::write(path, format!("{}\n", shown.trim_end())).expect("a file");
    }
    assert_eq!(shown.trim_end(), WISHES.trim_end());
}

fn show(sentence: &str, corrections: &[&str]) -> String {
    let kinds: Vec<KindWords> = kinds().into_iter().filter(|kind| kind.kind != "screen").collect();
    let mut shown = format!("{sentence}\n");
    let kind = match guess_kind(sentence, &kinds) {
        KindGuess::One(name) => kinds.iter().find(|kind| kind.kind == name).expect("a kind").clone(),
        other => {
            shown.push_str(&format!("    kind: {other:?}\n"));
            KindWords::new("thing")
        }
    };
    let mut wish = Wish::read(sentence, &kind);
    for correction in corrections {
        shown.push_str(&format!("{correction}\n"));
        wish.refine(correction.trim_start_matches('→'), &kind);
    }
    let field = |field: &Field| {
        let mark = if field.is_optional { "?" } else { "" };
        format!("{}{mark}: {}", field.name.snake(), field.of.annotation())
    };
    let name = wish.name.as_ref().map_or_else(|| "-".to_owned(), |name| name.pascal());
    let fields: Vec<String> = wish.fields.iter().map(field).collect();
    shown.push_str(&format!("    {} {name}({})", kind.kind, fields.join(", ")));
    if let Some(action) = wish.action {
        shown.push_str(&format!(", to {action}"));
    }
    if let Some(address) = &wish.address {
        shown.push_str(&format!(", at {address}"));
    }
    if let Some(method) = wish.method {
        shown.push_str(&format!(", by {method:?}"));
    }
    shown.push('\n');
    shown
}

#[test]
fn a_tie_is_told_and_not_broken() {
    assert_eq!(
        guess_kind("a start page with title", &kinds()),
        KindGuess::Several(vec!["view".to_owned(), "screen".to_owned()])
    );
    assert_eq!(guess_kind("send email via SendGrid", &kinds()), KindGuess::Unclear);
}

#[test]
fn whatever_it_can_do_is_what_is_done() {
    let service = kinds().into_iter().find(|kind| kind.kind == "service").unwrap();
    let action = |sentence: &str| Wish::read(sentence, &service).action;
    for (sentence, expected) in [
        ("A canal service. It can dredge with sluice and barge.", Some("dredge")),
        ("A ferret service. It can microchip.", Some("microchip")),
        ("A page service. It can import with path.", Some("import_from")),
        ("A rose service. It can yield with petals.", Some("yield_")),
        ("A tide service that it can be proud of", None),
    ] {
        assert_eq!(action(sentence).as_deref(), expected, "{sentence}");
    }
}
