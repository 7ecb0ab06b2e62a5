//! `grail approvals`: every command here is a process of its own, as it would be for a person who decides later.

use crate::scratch::Scratch;

/// What a command shows, with ids as `ID`.
fn run(scratch: &Scratch, arguments: &[&str]) -> String {
    mask_ids(&scratch.run(arguments))
}

pub(crate) fn mask_ids(text: &str) -> String {
    // Those of approvals are times and chance in hexadecimal; those of proposals can be read as times.
    let has_dashes =
        |word: &str, places: &[usize]| places.iter().all(|place| word.as_bytes()[*place] == b'-');
    let is_id = |word: &str| {
        let is_shaped =
            word.len() == 29 && has_dashes(word, &[12]) || word.len() == 22 && has_dashes(word, &[8, 15]);
        is_shaped && word.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
    };
    let parts: Vec<&str> = text
        .split_inclusive(|character: char| !character.is_ascii_alphanumeric() && character != '-')
        .collect();
    let masked = parts.into_iter().map(|part| match part.char_indices().last() {
        Some((at, end)) if is_id(&part[..at]) => format!("ID{end}"),
        _ => part.to_owned(),
    });
    masked.collect()
}

/// The ids of what waits.
fn ids(scratch: &Scratch) -> Vec<String> {
    let seen = scratch.run(&["approvals", "list"]);
    seen.lines()
        .filter(|line| line.len() > 29)
        .filter_map(|line| Some(line.split_once(' ')?.0.to_owned()))
        .collect()
}

const TOOLS: &str = r#"
[tools.refund]
signature = "(customer: str, amount: float) -> str"
command = ["sh", "-c", "cat >> called.txt; echo '\"refunded\"'"]
needs-approval = true

[tools.label]
signature = "(**values: int) -> str"
needs-approval = true

[tools.signature]
signature = "(document: str) -> str"
needs-approval = true
"#;

const SCRIPT: &str = "print('looking')\nanswer = refund('ada', 12.5)\nf'it was {answer}'\n";

fn waiting() -> Scratch {
    let scratch = Scratch::new(&[("grail.toml", ""), ("tools.toml", TOOLS), ("main.py", SCRIPT)]);
    let seen = run(&scratch, &["run", "main.py", "--tools", "tools.toml"]);
    assert_eq!(
        seen,
        "looking\n! the run waits: `refund` needs approval\n! hint: `grail approvals approve ID` calls it; \
         `deny` and `answer` do not\nexit 0\n"
    );
    assert!(!scratch.path("called.txt").exists());
    scratch
}

#[test]
fn a_run_waits_and_is_approved() {
    let scratch = waiting();
    assert_eq!(run(&scratch, &["approvals", "list"]), "ID refund('ada', 12.5)\nexit 0\n");
    let shown = run(&scratch, &["approvals", "show"]);
    let shown: Vec<&str> = shown.lines().filter(|line| !line.starts_with("asked")).collect();
    assert_eq!(
        shown,
        ["run    ID", "script main.py", "policy default", "call   refund('ada', 12.5)", "exit 0"]
    );
    let id = ids(&scratch).remove(0);
    assert_eq!(
        scratch.run(&["approvals", "approve", &id]),
        "'it was refunded'\n! approved: refund('ada', 12.5)\nexit 0\n"
    );
    assert_eq!(scratch.read("called.txt"), r#"{"customer":"ada","amount":12.5}"#);
    assert_eq!(scratch.run(&["approvals", "list"]), "! no run waits for approval\nexit 0\n");
    assert_eq!(run(&scratch, &["approvals", "list", "--all"]), "ID finished refund('ada', 12.5)\nexit 0\n");
    assert_eq!(
        run(&scratch, &["approvals", "approve", &id]),
        "! error: no run waits under `ID`\n! hint: `grail approvals list` shows what waits\nexit 2\n"
    );
}

#[test]
fn a_denied_call_raises_in_the_code() {
    let scratch = waiting();
    insta::assert_snapshot!(scratch.run(&["approvals", "deny", "--reason", "too much"]), @"
    ! error: the tool `refund` failed: PermissionError: too much
    !  --> main.py:2:10
    !   |
    ! 2 | answer = refund('ada', 12.5)
    !   |          ^^^^^^
    ! hint: mend the tool, or catch its exception in the code
    ! page: docs/guides/sandbox-outcomes.md#tool-failed
    exit 1
    ");
    assert!(!scratch.path("called.txt").exists());
    assert_eq!(scratch.run(&["approvals", "list"]), "! no run waits for approval\nexit 0\n");
}

#[test]
fn a_person_can_answer_in_the_tools_place() {
    let scratch = waiting();
    let id = ids(&scratch).remove(0);
    assert_eq!(scratch.run(&["approvals", "answer", &id[20..], "\"settled\""]), "'it was settled'\nexit 0\n");
    assert!(!scratch.path("called.txt").exists());
}

/// What cannot be carried out decides nothing.
#[test]
fn an_answer_too_deep_for_the_code_leaves_the_run_waiting() {
    let scratch = waiting();
    let id = ids(&scratch).remove(0);
    let answer =
        |depth: usize| scratch.run(&["approvals", "answer", &id, &("[".repeat(depth) + &"]".repeat(depth))]);
    assert_eq!(answer(60), "! error: the answer nests deeper than 48 levels\nexit 2\n");
    assert!(answer(110).ends_with("levels\nexit 2\n"));
    assert!(answer(1000).starts_with("! error: the answer is not JSON: recursion limit exceeded"));
    assert_eq!(scratch.run(&["approvals", "answer", &id, "\"settled\""]), "'it was settled'\nexit 0\n");
}

#[test]
fn a_run_kept_in_a_file_calls_nothing_that_needs_approval() {
    let scratch = Scratch::new(&[("grail.toml", ""), ("tools.toml", TOOLS), ("main.py", SCRIPT)]);
    scratch.run(&["run", "main.py", "--tools", "tools.toml", "--snapshot-out", "kept.run"]);
    insta::assert_snapshot!(scratch.run(&["run", "--resume", "kept.run"]), @"
    ! error: the run waits for `refund`, which needs approval
    ! hint: run the script again without `--snapshot-out`, and `grail approvals` decides; `--answer JSON` and `--error TEXT` go on without the tool
    exit 2
    ");
    assert_eq!(
        scratch.run(&["run", "--resume", "kept.run", "--answer", "\"settled\""]),
        "'it was settled'\nexit 0\n"
    );
    assert!(!scratch.path("called.txt").exists());
}

#[test]
fn a_run_may_ask_more_than_once() {
    let scratch = waiting();
    std::fs::write(scratch.path("main.py"), "refund('a', 1.0) + refund('b', 2.0)\n").unwrap();
    scratch.run(&["run", "main.py", "--tools", "tools.toml"]);
    assert_eq!(
        run(&scratch, &["approvals", "list"]),
        "ID refund('ada', 12.5)\nID refund('a', 1.0)\nexit 0\n"
    );
    insta::assert_snapshot!(run(&scratch, &["approvals", "approve"]), @"
    ! error: more than one run waits
    ! hint: give the id; `grail approvals list` shows them
    exit 2
    ");
    let second = ids(&scratch).remove(1);
    insta::assert_snapshot!(run(&scratch, &["approvals", "approve", &second]), @"
    ! approved: refund('a', 1.0)
    ! the run waits: `refund` needs approval
    ! hint: `grail approvals approve ID` calls it; `deny` and `answer` do not
    exit 0
    ");
    assert_eq!(
        run(&scratch, &["approvals", "list"]),
        "ID refund('ada', 12.5)\nID refund('b', 2.0)\nexit 0\n"
    );
    let third = ids(&scratch).remove(1);
    assert_eq!(
        scratch.run(&["approvals", "approve", &third]),
        "'refundedrefunded'\n! approved: refund('b', 2.0)\nexit 0\n"
    );
    assert_eq!(run(&scratch, &["approvals", "list"]), "ID refund('ada', 12.5)\nexit 0\n");
}

/// Whoever decides sees all of it.
#[test]
fn a_long_call_is_shown_whole() {
    let code = "refund('a' * 300 + ' and all others', 1.0)\n";
    let scratch = Scratch::new(&[("grail.toml", ""), ("tools.toml", TOOLS), ("main.py", code)]);
    scratch.run(&["run", "main.py", "--tools", "tools.toml"]);
    let head = "a".repeat(192);
    assert_eq!(
        run(&scratch, &["approvals", "list"]),
        format!("ID refund('{head}… (330 characters; see `grail approvals show`)\nexit 0\n")
    );
    let call = format!("refund('{} and all others', 1.0)", "a".repeat(300));
    assert!(run(&scratch, &["approvals", "show"]).ends_with(&format!("call   {call}\nexit 0\n")));
    assert_eq!(scratch.run(&["approvals", "approve"]), format!("'refunded'\n! approved: {call}\nexit 0\n"));
}

#[test]
fn a_call_cannot_command_the_terminal_it_is_shown_on() {
    let code = "label(**{'\\x1b[2J\\u202e': 1, 'a=0)\\nID refund(': 2})\n";
    let scratch = Scratch::new(&[("grail.toml", ""), ("tools.toml", TOOLS), ("main.py", code)]);
    scratch.run(&["run", "main.py", "--tools", "tools.toml"]);
    insta::assert_snapshot!(run(&scratch, &["approvals", "list"]), @r"
    ID label(**{'\x1b[2J\u202e': 1}, **{'a=0)\nID refund(': 2})
    exit 0
    ");
}

#[test]
fn a_tool_without_a_command_must_be_answered() {
    let scratch =
        Scratch::new(&[("grail.toml", ""), ("tools.toml", TOOLS), ("main.py", "signature('lease')\n")]);
    scratch.run(&["run", "main.py", "--tools", "tools.toml"]);
    insta::assert_snapshot!(run(&scratch, &["approvals", "approve"]), @"
    ! error: `signature` has no command, so approving it calls nothing
    ! hint: answer in its place: `grail approvals answer ID JSON`
    exit 2
    ");
    let id = ids(&scratch).remove(0);
    assert_eq!(scratch.run(&["approvals", "answer", &id, "\"Ada\""]), "'Ada'\nexit 0\n");
}

#[test]
fn without_its_tools_file_a_run_keeps_waiting() {
    let scratch = waiting();
    std::fs::rename(scratch.path("tools.toml"), scratch.path("elsewhere.toml")).unwrap();
    assert!(
        scratch
            .run(&["approvals", "approve"])
            .starts_with("! error: the tools file `tools.toml` cannot be read")
    );
    std::fs::rename(scratch.path("elsewhere.toml"), scratch.path("tools.toml")).unwrap();
    assert_eq!(
        scratch.run(&["approvals", "approve"]),
        "'it was refunded'\n! approved: refund('ada', 12.5)\nexit 0\n"
    );
}

#[test]
fn a_changed_run_is_refused_and_a_changed_copy_of_its_question_deceives_nobody() {
    let scratch = waiting();
    let id = ids(&scratch).remove(0);
    let file = format!(".grail/runs/approvals/{id}.json");
    let record = scratch.read(&file);
    std::fs::write(scratch.path(&file), record.replacen("12.5", "0.5", 1)).unwrap();
    assert_eq!(run(&scratch, &["approvals", "list"]), "ID refund('ada', 12.5)\nexit 0\n");
    let mut record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let snapshot = record["snapshot"].as_str().unwrap().to_owned();
    let changed: String = snapshot
        .chars()
        .enumerate()
        .map(|(at, digit)| if at == 100 { if digit == 'A' { 'B' } else { 'A' } } else { digit })
        .collect();
    record["snapshot"] = changed.into();
    std::fs::write(scratch.path(&file), record.to_string()).unwrap();
    insta::assert_snapshot!(run(&scratch, &["approvals", "approve"]), @"
    ! error: the run `ID` was changed, or sealed with another key
    ! hint: run the script again; this run cannot be trusted
    exit 2
    ");
    insta::assert_snapshot!(run(&scratch, &["approvals", "list"]), @"
    ! no run waits for approval
    ! warning: the run `ID` was changed, or sealed with another key
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["approvals", "approve", "../1"]), @"
    ! error: no run waits under `../1`
    ! hint: `grail approvals list` shows what waits
    exit 2
    ");
    assert!(!scratch.path("called.txt").exists());
}
