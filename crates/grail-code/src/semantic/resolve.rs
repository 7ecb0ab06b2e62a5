//! From pending bindings and references to symbols: `global`, `nonlocal`, and the order in which scopes are asked.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::bind::Binder;
use super::{BindingId, ReferenceId, Scope, ScopeId, ScopeKind, Semantic, Symbol, SymbolId};
use crate::{Field, Kind, Node, Span};

pub(super) fn resolve(binder: Binder<'_>) -> Semantic<'_> {
    let Binder {
        parsed,
        module,
        mut scopes,
        bindings: pending,
        mut references,
        roles,
        scope_by_node,
        declarations,
        exports,
        string_chains,
    } = binder;
    let mut symbols: Vec<Symbol<'_>> = Vec::new();
    let mut bindings = Vec::with_capacity(pending.len());

    let mut globals = FxHashMap::default();
    let mut nonlocals = FxHashMap::default();
    for declaration in &declarations {
        let names = if declaration.is_global { &mut globals } else { &mut nonlocals };
        names.insert((declaration.scope, declaration.name.as_ref()), ());
    }
    let has_declarations = !declarations.is_empty();

    // Ordinary bindings first: a `nonlocal` looks for them.
    let mut deferred = Vec::new();
    for pending in pending {
        let key = (pending.scope, pending.name.as_ref());
        let is_nonlocal = has_declarations && nonlocals.contains_key(&key);
        let scope = if has_declarations && globals.contains_key(&key) { ScopeId(0) } else { pending.scope };
        let id = BindingId(bindings.len() as u32);
        let mut binding = pending.binding;
        if is_nonlocal {
            deferred.push((id, pending.scope, pending.name));
        } else {
            binding.symbol = symbol_in(&mut scopes, &mut symbols, scope, pending.name);
            symbols[binding.symbol.index()].bindings.push(id);
        }
        bindings.push(binding);
    }
    for (id, scope, name) in deferred {
        let symbol = match lookup_nonlocal(&scopes, scope, &name) {
            Some(symbol) => symbol,
            // Not valid Python; keep the name where it stands.
            None => symbol_in(&mut scopes, &mut symbols, scope, name),
        };
        bindings[id.index()].symbol = symbol;
        symbols[symbol.index()].bindings.push(id);
    }

    for (index, reference) in references.iter_mut().enumerate() {
        let key = (reference.scope, reference.name.as_ref());
        let found = if has_declarations && globals.contains_key(&key) {
            scopes[0].symbols.get(reference.name.as_ref()).copied()
        } else if has_declarations && nonlocals.contains_key(&key) {
            lookup_nonlocal(&scopes, reference.scope, &reference.name)
        } else {
            lookup_at(&scopes, &symbols, &bindings, reference.scope, &reference.name, reference.span)
        };
        reference.symbol = found;
        if let Some(symbol) = found {
            symbols[symbol.index()].references.push(ReferenceId(index as u32));
        }
    }
    for declaration in &declarations {
        let symbol = if declaration.is_global {
            scopes[0].symbols.get(declaration.name.as_ref()).copied()
        } else {
            lookup_nonlocal(&scopes, declaration.scope, &declaration.name)
        };
        if let Some(symbol) = symbol {
            symbols[symbol.index()].declarations.push(declaration.span);
        }
    }
    Semantic {
        parsed,
        module,
        scopes,
        symbols,
        bindings,
        references,
        roles,
        scope_by_node,
        exports,
        string_chains,
    }
}

fn symbol_in<'a>(
    scopes: &mut [Scope<'a>],
    symbols: &mut Vec<Symbol<'a>>,
    scope: ScopeId,
    name: Cow<'a, str>,
) -> SymbolId {
    *scopes[scope.index()].symbols.entry(name).or_insert_with_key(|name| {
        let id = SymbolId(symbols.len() as u32);
        let empty =
            Symbol { name: name.clone(), scope, bindings: vec![], references: vec![], declarations: vec![] };
        symbols.push(empty);
        id
    })
}

/// The symbol that `name` means in `scope`: the scope itself, then outwards, past classes.
pub(super) fn lookup(scopes: &[Scope<'_>], scope: ScopeId, name: &str) -> Option<SymbolId> {
    chain(scopes, scope).find_map(|scope| scopes[scope.index()].symbols.get(name).copied())
}

/// As [`lookup`], but a name in a class body that is bound only further down still means the outer one there.
fn lookup_at(
    scopes: &[Scope<'_>],
    symbols: &[Symbol<'_>],
    bindings: &[super::Binding],
    scope: ScopeId,
    name: &str,
    place: Span,
) -> Option<SymbolId> {
    for candidate in chain(scopes, scope) {
        let inner = &scopes[candidate.index()];
        let Some(&symbol) = inner.symbols.get(name) else { continue };
        let is_bound_later = inner.kind == ScopeKind::Class
            && candidate == scope
            && symbols[symbol.index()].bindings.iter().all(|id| {
                let binding = &bindings[id.index()];
                // `console: console.Console` declares a field and binds nothing.
                binding.kind == super::BindingKind::Annotation
                    || binding.span.start >= place.start
                    || is_same_statement(bindings, *id, place)
            });
        if is_bound_later && outer_has(scopes, candidate, name) {
            continue;
        }
        return Some(symbol);
    }
    None
}

/// `x = x` in a class body binds only after its right side has been read; positions alone cannot tell, the line can.
fn is_same_statement(bindings: &[super::Binding], id: BindingId, place: Span) -> bool {
    let binding = &bindings[id.index()];
    binding.kind == super::BindingKind::Assignment
        && binding.value_end.is_some_and(|end| place.start >= binding.span.start && place.end <= end)
}

fn outer_has(scopes: &[Scope<'_>], scope: ScopeId, name: &str) -> bool {
    chain(scopes, scope).skip(1).any(|scope| scopes[scope.index()].symbols.contains_key(name))
        || super::is_builtin(name)
}

/// The scopes that a lookup from `scope` asks, in order.
pub(super) fn chain<'s>(scopes: &'s [Scope<'_>], scope: ScopeId) -> impl Iterator<Item = ScopeId> + 's {
    let mut next = Some(scope);
    let mut sees_class = true;
    std::iter::from_fn(move || {
        loop {
            let current = next?;
            let data = &scopes[current.index()];
            next = data.parent;
            let is_visible = data.kind != ScopeKind::Class || sees_class;
            // Type parameters see the names of the class they stand in; functions and comprehensions do not.
            sees_class = data.kind == ScopeKind::TypeParameters;
            if is_visible {
                return Some(current);
            }
        }
    })
}

/// The binding that `nonlocal` means: of an enclosing function, never of the module.
fn lookup_nonlocal(scopes: &[Scope<'_>], scope: ScopeId, name: &str) -> Option<SymbolId> {
    chain(scopes, scope)
        .skip(1)
        .filter(|scope| scope.index() != 0)
        .find_map(|scope| scopes[scope.index()].symbols.get(name).copied())
}

/// The scope in which the names of a node are looked up.
pub(super) fn scope_of(semantic: &Semantic<'_>, node: Node<'_>) -> ScopeId {
    let opened = |node: Node<'_>| semantic.scope_opened_by(node.id());
    let mut child = node;
    while let Some(parent) = child.parent() {
        let type_params = |owner: Node<'_>| owner.child(Field::TypeParams).and_then(opened);
        let found = match (parent.kind(), child.field()) {
            (Kind::FunctionDef | Kind::ClassDef | Kind::Lambda, Field::Body) => opened(parent),
            (Kind::Parameter, Field::Name) => parent.parent().and_then(Node::parent).and_then(opened),
            (Kind::FunctionDef, Field::Returns)
            | (Kind::ClassDef, Field::Bases)
            | (Kind::TypeAlias, Field::Value) => type_params(parent),
            (_, Field::TypeParams) => opened(child),
            (Kind::Parameter, Field::Annotation) => {
                parent.parent().and_then(Node::parent).and_then(type_params)
            }
            (
                Kind::ListComp | Kind::SetComp | Kind::DictComp | Kind::GeneratorExp,
                Field::Elt | Field::Key | Field::Value,
            ) => opened(parent),
            (Kind::Comprehension, field) => {
                let whole = parent.parent();
                let is_first = whole.and_then(|whole| whole.child(Field::Generators)) == Some(parent);
                if is_first && field == Field::Iter { None } else { whole.and_then(opened) }
            }
            _ => None,
        };
        if let Some(scope) = found {
            return scope;
        }
        child = parent;
        // A first iterable belongs to what surrounds the whole comprehension.
        if child.kind() == Kind::Comprehension
            && let Some(whole) = child.parent()
        {
            child = whole;
        }
    }
    semantic.module_scope()
}
