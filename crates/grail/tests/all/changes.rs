//! How every changing command shows, checks and writes its changes.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use grail::changes::{OnProblem, WriteArguments, finish_changes};
use grail::cli::Format;
use grail::files::PathArguments;
use grail::render::Terminal;
use grail_code::{Edit, Span};
use grail_project::{ChangeSet, FileChange};

use crate::scratch::Scratch;

const SHOW: WriteArguments = WriteArguments { write: false, check: false };
const CHECK: WriteArguments = WriteArguments { write: false, check: true };
const WRITE: WriteArguments = WriteArguments { write: true, check: false };

/// One stream for both outputs, so that their order can be seen.
#[derive(Clone, Default)]
struct Screen(Rc<RefCell<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A command that turns the first character of every file into an `x`.
fn run(scratch: &Scratch, format: Format, arguments: WriteArguments, on_problem: OnProblem) -> String {
    let screen = Screen::default();
    let mut terminal = Terminal::with_streams(format, Box::new(screen.clone()), Box::new(screen.clone()));
    let paths = PathArguments { paths: vec![scratch.root().to_owned()], exclude: vec![] };
    let mut files = paths.find().unwrap();
    let changes = files.map("changing", |file, source| {
        FileChange::from_edits(source, file.explicit, vec![Edit::replace(Span::new(0, 1), "x")])
    });
    let changes = ChangeSet::new(changes.into_iter().filter_map(|(_, change)| change).collect());
    let exit = finish_changes(&changes, &files, arguments, on_problem, &mut terminal).unwrap();
    let seen = String::from_utf8(screen.0.borrow().clone()).unwrap();
    let root = format!("{}/", scratch.root().display());
    let seen =
        seen.replace(&format!(" a{root}"), " a/").replace(&format!(" b{root}"), " b/").replace(&root, "");
    let seen = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[36m"]
        .iter()
        .fold(seen, |seen, code| seen.replace(code, ""));
    format!("{seen}exit {exit:?}\n")
}

fn scratch() -> Scratch {
    Scratch::new(&[("grail.toml", ""), ("a.py", "a = 1\n"), ("b.py", "x = 1\n")])
}

const DIFF: &str = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+x = 1\n";

#[test]
fn a_diff_is_shown_and_nothing_written_by_default() {
    let scratch = scratch();
    assert_eq!(
        run(&scratch, Format::Text, SHOW, OnProblem::WriteNothing),
        format!("{DIFF}1 file would change; `--write` applies it\nexit Fine\n")
    );
    assert_eq!(scratch.read("a.py"), "a = 1\n");
}

#[test]
fn check_fails_while_there_are_changes() {
    let scratch = scratch();
    assert_eq!(
        run(&scratch, Format::Text, CHECK, OnProblem::WriteNothing),
        format!("{DIFF}1 file would change; `--write` applies it\nexit Findings\n")
    );
    run(&scratch, Format::Text, WRITE, OnProblem::WriteNothing);
    assert_eq!(run(&scratch, Format::Text, CHECK, OnProblem::WriteNothing), "nothing to change\nexit Fine\n");
}

#[test]
fn write_applies_the_changes() {
    let scratch = scratch();
    assert_eq!(run(&scratch, Format::Text, WRITE, OnProblem::WriteNothing), "changed 1 file\nexit Fine\n");
    assert_eq!(scratch.read("a.py"), "x = 1\n");
}

#[test]
fn json_says_what_was_done() {
    assert_eq!(
        run(&scratch(), Format::Json, WRITE, OnProblem::WriteNothing),
        r#"{
  "changes": [
    {
      "path": "a.py",
      "status": "changed",
      "diff": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+x = 1\n"
    }
  ],
  "written": true,
  "errors": []
}
exit Fine
"#
    );
}

#[test]
fn a_problem_stops_changes_that_belong_together() {
    let scratch = scratch();
    std::fs::write(scratch.path("c.py"), b"\x00").unwrap();
    let problem =
        "error: `c.py` is a binary file (null byte at offset 0)\nhint: only Python source can be read\n";
    assert_eq!(
        run(&scratch, Format::Text, WRITE, OnProblem::WriteNothing),
        format!("{problem}nothing written; 1 file would change\nexit CouldNotRun\n")
    );
    assert_eq!(scratch.read("a.py"), "a = 1\n");
    assert_eq!(
        run(&scratch, Format::Text, WRITE, OnProblem::WriteOthers),
        format!("{problem}changed 1 file\nexit CouldNotRun\n")
    );
    assert_eq!(scratch.read("a.py"), "x = 1\n");
}
