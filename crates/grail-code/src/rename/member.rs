//! Methods and attributes. Who `x.run()` calls is a question of types: an oracle answers it. Without one, only what the class itself
//! shows is renamed (its body, `self.name`, `Class.name`), and everything else that spells the name is reported.

use super::check::place;
use super::plan::Plan;
use super::symbol::reference_edits;
use super::target::{Bound, broken, full_name};
use super::{MemberOracle, MemberOrigin, RenameError, RenameOptions, RenamePlan, validate};
use crate::semantic::ScopeKind;
use crate::{Edit, Field, Kind, Node, Span};

pub(super) fn rename_member(
    bound: &Bound<'_>,
    file: usize,
    span: Span,
    new: &str,
    options: &RenameOptions,
    oracle: Option<&dyn MemberOracle>,
) -> Result<RenamePlan, RenameError> {
    let semantic = &bound.files[file].semantic;
    let old = span.of(semantic.parsed().text()).to_owned();
    validate(&old, new)?;
    if let Some(error) = broken(&bound.files[file]) {
        return Err(error);
    }
    let mut plan = Plan::new(bound, &old, new);
    match oracle {
        Some(oracle) => by_types(bound, file, span, &old, new, options, oracle, &mut plan)?,
        None => by_syntax(bound, file, span, &old, new, options, &mut plan)?,
    }
    plan.finish()
}

#[allow(clippy::too_many_arguments)]
fn by_types(
    bound: &Bound<'_>,
    file: usize,
    span: Span,
    old: &str,
    new: &str,
    options: &RenameOptions,
    oracle: &dyn MemberOracle,
    plan: &mut Plan<'_>,
) -> Result<(), RenameError> {
    let references = oracle.references(bound.files[file].path, span.start);
    if references.outside == MemberOrigin::Outside || references.certain.is_empty() {
        return Err(RenameError::OutsideProject { name: old.to_owned() });
    }
    plan.may_override_outside = references.outside == MemberOrigin::Unknown;
    let mut certain = references.certain;
    certain.sort();
    certain.dedup();
    for (path, span) in &certain {
        let Some(index) = bound.index(path) else { continue };
        if let Some(error) = broken(&bound.files[index]) {
            return Err(error);
        }
        check_class(bound, index, *span, old, new)?;
        plan.add(index, vec![Edit::replace(*span, new)]);
        // Names in the class's own body mean the member too.
        let semantic = &bound.files[index].semantic;
        if let Some(symbol) = class_symbol(bound, index, *span) {
            plan.add(index, reference_edits(semantic, symbol, new, options));
        }
    }
    for (path, span) in references.unsure {
        if let Some(index) = bound.index(&path) {
            plan.unsure.push(place(bound.files[index].semantic.parsed(), &path, span));
        }
    }
    Ok(())
}

/// The symbol of a class's body that the name at `span` binds.
fn class_symbol(bound: &Bound<'_>, file: usize, span: Span) -> Option<crate::semantic::SymbolId> {
    let semantic = &bound.files[file].semantic;
    let node = semantic.parsed().node_at(span.start)?;
    let binding = semantic.binding_at(node.id())?;
    let scope = semantic.symbol(binding.symbol).scope;
    (semantic.scope(scope).kind == ScopeKind::Class).then_some(binding.symbol)
}

/// Refuses if the class that defines the member has one of the new name.
fn check_class(bound: &Bound<'_>, file: usize, span: Span, old: &str, new: &str) -> Result<(), RenameError> {
    let bound_file = &bound.files[file];
    let semantic = &bound_file.semantic;
    let Some(symbol) = class_symbol(bound, file, span) else { return Ok(()) };
    let scope = semantic.symbol(symbol).scope;
    let class = semantic.parsed().node(semantic.scope(scope).node);
    let taken =
        semantic.scope(scope).symbols.get(new).and_then(|symbol| semantic.symbol(*symbol).bindings.first());
    let place_of = |span| place(semantic.parsed(), bound_file.path, span);
    if let Some(binding) = taken {
        let place = place_of(semantic.binding(*binding).span);
        return Err(RenameError::Collision { old: old.to_owned(), new: new.to_owned(), place });
    }
    let assigned =
        class.descendants().find_map(|node| self_attribute(node).filter(|attr| attr.text() == new));
    match assigned {
        Some(attr) if attr.parent().and_then(|parent| parent.context()) == Some(crate::Context::Store) => {
            Err(RenameError::Collision {
                old: old.to_owned(),
                new: new.to_owned(),
                place: place_of(attr.span()),
            })
        }
        _ => Ok(()),
    }
}

/// The `name` of `self.name` or `cls.name`.
fn self_attribute(node: Node<'_>) -> Option<Node<'_>> {
    let value = node.child(Field::Value).filter(|_| node.kind() == Kind::Attribute)?;
    matches!(value.text(), "self" | "cls").then(|| node.child(Field::Attr)).flatten()
}

fn by_syntax(
    bound: &Bound<'_>,
    file: usize,
    span: Span,
    old: &str,
    new: &str,
    options: &RenameOptions,
    plan: &mut Plan<'_>,
) -> Result<(), RenameError> {
    let bound_file = &bound.files[file];
    let semantic = &bound_file.semantic;
    let parsed = semantic.parsed();
    let needs_types = || RenameError::NeedsTypes { name: old.to_owned() };
    let node = parsed.node_at(span.start).ok_or_else(needs_types)?;
    let class = node.ancestors().find(|node| node.kind() == Kind::ClassDef).ok_or_else(needs_types)?;
    let is_own = class_symbol(bound, file, span).is_some()
        || node.parent().and_then(self_attribute).is_some_and(|attr| attr == node);
    if !is_own {
        return Err(needs_types());
    }
    let scope = semantic.scope_opened_by(class.id()).ok_or_else(needs_types)?;
    let class_name = class.child(Field::Name).map_or("", Node::text);
    let member = semantic.scope(scope).symbols.get(old).copied();
    if let Some(symbol) = member {
        let first = semantic.symbol(symbol).bindings.first().map(|id| semantic.binding(*id).span);
        check_class(bound, file, first.unwrap_or(span), old, new)?;
        let bindings = semantic.symbol(symbol).bindings.iter().map(|id| semantic.binding(*id).span);
        plan.add(file, bindings.map(|span| Edit::replace(span, new)).collect());
        plan.add(file, reference_edits(semantic, symbol, new, options));
    }
    let qualified = full_name(semantic.module(), &format!("{class_name}.{old}"));
    for (index, other) in bound.files.iter().enumerate() {
        for node in other.semantic.parsed().nodes_of(Kind::Attribute) {
            let Some(attr) = node.child(Field::Attr).filter(|attr| attr.text() == old) else { continue };
            let is_inside = index == file && class.is_ancestor_of(node) && self_attribute(node).is_some();
            let is_named =
                other.semantic.fully_qualified_names(node).iter().any(|name| name.name == qualified);
            if is_inside || is_named {
                plan.add(index, vec![Edit::replace(attr.span(), new)]);
            } else {
                plan.unsure.push(place(other.semantic.parsed(), other.path, attr.span()));
            }
        }
    }
    Ok(())
}
