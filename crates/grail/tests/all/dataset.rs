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
    insta::assert_snapshot!(scratch.run(&["dataset", "build"]), @"
    ! error: there is nothing to learn from yet
    ! hint: `grail generate` and the tools of `grail mcp` leave events; `grail dataset import --skills` gives a beginning
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "list"]), @"
    ! no dataset yet; `grail dataset build` makes one
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "show"]), @"
    ! error: there is no dataset yet
    ! hint: `grail dataset build` makes one of what Grail has seen
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "review"]), @"
    ! 0 examples left, 0 decided; `grail dataset review ID --accept` decides
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "export", "--to", "mlx", "--output", "out"]), @"
    ! error: there is no dataset yet
    ! hint: `grail dataset build` makes one of what Grail has seen
    exit 2
    ");
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
    assert!(
        built["dataset"]["sources"]["held_out"].as_u64() > Some(10),
        "prompts of evaluations are held out"
    );
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
    // As many as the built-in skills have.
    let held_out = &built["dataset"]["sources"]["held_out"];
    let shown = shown.replace(&format!("{held_out} prompts"), "N prompts");
    let is_of_packs = |line: &&str| line.starts_with("rules ") && line.contains("tdom-components ");
    assert_eq!(shown.lines().filter(is_of_packs).count(), 1, "{shown}");
    let shown: String =
        shown.lines().filter(|line| !is_of_packs(line)).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(shown, @"
    HASH built AT
    made of 0 events in 0 files, 1 import
      import theirs: 2 examples
    examples 0 extracted, 2 imported: 2 kept, 0 left out
    split 2 train, 0 valid, 0 test
      no leak: all 0 of 0 pairs across the borders compared, none more alike than 0.00 (limit 0.70); 2 clusters
      N prompts held out for evaluation, and nothing like them is in it
    weights 2 in all, from 1 to 1
      corrective     0   0 % of the weight
      positive       0   0 % of the weight
      negative       2  100 % of the weight
      multi_tool     0   0 % of the weight
      artifacts: 2 none
      sources: 2 import:theirs
    tokens about 69 in prompts, 58 in answers, 52 in the longest example
    review 0 accepted, 0 corrected, 0 rejected, 2 waiting
    licences 2 MIT
    system prompt Write Python in this project's dialect: one whole file in a fenced block.
    chat template chatml
    requests said twice
    exit 0
    ");
    let listed = scratch.run(&["dataset", "list"]).replace(&hash[..12], "HASH").replace(at, "AT");
    insta::assert_snapshot!(listed, @"
    HASH AT 2 examples: 2 train, 0 valid, 0 test
    import theirs 2 examples, MIT: theirs.jsonl
    exit 0
    ");
    let exported = scratch.run(&["dataset", "export", "--to", "trl-dpo", "--output", "pairs"]);
    insta::assert_snapshot!(exported.replace(&hash[..12], "HASH"), @"
    pairs dataset HASH
      train.jsonl: 4 rows
      weighted.jsonl: 2 rows
    ! in that folder: trl dpo --model_name_or_path MODEL --dataset_name . --output_dir ../adapter --use_peft
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "export", "--to", "mlx", "--output", "pairs"]), @"
    ! error: `pairs` is not empty
    ! hint: name a folder that is new or empty
    exit 2
    ");
    let folder = scratch.path(&format!(".grail/datasets/{hash}"));
    fs::write(folder.join("train.jsonl"), "").unwrap();
    insta::assert_snapshot!(scratch.run(&["dataset", "show"]).replace(&hash[..12], "HASH"), @"
    ! error: `train.jsonl` of dataset `HASH` is not what it was
    ! hint: datasets never change: delete its folder below `.grail/datasets/` and build it anew
    exit 2
    ");
}

#[test]
fn a_file_of_others_is_taken_whole_or_not_at_all() {
    let bad = format!("{LINES}{{\"prompt\":\"a\"}}\nno json\n");
    let scratch = project(&[("bad.jsonl", &bad), ("theirs.jsonl", LINES)]);
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "bad.jsonl", "--name", "theirs", "--licence", "MIT"]), @"
    ! error: line 3: the fields `prompt` are no layout that is known
    ! error: line 4: the line is no JSON: expected ident, column 2
    ! error: 2 lines of `bad.jsonl` can not be imported
    ! hint: mend them, or leave them out with `--skip-bad-lines`; nothing was imported
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs"]), @"
    ! error: line 1: the line has no licence, and none was named
    ! error: line 2: the line has no licence, and none was named
    ! error: 2 lines of `theirs.jsonl` can not be imported
    ! hint: name the licence with `--licence`, such as `MIT`; what has none must not be trained on
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs", "--licence", "unknown"]), @"
    ! error: `unknown` is no licence
    ! hint: name it as SPDX does, such as `MIT`, `Apache-2.0` or `CC-BY-4.0`; what has no licence must not be trained on
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "bad.jsonl", "--name", "theirs", "--licence", "MIT", "--skip-bad-lines"]), @"
    theirs 2 examples, MIT
    ! error: line 3: the fields `prompt` are no layout that is known
    ! error: line 4: the line is no JSON: expected ident, column 2
    ! `grail dataset build` mixes it in
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs", "--licence", "MIT"]), @"
    ! error: there is an import `theirs` already
    ! hint: `--replace` puts this one in its place, `--name` gives it another name
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "import", "--remove", "theirs"]), @"
    ! dropped; datasets built before still have it
    exit 0
    ");
}

#[test]
fn examples_are_decided_about_by_name() {
    let scratch = imported();
    let queue = json(&scratch, &["dataset", "review"]);
    assert_eq!((&queue["asked"], &queue["decided"]), (&2.into(), &0.into()));
    let id = |number: usize| queue["waiting"][number]["id"].as_str().unwrap().to_owned();
    let named = |text: String| text.replace(&id(0), "ONE").replace(&id(1), "TWO");
    insta::assert_snapshot!(named(scratch.run(&["dataset", "review"])), @"
    ONE negative: Sum the amounts of an invoice
    TWO negative: Reverse the words of a sentence
    ! 2 examples left, 0 decided; `grail dataset review ID --accept` decides
    exit 0
    ");
    insta::assert_snapshot!(named(scratch.run(&["dataset", "review", &id(0), "--reject"])), @"
    ! ONE: rejected
    exit 0
    ");
    fs::write(scratch.path("answer.py"), "def turned(words):\n    return list(reversed(words.split()))\n")
        .unwrap();
    insta::assert_snapshot!(named(scratch.run(&["dataset", "review", &id(1)[..6], "--correct", "answer.py"])), @"
    ! TWO: corrected
    exit 0
    ");
    let queue = json(&scratch, &["dataset", "review"]);
    assert_eq!((&queue["waiting"], &queue["decided"]), (&Json::Array(Vec::new()), &2.into()));
    let built = json(&scratch, &["dataset", "build", "--valid", "0", "--test", "0"]);
    assert_eq!(built["dataset"]["counts"]["train"], 1);
    let hash = built["dataset"]["hash"].as_str().unwrap();
    assert!(scratch.read(&format!(".grail/datasets/{hash}/train.jsonl")).contains("reversed(words.split())"));
    scratch.run(&["dataset", "review", &id(0), "--withdraw"]);
    assert_eq!(
        json(&scratch, &["dataset", "build", "--valid", "0", "--test", "0"])["dataset"]["counts"]["train"],
        2
    );
    insta::assert_snapshot!(scratch.run(&["dataset", "review", "nothing", "--accept"]), @"
    ! error: there is no example `nothing`
    ! hint: `grail dataset review --format json` lists those that wait
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["dataset", "review", &id(0)]).replace(&id(0), "ONE"), @"
    ! error: the following required arguments were not provided:
    !   <--accept|--reject|--correct <FILE>|--withdraw>
    !
    ! Usage: grail dataset review <--accept|--reject|--correct <FILE>|--withdraw> <ID>
    !
    ! For more information, try '--help'.
    exit 2
    ");
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
    insta::assert_snapshot!(press("\u{3}"), @"
    given back exit 0
    0 accepted, 0 corrected, 0 rejected; 2 examples left
    ");
    insta::assert_snapshot!(press("q"), @"
    given back exit 0
    0 accepted, 0 corrected, 0 rejected; 2 examples left
    ");
    insta::assert_snapshot!(press("aucsq"), @"
    given back exit 0
    0 accepted, 1 corrected, 0 rejected; 1 example left
    ");
    assert_eq!(json(&scratch, &["dataset", "review"])["decided"], 1);
}
