//! What names stand for: the values of their bindings, and which of these reach a place.

use std::rc::Rc;

use super::{Flow, MAX_ORIGINS, Walk};
use crate::semantic::{Binding, BindingKind, ScopeId, ScopeKind, Semantic, SymbolId};
use crate::{Context, Field, Kind, Node};

/// With more bindings than this, all count everywhere: asking each of them at every use would be quadratic.
const MAX_ORDERED: usize = 64;

/// How many surroundings of a binding are looked at for loops.
const MAX_NESTING: usize = 256;

/// What a symbol may hold.
#[derive(Default)]
pub(super) struct Definitions<'a> {
    bindings: Vec<Definition<'a>>,
    /// What is put into it after it was bound: `x.append(value)`, `x[key] = value`.
    contents: Vec<Node<'a>>,
}

/// One binding of a symbol.
struct Definition<'a> {
    values: Vec<Node<'a>>,
    /// Where it has happened: behind the value, not where the name stands.
    place: u32,
    /// Made by `global` or `nonlocal` in another scope, whenever that runs.
    is_foreign: bool,
    /// Up to where everything behind it in its block sees this binding or a later one.
    rules_until: u32,
    /// The loops around it, from the inside out.
    loops: Vec<Node<'a>>,
}

impl<'a> Flow<'_, 'a> {
    pub(super) fn name(&mut self, name: Node<'a>, walk: &mut Walk<'a>) {
        let Some(symbol) = self.semantic.symbol_of(name) else { return };
        let definitions = self.definitions(symbol);
        let live = reaching(self.semantic, &definitions.bindings, symbol, name);
        for definition in live {
            walk.extend(definition.values.iter().copied());
        }
        walk.extend(definitions.contents.iter().copied());
    }

    fn definitions(&mut self, symbol: SymbolId) -> Rc<Definitions<'a>> {
        if let Some(known) = self.symbols.get(&symbol) {
            return Rc::clone(known);
        }
        let semantic = self.semantic;
        let data = semantic.symbol(symbol);
        let mut definitions = Definitions::default();
        for id in data.bindings.iter().take(MAX_ORIGINS) {
            let binding = semantic.binding(*id);
            let values = self.values(binding);
            definitions.bindings.push(definition(semantic, binding, values));
        }
        let uses = data.references.iter().filter_map(|id| semantic.reference(*id).node);
        let contents = uses.flat_map(|node| put_into(semantic.parsed().node(node)));
        definitions.contents.extend(contents.take(MAX_ORIGINS));
        let definitions = Rc::new(definitions);
        self.symbols.insert(symbol, Rc::clone(&definitions));
        definitions
    }

    fn values(&mut self, binding: &Binding) -> Vec<Node<'a>> {
        let node = self.semantic.parsed().node(binding.node);
        match binding.kind {
            BindingKind::Assignment => assigned(node),
            BindingKind::Parameter => node.parent().map_or_else(Vec::new, |parameter| self.passed(parameter)),
            BindingKind::MatchCapture => {
                let subject = node.ancestors().find(|outer| outer.kind() == Kind::Match);
                subject.and_then(|subject| subject.child(Field::Subject)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What a target (a `Name`, `Attribute` or `Subscript` in its statement) gets. Unpacking goes as deep as the value is spelled out.
pub(super) fn assigned(target: Node<'_>) -> Vec<Node<'_>> {
    let mut path = Vec::new();
    let mut current = target;
    loop {
        let Some(parent) = current.parent() else { return Vec::new() };
        match (parent.kind(), current.field()) {
            // The rest of an unpacking is anything of it.
            (Kind::Tuple | Kind::List, Field::Elts) if current.kind() == Kind::Starred => path.clear(),
            (Kind::Tuple | Kind::List, Field::Elts) => {
                path.push(parent.list(Field::Elts).position(|element| element == current).unwrap_or(0));
            }
            (Kind::Starred, _) => {}
            (Kind::AugAssign, Field::Target) => return vec![parent],
            (Kind::Assign, Field::Targets)
            | (Kind::AnnAssign, Field::Target)
            | (Kind::NamedExpr, Field::Target) => return unpacked(parent.child(Field::Value), &path),
            (Kind::For | Kind::Comprehension, Field::Target) => {
                let elements = parent.child(Field::Iter).map_or_else(Vec::new, elements);
                return elements.into_iter().flat_map(|element| unpacked(Some(element), &path)).collect();
            }
            (Kind::WithItem, Field::OptionalVars) => {
                return parent.child(Field::ContextExpr).into_iter().collect();
            }
            _ => return Vec::new(),
        }
        current = parent;
    }
}

/// What a use puts into the thing it uses: the arguments of `x.append(…)`, the value of `x[key] = …`.
pub(super) fn put_into(used: Node<'_>) -> Vec<Node<'_>> {
    let Some(parent) = used.parent().filter(|_| used.field() == Field::Value) else { return Vec::new() };
    match parent.kind() {
        Kind::Subscript if parent.context() == Some(Context::Store) => assigned(parent),
        Kind::Attribute => {
            let is_filling = parent.child(Field::Attr).is_some_and(|attr| {
                matches!(
                    attr.text(),
                    "add"
                        | "append"
                        | "appendleft"
                        | "extend"
                        | "insert"
                        | "setdefault"
                        | "update"
                        | "write"
                        | "writelines"
                )
            });
            let call = parent.parent().filter(|call| call.kind() == Kind::Call && is_filling);
            match call.filter(|_| parent.field() == Field::Func) {
                Some(call) => call.list(Field::Args).take(MAX_ORIGINS).collect(),
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// The elements of an iterable that is spelled out, else the iterable.
fn elements(iterable: Node<'_>) -> Vec<Node<'_>> {
    match iterable.kind() {
        Kind::List | Kind::Tuple | Kind::Set => iterable.list(Field::Elts).take(MAX_ORIGINS).collect(),
        _ => vec![iterable],
    }
}

/// The part of a value that an unpacking with these positions, the outermost last, takes.
fn unpacked<'a>(value: Option<Node<'a>>, path: &[usize]) -> Vec<Node<'a>> {
    let Some(mut value) = value else { return Vec::new() };
    for position in path.iter().rev() {
        let is_display = matches!(value.kind(), Kind::Tuple | Kind::List);
        let mut before = value.list(Field::Elts).take(position + 1);
        if !is_display || before.any(|element| element.kind() == Kind::Starred) {
            break;
        }
        match value.list(Field::Elts).nth(*position) {
            Some(element) => value = element,
            None => break,
        }
    }
    vec![value]
}

fn definition<'a>(semantic: &Semantic<'a>, binding: &Binding, values: Vec<Node<'a>>) -> Definition<'a> {
    let name = semantic.parsed().node(binding.node);
    let home = semantic.symbol(binding.symbol).scope;
    let is_foreign = around_comprehensions(semantic, semantic.scope_of(name)) != home;
    let is_loop = |node: &Node<'a>| matches!(node.kind(), Kind::For | Kind::While);
    let loops = name.ancestors().take(MAX_NESTING).take_while(|node| !opens_scope(*node)).filter(is_loop);
    let loops = loops.collect();
    let statement = name.statement();
    let (place, rules_until) = match statement.map(|statement| (statement.kind(), statement)) {
        _ if binding.kind == BindingKind::Parameter => (0, 0),
        Some((Kind::Assign | Kind::AnnAssign, statement)) => (statement.span().end, end_of_block(statement)),
        Some((Kind::AugAssign, statement)) => (statement.span().end, 0),
        Some((Kind::For, statement)) => {
            let body_end = statement.list(Field::Body).last().map_or(0, |last| last.span().end);
            (statement.child(Field::Iter).map_or(name.span().end, |iter| iter.span().end), body_end)
        }
        Some((Kind::With, statement)) => (name.span().end, end_of_block(statement)),
        _ => (name.span().end, 0),
    };
    // `(x := 1)` may stand where it does not always run.
    let is_certain = name.parent().is_some_and(|parent| parent.kind() != Kind::NamedExpr);
    Definition { values, place, is_foreign, rules_until: if is_certain { rules_until } else { 0 }, loops }
}

/// The bindings that the name at `place` may mean.
fn reaching<'d, 'a>(
    semantic: &Semantic<'a>,
    definitions: &'d [Definition<'a>],
    symbol: SymbolId,
    used: Node<'a>,
) -> Vec<&'d Definition<'a>> {
    let home = semantic.symbol(symbol).scope;
    let scope = semantic.reference_at(used.id()).map(|reference| reference.scope);
    let scope = scope.unwrap_or_else(|| semantic.scope_of(used));
    let is_ordered = definitions.len() <= MAX_ORDERED
        && semantic.scope(home).kind != ScopeKind::Class
        && around_comprehensions(semantic, scope) == home;
    if !is_ordered {
        return definitions.iter().collect();
    }
    let here = used.span().start;
    let is_before = |definition: &Definition<'_>| definition.place <= here;
    let ruling = definitions
        .iter()
        .filter(|definition| !definition.is_foreign && is_before(definition) && here < definition.rules_until)
        .max_by_key(|definition| definition.place);
    let is_live = |definition: &&Definition<'a>| {
        if definition.is_foreign {
            return true;
        }
        if is_before(definition) {
            return ruling.is_none_or(|ruling| definition.place >= ruling.place);
        }
        // Only a loop leads back, and only past what does not bind anew on the way.
        let common = definition.loops.iter().find(|outer| outer.is_ancestor_of(used));
        common.is_some_and(|common| ruling.is_none_or(|ruling| !ruling.loops.contains(common)))
    };
    definitions.iter().filter(is_live).collect()
}

fn end_of_block(statement: Node<'_>) -> u32 {
    let siblings = statement.parent().and_then(|parent| parent.list(statement.field()).last());
    siblings.map_or(0, |last| last.span().end)
}

fn around_comprehensions(semantic: &Semantic<'_>, mut scope: ScopeId) -> ScopeId {
    while semantic.scope(scope).kind == ScopeKind::Comprehension {
        let Some(parent) = semantic.scope(scope).parent else { break };
        scope = parent;
    }
    scope
}

fn opens_scope(node: Node<'_>) -> bool {
    matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef | Kind::Lambda)
}
