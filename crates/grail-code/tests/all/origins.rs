//! Where a value comes from: each fixture says which expressions its `sink(…)` may get.

use grail_code::query::{Pattern, find_all};
use grail_code::semantic::origins::{MAX_ORIGINS, origins};
use grail_code::{Field, Kind, Parsed, Semantic, Source, parse_module};

fn parse(text: &str) -> Parsed {
    let parsed = parse_module(Source::from_text(text));
    assert!(parsed.is_valid(), "{text}\n{:?}", parsed.diagnostics());
    parsed
}

/// The string literals that reach the first argument of the last `sink(…)`, as written and in source order.
fn strings(text: &str) -> Vec<String> {
    let parsed = parse(text);
    let semantic = Semantic::new(&parsed);
    let is_sink = |func: grail_code::Node<'_>| func.text() == "sink";
    let sink = parsed.nodes_of(Kind::Call).rfind(|call| call.child(Field::Func).is_some_and(is_sink));
    let argument = sink.unwrap().list(Field::Args).next().unwrap();
    let mut found: Vec<_> = origins(&semantic, argument)
        .into_iter()
        .filter(|node| matches!(node.kind(), Kind::String | Kind::FString | Kind::TString))
        .collect();
    found.sort_by_key(|node| node.span());
    found.iter().map(|node| node.text().to_owned()).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(strings(text), expected, "{text}");
}

#[test]
fn expressions_hand_on_their_parts() {
    check("sink(('a'))", &["'a'"]);
    check("sink('a' if x == 'no' else 'b')", &["'a'", "'b'"]);
    check("sink(a or 'b' or 'c')", &["'b'", "'c'"]);
    check("sink('a' + b % 'c' * 2)", &["'a'", "'c'"]);
    check("sink('a' == 'b')", &[]);
    check("sink(['a', *('b', c), {'no': 'd'}])", &["'a'", "'b'", "'d'"]);
    check("sink(['a' for x in ['no']])", &["'a'"]);
    check("sink({'a', 'b'})", &["'a'", "'b'"]);
    check("sink({'no': 'a'}['key'])", &["'a'"]);
    check("sink((x := 'a'))", &["'a'"]);
    check("sink('a' f'{b}')", &["'a'", "f'{b}'"]);
}

#[test]
fn interpolations_are_not_followed() {
    check("a = 'no'\nsink(f'{a}' + t'{a}')", &["f'{a}'", "t'{a}'"]);
}

#[test]
fn names_stand_for_what_is_assigned() {
    check("a = 'a'\nsink(a)", &["'a'"]);
    check("a: str = 'a'\nsink(a)", &["'a'"]);
    check("a = b = 'a'\nsink(b)", &["'a'"]);
    check("a, (b, *c) = 'no', ('b', 'c', 'd')\nsink(b)", &["'b'"]);
    check("a, *b = 'a', 'b'\nsink(b)", &["'a'", "'b'"]);
    check("if (a := 'a'): sink(a)", &["'a'"]);
    check("for a in ['a', 'b']: sink(a)", &["'a'", "'b'"]);
    check("for a, b in [('no', 'b')]: sink(b)", &["'b'"]);
    check("rows = ['a']\nfor a in rows: sink(a)", &["'a'"]);
    check("[sink(a) for a in ('a', 'b')]", &["'a'", "'b'"]);
    check("with open('a') as a: sink(a)", &[]);
    check("match 'a':\n    case b: sink(b)", &["'a'"]);
    check("from a import b\nsink(b)", &[]);
}

#[test]
fn what_is_put_into_a_name_counts() {
    check("a = 'a'\na += 'b'\nsink(a)", &["'a'", "'b'"]);
    check("a = []\na.append('a')\na.extend(['b'])\nsink(''.join(a))", &["'a'", "'b'", "''"]);
    check("a = {}\na['no'] = 'a'\nsink(a)", &["'a'"]);
}

#[test]
fn only_bindings_that_reach_the_place_count() {
    check("a = 'no'\na = 'a'\nsink(a)\na = 'no'", &["'a'"]);
    check("a = 'a'\nif x: a = 'b'\nsink(a)", &["'a'", "'b'"]);
    check("if x:\n    a = 'a'\n    sink(a)\nelse:\n    a = 'no'", &["'a'"]);
    check("try:\n    a = 'a'\nexcept E:\n    a = 'b'\nsink(a)", &["'a'", "'b'"]);
    check("a = 'a'\nwhile x:\n    sink(a)\n    a = 'b'", &["'a'", "'b'"]);
    check("for x in y:\n    a = 'a'\n    sink(a)\n    a = 'no'", &["'a'"]);
    check("a = 'a'\na = a + 'b'\nsink(a)", &["'a'", "'b'"]);
    check("def f(a='no'):\n    a = 'a'\n    sink(a)", &["'a'"]);
    // Who calls a function when is not known.
    check("a = 'a'\ndef f(): sink(a)\na = 'b'", &["'a'", "'b'"]);
}

#[test]
fn global_and_nonlocal_names_are_the_outer_ones() {
    check("a = 'a'\ndef f():\n    global a\n    a = 'b'\nsink(a)", &["'a'", "'b'"]);
    check(
        "def f():\n    a = 'a'\n    def g():\n        nonlocal a\n        a = 'b'\n    g()\n    sink(a)",
        &["'a'", "'b'"],
    );
}

#[test]
fn functions_hand_on_what_they_return() {
    check(
        "def f():\n    if x: return 'a'\n    def g(): return 'no'\n    return 'b'\nsink(f())",
        &["'a'", "'b'"],
    );
    check("async def f(): return 'a'\nasync def g(): sink(await f())", &["'a'"]);
    check("def f():\n    yield 'a'\nfor a in f(): sink(a)", &["'a'"]);
    check("f = lambda: 'a'\nsink(f())", &["'a'"]);
    check("sink((lambda: 'a')())", &["'a'"]);
    check("def f(): return 'a'\ng = f if x else h\nsink(g())", &["'a'"]);
    check("def f(a): return 'a' + f(a)\nsink(f(1))", &["'a'"]);
    check("sink(unknown('no'))", &[]);
}

#[test]
fn parameters_get_what_is_passed() {
    check("def f(a='a', b='no'): sink(a)\nf('b', 'no')\nf(b='no', a='c')", &["'a'", "'b'", "'c'"]);
    check("def f(*a, b): sink(a)\nf('a', 'b', b='no')", &["'a'", "'b'"]);
    check("def f(b, **a): sink(a)\nf(b='no', c='c')", &["'c'"]);
    check("def f(a, b): sink(b)\nf('a', *['b'])", &["'b'"]);
    check("def f(a): return a\nsink(f('a'))", &["'a'"]);
    check("f = lambda a: sink(a)\nf('a')", &["'a'"]);
}

#[test]
fn members_are_what_the_class_assigns() {
    check(
        "class A:\n    def __init__(self, a): self.a = a\n    def f(self): sink(self.a)\nA('a')\nA(a='b')",
        &["'a'", "'b'"],
    );
    check("class A:\n    a = 'a'\n    def f(self): sink(self.a)", &["'a'"]);
    check("class A:\n    a = 'a'\nsink(A.a)", &["'a'"]);
    check("class A:\n    a = 'a'\nb = A()\nsink(b.a)", &["'a'"]);
    check(
        "class A:\n    b: int\n    a: str = 'a'\n    def f(self): sink(self.a)\nA(1, 'b')",
        &["'a'", "'b'"],
    );
    check(
        "class A:\n    def __init__(self): self.a = []\n    def f(self): self.a.append('a')\n    def g(self): sink(self.a)",
        &["'a'"],
    );
    check("class A:\n    a = 'a'\nclass B(A):\n    def f(self): sink(self.a)", &["'a'"]);
    check("class A:\n    a = 'no'\nclass B:\n    def f(self): sink(self.a)", &[]);
}

#[test]
fn methods_hand_on_what_they_return() {
    check("class A:\n    def f(self): return 'a'\n    def g(self): sink(self.f())", &["'a'"]);
    check("class A:\n    @property\n    def f(self): return 'a'\n    def g(self): sink(self.f)", &["'a'"]);
    check("class A:\n    def f(self, a): sink(a)\n    def g(self): self.f('a')", &["'a'"]);
    check("class A:\n    @staticmethod\n    def f(a): return a\nsink(A.f('a'))", &["'a'"]);
    check(
        "class A:\n    def f(self): return 'no'\nclass B(A):\n    def f(self): return 'a'\nsink(B().f())",
        &["'a'"],
    );
}

#[test]
fn strings_and_their_methods_hand_on() {
    check("sink('{}'.format('a'))", &["'{}'", "'a'"]);
    check("sink(', '.join(['a', b]).strip())", &["', '", "'a'"]);
    check("sink(str('a'))", &["'a'"]);
    check("import textwrap\nsink(textwrap.dedent('a'))", &["'a'"]);
    check("sink(list(map(lambda x: 'a', y)))", &["'a'"]);
    check("def str(x): return x.y\nsink(str('a'))", &[]);
}

#[test]
fn a_pattern_asks_where_a_value_comes_from() {
    let pattern = Pattern::parse("{code: html($X), where: {X: {comes_from: {type: FString}}}}").unwrap();
    assert!(pattern.needs_names());
    let lines = |text: &str| -> Vec<u32> {
        let parsed = parse(text);
        let found = find_all(&parsed, None, &pattern);
        found.iter().map(|found| parsed.source().position(found.span.start).line).collect()
    };
    assert_eq!(lines("page = f'<p>{name}</p>'; body = page if a else b; html(body)"), [1]);
    assert_eq!(lines("html(t'{a}')\nhtml(f'{a}')\nx = t'{a}'\nhtml(x)"), [2]);
}

#[test]
fn an_origin_can_be_captured() {
    for pattern in [
        "{code: html($X), where: {X: {comes_from: {type: FString, capture: ORIGIN}}}}",
        "{type: Call, func: html, args: [{comes_from: {type: FString, capture: ORIGIN}, capture: X}]}",
    ] {
        let pattern = Pattern::parse(pattern).unwrap();
        let parsed = parse("a = f'{b}'\nhtml(a)\n");
        let found = find_all(&parsed, None, &pattern);
        assert_eq!(found.len(), 1);
        let text = |name: &str| parsed.node(found[0].captures.node(name).unwrap()).text();
        assert_eq!((text("X"), text("ORIGIN")), ("a", "f'{b}'"));
    }
}

#[test]
fn a_captured_origin_takes_part_in_back_references() {
    let pattern = Pattern::parse("{code: 'f($X, $Y)', where: {Y: {comes_from: $X}}}").unwrap();
    let parsed = parse("a = b\nf(b, a)\nf(c, a)\n");
    let found = find_all(&parsed, None, &pattern);
    let lines: Vec<u32> = found.iter().map(|found| parsed.source().position(found.span.start).line).collect();
    assert_eq!(lines, [2]);
}

#[test]
fn circles_and_crowds_end() {
    assert_eq!(strings("a = b\nb = a\ndef f(x): return f(x) + a\nsink(f(f))"), Vec::<String>::new());
    let crowd: String = (0..10_000).map(|index| format!("x = x + '{index}'\n")).collect();
    let text = format!("{crowd}sink(x)\n");
    assert!(strings(&text).len() < MAX_ORIGINS);
    let deep = format!("sink({}'a'{})\n", "(b, ".repeat(150), ")".repeat(150));
    assert_eq!(strings(&deep), ["'a'"]);
    let uses = "sink(x)\n".repeat(100);
    let pattern = Pattern::parse("{code: sink($X), where: {X: {comes_from: {type: FString}}}}").unwrap();
    assert_eq!(find_all(&parse(&format!("{crowd}{uses}")), None, &pattern), []);
}
