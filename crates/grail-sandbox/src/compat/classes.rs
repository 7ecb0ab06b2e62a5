//! What the engine's classes cannot do.

use grail_code::{Field, Kind, Node};

use super::site::{Found, Site};
use super::{Construct, Failure};

/// Special methods that the engine calls.
pub(super) const CALLED: &[&str] = &[
    "__init__",
    "__repr__",
    "__str__",
    "__eq__",
    "__hash__",
    "__iter__",
    "__next__",
    "__contains__",
    "__enter__",
    "__exit__",
    "__index__",
];

/// Special methods that the engine ignores, so that the operation they are for fails.
pub(super) const IGNORED: &[&str] = &[
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__add__",
    "__radd__",
    "__iadd__",
    "__sub__",
    "__rsub__",
    "__isub__",
    "__mul__",
    "__rmul__",
    "__imul__",
    "__truediv__",
    "__rtruediv__",
    "__floordiv__",
    "__mod__",
    "__pow__",
    "__and__",
    "__or__",
    "__xor__",
    "__lshift__",
    "__rshift__",
    "__neg__",
    "__pos__",
    "__abs__",
    "__invert__",
    "__len__",
    "__getitem__",
    "__setitem__",
    "__delitem__",
    "__call__",
    "__getattr__",
    "__getattribute__",
    "__int__",
    "__float__",
    "__bytes__",
    "__round__",
    "__reversed__",
    "__format__",
    "__class_getitem__",
    "__aenter__",
    "__aexit__",
    "__aiter__",
    "__anext__",
    "__await__",
    "__matmul__",
    "__divmod__",
];

pub(super) const ROWS: &[Construct] = &[
    Construct {
        name: "custom-exception",
        title: "Exceptions of your own",
        message: "`{}` inherits from an exception; exceptions of one's own are not supported",
        rewrite: "raise a built-in exception whose message says what happened",
        example: "class TooOld(Exception):
    pass
try:
    raise TooOld('41')
except TooOld as error:
    print(error)",
        rewritten: "try:
    raise ValueError('too old: 41')
except ValueError as error:
    print(error)",
        failure: Failure::Always,
        kinds: &[Kind::ClassDef],
        find: |site| class_name(site.node).filter(|_| has_bases(site.node) && inherits_exception(site)),
    },
    Construct {
        name: "class-inheritance",
        title: "Inheritance and metaclasses",
        message: "the class `{}` has bases; inheritance is not supported",
        rewrite: "write one class with all its methods, or keep an instance of the other class as an attribute; for an enumeration \
                  use constants, for a typed dictionary a `@dataclass`",
        example: "class Animal:
    def name(self):
        return 'animal'
class Dog(Animal):
    pass
Dog().name()",
        rewritten: "class Animal:
    def name(self):
        return 'animal'
class Dog:
    def __init__(self):
        self.animal = Animal()
    def name(self):
        return self.animal.name()
Dog().name()",
        failure: Failure::Always,
        kinds: &[Kind::ClassDef],
        find: |site| class_name(site.node).filter(|_| has_bases(site.node) && !inherits_exception(site)),
    },
    Construct {
        name: "method-decorator",
        title: "Decorated methods: `@property`, `@classmethod`, `@staticmethod`",
        message: "the method `{}` has a decorator; decorators within a class are not supported",
        rewrite: "make a property a plain method, and a class or static method a function outside the class",
        example: "class Square:
    def __init__(self, side):
        self.side = side
    @property
    def area(self):
        return self.side ** 2
Square(3).area",
        rewritten: "class Square:
    def __init__(self, side):
        self.side = side
    def area(self):
        return self.side ** 2
Square(3).area()",
        failure: Failure::Always,
        kinds: &[Kind::FunctionDef],
        find: |site| {
            site.class()?;
            let decorator = site.node.child(Field::Decorators)?;
            Found::named(decorator, site.node.child(Field::Name)?.text())
        },
    },
    Construct {
        name: "class-body",
        title: "Statements in a class body",
        message: "a class body may hold only methods and `name = value`",
        rewrite: "move it out of the class, or into `__init__`",
        example: "class Settings:
    debug = True
    if debug:
        level = 10
Settings.level",
        rewritten: "class Settings:
    debug = True
    level = 10 if True else 0
Settings.level",
        failure: Failure::Always,
        kinds: &[
            Kind::If,
            Kind::For,
            Kind::While,
            Kind::With,
            Kind::Try,
            Kind::ClassDef,
            Kind::AugAssign,
            Kind::Import,
            Kind::ImportFrom,
            Kind::Expr,
            Kind::Assert,
            Kind::Raise,
            Kind::Global,
            Kind::Nonlocal,
        ],
        find: |site| {
            site.class()?;
            let is_text = |value: Node<'_>| {
                matches!(value.kind(), Kind::String | Kind::Ellipsis | Kind::ConcatenatedString)
            };
            let is_note =
                site.node.kind() == Kind::Expr && site.node.child(Field::Value).is_some_and(is_text);
            Found::at(site.node).filter(|_| !is_note)
        },
    },
    Construct {
        name: "class-variable-target",
        title: "Class variables assigned together",
        message: "a class variable must be assigned as `name = value`, one at a time",
        rewrite: "write one assignment for each name",
        example: "class Point:
    x, y = 0, 0
Point.x",
        rewritten: "class Point:
    x = 0
    y = 0
Point.x",
        failure: Failure::Always,
        kinds: &[Kind::Assign, Kind::AnnAssign],
        find: |site| {
            site.class()?;
            let mut targets =
                site.node.children().filter(|node| matches!(node.field(), Field::Targets | Field::Target));
            let first = targets.next()?;
            let is_plain = first.kind() == Kind::Name && targets.next().is_none();
            let is_bare = site.node.child(Field::Value).is_none();
            Found::at(site.node).filter(|_| !is_plain && !is_bare)
        },
    },
    Construct {
        name: "special-method",
        title: "Special methods the engine does not call",
        message: "the engine never calls `{}`",
        rewrite: "give the method a plain name and call it; the engine calls only `__init__`, `__repr__`, `__str__`, `__eq__`, \
                  `__hash__`, `__iter__`, `__next__`, `__contains__`, `__enter__`, `__exit__` and `__index__`",
        example: "class Money:
    def __init__(self, cents):
        self.cents = cents
    def __add__(self, other):
        return Money(self.cents + other.cents)
(Money(1) + Money(2)).cents",
        rewritten: "class Money:
    def __init__(self, cents):
        self.cents = cents
    def plus(self, other):
        return Money(self.cents + other.cents)
Money(1).plus(Money(2)).cents",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::FunctionDef],
        find: |site| {
            site.class()?;
            let name = site.node.child(Field::Name)?;
            Found::named(name, name.text()).filter(|_| IGNORED.contains(&name.text()))
        },
    },
    Construct {
        name: "dataclass-option",
        title: "Options of `@dataclass`",
        message: "`@dataclass` does not support `{}`",
        rewrite: "leave the option out; sort by a `key` instead of `order`, and compute derived fields in a function that makes the object",
        example: "from dataclasses import dataclass
@dataclass(order=True)
class Version:
    major: int
sorted([Version(2), Version(1)])[0].major",
        rewritten: "from dataclasses import dataclass
@dataclass
class Version:
    major: int
sorted([Version(2), Version(1)], key=lambda version: version.major)[0].major",
        failure: Failure::Raises("NotImplementedError"),
        kinds: &[Kind::Decorator],
        find: |site| {
            let call = site.node.child(Field::Expression)?;
            let inner = Site { node: call, ..site };
            if !inner.is_call_of(call, &["dataclasses.dataclass"]) {
                return None;
            }
            let unsupported = ["order", "slots", "kw_only"].into_iter().find_map(|name| {
                let keyword = inner.keyword(name)?;
                keyword.child(Field::Value).filter(|value| value.text() == "True").map(|_| (keyword, name))
            });
            let (keyword, name) = unsupported?;
            Found::named(keyword, name)
        },
    },
    Construct {
        name: "post-init",
        title: "`__post_init__`",
        message: "`@dataclass` does not call `__post_init__`",
        rewrite: "compute derived fields in a function that makes the object",
        example: "from dataclasses import dataclass
@dataclass
class Box:
    side: int
    def __post_init__(self):
        self.area = self.side ** 2
Box(2).area",
        rewritten: "from dataclasses import dataclass
@dataclass
class Box:
    side: int
    area: int
def make_box(side):
    return Box(side, side ** 2)
make_box(2).area",
        failure: Failure::Raises("NotImplementedError"),
        kinds: &[Kind::FunctionDef],
        find: |site| {
            let class = site.class()?;
            let name = site.node.child(Field::Name).filter(|name| name.text() == "__post_init__")?;
            let is_dataclass =
                |node: Node<'_>| site.semantic.has_qualified_name(node, "dataclasses.dataclass");
            Found::at(name).filter(|_| class.list(Field::Decorators).any(is_dataclass))
        },
    },
];

fn class_name(class: Node<'_>) -> Option<Found<'_>> {
    let name = class.child(Field::Name)?;
    Found::named(name, name.text())
}

fn has_bases(class: Node<'_>) -> bool {
    class.child(Field::Bases).is_some()
}

fn inherits_exception(site: Site<'_>) -> bool {
    site.node.list(Field::Bases).any(|base| {
        let is_exception =
            |name: &str| name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Warning");
        site.global_name(base).is_some_and(|name| name.starts_with("builtins.") && is_exception(&name))
    })
}
