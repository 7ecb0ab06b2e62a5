//! Parsing: any Python up to 3.14, and a tree for what is broken.

use grail_code::{Kind, Source, parse_expression, parse_module, parse_statement};

fn kinds(text: &str) -> Vec<&'static str> {
    let parsed = parse_module(Source::from_text(text));
    assert!(parsed.is_valid(), "{text}: {:?}", parsed.diagnostics());
    parsed.nodes().map(|node| node.kind().name()).collect()
}

#[test]
fn new_syntax_has_nodes_of_its_own() {
    for (text, kind) in [
        ("t'{name!r:>{width}}'", "TString"),
        ("t'a' t'b'", "ConcatenatedString"),
        ("try: ...\nexcept A, B: ...", "Tuple"),
        ("try: ...\nexcept* A: ...", "ExceptHandler"),
        ("def f[T: int = str, *Ts, **P](): ...", "ParamSpec"),
        ("class A[T = int]: ...", "TypeVar"),
        ("type X[T] = list[T]", "TypeAlias"),
        ("match p:\n    case {'k': [1, *_], **rest} if rest: ...", "MatchMappingItem"),
        ("f'{x!r:{w}} {f\"{y}\"}'", "FormatSpec"),
        ("(y := 1)", "NamedExpr"),
        ("def f(a, /, b, *, c): ...", "ParamSlash"),
        ("async def f():\n    async with a as b, c: ...", "WithItem"),
        ("lambda *a, **k: (yield)", "Yield"),
        ("print(*a, k=1, **b)", "Starred"),
        ("x[1:2, ::3]", "Slice"),
        ("with (open(a) as b, open(c) as d): ...", "WithItem"),
        ("a = 1; match = 2", "Assign"),
        ("for x in *a, *b: ...", "Tuple"),
        ("(x): int = 1", "AnnAssign"),
    ] {
        assert!(kinds(text).contains(&kind), "{text}: {:?}", kinds(text));
    }
}

#[test]
fn form_feeds_tabs_and_every_line_ending_are_white_space() {
    for text in [
        "\x0cx = 1\n\x0c\ndef f():\n\tpass\n",
        "if a:\r\n    b\r\n",
        "if a:\r    b\r",
        "x = \\\n  1\n",
        "x = 1",
        "",
    ] {
        assert!(parse_module(Source::from_text(text)).is_valid(), "{text:?}");
    }
}

#[test]
fn errors_have_a_place_and_leave_a_tree() {
    let parsed =
        parse_module(Source::from_text("def f(:\n    pass\n\ndef g():\n    return 1 +\n\nclass A: ...\n"));
    let places: Vec<_> =
        parsed.diagnostics().iter().map(|error| (error.start.line, error.start.column)).collect();
    assert_eq!(places, [(1, 7), (1, 8), (5, 15)]);
    let names: Vec<_> = parsed
        .nodes()
        .filter(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef))
        .filter_map(|node| node.children().find(|child| child.kind() == Kind::Identifier))
        .map(|name| name.text())
        .collect();
    assert_eq!(names, ["f", "g", "A"]);
}

#[test]
fn a_statement_and_an_expression_stand_alone() {
    let parsed = parse_statement(Source::from_text("x = 1"));
    assert_eq!(parsed.only().map(|node| node.kind()), Some(Kind::Assign));
    assert!(parsed.is_valid());
    let parsed = parse_statement(Source::from_text("x = 1\ny = 2"));
    assert_eq!(parsed.diagnostics()[0].message, "Expected exactly one statement, found 2");
    let parsed = parse_expression(Source::from_text("a\n + b"));
    assert_eq!((parsed.root().kind(), parsed.is_valid()), (Kind::BinOp, true));
    assert!(!parse_expression(Source::from_text("x = 1")).is_valid());
    assert!(!parse_expression(Source::from_text("")).is_valid());
}

#[test]
fn parentheses_belong_to_the_expression_inside() {
    for (text, inner, outer) in [
        ("(a)", "a", "(a)"),
        ("f((a), b)", "a", "(a)"),
        ("f(a)", "a", "a"),
        ("(a).b", "a", "(a)"),
        ("x = ((a))", "a", "((a))"),
        ("(a, b)", "a", "a"),
        ("((a), b)", "a", "(a)"),
        ("class A((b)): ...", "b", "(b)"),
        ("class A(b): ...", "b", "b"),
        ("f(a for a in b)", "b", "b"),
        ("(a if b else c)", "b", "b"),
    ] {
        let parsed = parse_module(Source::from_text(text));
        let node = parsed.nodes_of(Kind::Name).find(|node| node.text() == inner).expect("the name occurs");
        assert_eq!(node.span_with_parentheses().of(text), outer, "{text}");
    }
}
