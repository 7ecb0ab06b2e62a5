//! The types layer: ty's findings in our places, and nothing that is not ty's contract taken for a pass.

use grail_code::Source;
use grail_rules::layers::{LayerStatus, types};
use grail_rules::{Finding, Layer};

use crate::tool_project::{ToolProject, paths};

fn entry(severity: &str) -> String {
    format!(
        r#"{{"check_name":"some-rule","description":"some-rule: text","severity":"{severity}","fingerprint":"0","location":{{"path":"a.py","positions":{{"begin":{{"line":1,"column":1}},"end":{{"line":1,"column":2}}}}}}}}"#
    )
}

fn status_with(script: &str) -> LayerStatus {
    let project = ToolProject::new(&[("a.py", "import os\n")]).fake("ty", script);
    types::run(&project.context(), &paths(&["a.py"])).status
}

#[test]
fn nothing_but_the_contract_is_a_pass() {
    let array = |severity: &str, code: u8| format!("echo '[{}]'; exit {code}", entry(severity));
    let cases = [
        ("exit 0".to_owned(), "`ty` wrote no output (exit code 0)"),
        ("exit 1".to_owned(), "`ty` wrote no output (exit code 1)"),
        ("echo unknown option >&2; exit 2".to_owned(), "`ty` failed with exit code 2: unknown option"),
        ("echo '[]'; exit 1".to_owned(), "`ty` ended with exit code 1 but reported nothing"),
        ("echo '[]'; exit 2".to_owned(), "`ty` failed with exit code 2"),
        ("echo '[]'; exit 101".to_owned(), "`ty` failed with exit code 101"),
        (
            "echo 'All checks passed!'".to_owned(),
            "the output of `ty` is not what it should be: expected value at line 1 column 1",
        ),
        (array("major", 0), "`ty` ended with exit code 0 but reported 1 findings"),
        (array("minor", 0), "`ty` ended with exit code 0 but reported 1 findings"),
        (array("info", 1), "`ty` ended with exit code 1 but reported nothing"),
        (array("major", 2), "`ty` failed with exit code 2"),
        (array("huge", 1), "the output of `ty` is not what it should be: unknown severity `huge`"),
    ];
    for (script, expected) in cases {
        match status_with(&script) {
            LayerStatus::Failed { message, .. } => assert_eq!(message, expected, "{script}"),
            other => panic!("{script}: {other:?}"),
        }
    }
    assert!(matches!(status_with("echo '[]'"), LayerStatus::Ran { findings: 0, .. }));
    assert!(matches!(status_with(&array("info", 0)), LayerStatus::Ran { findings: 1, .. }));
    assert!(matches!(status_with(&array("minor", 1)), LayerStatus::Ran { findings: 1, .. }));
}

fn shown(findings: &[Finding]) -> Vec<String> {
    let show = |finding: &Finding| {
        let Finding { path, rule, start, severity, message, .. } = finding;
        format!("{path}:{}:{}: {severity} {rule}: {message}", start.line, start.column)
    };
    findings.iter().map(show).collect()
}

#[test]
fn real_findings_have_their_places_whatever_shifts_columns() {
    let Some(project) = ToolProject::with_real("ty", &[]) else {
        return;
    };
    let files: [(&str, &[u8]); 4] = [
        ("bom.py", "\u{feff}x = 'é'; nope\n".as_bytes()),
        ("crlf.py", "x = 1\r\ny = '😀'; nope\r\n".as_bytes()),
        ("plane.py", "x = '😀é'; nope\n".as_bytes()),
        ("tab.py", "def f():\n\tx = '😀'; nope\n".as_bytes()),
    ];
    files.iter().for_each(|(path, bytes)| project.write(path, bytes));
    let report = types::run(&project.context(), &paths(&files.map(|(path, _)| path)));
    assert!(matches!(&report.status, LayerStatus::Ran { findings: 4, .. }), "{:?}", report.status);
    for (finding, (path, bytes)) in report.findings.iter().zip(files) {
        let source = Source::from_bytes(bytes).unwrap();
        assert_eq!(
            (&*finding.path, &*finding.rule, finding.layer),
            (path, "unresolved-reference", Layer::Types)
        );
        let span = finding.span.unwrap();
        assert_eq!(span.of(source.text()), "nope", "{path}");
        assert_eq!((source.position(span.start), source.position(span.end)), (finding.start, finding.end));
    }
}

#[test]
fn real_severities_versions_and_files_that_cannot_be_read() {
    let Some(project) = ToolProject::with_real("ty", &[]) else {
        return;
    };
    project.write("broken.py", b"x: int = 'a'\n");
    project.write("latin.py", b"# coding: latin-1\nx = '\xe9'\n");
    project.write("revealed.py", b"reveal_type(1)\n");
    // The environment's Python is older than template strings; the project's target is not.
    project.write("template.py", b"from string.templatelib import Template\n\nx: Template = t'a'\n");
    let report =
        types::run(&project.context(), &paths(&["broken.py", "latin.py", "revealed.py", "template.py"]));
    assert_eq!(
        shown(&report.findings),
        [
            "broken.py:1:10: error invalid-assignment: Object of type `Literal[\"a\"]` is not assignable to `int`",
            "latin.py:1:1: error io: Failed to read file: stream did not contain valid UTF-8",
            "revealed.py:1:1: warning undefined-reveal: `reveal_type` used without importing it",
            "revealed.py:1:13: info revealed-type: Revealed type: `Literal[1]`",
        ]
    );
}

#[test]
fn real_libraries_of_the_projects_environment_are_known() {
    let Some(project) = ToolProject::with_real("ty", &[]) else {
        return;
    };
    project.write("a.py", b"import svcs\n\nx: int = svcs.Registry()\n");
    let report = types::run(&project.context(), &paths(&["a.py"]));
    assert_eq!(
        shown(&report.findings),
        ["a.py:3:10: error invalid-assignment: Object of type `Registry` is not assignable to `int`"]
    );
}
