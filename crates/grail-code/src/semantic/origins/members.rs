//! Members of this file's classes: what is assigned to `self.x`, stands in the class body, or is passed to a class without `__init__`.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::calls::{first_parameter, is_decorated, passed_at};
use super::names::{assigned, put_into};
use super::{Flow, MAX_ORIGINS, Walk};
use crate::semantic::{BindingKind, Semantic};
use crate::{Context, Field, Kind, Node, NodeId};

/// How many classes one member is looked for in.
const MAX_BASES: usize = 32;

/// How far out the method of a `self` may be.
const MAX_NESTING: usize = 256;

/// Every `self.x`, `Class.x` and `instance.x` of the file, by class and name.
pub(super) type MemberIndex<'a> = FxHashMap<(NodeId, &'a str), Vec<Node<'a>>>;

impl<'a> Flow<'_, 'a> {
    pub(super) fn attribute(&mut self, attribute: Node<'a>, walk: &mut Walk<'a>) {
        let Some((class, name)) = member(self.semantic, attribute) else { return };
        walk.extend(self.member_values(class, name).iter().copied());
    }

    /// The mentions of a member, wherever its object's class is known.
    pub(super) fn mentions(&mut self, class: Node<'a>, name: &str) -> Vec<Node<'a>> {
        let semantic = self.semantic;
        let index = self.index.get_or_insert_with(|| Rc::new(index(semantic)));
        index.get(&(class.id(), name)).cloned().unwrap_or_default()
    }

    fn member_values(&mut self, class: Node<'a>, name: &'a str) -> Rc<[Node<'a>]> {
        let key = (class.id(), name);
        if let Some(known) = self.members.get(&key) {
            return Rc::clone(known);
        }
        let mut values = Vec::new();
        for class in with_bases(self.semantic, class) {
            values.extend(self.own_values(class, name));
        }
        values.truncate(MAX_ORIGINS);
        let values: Rc<[Node<'a>]> = values.into();
        self.members.insert(key, Rc::clone(&values));
        values
    }

    fn own_values(&mut self, class: Node<'a>, name: &str) -> Vec<Node<'a>> {
        let semantic = self.semantic;
        let mut values = Vec::new();
        for definition in in_body(semantic, class, name) {
            match definition.parent() {
                Some(method) if method.kind() == Kind::FunctionDef => {
                    if is_decorated(method, &["property", "cached_property"]) {
                        values.extend(self.returned(method).iter().copied());
                    }
                }
                _ => values.extend(assigned(definition)),
            }
        }
        for mention in self.mentions(class, name) {
            match mention.context() {
                Some(Context::Store) => values.extend(assigned(mention)),
                _ => values.extend(put_into(mention)),
            }
        }
        if in_body(semantic, class, "__init__").is_empty() {
            values.extend(passed_to_fields(semantic, class, name));
        }
        values
    }
}

/// The class whose member an attribute names: `self.x` in a method, `Class.x`, or `x` of an instance made in this file.
pub(crate) fn member<'a>(semantic: &Semantic<'a>, attribute: Node<'a>) -> Option<(Node<'a>, &'a str)> {
    let name = attribute.child(Field::Attr)?.text();
    let receiver = attribute.child(Field::Value)?;
    let class = match receiver.kind() {
        Kind::Call => class_named(semantic, receiver.child(Field::Func)?),
        Kind::Name => class_named(semantic, receiver)
            .or_else(|| class_of_self(semantic, receiver))
            .or_else(|| class_of_instance(semantic, receiver)),
        _ => None,
    };
    Some((class?, name))
}

/// The class of this file that a name means.
pub(super) fn class_named<'a>(semantic: &Semantic<'a>, name: Node<'a>) -> Option<Node<'a>> {
    let symbol = semantic.symbol_of(name).filter(|_| name.kind() == Kind::Name)?;
    let mut bindings =
        semantic.symbol(symbol).bindings.iter().take(MAX_BASES).map(|id| semantic.binding(*id));
    let class = bindings.rfind(|binding| binding.kind == BindingKind::Class)?;
    semantic.parsed().node(class.node).parent()
}

/// The class of a method's first parameter.
fn class_of_self<'a>(semantic: &Semantic<'a>, name: Node<'a>) -> Option<Node<'a>> {
    let symbol = semantic.symbol_of(name)?;
    let binding = semantic.symbol(symbol).bindings.first().map(|id| semantic.binding(*id))?;
    if binding.kind != BindingKind::Parameter {
        return None;
    }
    let parameter = semantic.parsed().node(binding.node).parent()?;
    let method = parameter.parent().and_then(Node::parent)?;
    let class = method
        .ancestors()
        .take(MAX_NESTING)
        .find(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef | Kind::Lambda));
    let class = class.filter(|class| class.kind() == Kind::ClassDef && method.kind() == Kind::FunctionDef)?;
    (first_parameter(method) == Some(parameter) && !is_decorated(method, &["staticmethod"])).then_some(class)
}

/// The class of `x` after `x = Class(…)`.
fn class_of_instance<'a>(semantic: &Semantic<'a>, name: Node<'a>) -> Option<Node<'a>> {
    let symbol = semantic.symbol_of(name)?;
    let bindings = semantic.symbol(symbol).bindings.iter().take(MAX_BASES).map(|id| semantic.binding(*id));
    bindings.filter(|binding| binding.kind == BindingKind::Assignment).find_map(|binding| {
        let values = assigned(semantic.parsed().node(binding.node));
        let call = values.into_iter().find(|value| value.kind() == Kind::Call)?;
        class_named(semantic, call.child(Field::Func)?)
    })
}

/// A class and those of its bases that this file defines, the nearest first.
pub(super) fn with_bases<'a>(semantic: &Semantic<'a>, class: Node<'a>) -> Vec<Node<'a>> {
    let mut classes = vec![class];
    let mut next = 0;
    while let Some(class) = classes.get(next).copied() {
        next += 1;
        for base in class.list(Field::Bases).take(MAX_BASES) {
            match class_named(semantic, base) {
                Some(base) if classes.len() < MAX_BASES && !classes.contains(&base) => classes.push(base),
                _ => {}
            }
        }
    }
    classes
}

/// The names that bind a member in the class body.
pub(super) fn in_body<'a>(semantic: &Semantic<'a>, class: Node<'a>, name: &str) -> Vec<Node<'a>> {
    let scope = semantic.scope_opened_by(class.id());
    let symbol = scope.and_then(|scope| semantic.scope(scope).symbols.get(name));
    let bindings = symbol.map_or(&[][..], |symbol| &semantic.symbol(*symbol).bindings);
    let nodes =
        bindings.iter().take(MAX_ORIGINS).map(|id| semantic.parsed().node(semantic.binding(*id).node));
    nodes.collect()
}

/// What calls of a class pass for a field that its body declares, as a dataclass takes it.
fn passed_to_fields<'a>(semantic: &Semantic<'a>, class: Node<'a>, name: &str) -> Vec<Node<'a>> {
    let fields = class.list(Field::Body).filter(|statement| statement.kind() == Kind::AnnAssign);
    let names = fields.filter_map(|field| field.child(Field::Target).map(Node::text));
    let Some(position) = names.take(MAX_ORIGINS).position(|field| field == name) else { return Vec::new() };
    let calls = calls_of_class(semantic, class).into_iter();
    calls.flat_map(|call| passed_at(call, Some(position), Some(name))).take(MAX_ORIGINS).collect()
}

/// The calls in this file that make an instance.
pub(super) fn calls_of_class<'a>(semantic: &Semantic<'a>, class: Node<'a>) -> Vec<Node<'a>> {
    let symbol = class.child(Field::Name).and_then(|name| semantic.symbol_of(name));
    let references = symbol.map_or(&[][..], |symbol| &semantic.symbol(symbol).references);
    let nodes = references.iter().filter_map(|id| semantic.reference(*id).node);
    let calls = nodes.filter_map(|node| super::calls::called_as(semantic.parsed().node(node)));
    calls.take(MAX_ORIGINS).collect()
}

fn index<'a>(semantic: &Semantic<'a>) -> MemberIndex<'a> {
    let mut index = MemberIndex::default();
    for attribute in semantic.parsed().nodes_of(Kind::Attribute) {
        if let Some((class, name)) = member(semantic, attribute) {
            index.entry((class.id(), name)).or_default().push(attribute);
        }
    }
    index
}
