//! A node under check, and the questions that finders ask about it.

use grail_code::semantic::{BindingKind, Origin};
use grail_code::{Field, Kind, Node, Semantic};

/// No program nests deeper in earnest; beyond it, questions about ancestors would make the check quadratic.
const MAX_ANCESTORS: usize = 200;

#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub node: Node<'a>,
    pub semantic: &'a Semantic<'a>,
    /// Names that the host provides: tools, inputs, earlier snippets.
    pub defines: &'a dyn Fn(&str) -> bool,
}

/// A finding: where to point, and what to call it.
pub(super) struct Found<'a> {
    pub node: Node<'a>,
    pub subject: String,
    /// A better hint than the row's own.
    pub hint: Option<String>,
}

impl<'a> Found<'a> {
    pub(super) fn at(node: Node<'a>) -> Option<Self> {
        Self::named(node, "")
    }

    pub(super) fn named(node: Node<'a>, subject: impl Into<String>) -> Option<Self> {
        Some(Self { node, subject: subject.into(), hint: None })
    }
}

impl<'a> Site<'a> {
    /// The dotted name of a builtin or an imported thing; `None` for anything else and where there is doubt.
    pub(super) fn global_name(self, node: Node<'a>) -> Option<String> {
        if !matches!(node.kind(), Kind::Name | Kind::Attribute) {
            return None;
        }
        let mut names = self.semantic.qualified_names(node);
        let name = names.pop()?;
        let is_provided = || (self.defines)(first_name(node));
        (names.is_empty() && name.origin != Origin::Local && !is_provided()).then_some(name.name)
    }

    /// What a call calls, by its dotted name.
    pub(super) fn callee(self) -> Option<String> {
        self.global_name(self.node.child(Field::Func)?)
    }

    pub(super) fn is_call_of(self, node: Node<'a>, names: &[&str]) -> bool {
        node.kind() == Kind::Call
            && node
                .child(Field::Func)
                .and_then(|func| self.global_name(func))
                .is_some_and(|name| names.contains(&&*name))
    }

    /// The positional arguments of a call, before the first `*`.
    pub(super) fn positional(self) -> impl Iterator<Item = Node<'a>> {
        let is_plain = |node: &Node<'a>| !matches!(node.kind(), Kind::Starred | Kind::Keyword);
        self.node.list(Field::Args).take_while(is_plain)
    }

    pub(super) fn keyword(self, name: &str) -> Option<Node<'a>> {
        let is_named =
            |node: &Node<'a>| node.child(Field::Keyword).is_some_and(|keyword| keyword.text() == name);
        self.node.list(Field::Args).filter(|node| node.kind() == Kind::Keyword).find(is_named)
    }

    /// Whether all that a name is bound to is of this kind.
    pub(super) fn is_bound_as(self, name: Node<'a>, kind: BindingKind) -> bool {
        let Some(symbol) = self.semantic.symbol_of(name).filter(|_| name.kind() == Kind::Name) else {
            return false;
        };
        let bindings = &self.semantic.symbol(symbol).bindings;
        !bindings.is_empty() && bindings.iter().all(|id| self.semantic.binding(*id).kind == kind)
    }

    /// Whether the node stands in an annotation, which the engine does not evaluate.
    pub(super) fn is_in_annotation(self) -> bool {
        let within = std::iter::once(self.node).chain(self.node.ancestors()).take(MAX_ANCESTORS);
        within
            .take_while(|node| !node.kind().is_statement())
            .any(|node| matches!(node.field(), Field::Annotation | Field::Returns | Field::Bound))
    }

    /// Whether an `except` around the node names this exception, or `ImportError` for its child.
    pub(super) fn is_caught(self, exception: &str) -> bool {
        let mut child = self.node;
        for ancestor in self.node.ancestors().take(MAX_ANCESTORS) {
            let is_in_body = child.field() == Field::Body;
            let is_caught = match ancestor.kind() {
                Kind::Try => ancestor.list(Field::Handlers).any(|handler| catches(handler, exception)),
                Kind::If => is_type_checking(ancestor),
                _ => false,
            };
            if is_in_body && is_caught {
                return true;
            }
            child = ancestor;
        }
        false
    }

    /// The class whose body directly holds the node.
    pub(super) fn class(self) -> Option<Node<'a>> {
        self.node
            .parent()
            .filter(|parent| parent.kind() == Kind::ClassDef && self.node.field() == Field::Body)
    }
}

/// The text of an operator node's field.
pub(super) fn operator(node: Node<'_>) -> &str {
    node.child(Field::Op).map_or("", Node::text)
}

fn first_name(node: Node<'_>) -> &str {
    let mut current = node;
    while let Some(value) = current.child(Field::Value).filter(|_| current.kind() == Kind::Attribute) {
        current = value;
    }
    current.text()
}

fn catches(handler: Node<'_>, exception: &str) -> bool {
    let Some(caught) = handler.child(Field::Exc) else { return exception == "ImportError" };
    caught.subtree().filter(|node| node.kind() == Kind::Name).any(|name| match name.text() {
        text if text == exception => true,
        "ModuleNotFoundError" | "Exception" => exception == "ImportError",
        _ => false,
    })
}

fn is_type_checking(statement: Node<'_>) -> bool {
    let test = statement.child(Field::Test).map_or("", Node::text);
    test == "TYPE_CHECKING" || test.ends_with(".TYPE_CHECKING")
}
