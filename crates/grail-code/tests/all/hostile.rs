//! Hostile source must cost an error message at most, on the smallest of stacks.

use grail_code::index::{MAX_ENTRIES, index};
use grail_code::semantic::origins::{MAX_ORIGINS, origins};
use grail_code::{Kind, Semantic, Source, edit, parse_module, recipe};

/// Runs on a stack as small as a test thread's or a server's.
fn parse_on_small_stack(text: String) -> (usize, Vec<String>) {
    std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(move || {
            let parsed = parse_module(Source::from_text(text));
            let messages = parsed.diagnostics().iter().map(|diagnostic| diagnostic.message.clone()).collect();
            (parsed.len(), messages)
        })
        .expect("a thread")
        .join()
        .expect("the parser survives")
}

#[test]
fn nested_parentheses_are_refused_beyond_two_hundred() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("a[", "]"), ("lambda: (", ")")] {
        let (_, messages) = parse_on_small_stack(open.repeat(100_000) + &close.repeat(100_000));
        assert_eq!(messages[0], "Source is too deeply nested", "{open}");
    }
}

#[test]
fn nested_operators_are_refused_beyond_two_hundred() {
    for operator in ["-", "not ", "~", "await ", "lambda: ", "a if b else ", "2 ** "] {
        let (_, messages) = parse_on_small_stack(operator.repeat(100_000) + "a");
        assert!(
            messages.iter().any(|message| message == "Source is too deeply nested"),
            "{operator}: {:?}",
            &messages[..1]
        );
    }
}

#[test]
fn chains_that_lean_left_may_be_long() {
    for link in [" + a", ".b", "()", "[0]", " and a", " < a", " | a", " 'x'"] {
        let first = if link == " 'x'" { "'x'" } else { "a" };
        let (nodes, messages) = parse_on_small_stack(first.to_owned() + &link.repeat(100_000));
        assert_eq!(messages, Vec::<String>::new(), "{link}");
        assert!(nodes > 100_000, "{link}: {nodes}");
    }
}

#[test]
fn a_megabyte_on_one_line_is_fine() {
    let (_, messages) = parse_on_small_stack(format!("x = [{}]", "1234567, ".repeat(120_000)));
    assert_eq!(messages, Vec::<String>::new());
}

#[test]
fn deep_chains_hidden_in_other_expressions_are_dropped_safely() {
    let chain = "a".to_owned() + &".b".repeat(50_000);
    for wrapper in ["[X]", "{X: 1}", "lambda: X", "f'{X}'", "(yield X)", "x if X else y", "f(k=X)", "a[X]"] {
        let (_, messages) = parse_on_small_stack(wrapper.replace('X', &chain));
        assert_eq!(messages, Vec::<String>::new(), "{wrapper}");
    }
}

#[test]
fn unterminated_everything_still_has_a_tree() {
    for text in [
        "(",
        "'",
        "'''",
        "f'{",
        "f'{a!",
        "def",
        "def f(",
        "class A(b",
        "@",
        "x = ",
        "if a:\n",
        "match a:\n case",
        "\\",
        "\t\n  x\n y",
    ] {
        let parsed = parse_module(Source::from_text(text));
        assert_eq!(parsed.root().kind(), Kind::Module);
        assert!(!parsed.is_valid(), "{text:?}");
    }
}

#[test]
fn recipes_origins_and_the_index_survive_broken_source() {
    let texts = [
        "def f(",
        "def f(a",
        "def f(a=",
        "class A(b",
        "@\ndef f(): pass",
        "@a",
        "f'{",
        "f'{a",
        "'a' f'",
        "x +=",
        "for x in",
        "lambda a",
        "x = = f(a",
        "class A:\n def f(self): self.x =\n  self.",
        "f(*, **, a=)",
        "a, *b = ",
        "match a:\n case b",
        "import",
        "from . import",
        "from a import (b as",
        "del",
        "def f(a, /, *, **k): (yield",
    ];
    for text in texts {
        let parsed = parse_module(Source::from_text(text));
        let semantic = Semantic::new(&parsed);
        for node in parsed.nodes() {
            let edits = [
                recipe::add_decorator(node, "d"),
                recipe::remove_decorator(node),
                recipe::annotate_return(node, "T"),
                recipe::annotate_parameter(node, "T"),
                recipe::keyword_only(node),
                recipe::string_prefix(node, "t"),
                recipe::remove_statement(node),
                recipe::rename(&semantic, node, "new").unwrap_or_default(),
            ];
            for edits in edits {
                assert!(edit::apply(text, edits).is_ok(), "{text:?} {node:?}");
            }
            assert_eq!(origins(&semantic, node)[0], node);
        }
        index(&semantic);
    }
}

#[test]
fn origins_and_the_index_take_long_chains() {
    for link in [" + a", ".b", "()", "[0]", " and a", ".strip()", " 'x'"] {
        let first = if link == " 'x'" { "'x'" } else { "a" };
        let parsed = parse_module(Source::from_text(format!("a = {first}{}\n", link.repeat(50_000))));
        let semantic = Semantic::new(&parsed);
        assert!(index(&semantic).calls.len() <= MAX_ENTRIES);
        let statement = parsed.root().children().next().expect("a statement");
        assert!(origins(&semantic, statement).len() <= MAX_ORIGINS, "{link}");
    }
}
