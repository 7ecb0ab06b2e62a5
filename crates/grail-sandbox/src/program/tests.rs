//! What the source as type checked looks like, where its places were written, and what is refused.

use super::{Program, ResultRule, prepare};
use crate::outcome::Rejection;

fn checked_form(source: &str) -> String {
    accepted(source).checked.to_string()
}

fn accepted(source: &str) -> Program {
    prepare(source, ResultRule::Required).unwrap_or_else(|rejections| panic!("refused: {rejections:?}"))
}

/// `line:column construct: message (hint)` of each rejection.
fn refused(source: &str) -> Vec<String> {
    let rejections = prepare(source, ResultRule::Required).err().unwrap_or_default();
    rejections.iter().map(describe).collect()
}

fn describe(rejection: &Rejection) -> String {
    let Rejection { construct, message, line, column, hint, .. } = rejection;
    let hint = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{line}:{column} {construct}: {message}{hint}")
}

/// Every character of the source as type checked that was there before must map back to its own place.
fn check_positions(source: &str) {
    let program = accepted(source);
    let run = grail_code::Source::from_text(&*program.checked);
    let original = grail_code::Source::from_text(source);
    assert_eq!(run.line_starts().len(), original.line_starts().len(), "{source:?}");
    for (offset, character) in program.checked.char_indices() {
        let position = run.position(offset as u32);
        let (line, column) = program.original_position(position.line, position.column);
        assert_eq!(line, position.line);
        if "()\r\n".contains(character) {
            continue;
        }
        let at = original.offset(grail_code::Position { line, column }).expect("a place in the original");
        let found = original.text()[at as usize..].chars().next().expect("a character");
        let within_keyword = "grail_".contains(character) && "return".contains(found);
        assert!(character == found || within_keyword, "{source:?} {position:?}: {character:?} {found:?}");
    }
}

#[test]
fn a_program_without_return_stays_as_it_is() {
    let source = "def double(x):\n    return x * 2\n\ndouble(21)\n";
    let program = accepted(source);
    assert_eq!(&*program.checked, source);
    assert_eq!(&*program.source, source);
    assert!(!program.uses_return());
    assert_eq!(program.original_position(2, 12), (2, 12));
}

#[test]
fn return_at_top_level_becomes_a_call_of_the_same_width() {
    for (source, run) in [
        ("return 1", "grail_(1)"),
        ("return x + 1\n", "grail_(x + 1)\n"),
        ("x = 1; return x", "x = 1; grail_(x)"),
        ("return x; y = 2", "grail_(x); y = 2"),
        ("return  x", "grail_( x)"),
        ("return\tx", "grail_(x)"),
        ("return", "grail_()"),
        ("return # nothing", "grail_() # nothing"),
        ("return x # the answer", "grail_(x) # the answer"),
        ("return; x", "grail_(); x"),
        ("return(x)", "grail_((x))"),
        ("return (x)", "grail_((x))"),
        ("return[1]", "grail_([1])"),
        ("return-1", "grail_(-1)"),
        ("return'a'", "grail_('a')"),
        ("return 1, 2", "grail_((1, 2))"),
        ("return 1,", "grail_((1,))"),
        ("return *a, b", "grail_((*a, b))"),
        ("return (1, 2)", "grail_((1, 2))"),
        ("return (1), (2)", "grail_(((1), (2)))"),
        ("return (x for x in y)", "grail_((x for x in y))"),
        ("return lambda: 1", "grail_(lambda: 1)"),
        ("return (y := 1)", "grail_((y := 1))"),
        ("return f'{x!r:>{w}}' 'é'", "grail_(f'{x!r:>{w}}' 'é')"),
        ("return await f()", "grail_(await f())"),
        ("return \\\n  x", "grail_(\\\n  x)"),
        ("return\\\n  x", "grail_(\\\n  x)"),
        ("return (\n    1,  # one\n    2,\n)\n", "grail_((\n    1,  # one\n    2,\n))\n"),
        ("return {\r\n  'a': 1\r\n}\r\n", "grail_({\r\n  'a': 1\r\n})\r\n"),
        ("if a: return 1\nelse: return 2", "if a: grail_(1)\nelse: grail_(2)"),
        ("if a:\n\treturn 1\nelif b:\n\treturn\n", "if a:\n\tgrail_(1)\nelif b:\n\tgrail_()\n"),
        ("for x in y:\n    while x:\n        return x\n", "for x in y:\n    while x:\n        grail_(x)\n"),
        ("try:\n  return 1\nfinally:\n  f()\n", "try:\n  grail_(1)\nfinally:\n  f()\n"),
        ("with a() as b:\n  return b\n", "with a() as b:\n  grail_(b)\n"),
        ("\u{feff}return 1", "grail_(1)"),
        ("naïve = 'é'; return naïve", "naïve = 'é'; grail_(naïve)"),
    ] {
        assert_eq!(checked_form(source), run);
        assert_eq!(&*accepted(source).source, source.trim_start_matches('\u{feff}'));
        assert!(accepted(source).uses_return());
        check_positions(source);
    }
}

#[test]
fn the_returns_of_functions_stay() {
    let source = "@cache\ndef f(x):\n    def g():\n        return 1\n    return g() + x\nasync def h():\n    return 1\nreturn f(1)\n";
    assert_eq!(checked_form(source), source.replace("return f(1)", "grail_(f(1))"));
    check_positions(source);
    let method = "class A:\n    def f(self):\n        return 1\nA().f()\n";
    assert_eq!(checked_form(method), method);
}

#[test]
fn places_map_back_to_what_was_written() {
    let program = accepted("if é: return(f(1)); g()\nreturn 1, 2; h()\nreturn x");
    assert_eq!(&*program.checked, "if é: grail_((f(1))); g()\ngrail_((1, 2)); h()\ngrail_(x)");
    // `f` moved by one, `g` by two.
    assert_eq!(program.original_position(1, 15), (1, 14));
    assert_eq!(program.original_position(1, 23), (1, 21));
    // `1` moved by one; `h` by three.
    assert_eq!(program.original_position(2, 9), (2, 8));
    assert_eq!(program.original_position(2, 17), (2, 14));
    assert_eq!(program.original_position(3, 8), (3, 8));
    // The call itself, and places that do not exist.
    assert_eq!(program.original_position(2, 1), (2, 1));
    assert_eq!(program.original_position(99, 7), (99, 7));
    assert_eq!(program.original_position(0, 0), (0, 1));
    assert_eq!(program.original_line(1), "if é: return(f(1)); g()");
    assert_eq!(program.original_line(3), "return x");
    assert_eq!(program.original_line(0), "");
    assert_eq!(program.original_line(4), "");
}

#[test]
fn lines_are_told_without_their_ending() {
    let program = accepted("\u{feff}a = 1\r\nb = 2\rc\n");
    assert_eq!(
        [1, 2, 3, 4].map(|line| program.original_line(line).to_owned()),
        ["a = 1", "b = 2", "c", ""].map(str::to_owned)
    );
}

#[test]
fn syntax_errors_are_rejections() {
    assert_eq!(refused("x = (1\n"), ["2:1 syntax-error: unexpected EOF while parsing"]);
    assert_eq!(refused("1 +"), ["1:4 syntax-error: Expected an expression"]);
    assert_eq!(
        refused("class A:\n    return 1\n"),
        ["2:5 syntax-error: `return` stands in a class body, outside any function"]
    );
    assert_eq!(refused(&"(\n".repeat(200)).len(), 1);
    assert!(refused(&"= 1\n".repeat(200)).len() <= 50);
}

#[test]
fn a_trailing_assignment_is_refused_where_a_value_is_due() {
    let hint = |target: &str| {
        vec![format!(
            "1:1 trailing-assignment: the program ends in an assignment, so it has no result (end with the value: add a last \
             line `{target}`)"
        )]
    };
    for (source, target) in [
        ("total = 1", "total"),
        ("total = 1 # done\n\n", "total"),
        ("total += 1", "total"),
        ("total: int = 1", "total"),
        ("a = b = 1", "a"),
        ("a, *b = x", "a, *b"),
        ("d['key'] = 1", "d['key']"),
        ("record.name = 1", "record.name"),
        ("[\n  a\n] = x", "NAME"),
    ] {
        assert_eq!(refused(source), hint(target), "{source}");
        assert!(prepare(source, ResultRule::Optional).is_ok());
    }
    for source in [
        "",
        "# nothing\n",
        "x = 1\nx",
        "(x := 1)",
        "x: int",
        "if a:\n    x = 1",
        "if a:\n    return 1\nx = 2",
    ] {
        assert_eq!(refused(source), [""; 0], "{source}");
    }
}

#[test]
fn the_name_behind_return_is_reserved() {
    let message = "reserved-name: the name `grail_` is reserved (use another name)";
    for (source, places) in [
        ("grail_", &["1:1"][..]),
        ("grail_(1)", &["1:1"]),
        ("def grail_(): pass\n0", &["1:5"]),
        ("def f(grail_): pass\n0", &["1:7"]),
        ("import math as grail_\n0", &["1:16"]),
        ("from math import pi as grail_\n0", &["1:24"]),
        ("for grail_ in x: f'{grail_}'", &["1:5", "1:21"]),
        ("x.grail_; f(grail_=1); 'grail_'", &[]),
    ] {
        let expected: Vec<String> = places.iter().map(|place| format!("{place} {message}")).collect();
        assert_eq!(refused(source), expected, "{source}");
    }
}

#[test]
fn hostile_depth_is_only_a_refusal() {
    for source in ["(".repeat(50_000), "[".repeat(50_000), "-".repeat(50_000) + "1", "f(".repeat(20_000)] {
        let _ = prepare(&source, ResultRule::Required);
    }
    let _ = prepare(&format!("return 1{}", "+1".repeat(20_000)), ResultRule::Required);
}
