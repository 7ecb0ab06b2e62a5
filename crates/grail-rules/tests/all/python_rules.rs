//! Rules written in Python: what they see, what they may say, and what becomes of broken and hostile ones.

use std::path::Path;
use std::sync::Arc;

use grail_code::{ModuleName, Source, parse_module};
use grail_rules::{
    Checker, FileUnderCheck, Finding, Options, PythonRules, Rule, RuleProblem, RuleSetBuilder,
    SandboxedRules, ScriptRunner, test_rule,
};

fn sandbox() -> SandboxedRules {
    SandboxedRules::new(ScriptRunner::new(env!("CARGO_BIN_EXE_grail-rules-test-worker")))
}

fn rule(front: &str, source: &str, examples: &str) -> Arc<Rule> {
    let text = format!("---\nid: a-rule\n{front}---\n\n# A rule\n\n{examples}");
    let python = Path::new("rules/a-rule.py");
    Arc::new(
        Rule::parse(&"pack".into(), Path::new("rules/a-rule.md"), &text, Some((python, source))).unwrap(),
    )
}

/// What a rule's Python says about a file.
fn check(python: &dyn PythonRules, rule_source: &str, code: &str) -> (Vec<Finding>, Vec<RuleProblem>) {
    let mut builder = RuleSetBuilder::default();
    builder.rule(rule("fix: safe\n", rule_source, "").compile(&Options::new(), None).unwrap(), Vec::new());
    let rules = builder.build();
    let parsed = parse_module(Source::from_text(code));
    let file = FileUnderCheck::new("app/views.py", ModuleName::module("app.views"), &parsed);
    let found = Checker { rules: &rules, python: Some(python) }.check(&file);
    (found.report.findings, found.problems)
}

/// The problem that a broken rule is dropped with.
fn problem(rule_source: &str) -> String {
    let (findings, problems) = check(&sandbox(), rule_source, "x = 1\n");
    assert_eq!(findings, []);
    let [problem] = &problems[..] else { panic!("one problem is expected: {problems:?}") };
    let snippet = problem.snippet.as_ref().map(|snippet| format!("\n{snippet}")).unwrap_or_default();
    let hint = problem.hint.as_deref().unwrap_or("-");
    format!("{problem}{snippet}\nhint: {hint}")
}

const PRINTS: &str = r#"
def check(tree):
    found = []
    for call in findall(tree, {"type": "Call", "func": "print"}):
        edit = {"node": call["func"], "text": options.get("instead", "log")}
        found.append({
            "node": call,
            "message": "`" + code_of(call) + "` in " + module + ", " + path,
            "help": "call `log`",
            "fix": {"title": "Call `log`", "edits": [edit]},
        })
    return found
"#;

#[test]
fn a_rule_runs_also_where_tasks_of_another_runtime_do() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (findings, problems) = runtime.block_on(async { check(&sandbox(), PRINTS, "print(1)\n") });
    assert_eq!((findings.len(), problems.len()), (1, 0), "{problems:?}");
}

#[test]
fn a_rule_sees_the_tree_and_returns_findings_with_fixes() {
    let (findings, problems) = check(&sandbox(), PRINTS, "é = 1\nif é:\n    print(é)\n");
    assert_eq!(problems, []);
    insta::assert_snapshot!(serde_json::to_string_pretty(&findings).unwrap(), @r#"
    [
      {
        "path": "app/views.py",
        "layer": "rules",
        "rule": "a-rule",
        "severity": "error",
        "message": "`print(é)` in app.views, app/views.py",
        "help": "call `log`",
        "span": {
          "start": 18,
          "end": 27
        },
        "start": {
          "line": 3,
          "column": 5
        },
        "end": {
          "line": 3,
          "column": 13
        },
        "fix": {
          "title": "Call `log`",
          "safety": "safe",
          "edits": [
            {
              "span": {
                "start": 18,
                "end": 23
              },
              "text": "log"
            }
          ]
        }
      }
    ]
    "#);
}

#[test]
fn the_examples_of_a_rule_in_python_are_run() {
    let examples = r#"
## Bad

```python app.py
print(1)  # warning: `print(1)` in app, app.py
```

```python fixed app.py
write(1)
```

```toml
instead = "write"
```

## Good

```python
log(1)
```
"#;
    let rule = rule("severity: warning\nfix: safe\noptions: {instead: log}\n", PRINTS, examples);
    let report = test_rule(&rule, &[], Some(&sandbox()));
    assert_eq!(report.failures, []);
}

#[test]
fn names_of_a_rule_do_not_change_what_the_helpers_do() {
    let source = r#"
from grail_tree import (
    findall as every,
    docstring,
)

LAYOUT = STATEMENTS = visit = matches = None

def check(tree):
    return [{"node": name, "message": name["text"]} for name in every(tree, {"type": "Name"}) if docstring(tree) is None]
"#;
    let (findings, problems) = check(&sandbox(), source, "x = y\n");
    assert_eq!(problems, []);
    let found: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(found, ["x", "y"]);
}

#[test]
fn mistakes_point_at_the_line_of_the_rule() {
    insta::assert_snapshot!(problem("def check(tree)\n    return []\n"), @"
    rules/a-rule.py:1: Expected `:`, found newline
      def check(tree)
                     ^
    hint: mend the syntax of the script
    ");
    insta::assert_snapshot!(problem("def look(tree):\n    return []\n"), @"
    rules/a-rule.py:1: the script has no function `check`
    hint: add `def check(tree):`
    ");
    insta::assert_snapshot!(problem("import socket\n\ndef check(tree):\n    return []\n"), @"
    rules/a-rule.py:1: there is no module `socket`
      import socket
             ^
    hint: use a module the engine has (see `docs/reference/python-subset.md`), or ask for a tool
    ");
    insta::assert_snapshot!(problem("from grail_tree import (\n    findal,\n)\n\ndef check(tree):\n    return []\n"), @"
    rules/a-rule.py:2: `grail_tree` has no `findal`
          findal,
          ^
    hint: it has `REMOVE`, `code_of`, `codegen`, `deep_equals`, `docstring`, `fields_of`, `findall`, `matches`, `remove`, `replace`, `transform`, `visit`
    ");
    insta::assert_snapshot!(problem("import grail_tree\n\ndef check(tree):\n    return []\n"), @"
    rules/a-rule.py:1: `grail_tree` can only be imported from
      import grail_tree
      ^
    hint: for example `from grail_tree import findall`
    ");
    insta::assert_snapshot!(problem("def check(tree):\n    return helper(tree)\n\ndef helper(tree):\n    return tree['bode']\n"), @"
    rules/a-rule.py:5: KeyError: bode
          return tree['bode']
                 ^
    hint: mend the script, or catch the exception
    ");
    insta::assert_snapshot!(problem("def check(tree):\n\n    return findall(tree, 3)[0]['x']\n"), @"
    rules/a-rule.py:3: IndexError: list index out of range
          return findall(tree, 3)[0]['x']
                 ^
    hint: mend the script, or catch the exception
    ");
    insta::assert_snapshot!(problem("return '[]'\ndef check(tree):\n    return []\n"), @"
    rules/a-rule.py:1: `return` stands outside any function
      return '[]'
      ^
    hint: the result is what `check` returns
    ");
}

#[test]
fn what_a_rule_returns_is_checked() {
    let returning = |value: &str| problem(&format!("def check(tree):\n    return {value}\n"));
    insta::assert_snapshot!(returning("3"), @r#"
    rules/a-rule.py:1: `check` returned a number, not a list of findings
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[3]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): it is a number, not a dictionary
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("{1, 2}"), @"
    rules/a-rule.py:1: what `check` returns is no plain data: TypeError: Object of type set is not JSON serializable
    hint: return lists, dictionaries, strings and numbers
    ");
    insta::assert_snapshot!(returning("[{}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): it has neither a `node` nor a `range`
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[{'range': [0, 1]}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): it has no `message`
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[{'range': [0, 1], 'message': 3}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): its `message` is a number, not a string
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[{'range': [0, 99], 'message': 'x'}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): its range 0 to 99 is not within the file's 6 bytes
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[{'range': [1, 0], 'message': 'x'}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): its range 1 to 0 is not within the file's 6 bytes
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[{'range': [-1, 0], 'message': 'x'}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): its `range` is not `[start, end]`
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[{'node': {'type': 'Name'}, 'message': 'x'}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): its `node` is not one of the tree
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[{'node': tree, 'message': 'x', 'nodes': []}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): `nodes` means nothing here; known are `path`, `range`, `message`, `help`, `fix`
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[{'node': tree, 'message': 'x', 'path': '/etc/passwd'}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): `path` means something in `check_project` only
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(returning("[{'node': tree, 'message': 'x', 'fix': {'title': 'y'}}]"), @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): its `fix` has no list `edits`
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
    insta::assert_snapshot!(
        returning("[{'node': tree, 'message': 'x', 'fix': {'title': 'y', 'edits': [{'range': [0, 3], 'text': 'a'}, {'range': [2, 4], 'text': 'b'}]}}]"),
        @r#"
    rules/a-rule.py:1: `check` returned a bad finding (number 1): in its `fix`, two changes overlap: bytes 0..3 and 2..4
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#
    );
    insta::assert_snapshot!(returning("[{'node': tree, 'message': 'x'}] * 1001"), @r#"
    rules/a-rule.py:1: `check` returned 1001 findings; at most 1000 are taken
    hint: a finding is `{"node": node, "message": text}`, with `help` and `fix` if it has them
    "#);
}

#[test]
fn ranges_lie_on_borders_of_characters() {
    let source = "def check(tree):\n    return [{'range': [0, 1], 'message': 'x'}]\n";
    let (_, problems) = check(&sandbox(), source, "é = 1\n");
    insta::assert_snapshot!(problems[0], @"rules/a-rule.py:1: `check` returned a bad finding (number 1): its range 0 to 1 cuts a character in two; ranges count bytes");
}

#[test]
fn texts_of_a_rule_are_one_printable_line() {
    let source = "def check(tree):\n    return [{'node': tree, 'message': 'a\\x1b[2J\\nb' + 'x' * 5000}]\n";
    let (findings, problems) = check(&sandbox(), source, "x = 1\n");
    assert_eq!(problems, []);
    assert_eq!(findings[0].message, format!("a [2J b{}…", "x".repeat(993)));
}

#[test]
fn hostile_rules_end_and_are_named() {
    let hostile = |body: &str| problem(&format!("def check(tree):\n    {body}\n"));
    insta::assert_snapshot!(hostile("while True: pass"), @"
    rules/a-rule.py:1: the code ran longer than 5s
    hint: look for a loop that does not end, or for work that grows with the square of the file
    ");
    insta::assert_snapshot!(hostile("return 'x' * (1 << 40)"), @"
    rules/a-rule.py:2: the code needed more than 268435456 bytes of memory
          return 'x' * (1 << 40)
                 ^
    hint: make the script need less
    ");
    insta::assert_snapshot!(hostile("return 'x' * 40_000_000"), @"
    rules/a-rule.py:1: the result takes 40000074 bytes, the policy allows 33554432
    hint: make the script need less
    ");
    insta::assert_snapshot!(hostile("return check(tree)"), @"
    rules/a-rule.py:2: calls nested deeper than 500
          return check(tree)
                 ^
    hint: walk the tree with `visit` or `findall`, which do not recurse
    ");
    insta::assert_snapshot!(hostile("found = []; found.append(found); return found"), @"
    rules/a-rule.py:1: what `check` returns is no plain data: ValueError: Circular reference detected
    hint: return lists, dictionaries, strings and numbers
    ");
    insta::assert_snapshot!(hostile("return open('/etc/passwd').read()"), @"
    rules/a-rule.py:1: the code asked the host for something more than 0 times
    hint: the script sees its argument and nothing else: no clock, no files, no tools
    ");
}

#[test]
fn a_broken_rule_is_named_once_and_not_run_again() {
    let python = sandbox();
    let broken = "def check(tree):\n    return 1 / 0\n";
    let mut problems = Vec::new();
    for _ in 0..3 {
        problems.extend(check(&python, broken, "x = 1\n").1);
    }
    assert_eq!(problems.len(), 1);
    // Other rules go on.
    assert_eq!(check(&python, PRINTS, "print(1)\n").0.len(), 1);
}

#[test]
fn deep_code_is_shown_as_far_as_it_goes() {
    let code = format!("x = {}1{}\nprint(x)\n", "[".repeat(150), "]".repeat(150));
    let (findings, problems) = check(&sandbox(), PRINTS, &code);
    assert_eq!((findings.len(), problems), (1, Vec::new()));
}

const REGISTERED: &str = r#"
def check_project(project):
    registered = set()
    for call in project["calls"]:
        for argument in call["arguments"][:1]:
            registered.add(argument.get("name"))
    found = []
    for definition in project["definitions"]:
        if definition["kind"] == "class" and definition["qualified_name"] not in registered:
            found.append({"node": definition, "message": "`" + definition["name"] + "` is registered nowhere"})
    for cycle in project["cycles"]:
        found.append({"node": cycle[0], "message": "imports go in a circle: " + " → ".join([edge["from"] for edge in cycle])})
    return found
"#;

const REGISTERED_FRONT: &str =
    "project: {definitions: 'Service$', calls: [register_factory], imports: true}\n";

#[test]
fn rules_across_files_ask_the_index_of_the_project() {
    let examples = r#"
## Bad

```python app/mail.py
class MailService: ...


class LostService: ...  # error: `LostService` is registered nowhere
```

```python app/__init__.py
from app.mail import MailService
```

```python app/wiring.py
from app import MailService

registry.register_factory(MailService, MailService)
```

## Bad: a circle

```python a.py
import b  # error: imports go in a circle: a → b
```

```python b.py
from a import x
```

## Good

```python app.py
class MailService: ...


class LostService: ...  # grail: ignore[a-rule] made by hand


registry.register_factory(MailService, MailService)
```
"#;
    let report = test_rule(&rule(REGISTERED_FRONT, REGISTERED, examples), &[], Some(&sandbox()));
    assert_eq!(report.failures, []);
}

#[test]
fn findings_across_files_name_files_that_were_checked() {
    let failure = |finding: &str| {
        let source = format!("def check_project(project):\n    return [{finding}]\n");
        let example = "## Bad\n\n```python a.py\nx = 1\n```\n\n## Good\n\n```python\nx = 1\n```\n";
        let report = test_rule(&rule(REGISTERED_FRONT, &source, example), &[], Some(&sandbox()));
        report.failures[0].message.clone()
    };
    insta::assert_snapshot!(failure("{'range': [0, 1], 'message': 'x'}"), @"rules/a-rule.py:1: `check_project` returned a bad finding (number 1): it has no `path`");
    insta::assert_snapshot!(failure("{'path': '../b.py', 'range': [0, 1], 'message': 'x'}"), @"rules/a-rule.py:1: `check_project` returned a bad finding (number 1): there is no file `../b.py`");
    insta::assert_snapshot!(failure("{'path': 'a.py', 'range': [0, 9], 'message': 'x'}"), @"rules/a-rule.py:1: `check_project` returned a bad finding (number 1): its range 0 to 9 is not within the file's 6 bytes");
}

#[test]
fn a_pattern_for_definitions_is_a_regular_expression() {
    let text = "---\nid: a-rule\nproject: {definitions: '('}\n---\n\n# A rule\n";
    let python = Some((Path::new("rules/a-rule.py"), REGISTERED));
    let problem = Rule::parse(&"pack".into(), Path::new("rules/a-rule.md"), text, python).err().unwrap();
    insta::assert_snapshot!(problem, @"rules/a-rule.md:2: `(` is no regular expression: unclosed group");
}
