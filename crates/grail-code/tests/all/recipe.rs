//! Recipes for fixes: one place changes, everything round it stays byte for byte.

use grail_code::codemod::Template;
use grail_code::query::{Pattern, find_all};
use grail_code::{Edit, Kind, Node, Parsed, Semantic, Source, edit, parse_module, recipe};

fn parse(text: &str) -> Parsed {
    let parsed = parse_module(Source::from_text(text));
    assert!(parsed.is_valid(), "{text}\n{:?}", parsed.diagnostics());
    parsed
}

/// Applies a recipe to every node of a kind. The result has to parse, and the recipe has to have nothing more to do than before.
#[track_caller]
fn check(kind: Kind, recipe: impl Fn(Node<'_>) -> Vec<Edit>, text: &str, expected: &str) {
    let parsed = parse(text);
    let edits = parsed.nodes_of(kind).flat_map(&recipe).collect();
    let result = edit::apply(text, edits).expect("no conflict");
    assert_eq!(result, expected);
    parse(&result);
}

#[track_caller]
fn check_twice(kind: Kind, recipe: impl Fn(Node<'_>) -> Vec<Edit>, text: &str, expected: &str) {
    check(kind, &recipe, text, expected);
    check(kind, &recipe, expected, expected);
}

#[test]
fn a_decorator_goes_above_the_others() {
    let add = |node: Node<'_>| recipe::add_decorator(node, "view");
    check_twice(Kind::FunctionDef, add, "def f(): pass\n", "@view\ndef f(): pass\n");
    check_twice(
        Kind::FunctionDef,
        add,
        "# about f\n@cache  # warm\n# why\n@login(\n    1,\n)\nasync def f(): pass\n",
        "# about f\n@view\n@cache  # warm\n# why\n@login(\n    1,\n)\nasync def f(): pass\n",
    );
    check_twice(
        Kind::FunctionDef,
        add,
        "class A:\n\tclass B:\n\t\t# note\n\t\tasync def f(self): pass\n",
        "class A:\n\tclass B:\n\t\t# note\n\t\t@view\n\t\tasync def f(self): pass\n",
    );
    check_twice(
        Kind::ClassDef,
        add,
        "if x:\r\n  class A: pass\r\n",
        "if x:\r\n  @view\r\n  class A: pass\r\n",
    );
    check_twice(Kind::Assign, add, "x = 1\n", "x = 1\n");
}

#[test]
fn a_decorator_goes_with_its_line() {
    let remove = |node: Node<'_>| match node.text().contains("drop") {
        true => recipe::remove_decorator(node),
        false => Vec::new(),
    };
    check_twice(Kind::Decorator, remove, "@drop\ndef f(): pass\n", "def f(): pass\n");
    check_twice(
        Kind::Decorator,
        remove,
        "@a  # one\n@drop(\n    1,  # inside\n)\n# between\n@b\nclass A: pass\n",
        "@a  # one\n# between\n@b\nclass A: pass\n",
    );
    check_twice(Kind::Decorator, remove, "@drop  # noqa: D1\ndef f(): pass\n", "def f(): pass\n");
    check_twice(
        Kind::Decorator,
        remove,
        "class A:\r\n\t@drop  # keep this\r\n\tdef f(self): pass\r\n",
        "class A:\r\n\t# keep this\r\n\tdef f(self): pass\r\n",
    );
}

#[test]
fn a_return_annotation_is_added_or_replaced() {
    let annotate = |node: Node<'_>| recipe::annotate_return(node, "Template");
    check_twice(Kind::FunctionDef, annotate, "def f(): pass\n", "def f() -> Template: pass\n");
    check_twice(
        Kind::FunctionDef,
        annotate,
        "async def f(\n    a,  # one\n    b=(1),\n):  # why\n    pass\n",
        "async def f(\n    a,  # one\n    b=(1),\n) -> Template:  # why\n    pass\n",
    );
    check_twice(Kind::FunctionDef, annotate, "def f()->str: pass\n", "def f()->Template: pass\n");
    check_twice(
        Kind::FunctionDef,
        annotate,
        "class A:\r\n\tdef f[T](self) -> (list[\r\n\t\tT\r\n\t]) : return 1\r\n",
        "class A:\r\n\tdef f[T](self) -> Template : return 1\r\n",
    );
}

#[test]
fn a_parameter_annotation_is_added_or_replaced() {
    let annotate = |node: Node<'_>| recipe::annotate_parameter(node, "int");
    check_twice(Kind::Parameter, annotate, "def f(a): pass\n", "def f(a: int): pass\n");
    check_twice(
        Kind::Parameter,
        annotate,
        "def f(a=1, b = (2), *c, d: str=3, e: str, **f): pass\n",
        "def f(a: int = 1, b: int = (2), *c: int, d: int = 3, e: int, **f: int): pass\n",
    );
    check_twice(
        Kind::Parameter,
        annotate,
        "async def f(\r\n\ta,  # one\r\n\t# two\r\n\tb=1,\r\n):\r\n\tpass\r\n",
        "async def f(\r\n\ta: int,  # one\r\n\t# two\r\n\tb: int = 1,\r\n):\r\n\tpass\r\n",
    );
    check(
        Kind::Parameter,
        annotate,
        "def f(\n    a  # why\n    =1\n): pass\n",
        "def f(\n    a: int  # why\n    =1\n): pass\n",
    );
    check_twice(Kind::Parameter, annotate, "f = lambda a=1: a\n", "f = lambda a=1: a\n");
}

#[test]
fn a_star_goes_before_the_parameter_that_is_named() {
    let star = recipe::keyword_only_from;
    check_twice(Kind::Parameter, star, "def f(a): pass\n", "def f(*, a): pass\n");
    check_twice(Kind::Parameter, star, "f = lambda a: a\n", "f = lambda *, a: a\n");
    for done in ["def f(*, a): pass\n", "def f(a, /): pass\n", "def f(a, *b): pass\n"] {
        check_twice(Kind::Parameter, star, done, done);
    }
}

#[test]
fn a_star_makes_parameters_keyword_only() {
    let star = recipe::keyword_only;
    check_twice(Kind::FunctionDef, star, "def f(a, b=1): pass\n", "def f(*, a, b=1): pass\n");
    check_twice(Kind::FunctionDef, star, "def f(a, **rest): pass\n", "def f(*, a, **rest): pass\n");
    check_twice(
        Kind::FunctionDef,
        star,
        "class A:\n    async def f(self, a): pass\n    @classmethod\n    def g(cls, a, b): pass\n",
        "class A:\n    async def f(self, *, a): pass\n    @classmethod\n    def g(cls, *, a, b): pass\n",
    );
    check_twice(
        Kind::FunctionDef,
        star,
        "class A:\n    if x:\n        @staticmethod\n        def f(a): pass\n    class B:\n        def g(self, /, a): pass\n",
        "class A:\n    if x:\n        @staticmethod\n        def f(*, a): pass\n    class B:\n        def g(self, /, *, a): pass\n",
    );
    check_twice(
        Kind::FunctionDef,
        star,
        "def f(\r\n\ta,  # one\r\n\t# two\r\n\tb: int = 1,\r\n): pass\r\n",
        "def f(\r\n\t*,\r\n\ta,  # one\r\n\t# two\r\n\tb: int = 1,\r\n): pass\r\n",
    );
    check_twice(
        Kind::FunctionDef,
        star,
        "class A:\n    def f(\n        self,\n        # two\n        b,\n    ): pass\n",
        "class A:\n    def f(\n        self,\n        *,\n        # two\n        b,\n    ): pass\n",
    );
    for done in [
        "def f(): pass\n",
        "def f(**rest): pass\n",
        "def f(*args, a): pass\n",
        "def f(a, *, b): pass\n",
        "def f(a, /, b): pass\n",
        "class A:\n    def f(self): pass\n    def g(self, *args): pass\n    def h(*args): pass\n",
    ] {
        check_twice(Kind::FunctionDef, star, done, done);
    }
    // A function within a method has no instance.
    check_twice(
        Kind::FunctionDef,
        star,
        "class A:\n    def f(self):\n        def g(a): pass\n",
        "class A:\n    def f(self):\n        def g(*, a): pass\n",
    );
}

#[test]
fn a_string_gets_another_prefix() {
    let prefix = |kind, text: &str, prefix: &str, expected: &str| {
        check_twice(kind, |node: Node<'_>| recipe::string_prefix(node, prefix), text, expected);
    };
    prefix(Kind::FString, "f'a {b!r:>{c}} {{}}'\n", "t", "t'a {b!r:>{c}} {{}}'\n");
    prefix(Kind::FString, "rf'\\d{b}'; Fr'{b}'\n", "t", "rt'\\d{b}'; tr'{b}'\n");
    prefix(Kind::TString, "t'''\n{b}\n'''\n", "f", "f'''\n{b}\n'''\n");
    prefix(
        Kind::ConcatenatedString,
        "x = (f'{a}'  # one\r\n\tu'{b} \\N{EM DASH} \\\\N{c}'\r\n\tr'\\N{d}')\r\n",
        "t",
        "x = (t'{a}'  # one\r\n\tt'{{b}} \\N{EM DASH} \\\\N{{c}}'\r\n\trt'\\N{{d}}')\r\n",
    );
    // Plain literals may stand beside f-strings, but not beside t-strings.
    prefix(Kind::ConcatenatedString, "'{a}' f'{b}'\n", "f", "'{a}' f'{b}'\n");
    prefix(Kind::ConcatenatedString, "t'{a}' t'b'\n", "f", "f'{a}' f'b'\n");
    prefix(Kind::FString, "f'{{a}} \\N{EM DASH}'; f'{b}'\n", "", "'{a} \\N{EM DASH}'; f'{b}'\n");
    prefix(Kind::Bytes, "b'{a}'\n", "t", "b'{a}'\n");
    let once = |text: &str, expected: &str| {
        check(Kind::String, |node: Node<'_>| recipe::string_prefix(node, "t"), text, expected);
    };
    once("'{a}'\n", "t'{{a}}'\n");
    once("R'\\{a}'\n", "Rt'\\{{a}}'\n");
}

#[test]
fn a_part_of_adjacent_literals_takes_the_others_along() {
    let text = "x = 'a' f'{b}'\n";
    let parsed = parse(text);
    let part = parsed.nodes_of(Kind::FString).next().unwrap();
    let result = edit::apply(text, recipe::string_prefix(part, "t")).unwrap();
    assert_eq!(result, "x = t'a' t'{b}'\n");
}

#[test]
fn one_match_is_rewritten() {
    let text = "f(a, g(b))  # one\nf(c)\n";
    let parsed = parse(text);
    let pattern = Pattern::code("f($$$A)").unwrap();
    let template = Template::new("h($$$A)", &pattern, Some("f($$$A)")).unwrap();
    let found = find_all(&parsed, None, &pattern);
    let edits = recipe::rewrite(&found[1], &template, &parsed).unwrap();
    assert_eq!(edit::apply(text, edits).unwrap(), "f(a, g(b))  # one\nh(c)\n");
}

#[test]
fn a_match_that_cannot_be_rewritten_says_why() {
    let parsed = parse("x = f(a)\n");
    let pattern = Pattern::code("f($A)").unwrap();
    let template = Template::new("return $A", &pattern, Some("f($A)")).unwrap();
    let found = find_all(&parsed, None, &pattern);
    let note = recipe::rewrite(&found[0], &template, &parsed).unwrap_err();
    assert_eq!(note, "line 1: left as it is: the replacement is a statement, and this is only a part of one");
}

#[test]
fn a_statement_goes_and_its_block_keeps_a_pass() {
    let remove = |node: Node<'_>| match node.text() {
        "drop()" => recipe::remove_statement(node),
        _ => Vec::new(),
    };
    check_twice(Kind::Expr, remove, "a()\ndrop()  # why\nb()\n", "a()\nb()\n");
    check_twice(Kind::Expr, remove, "def f(): drop()\n", "def f(): pass\n");
    check_twice(Kind::Expr, remove, "a(); drop()\r\nb()\r\n", "a()\r\nb()\r\n");
    check_twice(
        Kind::Expr,
        remove,
        "class A:\n\tasync def f(self):\n\t\t# why\n\t\tdrop()\n",
        "class A:\n\tasync def f(self):\n\t\t# why\n\t\tpass\n",
    );
}

/// Renames the first thing called `old` and gives the text, or the reason why not.
fn renamed(text: &str, new: &str) -> String {
    let parsed = parse(text);
    let semantic = Semantic::new(&parsed);
    let is_name = |node: &Node<'_>| matches!(node.kind(), Kind::Name | Kind::Identifier);
    let name = parsed.nodes().find(|node| is_name(node) && node.text() == "old").unwrap();
    match recipe::rename(&semantic, name, new) {
        Ok(edits) => edit::apply(text, edits).unwrap(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_name_is_renamed_in_its_file() {
    assert_eq!(
        renamed("def old(): pass  # old\n__all__ = ['old']\nx: 'old'\nold()\n", "new"),
        "def new(): pass  # old\n__all__ = ['new']\nx: 'new'\nnew()\n"
    );
    assert_eq!(renamed("def f(old): return old\nf(old=1)\n", "new"), "def f(new): return new\nf(new=1)\n");
    assert_eq!(renamed("from m import old\nold()\n", "new"), "from m import old as new\nnew()\n");
    assert_eq!(
        renamed("class A:\r\n\tdef old(self): return self.old\r\n", "new"),
        "class A:\r\n\tdef new(self): return self.new\r\n"
    );
}

#[test]
fn a_rename_that_collides_or_captures_is_refused() {
    assert_eq!(
        renamed("old = 1\nnew = 2\n", "new"),
        "cannot rename `old` to `new`: line 2, column 1, already binds `new`"
    );
    assert_eq!(
        renamed("old = 1\ndef f(new): return old\n", "new"),
        "cannot rename `old` to `new`: the name at line 2, column 20, would mean something else"
    );
    assert_eq!(renamed("old = 1\n", "class"), "`class` is not a valid name: it is a keyword");
}

#[test]
fn recipes_give_nothing_for_other_nodes() {
    let parsed = parse("@a\ndef f(x=1): return 'a' f'{b}'\nclass A: pass\nlambda x: (x for x in y)\n");
    for node in parsed.nodes() {
        if !matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef) {
            assert_eq!(recipe::add_decorator(node, "a"), []);
            assert_eq!(recipe::keyword_only(node), []);
            assert_eq!(recipe::annotate_return(node, "a"), []);
        }
        if node.kind() != Kind::Decorator {
            assert_eq!(recipe::remove_decorator(node), []);
        }
        if !node.kind().is_statement() {
            assert_eq!(recipe::remove_statement(node), []);
        }
    }
}
