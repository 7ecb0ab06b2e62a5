//! The tests layer: failed tests at their lines, every exit code with its meaning, and the two runners.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use grail_project::Project;
use grail_rules::Finding;
use grail_rules::layers::tests::{self, Runner, TestSettings, choose_runner, split_command};
use grail_rules::layers::{LayerReport, LayerStatus};

use crate::tool_project::{ToolProject, paths, skip};

const TESTS: &str = r#"import pytest


def test_passes():
    assert True


@pytest.mark.parametrize("number", [1, 2])
def test_fails(number):
    doubled = number * 2
    assert doubled == 4, "<not> & four"


class TestGroup:
    @pytest.fixture
    def broken(self):
        raise ValueError("first\nsecond")

    def test_calls(self):
        raise_it()

    def test_uses(self, broken):
        pass


def raise_it():
    raise KeyError("\x1b[31m red \x00")


@pytest.mark.xfail(strict=True)
def test_was_expected_to_fail():
    pass
"#;

fn local() -> TestSettings {
    TestSettings { runner: Runner::Local, ..TestSettings::default() }
}

fn shown(report: &LayerReport) -> Vec<String> {
    let show = |finding: &Finding| {
        let Finding { path, rule, start, message, .. } = finding;
        format!("{path}:{}:{}: {rule}: {message}", start.line, start.column)
    };
    report.findings.iter().map(show).collect()
}

fn message_of(report: &LayerReport) -> &str {
    match &report.status {
        LayerStatus::Failed { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn real_failures_are_found_at_their_lines() {
    let Some(project) = ToolProject::with_real("pytest", &[("tests/test_all.py", TESTS)]) else {
        return;
    };
    let report = tests::run(&project.context(), &local(), &paths(&["tests/test_all.py"]));
    assert_eq!(
        shown(&report),
        [
            "tests/test_all.py:11:5: test-failed: `test_fails[1]` failed: AssertionError: <not> & four; assert 2 == 4",
            "tests/test_all.py:17:9: test-error: `TestGroup.test_uses` broke: failed on setup with \"ValueError: first; second\"",
            "tests/test_all.py:20:9: test-failed: `TestGroup.test_calls` failed: KeyError: '\\x1b[31m red \\x00'",
            "tests/test_all.py:30:1: test-failed: `test_was_expected_to_fail` failed: [XPASS(strict)]",
        ]
    );
    let marked = report.findings[0].span.unwrap().of(TESTS);
    assert_eq!(marked, "assert doubled == 4, \"<not> & four\"");
    assert!(
        matches!(&report.status, LayerStatus::Ran { tool: Some(tool), findings: 4, .. } if tool.starts_with("pytest "))
    );
}

#[test]
fn real_files_that_cannot_be_collected_are_findings() {
    let files = [
        ("tests/test_import.py", "import os\nimport no_such_module\n"),
        ("tests/test_syntax.py", "x = 1\ndef f(:\n"),
    ];
    let Some(project) = ToolProject::with_real("pytest", &files) else {
        return;
    };
    let report = tests::run(&project.context(), &local(), &paths(&files.map(|(path, _)| path)));
    assert_eq!(
        shown(&report),
        [
            "tests/test_import.py:2:1: collection-error: `tests/test_import.py` could not be collected: ModuleNotFoundError: No module named 'no_such_module'",
            "tests/test_syntax.py:2:1: collection-error: `tests/test_syntax.py` could not be collected: SyntaxError: invalid syntax",
        ]
    );
}

#[test]
fn real_exit_codes_have_meanings() {
    let Some(project) = ToolProject::with_real("pytest", &[("test_a.py", "def test_a(): pass\n")]) else {
        return;
    };
    let with = |words: &[&str]| {
        let command = words.iter().map(|&word| word.to_owned()).collect();
        tests::run(&project.context(), &TestSettings { command, ..local() }, &[])
    };
    let passed = with(&["pytest"]);
    assert!(matches!(passed.status, LayerStatus::Ran { findings: 0, .. }), "{:?}", passed.status);
    let by_module = with(&["python", "-m", "pytest", "-q"]);
    assert!(matches!(by_module.status, LayerStatus::Ran { findings: 0, .. }), "{:?}", by_module.status);
    let none = with(&["pytest", "-k", "nothing"]);
    assert!(
        matches!(&none.status, LayerStatus::Skipped { reason } if reason.ends_with("` found no tests")),
        "{:?}",
        none.status
    );
    let usage = with(&["pytest", "--no-such-option"]);
    assert!(message_of(&usage).contains("the command line was not understood"), "{}", message_of(&usage));
}

/// A `pytest` that writes this report and ends with this code.
fn with_report(report: &str, code: u8) -> LayerReport {
    let project = ToolProject::new(&[("report.txt", report)]);
    let script = format!(
        "for word in \"$@\"; do case $word in --junitxml=*) cat report.txt > \"${{word#--junitxml=}}\";; esac; done; exit {code}"
    );
    let project = project.fake("pytest", &script);
    tests::run(&project.context(), &local(), &[])
}

#[test]
fn nothing_but_a_report_that_agrees_with_the_exit_code_is_a_pass() {
    let suite = |inner: &str| format!("<testsuites><testsuite>{inner}</testsuite></testsuites>");
    let passed = "<testcase name=\"a\" file=\"a.py\" line=\"0\"/>";
    let failed = "<testcase name=\"a\" file=\"a.py\" line=\"0\"><failure message=\"no\"/></testcase>";
    let cases = [
        (suite(""), 0, "the output of `pytest 1.2.3` is not what it should be: the report has no tests"),
        (suite(failed), 0, "`pytest 1.2.3` ended with exit code 0 but reported 1 findings"),
        (suite(passed), 1, "`pytest 1.2.3` ended with exit code 1 but reported nothing"),
        (suite(passed), 2, "`pytest 1.2.3`: the tests were interrupted"),
        (suite(passed), 3, "`pytest 1.2.3`: an internal error happened while the tests ran"),
        (suite(passed), 4, "`pytest 1.2.3`: the command line was not understood"),
        (suite(passed), 77, "`pytest 1.2.3` failed with exit code 77"),
        (String::new(), 0, "the output of `pytest 1.2.3` is not what it should be: it holds no test suite"),
        (
            "<html></html>".to_owned(),
            0,
            "the output of `pytest 1.2.3` is not what it should be: it holds no test suite",
        ),
        (
            "<testsuites><testsuite>".to_owned(),
            0,
            "the output of `pytest 1.2.3` is not what it should be: it ends in the middle",
        ),
        (
            format!("<!DOCTYPE x [<!ENTITY a \"b\">]>{}", suite(passed)),
            0,
            "the output of `pytest 1.2.3` is not what it should be: a document type has no business in a report",
        ),
    ];
    for (report, code, expected) in cases {
        assert_eq!(message_of(&with_report(&report, code)), expected, "{report} {code}");
    }
    assert_eq!(shown(&with_report(&suite(failed), 1)), ["a.py:1:1: test-failed: `a` failed: no"]);
    assert!(matches!(with_report(&suite(passed), 0).status, LayerStatus::Ran { findings: 0, .. }));
}

#[test]
fn a_pytest_without_a_report_has_failed() {
    for (script, expected) in [
        ("exit 0", "`pytest 1.2.3` wrote no output (exit code 0)"),
        ("echo boom >&2; exit 1", "`pytest 1.2.3` failed with exit code 1: boom"),
    ] {
        let project = ToolProject::new(&[]).fake("pytest", script);
        assert_eq!(message_of(&tests::run(&project.context(), &local(), &[])), expected);
    }
}

#[test]
fn tests_that_hang_are_ended() {
    let project = ToolProject::new(&[]).fake("pytest", "tail -f /dev/null");
    let settings = TestSettings { deadline: Duration::from_millis(300), ..local() };
    let report = tests::run(&project.context(), &settings, &[]);
    assert_eq!(message_of(&report), "`pytest` had not ended after 0.3 seconds and was stopped");
}

#[test]
fn of_another_command_only_the_exit_code_counts() {
    let project =
        ToolProject::new(&[]).fake("check-all", "echo one; echo two; echo; echo three; echo four; exit $1");
    let with = |code: &str| {
        let command = vec!["check-all".to_owned(), code.to_owned()];
        tests::run(&project.context(), &TestSettings { command, ..local() }, &[])
    };
    assert!(matches!(with("0").status, LayerStatus::Ran { findings: 0, .. }));
    assert_eq!(
        shown(&with("9")),
        [":1:1: tests-failed: `check-all 9` failed with exit code 9: two; three; four"]
    );
    project.program("scripts/own", "#!/bin/sh\nexit 0\n");
    let command = vec!["scripts/own".to_owned()];
    let own = tests::run(&project.context(), &TestSettings { command, ..local() }, &[]);
    assert!(matches!(own.status, LayerStatus::Ran { findings: 0, .. }));
}

#[test]
fn a_missing_pytest_is_said_with_what_to_do() {
    let report = tests::run(&ToolProject::new(&[]).context(), &local(), &[]);
    let hint = "install it with `uv add --dev pytest` or `pip install pytest`".to_owned();
    assert_eq!(report.status, LayerStatus::Unavailable { tool: "pytest".to_owned(), hint });
}

#[test]
fn commands_are_split_at_spaces_and_never_by_a_shell() {
    let words = |text: &str| split_command(text).map(|words| words.join("|"));
    assert_eq!(words(" pytest -q  tests ").as_deref(), Some("pytest|-q|tests"));
    for text in ["", "pytest -k 'a or b'", "a && b", "echo $HOME", "rm *"] {
        assert_eq!(words(text), None, "{text}");
    }
}

#[test]
fn template_strings_on_an_old_interpreter_choose_wasm() {
    let with = |configuration: &str, code: &str, command: &str| {
        let project = ToolProject::new(&[(".venv/pyvenv.cfg", configuration), ("a.py", code)]);
        let settings = TestSettings { command: split_command(command).unwrap(), ..TestSettings::default() };
        choose_runner(&project.context(), &settings, &paths(&["a.py", "missing.py"]))
    };
    let template = "x = t'{1}'\n";
    assert_eq!(with("version = 3.11.7\n", template, "pytest"), Runner::Wasm);
    assert_eq!(with("version_info = 3.13.1.final.0\n", "x = rT\"a\"\n", "pytest"), Runner::Wasm);
    assert_eq!(with("version = 3.14.0\n", template, "pytest"), Runner::Local);
    assert_eq!(with("version = 3.11.7\n", "x = f'{1}'; y = 'that t'\n", "pytest"), Runner::Local);
    assert_eq!(with("version = 3.11.7\n", template, "just test"), Runner::Local);
}

fn wasm() -> TestSettings {
    TestSettings { runner: Runner::Wasm, ..TestSettings::default() }
}

/// The runner's own files, without Python: enough for a Node that is none.
fn install_runner(project: &ToolProject) {
    let runners = Path::new(env!("CARGO_MANIFEST_DIR")).join("runners");
    for name in ["inside.mjs", "local.py", "quiet_loop.py", "wasm.mjs"] {
        project
            .write(&format!(".grail/runtimes/wasm/runners/{name}"), &fs::read(runners.join(name)).unwrap());
    }
}

#[test]
fn a_runner_that_is_not_ours_is_not_started() {
    let project = ToolProject::new(&[]);
    install_runner(&project);
    project.write(".grail/runtimes/wasm/runners/wasm.mjs", b"process.exit(0)");
    project.program("bin/node", "#!/bin/sh\necho v24.0.0\n");
    let mut context = project.context();
    context.tools.search_path = Some(project.root().join("bin").into_os_string());
    let report = tests::run(&context, &wasm(), &[]);
    let message = message_of(&report);
    assert!(message.ends_with("runners/wasm.mjs` is not the runner of this version of Grail"), "{message}");
}

#[test]
fn settings_come_from_the_projects_configuration() {
    let with = |text: &str| {
        let project = ToolProject::new(&[("grail.toml", text)]);
        let settings = TestSettings::new(&Project::discover(project.root()).unwrap());
        settings.map_err(|problem| (problem.message, problem.hint))
    };
    let defaults = with("").unwrap();
    assert_eq!((defaults.command.join(" ").as_str(), defaults.runner), ("pytest -q", Runner::Auto));
    let written = "[project]\nsrc = [\"lib\"]\n[check.tests]\ncommand = [\"just\", \"test\"]\nrunner = \"local\"\ntimeout = 5\n";
    let written = with(written).unwrap();
    assert_eq!((written.command.join(" ").as_str(), written.runner), ("just test", Runner::Local));
    assert_eq!((written.deadline, written.import_paths), (Duration::from_secs(5), vec!["lib".to_owned()]));
    let hint = Some("runners are `auto`, `local` and `wasm`".to_owned());
    assert_eq!(
        with("[check.tests]\nrunner = \"docker\"\n").unwrap_err(),
        ("`docker` is no runner of tests".to_owned(), hint)
    );
}

#[test]
fn without_its_runtime_or_node_the_runner_is_missing() {
    let project = ToolProject::new(&[]);
    let report = tests::run(&project.context(), &wasm(), &[]);
    assert!(matches!(&report.status, LayerStatus::Unavailable { tool, .. } if tool == "the runner `wasm`"));
    install_runner(&project);
    let report = tests::run(&project.context(), &wasm(), &[]);
    assert!(matches!(&report.status, LayerStatus::Unavailable { tool, .. } if tool == "node"));
    let command = vec!["just".to_owned(), "test".to_owned()];
    let report = tests::run(&project.context(), &TestSettings { command, ..wasm() }, &[]);
    assert_eq!(message_of(&report), "`pytest (wasm)`: the runner `wasm` runs `pytest` only");
}

/// What the layer makes of a Node that does this.
fn with_node(version: &str, script: &str) -> LayerReport {
    let project = ToolProject::new(&[("test_a.py", "def test_a():\n    assert t'a' == 1\n")]);
    install_runner(&project);
    let text = format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo {version}; exit; fi\n{script}\n");
    project.program("bin/node", &text);
    let mut context = project.context();
    context.tools.search_path = Some(project.root().join("bin").into_os_string());
    tests::run(&context, &wasm(), &paths(&["test_a.py"]))
}

#[test]
fn an_answer_of_the_wasm_runner_is_checked_before_it_is_believed() {
    let cases = [
        ("", "`pytest (wasm)` wrote no output (exit code 0)"),
        (
            "echo 'the walls are not up' >&2; exit 2",
            "`pytest (wasm)` failed with exit code 2: the walls are not up",
        ),
        ("echo '{}'", "the output of `pytest (wasm)` is not what it should be: it answers another request"),
        (
            "echo '{\"id\":1,\"exit\":null}'",
            "the output of `pytest (wasm)` is not what it should be: it has no exit code",
        ),
        (
            "echo '{\"id\":1,\"exit\":0}'",
            "the output of `pytest (wasm)` is not what it should be: the report has no tests",
        ),
        (
            "echo '{\"id\":2,\"exit\":0}'",
            "the output of `pytest (wasm)` is not what it should be: it answers another request",
        ),
        (
            "echo '{\"id\":1,\"exit\":0}'; echo '{\"id\":1,\"exit\":0}'",
            "the output of `pytest (wasm)` is not what it should be: trailing characters at line 2 column 1",
        ),
        (
            "echo '{\"id\":null,\"exit\":null,\"error\":{\"type\":\"RunnerError\",\"message\":\"broken\"}}'; exit 3",
            "`pytest (wasm)`: RunnerError: broken",
        ),
        (
            "echo '{\"id\":1,\"exit\":0,\"tests\":[{\"test\":\"a.py::b\",\"outcome\":\"odd\"}]}'",
            "the output of `pytest (wasm)` is not what it should be: unknown outcome `odd`",
        ),
        (
            "echo '{\"id\":1,\"exit\":0,\"tests\":[{\"test\":\"a.py::b\",\"outcome\":\"failed\"}]}'",
            "`pytest (wasm)` ended with exit code 0 but reported 1 findings",
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(message_of(&with_node("v24.1.0", script)), expected, "{script}");
    }
    let failed = r#"printf '%s' '{"id":1,"exit":1,"tests":[{"test":"test_a.py::TestX::test_a","outcome":"failed","message":"assert\nno","line":2}]}'"#;
    assert_eq!(
        shown(&with_node("v24.1.0", failed)),
        ["test_a.py:2:5: test-failed: `TestX.test_a` failed: assert; no"]
    );
}

#[test]
fn node_gets_its_walls_an_empty_environment_and_the_files() {
    // The flag changed its name; a Node without walls is not started at all.
    let script = |flag: &str| {
        format!(
            "read -r line; case $1$line in '{flag}'*'\"test_a.py\":\"def test_a'*'\"pytest\":[\"-q\"]'*) ;; *) exit 9;; esac\n\
             [ -z \"$HOME$USER$NO_COLOR\" ] || exit 8\n\
             echo '{{\"id\":1,\"exit\":0,\"tests\":[{{\"test\":\"a.py::b\",\"outcome\":\"passed\"}}]}}'"
        )
    };
    for (version, flag) in [
        ("v20.20.2", "--experimental-permission"),
        ("v22.12.0", "--experimental-permission"),
        ("v22.13.0", "--permission"),
        ("v24.0.0", "--permission"),
    ] {
        let report = with_node(version, &script(flag));
        assert!(
            matches!(report.status, LayerStatus::Ran { findings: 0, .. }),
            "{version}: {:?}",
            report.status
        );
    }
    assert_eq!(
        message_of(&with_node("v18.0.0", "exit 1")),
        "`pytest (wasm)`: Node v18.0.0 has no permission model; 20 is the first that has one"
    );
}

#[test]
fn real_template_strings_are_tested_in_wasm() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let runtimes = std::env::var_os("GRAIL_RUNTIMES").map_or(repository.join(".grail/runtimes"), Into::into);
    let own = fs::read(repository.join("crates/grail-rules/runners/wasm.mjs")).unwrap();
    if fs::read(runtimes.join("wasm/runners/wasm.mjs")).ok() != Some(own) {
        return skip("no Python for WebAssembly, or with another runner; scripts/runtimes installs it");
    }
    let files = [
        ("src/card.py", "def card(title: str):\n    return t\"<h2>{title}</h2>\"\n"),
        (
            "tests/test_card.py",
            "from card import card\n\n\ndef test_title():\n    assert card(\"x\").strings == (\"<h2>\", \"</h2>\")\n\n\ndef test_fails():\n    assert card(\"x\").strings == ()\n",
        ),
    ];
    let project = ToolProject::new(&files);
    // The tests see the files they are made of and nothing else of the machine.
    let secret = project.root().join("secret.txt");
    fs::write(&secret, "canary").unwrap();
    let curious = format!(
        "import os\nimport pytest\n\n\ndef test_walls():\n    with pytest.raises(OSError):\n        open({:?})\n    assert 'CARGO_MANIFEST_DIR' not in os.environ\n",
        secret.display().to_string()
    );
    project.write("tests/test_walls.py", curious.as_bytes());
    let mut context = project.context();
    context.tools.search_path = None;
    let settings = TestSettings { runtime: Some(runtimes.join("wasm")), ..wasm() };
    let mut files: Vec<Arc<str>> = paths(&files.map(|(path, _)| path));
    files.push("tests/test_walls.py".into());
    let report = tests::run(&context, &settings, &files);
    let shown = shown(&report);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(
        shown[0].starts_with("tests/test_card.py:9:5: test-failed: `test_fails` failed: "),
        "{}",
        shown[0]
    );
}
