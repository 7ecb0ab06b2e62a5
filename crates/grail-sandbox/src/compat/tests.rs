//! Every row is proved on the engine: what the tables refuse fails there, what they advise runs, what they warn of differs.

use std::fmt::Write;

use grail_code::{Source, parse_module};

use super::engine::{Answer, run};
use super::{Failure, binds, builtins, check, classes, constructs, differences, methods, modules};

/// `construct` of each rejection of a piece of code.
fn rejected(code: &str) -> Vec<String> {
    let parsed = parse_module(Source::from_text(code));
    assert!(parsed.is_valid(), "{code}\n{:?}", parsed.diagnostics());
    check(&parsed, &|_| false).0.into_iter().map(|rejection| rejection.construct).collect()
}

/// `construct` of each note.
fn noted(code: &str) -> Vec<String> {
    let parsed = parse_module(Source::from_text(code));
    check(&parsed, &|_| false).1.into_iter().map(|note| note.construct).collect()
}

#[test]
fn what_the_tables_refuse_fails_on_the_engine() {
    let mut wrong = String::new();
    for row in constructs() {
        let answer = run(row.example);
        let fails_as_told = match (&answer, row.failure) {
            (Answer::Value(_), _) => false,
            (Answer::Raised(_), Failure::Always) => true,
            (Answer::Raised(error), Failure::Raises("ImportError")) => {
                ["ImportError", "ModuleNotFoundError", "AttributeError"]
                    .iter()
                    .any(|name| error.starts_with(name))
            }
            (Answer::Raised(error), Failure::Raises(name)) => error.starts_with(name),
        };
        if !fails_as_told {
            let _ = writeln!(wrong, "{}: the example ends in {answer:?}", row.name);
        }
        if !rejected(row.example).iter().any(|name| name == row.name) {
            let _ = writeln!(wrong, "{}: the example is not refused: {:?}", row.name, rejected(row.example));
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn what_the_tables_advise_runs_on_the_engine() {
    let mut wrong = String::new();
    for row in constructs() {
        let answer = run(row.rewritten);
        if !matches!(answer, Answer::Value(_)) || !rejected(row.rewritten).is_empty() {
            let _ = writeln!(wrong, "{}: {answer:?}, refused: {:?}", row.name, rejected(row.rewritten));
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn what_the_tables_warn_of_differs_from_cpython() {
    let mut wrong = String::new();
    for row in differences::ROWS {
        let answer = run(row.example);
        if answer != Answer::Value(row.engine.to_owned()) || row.engine == row.cpython {
            let _ = writeln!(wrong, "{}: {answer:?}, not {}", row.name, row.engine);
        }
        let is_noted = noted(row.example).iter().any(|name| name == row.name);
        if !is_noted && row.name != "endless-iterator" {
            let _ = writeln!(wrong, "{}: no note: {:?}", row.name, noted(row.example));
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn modules_have_what_the_table_says_and_nothing_it_calls_missing() {
    let mut wrong = String::new();
    for module in modules::MODULES {
        for (names, is_there) in [(module.names, true), (module.missing, false)] {
            for name in names.split_whitespace() {
                let answer = run(&format!("from {} import {name}", module.name));
                let is_absent = matches!(&answer, Answer::Raised(error) if error.starts_with("ImportError"));
                if is_absent == is_there {
                    let _ = writeln!(wrong, "{}.{name}: {answer:?}", module.name);
                }
            }
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn classes_have_what_the_table_says() {
    let mut wrong = String::new();
    let imports = "import collections, datetime, itertools, pathlib\n";
    let reach =
        |name: &str, form: &str| run(&format!("{imports}{}{form}", name.trim_start_matches("builtins.")));
    let lacks =
        |answer: &Answer| matches!(answer, Answer::Raised(error) if error.contains("has no attribute"));
    for (class, names) in modules::CLASS_ATTRIBUTES {
        for name in *names {
            let name = format!("{class}.{name}");
            if lacks(&reach(&name, "()")) && lacks(&reach(&name, "")) {
                let _ = writeln!(wrong, "{name} is missing");
            }
        }
    }
    for name in modules::MISSING_CLASS_ATTRIBUTES {
        if !lacks(&reach(name, "()")) || !lacks(&reach(name, "")) {
            let _ = writeln!(wrong, "{name} is there");
        }
    }
    for name in ["str.lower", "dict.get", "list.append", "int.bit_length"] {
        if !lacks(&reach(name, "")) {
            let _ = writeln!(wrong, "{name} can be taken from its class");
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn methods_called_missing_are_missing() {
    for (_, value, names) in methods::MISSING {
        for name in *names {
            let answer = run(&format!("import datetime, pathlib, re\nvalue = {value}\nvalue.{name}()"));
            let lacks = matches!(&answer, Answer::Raised(error) if error.ends_with(&format!("has no attribute '{name}'")));
            assert!(lacks, "{value}.{name}: {answer:?}");
        }
    }
}

#[test]
fn builtins_called_missing_are_missing() {
    for (name, _) in builtins::MISSING {
        let answer = run(&format!("value = {name}"));
        assert_eq!(answer, Answer::Raised(format!("NameError: name '{name}' is not defined")));
    }
}

#[test]
fn special_methods_are_called_as_the_table_says() {
    // What calls each special method of an object `thing`, and gives `'called'` if it was.
    for (method, use_of_it) in [
        ("__lt__", "thing < 1"),
        ("__le__", "thing <= 1"),
        ("__gt__", "thing > 1"),
        ("__ge__", "thing >= 1"),
        ("__add__", "thing + 1"),
        ("__radd__", "1 + thing"),
        ("__sub__", "thing - 1"),
        ("__mul__", "thing * 1"),
        ("__truediv__", "thing / 1"),
        ("__floordiv__", "thing // 1"),
        ("__mod__", "thing % 1"),
        ("__pow__", "thing ** 1"),
        ("__and__", "thing & 1"),
        ("__or__", "thing | 1"),
        ("__xor__", "thing ^ 1"),
        ("__neg__", "-thing"),
        ("__pos__", "+thing"),
        ("__abs__", "abs(thing)"),
        ("__invert__", "~thing"),
        ("__len__", "len(thing)"),
        ("__getitem__", "thing[0]"),
        ("__call__", "thing()"),
        ("__getattr__", "thing.other"),
        ("__getattribute__", "thing.other"),
        ("__int__", "int(thing)"),
        ("__float__", "float(thing)"),
        ("__bytes__", "bytes(thing)"),
        ("__round__", "round(thing)"),
        ("__reversed__", "reversed(thing)"),
        ("__format__", "f'{thing:x}'"),
        ("__divmod__", "divmod(thing, 1)"),
        ("__repr__", "repr(thing)"),
        ("__str__", "str(thing)"),
        ("__eq__", "thing == 1"),
        ("__contains__", "1 in thing"),
        ("__enter__", "enter(thing)"),
    ] {
        let code = format!(
            "calls = []\nclass Thing:\n    def {method}(self, *rest):\n        calls.append(1)\n        return 'called'\n    \
             def __exit__(self, *rest):\n        pass\ndef enter(thing):\n    with thing:\n        pass\nthing = Thing()\n{use_of_it}\nlen(calls)"
        );
        let is_called = run(&code) == Answer::Value("1".to_owned());
        assert_eq!(is_called, classes::CALLED.contains(&method), "{method}");
        assert_eq!(!is_called, classes::IGNORED.contains(&method), "{method}");
    }
}

#[test]
fn what_the_code_catches_or_defines_itself_is_let_through() {
    for code in [
        "try:\n    import heapq\nexcept ImportError:\n    heapq = None",
        "try:\n    import yaml\nexcept ModuleNotFoundError:\n    yaml = None",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from collections.abc import Iterable",
        "try:\n    '%d' % 1\nexcept TypeError:\n    pass",
        "def format(x, spec):\n    return x\nformat(1, '')",
        "class Store:\n    def get(self, key):\n        return key\nstore = Store()\nsorted([1], key=store.get)",
        "def f(x: int | None, y: list[int]) -> dict[str, int]:\n    z: list[int] = []\n    return {}",
        "from __future__ import annotations",
        "class Point():\n    'A place.'\n    x: int\n    y: int = 0\n    ...",
        "str(1).lower()",
        "class Word:\n    def translate(self):\n        return 1\nWord().translate()",
        "class Word:\n    touch = lambda self: 1\nWord().touch()",
        "{1} | {2}",
        "from collections import Counter\nCounter('ab') | {'a': 2}",
        "5 % 3",
        "pattern % 3",
        "ValueError('x')",
        "raise ValueError(message)",
        "next(iter([1]))",
        "sum(x for x in [1])",
        "int(1 < 2) + 1",
        "items[1:2]",
        "self.a = self.b = 1",
        "for x, y in pairs:\n    pass",
        "import os\nos.environ['HOME']",
        "@decorate\ndef f():\n    pass\nf.calls",
    ] {
        assert_eq!(rejected(code), [""; 0], "{code}");
    }
}

#[test]
fn a_name_that_the_host_provides_is_not_a_missing_builtin() {
    let parsed = parse_module(Source::from_text("input('name')"));
    assert_eq!(check(&parsed, &|_| false).0.len(), 1);
    assert_eq!(check(&parsed, &|name| name == "input").0.len(), 0);
}

#[test]
fn source_binds_names_in_many_ways() {
    for source in [
        "def input(x):\n    pass",
        "import input",
        "from m import a, input",
        "import m as input",
        "input = 3",
        "input: int",
        "for input in x:\n    pass",
    ] {
        assert!(binds(source, "input"), "{source}");
    }
    for source in ["input()", "x.input = 3", "inputs = 3", "an_input = 3", "input == 3", "", "print(input)"] {
        assert!(!binds(source, "input"), "{source}");
    }
}

#[test]
fn reading_what_has_no_end_is_noted() {
    for code in [
        "import itertools\nfor i, x in enumerate(itertools.count()):\n    break",
        "from itertools import count\nany(x > 3 for x in count())",
    ] {
        assert_eq!(noted(code), ["endless-iterator"], "{code}");
    }
    assert_eq!(noted("import itertools\nfor x in itertools.count():\n    break"), [""; 0]);
    assert_eq!(noted("import itertools\nfor pair in zip('ab', itertools.count()):\n    pass"), [""; 0]);
}

#[test]
fn plain_uses_of_what_differs_are_not_noted() {
    for code in [
        "for i, x in enumerate(xs):\n    pass",
        "for a, b in zip(xs, ys):\n    pass",
        "sum(x for x in xs)",
        "any(x > 1 for x in xs)",
        "', '.join(str(x) for x in xs)",
        "', '.join(map(str, xs))",
        "list(map(str, xs))",
        "dict(zip(xs, ys))",
        "a, b = map(int, line.split())",
        "[x for x in reversed(xs)]",
        "sorted(filter(None, xs))",
        "round(x)",
        "round(x, 0)",
        "sum([1, 2])",
        "import re\nre.split(r'[(),]|\\(', text)\nre.split('(?:a|b)', text)",
        "sorted(set(xs))",
        "for x in set(xs):\n    pass",
        "list(xs)",
    ] {
        assert_eq!(noted(code), [""; 0], "{code}");
    }
}
