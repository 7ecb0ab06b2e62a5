//! Operators and literals the engine does not know.

use grail_code::semantic::BindingKind;
use grail_code::{Field, Kind, Node};

use super::site::{Found, Site, operator};
use super::{Construct, Failure};

/// Types whose names mean a type when they stand beside `|` or before `[`.
const TYPES: &[&str] = &[
    "builtins.int",
    "builtins.str",
    "builtins.float",
    "builtins.bool",
    "builtins.bytes",
    "builtins.list",
    "builtins.dict",
    "builtins.set",
    "builtins.frozenset",
    "builtins.tuple",
    "builtins.type",
    "builtins.object",
];

pub(super) const ROWS: &[Construct] = &[
    Construct {
        name: "percent-format",
        title: "`%` formatting",
        message: "formatting with `%` is not supported",
        rewrite: "use an f-string",
        example: "name = 'ada'
'%s is %d' % (name, 36)",
        rewritten: "name = 'ada'
f'{name} is {36}'",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::BinOp],
        find: |site| {
            let left = site.node.child(Field::Left)?;
            let is_text =
                matches!(left.kind(), Kind::String | Kind::ConcatenatedString | Kind::FString | Kind::Bytes);
            Found::at(site.node).filter(|_| is_text && operator(site.node) == "%")
        },
    },
    Construct {
        name: "dict-union",
        title: "`dict | dict`",
        message: "dictionaries cannot be merged with `|`",
        rewrite: "use `{**first, **second}` or `first.update(second)`",
        example: "defaults = {'debug': False}
defaults | {'debug': True}",
        rewritten: "defaults = {'debug': False}
{**defaults, 'debug': True}",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::BinOp, Kind::AugAssign],
        find: |site| {
            let is_union = operator(site.node).starts_with('|');
            let is_dict = |node: Node<'_>| match node.kind() {
                Kind::Dict | Kind::DictComp => true,
                _ => site.is_call_of(node, &["builtins.dict"]),
            };
            // A `Counter` takes a dictionary.
            let has_counter = || site.node.parsed().nodes().any(|node| node.text() == "Counter");
            Found::at(site.node).filter(|_| is_union && site.node.children().any(is_dict) && !has_counter())
        },
    },
    Construct {
        name: "union-type",
        title: "`int | str` as a value",
        message: "types cannot be joined with `|` outside annotations",
        rewrite: "use a tuple of types: `isinstance(value, (int, str))`",
        example: "isinstance(1, int | str)",
        rewritten: "isinstance(1, (int, str))",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::BinOp],
        find: |site| {
            let is_type = |node: Node<'_>| site.global_name(node).is_some_and(|name| TYPES.contains(&&*name));
            let is_union = operator(site.node) == "|" && site.node.children().any(is_type);
            Found::at(site.node).filter(|_| is_union && !site.is_in_annotation())
        },
    },
    Construct {
        name: "type-subscript",
        title: "`list[int]` as a value",
        message: "`{}` cannot be subscripted outside annotations",
        rewrite: "write the type in the annotation where it is used",
        example: "Names = list[str]
def first(names: Names) -> str:
    return names[0]
first(['ada'])",
        rewritten: "def first(names: list[str]) -> str:
    return names[0]
first(['ada'])",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Subscript],
        find: |site| {
            let value = site.node.child(Field::Value)?;
            let name = site.global_name(value)?;
            let is_type = TYPES.contains(&&*name) || name.starts_with("typing.");
            Found::named(site.node, value.text()).filter(|_| is_type && !site.is_in_annotation())
        },
    },
    Construct {
        name: "complex-number",
        title: "Complex numbers",
        message: "complex numbers are not supported",
        rewrite: "keep the real and the imaginary part as two numbers",
        example: "(1 + 2j) * 2",
        rewritten: "real, imaginary = 1, 2
(real * 2, imaginary * 2)",
        failure: Failure::Always,
        kinds: &[Kind::Imaginary],
        find: |site| Found::at(site.node),
    },
    Construct {
        name: "template-string",
        title: "t-strings",
        message: "template strings are not supported",
        rewrite: "use an f-string",
        example: "name = 'ada'
t'hello {name}'",
        rewritten: "name = 'ada'
f'hello {name}'",
        failure: Failure::Always,
        kinds: &[Kind::TString],
        find: |site| Found::at(site.node),
    },
    Construct {
        name: "bool-arithmetic",
        title: "Adding booleans",
        message: "booleans cannot be added or subtracted",
        rewrite: "convert with `int(…)`; to count, use `sum(1 for item in items if …)`",
        example: "ages = [36, 41, 12]
sum(age > 18 for age in ages)",
        rewritten: "ages = [36, 41, 12]
sum(1 for age in ages if age > 18)",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Call, Kind::BinOp],
        find: find_bool_arithmetic,
    },
    Construct {
        name: "set-comparison",
        title: "Comparing sets with `<` and `<=`",
        message: "sets cannot be compared with `{}`",
        rewrite: "use `.issubset(…)` or `.issuperset(…)`",
        example: "{1, 2} <= {1, 2, 3}",
        rewritten: "{1, 2}.issubset({1, 2, 3})",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Compare],
        find: |site| {
            let is_set = |node: Node<'_>| match node.kind() {
                Kind::Set | Kind::SetComp => true,
                _ => site.is_call_of(node, &["builtins.set", "builtins.frozenset"]),
            };
            let left = site.node.child(Field::Left)?;
            let first = site.node.child(Field::Comparisons)?;
            let right = first.child(Field::Comparator)?;
            let is_order = matches!(operator(first), "<" | "<=" | ">" | ">=");
            Found::named(site.node, operator(first)).filter(|_| is_order && (is_set(left) || is_set(right)))
        },
    },
    Construct {
        name: "function-attribute",
        title: "Attributes of functions",
        message: "functions have no attributes: `{}`",
        rewrite: "keep what belongs to a function in a variable or a dictionary",
        example: "def greet():
    return 'hello'
greet.__name__",
        rewritten: "def greet():
    return 'hello'
names = {'greet': greet}
list(names)[0]",
        failure: Failure::Raises("AttributeError"),
        kinds: &[Kind::Attribute],
        find: |site| {
            let value = site.node.child(Field::Value)?;
            let is_function = site.is_bound_as(value, BindingKind::Function) && !is_decorated(site, value);
            Found::named(site.node, site.node.text()).filter(|_| is_function)
        },
    },
    Construct {
        name: "internal-attribute",
        title: "Attributes of the object model",
        message: "the attribute `{}` does not exist",
        rewrite: "keep the data you need in attributes of your own",
        example: "class Point:
    def __init__(self):
        self.x = 1
Point().__dict__",
        rewritten: "class Point:
    def __init__(self):
        self.x = 1
point = Point()
{'x': point.x}",
        failure: Failure::Raises("AttributeError"),
        kinds: &[Kind::Attribute],
        find: |site| {
            let attribute = site.node.child(Field::Attr)?;
            let is_internal = matches!(
                attribute.text(),
                "__dict__"
                    | "__cause__"
                    | "__context__"
                    | "__traceback__"
                    | "__bases__"
                    | "__mro__"
                    | "__subclasses__"
                    | "__code__"
                    | "__globals__"
                    | "__closure__"
                    | "__defaults__"
            );
            Found::named(attribute, attribute.text()).filter(|_| is_internal)
        },
    },
];

/// Whether the function behind a name is wrapped, so that it may be anything.
fn is_decorated(site: Site<'_>, name: Node<'_>) -> bool {
    let Some(symbol) = site.semantic.symbol_of(name) else { return true };
    let bindings = &site.semantic.symbol(symbol).bindings;
    bindings.iter().any(|id| {
        let binding = name.parsed().node(site.semantic.binding(*id).node);
        binding.parent().is_some_and(|definition| definition.child(Field::Decorators).is_some())
    })
}

fn find_bool_arithmetic(site: Site<'_>) -> Option<Found<'_>> {
    let node = site.node;
    if node.kind() == Kind::BinOp {
        let is_sum = matches!(operator(node), "+" | "-");
        // A literal may be meant for a big integer, which takes it.
        let is_operand = |node: Node<'_>| node.kind() != Kind::Boolean && is_boolean(node);
        return Found::at(node).filter(|_| is_sum && node.children().any(is_operand));
    }
    if !site.is_call_of(node, &["builtins.sum"]) {
        return None;
    }
    let items = site
        .positional()
        .next()
        .filter(|items| matches!(items.kind(), Kind::GeneratorExp | Kind::ListComp))?;
    Found::at(node).filter(|_| items.child(Field::Elt).is_some_and(is_boolean))
}

fn is_boolean(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::Compare | Kind::Boolean => true,
        Kind::UnaryOp => operator(node) == "not",
        _ => false,
    }
}
