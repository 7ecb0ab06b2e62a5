//! `grail skills run`, `invoke` and `credentials`: scripts that really run.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use grail_skills::lifecycle::{InstallSettings, SkillStore, install};
use serde_json::Value;

use crate::scratch::{Scratch, has_python, render};

const TEMPLATE: &str = include_str!("../../../../skills/python-skill/templates/skill.py");
const SKILL: &str =
    "---\nname: greeter\ndescription: Greets people. Use when somebody arrives.\n---\n\nSay hello.\n";
const GREET: &str = "import sys\nprint(f'hello {sys.argv[1]}\\x1b[31m')\nprint('greeted', file=sys.stderr)\nsys.exit(int(sys.argv[2]))\n";

/// A project with an installed skill made from the template, which is called `example`.
fn with_example(script: &str, manifest: &str) -> Scratch {
    let manifest =
        format!("id = \"example\"\nname = \"Example\"\ndescription = \"Counts words.\"\n{manifest}");
    let scratch = Scratch::new(&[
        ("grail.toml", ""),
        ("example/skill.py", script),
        ("example/manifest.toml", &manifest),
    ]);
    let store = SkillStore::of_project(&scratch.path("no-home/.local/state/grail"), scratch.root());
    let settings = InstallSettings { accept: BTreeSet::new(), handshake: &|_, _| Ok(()), on_step: &|_| {} };
    install(&store, &scratch.path("example"), &settings).unwrap();
    scratch
}

#[test]
fn a_script_of_a_skill_runs_and_what_it_prints_is_harmless() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::new(&[
        ("grail.toml", ""),
        ("no-home/.agents/skills/greeter/SKILL.md", SKILL),
        ("no-home/.agents/skills/greeter/scripts/greet.py", GREET),
    ]);
    assert_eq!(
        scratch.run(&["skills", "run", "greeter", "scripts/greet.py", "--", "Ada", "0"]),
        "hello Ada\\u{1b}[31m\n! greeted\nexit 0\n"
    );
    assert_eq!(
        scratch.run(&["skills", "run", "greeter", "scripts/greet.py", "--", "Ada", "3"]),
        "hello Ada\\u{1b}[31m\n! greeted\n! the script ended with code 3\nexit 1\n"
    );
    assert_eq!(
        scratch.run(&["skills", "run", "greeter", "scripts/other.py"]),
        "! error: the skill `greeter` has no script `scripts/other.py`\n\
         ! hint: `grail skills load greeter` shows what there is\nexit 2\n"
    );
    let output = scratch.command(&[
        "skills",
        "run",
        "greeter",
        "scripts/greet.py",
        "--format",
        "json",
        "--",
        "Ada",
        "0",
    ]);
    let output: Value = serde_json::from_slice(&{ output }.output().unwrap().stdout).unwrap();
    assert_eq!(output["stdout"], "hello Ada\u{1b}[31m\n");
    assert_eq!(output["code"], 0);
    assert_eq!(output["fence"]["limits"], "stands");
}

#[test]
fn a_project_s_script_runs_only_when_its_skill_is_trusted() {
    let scratch = Scratch::new(&[
        ("grail.toml", ""),
        (".agents/skills/greeter/SKILL.md", SKILL),
        (".agents/skills/greeter/scripts/greet.py", GREET),
    ]);
    assert_eq!(
        scratch.run(&["skills", "run", "greeter", "scripts/greet.py", "--", "Ada", "0"]),
        "! error: the skill `greeter` of this project is not trusted\n\
         ! hint: look at its files; if you want its words and scripts to be used: `grail skills trust greeter`\nexit 2\n"
    );
}

#[test]
fn an_active_skill_is_invoked() {
    if !has_python() {
        return;
    }
    let scratch = with_example(TEMPLATE, "");
    assert_eq!(
        scratch.run(&["skills", "invoke", "example", "--input", r#"{"text": "one two"}"#]),
        "{\n  \"words\": 2\n}\nexit 0\n"
    );
    assert_eq!(
        scratch.run(&["skills", "invoke", "example"]),
        "! error: the skill `example` answers `skill.invoke` with an error: the input needs a \"text\" (-32602)\nexit 1\n"
    );
    assert_eq!(
        scratch.run(&["skills", "invoke", "example", "--input", "{"]),
        "! error: the input is not JSON: EOF while parsing an object at line 1 column 1\n\
         ! hint: quote it for the shell: --input '{\"text\": \"one two\"}'\nexit 2\n"
    );
    let output = with_input(
        &scratch,
        &["skills", "invoke", "example", "--input", "-", "--format", "json"],
        r#"{"text": ""}"#,
    );
    let output: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output["output"]["words"], 0);
    assert_eq!((&output["skill"], &output["version"]), (&Value::from("example"), &Value::from("0.1.0")));
}

#[test]
fn a_skill_that_is_not_installed_cannot_be_invoked() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let seen = scratch.run(&["skills", "invoke", "example"]);
    assert_eq!(seen.lines().next(), Some("! error: the skill `example` is not installed"));
    assert!(seen.ends_with("exit 2\n"));
}

#[test]
fn credentials_come_from_stdin_and_are_never_shown() {
    if !has_python() {
        return;
    }
    let script = TEMPLATE
        .replace("import contextlib\n", "import contextlib\nimport os\n")
        .replace("    if not isinstance(input, dict)", "    return [len(os.environ[\"EXAMPLE_KEY\"]), os.environ[\"EXAMPLE_KEY\"]]\n    if not isinstance(input, dict)");
    let scratch = with_example(&script, "[[credentials]]\nname = \"api-key\"\nenv_var = \"EXAMPLE_KEY\"\n");
    assert_eq!(
        scratch.run(&["skills", "invoke", "example"]),
        "! error: the skill `example` needs the credential `api-key`\n\
         ! hint: set it with `grail skills credentials set example api-key`; the value comes from stdin\nexit 2\n"
    );
    assert_eq!(scratch.run(&["skills", "credentials", "list"]), "example api-key: missing\nexit 0\n");
    let set = |name: &str| {
        render(&with_input(&scratch, &["skills", "credentials", "set", "example", name], "k3y-of-mine\n"))
    };
    assert_eq!(set("api-key"), "! `api-key` of `example` is set\nexit 0\n");
    assert_eq!(
        set("other"),
        "! error: the skill `example` has no credential `other`\n! hint: its manifest declares `api-key`\nexit 2\n"
    );
    assert_eq!(scratch.run(&["skills", "credentials", "list"]), "example api-key: set\nexit 0\n");
    let json = scratch.run(&["skills", "credentials", "list", "--format", "json"]);
    assert!(json.contains("\"set\": true") && !json.contains("k3y"), "{json}");
    assert_eq!(scratch.run(&["skills", "invoke", "example"]), "[\n  11,\n  \"[redacted]\"\n]\nexit 0\n");
    assert_eq!(
        scratch.run(&["skills", "credentials", "remove", "example", "api-key"]),
        "! `api-key` of `example` is forgotten\nexit 0\n"
    );
    assert_eq!(
        scratch.run(&["skills", "credentials", "remove", "example", "api-key"]),
        "! error: `api-key` of `example` is not set\n! hint: `grail skills credentials list` shows what is\nexit 2\n"
    );
    #[cfg(unix)]
    for entry in fs::read_dir(scratch.path("no-home/.local/state/grail/credentials")).unwrap() {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o077, 0);
    }
}

fn with_input(scratch: &Scratch, arguments: &[&str], input: &str) -> std::process::Output {
    let mut command = scratch.command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn an_installed_skill_is_found_by_what_it_does() {
    let scratch = with_example(TEMPLATE, "");
    let found = scratch.run(&["skills", "search", "count words", "--limit", "1"]);
    let first = found.lines().next().unwrap_or_default();
    assert!(first.ends_with("  example (installed)"), "{found}");
    scratch.run(&["skills", "disable", "example"]);
    assert!(!scratch.run(&["skills", "search", "count words"]).contains("(installed)"));
}
