//! Every command the README shows runs, on a copy of the example project it speaks of.

use std::fs;
use std::path::Path;

use crate::scratch::{Scratch, render};

#[test]
fn the_commands_of_the_readme_run() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let readme = fs::read_to_string(repository.join("README.md")).unwrap();
    let scratch = Scratch::new(&[]);
    copy_folder(&repository.join("examples"), &scratch.path("examples"));
    let mut folder = scratch.root().to_owned();
    let mut count = 0;
    for line in readme.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let command = line.split(" #").next().unwrap().trim();
        if let Some(target) = command.strip_prefix("cd ") {
            folder.push(target);
            continue;
        }
        let called = command.strip_prefix("cargo run -p grail -- ").or(command.strip_prefix("grail "));
        let Some(arguments) = called else { continue };
        let arguments = split_words(arguments);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = scratch.command(&arguments).current_dir(&folder).output().unwrap();
        // 1 is a finding, which may be what the README wants to show.
        assert!(matches!(output.status.code(), Some(0 | 1)), "$ {command}\n{}", render(&output));
        count += 1;
    }
    assert!(count >= 4, "the README shows its commands after `$ `");
}

/// Words as a shell splits them, as far as the README needs: blanks and single quotes.
fn split_words(text: &str) -> Vec<String> {
    let parts = text.split('\'').enumerate();
    parts
        .flat_map(|(number, part)| {
            let is_quoted = number % 2 == 1;
            if is_quoted {
                vec![part.to_owned()]
            } else {
                part.split_whitespace().map(str::to_owned).collect()
            }
        })
        .collect()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
