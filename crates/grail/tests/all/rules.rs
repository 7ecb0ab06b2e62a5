//! `grail rules`

use crate::check::{DECORATOR, PACK, PRINT};
use crate::scratch::Scratch;

fn project(print: &str) -> Scratch {
    Scratch::new(&[
        ("grail.toml", "[check]\nignore = [\"no-print\"]\n"),
        (".agents/skills/mine/rules/pack.toml", PACK),
        (".agents/skills/mine/rules/view-decorator.md", DECORATOR),
        (".agents/skills/mine/rules/no-print.md", print),
    ])
}

#[test]
fn the_list_says_what_is_in_force() {
    let scratch = project(PRINT);
    let list = scratch.run(&["rules", "list"]);
    let mine: Vec<&str> = list.lines().take(3).collect();
    insta::assert_snapshot!(mine.join("\n"), @"
    mine (project)
      ○ no-print        warning  fix?  Nothing is printed
      ● view-decorator  error    fix   A view is decorated
    ");
    let json = scratch.run(&["rules", "list", "--format", "json"]);
    let json = json.split_once("\"name\": \"mine\"").unwrap().1;
    insta::assert_snapshot!(json.split("\n    }").next().unwrap(), @r#"
    ,
          "origin": "project",
          "folder": ".agents/skills/mine",
          "kinds": [
            {
              "name": "view",
              "description": "A function that answers a request"
            }
          ],
          "rules": [
            {
              "id": "no-print",
              "title": "Nothing is printed",
              "severity": "warning",
              "fix": "unsafe",
              "in_force": false,
              "path": ".agents/skills/mine/rules/no-print.md"
            },
            {
              "id": "view-decorator",
              "title": "A view is decorated",
              "severity": "error",
              "fix": "safe",
              "in_force": true,
              "path": ".agents/skills/mine/rules/view-decorator.md"
            }
          ]
    "#);
}

#[test]
fn a_rule_shows_itself() {
    let scratch = project(PRINT);
    insta::assert_snapshot!(scratch.run(&["rules", "show", "view-decorator"]), @r#"
    # A view is decorated

    view-decorator · error · pack mine
    .agents/skills/mine/rules/view-decorator.md · in force here
    applies to view
    fix: safe

    The router finds views by their decorator. One without it is never called.

    ## Options

    - decorator = "app.web:view"

    ## Definition

        require: {decorators: ["$$$", {type: Decorator, expression: "%{decorator.name}"}, "$$$"]}
        message: "the view `$NAME` is not decorated with `@%{decorator.name}`"
        fix:
          title: Add `@%{decorator.name}`
          steps:
            - add_decorator: "%{decorator.name}"
            - add_import: "%{decorator}"

    ## Bad

        def index(request):  # error: the view `index` is not decorated with `@view`
            return 1

    fixed:

        from app.web import view


        @view
        def index(request):
            return 1

    ## Good

        from app.web import view


        @view
        def index(request):
            return 1
    exit 0
    "#);
    insta::assert_snapshot!(scratch.run(&["rules", "show", "view-decorater"]), @"
    ! error: there is no rule and no pack `view-decorater`
    ! hint: did you mean `view-decorator`?
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["rules", "show", "no-print", "--format", "json"]), @r#"
    {
      "rules": [
        {
          "id": "no-print",
          "title": "Nothing is printed",
          "severity": "warning",
          "fix": "unsafe",
          "in_force": false,
          "path": ".agents/skills/mine/rules/no-print.md",
          "pack": "mine",
          "why": "",
          "applies_to": [],
          "options": {},
          "definition": "match: print($TEXT)\nmessage: \"`$TEXT` is printed\"\nhelp: the log tells when and where\nfix:\n  title: Log it\n  steps:\n    - replace: log.info($TEXT)\n    - add_import: app:log\n",
          "examples": [
            {
              "kind": "bad",
              "title": "",
              "files": {
                "example.py": "print(\"a\")\n"
              },
              "fixed": {
                "example.py": "from app import log\n\nlog.info(\"a\")\n"
              }
            },
            {
              "kind": "good",
              "title": "",
              "files": {
                "example.py": "log.info(\"a\")\n"
              }
            }
          ]
        }
      ]
    }
    exit 0
    "#);
}

#[test]
fn examples_are_run() {
    let scratch = project(PRINT);
    insta::assert_snapshot!(scratch.run(&["rules", "test", "mine"]), @"
    pass  mine/no-print        2 examples
    pass  mine/view-decorator  2 examples
    ! 2 rules with 4 examples: all pass
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["rules", "test", "no-print"]), @"
    pass  mine/no-print  2 examples
    ! 1 rule with 2 examples: all pass
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["rules", "test", ".agents/skills/mine", "--format", "json"]), @r#"
    {
      "rules": [
        {
          "rule": "no-print",
          "pack": "mine",
          "path": ".agents/skills/mine/rules/no-print.md",
          "passed": true,
          "examples": 2,
          "failures": []
        },
        {
          "rule": "view-decorator",
          "pack": "mine",
          "path": ".agents/skills/mine/rules/view-decorator.md",
          "passed": true,
          "examples": 2,
          "failures": []
        }
      ],
      "errors": []
    }
    exit 0
    "#);
}

#[test]
fn failures_and_unreadable_rules_are_pointed_at() {
    let scratch = project(&PRINT.replace("`\"a\"` is printed", "it prints"));
    insta::assert_snapshot!(scratch.run(&["rules", "test", "mine"]), @r#"
    FAIL  mine/no-print        2 examples
          .agents/skills/mine/rules/no-print.md:23: expected, not found: warning: it prints
          .agents/skills/mine/rules/no-print.md:23: found, not expected: warning: `"a"` is printed
    pass  mine/view-decorator  2 examples
    ! 2 rules with 4 examples: 1 failed
    exit 1
    "#);
    let scratch = project(&PRINT.replace("match: print($TEXT)", "match: print($TEXT"));
    insta::assert_snapshot!(scratch.run(&["rules", "test", "mine"]), @"
    pass  mine/view-decorator  2 examples
    ! error: .agents/skills/mine/rules/no-print.md:10: invalid pattern: unexpected EOF while parsing
    !   print($TEXT
    !              ^
    ! hint: a code pattern is valid Python in which `$NAME` stands for one node and `$$$NAME` for any number
    ! 1 rule with 2 examples: all pass
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["rules", "test", "nine"]), @"
    ! error: there is no rule and no pack `nine`
    ! hint: did you mean `mine`?
    exit 2
    ");
}
