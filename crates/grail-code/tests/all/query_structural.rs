//! Structural patterns: LibCST's vocabulary as data.

use grail_code::query::Pattern;
use grail_code::tools::cst_find_pattern;
use serde_json::json;

use crate::query::found;

#[track_caller]
fn check(pattern: &str, source: &str, expected: &[&str]) {
    assert_eq!(found(pattern, source), expected, "{pattern}");
}

#[test]
fn the_shorthand_matches_names_and_dotted_names() {
    check(
        r#"{"type": "Call", "func": "validate_email"}"#,
        "validate_email(x)\nother(x)\nm.validate_email(x)\n",
        &["1:1 Call validate_email(x)"],
    );
    check(
        "{type: Call, func: os.path.join}",
        "import os.path as p\nos.path.join(a)\np.join(b)\njoin(c)\n",
        &["2:1 Call os.path.join(a)", "3:1 Call p.join(b)"],
    );
    check(
        "{type: FunctionDef, decorators: [view]}",
        "@view\ndef a(): pass\n@view()\ndef b(): pass\n",
        &["1:1 FunctionDef @view⏎def a(): pass"],
    );
    check(
        "{type: Keyword, arg: timeout, value: 10}",
        "f(timeout=10)\nf(timeout=1_0)\nf(timeout=9)\n",
        &["1:3 Keyword timeout=10", "2:3 Keyword timeout=1_0"],
    );
}

#[test]
fn types_go_by_the_names_of_libcst_and_ast() {
    check("type: BinaryOperation\noperator: Add", "a + b\na - b\n", &["1:1 BinOp a + b"]);
    check(
        "type: Comparison\ncomparisons: [{operator: NotIn}]",
        "a not in b\na in b\n",
        &["1:1 Compare a not in b"],
    );
    check("type: BooleanOperation\noperator: Or", "a or b\na and b\n", &["1:1 BoolOp a or b"]);
    check(
        "type: AsyncFunctionDef",
        "async def a(): pass\ndef b(): pass\n",
        &["1:1 FunctionDef async def a(): pass"],
    );
    check("type: Constant", "x = 1, 'a', None\n", &["1:5 Integer 1", "1:8 String 'a'", "1:13 None None"]);
    check("type: JoinedStr", "f'{a}'\n'b'\n", &["1:1 FString f'{a}'"]);
    check("type: SimpleString\nvalue: a", "'a'\n\"a\"\n'b'\n", &["1:1 String 'a'", "2:1 String \"a\""]);
    check("type: Name\nid: x", "x\ny\n", &["1:1 Name x"]);
    check("{type: Arg, keyword: false}", "f(1, *a, k=2)\n", &["1:3 Integer 1", "1:6 Starred *a"]);
    check(
        "{type: Arg, value: x, capture: A}",
        "f(x, k=x, *y)\n",
        &["1:3 Name x | A = x", "1:6 Keyword k=x | A = k=x"],
    );
    check("{type: Call, args: [{type: Arg, keyword: k}]}", "f(k=1)\nf(1)\n", &["1:1 Call f(k=1)"]);
    check(
        "{type: FunctionDef, args: [{type: arg, arg: x}]}",
        "def f(x): pass\ndef g(y): pass\n",
        &["1:1 FunctionDef def f(x): pass"],
    );
}

#[test]
fn sequences_have_quantifiers() {
    let source = "f()\nf(1)\nf(1, 2)\nf(1, 2, 3)\nf('a', 2)\n";
    check("{type: Call, args: []}", source, &["1:1 Call f()"]);
    check(
        "{type: Call, args: [{zero_or_more: {type: Integer}}]}",
        source,
        &["1:1 Call f()", "2:1 Call f(1)", "3:1 Call f(1, 2)", "4:1 Call f(1, 2, 3)"],
    );
    check("{type: Call, args: [{zero_or_one: '*'}, 2]}", source, &["3:1 Call f(1, 2)", "5:1 Call f('a', 2)"]);
    check(
        "{type: Call, args: [{at_least: {n: 2, of: {type: Integer}}, capture: X}]}",
        source,
        &["3:1 Call f(1, 2) | X = [1; 2]", "4:1 Call f(1, 2, 3) | X = [1; 2; 3]"],
    );
    check("{type: Call, args: [{at_most: {n: 1}}]}", source, &["1:1 Call f()", "2:1 Call f(1)"]);
    check(
        "{type: Call, args: ['$A', '$$$B']}",
        source,
        &[
            "2:1 Call f(1) | A = 1 | B = []",
            "3:1 Call f(1, 2) | A = 1 | B = [2]",
            "4:1 Call f(1, 2, 3) | A = 1 | B = [2; 3]",
            "5:1 Call f('a', 2) | A = 'a' | B = [2]",
        ],
    );
    check("{type: Call, args: '*'}", "f(1)\n", &["1:1 Call f(1)"]);
}

#[test]
fn patterns_combine() {
    check(
        "one_of: [{type: Integer}, {type: Name, value: x}]",
        "x + 1 + y\n",
        &["1:1 Name x", "1:5 Integer 1"],
    );
    check("{type: Name, all_of: [{regex: ^a}, {regex: b$}]}", "ab\nac\n", &["1:1 Name ab"]);
    check("{type: Name, not: {regex: ^_}}", "_a\nb\n", &["2:1 Name b"]);
    check(
        "{type_of: [Import, ImportFrom]}",
        "import a\nfrom b import c\n",
        &["1:1 Import import a", "2:1 ImportFrom from b import c"],
    );
    check("{type: String, regex: '^SELECT'}", "'SELECT 1'\n'UPDATE'\n", &["1:1 String 'SELECT 1'"]);
    check("{type: Integer, text: '0x10'}", "0x10\n16\n", &["1:1 Integer 0x10"]);
}

#[test]
fn presence_and_attributes_are_asked_for() {
    check(
        "{type: FunctionDef, returns: false}",
        "def a(): pass\ndef b() -> int: pass\n",
        &["1:1 FunctionDef def a(): pass"],
    );
    check(
        "{type: FunctionDef, returns: true}",
        "def a(): pass\ndef b() -> int: pass\n",
        &["2:1 FunctionDef def b() -> int: pass"],
    );
    check("{type: For, is_async: true}", "for a in b: pass\n", &[]);
    check("{type: Name, ctx: store}", "a = b\n", &["1:1 Name a"]);
    check(
        "{type: ImportFrom, level: 1}",
        "from . import a\nfrom b import c\n",
        &["1:1 ImportFrom from . import a"],
    );
    check("{type: Parameter, kind: keyword_only}", "def f(a, *, b): pass\n", &["1:13 Parameter b"]);
    check("{type: If, orelse: [{type: Pass}]}", "if a: b\nelse: pass\n", &["1:1 If if a: b⏎else: pass"]);
}

#[test]
fn relations_look_around() {
    let source = "\
for x in y:
    print(x)
    def f():
        print(1)
print(2)
";
    check(
        "{code: print($X), inside: {type: For}}",
        source,
        &["2:5 Call print(x) | X = x", "4:9 Call print(1) | X = 1"],
    );
    check(
        "{code: print($X), inside: {type: For, stop_by: {type: FunctionDef}}}",
        source,
        &["2:5 Call print(x) | X = x"],
    );
    check("{code: print($X), not_inside: {type: For}}", source, &["5:1 Call print(2) | X = 2"]);
    check("{type: Name, inside: {type: Call, stop_by: neighbor}, regex: x}", source, &["2:11 Name x"]);
    check(
        "{type: For, has: {type: FunctionDef, name: $F}}",
        source,
        &[&format!("1:1 For {} | F = f", source.trim_end_matches("\nprint(2)\n").replace('\n', "⏎"))],
    );
    check(
        "{type: FunctionDef, not_has: {type: Return}}",
        "def a(): return\ndef b(): pass\n",
        &["2:1 FunctionDef def b(): pass"],
    );
    check(
        "{type: FunctionDef, follows: {type: Import}}",
        "import a\nx = 1\ndef f(): pass\n",
        &["3:1 FunctionDef def f(): pass"],
    );
    check(
        "{type: FunctionDef, follows: {type: Import, stop_by: neighbor}}",
        "import a\nx = 1\ndef f(): pass\n",
        &[],
    );
    check(
        "{type: Assign, precedes: {type: FunctionDef}}",
        "x = 1\ndef f(): pass\ny = 2\n",
        &["1:1 Assign x = 1"],
    );
    check(
        "{type: Return, inside: {type: FunctionDef, name: '$F'}}",
        "def f():\n    return 1\n",
        &["2:5 Return return 1 | F = f"],
    );
}

#[test]
fn qualified_names_see_through_imports() {
    let source = "\
import typing as t
from typing import Optional as Opt, List
a: Opt[int]
b: t.Optional[int]
c: List[int]
def f(Opt): return Opt
";
    check("qualified_name: typing.Optional", source, &["3:4 Name Opt", "4:4 Attribute t.Optional"]);
    check(
        "{type: Subscript, value: {qualified_name: typing.*}, slice: $X}",
        source,
        &[
            "3:4 Subscript Opt[int] | X = int",
            "4:4 Subscript t.Optional[int] | X = int",
            "5:4 Subscript List[int] | X = int",
        ],
    );
    check("qualified_name: [typing.List, typing.Dict]", source, &["5:4 Name List"]);
    check("qualified_name: {regex: '^typing\\.L'}", source, &["5:4 Name List"]);
    check(
        "{type: Call, qualified_name: os.path.join}",
        "from os.path import join as j\nj(a)\n",
        &["2:1 Call j(a)"],
    );
}

#[test]
fn predicates_name_facts() {
    let source = "\
'''Doc.'''
class A:
    def _m(self):
        while x:
            yield f
    async def __aenter__(self): pass
def test_a(): pass
";
    check(
        "{type: FunctionDef, predicate: is_method, name: $N}",
        source,
        &[
            "3:5 FunctionDef def _m(self):⏎        while x:⏎            yield f | N = _m",
            "6:5 FunctionDef async def __aenter__(self): pass | N = __aenter__",
        ],
    );
    let names = |predicate: &str| {
        let pattern = format!("{{type: FunctionDef, predicate: {predicate}, name: $N}}");
        found(&pattern, source)
            .iter()
            .map(|line| line.rsplit(" = ").next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("is_private"), ["_m"]);
    assert_eq!(names("is_dunder"), ["__aenter__"]);
    assert_eq!(names("is_public"), ["test_a"]);
    assert_eq!(names("is_test"), ["test_a"]);
    assert_eq!(names("is_generator"), ["_m"]);
    assert_eq!(names("is_async"), ["__aenter__"]);
    assert_eq!(names("top_level"), ["test_a"]);
    assert_eq!(names("[in_class, is_async]"), ["__aenter__"]);
    check("{type: Name, predicate: in_loop}", source, &["5:19 Name f"]);
    check("{type: String, predicate: is_docstring}", source, &["1:1 String '''Doc.'''"]);
}

#[test]
fn code_may_be_restricted() {
    check("{pattern: foo($X), where: {X: {regex: ^_}}}", "foo(_a)\nfoo(b)\n", &["1:1 Call foo(_a) | X = _a"]);
    check(
        "pattern: f($$$A)\nwhere:\n  A: {type: Integer}\n",
        "f(1, 2)\nf(1, a)\nf()\n",
        &["1:1 Call f(1, 2) | A = [1; 2]", "3:1 Call f() | A = []"],
    );
    check("code: |\n  $A = 1\n  $B = 2\n", "x = 1\ny = 2\n", &["1:1 Assign x = 1⏎y = 2 | A = x | B = y"]);
    check(
        "{type: FunctionDef, body: ['$$$', {code: return $X}]}",
        "def f():\n    a\n    return 1\n",
        &["1:1 FunctionDef def f():⏎    a⏎    return 1 | X = 1"],
    );
}

#[test]
fn a_python_dictionary_is_a_code_pattern() {
    check("{'a': $V}", "{'a': 1}\n", &["1:1 Dict {'a': 1} | V = 1"]);
    check("{\"a\": 1}", "{'a': 1}\n", &["1:1 Dict {'a': 1}"]);
    check("x: int", "x: int\n", &["1:1 AnnAssign x: int"]);
}

#[test]
fn mistakes_are_named_with_their_place() {
    check(
        "type: Cal",
        "",
        &[
            "invalid pattern: unknown node type `Cal` (at `type`)",
            "  type: Cal",
            "        ^^^",
            "hint: did you mean `Call`?",
        ],
    );
    check(
        "{type: Call, args: [{type: Keyword, valu: 1}]}",
        "",
        &[
            "invalid pattern: `Keyword` has no field `valu` (at `args[0].valu`)",
            "  {type: Call, args: [{type: Keyword, valu: 1}]}",
            "                                      ^^^^",
            "hint: did you mean `value`?",
        ],
    );
    check(
        "{type: Call, args: {type: Name}}",
        "",
        &[
            "invalid pattern: `args` is a list (at `args`)",
            "  {type: Call, args: {type: Name}}",
            "               ^^^^",
            "hint: write `args: [...]`; `\"$$$\"` in it stands for any number of nodes",
        ],
    );
    check(
        "{type: Name, regex: '('}",
        "",
        &[
            "invalid pattern: invalid regular expression `(`: unclosed group (at `regex`)",
            "  {type: Name, regex: '('}",
            "                       ^",
        ],
    );
    check(
        "{type: Name, predicate: is_asink}",
        "",
        &[
            "invalid pattern: unknown predicate `is_asink` (at `predicate`)",
            "  {type: Name, predicate: is_asink}",
            "                          ^^^^^^^^",
            "hint: did you mean `is_async`?",
        ],
    );
    check(
        "{pattern: foo($X), where: {Y: '*'}}",
        "",
        &[
            "invalid pattern: the pattern has no capture `$Y` (at `where`)",
            "  {pattern: foo($X), where: {Y: '*'}}",
            "                             ^",
            "hint: did you mean `X`?",
        ],
    );
    check(
        "{code: 'foo('}",
        "",
        &[
            "invalid pattern: unexpected EOF while parsing (at `code`)",
            "  {code: 'foo('}",
            "              ^",
            "hint: a code pattern is valid Python in which `$NAME` stands for one node and `$$$NAME` for any number",
        ],
    );
    let error = Pattern::structural(&json!({"type": "Nam"})).unwrap_err();
    assert_eq!(
        error.render(""),
        "invalid pattern: unknown node type `Nam` (at `type`)\nhint: did you mean `Name`?"
    );
}

#[test]
fn the_tool_never_succeeds_emptily() {
    let result = cst_find_pattern("print(1)\n", "print($X)");
    assert_eq!(
        serde_json::to_value(&result).unwrap(),
        json!({
            "matches": [{"line": 1, "column": 1, "source": "print(1)", "node_type": "Call", "captures": {"X": "1"}}],
            "error": null,
        })
    );
    assert_eq!(
        cst_find_pattern("x", "print(").error.unwrap().lines().next(),
        Some("invalid pattern: unexpected EOF while parsing")
    );
    let broken = cst_find_pattern("print(1)\nx = = 2\n", "print($X)");
    assert_eq!(broken.matches.len(), 1);
    assert_eq!(broken.error.unwrap(), "the source does not parse: line 2, column 5: Expected an expression");
}

#[test]
fn a_list_contains_an_item() {
    let decorated = "{type: FunctionDef, decorators: {contains: {qualified_name: pytest.fixture}}}";
    check(
        decorated,
        "import pytest\n@a\n@pytest.fixture()\n@b\ndef f(): pass\n@a\ndef g(): pass\n",
        &["2:1 FunctionDef @a⏎@pytest.fixture()⏎@b⏎def f(): pass"],
    );
    let parameter = "{type: FunctionDef, params: {contains: {type: Parameter, name: a}}}";
    check(parameter, "def f(x, a=1): pass\ndef g(x): pass\n", &["1:1 FunctionDef def f(x, a=1): pass"]);
    let error = Pattern::yaml("{type: Call, args: {contains: a, capture: X}}").unwrap_err();
    assert_eq!(error.message, "`capture` cannot stand beside `contains`");
}

#[test]
fn predicates_know_decorators_by_their_qualified_names() {
    let code = "import abc, functools, pytest, typing as t\nfrom abc import abstractmethod as am\n\
                class A:\n    @am\n    def f(self): ...\n    @functools.cached_property\n    def g(self): ...\n    \
                @property\n    def h(self): ...\n    @t.overload\n    def i(self): ...\n\
                @pytest.fixture(scope='module')\ndef j(): ...\nclass B: ...\n";
    let places = |predicate: &str| -> Vec<String> {
        let found = found(&format!("{{type: [ClassDef, FunctionDef], predicate: {predicate}}}"), code);
        found.iter().map(|found| found.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(places("is_abstract"), ["3:1", "4:5"]);
    assert_eq!(places("is_property"), ["6:5", "8:5"]);
    assert_eq!(places("is_overload"), ["10:5"]);
    assert_eq!(places("is_fixture"), ["12:1"]);
    assert_eq!(places("is_dataclass"), Vec::<String>::new());
}
