//! `grail code tree`: the outline, the data, and the way back.

use crate::scratch::Scratch;

#[test]
fn a_tree_is_an_outline_for_people() {
    let scratch = Scratch::new(&[("a.py", "x = f(1)  # one\n"), ("broken.py", "x = (\n")]);
    assert_eq!(
        scratch.run(&["code", "tree", "a.py"]),
        "\
Module 1:1
  body: Assign 1:1
    targets: Name 1:1 x
    value: Call 1:5
      func: Name 1:5 f
      args: Integer 1:7 1
exit 0
"
    );
    assert!(scratch.run(&["code", "tree", "broken.py"]).contains("! warning: broken.py:2:1: "));
}

#[test]
fn a_tree_is_data_for_programs_and_prints_as_the_source() {
    let source = "def f( a,b ):\r\n\t# why\r\n\treturn a+ b  # sum\r\n";
    let scratch = Scratch::new(&[("a.py", source)]);
    let output = scratch.command(&["code", "tree", "a.py", "--format", "json"]).output().unwrap();
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["path"], "a.py");
    assert_eq!(record["diagnostics"], serde_json::json!([]));
    assert_eq!(record["tree"]["body"][0]["body"][0]["before"], "# why\r\n\t");
    std::fs::write(scratch.path("a.json"), &output.stdout).unwrap();
    assert_eq!(scratch.run(&["code", "tree", "--print", "a.json"]), format!("{source}exit 0\n"));
    std::fs::write(scratch.path("tree.json"), record["tree"].to_string()).unwrap();
    assert_eq!(scratch.run(&["code", "tree", "--print", "tree.json"]), format!("{source}exit 0\n"));
}

#[test]
fn what_is_no_tree_is_refused() {
    let deep = "[".repeat(100_000);
    let scratch = Scratch::new(&[
        ("a.py", "x = 1\n"),
        ("deep.json", &deep),
        ("long.py", &format!("a{}\n", ".b".repeat(600))),
    ]);
    assert_eq!(
        scratch.run(&["code", "tree", "--print", "a.py"]),
        "\
! error: `a.py` holds no tree: expected value at line 1 column 1
! hint: `grail code tree FILE --format json` makes one
exit 2
"
    );
    assert_eq!(
        scratch.run(&["code", "tree", "--print", "deep.json"]).lines().next(),
        Some("! error: `deep.json` holds no tree: the tree is 50000 levels deep; as data it may be 500")
    );
    assert_eq!(
        scratch.run(&["code", "tree", "long.py", "--format", "json"]),
        "! error: the tree is 603 levels deep; as data it may be 500\nexit 2\n"
    );
    assert!(scratch.run(&["code", "tree", "missing.py"]).ends_with("exit 2\n"));
}
