//! `grail code codemod`: list, show, run, replace.

use crate::scratch::Scratch;

const PATHS: &[(&str, &str)] = &[
    ("grail.toml", ""),
    (
        "codemods/paths.yaml",
        "name: modern-paths
description: Use pathlib instead of os.path
rules:
  - pattern: os.path.exists($PATH)
    replace: Path($PATH).exists()
    add_imports: ['pathlib:Path']
    remove_imports: [os]
",
    ),
    ("src/a.py", "import os\n\nif not os.path.exists(name + '.txt'):\n    pass\n"),
    ("src/b.py", "import os\n\nprint(os.getcwd())\n"),
];

const DIFF: &str = "\
--- a/src/a.py
+++ b/src/a.py
@@ -1,4 +1,4 @@
-import os
+from pathlib import Path
 
-if not os.path.exists(name + '.txt'):
+if not Path(name + '.txt').exists():
     pass
";

#[test]
fn a_codemod_file_is_shown_checked_and_written() {
    let scratch = Scratch::new(PATHS);
    let run = ["code", "codemod", "run", "codemods/paths.yaml"];
    assert_eq!(scratch.run(&run), format!("{DIFF}! 1 file would change; `--write` applies it\nexit 0\n"));
    assert_eq!(
        scratch.run(&[&run[..], &["--check"]].concat()),
        format!("{DIFF}! 1 file would change; `--write` applies it\nexit 1\n")
    );
    assert_eq!(scratch.run(&[&run[..], &["src", "--write"]].concat()), "! changed 1 file\nexit 0\n");
    assert_eq!(
        scratch.read("src/a.py"),
        "from pathlib import Path\n\nif not Path(name + '.txt').exists():\n    pass\n"
    );
    assert_eq!(scratch.run(&[&run[..], &["--check"]].concat()), "! nothing to change\nexit 0\n");
}

#[test]
fn a_replacement_can_be_given_on_the_command_line() {
    let scratch = Scratch::new(PATHS);
    assert_eq!(
        scratch.run(&[
            "code",
            "codemod",
            "replace",
            "os.path.exists($P)",
            "Path($P).exists()",
            "--add-import",
            "pathlib:Path",
            "--remove-import",
            "os",
        ]),
        format!("{DIFF}! 1 file would change; `--write` applies it\nexit 0\n")
    );
}

#[test]
fn what_is_left_alone_is_told() {
    let scratch = Scratch::new(&[("a.py", "check(a)\nx = check(b)\n")]);
    assert_eq!(
        scratch.run(&["code", "codemod", "replace", "check($X)", "assert $X", "--write"]),
        "\
! a.py: line 2: left as it is: the replacement is a statement, and this is only a part of one
! changed 1 file
exit 0
"
    );
    assert_eq!(scratch.read("a.py"), "assert a\nx = check(b)\n");
    assert_eq!(
        scratch.run(&["code", "codemod", "replace", "check($X)", "assert $X", "--format", "json"]),
        r#"{
  "changes": [],
  "written": false,
  "notes": [
    {
      "path": "a.py",
      "message": "line 2: left as it is: the replacement is a statement, and this is only a part of one"
    }
  ],
  "errors": []
}
exit 0
"#
    );
}

#[test]
fn built_in_codemods_are_listed_described_and_run() {
    let scratch = Scratch::new(&[("a.py", "from typing import Optional\n\nx: Optional[int] = None\n")]);
    let list = scratch.run(&["code", "codemod", "list"]);
    assert!(
        list.contains("\nensure-import-present             Add an import unless it is there\n"),
        "{list}"
    );
    assert_eq!(
        scratch.run(&["code", "codemod", "show", "ensure-import-present"]),
        "\
ensure-import-present: Add an import unless it is there
like LibCST's EnsureImportPresentCommand
  --arg module=…  Module to import, or to import from (required)
  --arg entity=…  Name to import from the module
  --arg alias=…  Name to import it as
exit 0
"
    );
    assert_eq!(
        scratch.run(&["code", "codemod", "run", "ensure-import-present", "--arg", "module=os", "--write"]),
        "! changed 1 file\nexit 0\n"
    );
    assert!(scratch.read("a.py").starts_with("import os\n"));
}

#[test]
fn a_file_that_would_break_is_refused_and_the_others_are_changed() {
    let scratch = Scratch::new(&[("a.py", "def f(): (a := 1)\n"), ("b.py", "a = 1\n")]);
    assert_eq!(
        scratch.run(&["code", "codemod", "replace", "a", "a.b", "--write"]),
        "\
! error: cannot change `a.py`: the result would not be valid Python: line 1: Assignment expression target must be an identifier
! changed 1 file
exit 2
"
    );
    assert_eq!(
        (scratch.read("a.py"), scratch.read("b.py")),
        ("def f(): (a := 1)\n".into(), "a.b = 1\n".into())
    );
}

#[test]
fn mistakes_are_explained() {
    let scratch = Scratch::new(&[
        ("a.py", ""),
        ("bad.yaml", "name: bad\nrules:\n  - pattern: f($X)\n    replace: g($Y)\n"),
    ]);
    let run = |arguments: &[&str]| scratch.run(&[&["code", "codemod"], arguments].concat());
    assert_eq!(
        run(&["run", "bad.yaml"]),
        "\
! error: `bad.yaml:4`: invalid replacement: the pattern has no capture `$Y`
!   g($Y)
!     ^
! hint: the pattern captures `$X`
exit 2
"
    );
    assert_eq!(
        run(&["run", "no-such"]),
        "\
! error: there is no command `no-such`
! hint: `grail code codemod list` names them; a codemod file ends in `.yaml`
exit 2
"
    );
    assert_eq!(run(&["run", "none.yaml"]), "! error: cannot read `none.yaml`: it does not exist\nexit 2\n");
    assert_eq!(
        run(&["run", "noop", "--arg", "x=1"]),
        "! error: `noop` has no argument `x`\n! hint: it takes no arguments\nexit 2\n"
    );
    assert_eq!(
        run(&["run", "noop", "--arg", "x"]),
        "! error: `x` is not `KEY=VALUE`\n! hint: for example `--arg module=typing`\nexit 2\n"
    );
    assert_eq!(
        run(&["replace", "f($X", "g($X)"]),
        "\
! error: invalid pattern: unexpected EOF while parsing
!   f($X
!       ^
! hint: a code pattern is valid Python in which `$NAME` stands for one node and `$$$NAME` for any number
exit 2
"
    );
}
