//! `grail check`

use crate::scratch::Scratch;

pub(crate) const PACK: &str = r#"[kinds.view]
description = "A function that answers a request"
files = ["**/views.py"]
shape = ["function"]
"#;

pub(crate) const DECORATOR: &str = r#"---
id: view-decorator
severity: error
applies-to: [view]
fix: safe
options: {decorator: "app.web:view"}
---

# A view is decorated

The router finds views by their decorator. One without it is never called.

```yaml rule
require: {decorators: ["$$$", {type: Decorator, expression: "%{decorator.name}"}, "$$$"]}
message: "the view `$NAME` is not decorated with `@%{decorator.name}`"
fix:
  title: Add `@%{decorator.name}`
  steps:
    - add_decorator: "%{decorator.name}"
    - add_import: "%{decorator}"
```

## Bad

```python app/views.py
def index(request):  # error: the view `index` is not decorated with `@view`
    return 1
```

```python fixed app/views.py
from app.web import view


@view
def index(request):
    return 1
```

## Good

```python app/views.py
from app.web import view


@view
def index(request):
    return 1
```
"#;

pub(crate) const PRINT: &str = r#"---
id: no-print
severity: warning
fix: unsafe
---

# Nothing is printed

```yaml rule
match: print($TEXT)
message: "`$TEXT` is printed"
help: the log tells when and where
fix:
  title: Log it
  steps:
    - replace: log.info($TEXT)
    - add_import: app:log
```

## Bad

```python
print("a")  # warning: `"a"` is printed
```

```python fixed
from app import log

log.info("a")
```

## Good

```python
log.info("a")
```
"#;

const VIEWS: &str = "\
from app import db


def index(request):
    rows = db.all()
    print(rows)
    return rows
";

pub(crate) fn project(files: &[(&str, &str)]) -> Scratch {
    let skill = [
        ("grail.toml", ""),
        (".agents/skills/mine/rules/pack.toml", PACK),
        (".agents/skills/mine/rules/view-decorator.md", DECORATOR),
        (".agents/skills/mine/rules/no-print.md", PRINT),
    ];
    Scratch::new(&[&skill, files].concat())
}

#[test]
fn findings_show_the_code_the_reason_and_the_fix() {
    let scratch = project(&[("app/views.py", VIEWS), ("app/db.py", "def all(): ...\n")]);
    insta::assert_snapshot!(scratch.run(&["check"]), @"
    error[view-decorator]: the view `index` is not decorated with `@view`
     --> app/views.py:4:5
      |
    4 | def index(request):
      |     ^^^^^
      |
      = why: A view is decorated
    fix: Add `@view` (safe)
    2 + from app.web import view
    4 + @view

    warning[no-print]: `rows` is printed
     --> app/views.py:6:5
      |
    6 |     print(rows)
      |     ^^^^^^^^^^^
      |
      = why: Nothing is printed
      = help: the log tells when and where
    fix: Log it (unsafe)
    1 - from app import db
      + from app import db, log
    6 -     print(rows)
      +     log.info(rows)

    ! found 1 error, 1 warning in 2 files; `--fix` fixes 1; `--unsafe-fixes` allows 1 more
    exit 1
    ");
}

#[test]
fn nothing_found_is_said() {
    let scratch = project(&[("app/db.py", "def all(): ...\n")]);
    insta::assert_snapshot!(scratch.run(&["check", "app"]), @"
    ! nothing found in 1 file with 2 rules
    exit 0
    ");
}

#[test]
fn safe_fixes_are_made_and_the_rest_is_reported() {
    let scratch = project(&[("app/views.py", VIEWS)]);
    insta::assert_snapshot!(scratch.run(&["check", "--fix"]), @"
    warning[no-print]: `rows` is printed
     --> app/views.py:8:5
      |
    8 |     print(rows)
      |     ^^^^^^^^^^^
      |
      = why: Nothing is printed
      = help: the log tells when and where
    fix: Log it (unsafe)
    1 - from app import db
      + from app import db, log
    8 -     print(rows)
      +     log.info(rows)

    ! fixed 1 finding in 1 file; found 1 warning in 1 file; `--unsafe-fixes` allows 1 more
    exit 1
    ");
    insta::assert_snapshot!(scratch.read("app/views.py"), @"
    from app import db
    from app.web import view


    @view
    def index(request):
        rows = db.all()
        print(rows)
        return rows
    ");
    insta::assert_snapshot!(scratch.run(&["check", "--fix", "--unsafe-fixes"]), @"
    ! fixed 1 finding in 1 file; nothing is left
    exit 0
    ");
    insta::assert_snapshot!(scratch.read("app/views.py"), @"
    from app import db, log
    from app.web import view


    @view
    def index(request):
        rows = db.all()
        log.info(rows)
        return rows
    ");
}

#[test]
fn a_diff_shows_what_fixing_would_do() {
    let scratch = project(&[("app/views.py", VIEWS)]);
    let shown = scratch.run(&["check", "--diff"]);
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    --- a/app/views.py
    +++ b/app/views.py
    @@ -1,6 +1,8 @@
     from app import db
    +from app.web import view


    +@view
     def index(request):
         rows = db.all()
         print(rows)
    ! 1 file would change; `--fix` applies it
    exit 1
    ");
    assert_eq!(scratch.read("app/views.py"), VIEWS);
}

#[test]
fn json_has_one_shape_for_all_layers() {
    let scratch = project(&[("app/views.py", "def index(request): ...\n"), ("app/broken.py", "def f(:\n")]);
    insta::assert_snapshot!(scratch.run(&["check", "--format", "json", "app"]), @r#"
    {
      "diagnostics": [
        {
          "path": "app/broken.py",
          "layer": "syntax",
          "rule": "syntax-error",
          "severity": "error",
          "message": "Expected a parameter or the end of the parameter list",
          "span": {
            "start": 6,
            "end": 7
          },
          "start": {
            "line": 1,
            "column": 7
          },
          "end": {
            "line": 1,
            "column": 8
          }
        },
        {
          "path": "app/broken.py",
          "layer": "syntax",
          "rule": "syntax-error",
          "severity": "error",
          "message": "unexpected EOF while parsing",
          "span": {
            "start": 8,
            "end": 8
          },
          "start": {
            "line": 2,
            "column": 1
          },
          "end": {
            "line": 2,
            "column": 1
          }
        },
        {
          "path": "app/views.py",
          "layer": "rules",
          "rule": "view-decorator",
          "severity": "error",
          "message": "the view `index` is not decorated with `@view`",
          "span": {
            "start": 4,
            "end": 9
          },
          "start": {
            "line": 1,
            "column": 5
          },
          "end": {
            "line": 1,
            "column": 10
          },
          "fix": {
            "title": "Add `@view`",
            "safety": "safe",
            "edits": [
              {
                "span": {
                  "start": 0,
                  "end": 0
                },
                "text": "from app.web import view\n\n\n"
              },
              {
                "span": {
                  "start": 0,
                  "end": 0
                },
                "text": "@view\n"
              }
            ]
          }
        }
      ],
      "layers": [
        {
          "layer": "syntax",
          "status": "ran",
          "findings": 2
        },
        {
          "layer": "rules",
          "status": "ran",
          "findings": 1
        }
      ],
      "errors": []
    }
    exit 1
    "#);
    assert_eq!(
        scratch.run(&["--format", "json", "check", "app"]),
        scratch.run(&["check", "app", "--format", "json"])
    );
}

#[test]
fn rules_are_chosen_by_option_and_by_setting() {
    let scratch = project(&[("app/views.py", VIEWS)]);
    insta::assert_snapshot!(scratch.run(&["check", "--select", "no-print", "--layer", "rules"]), @"
    warning[no-print]: `rows` is printed
     --> app/views.py:6:5
      |
    6 |     print(rows)
      |     ^^^^^^^^^^^
      |
      = why: Nothing is printed
      = help: the log tells when and where
    fix: Log it (unsafe)
    1 - from app import db
      + from app import db, log
    6 -     print(rows)
      +     log.info(rows)

    ! found 1 warning in 1 file; `--unsafe-fixes` allows 1 more
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["check", "--ignore", "mine"]), @"
    ! nothing found in 1 file with 0 rules
    ! hint: `grail rules list` shows the rules there are; `select` in `[check]` of `grail.toml` brings one into force, and your own go into `.agents/skills/`
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["check", "--select", "no-pint"]), @"
    ! error: --select: there is no rule and no pack `no-pint`
    ! hint: did you mean `no-print`?
    exit 2
    ");
    std::fs::write(
        scratch.path("grail.toml"),
        "[check]\nignore = [\"no-print\"]\n[check.severity]\nview-decorator = \"info\"\n\
         [check.options.view-decorator]\ndecorator = \"app.pages:page\"\n",
    )
    .unwrap();
    insta::assert_snapshot!(scratch.run(&["check"]), @"
    info[view-decorator]: the view `index` is not decorated with `@page`
     --> app/views.py:4:5
      |
    4 | def index(request):
      |     ^^^^^
      |
      = why: A view is decorated
    fix: Add `@page` (safe)
    2 + from app.pages import page
    4 + @page

    ! found 1 note in 1 file; `--fix` fixes 1
    exit 0
    ");
}

#[test]
fn a_kind_can_be_forced() {
    let scratch = project(&[("app/other.py", "def index(request): ...\n")]);
    insta::assert_snapshot!(scratch.run(&["check", "--kind", "view"]), @"
    error[view-decorator]: the view `index` is not decorated with `@view`
     --> app/other.py:1:5
      |
    1 | def index(request): ...
      |     ^^^^^
      |
      = why: A view is decorated
    fix: Add `@view` (safe)
    1 + from app.web import view
      +
      +
      + @view

    ! found 1 error in 1 file; `--fix` fixes 1
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["check", "--kind", "veiw"]), @"
    ! error: --kind: no skill declares the kind `veiw`
    ! hint: did you mean `view`?
    exit 2
    ");
}

#[test]
fn comments_suppress_and_unused_ones_are_found() {
    let text =
        "print(1)  # grail: ignore[no-print] a script\nx = 1  # grail: ignore[no-print]\n# grail: ignore\n";
    let scratch = project(&[("app/tool.py", text)]);
    insta::assert_snapshot!(scratch.run(&["check"]), @"
    warning[unused-suppression]: the comment suppresses `no-print`, which finds nothing here
     --> app/tool.py:2:24
      |
    2 | x = 1  # grail: ignore[no-print]
      |                        ^^^^^^^^
    fix: Remove the comment (safe)
    2 - x = 1  # grail: ignore[no-print]
      + x = 1

    warning[invalid-suppression]: the comment suppresses nothing: it names no rule
     --> app/tool.py:3:1
      |
    3 | # grail: ignore
      | ^^^^^^^^^^^^^^^
      |
      = help: write `# grail: ignore[rule-id] reason`

    ! found 2 warnings in 1 file; `--fix` fixes 1
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["check", "--fix"]), @"
    warning[invalid-suppression]: the comment suppresses nothing: it names no rule
     --> app/tool.py:3:1
      |
    3 | # grail: ignore
      | ^^^^^^^^^^^^^^^
      |
      = help: write `# grail: ignore[rule-id] reason`

    ! fixed 1 finding in 1 file; found 1 warning in 1 file
    exit 1
    ");
    insta::assert_snapshot!(scratch.read("app/tool.py"), @"
    print(1)  # grail: ignore[no-print] a script
    x = 1
    # grail: ignore
    ");
}

#[test]
fn what_cannot_be_read_does_not_stop_the_rest() {
    let scratch = project(&[
        ("app/tool.py", "print(1)\n"),
        (".agents/skills/mine/rules/broken.md", "---\nid: broken\nseverity: loud\n---\n# Broken\n"),
    ]);
    std::fs::write(scratch.path("app/binary.py"), b"x = 1\0").unwrap();
    insta::assert_snapshot!(scratch.run(&["check"]), @"
    warning[no-print]: `1` is printed
     --> app/tool.py:1:1
      |
    1 | print(1)
      | ^^^^^^^^
      |
      = why: Nothing is printed
      = help: the log tells when and where
    fix: Log it (unsafe)
    1 - print(1)
      + from app import log
      +
      + log.info(1)

    ! error: .agents/skills/mine/rules/broken.md:3: unknown variant `loud`, expected one of info, warning, error
    ! hint: front matter has `id`, `severity`, `applies-to`, `fix`, `for`, `mentions`, `occurs`, `options` and `project`
    ! error: `app/binary.py` is a binary file (null byte at offset 5)
    ! hint: only Python source can be read
    ! found 1 warning in 1 file; `--unsafe-fixes` allows 1 more
    exit 2
    ");
}

#[test]
fn fixes_that_undo_each_other_are_named_and_dropped() {
    let rename = |id: &str, from: &str, to: &str| {
        format!(
            "---\nid: {id}\nfix: safe\n---\n\n# No {from}\n\n```yaml rule\nmatch: {from}()\nmessage: \"{from} is called\"\n\
             fix:\n  title: Call {to}\n  steps:\n    - replace: {to}()\n```\n"
        )
    };
    let scratch = Scratch::new(&[
        ("grail.toml", ""),
        (".agents/skills/mine/rules/no-a.md", &rename("no-a", "a", "b")),
        (".agents/skills/mine/rules/no-b.md", &rename("no-b", "b", "a")),
        ("app.py", "a()\n"),
    ]);
    insta::assert_snapshot!(scratch.run(&["check", "--fix"]), @"
    error[no-a]: a is called
     --> app.py:1:1
      |
    1 | a()
      | ^^^
      |
      = why: No a
    fix: Call b (safe)
    1 - a()
      + b()

    ! error: app.py: the fixes of `no-a` and `no-b` undo each other
    ! hint: these fixes were left out; the mistake is in the rule
    ! found 1 error in 1 file; `--fix` fixes 1
    exit 2
    ");
    assert_eq!(scratch.read("app.py"), "a()\n");
}

#[cfg(unix)]
#[test]
fn an_interrupted_check_leaves_no_tool_behind() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};
    let ruff = "#!/bin/sh\n[ \"$1\" = --version ] && echo ruff 0 && exit\necho $$ > running\nexec sleep 60\n";
    let scratch = Scratch::new(&[("grail.toml", ""), ("a.py", "a = 1\n"), (".venv/bin/ruff", ruff)]);
    std::fs::set_permissions(scratch.path(".venv/bin/ruff"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("mkfifo").arg(scratch.path("running")).status().unwrap().success());
    let mut command = scratch.command(&["check", "--layer", "lint"]);
    let check = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Reading waits for the tool to say that it runs.
    let tool = scratch.read("running").trim().to_owned();
    let kill =
        |arguments: &[&str]| Command::new("kill").args(arguments).stderr(Stdio::null()).status().unwrap();
    assert!(kill(&["-INT", &check.id().to_string()]).success());
    insta::assert_snapshot!(crate::scratch::render(&check.wait_with_output().unwrap()), @"
    ! error: lint: `ruff` was interrupted
    ! nothing found in 1 file
    exit 2
    ");
    assert!(!kill(&["-0", &tool]).success());
}
