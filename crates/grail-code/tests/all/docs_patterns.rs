//! The guide to patterns is true: each pattern block matches exactly on the marked lines of the code block behind it.

use grail_code::query::{PREDICATES, Pattern, find_all};
use grail_code::{Source, parse_module};

const GUIDE: &str = include_str!("../../../../docs/guides/patterns.md");

#[test]
fn every_example_of_the_guide_holds() {
    let blocks = blocks(GUIDE);
    let examples: Vec<_> =
        blocks.windows(2).filter(|pair| pair[0].0.ends_with(" pattern") && pair[1].0 == "python").collect();
    assert_eq!(examples.len(), blocks.iter().filter(|(info, _)| info.ends_with(" pattern")).count());
    for example in examples {
        let [(_, pattern), (_, code)] = example else { continue };
        let compiled = Pattern::parse(pattern).unwrap_or_else(|error| panic!("{}", error.render(pattern)));
        let parsed = parse_module(Source::from_text(code.as_str()));
        assert!(parsed.is_valid(), "{code}");
        let mut lines: Vec<usize> = find_all(&parsed, None, &compiled)
            .iter()
            .map(|found| parsed.source().position(found.span.start).line as usize)
            .collect();
        lines.dedup();
        let marked: Vec<usize> = (1..)
            .zip(code.lines())
            .filter(|(_, line)| line.contains("# match"))
            .map(|(number, _)| number)
            .collect();
        assert_eq!(lines, marked, "{pattern}\n{code}");
    }
}

#[test]
fn the_guide_lists_every_predicate() {
    for predicate in PREDICATES {
        assert!(GUIDE.contains(&format!("| `{}` |", predicate.name)), "{}", predicate.name);
    }
}

/// Fenced blocks: info string and content.
fn blocks(markdown: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in markdown.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some((info.to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, content))) => *content += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    blocks
}
