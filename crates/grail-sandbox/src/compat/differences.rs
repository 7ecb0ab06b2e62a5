//! Constructs that run without complaint and give another result than on CPython.
//!
//! A note that is always there is never read: finders look for uses where the difference can matter.

use grail_code::tree::string_literal;
use grail_code::{Field, Kind, Node};

use super::Difference;
use super::calls::EAGER;
use super::site::{Found, Site, operator};

/// Calls that read all of an iterable at once, so that it makes no difference whether it is lazy.
const CONSUMERS: &[&str] = &[
    "builtins.bytes",
    "builtins.dict",
    "builtins.frozenset",
    "builtins.list",
    "builtins.max",
    "builtins.min",
    "builtins.set",
    "builtins.sorted",
    "builtins.sum",
    "builtins.tuple",
    "builtins.print",
    "builtins.enumerate",
    "builtins.len",
    "collections.Counter",
    "collections.deque",
    "asyncio.gather",
    "builtins.next",
];

/// Methods that read all of an iterable.
const CONSUMING_METHODS: &[&str] = &[
    "join",
    "extend",
    "update",
    "union",
    "intersection",
    "difference",
    "issubset",
    "issuperset",
    "symmetric_difference",
    "fromkeys",
];

pub(super) const ROWS: &[Difference] = &[
    Difference {
        name: "eager-generator",
        title: "Generator expressions are lists",
        message: "a generator expression is evaluated at once and is a list: side effects happen here, and it can be read twice",
        example: "seen = []
def note(x):
    seen.append(x)
    return x
lazy = (note(x) for x in [1, 2])
seen",
        engine: "[1, 2]",
        cpython: "[]",
        kinds: &[Kind::GeneratorExp],
        find: |site| Found::at(site.node).filter(|_| !is_consumed(site) && !is_stopped_early(site)),
    },
    Difference {
        name: "no-early-stop",
        title: "`any` and `all` do not stop early",
        message: "`{}` over a generator expression evaluates every item first: calls within it are all made",
        example: "calls = []
def is_big(x):
    calls.append(x)
    return x > 1
any(is_big(x) for x in [1, 2, 3])
calls",
        engine: "[1, 2, 3]",
        cpython: "[1, 2]",
        kinds: &[Kind::GeneratorExp],
        find: |site| {
            let call = site.node.parent().filter(|_| is_stopped_early(site))?;
            let is_call = |node: Node<'_>| matches!(node.kind(), Kind::Call | Kind::Await);
            let has_call = evaluated_per_item(site.node).any(|part| part.subtree().any(is_call));
            Found::named(site.node, call.child(Field::Func)?.text()).filter(|_| has_call)
        },
    },
    Difference {
        name: "eager-builtin",
        title: "`map`, `filter`, `zip`, `enumerate` and `reversed` give lists",
        message: "`{}` gives a list, made at once: it can be read twice, and `next` does not take it",
        example: "pairs = zip([1, 2], 'ab')
list(pairs)
list(pairs)",
        engine: "[(1, 'a'), (2, 'b')]",
        cpython: "[]",
        kinds: &[Kind::Call],
        find: |site| {
            let name = site.node.child(Field::Func)?.text();
            Found::named(site.node, name).filter(|_| site.is_call_of(site.node, EAGER) && !is_consumed(site))
        },
    },
    Difference {
        name: "endless-iterator",
        title: "Endless iterators must be cut first",
        message: "this reads `{}` to its end, and it has none: the run goes on until its time limit",
        // The engine's answer would be its time limit; the same mistake with an end shows the difference.
        example: "import itertools
numbers = iter([1, 2, 3])
first = enumerate(numbers)
list(numbers)",
        engine: "[]",
        cpython: "[1, 2, 3]",
        kinds: &[Kind::Call],
        find: |site| {
            let is_endless = site.is_call_of(site.node, &["itertools.count", "itertools.cycle"])
                || (site.is_call_of(site.node, &["itertools.repeat"])
                    && site.node.list(Field::Args).count() == 1);
            let parent = site.node.parent()?;
            let is_read = match parent.kind() {
                Kind::Comprehension => site.node.field() == Field::Iter,
                Kind::Call => site.is_call_of(parent, &["builtins.enumerate", "builtins.filter"]),
                _ => false,
            };
            Found::named(site.node, site.node.child(Field::Func)?.text()).filter(|_| is_endless && is_read)
        },
    },
    Difference {
        name: "round-half",
        title: "`round` to digits",
        message: "`round` to digits rounds the decimal digits one sees, so halves may differ from CPython",
        example: "round(2.675, 2)",
        engine: "2.68",
        cpython: "2.67",
        kinds: &[Kind::Call],
        find: |site| {
            let digits = site.positional().nth(1).or_else(|| site.keyword("ndigits"))?;
            let is_whole = digits.text() == "0" || digits.text().starts_with('-');
            Found::at(site.node).filter(|_| site.is_call_of(site.node, &["builtins.round"]) && !is_whole)
        },
    },
    Difference {
        name: "float-sum",
        title: "`sum` of floats",
        message: "`sum` adds floats plainly; CPython corrects the rounding errors, so the last digits may differ",
        example: "sum([0.1, 0.2, 0.3])",
        engine: "0.6000000000000001",
        cpython: "0.6",
        kinds: &[Kind::Call],
        find: |site| {
            let is_float = |node: Node<'_>| match node.kind() {
                Kind::Float => true,
                Kind::BinOp => operator(node) == "/",
                _ => site.is_call_of(node, &["builtins.float"]),
            };
            let items = site.positional().next().filter(|_| site.is_call_of(site.node, &["builtins.sum"]))?;
            Found::at(site.node).filter(|_| items.subtree().any(is_float))
        },
    },
    Difference {
        name: "re-split-groups",
        title: "`re.split` drops groups",
        message: "`re.split` leaves out what its groups match",
        example: "import re
re.split('([,;])', 'a,b;c')",
        engine: "['a', 'b', 'c']",
        cpython: "['a', ',', 'b', ';', 'c']",
        kinds: &[Kind::Call],
        find: |site| find_pattern(site, &["re.split"], has_group),
    },
    Difference {
        name: "re-end-of-text",
        title: "`\\Z` and `$` before a last line break",
        message: "`\\Z` also matches before a last line break here, and `$` does not: the reverse of CPython",
        example: "import re
(re.findall(r'a\\Z', 'a\\n'), re.findall('a$', 'a\\n'))",
        engine: "(['a'], [])",
        cpython: "([], ['a'])",
        kinds: &[Kind::Call],
        find: |site| find_pattern(site, PATTERN_FUNCTIONS, |pattern| pattern.contains("\\Z")),
    },
    Difference {
        name: "re-empty-match",
        title: "Empty matches beside others",
        message: "a pattern that can match nothing finds no empty match right behind another match",
        example: "import re
re.sub('x*', '-', 'abxd')",
        engine: "'-a-b-d-'",
        cpython: "'-a-b--d-'",
        kinds: &[Kind::Call],
        find: |site| {
            find_pattern(site, &["re.sub", "re.findall", "re.finditer", "re.split"], can_match_nothing)
        },
    },
    Difference {
        name: "re-replacement-escape",
        title: "Escapes in a replacement",
        message: "`\\n`, `\\t` and the like in a raw replacement stay as they are",
        example: "import re
re.sub('a', r'\\n', 'a')",
        engine: "'\\\\n'",
        cpython: "'\\n'",
        kinds: &[Kind::Call],
        find: |site| {
            let replacement = site.positional().nth(1).filter(|_| site.is_call_of(site.node, &["re.sub"]))?;
            let value = string_literal(replacement)?.value().into_owned();
            let has_escape = ["\\n", "\\t", "\\r"].iter().any(|escape| value.contains(escape));
            Found::at(replacement).filter(|_| has_escape)
        },
    },
    Difference {
        name: "set-order",
        title: "Sets keep the order of insertion",
        message: "a set keeps the order of insertion here and has none in CPython: sort it if the order matters",
        example: "list({10, 9, 1})",
        engine: "[10, 9, 1]",
        cpython: "[9, 10, 1]",
        kinds: &[Kind::Call],
        find: |site| {
            let is_set = |node: &Node<'_>| match node.kind() {
                Kind::Set | Kind::SetComp => true,
                _ => site.is_call_of(*node, &["builtins.set", "builtins.frozenset"]),
            };
            site.positional().next().filter(is_set)?;
            Found::at(site.node)
                .filter(|_| site.is_call_of(site.node, &["builtins.list", "builtins.tuple", "builtins.iter"]))
        },
    },
    Difference {
        name: "silent-special-method",
        title: "Special methods that are ignored in silence",
        message: "`{}` is ignored",
        example: "class Basket:
    def __bool__(self):
        return False
bool(Basket())",
        engine: "True",
        cpython: "False",
        kinds: &[Kind::FunctionDef],
        find: |site| {
            site.class()?;
            let name = site.node.child(Field::Name)?;
            let is_ignored = matches!(
                name.text(),
                "__bool__" | "__ne__" | "__new__" | "__setattr__" | "__del__" | "__delattr__"
            );
            Found::named(name, name.text()).filter(|_| is_ignored)
        },
    },
    Difference {
        name: "slots",
        title: "`__slots__`",
        message: "`__slots__` is ignored: any attribute can be set",
        example: "class Point:
    __slots__ = ('x',)
point = Point()
point.y = 1
point.y",
        engine: "1",
        cpython: "AttributeError",
        kinds: &[Kind::Assign],
        find: |site| {
            site.class()?;
            Found::at(site.node).filter(|_| {
                site.node.child(Field::Targets).is_some_and(|target| target.text() == "__slots__")
            })
        },
    },
];

const PATTERN_FUNCTIONS: &[&str] = &[
    "re.compile",
    "re.findall",
    "re.finditer",
    "re.fullmatch",
    "re.match",
    "re.search",
    "re.split",
    "re.sub",
];

/// Whether the value is read completely where it stands.
fn is_consumed(site: Site<'_>) -> bool {
    let node = site.node;
    let Some(parent) = node.parent() else { return false };
    match parent.kind() {
        Kind::For | Kind::Comprehension => node.field() == Field::Iter,
        Kind::Starred | Kind::YieldFrom => true,
        Kind::Assign => parent
            .child(Field::Targets)
            .is_some_and(|target| matches!(target.kind(), Kind::Tuple | Kind::List)),
        Kind::ComparisonTarget => operator(parent).ends_with("in"),
        Kind::Call => {
            let Some(func) = parent.child(Field::Func) else { return false };
            let method = func.child(Field::Attr).map(Node::text);
            site.is_call_of(parent, CONSUMERS)
                || site.is_call_of(parent, EAGER)
                || method.is_some_and(|method| CONSUMING_METHODS.contains(&method))
                || site.is_call_of(parent, &["builtins.any", "builtins.all", "builtins.iter"])
        }
        _ => false,
    }
}

fn is_stopped_early(site: Site<'_>) -> bool {
    site.node.parent().is_some_and(|parent| site.is_call_of(parent, &["builtins.any", "builtins.all"]))
}

/// What a generator expression evaluates for each item: its element and conditions.
fn evaluated_per_item(generator: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let conditions = generator.list(Field::Generators).flat_map(|clause| clause.list(Field::Ifs));
    generator.child(Field::Elt).into_iter().chain(conditions)
}

/// A literal pattern of a call of `functions` that fits `test`.
fn find_pattern<'a>(site: Site<'a>, functions: &[&str], test: fn(&str) -> bool) -> Option<Found<'a>> {
    if !site.is_call_of(site.node, functions) {
        return None;
    }
    let pattern = site.positional().next()?;
    let value = string_literal(pattern).filter(|_| pattern.kind() == Kind::String)?.value().into_owned();
    Found::at(pattern).filter(|_| test(&value))
}

/// Whether a pattern has a group that captures.
fn has_group(pattern: &str) -> bool {
    let mut rest = pattern;
    let mut is_class = false;
    while let Some(at) = rest.find(['\\', '(', '[', ']']) {
        let found = &rest[at..];
        match found.as_bytes()[0] {
            b'\\' => {
                let escaped = found[1..].chars().next().map_or(0, char::len_utf8);
                rest = &found[1 + escaped..];
                continue;
            }
            b'[' => is_class = true,
            b']' => is_class = false,
            _ if is_class => {}
            _ if !found.starts_with("(?") || found.starts_with("(?P<") => return true,
            _ => {}
        }
        rest = &found[1..];
    }
    false
}

/// Whether a pattern is one character or class, repeated any number of times.
fn can_match_nothing(pattern: &str) -> bool {
    let Some(atom) = pattern.strip_suffix('*').or_else(|| pattern.strip_suffix('?')) else { return false };
    let is_class = atom.starts_with('[') && atom.find(']') == Some(atom.len() - 1);
    let is_escape = atom.starts_with('\\') && atom.chars().count() == 2;
    atom.chars().count() == 1 || is_class || is_escape
}
