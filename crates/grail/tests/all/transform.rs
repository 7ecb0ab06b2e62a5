//! `grail code transform`: codemods written in Python, run in the sandbox.

use crate::scratch::Scratch;

const RENAME: &str = r#"
from grail_tree import transform as rewrite


def transform(tree):
    def handler(node):
        if matches(node, {"type": "Call", "func": options["old"]}):
            return {"type": "Call", "func": options["new"], "args": node["args"]}

    return rewrite(tree, handler)
"#;

const SOURCE: &str = "# é\nif x :\n    log( 'a' , 1 )   # loud\n\n\n\nlog (2)\n";

fn scratch(script: &str) -> Scratch {
    Scratch::new(&[
        ("grail.toml", ""),
        ("scripts/change.py", script),
        ("src/a.py", SOURCE),
        ("src/b.py", "x = 1\n"),
    ])
}

#[test]
fn a_script_is_shown_checked_and_written() {
    let scratch = scratch(RENAME);
    let run = ["code", "transform", "scripts/change.py", "--arg", "old=log", "--arg", "new=logger.info"];
    insta::assert_snapshot!(scratch.run(&run), @"
    --- a/src/a.py
    +++ b/src/a.py
    @@ -1,7 +1,7 @@
     # é
     if x :
    -    log( 'a' , 1 )   # loud
    +    logger.info('a' , 1)   # loud
     
     
     
    -log (2)
    +logger.info(2)
    ! 1 file would change; `--write` applies it
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&[&run[..], &["--check", "--format", "json"]].concat()), @r#"
    {
      "changes": [
        {
          "path": "src/a.py",
          "status": "changed",
          "diff": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,7 +1,7 @@\n # é\n if x :\n-    log( 'a' , 1 )   # loud\n+    logger.info('a' , 1)   # loud\n \n \n \n-log (2)\n+logger.info(2)\n"
        }
      ],
      "written": false,
      "errors": []
    }
    exit 1
    "#);
    assert_eq!(scratch.run(&[&run[..], &["--write"]].concat()), "! changed 1 file\nexit 0\n");
    assert_eq!(
        scratch.read("src/a.py"),
        "# é\nif x :\n    logger.info('a' , 1)   # loud\n\n\n\nlogger.info(2)\n"
    );
    assert_eq!(scratch.run(&[&run[..], &["--check"]].concat()), "! nothing to change\nexit 0\n");
    assert_eq!(scratch.read("scripts/change.py"), RENAME);
}

#[test]
fn a_tree_may_be_changed_in_place() {
    let scratch = scratch("def transform(tree):\n    tree['body'].pop()\n");
    assert_eq!(
        scratch.run(&["code", "transform", "scripts/change.py", "src/a.py", "--write"]),
        "! changed 1 file\nexit 0\n"
    );
    assert_eq!(scratch.read("src/a.py"), "# é\nif x :\n    log( 'a' , 1 )   # loud\n");
}

#[test]
fn mistakes_of_the_script_are_shown_at_their_line_and_nothing_is_written() {
    let failure = |script: &str| scratch(script).run(&["code", "transform", "scripts/change.py", "--write"]);
    insta::assert_snapshot!(failure("def change(tree):\n    pass\n"), @"
    ! error: scripts/change.py:1: the script has no function `transform`
    ! hint: add `def transform(tree):`
    exit 2
    ");
    insta::assert_snapshot!(failure("def transform(tree):\n    return tree['bode']\n"), @"
    ! error: scripts/change.py:2: KeyError: bode
    !       return tree['bode']
    !              ^
    ! hint: mend the script, or catch the exception
    exit 2
    ");
    insta::assert_snapshot!(failure("def transform(tree):\n    return {'type': 'Name', 'text': 'x'}\n"), @"
    ! error: scripts/change.py:1: `transform` returned something else than the file's tree
    ! hint: return the whole tree, or change it in place and return `None`
    exit 2
    ");
    insta::assert_snapshot!(failure("def transform(tree):\n    return 'import os'\n"), @"
    ! error: scripts/change.py:1: `transform` returned something else than the file's tree
    ! hint: return the whole tree, or change it in place and return `None`
    exit 2
    ");
}

#[test]
fn a_result_that_does_not_parse_is_refused() {
    let scratch = scratch("def transform(tree):\n    tree['body'].append('def')\n");
    insta::assert_snapshot!(scratch.run(&["code", "transform", "scripts/change.py", "--write"]), @"
    ! error: cannot change `src/a.py`: the script's result does not parse: Expected an identifier on line 8; nothing was changed
    ! error: cannot change `src/b.py`: the script's result does not parse: Expected an identifier on line 2; nothing was changed
    ! nothing to change
    exit 2
    ");
    assert_eq!(scratch.read("src/a.py"), SOURCE);
}

#[test]
fn missing_scripts_and_odd_options_are_said() {
    let scratch = scratch(RENAME);
    insta::assert_snapshot!(scratch.run(&["code", "transform", "nothing.py"]), @"
    ! error: `nothing.py` does not exist
    ! hint: paths are relative to the current directory
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["code", "transform", "scripts/change.py", "--arg", "x"]), @"
    ! error: `x` is not `KEY=VALUE`
    ! hint: for example `--arg old=timeout`
    exit 2
    ");
}
