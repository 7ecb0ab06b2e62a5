//! Calls that the engine refuses because of what they are given.

use grail_code::semantic::BindingKind;
use grail_code::{Field, Kind, Node};

use super::site::{Found, Site};
use super::{Construct, Failure};

/// Builtins that give a list on the engine and an iterator on CPython.
pub(super) const EAGER: &[&str] =
    &["builtins.map", "builtins.filter", "builtins.zip", "builtins.enumerate", "builtins.reversed"];

/// Methods of built-in values, by names that are seldom anything else.
const METHODS: &[&str] = &[
    "append",
    "casefold",
    "capitalize",
    "endswith",
    "get",
    "isalnum",
    "isalpha",
    "isdigit",
    "islower",
    "isspace",
    "isupper",
    "join",
    "lower",
    "lstrip",
    "pop",
    "rstrip",
    "setdefault",
    "split",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "__getitem__",
];

/// Keyword arguments that functions of the standard library have and the engine does not.
const KEYWORDS: &[(&str, &[&str])] = &[
    ("json.dumps", &["cls", "default", "check_circular"]),
    (
        "json.loads",
        &["cls", "object_hook", "object_pairs_hook", "parse_constant", "parse_float", "parse_int"],
    ),
    ("builtins.open", &["newline"]),
];

pub(super) const ROWS: &[Construct] = &[
    Construct {
        name: "exception-arguments",
        title: "Exceptions with anything but one string",
        message: "`{}` takes one string or nothing",
        rewrite: "pass one string: `ValueError(f'…{value}')`, `ValueError(str(error))`",
        example: "try:
    raise ValueError('bad', 1)
except ValueError as error:
    print(error)",
        rewritten: "try:
    raise ValueError(f'bad {1}')
except ValueError as error:
    print(error)",
        failure: Failure::Always,
        kinds: &[Kind::Call],
        find: |site| {
            let name = site.callee()?;
            let name = name.strip_prefix("builtins.")?;
            let is_exception = name.ends_with("Error")
                || name.ends_with("Exception")
                || matches!(name, "StopIteration" | "SystemExit");
            let mut arguments = site.positional();
            let is_wrong =
                arguments.next().is_some_and(|first| is_no_string(site, first)) || arguments.next().is_some();
            Found::named(site.node, name).filter(|_| is_exception && is_wrong)
        },
    },
    Construct {
        name: "next-of-list",
        title: "`next()` of a generator expression",
        message: "`next` does not work here: {} is a list on this engine",
        rewrite: "make an iterator of it: `next(iter([… for … in …]), None)`",
        example: "ages = [12, 36, 41]
next((age for age in ages if age > 18), None)",
        rewritten: "ages = [12, 36, 41]
next(iter([age for age in ages if age > 18]), None)",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Call],
        find: |site| {
            if !site.is_call_of(site.node, &["builtins.next"]) {
                return None;
            }
            let items = site.positional().next()?;
            match items.kind() {
                Kind::GeneratorExp => Found::named(site.node, "a generator expression"),
                _ if site.is_call_of(items, EAGER) => {
                    Found::named(site.node, format!("`{}(…)`", items.child(Field::Func)?.text()))
                }
                _ => None,
            }
        },
    },
    Construct {
        name: "print-file",
        title: "`print(…, file=…)`",
        message: "`print` does not support `file`",
        rewrite: "leave `file` out: standard output and error are recorded together",
        example: "import sys
print('warning', file=sys.stderr)",
        rewritten: "print('warning')",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Call],
        find: |site| {
            let keyword = site.keyword("file")?;
            let is_none = keyword.child(Field::Value).is_some_and(|value| value.kind() == Kind::NoneLiteral);
            Found::at(keyword).filter(|_| site.is_call_of(site.node, &["builtins.print"]) && !is_none)
        },
    },
    Construct {
        name: "method-as-value",
        title: "Methods of built-in values as values",
        message: "`{}` cannot be used without calling it",
        rewrite: "write a lambda: `key=lambda name: ages.get(name)`, `map(lambda text: text.lower(), …)`",
        example: "ages = {'ada': 36, 'alan': 41}
max(ages, key=ages.get)",
        rewritten: "ages = {'ada': 36, 'alan': 41}
max(ages, key=lambda name: ages[name])",
        failure: Failure::Raises("AttributeError"),
        kinds: &[Kind::Attribute],
        find: |site| {
            let name = site.node.child(Field::Attr)?.text();
            let is_known = METHODS.contains(&name) && is_passed_to_be_called(site) && !is_defined(site, name);
            let value = site.node.child(Field::Value)?;
            // A class of the engine's own is told more exactly by another row.
            Found::named(site.node, site.node.text())
                .filter(|_| is_known && site.global_name(value).is_none())
        },
    },
    Construct {
        name: "re-sub-function",
        title: "`re.sub` with a function",
        message: "`re.sub` takes only a string as the replacement",
        rewrite: "loop over `re.finditer` and put the pieces together",
        example: "import re
re.sub(r'\\d', lambda match: str(int(match.group()) + 1), 'a1b2')",
        rewritten: "import re
text = 'a1b2'
pieces, end = [], 0
for match in re.finditer(r'\\d', text):
    pieces.append(text[end:match.start()] + str(int(match.group()) + 1))
    end = match.end()
''.join(pieces) + text[end:]",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Call],
        find: |site| {
            if !site.is_call_of(site.node, &["re.sub"]) {
                return None;
            }
            let value = site.keyword("repl").and_then(|keyword| keyword.child(Field::Value));
            let replacement = value.or_else(|| site.positional().nth(1))?;
            let is_function =
                replacement.kind() == Kind::Lambda || site.is_bound_as(replacement, BindingKind::Function);
            Found::at(replacement).filter(|_| is_function)
        },
    },
    Construct {
        name: "keyword-argument",
        title: "Keyword arguments of the standard library",
        message: "the engine does not know the argument `{}`",
        rewrite: "leave it out: convert values before `json.dumps`, and after `json.loads`",
        example: "import json
from datetime import date
json.dumps({'day': date(2024, 1, 2)}, default=str)",
        rewritten: "import json
from datetime import date
json.dumps({'day': str(date(2024, 1, 2))})",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Call],
        find: |site| {
            let callee = site.callee()?;
            let (_, names) = KEYWORDS.iter().find(|(function, _)| *function == callee)?;
            let (keyword, name) = names.iter().find_map(|name| Some((site.keyword(name)?, name)))?;
            let is_none = keyword.child(Field::Value).is_some_and(|value| value.kind() == Kind::NoneLiteral);
            Found::named(keyword, *name).filter(|_| !is_none)
        },
    },
    Construct {
        name: "bytes-of-integers",
        title: "`bytes` of a list",
        message: "`bytes` takes no list of integers",
        rewrite: "write a literal, or use `bytes.fromhex(''.join(f'{value:02x}' for value in values))`",
        example: "bytes([104, 105])",
        rewritten: "bytes.fromhex(''.join(f'{value:02x}' for value in [104, 105]))",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Call],
        find: |site| {
            let first = site.positional().next()?;
            let is_list =
                matches!(first.kind(), Kind::List | Kind::ListComp | Kind::Tuple | Kind::GeneratorExp)
                    || site.is_call_of(first, &["builtins.range", "builtins.list", "builtins.map"]);
            Found::at(site.node).filter(|_| is_list && site.is_call_of(site.node, &["builtins.bytes"]))
        },
    },
    Construct {
        name: "bare-object",
        title: "`object()`",
        message: "`object()` makes nothing",
        rewrite: "use `None`, a string or an instance of a class of your own as a marker",
        example: "missing = object()
{'a': 1}.get('b', missing) is missing",
        rewritten: "class Missing:
    pass
missing = Missing()
{'a': 1}.get('b', missing) is missing",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Call],
        find: |site| Found::at(site.node).filter(|_| site.is_call_of(site.node, &["builtins.object"])),
    },
    Construct {
        name: "type-variable",
        title: "`TypeVar(…)`",
        message: "`TypeVar` cannot be called",
        rewrite: "declare it in brackets: `def first[T](items: list[T]) -> T`",
        example: "from typing import TypeVar
T = TypeVar('T')
def first(items: list[T]) -> T:
    return items[0]
first([1])",
        rewritten: "def first[T](items: list[T]) -> T:
    return items[0]
first([1])",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Call],
        find: |site| Found::at(site.node).filter(|_| site.is_call_of(site.node, &["typing.TypeVar"])),
    },
];

/// Whether a value is certainly something other than a string.
fn is_no_string(site: Site<'_>, value: Node<'_>) -> bool {
    match value.kind() {
        Kind::Integer | Kind::Float | Kind::Boolean | Kind::NoneLiteral | Kind::Bytes => true,
        Kind::List
        | Kind::Dict
        | Kind::Set
        | Kind::Tuple
        | Kind::Compare
        | Kind::ListComp
        | Kind::DictComp => true,
        Kind::Name => site.is_bound_as(value, BindingKind::ExceptHandler),
        _ => false,
    }
}

/// Whether the value stands where a function is due: as a `key`, or first in `map`, `filter` and `reduce`.
fn is_passed_to_be_called(site: Site<'_>) -> bool {
    let Some(parent) = site.node.parent() else { return false };
    if parent.kind() == Kind::Keyword {
        return parent.child(Field::Keyword).is_some_and(|name| name.text() == "key");
    }
    let is_first = parent.list(Field::Args).next() == Some(site.node);
    is_first && site.is_call_of(parent, &["builtins.map", "builtins.filter", "functools.reduce"])
}

/// Whether the program defines a function of this name, which may be the method meant.
pub(super) fn is_defined(site: Site<'_>, name: &str) -> bool {
    let functions = site.node.parsed().nodes_of(Kind::FunctionDef);
    functions.into_iter().any(|function| function.child(Field::Name).is_some_and(|node| node.text() == name))
}
