//! A renamed parameter takes along the keyword arguments at its function's call sites.

use super::check::place;
use super::plan::Plan;
use super::target::{Bound, Target, module_member};
use super::{MemberOracle, RenameError};
use crate::semantic::{BindingKind, ScopeKind, SymbolId};
use crate::tree::ParameterKind;
use crate::{Edit, Field, Kind, Node, Semantic};

pub(super) fn keyword_edits(
    bound: &Bound<'_>,
    file: usize,
    parameter: SymbolId,
    new: &str,
    oracle: Option<&dyn MemberOracle>,
    plan: &mut Plan<'_>,
) -> Result<(), RenameError> {
    let semantic = &bound.files[file].semantic;
    let old = semantic.symbol(parameter).name.clone().into_owned();
    let Some(definition) = semantic.symbol(parameter).bindings.iter().find_map(|id| {
        let binding = semantic.binding(*id);
        let node = semantic.parsed().node(binding.node).parent()?;
        (binding.kind == BindingKind::Parameter).then_some(node)
    }) else {
        return Ok(());
    };
    let takes_keyword =
        matches!(definition.parameter_kind(), Some(ParameterKind::Positional | ParameterKind::KeywordOnly));
    let Some(function) = definition.ancestors().find(|node| node.kind() == Kind::FunctionDef) else {
        return Ok(());
    };
    if !takes_keyword {
        return Ok(());
    }
    let is_method =
        semantic.binding_at(function.child(Field::Name).map_or(function.id(), Node::id)).is_some_and(
            |binding| semantic.scope(semantic.symbol(binding.symbol).scope).kind == ScopeKind::Class,
        );

    if let Some(oracle) = oracle.filter(|_| is_method) {
        let offset = definition.child(Field::Name).map_or(definition.span().start, |name| name.span().start);
        let references = oracle.references(bound.files[file].path, offset);
        for (path, span) in references.certain {
            let Some(index) = bound.index(&path) else { continue };
            plan.add(index, vec![Edit::replace(span, new)]);
        }
        for (path, span) in references.unsure {
            let Some(index) = bound.index(&path) else { continue };
            plan.unsure.push(place(bound.files[index].semantic.parsed(), &path, span));
        }
        return Ok(());
    }

    for (index, caller) in bound.files.iter().enumerate() {
        let calls = caller.semantic.parsed().nodes_of(Kind::Call);
        for call in calls.filter(|call| has_keyword(*call, &old)) {
            match calls_function(bound, index, call, file, semantic, function) {
                Verdict::Yes => {
                    if has_keyword(call, new) {
                        let place = place(caller.semantic.parsed(), caller.path, call.span());
                        return Err(RenameError::Collision { old: old.clone(), new: new.to_owned(), place });
                    }
                    let edits =
                        keyword_spans(call, &old).map(|name| Edit::replace(name.span(), new)).collect();
                    plan.add(index, edits);
                }
                Verdict::Maybe => {
                    for name in keyword_spans(call, &old) {
                        plan.unsure.push(place(caller.semantic.parsed(), caller.path, name.span()));
                    }
                }
                Verdict::No => {}
            }
        }
    }
    Ok(())
}

enum Verdict {
    Yes,
    No,
    /// An attribute of the same name on something whose type is not known here.
    Maybe,
}

fn calls_function(
    bound: &Bound<'_>,
    index: usize,
    call: Node<'_>,
    file: usize,
    semantic: &Semantic<'_>,
    function: Node<'_>,
) -> Verdict {
    let Some(callee) = call.child(Field::Func) else { return Verdict::No };
    let caller = &bound.files[index].semantic;
    let Some(name) = function.child(Field::Name) else { return Verdict::No };
    let Some(binding) = semantic.binding_at(name.id()) else { return Verdict::No };
    let own = semantic.symbol(binding.symbol);
    let scope = semantic.scope(own.scope);
    // In the same file a plain name says it all.
    if callee.kind() == Kind::Name && index == file && caller.symbol_of(callee) == Some(binding.symbol) {
        return Verdict::Yes;
    }
    let owner = if scope.kind == ScopeKind::Class { Some(semantic.parsed().node(scope.node)) } else { None };
    for qualified in caller.fully_qualified_names(callee) {
        match module_member(bound, &qualified.name) {
            Some(Target::Symbol { file: found, symbol }) if found == file => {
                if symbol == binding.symbol {
                    return Verdict::Yes;
                }
                // `Class(…)` calls `Class.__init__`.
                let class_name = owner.and_then(|class| class.child(Field::Name));
                let is_constructor = name.text() == "__init__"
                    && class_name.and_then(|name| semantic.symbol_of(name)) == Some(symbol);
                if is_constructor {
                    return Verdict::Yes;
                }
            }
            Some(Target::Member { file: found, span }) if found == file && span == name.span() => {
                return Verdict::Yes;
            }
            _ => {}
        }
    }
    if callee.kind() == Kind::Attribute
        && let Some(class) = owner
        && callee.child(Field::Attr).is_some_and(|attr| attr.text() == name.text())
    {
        let receiver = callee.child(Field::Value);
        let is_self = receiver.is_some_and(|receiver| matches!(receiver.text(), "self" | "cls"));
        let is_inside = index == file && class.is_ancestor_of(call);
        return if is_self && is_inside { Verdict::Yes } else { Verdict::Maybe };
    }
    Verdict::No
}

fn keyword_spans<'a>(call: Node<'a>, name: &'a str) -> impl Iterator<Item = Node<'a>> {
    call.list(Field::Args)
        .filter(|argument| argument.kind() == Kind::Keyword)
        .filter_map(|keyword| keyword.child(Field::Keyword))
        .filter(move |identifier| identifier.text() == name)
}

fn has_keyword(call: Node<'_>, name: &str) -> bool {
    keyword_spans(call, name).next().is_some()
}
