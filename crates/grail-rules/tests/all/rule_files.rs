//! Rule files: what they may say, what running their own examples finds, and how mistakes are pointed at.

use std::collections::BTreeMap;
use std::path::Path;

use grail_rules::{Origin, Pack, test_rule};

const PACK: &str = r#"
[kinds.view]
description = "A function that answers a request"
recognise = ["@view\ndef $NAME($$$)"]
files = ["**/views.py"]
shape = ["function"]
"#;

const DECORATOR: &str = r#"---
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
# error: the view `index` is not decorated with `@view`
def index(request):
    return 1
```

```python fixed app/views.py
from app.web import view


@view
def index(request):
    return 1
```

## Bad: with another decorator's name

```toml
decorator = "shop:page"
```

```python app/views.py
def index(request):  # error: the view `index` is not decorated with `@page`
    return 1
```

## Good

```python
from app.web import view


@view
def index(request):
    return 1


def helper(request):
    return 2
```
"#;

const PRINT: &str = r#"---
id: no-print
severity: warning
fix: unsafe
---

# Nothing is printed

```yaml rule
match: def $F($$$)
forbid: print($TEXT)
message: "`$F` prints `$TEXT`"
fix:
  title: Log it
  steps:
    - replace: log.info($TEXT)
    - add_import: app:log
```

## Bad

```python
def f():
    print("a")  # warning: `f` prints `"a"`
    print("b", "c")
```

```python fixed
from app import log


def f():
    log.info("a")
    print("b", "c")
```

## Good

```python
print("at the top")
```
"#;

fn pack(files: &[(&str, &str)]) -> Pack {
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Pack::read("mine", Origin::Project, Path::new("mine"), &files).expect("a pack")
}

fn failures(pack: &Pack) -> Vec<String> {
    pack.problems
        .iter()
        .map(ToString::to_string)
        .chain(pack.rules.iter().flat_map(|rule| {
            let report = test_rule(rule, &pack.kinds, None);
            report
                .failures
                .into_iter()
                .map(|failure| format!("{}:{}: {}", report.rule, failure.line, failure.message))
                .collect::<Vec<_>>()
        }))
        .collect()
}

#[test]
fn rules_pass_their_own_examples() {
    let pack = pack(&[
        ("rules/pack.toml", PACK),
        ("rules/view-decorator.md", DECORATOR),
        ("rules/no-print.md", PRINT),
    ]);
    assert_eq!(failures(&pack), Vec::<String>::new());
}

#[test]
fn files_that_a_kind_leaves_out_hold_no_artifacts() {
    let rule = DECORATOR.replace(
        "## Good\n\n```python\n",
        "## Good: a view of a test\n\n```python tests/views.py\ndef index(request):\n    return 1\n```\n\n## Good\n\n```python\n",
    );
    let found = failures(&pack(&[("rules/pack.toml", PACK), ("rules/view-decorator.md", &rule)]));
    insta::assert_snapshot!(found.join("\n"), @"view-decorator:54: found in good code: error: the view `index` is not decorated with `@view`");
    let only = format!("{PACK}only = [\"app/**\", \"example.py\"]\n");
    let found = failures(&pack(&[("rules/pack.toml", &only), ("rules/view-decorator.md", &rule)]));
    assert_eq!(found, Vec::<String>::new());
    let except = format!("{PACK}except = [\"**/tests/**\"]\n");
    let found = failures(&pack(&[("rules/pack.toml", &except), ("rules/view-decorator.md", &rule)]));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_rule_without_examples_of_both_kinds_is_refused() {
    let text = PRINT.split("## Bad").next().expect("text");
    insta::assert_snapshot!(failures(&pack(&[("rules/no-print.md", text)])).join("\n"), @r"
    no-print:1: the rule has no bad example that it finds; add a section `## Bad` with a block of Python and `# error: message` behind the line
    no-print:1: the rule has no good example that it passes; add a section `## Good` with a block of Python
    no-print:1: the rule has a fix, but no example shows what it makes of bad code; add a block that starts with ```python fixed
    ");
}

#[test]
fn examples_that_do_not_hold_are_pointed_at() {
    let text = PRINT
        .replace("prints `\"a\"`", "shouts")
        .replace("print(\"at the top\")", "def g(): print(1)")
        .replace("log.info(\"a\")", "log.debug(\"a\")");
    insta::assert_snapshot!(failures(&pack(&[("rules/no-print.md", &text)])).join("\n"), @r#"
    no-print:24: expected, not found: warning: `f` shouts
    no-print:24: found, not expected: warning: `f` prints `"a"`
    no-print:29: the fix gives `log.info("a")` on line 5, not `log.debug("a")`
    no-print:40: found in good code: warning: `g` prints `1`
    "#);
}

#[test]
fn mistakes_in_a_rule_point_at_their_line() {
    let check = |text: &str| failures(&pack(&[("rules/no-print.md", text)])).join("\n");
    insta::assert_snapshot!(check(&PRINT.replace("severity: warning", "severity: loud")), @"
    mine/rules/no-print.md:3: unknown variant `loud`, expected one of info, warning, error
    ");
    insta::assert_snapshot!(check(&PRINT.replace("forbid: print($TEXT)", "forbid: print($TEXT")), @"
    mine/rules/no-print.md:11: invalid pattern: unexpected EOF while parsing
    ");
    insta::assert_snapshot!(check(&PRINT.replace("`$F` prints", "`$G` prints")), @"
    mine/rules/no-print.md:12: no pattern of this rule captures `$G`
    ");
    insta::assert_snapshot!(check(&PRINT.replace("forbid:", "forbids:")), @"
    mine/rules/no-print.md:11: unknown field `forbids`, expected one of match, where, inside, not_inside, unless, require, forbid, at, message, help, fix
    ");
    insta::assert_snapshot!(check(&PRINT.replace("- add_import: app:log", "- add_inport: app:log")), @r#"
    mine/rules/no-print.md:14: `{"add_inport":"app:log"}` is no step of a fix
    "#);
    insta::assert_snapshot!(check(&PRINT.replace("fix: unsafe\n", "")), @"
    mine/rules/no-print.md:2: the definition has a fix, but the front matter does not say how safe it is
    ");
    insta::assert_snapshot!(check(&PRINT.replace("id: no-print", "id: no_print")), @"
    mine/rules/no-print.md:2: `no_print` is not an id
    ");
    insta::assert_snapshot!(check(&PRINT.replace("message: \"", "message: \"%{colour} ")), @"
    mine/rules/no-print.md:12: the rule has no option `colour`
    ");
}

#[test]
fn a_template_is_read_with_its_kind_and_missed_if_it_is_not_there() {
    let with = |template: &str| format!("{PACK}words = [\"view\", \"page\"]\ntemplate = \"{template}\"\n");
    let read = |template: &str, files: &[(&str, &str)]| {
        let settings = with(template);
        let pack = pack(&[&[("rules/pack.toml", settings.as_str())], files].concat());
        let text = pack.kinds.first().and_then(|kind| kind.template_text.as_deref().map(str::to_owned));
        (text, pack.problems.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let file = ("templates/view.py.jinja", "{{ docstring }}");
    assert_eq!(read("view.py.jinja", &[file]), (Some("{{ docstring }}".to_owned()), Vec::new()));
    // For people to read, and nothing to fill.
    assert_eq!(read("view.py", &[]), (None, Vec::new()));
    assert_eq!(
        read("view.py.jinja", &[]),
        (None, vec!["mine/rules/pack.toml: kind `view`: there is no `templates/view.py.jinja`".to_owned()])
    );
    assert_eq!(
        read("../view.py.jinja", &[]),
        (
            None,
            vec!["mine/rules/pack.toml: kind `view`: `../view.py.jinja` leads out of its folder".to_owned()]
        )
    );
}

#[test]
fn the_file_of_an_artifact_is_named_in_words() {
    let pack = pack(&[("rules/pack.toml", &format!("{PACK}file = \"views/{{name}}.py\"\n"))]);
    let path = |name: &str| pack.kinds[0].path_for(name).map(|path| path.display().to_string());
    let names = ["UserCard", "user_card", "HTTPService", "XService", "Straße"];
    assert_eq!(
        names.map(|name| path(name).expect("a path")),
        [
            "views/user_card.py",
            "views/user_card.py",
            "views/http_service.py",
            "views/x_service.py",
            "views/straße.py"
        ]
    );
    assert_eq!(path("../evil"), None);
}
