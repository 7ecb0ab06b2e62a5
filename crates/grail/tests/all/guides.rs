//! Every example in the guides runs.
//!
//! A section of a guide is a project: a fence with a path makes a file, a `console` fence runs commands one after the other and shows
//! exactly what they print. A fence `console python` runs only where there is a Python to run it with.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use regex::Regex;

use crate::approvals::mask_ids;
use crate::scratch::{Scratch, has_python};

#[derive(Default)]
struct Section {
    title: String,
    files: Vec<(String, String)>,
    consoles: Vec<String>,
}

#[test]
fn the_examples_in_the_guides_do_what_they_show() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let guide = fs::read_to_string(&path).unwrap();
        for section in sections(&guide) {
            check(&section, &path);
        }
    }
}

#[test]
fn every_way_a_run_can_end_has_its_page() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/sandbox-outcomes.md");
    let guide = fs::read_to_string(guide).unwrap();
    let pages: Vec<String> = sections(&guide).into_iter().skip(1).map(|section| section.title).collect();
    assert_eq!(
        pages,
        [
            "value",
            "invalid-input",
            "rejected",
            "type-errors",
            "raised",
            "limit-hit",
            "tool-failed",
            "invalid-output",
            "no-worker",
            "worker-crashed",
            "awaiting-approval"
        ]
    );
}

fn check(section: &Section, guide: &Path) {
    if section.consoles.is_empty() {
        return;
    }
    let files: Vec<(&str, &str)> =
        section.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let scratch = Scratch::new(&[&[("grail.toml", "")], &files[..]].concat());
    for console in &section.consoles {
        let mut actual = String::new();
        for line in console.lines().filter_map(|line| line.strip_prefix("$ ")) {
            actual.push_str(&format!("$ {line}\n{}", run(&scratch, line)));
        }
        assert_eq!(&actual, console, "{}: {}", guide.display(), section.title);
    }
}

fn run(scratch: &Scratch, line: &str) -> String {
    let words = split(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["cat", path] => scratch.read(path),
        ["grail", arguments @ ..] => {
            let (arguments, input) = match arguments {
                [arguments @ .., "<", path] => {
                    (arguments, Stdio::from(File::open(scratch.path(path)).unwrap()))
                }
                _ => (arguments, Stdio::null()),
            };
            let output = scratch.command(arguments).stdin(input).output().unwrap();
            mask(&(String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()))
        }
        _ => panic!("a guide can only run `grail` and `cat`, not `{line}`"),
    }
}

/// Ids are made up by chance, hashes follow from what the skills hold, and moments pass.
pub(crate) fn mask(text: &str) -> String {
    const MASKS: [(&str, &str); 6] = [
        (r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}  [0-9a-f]{8}", "MOMENT  EVENT"),
        (r"\d{4}-\d{2}-\d{2}T\S+Z", "MOMENT"),
        (r"\b20\d{2}-\d{2}-\d{2}\b", "YYYY-MM-DD"),
        (r"\b[0-9a-f]{12}([0-9a-f]{4})?\b", "HASH"),
        (r"\bin \d+ ms\b", "in N ms"),
        (r"\babout \d+ min saved\b", "about N min saved"),
    ];
    MASKS.iter().fold(mask_ids(text), |text, (pattern, shown)| {
        Regex::new(pattern).unwrap().replace_all(&text, *shown).into_owned()
    })
}

fn sections(guide: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut open: Option<(String, String)> = None;
    for line in guide.split_inclusive('\n') {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(words)) => open = Some((words.trim().to_owned(), String::new())),
            (Some((_, content)), None) => content.push_str(line),
            (Some(_), Some(_)) => {
                let (words, content) = open.take().unwrap();
                let section = sections.last_mut().unwrap();
                match words.split_once(' ') {
                    None if words == "console" => section.consoles.push(content),
                    Some(("console", "python")) if has_python() => section.consoles.push(content),
                    Some(("console", _)) => {}
                    Some((_, path)) => section.files.push((path.to_owned(), content)),
                    None => {}
                }
            }
            (None, None) => {
                if let Some(title) = line.strip_prefix("## ") {
                    sections.push(Section { title: title.trim().to_owned(), ..Section::default() });
                }
            }
        }
    }
    sections
}

/// Splits a command at spaces, like a shell; single quotes hold words together.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}
