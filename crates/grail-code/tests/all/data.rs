//! The tree as data: what a changed tree prints as.

use grail_code::data::{
    Change, DataError, Visit, code_of, codegen, deep_equals, docstring, findall, matches, remove, replace,
    transform, tree, visit,
};
use grail_code::{Source, parse_expression, parse_module};
use serde_json::{Value, json};

fn data(text: &str) -> Value {
    tree(&parse_module(Source::from_text(text))).expect("not too deep")
}

/// Prints the source after a change to its data; first makes sure that it prints unchanged.
#[track_caller]
fn check(text: &str, change: impl FnOnce(&mut Value), expected: &str) {
    let mut tree = data(text);
    assert_eq!(codegen(&tree), text, "unchanged");
    change(&mut tree);
    assert_eq!(codegen(&tree), expected);
}

fn list<'a>(tree: &'a mut Value, pointer: &str) -> &'a mut Vec<Value> {
    tree.pointer_mut(pointer).and_then(Value::as_array_mut).expect(pointer)
}

#[track_caller]
fn check_without(text: &str, pointer: &str, removed: &[usize], expected: &str) {
    check(
        text,
        |tree| {
            for &index in removed.iter().rev() {
                list(tree, pointer).remove(index);
            }
        },
        expected,
    );
}

#[track_caller]
fn check_with(text: &str, pointer: &str, index: usize, new: Value, expected: &str) {
    check(text, |tree| list(tree, pointer).insert(index, new), expected);
}

#[test]
fn an_argument_takes_its_comma_along() {
    let args = "/body/0/value/args";
    check_without("f(a, b)\n", args, &[0], "f(b)\n");
    check_without("f(a, b)\n", args, &[1], "f(a)\n");
    check_without("f(a, b)\n", args, &[0, 1], "f()\n");
    check_without("f(a, b,)\n", args, &[1], "f(a,)\n");
    check_without("f( a , b )\n", args, &[0], "f( b )\n");
    check_without("f(*a, k=(1), **b)\n", args, &[1], "f(*a, **b)\n");
    check_without("f((a), b)\n", args, &[0], "f(b)\n");
    check_without("f(b, (a))\n", args, &[0], "f((a))\n");
}

#[test]
fn an_argument_takes_its_comments_along() {
    let text = "\
f(
    # about a
    a,  # first
    # about b
    b,  # second
)
";
    let args = "/body/0/value/args";
    check_without(text, args, &[0], "f(\n    # about b\n    b,  # second\n)\n");
    check_without(text, args, &[1], "f(\n    # about a\n    a,  # first\n)\n");
    check_without(text, args, &[0, 1], "f()\n");
    check_without("f(a,  # first\n  b)\n", args, &[1], "f(a  # first\n  )\n");
}

#[test]
fn one_item_is_still_a_tuple_and_none_is_still_a_set() {
    check_without("x = (a, b)\n", "/body/0/value/elts", &[1], "x = (a,)\n");
    check_without("x = a, b\n", "/body/0/value/elts", &[0], "x = b,\n");
    check_without("x = a, b\n", "/body/0/value/elts", &[0, 1], "x = ()\n");
    check_without("x = {a}\n", "/body/0/value/elts", &[0], "x = set()\n");
    check_without("x = {a: 1, **b}\n", "/body/0/value/items", &[0], "x = {**b}\n");
    check_without("x = a and b or c\n", "/body/0/value/values", &[0], "x = c\n");
}

#[test]
fn statements_go_with_their_comments() {
    let text = "\
# file header

import os

# about a
a = 1  # one
b = 2; c = 3

# section

d = 4
";
    check_without(text, "/body", &[1], &text.replace("# about a\na = 1  # one\n", ""));
    check_without(text, "/body", &[2], &text.replace("b = 2; c", "c"));
    check_without(text, "/body", &[3], &text.replace("; c = 3\n\n# section\n\n", "\n"));
    check_without(text, "/body", &[4], &text.replace("\n\nd = 4", ""));
    check_without(text, "/body", &[0, 1, 2, 3, 4], "# file header\n\n\n");
}

#[test]
fn an_emptied_block_passes() {
    check_without(
        "def f():\n    # why\n    a  # one\n    # end\nb\n",
        "/body/0/body",
        &[0],
        "def f():\n    pass\n    # end\nb\n",
    );
    check_without("if x: a; b\n", "/body/0/body", &[0, 1], "if x: pass\n");
    check_without("if x: a; b\n", "/body/0/body", &[0], "if x: b\n");
    check_without("if x: a; b\n", "/body/0/body", &[1], "if x: a\n");
}

#[test]
fn the_last_statement_of_a_block_owns_its_comment() {
    let text = "def f():\n    a\n    b  # about b\n\nc\n";
    check_without(text, "/body/0/body", &[1], "def f():\n    a\n\nc\n");
    check_without(text, "/body", &[0], "c\n");
    check_without(text, "/body", &[1], "def f():\n    a\n    b  # about b\n");
}

#[test]
fn clauses_vanish_whole() {
    let text = "if a:\n    b\nelif c:\n    d\nelse:\n    e\nf\n";
    check(text, |tree| tree["body"][0]["orelse"] = Value::Null, "if a:\n    b\nelif c:\n    d\nf\n");
    check_without(text, "/body/0/elifs", &[0], "if a:\n    b\nelse:\n    e\nf\n");
    check_without(
        "try:\n    a\nexcept B:\n    c\n",
        "/body/0/handlers",
        &[0],
        "try:\n    a\nfinally:\n    pass\n",
    );
    check_without("@a\n@b\ndef f(): ...\n", "/body/0/decorators", &[0], "@b\ndef f(): ...\n");
    check_without("@a\n@b\ndef f(): ...\n", "/body/0/decorators", &[0, 1], "def f(): ...\n");
    check(
        "def f(a: int = 1) -> str: ...\n",
        |tree| tree["body"][0]["returns"] = Value::Null,
        "def f(a: int = 1): ...\n",
    );
    check(
        "def f(a: int = 1): ...\n",
        |tree| tree["body"][0]["params"]["params"][0]["annotation"] = Value::Null,
        "def f(a=1): ...\n",
    );
    check("return_ = 1\n", |tree| tree["body"][0]["targets"] = json!([]), "1\n");
    check("x[1:2]\n", |tree| tree["body"][0]["value"]["slice"]["upper"] = Value::Null, "x[1:]\n");
    check("with a, b:\n    c\n", |tree| tree["body"][0]["items"] = json!([]), "if True:\n    c\n");
}

#[test]
fn an_import_of_nothing_is_no_statement() {
    check_without("from m import (a, b,)\nx\n", "/body/0/names", &[1], "from m import (a,)\nx\n");
    check_without("from m import a, b\nx\n", "/body/0/names", &[0, 1], "x\n");
    check_without("def f():\n    import a\n", "/body/0/body/0/names", &[0], "def f():\n    pass\n");
}

#[test]
fn new_items_get_what_their_neighbours_have() {
    let args = "/body/0/value/args";
    check_with("f(a, b)\n", args, 2, json!("c"), "f(a, b, c)\n");
    check_with("f(a, b)\n", args, 0, json!("c"), "f(c, a, b)\n");
    check_with("f()\n", args, 0, json!({"type": "Name", "id": "c"}), "f(c)\n");
    check_with("f(a, b,)\n", args, 2, json!("c"), "f(a, b, c,)\n");
    check_with(
        "f(\n    a,\n    b,  # two\n)\n",
        args,
        2,
        json!("c"),
        "f(\n    a,\n    b,  # two\n    c,\n)\n",
    );
    check_with("f(\n    a,\n)\n", args, 0, json!("c"), "f(\n    c,\n    a,\n)\n");
    check_with("f(a,\n  b)\n", args, 1, json!("c"), "f(a,\n  c,\n  b)\n");
    check_with("class A: pass\n", "/body/0/bases", 0, json!("B"), "class A(B): pass\n");
    check_with("x = a or b\n", "/body/0/value/values", 2, json!("c"), "x = a or b or c\n");
    check_with(
        "def f(): ...\n",
        "/body/0/decorators",
        0,
        json!({"type": "Decorator", "expression": "cache"}),
        "@cache\ndef f(): ...\n",
    );
}

#[test]
fn new_statements_get_lines_of_their_own() {
    let code = |text: &str| json!({"type": "Code", "text": text});
    check_with(
        "class A:\n    x = 1\n",
        "/body/0/body",
        1,
        code("def f(self):\n    return 1\n"),
        "class A:\n    x = 1\n    def f(self):\n        return 1\n",
    );
    check_with("a\n", "/body", 0, code("import os"), "import os\na\n");
    check_with("a\n", "/body", 1, code("b"), "a\nb\n");
    check_with("a  # one\n", "/body", 1, code("b"), "a  # one\nb\n");
    check_with("# only a comment", "/body", 0, code("b"), "# only a comment\nb");
    check_with("if x: a\n", "/body/0/body", 1, code("b"), "if x: a; b\n");
    check_with("if x: a\n", "/body/0/body", 1, code("if y:\n  b"), "if x:\n    a\n    if y:\n      b\n");
    check_with("if x:\r\n\ta\r\n", "/body/0/body", 0, code("b"), "if x:\r\n\tb\r\n\ta\r\n");
}

#[test]
fn statements_move_to_another_indentation() {
    check(
        "def f():\n    if a:\n        return [\n            1,\n        ]\n    '''text\n  here'''\nclass B:\n    pass\n",
        |tree| {
            let function = list(tree, "/body").remove(0);
            *list(tree, "/body/0/body") = vec![function];
        },
        "class B:\n    def f():\n        if a:\n            return [\n                1,\n            ]\n        '''text\n  here'''\n",
    );
    check(
        "class B:\n    def f():\n        a\n\n        b\n",
        |tree| {
            let function = list(tree, "/body/0/body").remove(0);
            *list(tree, "/body") = vec![function];
        },
        "def f():\n    a\n\n    b\n",
    );
}

#[test]
fn nodes_made_by_hand_print_by_the_layout() {
    let call = json!({"type": "Call", "func": "print", "args": ["x", {"type": "Keyword", "arg": "end", "value": "''"}]});
    assert_eq!(codegen(&call), "print(x, end='')");
    let function = json!({
        "type": "FunctionDef",
        "name": "f",
        "is_async": true,
        "params": {"type": "Parameters", "params": [
            {"type": "Parameter", "name": "a"},
            {"type": "Parameter", "name": "b", "annotation": "int", "default": "1"},
            {"type": "Parameter", "name": "rest", "kind": "star"},
        ]},
        "returns": "str",
        "body": [{"type": "If", "test": "a", "body": [{"type": "Return", "value": "b"}], "orelse": {"type": "Else", "body": []}}],
    });
    assert_eq!(
        codegen(&function),
        "async def f(a, b: int = 1, *rest) -> str:\n    if a:\n        return b\n    else:\n        pass"
    );
    let import = json!({"type": "ImportFrom", "module": "m", "level": 2, "names": [{"type": "Alias", "name": "a", "asname": "b"}]});
    assert_eq!(codegen(&import), "from ..m import a as b");
    assert_eq!(codegen(&json!({"type": "Module", "body": ["a", "b"]})), "a\nb\n");
    assert_eq!(
        codegen(
            &json!({"type": "FString", "parts": [{"type": "InterpolationText", "text": "a\""}, {"type": "Interpolation", "value": "x", "conversion": "r"}]})
        ),
        "f'a\"{x!r}'"
    );
}

#[test]
fn parentheses_are_added_where_precedence_asks() {
    let sum = || json!({"type": "BinOp", "left": "a", "op": "+", "right": "b"});
    let product = json!({"type": "BinOp", "left": sum(), "op": "*", "right": "c + d"});
    assert_eq!(codegen(&product), "(a + b) * (c + d)");
    assert_eq!(
        codegen(&json!({"type": "Attribute", "value": {"type": "Integer", "text": "1"}, "attr": "real"})),
        "(1).real"
    );
    assert_eq!(codegen(&json!({"type": "UnaryOp", "op": "not", "operand": sum()})), "not a + b");
    check("x = y * 2\n", |tree| tree["body"][0]["value"]["left"] = sum(), "x = (a + b) * 2\n");
    check(
        "x = y ** 2\n",
        |tree| tree["body"][0]["value"]["left"] = json!("f(1)[0].b"),
        "x = f(1)[0].b ** 2\n",
    );
}

#[test]
fn a_replacement_inherits_the_surroundings() {
    let text = "f(\n    # about a\n    a,  # first\n    b\n)\n";
    let tree = data(text);
    let id = findall(&tree, &json!({"type": "Name", "id": "a"}))[0]["id"].as_u64().expect("an id");
    let replaced = replace(tree.clone(), id, json!({"type": "Name", "id": "c"})).expect("replaced");
    assert_eq!(codegen(&replaced), text.replace("    a,", "    c,"));
    assert_eq!(codegen(&remove(tree.clone(), id).expect("removed")), "f(\n    b\n)\n");
    assert_eq!(remove(tree, 99), Err(DataError::NoSuchNode { id: 99 }));
}

#[test]
fn a_handler_keeps_replaces_removes_or_flattens() {
    let text = "import os\n\n# section\n\nprint(a)\nlog(b)  # why\nboth()\n";
    let result = transform(data(text), |node| match node["type"].as_str() {
        Some("Import") => Change::Remove,
        Some("Call") if node["func"]["text"] == "print" => Change::Remove,
        Some("Name") if node["text"] == "b" => Change::Replace(json!("b + 1")),
        Some("Expr") if code_of(&Value::Object(node.clone())) == "both()" => {
            Change::Flatten(vec![json!("one()"), json!("two()")])
        }
        _ => Change::Keep,
    });
    assert_eq!(codegen(&result.expect("transformed")), "# section\n\nlog(b + 1)  # why\none()\ntwo()\n");
}

#[test]
fn what_the_syntax_needs_cannot_be_removed() {
    let result = transform(data("a + b\n"), |node| match node["type"] == "Name" {
        true => Change::Remove,
        false => Change::Keep,
    });
    let expected = DataError::Required { parent: "BinOp".to_owned(), field: "left".to_owned() };
    assert_eq!(result, Err(expected.clone()));
    assert_eq!(expected.to_string(), "`left` of `BinOp` cannot be removed: the syntax needs it");
}

#[test]
fn strings_in_patterns_stand_for_code() {
    let tree = data("def f(): ...\nvalidate_email(x)\nos.path.join(a, *b)\n");
    let found = |pattern: Value| findall(&tree, &pattern).into_iter().map(code_of).collect::<Vec<_>>();
    assert_eq!(found(json!({"type": "Call", "func": "validate_email"})), ["validate_email(x)"]);
    assert_eq!(found(json!({"type": "Call", "func": "os.path.join"})), ["os.path.join(a, *b)"]);
    assert_eq!(found(json!({"type": "Call", "args": ["a", {"type": "Starred"}]})), ["os.path.join(a, *b)"]);
    assert_eq!(found(json!({"type": "FunctionDef", "name": "f", "is_async": false})), ["def f(): ..."]);
    assert!(matches(&tree["body"][0], &json!({"type": "FunctionDef", "returns": null, "decorators": null})));
}

#[test]
fn equality_is_about_the_code() {
    let equal = |left: &str, right: &str| deep_equals(&data(left), &data(right));
    assert!(equal("f(a,b)  # x\n", "f( a, (b), )\n"));
    assert!(!equal("f(a)\n", "f(b)\n"));
    assert!(!equal("def f(): a\n", "async def f(): a\n"));
    assert!(deep_equals(
        &data("f(a)")["body"][0]["value"],
        &json!({"type": "Call", "func": "f", "args": [{"type": "Name", "id": "a"}]})
    ));
}

#[test]
fn a_visitor_sees_parents_first_and_may_skip() {
    let mut seen = Vec::new();
    visit(&data("def f(a): b\nc\n"), |node| {
        seen.push(node["type"].as_str().unwrap_or_default().to_owned());
        if node["type"] == "FunctionDef" { Visit::Skip } else { Visit::Children }
    });
    assert_eq!(seen, ["Module", "FunctionDef", "Expr", "Name"]);
}

#[test]
fn docstrings_are_cleaned() {
    let text = "'''Module\n\n    text\n      more\n    '''\ndef f():\n    r\"one\" ' two'\ndef g(): f'no'\n";
    let tree = data(text);
    assert_eq!(docstring(&tree).as_deref(), Some("Module\n\ntext\n  more"));
    assert_eq!(docstring(&tree["body"][1]).as_deref(), Some("one two"));
    assert_eq!(docstring(&tree["body"][2]), None);
}

#[test]
fn an_expression_is_a_tree_of_its_own() {
    for text in ["a", " ( a +\n b ) ", "(yield)", "f(x for x in y)"] {
        let parsed = parse_expression(Source::from_text(text));
        assert_eq!(codegen(&tree(&parsed).expect("not too deep")), text);
    }
}

#[test]
fn depth_is_limited_with_a_clear_message() {
    let deep =
        |terms: usize| tree(&parse_module(Source::from_text(format!("x = a{}\n", " + a".repeat(terms)))));
    assert_eq!(codegen(&deep(490).expect("fits")).len(), "x = a\n".len() + 490 * 4);
    let error = deep(100_000).expect_err("too deep");
    assert_eq!(error.to_string(), "the tree is 100003 levels deep; as data it may be 500");
}

#[test]
fn broken_source_comes_back_too() {
    for text in [
        "",
        "\n",
        "(",
        "def",
        "def f(",
        "def f():",
        "class A(b",
        "x = ",
        "if a:\n",
        "@",
        "import",
        "from x import",
        "from . import (a,",
        "f(a b)",
        "f(a,, b)",
        "x = yield = 1",
        "try:\n  a\n",
        "match a:\n case",
        "  x\n y",
        "f'{",
        "f'{a!",
        "lambda",
        "a if b",
        "else: x",
        "for",
        "with a",
        "{a: b, c}",
        "x[1:2",
        "1 +",
        "not",
        "global",
        "del",
        "a; b c\n",
        "\u{c}a\n\u{c}\n",
        "\\\n",
        "a;;b",
        "with (a, b as c",
        "type X",
        "print 'a'",
        "exec 'a' in b",
        "except: a",
        "a\r\rb\r",
        "{**}",
        "f(**)",
        "f(*)",
        "def f(*): 1",
        "def f(a=1, b): 1",
        "return\n  x",
    ] {
        assert_eq!(codegen(&data(text)), text.strip_prefix('\u{feff}').unwrap_or(text), "{text:?}");
    }
}
