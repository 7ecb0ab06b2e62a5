//! Named predicates: facts about a node that no combination of fields says briefly.

use crate::tree::Attribute;
use crate::{Field, Kind, Node, Semantic};

/// A predicate that patterns name.
#[derive(Clone, Copy)]
pub struct Predicate {
    pub name: &'static str,
    pub documentation: &'static str,
    test: Fact,
}

/// What a predicate looks at.
#[derive(Clone, Copy)]
enum Fact {
    Shape(fn(Node<'_>) -> bool),
    /// One of these decorators, by qualified name, on a definition of this kind.
    Decorated(Kind, &'static [&'static str]),
    Abstract,
}

/// Every predicate, by name.
pub const PREDICATES: &[Predicate] = &[
    predicate("in_async", "within an `async def`, not in a function inside it", in_async),
    predicate("in_class", "directly or indirectly within a class body", in_class),
    predicate("in_function", "within the body of a function or lambda", in_function),
    predicate("in_loop", "within the body of a `for` or `while` of the same function", in_loop),
    predicate("in_try", "within the body of a `try` of the same function", in_try),
    named(
        "is_abstract",
        "a function decorated with `abc.abstractmethod`, or a class with one in its body",
        Fact::Abstract,
    ),
    predicate(
        "is_async",
        "`async def`, `async for`, `async with` or an asynchronous comprehension",
        is_async,
    ),
    predicate("is_constant", "a literal without parts that vary", is_constant),
    named(
        "is_dataclass",
        "a class decorated with `dataclasses.dataclass`",
        Fact::Decorated(Kind::ClassDef, &["dataclasses.dataclass"]),
    ),
    predicate("is_docstring", "the string that documents a module, class or function", is_docstring),
    predicate("is_dunder", "named `__like_this__`", is_dunder),
    named(
        "is_fixture",
        "a function decorated with `pytest.fixture`",
        Fact::Decorated(Kind::FunctionDef, &["pytest.fixture", "pytest_asyncio.fixture"]),
    ),
    predicate("is_generator", "a function with `yield` in its own body", is_generator),
    predicate("is_method", "a function defined directly in a class body", is_method),
    predicate("is_nested", "a function or class within a function", is_nested),
    named(
        "is_overload",
        "a function decorated with `typing.overload`",
        Fact::Decorated(Kind::FunctionDef, &["typing.overload", "typing_extensions.overload"]),
    ),
    predicate("is_private", "named with a leading underscore, dunders excepted", is_private),
    named(
        "is_property",
        "a function decorated with `property` or `functools.cached_property`",
        Fact::Decorated(Kind::FunctionDef, &["builtins.property", "functools.cached_property"]),
    ),
    predicate("is_public", "named without a leading underscore", is_public),
    predicate("is_test", "a function named `test…` or a class named `Test…`", is_test),
    predicate("top_level", "not within a function or class", is_top_level),
];

impl Predicate {
    pub fn find(name: &str) -> Option<Self> {
        PREDICATES.iter().copied().find(|predicate| predicate.name == name)
    }

    /// Whether the fact holds. Without a `semantic`, what is known by a qualified name holds for nothing.
    pub fn holds<'a>(self, node: Node<'a>, semantic: Option<&Semantic<'a>>) -> bool {
        match self.test {
            Fact::Shape(test) => test(node),
            Fact::Decorated(kind, names) => node.kind() == kind && is_decorated(node, semantic, names),
            Fact::Abstract => match node.kind() {
                Kind::FunctionDef => is_decorated(node, semantic, ABSTRACT),
                Kind::ClassDef => {
                    node.list(Field::Body).any(|member| is_decorated(member, semantic, ABSTRACT))
                }
                _ => false,
            },
        }
    }

    /// Whether qualified names are asked for.
    pub fn needs_names(self) -> bool {
        !matches!(self.test, Fact::Shape(_))
    }
}

impl std::fmt::Debug for Predicate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

const fn predicate(name: &'static str, documentation: &'static str, test: fn(Node<'_>) -> bool) -> Predicate {
    named(name, documentation, Fact::Shape(test))
}

const fn named(name: &'static str, documentation: &'static str, test: Fact) -> Predicate {
    Predicate { name, documentation, test }
}

const ABSTRACT: &[&str] =
    &["abc.abstractclassmethod", "abc.abstractmethod", "abc.abstractproperty", "abc.abstractstaticmethod"];

/// Whether one of the decorators, called or not, goes by one of these names.
fn is_decorated<'a>(definition: Node<'a>, semantic: Option<&Semantic<'a>>, names: &[&str]) -> bool {
    let Some(semantic) = semantic else { return false };
    let expressions =
        definition.list(Field::Decorators).filter_map(|decorator| decorator.child(Field::Expression));
    expressions
        .into_iter()
        .any(|expression| names.iter().any(|name| semantic.has_qualified_name(expression, name)))
}

/// Ancestors up to the function or class the node belongs to, each with the child that leads to the node.
fn path_in_scope(node: Node<'_>) -> impl Iterator<Item = (Node<'_>, Node<'_>)> {
    std::iter::successors(node.parent().map(|parent| (parent, node)), |(parent, _)| {
        parent.parent().map(|next| (next, *parent))
    })
    .take_while(|(parent, child)| !(opens_scope(parent.kind()) && child.field() == Field::Body))
}

fn opens_scope(kind: Kind) -> bool {
    matches!(kind, Kind::FunctionDef | Kind::ClassDef | Kind::Lambda)
}

/// The nearest function, lambda or class in whose body the node stands.
fn enclosing<'a>(node: Node<'a>, kinds: &[Kind]) -> Option<Node<'a>> {
    let mut child = node;
    for parent in node.ancestors() {
        if kinds.contains(&parent.kind()) && child.field() == Field::Body {
            return Some(parent);
        }
        child = parent;
    }
    None
}

fn in_async(node: Node<'_>) -> bool {
    enclosing(node, &[Kind::FunctionDef, Kind::Lambda, Kind::ClassDef]).is_some_and(Node::is_async)
}

fn in_class(node: Node<'_>) -> bool {
    enclosing(node, &[Kind::ClassDef]).is_some()
}

fn in_function(node: Node<'_>) -> bool {
    enclosing(node, &[Kind::FunctionDef, Kind::Lambda]).is_some()
}

fn in_loop(node: Node<'_>) -> bool {
    path_in_scope(node).any(|(parent, child)| {
        matches!(parent.kind(), Kind::For | Kind::While) && child.field() == Field::Body
    })
}

fn in_try(node: Node<'_>) -> bool {
    path_in_scope(node).any(|(parent, child)| parent.kind() == Kind::Try && child.field() == Field::Body)
}

fn is_async(node: Node<'_>) -> bool {
    node.attribute("is_async") == Some(Attribute::Flag(true))
}

fn is_constant(node: Node<'_>) -> bool {
    let is_literal = |kind| {
        matches!(
            kind,
            Kind::String
                | Kind::Bytes
                | Kind::Integer
                | Kind::Float
                | Kind::Imaginary
                | Kind::Boolean
                | Kind::NoneLiteral
                | Kind::Ellipsis
        )
    };
    match node.kind() {
        Kind::ConcatenatedString => node.children().all(|part| is_literal(part.kind())),
        kind => is_literal(kind),
    }
}

fn is_docstring(node: Node<'_>) -> bool {
    let statement = match node.kind() {
        Kind::Expr => Some(node),
        Kind::String | Kind::ConcatenatedString => node.parent().filter(|parent| parent.kind() == Kind::Expr),
        _ => None,
    };
    let Some(statement) = statement else { return false };
    let is_text = statement.child(Field::Value).is_some_and(|value| match value.kind() {
        Kind::String => true,
        Kind::ConcatenatedString => value.children().all(|part| part.kind() == Kind::String),
        _ => false,
    });
    is_text
        && statement.parent().is_some_and(|owner| {
            matches!(owner.kind(), Kind::Module | Kind::FunctionDef | Kind::ClassDef)
                && owner.list(Field::Body).next() == Some(statement)
        })
}

/// The name a node goes by: its own text, its `name` field, or the last part of an attribute.
fn name_of(node: Node<'_>) -> Option<&str> {
    match node.kind() {
        Kind::Name | Kind::Identifier => Some(node.text()),
        Kind::Attribute => node.child(Field::Attr).map(Node::text),
        Kind::FunctionDef | Kind::ClassDef | Kind::Parameter | Kind::TypeAlias => {
            node.child(Field::Name).map(Node::text)
        }
        Kind::Alias => node.child(Field::Asname).or_else(|| node.child(Field::Name)).map(Node::text),
        Kind::Keyword => node.child(Field::Keyword).map(Node::text),
        _ => None,
    }
}

fn is_dunder_name(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

fn is_dunder(node: Node<'_>) -> bool {
    name_of(node).is_some_and(is_dunder_name)
}

fn is_private(node: Node<'_>) -> bool {
    name_of(node).is_some_and(|name| name.starts_with('_') && !is_dunder_name(name))
}

fn is_public(node: Node<'_>) -> bool {
    name_of(node).is_some_and(|name| !name.starts_with('_'))
}

fn is_test(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::FunctionDef => name_of(node).is_some_and(|name| name.starts_with("test")),
        Kind::ClassDef => name_of(node).is_some_and(|name| name.starts_with("Test")),
        _ => false,
    }
}

fn is_generator(node: Node<'_>) -> bool {
    node.kind() == Kind::FunctionDef
        && node.descendants().any(|inner| {
            matches!(inner.kind(), Kind::Yield | Kind::YieldFrom)
                && enclosing(inner, &[Kind::FunctionDef, Kind::Lambda]) == Some(node)
        })
}

fn is_method(node: Node<'_>) -> bool {
    node.kind() == Kind::FunctionDef
        && path_in_scope(node)
            .last()
            .map_or(node, |(parent, _)| parent)
            .parent()
            .is_some_and(|scope| scope.kind() == Kind::ClassDef)
}

fn is_nested(node: Node<'_>) -> bool {
    matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef) && in_function(node)
}

fn is_top_level(node: Node<'_>) -> bool {
    enclosing(node, &[Kind::FunctionDef, Kind::Lambda, Kind::ClassDef]).is_none()
}
