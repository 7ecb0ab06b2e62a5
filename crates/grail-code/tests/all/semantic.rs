//! Scopes and names: where each name is bound, by Python's own rules.

use grail_code::semantic::{Origin, ReferenceKind};
use grail_code::{Field, Kind, ModuleName, Semantic, Source, parse_module};

/// Each use of a name as `name@line`, and the lines that bind what it means.
fn resolutions(text: &str) -> Vec<String> {
    let parsed = parse_module(Source::from_text(text));
    assert!(parsed.is_valid(), "{:?}", parsed.diagnostics());
    let semantic = Semantic::new(&parsed);
    let line = |offset| parsed.source().position(offset).line;
    let mut results = Vec::new();
    for reference in semantic.references() {
        let mut bound: Vec<String> = match reference.symbol {
            None => vec!["nowhere".to_owned()],
            Some(symbol) => semantic
                .symbol(symbol)
                .bindings
                .iter()
                .map(|id| line(semantic.binding(*id).span.start).to_string())
                .collect(),
        };
        bound.dedup();
        results.push((
            reference.span,
            format!("{}@{} -> {}", reference.name, line(reference.span.start), bound.join(",")),
        ));
    }
    results.sort();
    results.into_iter().map(|(_, text)| text).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(resolutions(text), expected);
}

#[test]
fn functions_see_enclosing_functions_and_the_module_but_not_classes() {
    check(
        "x = 1\nclass A:\n    x = 2\n    y = x\n    def f(self):\n        return x, y\n",
        &["x@4 -> 3", "x@6 -> 1", "y@6 -> nowhere"],
    );
    check(
        "def outer():\n    a = 1\n    def inner():\n        return a\n    return inner\n",
        &["a@4 -> 2", "inner@5 -> 3"],
    );
}

#[test]
fn defaults_decorators_and_annotations_belong_to_the_surroundings() {
    check(
        "n = 1\n@n\ndef f(a: n = n, *, b=n) -> n:\n    n = 2\n    return n\n",
        &["n@2 -> 1", "n@3 -> 1", "n@3 -> 1", "n@3 -> 1", "n@3 -> 1", "n@5 -> 4"],
    );
    check("x = 1\nf = lambda x, y=x: x + y\n", &["x@2 -> 1", "x@2 -> 2", "y@2 -> 2"]);
}

#[test]
fn comprehensions_have_their_own_scope_except_the_first_iterable() {
    check("x = [1]\ny = [x for x in x if x]\n", &["x@2 -> 2", "x@2 -> 1", "x@2 -> 2"]);
    check("class A:\n    xs = []\n    ys = [xs for _ in xs]\n", &["xs@3 -> nowhere", "xs@3 -> 2"]);
    check(
        "rows = []\nz = {a: b for row in rows for a, b in row.items()}\n",
        &["a@2 -> 2", "b@2 -> 2", "rows@2 -> 1", "row@2 -> 2"],
    );
}

#[test]
fn a_walrus_in_a_comprehension_binds_around_it() {
    check(
        "def f(xs):\n    ys = [last := x for x in xs]\n    return last\n",
        &["x@2 -> 2", "xs@2 -> 1", "last@3 -> 2"],
    );
}

#[test]
fn global_and_nonlocal_reach_outwards() {
    check(
        "count = 0\ndef f():\n    global count\n    count += 1\n    return count\n",
        &["count@4 -> 1,4", "count@5 -> 1,4"],
    );
    check(
        "def outer():\n    total = 0\n    def inner():\n        nonlocal total\n        total = 1\n    return total\n",
        &["total@6 -> 2,5"],
    );
    check("def f():\n    global made\n    made = 1\nprint(made)\n", &["print@4 -> nowhere", "made@4 -> 3"]);
}

#[test]
fn a_class_body_reads_the_outer_name_until_it_binds_its_own() {
    check("x = 1\nclass A:\n    x = x\n    y = x\n", &["x@3 -> 1", "x@4 -> 3"]);
    check("import d\nclass A:\n    d: d.D\n    e: d.E = None\n", &["d@3 -> 1", "d@4 -> 1"]);
    check("import d\nclass A:\n    d: d.D = None\n    e = d\n", &["d@3 -> 1", "d@4 -> 3"]);
    check("def id(): ...\nclass A:\n    a = id()\n    id = 3\n", &["id@3 -> 1"]);
}

#[test]
fn type_parameters_are_visible_in_the_header_and_below() {
    check(
        "def first[T: int](xs: list[T]) -> T:\n    y: T = xs[0]\n    return y\n",
        &[
            "int@1 -> nowhere",
            "list@1 -> nowhere",
            "T@1 -> 1",
            "T@1 -> 1",
            "T@2 -> 1",
            "xs@2 -> 1",
            "y@3 -> 2",
        ],
    );
    check("class Box[T](Base[T]):\n    item: T\n", &["Base@1 -> nowhere", "T@1 -> 1", "T@2 -> 1"]);
    check("type Pair[A] = tuple[A, A]\n", &["tuple@1 -> nowhere", "A@1 -> 1", "A@1 -> 1"]);
}

#[test]
fn names_in_string_annotations_are_references() {
    let text = "import typing as t\nclass Node: ...\ndef f(a: 'Node', b: t.Literal['Node'], c: 'list[Node]') -> \"t.Any\": ...\n";
    check(text, &["Node@3 -> 2", "t@3 -> 1", "list@3 -> nowhere", "Node@3 -> 2", "t@3 -> 1"]);
    let text = "from typing import cast, List, TypeVar\nclass A: ...\nT = TypeVar('T', bound='A')\nL = List['A']\nx = cast('A', y)\n";
    check(
        text,
        &[
            "TypeVar@3 -> 1",
            "A@3 -> 2",
            "List@4 -> 1",
            "A@4 -> 2",
            "cast@5 -> 1",
            "A@5 -> 2",
            "y@5 -> nowhere",
        ],
    );
}

#[test]
fn every_kind_of_statement_binds() {
    check(
        "try:\n    pass\nexcept E as e:\n    e\nwith a as (b, *c):\n    b, c\nfor i, (j, k) in z:\n    i, j, k\ndel i\n",
        &[
            "E@3 -> nowhere",
            "e@4 -> 3",
            "a@5 -> nowhere",
            "b@6 -> 5",
            "c@6 -> 5",
            "z@7 -> nowhere",
            "i@8 -> 7,9",
            "j@8 -> 7",
            "k@8 -> 7",
            "i@9 -> 7,9",
        ],
    );
    check(
        "match m:\n    case {'a': x, **rest}:\n        x, rest\n    case [y, *ys] | C(z=y) as w:\n        y, ys, w\n",
        &["m@1 -> nowhere", "x@3 -> 2", "rest@3 -> 2", "C@4 -> nowhere", "y@5 -> 4", "ys@5 -> 4", "w@5 -> 4"],
    );
    check(
        "import a.b, c.d as e\nfrom f import g as h\na, e, h, c, g\n",
        &["a@3 -> 1", "e@3 -> 1", "h@3 -> 2", "c@3 -> nowhere", "g@3 -> nowhere"],
    );
}

#[test]
fn exports_are_references_too() {
    let parsed = parse_module(Source::from_text(
        "from m import a\n__all__ = ['a', \"b\"] + ['c']\n__all__ += ('d',)\n__all__.extend(['e'])\n",
    ));
    let semantic = Semantic::new(&parsed);
    let names: Vec<_> = semantic.exports().into_iter().flatten().map(|export| export.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    let export = semantic.references().iter().find(|reference| reference.kind == ReferenceKind::Export);
    assert!(export.is_some_and(|reference| reference.symbol.is_some()));
}

fn qualified(text: &str, module: ModuleName, expression: &str) -> Vec<(String, Origin)> {
    let parsed = parse_module(Source::from_text(text));
    let semantic = Semantic::of_module(&parsed, module);
    let node = parsed.nodes().rfind(|node| node.text() == expression && node.kind() != Kind::Expr);
    let node = node.expect("the expression occurs");
    semantic.qualified_names(node).into_iter().map(|name| (name.name, name.origin)).collect()
}

#[test]
fn qualified_names_see_through_aliases() {
    let unknown = ModuleName::default;
    let one = |name: &str, origin| vec![(name.to_owned(), origin)];
    assert_eq!(
        qualified("from typing import Optional as Opt\nOpt[int]", unknown(), "Opt"),
        one("typing.Optional", Origin::Import)
    );
    assert_eq!(
        qualified("import os.path as p\np.join", unknown(), "p.join"),
        one("os.path.join", Origin::Import)
    );
    assert_eq!(
        qualified("import os.path\nos.path.join(a)", unknown(), "os.path.join(a)"),
        one("os.path.join", Origin::Import)
    );
    assert_eq!(qualified("print(1)", unknown(), "print"), one("builtins.print", Origin::Builtin));
    assert_eq!(qualified("from ..core import x\nx.y", unknown(), "x.y"), one("..core.x.y", Origin::Import));
    assert_eq!(
        qualified("from ..core import x\nx.y", ModuleName::module("shop.web.views"), "x.y"),
        one("shop.core.x.y", Origin::Import)
    );
    assert_eq!(
        qualified("from . import x\nx", ModuleName::package("shop"), "x"),
        one("shop.x", Origin::Import)
    );
    assert_eq!(
        qualified("class A:\n    def f(self):\n        y = 1\n        y", unknown(), "y"),
        one("A.f.<locals>.y", Origin::Local)
    );
    assert_eq!(
        qualified(
            "try:\n    import json\nexcept ImportError:\n    import simplejson as json\njson.loads",
            unknown(),
            "json.loads"
        ),
        vec![("json.loads".to_owned(), Origin::Import), ("simplejson.loads".to_owned(), Origin::Import)]
    );
}

#[test]
fn the_scope_of_any_node_is_known() {
    let text = "x = 1\ndef f(a=x):\n    return [y for y in a]\n";
    let parsed = parse_module(Source::from_text(text));
    let semantic = Semantic::new(&parsed);
    for reference in semantic.references() {
        let node = parsed.node(reference.node.expect("no strings here"));
        assert_eq!(semantic.scope_of(node), reference.scope, "{node:?}");
    }
    let function = parsed.nodes_of(Kind::FunctionDef).next().expect("a function");
    let parameters = function.child(Field::Params).expect("parameters");
    assert_eq!(semantic.scope_of(parameters), semantic.module_scope());
}
