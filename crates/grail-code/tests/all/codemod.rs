//! Codemods against `specs/codemod/*.md`.
//!
//! A case is a `##` heading, a `yaml` block (a codemod, or just one rule), a `python` block, and what comes of it: a `python after` block
//! if the file changes, a `notes` block, or an `error` block.

use std::fs;
use std::path::{Path, PathBuf};

use grail_code::codemod::{Codemod, Transformation, apply_to_file};
use grail_code::{Kind, ModuleName, Node, Parsed, Source, parse_module};
use proptest::prelude::*;

#[derive(Default)]
struct Case {
    name: String,
    /// The words behind the fence, and the content.
    blocks: Vec<(String, String)>,
}

#[test]
fn codemods_do_what_the_specification_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/codemod");
    let entries = fs::read_dir(folder).expect("the specification");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut failures = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).expect("the specification");
        for case in cases(&text) {
            let expected = case.outcome();
            let actual = run(case.block("yaml"), case.block("python"));
            if actual != expected {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                failures.push(format!("{file}: {}\n-- expected\n{expected}-- actual\n{actual}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}\n{} cases failed", failures.join("\n"), failures.len());
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.split_inclusive('\n') {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(words)) => open = Some((words.trim().to_owned(), String::new())),
            (Some((_, content)), None) => content.push_str(line),
            (Some(_), Some(_)) => {
                cases.last_mut().expect("a heading before the first block").blocks.extend(open.take());
            }
            (None, None) => {
                if let Some(name) = line.strip_prefix("## ") {
                    cases.push(Case { name: name.trim().to_owned(), blocks: Vec::new() });
                }
            }
        }
    }
    assert!(!cases.is_empty());
    cases
}

impl Case {
    fn block(&self, words: &str) -> &str {
        let found = self.blocks.iter().find(|(known, _)| known == words);
        found.map_or_else(|| panic!("{}: no `{words}` block", self.name), |(_, content)| content.as_str())
    }

    fn outcome(&self) -> String {
        let outcomes = self.blocks.iter().filter(|(words, _)| !matches!(words.as_str(), "yaml" | "python"));
        outcomes.map(|(words, content)| format!("```{words}\n{content}```\n")).collect()
    }
}

fn run(codemod: &str, python: &str) -> String {
    let codemod = match codemod.contains("rules:") {
        true => codemod.to_owned(),
        false => {
            let lines: String = codemod.lines().map(|line| format!("    {line}\n")).collect();
            format!("name: spec\nrules:\n  - {}", lines.trim_start())
        }
    };
    let codemod = match Codemod::parse(&codemod) {
        Ok(codemod) => codemod,
        Err(error) => {
            let snippet = error.snippet.as_ref().map(|snippet| format!("{snippet}\n")).unwrap_or_default();
            let hint = error.hint.as_ref().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
            return format!("```error\n{error}\n{snippet}{hint}```\n");
        }
    };
    let parsed = parse(python);
    let module = ModuleName::module("shop.models");
    match apply_to_file(&parsed, &module, "shop/models.py", Transformation::Codemod(&codemod)) {
        Ok(outcome) => {
            let after = outcome.new_text.map(|text| format!("```python after\n{text}```\n"));
            let notes = match outcome.notes.is_empty() {
                true => String::new(),
                false => format!("```notes\n{}\n```\n", outcome.notes.join("\n")),
            };
            after.unwrap_or_default() + &notes
        }
        Err(error) => format!("```error\n{error}\n```\n"),
    }
}

fn parse(text: &str) -> Parsed {
    parse_module(Source::from_text(text))
}

fn replace(pattern: &str, replacement: &str, text: &str) -> String {
    let codemod = Codemod::replace(pattern, replacement).expect("a codemod");
    let parsed = parse(text);
    let outcome = apply_to_file(&parsed, &ModuleName::default(), "a.py", Transformation::Codemod(&codemod));
    outcome.expect("a result").new_text.unwrap_or_else(|| text.to_owned())
}

#[test]
fn line_endings_are_those_of_the_file() {
    assert_eq!(
        replace("a($X)", "b(\n    $X,\n)", "if x:\r\n\ta(\"\"\"\r\n\"\"\")\r\n"),
        "if x:\r\n\tb(\r\n\t    \"\"\"\r\n\"\"\",\r\n\t)\r\n"
    );
}

#[test]
fn hostile_nesting_is_survived() {
    let nested = |depth: usize| format!("{}x{}\n", "f(".repeat(depth), ")".repeat(depth));
    assert_eq!(replace("f($X)", "g($X)", &nested(150)), nested(150).replace("f(", "g("));
    // Deeper than the parser goes: what it could not read is not touched.
    assert_eq!(replace("f($X)", "g($X)", &nested(100_000)), nested(100_000));
    let chain = format!("a{}\n", ".f()".repeat(300));
    assert_eq!(replace("$X.f()", "$X.g()", &chain), chain.replace(".f(", ".g("));
    let sum = format!("x = {}\n", vec!["f(a)"; 1_000].join(" + "));
    assert_eq!(replace("f($X)", "$X | b", &sum), sum.replace("f(a)", "(a | b)"));
}

/// A random expression around calls of `f`.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("a".to_owned()), Just("1".to_owned()), Just("'s'".to_owned())];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            inner.clone().prop_map(|x| format!("f({x})")),
            inner.clone().prop_map(|x| format!("(f({x})).b")),
            inner.clone().prop_map(|x| format!("(not {x})")),
            inner.clone().prop_map(|x| format!("(-{x})")),
            inner.clone().prop_map(|x| format!("(lambda: {x})")),
            inner.clone().prop_map(|x| format!("[x for x in {x} if f({x})]")),
            pair.clone().prop_map(|(x, y)| format!("({x} + f({y}))")),
            pair.clone().prop_map(|(x, y)| format!("({x} ** {y})")),
            pair.clone().prop_map(|(x, y)| format!("({x} or {y})")),
            pair.clone().prop_map(|(x, y)| format!("({x} < {y})")),
            pair.clone().prop_map(|(x, y)| format!("({x} if {y} else f(c))")),
            pair.prop_map(|(x, y)| format!("g({x}, k={y})")),
        ]
    })
}

/// The tree, with `(a or b) or c` as `a or b or c`.
fn shape(text: &str) -> Vec<(Kind, String)> {
    let parsed = parse(text);
    assert!(parsed.is_valid(), "{text}: {:?}", parsed.diagnostics());
    let leaf = |node: Node<'_>| match node.children().next() {
        None => node.text().to_owned(),
        Some(_) => String::new(),
    };
    let operator = |node: Node<'_>| (node.kind() == Kind::BoolOp).then(|| node.attribute("op"));
    let is_joined = |node: &Node<'_>| {
        operator(*node).is_some() && node.parent().is_some_and(|parent| operator(parent) == operator(*node))
    };
    parsed.nodes().filter(|node| !is_joined(node)).map(|node| (node.kind(), leaf(node))).collect()
}

proptest! {
    /// Wherever a replacement lands, it is read as one expression: the same as with parentheses everywhere.
    #[test]
    fn a_replacement_means_what_it_says(text in expressions(), template in prop_oneof![
        Just("$X or b"), Just("$X + b"), Just("b ** $X"), Just("$X ** b"), Just("-$X"), Just("not $X"),
        Just("$X.b"), Just("$X if $X else $X"), Just("lambda: $X"), Just("[$X, *$X]"), Just("$X"), Just("b < $X"),
    ]) {
        let text = format!("x = {text}\n");
        let spaced = template.replace("$X", "($X)");
        let expected = replace("f($X)", &format!("({spaced})"), &text);
        let actual = replace("f($X)", template, &text);
        prop_assert_eq!(shape(&actual), shape(&expected), "{} became {}", text, actual);
    }

    #[test]
    fn replacing_by_the_same_changes_nothing(text in expressions()) {
        let text = format!("x = {text}\n");
        prop_assert_eq!(replace("f($X)", "f($X)", &text), text.clone());
        prop_assert_eq!(replace("f($$$X)", "f($$$X)", &text), text);
    }
}

#[test]
fn a_replacement_by_the_same_code_changes_nothing() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/layout/sample.py");
    let text = fs::read_to_string(path).expect("the sample");
    for pattern in [
        "$F($$$A)",
        "$F($$$A, $K=$V)",
        "$X.$Y",
        "$X[$Y]",
        "[$$$X]",
        "{$$$X}",
        "$X = $Y",
        "$A + $B",
        "not $X",
        "return $X",
        "lambda $$$A: $B",
        "if $C:\n    $$$B",
        "for $X in $Y:\n    $$$B",
        "def $F($$$A):\n    $$$B",
        "class $N:\n    $$$B",
    ] {
        assert_eq!(replace(pattern, pattern, &text), text, "{pattern}");
    }
}
