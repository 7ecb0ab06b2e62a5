//! Many files at once: order, isolation, and changes that are refused.

use std::path::PathBuf;
use std::sync::Mutex;

use grail_code::{Edit, Span};
use grail_project::{FileChange, ProjectError, PythonFile, map_sources, read_source};

use crate::scratch::Scratch;

fn change(text: &str, edits: Vec<Edit>) -> Result<Option<String>, String> {
    let scratch = Scratch::new(&[("a.py", text)]);
    let file = read_source(&scratch.path("a.py"), 1000).unwrap();
    match FileChange::from_edits(file, false, edits) {
        Ok(change) => Ok(change.and_then(|change| change.after).map(|after| after.text)),
        Err(error) => Err(scratch.report(&error)),
    }
}

#[test]
fn results_come_in_order_and_a_failure_belongs_to_its_file() {
    let names: Vec<String> = (0..40).map(|number| format!("m{number:02}.py")).collect();
    let texts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a = 1\n")).collect();
    let scratch = Scratch::new(&texts);
    scratch.write("m07.py", b"\x00");
    let files: Vec<PythonFile> =
        names.iter().map(|name| PythonFile { path: scratch.path(name), explicit: false }).collect();
    let progress = Mutex::new(Vec::new());
    let outcomes = map_sources(&files, 1000, &|done| progress.lock().unwrap().push(done), |file, source| {
        assert!(!file.path.ends_with("m23.py"), "the work fails here");
        Ok(source.source.text().len())
    });
    let paths: Vec<PathBuf> = outcomes.iter().map(|outcome| outcome.path.clone()).collect();
    assert_eq!(paths, files.iter().map(|file| file.path.clone()).collect::<Vec<_>>());
    let failures: Vec<String> = outcomes
        .iter()
        .filter_map(|outcome| outcome.result.as_ref().err())
        .map(|error| scratch.report(error))
        .collect();
    assert_eq!(
        failures,
        [
            "error: `ROOT/m07.py` is a binary file (null byte at offset 0)\nhint: only Python source can be read\n",
            "error: working on `ROOT/m23.py` failed: the work fails here\nhint: this is a bug in Grail; the other files \
             are not affected\n"
        ]
    );
    let mut heard = progress.into_inner().unwrap();
    heard.sort_unstable();
    assert_eq!(heard, (1..=40).collect::<Vec<_>>());
}

#[test]
fn work_may_recurse_deeply() {
    fn depth(level: usize) -> usize {
        let frame = [level; 64];
        if level == 0 { 0 } else { depth(std::hint::black_box(&frame)[3] - 1) + 1 }
    }
    let scratch = Scratch::new(&[("a.py", "")]);
    let files = [PythonFile { path: scratch.path("a.py"), explicit: true }];
    let outcomes = map_sources(&files, 1000, &|_| (), |_, _| Ok(depth(10_000)));
    assert_eq!(outcomes[0].result.as_ref().ok(), Some(&10_000));
}

#[test]
fn edits_become_a_new_text() {
    let edits = vec![Edit::insert(6, "b = 2\n"), Edit::replace(Span::new(4, 5), "10")];
    assert_eq!(change("a = 1\nc = 3\n", edits), Ok(Some("a = 10\nb = 2\nc = 3\n".to_owned())));
}

#[test]
fn edits_that_change_nothing_are_no_change() {
    assert_eq!(change("a = 1\n", vec![]), Ok(None));
    assert_eq!(change("a = 1\n", vec![Edit::replace(Span::new(0, 1), "a")]), Ok(None));
}

#[test]
fn overlapping_edits_are_refused() {
    let edits = vec![Edit::replace(Span::new(0, 3), "x"), Edit::replace(Span::new(2, 5), "y")];
    assert_eq!(
        change("a = 1\n", edits),
        Err("error: cannot change `ROOT/a.py`: two changes overlap: bytes 0..3 and 2..5\n".to_owned())
    );
}

#[test]
fn a_change_that_breaks_the_syntax_is_refused() {
    assert_eq!(
        change("a = 1\nb = 2\n", vec![Edit::replace(Span::new(10, 11), "(")]),
        Err("error: the change would break `ROOT/a.py:3:1`: unexpected EOF while parsing\nhint: nothing was written; \
             this is a bug in the codemod\n"
            .to_owned())
    );
}

#[test]
fn a_file_that_was_broken_may_stay_broken() {
    assert_eq!(change("a = (\n", vec![Edit::replace(Span::new(0, 1), "b")]), Ok(Some("b = (\n".to_owned())));
}

#[test]
fn a_created_file_must_parse() {
    let refused = FileChange::create(PathBuf::from("new.py"), "def\n".to_owned(), false);
    assert!(matches!(refused, Err(ProjectError::BreaksSyntax { line: 1, column: 4, .. })), "{refused:?}");
}
