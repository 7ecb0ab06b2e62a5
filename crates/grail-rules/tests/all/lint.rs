//! The lint layer: ruff's findings in our places, and nothing that is not ruff's contract taken for a pass.

use grail_code::edit;
use grail_code::{Position, Source};
use grail_rules::layers::{LayerReport, LayerStatus, lint};
use grail_rules::{Finding, Layer, Safety, Severity};

use crate::tool_project::{ToolProject, paths};

/// What a `ruff` that does this makes of the layer.
fn failure_with(script: &str) -> String {
    let project = ToolProject::new(&[("a.py", "import os\n")]).fake("ruff", script);
    let report = lint::run(&project.context(), &paths(&["a.py"]));
    assert!(report.findings.is_empty());
    match report.status {
        LayerStatus::Failed { message, .. } => message,
        other => panic!("{script}: {other:?}"),
    }
}

#[test]
fn nothing_but_ruffs_contract_is_a_pass() {
    let entry = r#"{"code":"F401","filename":"a.py","message":"m","fix":null,"location":{"row":1,"column":1},"end_location":{"row":1,"column":2}}"#;
    let cases = [
        ("exit 0", "`ruff` wrote no output (exit code 0)"),
        ("exit 1", "`ruff` wrote no output (exit code 1)"),
        ("echo; echo why >&2; exit 1", "`ruff` wrote no output (exit code 1): why"),
        ("echo bad option >&2; exit 2", "`ruff` failed with exit code 2: bad option"),
        ("echo '[]'; exit 2", "`ruff` failed with exit code 2"),
        ("echo '[]'; exit 101", "`ruff` failed with exit code 101"),
        ("echo '[]'; exit 1", "`ruff` ended with exit code 1 but reported nothing"),
        (
            "echo 'All checks passed!'",
            "the output of `ruff` is not what it should be: expected value at line 1 column 1",
        ),
        (
            "echo '{}'",
            "the output of `ruff` is not what it should be: invalid type: map, expected a sequence at line 1 column 0",
        ),
        (
            "echo '[{}]'; exit 1",
            "the output of `ruff` is not what it should be: missing field `filename` at line 1 column 3",
        ),
        (
            "echo '[] []'",
            "the output of `ruff` is not what it should be: trailing characters at line 1 column 4",
        ),
        (
            "printf '\\377\\376[]'",
            "the output of `ruff` is not what it should be: expected value at line 1 column 1",
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(failure_with(script), expected, "{script}");
    }
    let with_entry = format!("echo '[{entry}]'");
    assert_eq!(failure_with(&with_entry), "`ruff` ended with exit code 0 but reported 1 findings");
}

#[test]
fn a_missing_ruff_is_said_with_what_to_do() {
    let report = lint::run(&ToolProject::new(&[]).context(), &paths(&["a.py"]));
    let hint = "install it with `uv add --dev ruff` or `pip install ruff`".to_owned();
    assert_eq!(report.status, LayerStatus::Unavailable { tool: "ruff".to_owned(), hint });
    assert!(!report.is_failed());
}

#[test]
fn without_files_there_is_nothing_to_do() {
    let report = lint::run(&ToolProject::new(&[]).context(), &[]);
    assert_eq!(report, LayerReport::skipped(Layer::Lint, "there are no files to check"));
    assert_eq!(
        serde_json::to_string(&report).unwrap(),
        r#"{"layer":"lint","status":"skipped","reason":"there are no files to check"}"#
    );
}

#[test]
fn a_place_that_the_text_does_not_have_is_kept_without_a_span() {
    let entry = r#"{"code":null,"filename":"a.py","message":"m","location":{"row":9,"column":1},"end_location":{"row":9,"column":2},"fix":{"applicability":"safe","message":null,"edits":[{"content":"","location":{"row":9,"column":1},"end_location":{"row":9,"column":2}}]}}"#;
    let project =
        ToolProject::new(&[("a.py", "import os\n")]).fake("ruff", &format!("echo '[{entry}]'; exit 1"));
    let findings = lint::run(&project.context(), &paths(&["a.py"])).findings;
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((&*finding.rule, finding.span, &finding.fix), ("invalid-syntax", None, &None));
    assert_eq!(finding.start, Position { line: 9, column: 1 });
}

#[test]
fn files_that_were_not_asked_about_are_not_read() {
    let entry = r#"{"code":"X1","filename":"../../secret.py","message":"m","fix":null,"location":{"row":1,"column":1},"end_location":{"row":1,"column":2}}"#;
    let project =
        ToolProject::new(&[("a.py", "import os\n")]).fake("ruff", &format!("echo '[{entry}]'; exit 1"));
    let findings = lint::run(&project.context(), &paths(&["a.py"])).findings;
    assert_eq!((&*findings[0].path, findings[0].span), ("../../secret.py", None));
}

/// Files on which real ruff finds one unused import each, and everything that can shift a column.
const SHIFTED: [(&str, &[u8]); 7] = [
    ("bom.py", b"\xef\xbb\xbfimport os\n"),
    ("carriage.py", b"x = 1\rimport os\r"),
    ("crlf.py", "x = \"é\"; import os\r\ny = 1\r\n".as_bytes()),
    ("feed.py", b"x = 1\n\x0cimport os\n"),
    ("plane.py", "x = \"😀é\"; import os\n".as_bytes()),
    ("tab.py", "def f():\n\tx = \"😀\"; import os\n\treturn x\n".as_bytes()),
    ("unended.py", b"x = 1\nimport os"),
];

#[test]
fn real_places_and_fixes_survive_every_way_to_shift_a_column() {
    let Some(project) = ToolProject::with_real("ruff", &[("ruff.toml", "lint.select = [\"F401\"]\n")]) else {
        return;
    };
    SHIFTED.iter().for_each(|(path, bytes)| project.write(path, bytes));
    let report = lint::run(&project.context(), &paths(&SHIFTED.map(|(path, _)| path)));
    let LayerStatus::Ran { tool: Some(tool), findings: 7, .. } = &report.status else {
        panic!("{:?}", report.status)
    };
    assert!(tool.starts_with("ruff 0."), "{tool}");
    for (finding, (path, bytes)) in report.findings.iter().zip(SHIFTED) {
        let source = Source::from_bytes(bytes).unwrap();
        assert_eq!((&*finding.path, &*finding.rule, finding.layer), (path, "F401", Layer::Lint));
        let span = finding.span.unwrap();
        assert_eq!(span.of(source.text()), "os", "{path}");
        assert_eq!((source.position(span.start), source.position(span.end)), (finding.start, finding.end));
        let fix = finding.fix.clone().unwrap();
        assert_eq!((fix.safety, fix.title.as_str()), (Safety::Safe, "Remove unused import: `os`"));
        let fixed = edit::apply(source.text(), fix.edits).unwrap();
        assert!(!fixed.contains("os"), "{path}: {fixed:?}");
    }
}

fn shown(findings: &[Finding]) -> Vec<String> {
    let show = |finding: &Finding| {
        let Finding { path, rule, start, severity, .. } = finding;
        format!("{path}:{}:{}: {severity} {rule}", start.line, start.column)
    };
    findings.iter().map(show).collect()
}

#[test]
fn real_syntax_errors_unreadable_files_and_template_strings() {
    let Some(project) = ToolProject::with_real("ruff", &[("ruff.toml", "lint.select = [\"E9\", \"F\"]\n")])
    else {
        return;
    };
    project.write("broken.py", b"def f(:\n");
    project.write("latin.py", b"# coding: latin-1\nx = '\xe9'\n");
    project.write("template.py", b"name = 'x'\nprint(t'<b>{name}</b>')\n");
    // Names that must not be taken for a list of arguments or an option.
    project.write("@list.py", b"import os\n");
    project.write("--fix", b"import os\n");
    let report =
        lint::run(&project.context(), &paths(&["template.py", "latin.py", "@list.py", "--fix", "broken.py"]));
    assert_eq!(
        shown(&report.findings),
        [
            "--fix:1:8: error F401",
            "@list.py:1:8: error F401",
            "broken.py:1:7: error invalid-syntax",
            "broken.py:2:1: error invalid-syntax",
            "latin.py:1:1: error E902",
        ]
    );
    assert!(report.findings.iter().all(|finding| finding.severity == Severity::Error));
}

#[test]
fn real_lists_of_files_longer_than_a_command_line() {
    let Some(project) = ToolProject::with_real("ruff", &[("ruff.toml", "lint.select = [\"F401\"]\n")]) else {
        return;
    };
    let names: Vec<String> =
        (0..600).map(|number| format!("folder with a long name/module {number:04}.py")).collect();
    names.iter().for_each(|name| project.write(name, b"x = 1\n"));
    project.write(&names[599], b"import os\n");
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let report = lint::run(&project.context(), &paths(&all));
    assert_eq!(shown(&report.findings), ["folder with a long name/module 0599.py:1:8: error F401"]);
}

#[test]
fn real_ruff_refuses_a_broken_configuration() {
    let Some(project) =
        ToolProject::with_real("ruff", &[("ruff.toml", "lint.select = [\"NOPE\"]\n"), ("a.py", "")])
    else {
        return;
    };
    let report = lint::run(&project.context(), &paths(&["a.py"]));
    assert!(
        matches!(&report.status, LayerStatus::Failed { message, .. } if message.starts_with("`ruff` failed with exit code 2: ")),
        "{:?}",
        report.status
    );
}
