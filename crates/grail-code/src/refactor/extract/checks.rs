//! What a selection must not do if it is to become a function.

use super::{Context, Exit, flow};
use crate::refactor::error::RefactorError;
use crate::semantic::{Reference, ScopeKind, SymbolId};
use crate::tree::Attribute;
use crate::{Field, Kind, Node, Span};

/// Refuses jumps out of the selection and constructs that mean something else elsewhere.
pub(super) fn check(context: &Context<'_, '_>) -> Result<Exit, RefactorError> {
    if context.selected.is_expression() {
        check_surroundings(context)?;
    } else {
        check_statements(context)?;
    }
    check_module(context)?;
    let mut first_return = None;
    for node in context.own_nodes() {
        let refuse = |reason: &str| Err(context.refuse(node.span(), reason));
        match node.kind() {
            Kind::Yield | Kind::YieldFrom => return refuse("`yield` belongs to the function it stands in"),
            Kind::Global | Kind::Nonlocal => {
                return refuse("the declaration would no longer hold for the rest of the function");
            }
            Kind::Break | Kind::Continue if leaves(context, node) => {
                return refuse("the loop that it belongs to is not selected");
            }
            Kind::Return => first_return = first_return.or(Some(node)),
            Kind::Alias if node.text() == "*" => return refuse("`import *` is allowed in a module only"),
            Kind::ImportFrom
                if node.child(Field::Module).is_some_and(|module| module.text() == "__future__") =>
            {
                return refuse("imports from `__future__` have to stay at the top of the file");
            }
            Kind::Name if node.context() == Some(crate::Context::Delete) => check_deletion(context, node)?,
            Kind::Name if is_frame_reader(context, node) => {
                return refuse("it looks at the variables of the function it stands in");
            }
            _ if is_async(node) && !context.owner.is_async() => {
                return refuse("`await` needs a function that is `async`");
            }
            _ => {}
        }
    }
    match first_return {
        None => Ok(Exit::Falls),
        Some(node) => check_return(context, node),
    }
}

/// Whether a node needs the function it stands in to be `async`.
pub(super) fn is_async(node: Node<'_>) -> bool {
    node.kind() == Kind::Await
        || (matches!(node.kind(), Kind::For | Kind::With | Kind::Comprehension) && node.is_async())
}

/// Refuses where a function within would see another variable than before, or the selection would see another than a function does.
pub(super) fn check_closures(
    context: &Context<'_, '_>,
    bound: &[SymbolId],
    inputs: &[SymbolId],
) -> Result<(), RefactorError> {
    let semantic = context.semantic;
    for id in bound.iter().chain(inputs) {
        let symbol = semantic.symbol(*id);
        let declared = symbol.declarations.iter().find(|span| {
            context.is_selected(**span) || (!context.is_module() && symbol.scope == context.scope)
        });
        if let Some(span) = declared {
            return Err(context.refuse(*span, format!("`{}` is shared with a function within", symbol.name)));
        }
    }
    for id in bound {
        let symbol = semantic.symbol(*id);
        for reference in symbol.references.iter().map(|id| semantic.reference(*id)) {
            let Some(closure) = closure(context, reference) else { continue };
            if context.is_selected(closure.span()) {
                continue;
            }
            let is_lost = if context.is_module() {
                runs_something_after(context, *id)
            } else {
                closure.span().start < context.selected.span.end || in_loop(context).is_some()
            };
            if is_lost {
                let reason = format!("a function reads `{}` here, which the selection binds", symbol.name);
                return Err(context.refuse(reference.span, reason));
            }
        }
    }
    for id in bound.iter().chain(inputs) {
        let symbol = semantic.symbol(*id);
        let references = symbol.references.iter().map(|id| semantic.reference(*id));
        let captured = references.filter(|reference| context.is_selected(reference.span)).find(|reference| {
            closure(context, reference).is_some_and(|node| context.is_selected(node.span()))
        });
        let Some(captured) = captured else { continue };
        // The function within keeps the new function's variable, whatever happens to the old one.
        let is_passed = inputs.contains(id);
        let is_rebound = !symbol.declarations.is_empty()
            || symbol.bindings.iter().map(|id| semantic.binding(*id).span).any(|span| {
                let is_later = span.start >= context.selected.span.end
                    || (is_passed && context.is_selected(span))
                    || (context.is_module() && !context.is_selected(span));
                is_later || in_loop(context).is_some_and(|outer| outer.span().covers(span))
            });
        if is_rebound {
            let reason =
                format!("a function within reads `{}` here, which is bound anew elsewhere", symbol.name);
            return Err(context.refuse(captured.span, reason));
        }
    }
    Ok(())
}

/// Refuses where an exception would lose a value that the selection had bound already.
pub(super) fn check_exceptions(context: &Context<'_, '_>, outputs: &[SymbolId]) -> Result<(), RefactorError> {
    let semantic = context.semantic;
    let Some(last) = context.selected.nodes.last() else { return Ok(()) };
    for node in context.selected.nodes[0].ancestors().take_while(|node| *node != context.owner) {
        let guard = match node.kind() {
            Kind::Try => node,
            Kind::With if flow::swallows_exceptions(node) => node,
            _ => continue,
        };
        let body_end = guard.list(Field::Body).last().map_or(guard.span().end, |node| node.span().end);
        if context.selected.span.start >= body_end {
            continue;
        }
        let goes_on = guard.kind() == Kind::With
            || guard.list(Field::Handlers).any(|handler| {
                let last = handler.list(Field::Body).last();
                !last.is_some_and(|last| matches!(last.kind(), Kind::Return | Kind::Raise))
            });
        for id in outputs {
            let symbol = semantic.symbol(*id);
            let bindings = symbol.bindings.iter().map(|id| semantic.binding(*id).span);
            let is_bound_last = bindings
                .filter(|span| context.is_selected(*span))
                .all(|span| last.span().covers(span) && last.child(Field::Body).is_none());
            if is_bound_last {
                continue;
            }
            let mut references = symbol.references.iter().map(|id| semantic.reference(*id).span);
            let lost = references.find(|span| {
                let is_behind_body = span.start >= body_end && span.end <= guard.span().end;
                let is_behind = span.start >= guard.span().end && goes_on;
                is_behind_body || is_behind
            });
            if let Some(span) = lost {
                let reason =
                    format!("an exception would lose the value of `{}` that is read here", symbol.name);
                return Err(context.refuse(span, reason));
            }
        }
    }
    Ok(())
}

fn check_statements(context: &Context<'_, '_>) -> Result<(), RefactorError> {
    let first = context.selected.nodes[0];
    if context.owner.kind() == Kind::ClassDef {
        return Err(context.refuse(first.span(), "statements of a class body make the class's attributes"));
    }
    let is_docstring = first.kind() == Kind::Expr
        && first
            .child(Field::Value)
            .is_some_and(|value| matches!(value.kind(), Kind::String | Kind::ConcatenatedString))
        && first.field() == Field::Body
        && first.parent().is_some_and(|parent| {
            matches!(parent.kind(), Kind::Module | Kind::FunctionDef)
                && parent.list(Field::Body).next() == Some(first)
        });
    if is_docstring {
        return Err(context.refuse(first.span(), "it is the docstring"));
    }
    Ok(())
}

/// Refuses what a module has to say for itself, and not through a function.
fn check_module(context: &Context<'_, '_>) -> Result<(), RefactorError> {
    if !context.is_module() {
        return Ok(());
    }
    let statements = context.selected.nodes.iter().filter_map(|node| node.statement());
    if let Some(statement) = statements.into_iter().find(|node| node.text().starts_with("__all__")) {
        return Err(context.refuse(statement.span(), "`__all__` is read without being run"));
    }
    let definition =
        context.own_nodes().find(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef));
    match definition {
        Some(node) => {
            let name = node.child(Field::Name).map_or(node.span(), Node::span);
            Err(context.refuse(name, "what a module defines has to stay at its level"))
        }
        None => Ok(()),
    }
}

/// Where an expression stands decides whether a call may stand there.
fn check_surroundings(context: &Context<'_, '_>) -> Result<(), RefactorError> {
    let expression = context.selected.nodes[0];
    let refuse = |reason: &str| Err(context.refuse(expression.span(), reason));
    if expression.kind() == Kind::Name && expression.text() == "super" {
        return refuse("`super` works where it stands only");
    }
    let mut child = expression;
    for node in expression.ancestors() {
        if matches!(child.field(), Field::Annotation | Field::Returns | Field::TypeParams | Field::Bound) {
            return refuse("an annotation has to say its type");
        }
        match node.kind() {
            Kind::TypeAlias => return refuse("a type has to be written out"),
            Kind::MatchCase if child.field() == Field::Pattern => {
                return refuse("a pattern cannot call a function");
            }
            Kind::TString => return refuse("a template string keeps the text of its expressions"),
            Kind::Interpolation if node.attribute("debug") == Some(Attribute::Flag(true)) => {
                return refuse("`=` shows the text of the expression");
            }
            _ => {}
        }
        if node.kind().is_statement() {
            break;
        }
        child = node;
    }
    let semantic = context.semantic;
    for node in context.own_nodes().filter(|node| node.kind() == Kind::NamedExpr) {
        let Some(target) = node.child(Field::Target) else { continue };
        let Some(symbol) = semantic.symbol_of(target).map(|id| semantic.symbol(id)) else { continue };
        let references = symbol.references.iter().map(|id| semantic.reference(*id).span);
        let bindings = symbol.bindings.iter().map(|id| semantic.binding(*id).span);
        if references.chain(bindings).any(|span| !context.is_selected(span)) || context.is_module() {
            return Err(
                context.refuse(target.span(), format!("`{}` is bound here and used elsewhere", symbol.name))
            );
        }
    }
    Ok(())
}

fn check_deletion(context: &Context<'_, '_>, name: Node<'_>) -> Result<(), RefactorError> {
    let semantic = context.semantic;
    let Some(symbol) = semantic.symbol_of(name).map(|id| semantic.symbol(id)) else { return Ok(()) };
    let references = symbol.references.iter().map(|id| semantic.reference(*id).span);
    let bindings = symbol.bindings.iter().map(|id| semantic.binding(*id).span);
    if references.chain(bindings).any(|span| !context.is_selected(span)) {
        let reason = format!("`del` would no longer unbind `{}` of the function it stands in", symbol.name);
        return Err(context.refuse(name.span(), reason));
    }
    Ok(())
}

/// A `return` may stay if the function the selection stands in would return in any case.
fn check_return(context: &Context<'_, '_>, node: Node<'_>) -> Result<Exit, RefactorError> {
    let is_generator = context.owner.descendants().any(|inner| {
        matches!(inner.kind(), Kind::Yield | Kind::YieldFrom)
            && inner.ancestors().find(|outer| matches!(outer.kind(), Kind::FunctionDef | Kind::Lambda))
                == Some(context.owner)
    });
    if is_generator && context.owner.is_async() {
        return Err(context.refuse(node.span(), "an async generator cannot return a value"));
    }
    let selected = flow::Selected { nodes: context.selected.nodes.clone() };
    let never_falls = flow::inside(context.semantic, context.scope, &selected).bound.is_none();
    if never_falls || is_tail(context) {
        return Ok(Exit::Returns);
    }
    Err(context.refuse(node.span(), "it returns on some paths, but not on all"))
}

/// Whether nothing of the function runs behind the selection.
fn is_tail(context: &Context<'_, '_>) -> bool {
    let Some(mut child) = context.selected.nodes.last().copied() else { return false };
    while child != context.owner {
        let Some(parent) = child.parent() else { return false };
        let is_last = parent.list(child.field()).last() == Some(child);
        let goes_on = match parent.kind() {
            Kind::For | Kind::While => child.field() == Field::Body,
            Kind::Try => child.field() == Field::Body && parent.child(Field::Orelse).is_some(),
            _ => false,
        };
        // Clauses and cases are alternatives to each other: only statements have to be the last of their block.
        if (child.kind().is_statement() && !is_last) || goes_on {
            return false;
        }
        child = parent;
    }
    true
}

/// Whether a `break` or `continue` jumps out of the selection.
fn leaves(context: &Context<'_, '_>, jump: Node<'_>) -> bool {
    let mut child = jump;
    for node in jump.ancestors() {
        if !context.is_selected(node.span()) {
            return true;
        }
        // The `else` of a loop belongs to what surrounds it.
        if matches!(node.kind(), Kind::For | Kind::While) && child.field() == Field::Body {
            return false;
        }
        child = node;
    }
    true
}

fn is_frame_reader(context: &Context<'_, '_>, name: Node<'_>) -> bool {
    let is_called = name.field() == Field::Func;
    let has_arguments = name.parent().is_some_and(|call| call.child(Field::Args).is_some());
    let is_reader = match name.text() {
        "locals" | "eval" | "exec" => true,
        "vars" | "dir" => !has_arguments,
        _ => false,
    };
    is_called && is_reader && context.semantic.symbol_of(name).is_none()
}

/// The outermost function or lambda, within the owner, that a reference stands in.
fn closure<'a>(context: &Context<'_, 'a>, reference: &Reference<'_>) -> Option<Node<'a>> {
    let semantic = context.semantic;
    let mut found = None;
    let mut scope = Some(reference.scope);
    while let Some(id) = scope.filter(|id| *id != context.scope) {
        let data = semantic.scope(id);
        if matches!(data.kind, ScopeKind::Function | ScopeKind::Lambda) {
            let node = semantic.parsed().node(data.node);
            // A scope that holds the selection is no closure beside it.
            if !node.span().covers(context.selected.span) || context.is_selected(node.span()) {
                found = Some(node);
            }
        }
        scope = data.parent;
    }
    found
}

/// The outermost loop, within the owner, that repeats the selection.
fn in_loop<'a>(context: &Context<'_, 'a>) -> Option<Node<'a>> {
    let outside = context.selected.nodes[0].ancestors().take_while(|node| *node != context.owner);
    outside.filter(|node| matches!(node.kind(), Kind::For | Kind::While)).last()
}

/// Whether, at module level, something may run a function between a binding and the end of the selection.
fn runs_something_after(context: &Context<'_, '_>, symbol: SymbolId) -> bool {
    let semantic = context.semantic;
    let symbol = semantic.symbol(symbol);
    let bindings: Vec<Span> = symbol
        .bindings
        .iter()
        .map(|id| semantic.binding(*id).span)
        .filter(|span| context.is_selected(*span))
        .collect();
    context.own_nodes().filter(|node| node.kind() == Kind::Call).any(|call| {
        let statement = call.statement();
        bindings.iter().any(|binding| {
            let is_same = statement.is_some_and(|statement| {
                statement.span().covers(*binding) && statement.child(Field::Body).is_none()
            });
            let is_repeated = call
                .ancestors()
                .take_while(|node| context.is_selected(node.span()))
                .any(|node| matches!(node.kind(), Kind::For | Kind::While) && node.span().covers(*binding));
            !is_same && (binding.start < call.span().start || is_repeated)
        })
    })
}
