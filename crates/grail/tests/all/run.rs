//! `grail run`

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::scratch::{Scratch, render};

const TOOLS: &str = r#"
[tools.price]
signature = "(item: str, currency: str = 'EUR') -> float"
doc = "What an item costs"
command = ["sh", "price.sh"]

[tools.echo]
signature = "(*parts: str, **named: int) -> dict"
command = ["cat"]

[tools.broken]
signature = "() -> int"
command = ["sh", "-c", "echo 'ValueError: no such day' >&2; exit 3"]

[tools.silent]
signature = "() -> int"
command = ["true"]

[tools.slow]
signature = "() -> int"
command = ["sleep", "60"]
timeout = "50ms"

[tools.later]
signature = "async (name: str) -> str"
command = ["sh", "-c", "echo '\"done\"'"]

[tools.ask]
signature = "(question: str) -> str"
"#;

/// Answers with the length of what it was told.
const PRICE: &str = "read -r line\necho ${#line}.5\n";

fn project() -> Scratch {
    Scratch::new(&[("grail.toml", ""), ("tools.toml", TOOLS), ("price.sh", PRICE)])
}

#[test]
fn prints_the_value() {
    let scratch = project();
    assert_eq!(scratch.run(&["run", "-c", "1 + 1"]), "2\nexit 0\n");
    assert_eq!(
        scratch.run(&["run", "-c", "{'a': [1, 2.5, None], 'b': 'c'}"]),
        "{'a': [1, 2.5, None], 'b': 'c'}\nexit 0\n"
    );
    assert_eq!(scratch.run(&["run", "-c", "if True:\n    return 'early'\n0"]), "'early'\nexit 0\n");
}

#[test]
fn prints_what_the_code_prints_before_its_value() {
    let scratch = Scratch::new(&[("hello.py", "print('hello')\nprint('world', end='!')\nprint()\n")]);
    assert_eq!(scratch.run(&["run", "hello.py"]), "hello\nworld!\nexit 0\n");
}

#[test]
fn reads_the_script_from_stdin() {
    let scratch = project();
    let mut child = scratch
        .command(&["run", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"6 * 7").unwrap();
    assert_eq!(render(&child.wait_with_output().unwrap()), "42\nexit 0\n");
}

#[test]
fn takes_inputs_from_options_and_files() {
    let scratch = Scratch::new(&[("inputs.json", r#"{"name": "Ada", "scores": [1, 2]}"#)]);
    let code = "f\"{inputs['name']}: {sum(inputs['scores'])}\"";
    assert_eq!(scratch.run(&["run", "-c", code, "--inputs", "inputs.json"]), "'Ada: 3'\nexit 0\n");
    assert_eq!(
        scratch.run(&[
            "run",
            "-c",
            code,
            "--inputs",
            "inputs.json",
            "--input",
            "name=Bob",
            "--input",
            "scores=[4]"
        ]),
        "'Bob: 4'\nexit 0\n"
    );
    assert_eq!(scratch.run(&["run", "-c", "x + 1", "--input", "x=1", "--names"]), "2\nexit 0\n");
    assert_eq!(
        scratch.run(&["run", "-c", "1", "--input", "x"]),
        "! error: `x` is not an input\n! hint: write `--input NAME=VALUE`\nexit 2\n"
    );
}

#[test]
fn a_header_declares_inputs_and_output() {
    let script = "# /// grail\n# output = \"str\"\n# [inputs]\n# name = \"str\"\n# times = \"int = 2\"\n# ///\n\
                  inputs['name'] * inputs['times']\n";
    let scratch = Scratch::new(&[("greet.py", script)]);
    assert_eq!(scratch.run(&["run", "greet.py", "--input", "name=ha"]), "'haha'\nexit 0\n");
    insta::assert_snapshot!(scratch.run(&["run", "greet.py", "--input", "name=3"]), @"
    ! error: the inputs do not fit what the code declares
    !   `name`: expected a string, got the number 3
    ! hint: give inputs that fit with `--input NAME=VALUE` or `--inputs FILE`; nothing ran
    ! page: docs/guides/sandbox-outcomes.md#invalid-input
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["run", "greet.py"]), @"
    ! error: the inputs do not fit what the code declares
    !   `name`: is required
    ! hint: give inputs that fit with `--input NAME=VALUE` or `--inputs FILE`; nothing ran
    ! page: docs/guides/sandbox-outcomes.md#invalid-input
    exit 1
    ");
}

#[test]
fn a_header_can_tighten_the_policy_and_never_loosen_it() {
    let script =
        |policy: &str| format!("# /// grail\n# policy = \"{policy}\"\n# ///\nwhile True:\n    pass\n");
    let scratch = Scratch::new(&[
        ("a.py", &script("quick")),
        ("b.py", &script("permissive")),
        (
            "grail.toml",
            "[policies.quick]\nmax-duration = \"50ms\"\n[sandbox]\npolicy = \"brief\"\n[policies.brief]\nmax-duration = \"200ms\"\n",
        ),
    ]);
    insta::assert_snapshot!(scratch.run(&["run", "a.py"]), @"
    ! error: the code ran longer than 50ms
    ! hint: make the code need less, or raise it with `--max-duration` as far as the policy allows
    ! page: docs/guides/sandbox-outcomes.md#limit-hit
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["run", "b.py"]), @"
    ! error: the code ran longer than 200ms
    ! hint: make the code need less, or raise it with `--max-duration` as far as the policy allows
    ! page: docs/guides/sandbox-outcomes.md#limit-hit
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["run", "b.py", "--max-duration", "1h"]), @"
    ! error: `max-duration` is `1h`, but policy `brief` allows at most `200ms`
    ! hint: ask for at most `200ms`, or run under a policy whose `may-loosen` has a higher `max-duration`
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["run", "b.py", "--policy", "quik"]), @"
    ! error: there is no policy `quik`
    ! hint: did you mean `quick`?
    exit 2
    ");
}

#[test]
fn schemas_come_from_files_too() {
    let scratch = Scratch::new(&[
        ("in.json", r#"{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}"#),
        ("out.json", r#"{"type": "string"}"#),
    ]);
    let options =
        ["run", "-c", "inputs['x']", "--schema", "in.json", "--output-schema", "out.json", "--input", "x=1"];
    insta::assert_snapshot!(scratch.run(&options), @"
    ! error: the result `1` does not fit its schema
    !   expected a string, got the number 1
    ! hint: change the code to return what is declared, or declare what it returns
    ! page: docs/guides/sandbox-outcomes.md#invalid-output
    exit 1
    ");
}

#[test]
fn type_errors_point_into_the_source() {
    let scratch = Scratch::new(&[("main.py", "def half(x: int) -> float:\n    return x / 2\n\nhalf('a')\n")]);
    insta::assert_snapshot!(scratch.run(&["run", "main.py"]), @r#"
    ! error: Argument to function `half` is incorrect: Expected `int`, found `Literal["a"]` (invalid-argument-type)
    !  --> main.py:4:6
    !   |
    ! 4 | half('a')
    !   |      ^^^
    ! hint: change the code so that its types fit; nothing ran
    ! page: docs/guides/sandbox-outcomes.md#type-errors
    exit 1
    "#);
}

#[test]
fn exceptions_point_into_the_source() {
    let scratch = Scratch::new(&[(
        "main.py",
        "def half(x):\n    return 1 / x\n\ndef work():\n    return half(0)\n\nwork()\n",
    )]);
    insta::assert_snapshot!(scratch.run(&["run", "main.py"]), @"
    ! error: ZeroDivisionError: division by zero
    !  --> main.py:2:12
    !   |
    ! 2 |     return 1 / x
    !   |            ^
    !   called from main.py:5 in work
    !   called from main.py:7 in <module>
    ! page: docs/guides/sandbox-outcomes.md#raised
    exit 1
    ");
}

#[test]
fn limits_end_a_run() {
    let scratch = project();
    insta::assert_snapshot!(scratch.run(&["run", "-c", "while True:\n    pass", "--max-duration", "50ms"]), @"
    ! error: the code ran longer than 50ms
    ! hint: make the code need less, or raise it with `--max-duration` as far as the policy allows
    ! page: docs/guides/sandbox-outcomes.md#limit-hit
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["run", "-c", "1", "--max-duration", "0s"]), @"
    ! error: `max-duration` is `0s`, permitted is 1ms to 24h
    exit 2
    ");
}

#[test]
fn check_only_runs_nothing() {
    let scratch = project();
    assert_eq!(scratch.run(&["run", "-c", "print('ran')\n1", "--check-only"]), "exit 0\n");
    assert!(scratch.run(&["run", "-c", "1 + ''", "--check-only"]).ends_with("exit 1\n"));
}

#[test]
fn speaks_json() {
    let scratch = project();
    let seen = |arguments: &[&str]| -> Value {
        serde_json::from_slice(&scratch.command(arguments).output().unwrap().stdout).unwrap()
    };
    let value = seen(&["run", "-c", "print('hi')\n[1]", "--format", "json"]);
    assert_eq!(value["outcome"], "value");
    assert_eq!(value["value"], serde_json::json!([1]));
    assert_eq!(value["printed"]["text"], "hi\n");
    let raised = seen(&["run", "-c", "print(1)\n[][0]", "--format", "json"]);
    assert_eq!(raised["outcome"], "raised");
    assert_eq!(raised["exception"], "IndexError");
    assert_eq!(raised["traceback"][0]["line"], 2);
    assert_eq!(raised["page"], "docs/guides/sandbox-outcomes.md#raised");
}

#[test]
fn tools_are_commands_of_the_host() {
    let scratch = project();
    let run = |code: &str| scratch.run(&["run", "-c", code, "--tools", "tools.toml"]);
    // {"item":"tea"} has 14 characters: what the code leaves out is left out.
    assert_eq!(run("price('tea')"), "14.5\nexit 0\n");
    assert_eq!(run("tools.price(item='tea', currency='USD') + 1"), "32.5\nexit 0\n");
    assert_eq!(
        run(
            "import asyncio\n\nasync def main():\n    return await asyncio.gather(later('a'), later('b'))\n\nasyncio.run(main())"
        ),
        "['done', 'done']\nexit 0\n"
    );
    assert_eq!(
        run("try:\n    broken()\nexcept ValueError as error:\n    return str(error)\n'?'"),
        "'no such day'\nexit 0\n"
    );
    insta::assert_snapshot!(run("broken()"), @"
    ! error: the tool `broken` failed: ValueError: no such day
    !  --> <code>:1:1
    !   |
    ! 1 | broken()
    !   | ^^^^^^
    ! hint: mend the tool, or catch its exception in the code
    ! page: docs/guides/sandbox-outcomes.md#tool-failed
    exit 1
    ");
    insta::assert_snapshot!(run("silent()"), @"
    ! error: the tool `silent` failed: RuntimeError: `silent` wrote no JSON on its standard output
    !  --> <code>:1:1
    !   |
    ! 1 | silent()
    !   | ^^^^^^
    ! hint: mend the tool, or catch its exception in the code
    ! page: docs/guides/sandbox-outcomes.md#tool-failed
    exit 1
    ");
    insta::assert_snapshot!(run("slow()"), @"
    ! error: the tool `slow` failed: TimeoutError: `slow` took longer than 0.05 seconds
    !  --> <code>:1:1
    !   |
    ! 1 | slow()
    !   | ^^^^
    ! hint: mend the tool, or catch its exception in the code
    ! page: docs/guides/sandbox-outcomes.md#tool-failed
    exit 1
    ");
    insta::assert_snapshot!(run("price(3)"), @"
    ! error: Argument to function `price` is incorrect: Expected `str`, found `Literal[3]` (invalid-argument-type)
    !  --> <code>:1:7
    !   |
    ! 1 | price(3)
    !   |       ^
    ! hint: change the code so that its types fit; nothing ran
    ! page: docs/guides/sandbox-outcomes.md#type-errors
    exit 1
    ");
    insta::assert_snapshot!(run("ask('why?')"), @"
    ! error: the code called `ask`, which has no command, so nobody here can answer
    ! hint: keep the run with `--snapshot-out FILE`, then go on with `--resume FILE --answer JSON`
    exit 2
    ");
}

#[test]
fn a_script_gets_only_the_tools_it_declares() {
    let script = |tools: &str, code: &str| format!("# /// grail\n# tools = [{tools}]\n# ///\n{code}\n");
    let scratch = project();
    std::fs::write(scratch.path("a.py"), script("\"price\"", "price('tea')")).unwrap();
    std::fs::write(scratch.path("b.py"), script("\"prize\"", "1")).unwrap();
    std::fs::write(scratch.path("c.py"), script("\"price\"", "broken()")).unwrap();
    assert_eq!(scratch.run(&["run", "a.py", "--tools", "tools.toml"]), "14.5\nexit 0\n");
    insta::assert_snapshot!(scratch.run(&["run", "a.py"]), @"
    ! error: the script declares the tool `price`, which it was not given
    ! hint: give a tools file with `--tools`
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["run", "b.py", "--tools", "tools.toml"]), @"
    ! error: the script declares the tool `prize`, which it was not given
    ! hint: the tools file has `ask`, `broken`, `echo`, `later`, `price`, `silent`, `slow`
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["run", "c.py", "--tools", "tools.toml"]), @"
    ! error: Name `broken` used when not defined (unresolved-reference)
    !  --> c.py:4:1
    !   |
    ! 4 | broken()
    !   | ^^^^^^
    ! hint: change the code so that its types fit; nothing ran
    ! page: docs/guides/sandbox-outcomes.md#type-errors
    exit 1
    ");
}

#[test]
fn a_bad_tools_file_is_refused() {
    let scratch = Scratch::new(&[
        ("a.toml", "[tools.x]\ncomand = []\n"),
        ("b.toml", "[tools.x]\nsignature = 'def y() -> int: ...'\n"),
        ("c.toml", "[tools.x]\nsignature = '(a: '\n"),
        ("d.toml", "[tools.x]\nsignature = '() -> int'\ntimeout = 'soon'\n"),
    ]);
    for (file, expected) in [
        ("a.toml", "unknown field"),
        ("b.toml", "`x`: its signature is that of `y`"),
        ("c.toml", "`x`: "),
        ("d.toml", "soon"),
    ] {
        let seen = scratch.run(&["run", "-c", "1", "--tools", file]);
        assert!(seen.starts_with(&format!("! error: the tools file `{file}` cannot be used: ")), "{seen}");
        assert!(seen.contains(expected) && seen.ends_with("exit 2\n"), "{seen}");
    }
}

#[test]
fn folders_are_mounted() {
    let scratch = Scratch::new(&[("grail.toml", ""), ("data/a.txt", "alpha")]);
    let run = |code: &str, mount: &str, policy: &str| {
        let code = format!("from pathlib import Path\n{code}");
        scratch.run(&["run", "-c", &code, "--mount", mount, "--policy", policy])
    };
    assert_eq!(run("Path('/data/a.txt').read_text()", "data:/data", "default"), "'alpha'\nexit 0\n");
    assert_eq!(run("Path('/data/a.txt').write_text('beta')", "data:/data:cow", "default"), "4\nexit 0\n");
    assert_eq!(scratch.read("data/a.txt"), "alpha");
    assert_eq!(
        run("Path('/data/a.txt').write_text('beta')", "data:/data:rw", "default"),
        "4\n! warning: `/data` is mounted `rw`, but policy `default` keeps writes in memory\nexit 0\n"
    );
    assert_eq!(scratch.read("data/a.txt"), "alpha");
    assert_eq!(run("Path('/data/a.txt').write_text('beta')", "data:/data:rw", "permissive"), "4\nexit 0\n");
    assert_eq!(scratch.read("data/a.txt"), "beta");
    insta::assert_snapshot!(run("Path('/data/a.txt').write_text('x')", "data:/data:ro", "default"), @"
    ! error: PermissionError: [Errno 30] Read-only file system: '/data/a.txt'
    !  --> <code>:2:1
    !   |
    ! 2 | Path('/data/a.txt').write_text('x')
    !   | ^^^^
    ! page: docs/guides/sandbox-outcomes.md#raised
    exit 1
    ");
    insta::assert_snapshot!(run("1", "data:/data:ro", "strict"), @"
    ! error: policy `strict` allows no files, so nothing can be mounted
    ! hint: leave `--mount` out, or choose another `--policy`
    exit 2
    ");
    insta::assert_snapshot!(run("1", "missing:/data:ro", "default"), @"
    ! error: `/data` cannot be given to a run: the host folder `missing` cannot be opened
    exit 2
    ");
    insta::assert_snapshot!(run("1", "data:data", "default"), @"
    ! error: invalid value 'data:data' for '--mount <HOST:VIRTUAL[:ro|rw|cow]>': expected HOST:/VIRTUAL, then `:ro`, `:rw` or `:cow` if you like
    !
    ! For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn without_mounts_there_are_no_files() {
    let scratch = Scratch::new(&[("grail.toml", ""), ("secret.txt", "s")]);
    insta::assert_snapshot!(scratch.run(&["run", "-c", "from pathlib import Path\nPath('secret.txt').read_text()"]), @"
    ! error: PermissionError: [Errno 13] Permission denied: 'secret.txt'
    !  --> <code>:2:1
    !   |
    ! 2 | Path('secret.txt').read_text()
    !   | ^^^^
    ! page: docs/guides/sandbox-outcomes.md#raised
    exit 1
    ");
}

#[test]
fn a_paused_run_goes_on_in_another_process() {
    let scratch = project();
    std::fs::write(scratch.path("ask.py"), "print('thinking')\nname = ask('Your name?')\nf'Hello {name}'\n")
        .unwrap();
    insta::assert_snapshot!(scratch.run(&["run", "ask.py", "--tools", "tools.toml", "--snapshot-out", "paused.run"]), @"
    thinking
    ! the run waits for `ask('Your name?')`
    ! hint: `grail run --resume paused.run --answer JSON` goes on
    exit 0
    ");
    assert_eq!(
        scratch.run(&["run", "--resume", "paused.run", "--answer", "\"Ada\""]),
        "'Hello Ada'\nexit 0\n"
    );
    insta::assert_snapshot!(scratch.run(&["run", "--resume", "paused.run", "--error", "ValueError: nobody"]), @"
    ! error: the tool `ask` failed: ValueError: nobody
    !  --> ask.py:2:8
    !   |
    ! 2 | name = ask('Your name?')
    !   |        ^^^
    ! hint: mend the tool, or catch its exception in the code
    ! page: docs/guides/sandbox-outcomes.md#tool-failed
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["run", "--resume", "paused.run"]), @"
    ! error: the run waits for `ask`, which has no command
    ! hint: answer it with `--answer JSON` or `--error TEXT`
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["run", "--resume", "paused.run", "--answer", "Ada"]), @"
    ! error: the answer is not JSON: expected value at line 1 column 1
    ! hint: write strings in double quotes
    exit 2
    ");

    let mut bytes = std::fs::read(scratch.path("paused.run")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(scratch.path("changed.run"), bytes).unwrap();
    insta::assert_snapshot!(scratch.run(&["run", "--resume", "changed.run", "--answer", "1"]), @"
    ! error: `changed.run` is no paused run of this project, or it was changed
    ! hint: the key of a project is in `.grail/`, or in the variable `GRAIL_SNAPSHOT_KEY`
    exit 2
    ");
    let elsewhere = Scratch::new(&[("grail.toml", "")]);
    std::fs::copy(scratch.path("paused.run"), elsewhere.path("paused.run")).unwrap();
    assert!(
        elsewhere
            .run(&["run", "--resume", "paused.run", "--answer", "1"])
            .starts_with("! error: `paused.run` is no paused run of this project")
    );
}

#[test]
fn a_paused_run_replaces_no_file_and_is_read_from_one() {
    let scratch = project();
    std::fs::write(scratch.path("notes.txt"), "mine").unwrap();
    let ask = "print('ran')\nask('why?')";
    insta::assert_snapshot!(scratch.run(&["run", "-c", ask, "--tools", "tools.toml", "--snapshot-out", "notes.txt"]), @"
    ! error: `notes.txt` exists already
    ! hint: keep the run in a new file, or remove this one first
    exit 2
    ");
    assert_eq!(scratch.read("notes.txt"), "mine");
    std::fs::create_dir(scratch.path("folder")).unwrap();
    insta::assert_snapshot!(scratch.run(&["run", "--resume", "folder", "--answer", "1"]), @"
    ! error: `folder` cannot be read: it is not a regular file
    exit 2
    ");
}

#[test]
fn messages_cannot_command_a_terminal() {
    let scratch = project();
    insta::assert_snapshot!(scratch.run(&["run", "-c", "raise ValueError('\\x1b[2J\\r\\u202eno')"]), @r"
    ! error: ValueError: \u{1b}[2J\u{d}\u{202e}no
    !  --> <code>:1:7
    !   |
    ! 1 | raise ValueError('\x1b[2J\r\u202eno')
    !   |       ^^^^^^^^^^
    ! page: docs/guides/sandbox-outcomes.md#raised
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["run", "-c", "'\x1b[2J \u{9b}2J \u{202e}'; 1 / 0"]), @"
    ! error: ZeroDivisionError: division by zero
    !  --> <code>:1:15
    !   |
    ! 1 | '␛[2J �2J �'; 1 / 0
    !   |               ^
    ! page: docs/guides/sandbox-outcomes.md#raised
    exit 1
    ");
}

#[test]
fn what_to_run_must_be_said() {
    let scratch = project();
    assert!(scratch.run(&["run"]).ends_with("exit 2\n"));
    assert!(scratch.run(&["run", "a.py", "-c", "1"]).ends_with("exit 2\n"));
    assert!(scratch.run(&["run", "missing.py"]).ends_with("exit 2\n"));
}

#[test]
fn unsupported_python_is_named_with_a_rewrite() {
    let scratch = Scratch::new(&[("main.py", "def count():\n    yield 1\n\nlist(count())\n")]);
    insta::assert_snapshot!(scratch.run(&["run", "main.py"]), @"
    ! error: `yield` is not supported
    !  --> main.py:2:5
    !   |
    ! 2 |     yield 1
    !   |     ^^^^^^^
    ! hint: collect the values in a list and return it
    ! page: docs/guides/sandbox-outcomes.md#rejected
    exit 1
    ");
}

#[test]
fn differences_from_cpython_are_warned_about() {
    let scratch = project();
    insta::assert_snapshot!(scratch.run(&["run", "-c", "round(2.675, 2)"]), @"
    2.68
    ! warning: `round` to digits rounds the decimal digits one sees, so halves may differ from CPython
    !  --> <code>:1:1
    !   |
    ! 1 | round(2.675, 2)
    !   | ^^^^^
    exit 0
    ");
}

#[test]
fn debug_shows_what_happened() {
    let scratch = project();
    let seen = scratch.run(&[
        "run",
        "-c",
        "print('hi')\nitem = 'tea'\nprice(item)",
        "--tools",
        "tools.toml",
        "--debug",
    ]);
    // Times differ from run to run.
    let steps: Vec<String> =
        seen.lines().map(|line| line.split_once(" ms  ").map_or(line, |(_, step)| step).to_owned()).collect();
    insta::assert_snapshot!(steps.join("\n"), @r#"
    hi
    14.5
    started under policy `default`
    checked
    printed 3 bytes
    called price("tea") → 14.5
    !               item = 'tea'
    finished: value
    exit 0
    "#);
}

#[test]
fn debug_does_not_show_what_is_secret() {
    let scratch = project();
    let seen = scratch.run(&[
        "run",
        "-c",
        "item = inputs['item']\nprice(item)",
        "--tools",
        "tools.toml",
        "--input",
        "item=tea-house",
        "--secret",
        "item",
        "--debug",
    ]);
    assert!(seen.contains("called price("), "{seen}");
    assert!(!seen.contains("tea-house"), "{seen}");
}

/// The worker ends with the command that started it, also in the middle of an endless loop.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_command_leaves_no_worker_behind() {
    use std::io::{BufRead, BufReader};
    use std::path::PathBuf;

    let scratch = project();
    let mut child = scratch
        .command(&[
            "run",
            "-c",
            "from pathlib import Path\nprint('on')\nPath('/x').exists()\nwhile True:\n    pass",
        ])
        .args(["--policy", "permissive", "--mount", ".:/here"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "on\n");
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let workers: Vec<PathBuf> = tasks
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).ok())
        .flat_map(|children| {
            children.split_whitespace().map(|id| PathBuf::from(format!("/proc/{id}"))).collect::<Vec<_>>()
        })
        .collect();
    assert!(!workers.is_empty());
    let interrupted =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert!(!child.wait().unwrap().success());
    // An ended process whose parent is gone may still be listed for a moment, as a zombie.
    let runs = |worker: &PathBuf| {
        let stat = std::fs::read_to_string(worker.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    while workers.iter().any(runs) {
        std::thread::yield_now();
    }
}
