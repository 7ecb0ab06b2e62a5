//! `specs/capabilities.md`: what scripts can do, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use grail_skills::runnable::Capability;
use grail_skills::runnable::capabilities::{infer_capabilities, uncovered};
use proptest::prelude::*;

const SPEC: &str = include_str!("../../specs/capabilities.md");
const TEMPLATE: &str = include_str!("../../../../skills/python-skill/templates/skill.py");

/// The Python blocks of the specification, with the line on which each begins.
fn blocks() -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut current: Option<(usize, String)> = None;
    for (index, line) in SPEC.lines().enumerate() {
        match (&mut current, line) {
            (None, "```python") => current = Some((index + 2, String::new())),
            (Some(_), "```") => blocks.extend(current.take()),
            (Some((_, text)), line) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks
}

fn expected(script: &str) -> BTreeMap<usize, BTreeSet<String>> {
    let mut lines = BTreeMap::new();
    for (index, line) in script.lines().enumerate() {
        if let Some((_, names)) = line.split_once("# uses: ") {
            lines.insert(index + 1, names.split(',').map(|name| name.trim().to_owned()).collect());
        }
    }
    lines
}

fn found(script: &str) -> BTreeMap<usize, BTreeSet<String>> {
    let mut lines: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for one in infer_capabilities(script, &BTreeSet::new()).uses {
        lines.entry(one.line).or_default().insert(one.capability.to_string());
    }
    lines
}

#[test]
fn every_line_shows_what_the_specification_says() {
    let blocks = blocks();
    assert!(blocks.len() >= 30, "{} scripts", blocks.len());
    let mut differences = String::new();
    for (start, script) in blocks {
        let (expected, found) = (expected(&script), found(&script));
        let lines: BTreeSet<usize> = expected.keys().chain(found.keys()).copied().collect();
        for line in lines.into_iter().filter(|line| expected.get(line) != found.get(line)) {
            let text = script.lines().nth(line - 1).unwrap_or_default();
            let place = start + line - 1;
            writeln!(differences, "specs/capabilities.md:{place}: {text}\n    found {:?}", found.get(&line))
                .unwrap();
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

#[test]
fn the_template_needs_nothing() {
    let found = infer_capabilities(TEMPLATE, &BTreeSet::new());
    assert_eq!(found.uses, []);
    assert_eq!(
        found.standard.iter().map(String::as_str).collect::<Vec<_>>(),
        ["collections", "contextlib", "json", "sys", "typing"]
    );
}

#[test]
fn imports_are_told_apart() {
    let script = "import json, yaml.nodes\nfrom tools import run\nfrom . import other\nimport email.mime.text as text\n";
    let found = infer_capabilities(script, &BTreeSet::from(["tools".to_owned()]));
    let names = |group: &BTreeSet<String>| group.iter().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        (names(&found.standard), names(&found.third_party), names(&found.own)),
        ("email json".into(), "yaml".into(), ". tools".into())
    );
}

/// What one file imports, another one can use under a name that says nothing.
#[test]
fn files_of_one_skill_are_read_with_each_other_in_mind() {
    let own = BTreeSet::from(["skill".to_owned(), "tools".to_owned()]);
    let shown = |script: &str| {
        let found = infer_capabilities(script, &own).capabilities();
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown("import os as o\n"), "dynamic");
    assert_eq!(shown("from os import environ as e\n"), "env:*");
    assert_eq!(shown("from io import open as o\n"), "files:write");
    assert_eq!(shown("import asyncio\nimport json as j\n"), "");
    assert_eq!(shown("import tools\ntools.asyncio.create_subprocess_exec('ls')\n"), "subprocess");
    assert_eq!(shown("from tools import os\nos.remove('a')\n"), "files:write");
}

#[test]
fn a_use_has_its_place() {
    let found = infer_capabilities("import os\n\nx = [os.system]\n", &BTreeSet::new());
    let shown: Vec<String> = found
        .uses
        .iter()
        .map(|one| format!("{}:{} {} {}", one.line, one.column, one.capability, one.by))
        .collect();
    assert_eq!(shown, ["3:6 subprocess os.system"]);
}

#[test]
fn allowing_more_allows_less() {
    let set =
        |names: &[&str]| -> BTreeSet<Capability> { names.iter().map(|name| name.parse().unwrap()).collect() };
    let used = set(&["files:read", "env:HOME", "network"]);
    assert_eq!(uncovered(&used, &set(&["files", "env"])), set(&["network"]));
    assert_eq!(uncovered(&used, &set(&["files:read", "env:LANG", "network"])), set(&["env:HOME"]));
    assert_eq!(uncovered(&set(&["files:write"]), &set(&["files:read"])), set(&["files:write"]));
    assert_eq!(
        "internet".parse::<Capability>().unwrap_err(),
        "`internet` is no capability; there are `network`, `subprocess`, `files:read`, `files:write`, `env:NAME`, `env:*`, `native` and `dynamic`"
    );
}

/// Each of these took time that grew with the square of its length, or more, until names were looked up once.
#[test]
fn long_scripts_are_read_in_one_go() {
    let repeated = |line: &str| line.repeat(200_000 / line.len());
    let numbered = |line: fn(usize) -> String| (0..5_000).map(line).collect::<String>();
    let scripts = [
        repeated("a = a\n"),
        repeated("import os\nos.x\n"),
        repeated("getattr(getattr, getattr)(\n"),
        format!("x{}\n", ".os".repeat(50_000)),
        format!("K = {}\nimport os\n{}", repeated("'a' "), "os.environ[K]\n".repeat(1_000)),
        numbered(|number| format!("import m{number} as x\nx.y\n")),
        numbered(|number| format!("import os\nos.environ['A{number}']\n")),
    ];
    let found: Vec<String> = scripts
        .iter()
        .map(|script| {
            let found = infer_capabilities(script, &BTreeSet::new()).capabilities();
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(found, ["", "", "dynamic", "dynamic", "env:*", "dynamic", "env:*"]);
}

proptest! {
    #[test]
    fn nothing_panics(text in "(?s)(os|getattr|import|environ|open|[ \n(){}\\[\\].,:='\"+a-z]){0,60}") {
        infer_capabilities(&text, &BTreeSet::new());
    }
}
