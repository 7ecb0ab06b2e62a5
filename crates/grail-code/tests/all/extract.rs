//! Extract function on everything that can be selected: it refuses, or the result parses, and runs as before.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use grail_code::refactor::{RefactorError, Selection, extract_function};
use grail_code::{Kind, ModuleName, Node, Parsed, ProjectFile, Source, Span, edit, parse_module};
use proptest::prelude::*;

/// Runs each program and prints what it printed, or how it failed, as one line of JSON.
const DRIVER: &str = r#"
import contextlib, io, json, sys
for text in json.load(sys.stdin):
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            exec(compile(text, "program", "exec"), {"__name__": "__main__"})
    except BaseException as error:
        output.write(f"{type(error).__name__}: {error}")
    print(json.dumps(output.getvalue()))
"#;

fn programs() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/refactor/programs");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("programs").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a program");
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

fn project_file(text: &str) -> ProjectFile {
    let parsed = parse_module(Source::from_text(text));
    ProjectFile { path: "program.py".to_owned(), module: ModuleName::module("program"), parsed }
}

/// Every run of statements in a block, and every expression.
fn selections(parsed: &Parsed) -> Vec<Span> {
    let mut spans = Vec::new();
    for node in parsed.nodes() {
        if node.kind().is_statement() {
            let siblings: Vec<Node<'_>> = node
                .parent()
                .into_iter()
                .flat_map(|parent| parent.list(node.field()).filter(|other| other.kind().is_statement()))
                .skip_while(|other| *other != node)
                .take(4)
                .collect();
            spans.extend(siblings.iter().map(|last| Span::new(node.span().start, last.span().end)));
        } else if node.kind().is_expression() && node.kind() != Kind::Name {
            spans.push(node.span());
        }
    }
    spans.sort();
    spans.dedup();
    spans
}

fn extracted(file: &ProjectFile, span: Span) -> Result<String, RefactorError> {
    let extraction = extract_function(file, Selection::Span(span), "extracted")?;
    Ok(edit::apply(file.parsed.text(), extraction.edits).expect("no conflict"))
}

#[test]
fn programs_run_as_before_whatever_is_extracted() {
    for (path, text) in programs() {
        let file = project_file(&text);
        assert!(file.parsed.is_valid());
        let mut variants = vec![text.clone()];
        let mut selected = vec![Span::at(0)];
        for span in selections(&file.parsed) {
            if let Ok(after) = extracted(&file, span) {
                let parsed = parse_module(Source::from_text(after.as_str()));
                assert!(parsed.is_valid(), "{}\n{after}\n{:?}", path.display(), parsed.diagnostics());
                variants.push(after);
                selected.push(span);
            }
        }
        assert!(variants.len() > 100, "{} selections can be extracted", variants.len());
        let Some(outputs) = run(&variants) else { return };
        for (index, output) in outputs.iter().enumerate() {
            let span = selected[index];
            assert_eq!(
                *output,
                outputs[0],
                "{}: extracting\n{}\ngives\n{}",
                path.display(),
                span.of(&text),
                variants[index]
            );
        }
    }
}

/// What the programs print; `None` on a machine without a Python that knows `match`.
fn run(programs: &[String]) -> Option<Vec<String>> {
    let known =
        Command::new("python3").args(["-c", "import sys; assert sys.version_info >= (3, 10)"]).output();
    if !known.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut child = Command::new("python3")
        .args(["-c", DRIVER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let input = serde_json::to_vec(programs).expect("strings are JSON");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("python3 ends");
    writer.join().expect("no panic").expect("python3 reads");
    let outputs: Vec<String> =
        String::from_utf8(output.stdout).expect("JSON is UTF-8").lines().map(str::to_owned).collect();
    assert_eq!(outputs.len(), programs.len());
    Some(outputs)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_range_is_refused_or_gives_code_that_parses(
        pick in any::<prop::sample::Index>(),
        start in any::<prop::sample::Index>(),
        length in 0_u32..400,
    ) {
        let programs = programs();
        let (_, text) = pick.get(&programs);
        let file = project_file(text);
        let start = start.index(text.len()) as u32;
        if let Ok(after) = extracted(&file, Span::new(start, start + length)) {
            prop_assert!(parse_module(Source::from_text(after.as_str())).is_valid(), "{after}");
        }
    }
}

/// The standard library, where there is one: a sample of its modules and their selections.
#[test]
fn the_standard_library_still_parses() {
    let asked = Command::new("python3")
        .args(["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"])
        .output();
    let Ok(answer) = asked else { return };
    let folder = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
    let mut extractions = 0;
    for name in ["textwrap.py", "shlex.py", "queue.py", "asyncio/locks.py"] {
        let Ok(text) = std::fs::read_to_string(folder.join(name)) else { return };
        let file = project_file(&text);
        let spans = selections(&file.parsed);
        for span in spans.iter().step_by(spans.len() / 60 + 1) {
            if let Ok(after) = extracted(&file, *span) {
                let parsed = parse_module(Source::from_text(after.as_str()));
                assert!(parsed.is_valid(), "{name}: {}\n{:?}", span.of(&text), parsed.diagnostics());
                extractions += 1;
            }
        }
    }
    assert!(extractions > 100, "{extractions}");
}
