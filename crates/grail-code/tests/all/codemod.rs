//! Codemods against `specs/codemod/*.md`.
//!
//! A case is a `##` heading, a `yaml` block (a codemod, or just one rule), a `python` block, and what comes of it: a `python after` block
//! if the file changes, a `notes` block, or an `error` block.

use std::fs;
use std::path::{Path, PathBuf};

use grail_code::codemod::{Codemod, Transformation, apply_to_file};
use grail_code::{ModuleName, Parsed, Source, parse_module};

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
