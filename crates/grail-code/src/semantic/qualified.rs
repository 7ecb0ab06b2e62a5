//! Dotted names of expressions and definitions.

use super::{
    Binding, BindingKind, Origin, QualifiedName, ScopeId, ScopeKind, Semantic, SymbolId, is_builtin,
};
use crate::{Field, Kind, Node};

pub(super) fn qualified_names(semantic: &Semantic<'_>, node: Node<'_>) -> Vec<QualifiedName> {
    let Some((root, attributes)) = split(node) else { return Vec::new() };
    let mut names = root_names(semantic, root);
    if !attributes.is_empty() {
        for name in &mut names {
            for attribute in &attributes {
                name.name.push('.');
                name.name.push_str(attribute);
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

/// No dotted name has more parts. Without a bound, asking every link of a long chain for its name would be quadratic.
const MAX_PARTS: usize = 64;

/// An expression's first name and the attributes read from it.
fn split<'a>(node: Node<'a>) -> Option<(Node<'a>, Vec<&'a str>)> {
    let mut attributes = Vec::new();
    let mut current = node;
    loop {
        current = match current.kind() {
            Kind::Attribute if attributes.len() == MAX_PARTS => return None,
            Kind::Attribute => {
                attributes.push(current.child(Field::Attr)?.text());
                current.child(Field::Value)?
            }
            // A call or subscript goes by the name of what is called, but is not itself a part of a dotted name.
            Kind::Call if attributes.is_empty() => current.child(Field::Func)?,
            Kind::Subscript if attributes.is_empty() => current.child(Field::Value)?,
            Kind::Decorator => current.child(Field::Expression)?,
            Kind::FunctionDef | Kind::ClassDef if attributes.is_empty() => current.child(Field::Name)?,
            Kind::Alias => current.child(Field::Asname).or_else(|| current.child(Field::Name))?,
            Kind::Name | Kind::Identifier => break,
            _ => return None,
        };
    }
    attributes.reverse();
    Some((current, attributes))
}

fn root_names(semantic: &Semantic<'_>, root: Node<'_>) -> Vec<QualifiedName> {
    // A definition means itself, whatever else its name is bound to.
    if let Some(binding) = semantic.binding_at(root.id())
        && matches!(
            binding.kind,
            BindingKind::Function | BindingKind::Class | BindingKind::Import | BindingKind::ImportFrom
        )
    {
        return vec![binding_name(semantic, binding)];
    }
    match semantic.symbol_of(root) {
        Some(symbol) => symbol_names(semantic, symbol),
        None if root.kind() == Kind::Name && is_builtin(root.text()) => {
            vec![QualifiedName { name: format!("builtins.{}", root.text()), origin: Origin::Builtin }]
        }
        None => Vec::new(),
    }
}

pub(super) fn symbol_names(semantic: &Semantic<'_>, symbol: SymbolId) -> Vec<QualifiedName> {
    let bindings = semantic.symbol(symbol).bindings.iter().map(|id| semantic.binding(*id));
    let mut names: Vec<QualifiedName> = bindings
        .filter(|binding| binding.kind != BindingKind::Deletion)
        .map(|binding| binding_name(semantic, binding))
        .collect();
    names.sort();
    names.dedup();
    names
}

fn binding_name(semantic: &Semantic<'_>, binding: &Binding) -> QualifiedName {
    let name = semantic.symbol(binding.symbol).name.as_ref();
    match (&binding.imported, binding.kind) {
        // `import a.b` binds `a` alone; `import a.b as c` binds all of it.
        (Some(imported), BindingKind::Import) => {
            let is_aliased = semantic.parsed().node(binding.node).field() == Field::Asname;
            let name = if is_aliased { imported.as_str() } else { name };
            QualifiedName { name: name.to_owned(), origin: Origin::Import }
        }
        (Some(imported), _) => QualifiedName { name: imported.clone(), origin: Origin::Import },
        (None, _) => {
            let prefix = scope_prefix(semantic, semantic.symbol(binding.symbol).scope);
            QualifiedName { name: prefix + name, origin: Origin::Local }
        }
    }
}

/// The dotted path of a scope with its last dot: `Class.`, `function.<locals>.`.
fn scope_prefix(semantic: &Semantic<'_>, scope: ScopeId) -> String {
    let mut parts = Vec::new();
    let mut next = Some(scope);
    while let Some(id) = next {
        let scope = semantic.scope(id);
        let name = || semantic.parsed().node(scope.node).child(Field::Name).map_or("", Node::text);
        match scope.kind {
            ScopeKind::Class => parts.push(name().to_owned()),
            ScopeKind::Function => parts.push(format!("{}.<locals>", name())),
            ScopeKind::Lambda => parts.push("<lambda>.<locals>".to_owned()),
            ScopeKind::Comprehension => parts.push("<comprehension>".to_owned()),
            ScopeKind::TypeParameters | ScopeKind::Module => {}
        }
        next = scope.parent;
    }
    parts.iter().rev().fold(String::new(), |prefix, part| prefix + part + ".")
}
