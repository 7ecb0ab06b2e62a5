//! `grail dataset` on scratch projects.

use std::fs;
use std::process::Command;

use serde_json::Value as Json;

use crate::scratch::{Scratch, has_python};

const LINES: &str = concat!(
    r#"{"prompt":"Sum the amounts of an invoice","chosen":"def total(amounts):\n    return sum(amounts)\n","rejected":"def total(amounts): ...\n"}"#,
    "\n",
    r#"{"prompt":"Reverse the words of a sentence","chosen":"def turned(words):\n    return words.split()[::-1]\n","rejected":"def turned(words):\n    return words[::-1]\n"}"#,
    "\n",
);

fn project(files: &[(&str, &str)]) -> Scratch {
    let mut all = vec![("grail.toml", "")];
    all.extend_from_slice(files);
    Scratch::new(&all)
}

fn json(scratch: &Scratch, arguments: &[&str]) -> Json {
    let mut all = arguments.to_vec();
    all.extend(["--format", "json"]);
    let output = scratch.command(&all).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A project with two pairs of somebody else.
fn imported() -> Scratch {
    let scratch = project(&[("theirs.jsonl", LINES)]);
    scratch.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs", "--licence", "MIT"]);
    scratch
}

#[test]
fn a_new_project_is_told_how_to_begin() {
    let scratch = project(&[]);
    insta::assert_snapshot!(scratch.run(&["dataset", "build"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "list"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "show"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "review"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "export", "--to", "mlx", "--output", "out"]), @"");
}

#[test]
fn skills_are_a_beginning() {
    let scratch = project(&[]);
    let import = &json(&scratch, &["dataset", "import", "--skills"])["import"];
    assert!(import["examples"].as_u64() > Some(60), "{import}");
    assert_eq!(import["licences"].as_object().unwrap().keys().collect::<Vec<_>>(), ["MIT"]);
    let built = json(&scratch, &["dataset", "build"]);
    let counts = &built["dataset"]["counts"];
    assert!(counts["kept"].as_u64() > Some(50), "{counts}");
    assert_eq!(built["dataset"]["proof"]["holds"], true);
    assert!(built["dataset"]["sources"]["held_out"].as_u64() > Some(10), "prompts of evaluations are held out");
    // What skills bring asks for no review.
    assert_eq!(built["review"]["waiting"], 0);
    assert_eq!(json(&scratch, &["dataset", "build"])["known"], true);
}

#[test]
fn a_dataset_explains_itself() {
    let scratch = imported();
    let built = json(&scratch, &["dataset", "build", "--valid", "0", "--test", "0"]);
    let hash = built["dataset"]["hash"].as_str().unwrap();
    let at = built["dataset"]["built"].as_str().unwrap();
    let shown = scratch.run(&["dataset", "show", &hash[..8]]).replace(&hash[..12], "HASH").replace(at, "AT");
    insta::assert_snapshot!(shown, @"");
    let listed = scratch.run(&["dataset", "list"]).replace(&hash[..12], "HASH").replace(at, "AT");
    insta::assert_snapshot!(listed, @"");
    let exported = scratch.run(&["dataset", "export", "--to", "trl-dpo", "--output", "pairs"]);
    insta::assert_snapshot!(exported.replace(&hash[..12], "HASH"), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "export", "--to", "mlx", "--output", "pairs"]), @"");
    let folder = scratch.path(&format!(".grail/datasets/{hash}"));
    fs::write(folder.join("train.jsonl"), "").unwrap();
    insta::assert_snapshot!(scratch.run(&["dataset", "show"]).replace(&hash[..12], "HASH"), @"");
}

#[test]
fn a_file_of_others_is_taken_whole_or_not_at_all() {
    let bad = format!("{LINES}{{\"prompt\":\"a\"}}\nno json\n");
    let scratch = project(&[("bad.jsonl", &bad), ("theirs.jsonl", LINES)]);
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "bad.jsonl", "--name", "theirs", "--licence", "MIT"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs", "--licence", "unknown"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "bad.jsonl", "--name", "theirs", "--licence", "MIT", "--skip-bad-lines"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs", "--licence", "MIT"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "--remove", "theirs"]), @"");
}

#[test]
fn examples_are_decided_about_by_name() {
    let scratch = imported();
    let queue = json(&scratch, &["dataset", "review"]);
    assert_eq!((&queue["asked"], &queue["decided"]), (&2.into(), &0.into()));
    let id = |number: usize| queue["waiting"][number]["id"].as_str().unwrap().to_owned();
    let named = |text: String| text.replace(&id(0), "ONE").replace(&id(1), "TWO");
    insta::assert_snapshot!(named(scratch.run(&["dataset", "review"])), @"");
    insta::assert_snapshot!(named(scratch.run(&["dataset", "review", &id(0), "--reject"])), @"");
    fs::write(scratch.path("answer.py"), "def turned(words):\n    return list(reversed(words.split()))\n").unwrap();
    insta::assert_snapshot!(named(scratch.run(&["dataset", "review", &id(1)[..6], "--correct", "answer.py"])), @"");
    let queue = json(&scratch, &["dataset", "review"]);
    assert_eq!((&queue["waiting"], &queue["decided"]), (&Json::Array(Vec::new()), &2.into()));
    let built = json(&scratch, &["dataset", "build", "--valid", "0", "--test", "0"]);
    assert_eq!(built["dataset"]["counts"]["train"], 1);
    let hash = built["dataset"]["hash"].as_str().unwrap();
    assert!(scratch.read(&format!(".grail/datasets/{hash}/train.jsonl")).contains("reversed(words.split())"));
    scratch.run(&["dataset", "review", &id(0), "--withdraw"]);
    assert_eq!(json(&scratch, &["dataset", "build", "--valid", "0", "--test", "0"])["dataset"]["counts"]["train"], 2);
    insta::assert_snapshot!(scratch.run(&["dataset", "review", "nothing", "--accept"]), @"");
    insta::assert_snapshot!(scratch.run(&["dataset", "review", &id(0)]).replace(&id(0), "ONE"), @"");
}

/// Presses keys in a real terminal and tells what was said when it was given back.
const IN_A_TERMINAL: &str = r#"
import fcntl, os, pty, re, select, struct, sys, termios
program, keys = sys.argv[1], list(sys.argv[2])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    os.environ.update(TERM="xterm", EDITOR="sed -i s/^def/async\\x20def/")
    os.execv(program, [program, "dataset", "review"])
seen = b""
while True:
    ready, _, _ = select.select([terminal], [], [], 60)
    try:
        part = os.read(terminal, 65536) if ready else b""
    except OSError:
        part = b""
    if not part:
        if not ready:
            os.kill(pid, 9)
        break
    seen += part
    # Once the screen is drawn, a key for every change of it.
    if keys and b"quit" in seen:
        os.write(terminal, keys.pop(0).encode())
_, status = os.waitpid(pid, 0)
_, _, said = seen.rpartition(b"\x1b[?1049l")
text = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", said.decode("utf-8", "replace"))
print("given back" if b"\x1b[?1049l" in seen else "not given back", "exit", os.waitstatus_to_exitcode(status))
print(text.strip().splitlines()[-1])
"#;

#[test]
#[cfg(unix)]
fn a_terminal_is_used_and_given_back() {
    if !has_python() {
        return;
    }
    let scratch = imported();
    let program = env!("CARGO_BIN_EXE_grail");
    let press = |keys: &str| {
        let output = Command::new("python3")
            .args(["-c", IN_A_TERMINAL, program, keys])
            .current_dir(scratch.root())
            .env("HOME", scratch.path("no-home"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    insta::assert_snapshot!(press("\u{3}"), @"");
    insta::assert_snapshot!(press("q"), @"");
    insta::assert_snapshot!(press("aucsq"), @"");
    assert_eq!(json(&scratch, &["dataset", "review"])["decided"], 1);
}
