//! Lists, statements and indentation: what goes, what stays, and that it still parses.

use grail_code::layout::{
    CommaList, LeadingComments, block_indentation, indentation_unit, insert_list_item, reindent,
    remove_list_items, remove_statements,
};
use grail_code::{Kind, Node, Parsed, Source, edit, parse_module};
use proptest::prelude::*;

fn parse(text: &str) -> Parsed {
    let parsed = parse_module(Source::from_text(text));
    assert!(parsed.is_valid(), "{text}\n{:?}", parsed.diagnostics());
    parsed
}

/// The first node of the file that holds a list of the wanted kind.
fn list_node(parsed: &Parsed, kind: Kind) -> Node<'_> {
    parsed.nodes_of(kind).find(|node| CommaList::of(*node).is_some()).expect("a list")
}

#[track_caller]
fn check_remove(kind: Kind, text: &str, indexes: &[usize], expected: &str) {
    let parsed = parse(text);
    let list = CommaList::of(list_node(&parsed, kind)).expect("a list");
    let result = edit::apply(text, remove_list_items(&parsed, &list, indexes)).expect("no conflict");
    assert_eq!(result, expected);
    parse(&result);
}

#[track_caller]
fn check_insert(kind: Kind, text: &str, index: usize, item: &str, expected: &str) {
    let parsed = parse(text);
    let list = CommaList::of(list_node(&parsed, kind)).expect("a list");
    let result = edit::apply(text, insert_list_item(&parsed, &list, index, item)).expect("no conflict");
    assert_eq!(result, expected);
    parse(&result);
}

/// Removes the statements that contain `drop`.
#[track_caller]
fn check_statements(text: &str, comments: LeadingComments, expected: &str) {
    let parsed = parse(text);
    let doomed: Vec<Node<'_>> = parsed
        .nodes()
        .filter(|node| {
            node.kind().is_statement() && node.text().contains("drop") && node.text().lines().count() <= 1
                || (node.kind() == Kind::FunctionDef && node.text().contains("def drop"))
        })
        .collect();
    let result = edit::apply(text, remove_statements(&doomed, comments)).expect("no conflict");
    assert_eq!(result, expected);
    parse(&result);
}

#[test]
fn an_item_goes_with_its_comma() {
    check_remove(Kind::Call, "f(a, b, c)", &[0], "f(b, c)");
    check_remove(Kind::Call, "f(a, b, c)", &[1], "f(a, c)");
    check_remove(Kind::Call, "f(a, b, c)", &[2], "f(a, b)");
    check_remove(Kind::Call, "f(a, b, c)", &[0, 2], "f(b)");
    check_remove(Kind::Call, "f(a, b, c)", &[1, 2], "f(a)");
    check_remove(Kind::Call, "f(a, b, c)", &[0, 1, 2], "f()");
    check_remove(Kind::Call, "f(a, (b), *c,)", &[2], "f(a, (b),)");
    check_remove(Kind::Call, "f(a, (b), *c,)", &[1], "f(a, *c,)");
    check_remove(Kind::Call, "f(x for x in y)", &[0], "f()");
    check_remove(Kind::ClassDef, "class A(B, metaclass=C): ...", &[1], "class A(B): ...");
    check_remove(Kind::Parameters, "def f(a, /, b, *, c=(1)): ...", &[2], "def f(a, /, *, c=(1)): ...");
    check_remove(Kind::Import, "import a, b.c as d", &[0], "import b.c as d");
    check_remove(Kind::ImportFrom, "from m import a, \\\n    b\n", &[1], "from m import a\n");
    check_remove(Kind::ImportFrom, "from m import a, \\\n    b\n", &[0], "from m import b\n");
    check_remove(Kind::Dict, "{'a': 1, **b}", &[0], "{**b}");
}

#[test]
fn a_line_of_its_own_goes_as_a_whole() {
    check_remove(Kind::Call, "f(\n    a,  # one\n    b,  # two\n)\n", &[1], "f(\n    a,  # one\n)\n");
    check_remove(Kind::Call, "f(\n    a,  # one\n    b  # two\n)\n", &[1], "f(\n    a  # one\n)\n");
    check_remove(
        Kind::Call,
        "f(\n    # about a\n    a,\n    b,\n)\n",
        &[1],
        "f(\n    # about a\n    a,\n)\n",
    );
    check_remove(Kind::Call, "f(\n    a,\n    b,\n)\n", &[0, 1], "f()\n");
    check_remove(Kind::Call, "f(\n    a,\n    # kept\n    b,\n)\n", &[0, 1], "f(\n    # kept\n)\n");
}

#[test]
fn hanging_lines_stay_aligned() {
    check_remove(Kind::Call, "f(a,\n  b,\n  c)\n", &[0], "f(b,\n  c)\n");
    check_remove(Kind::Call, "f(a,\n  b,\n  c)\n", &[1], "f(a,\n  c)\n");
    check_remove(Kind::Call, "f(a,\n  b,\n  c)\n", &[2], "f(a,\n  b)\n");
    check_remove(Kind::Call, "f(a, b,\n  c)\n", &[1], "f(a,\n  c)\n");
    check_remove(Kind::Call, "f(a,  # one\n  b)\n", &[1], "f(a  # one\n  )\n");
    check_remove(Kind::Call, "f(a,  # one\n  b)\n", &[0], "f(  # one\n  b)\n");
}

#[test]
fn tuples_and_sets_stay_what_they_are() {
    check_remove(Kind::Tuple, "x = (a, b)", &[1], "x = (a,)");
    check_remove(Kind::Tuple, "x = (a, b)", &[0, 1], "x = ()");
    check_remove(Kind::Tuple, "x = a, b", &[0], "x = b");
    check_remove(Kind::Tuple, "x = a,", &[0], "x = ()");
    check_remove(Kind::Tuple, "x: Union[a, b]", &[1], "x: Union[a]");
    check_remove(Kind::Set, "x = {a}", &[0], "x = set()");
}

#[test]
fn an_item_arrives_in_the_style_of_the_list() {
    check_insert(Kind::Call, "f()", 0, "x", "f(x)");
    check_insert(Kind::Call, "f(a)", 0, "x", "f(x, a)");
    check_insert(Kind::Call, "f(a)", 1, "x", "f(a, x)");
    check_insert(Kind::Call, "f(a,)", 1, "x", "f(a, x,)");
    check_insert(Kind::Call, "f(a, (b))", 2, "x", "f(a, (b), x)");
    check_insert(Kind::Call, "f(y for y in z)", 1, "x", "f((y for y in z), x)");
    check_insert(Kind::Call, "f(y for y in z)", 0, "x", "f(x, (y for y in z))");
    check_insert(Kind::Tuple, "t = (a,)", 1, "x", "t = (a, x)");
    check_insert(Kind::Call, "f(\n    a,  # one\n)\n", 1, "x", "f(\n    a,  # one\n    x,\n)\n");
    check_insert(Kind::Call, "f(\n    a  # one\n)\n", 1, "x", "f(\n    a,  # one\n    x\n)\n");
    check_insert(
        Kind::Call,
        "f(\n    a,\n    # about b\n    b,\n)\n",
        1,
        "x",
        "f(\n    a,\n    x,\n    # about b\n    b,\n)\n",
    );
    check_insert(Kind::Call, "f(\n    a,\n)\n", 0, "x", "f(\n    x,\n    a,\n)\n");
    check_insert(Kind::Call, "f(a,\n  b)\n", 2, "x", "f(a,\n  b, x)\n");
}

#[test]
fn a_statement_goes_with_its_lines() {
    let keep = LeadingComments::Keep;
    check_statements("a\ndrop  # why\nb\n", keep, "a\nb\n");
    check_statements("a; drop; b\n", keep, "a; b\n");
    check_statements("a; drop\n", keep, "a\n");
    check_statements("drop; a\n", keep, "a\n");
    check_statements("a; drop1; drop2;\n", keep, "a\n");
    check_statements("a\ndrop1; drop2;  # why\nb\n", keep, "a\nb\n");
    check_statements("if x:\n    drop  # why\n", keep, "if x:\n    pass  # why\n");
    check_statements("if x: drop1; drop2\nelse: drop3\n", keep, "if x: pass\nelse: pass\n");
    check_statements("if x:\n    drop1\n    drop2\n", keep, "if x:\n    pass\n");
    check_statements("x = 1\n# about it\ndrop\n", keep, "x = 1\n# about it\n");
    check_statements("x = 1\n# about it\n# more\ndrop\n", LeadingComments::Remove, "x = 1\n");
    check_statements("x = 1\n\n\ndef drop():\n    y\n\n\nz = 1\n", keep, "x = 1\n\n\nz = 1\n");
    check_statements("x = 1\n\n\n@a\ndef drop():\n    y\n", keep, "x = 1\n");
    check_statements("drop\n\n\nx = 1\n", keep, "x = 1\n");
    check_statements("import drop\r\nimport a\r\n", keep, "import a\r\n");
}

#[test]
fn reindenting_leaves_strings_alone() {
    let text =
        "    x = '''\n    inner\n'''\n\n    if x:\n        # deep\n        y = f'''{\n    z}\n    '''\n";
    let expected = "x = '''\n    inner\n'''\n\nif x:\n    # deep\n    y = f'''{\n    z}\n    '''\n";
    assert_eq!(reindent(text, "    ", ""), expected);
    assert_eq!(reindent("a\nif b:\n    c\n", "", "\t"), "\ta\n\tif b:\n\t    c\n");
}

#[test]
fn indentation_is_read_from_the_file() {
    let parsed = parse("class A:\n  def f(self):\n    x\nif a: b\n");
    assert_eq!(indentation_unit(&parsed), "  ");
    let of = |text: &str| {
        let node = parsed.nodes().find(|node| node.kind().is_statement() && node.text() == text);
        block_indentation(node.expect("the statement"))
    };
    assert_eq!(of("x"), "    ");
    assert_eq!(of("b"), "  ");
    assert_eq!(of("if a: b"), "");
}

const SAMPLE: &str = include_str!("../../specs/layout/sample.py");

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_statements_can_go(picks in proptest::collection::vec(any::<prop::sample::Index>(), 1..6)) {
        let parsed = parse(SAMPLE);
        let statements: Vec<Node<'_>> = parsed.nodes().filter(|node| node.kind().is_statement()).collect();
        let mut doomed: Vec<Node<'_>> = picks.iter().map(|pick| *pick.get(&statements)).collect();
        doomed.sort_by_key(|node| node.id());
        doomed.dedup();
        let result = edit::apply(SAMPLE, remove_statements(&doomed, LeadingComments::Keep)).expect("no conflict");
        prop_assert!(parse_module(Source::from_text(result.clone())).is_valid(), "{result}");
    }

    #[test]
    fn any_arguments_can_go_and_come(pick in any::<prop::sample::Index>(), mask in any::<u8>(), at_end in any::<bool>()) {
        let parsed = parse(SAMPLE);
        let lists: Vec<Node<'_>> = parsed.nodes_of(Kind::Call).collect();
        let list = CommaList::of(*pick.get(&lists)).expect("calls have arguments");
        let indexes: Vec<usize> = (0..list.items.len()).filter(|index| mask & (1 << (index % 8)) != 0).collect();
        let result = edit::apply(SAMPLE, remove_list_items(&parsed, &list, &indexes)).expect("no conflict");
        prop_assert!(parse_module(Source::from_text(result.clone())).is_valid(), "{result}");
        let (index, item) = if at_end { (list.items.len(), "**new") } else { (0, "*new") };
        let result = edit::apply(SAMPLE, insert_list_item(&parsed, &list, index, item)).expect("no conflict");
        prop_assert!(parse_module(Source::from_text(result.clone())).is_valid(), "{result}");
    }
}
