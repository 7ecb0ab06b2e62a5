//! Extract function: a selection becomes a function of its own, with the parameters it needs and the values it gives back.
//!
//! Whatever cannot keep its meaning is refused with the place and the reason: jumps out of the selection, names that may be unbound,
//! closures that would see another variable, values that are lost when an exception passes.

mod checks;
mod flow;
mod place;
mod selection;
mod text;

use super::add_parameter::is_name;
use super::entity::{MethodKind, method_kind};
use super::error::{Place, RefactorError};
use crate::semantic::{BindingKind, ScopeId, ScopeKind, SymbolId};
use crate::{Edit, Field, Kind, Node, ProjectFile, Semantic, Span};

pub use selection::Selection;

/// A selection that became a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extraction {
    pub edits: Vec<Edit>,
    /// The new function's parameters, `self` or `cls` of a method included.
    pub parameters: Vec<String>,
    /// The names it gives back.
    pub returns: Vec<String>,
}

/// Makes a function called `name` of the selected statements or expression and calls it in their place. It goes before the top-level
/// statement that holds the selection, or, if the selection needs `self` or `cls`, before the method.
pub fn extract_function(
    file: &ProjectFile,
    selection: Selection,
    name: &str,
) -> Result<Extraction, RefactorError> {
    if !is_name(name) {
        return Err(RefactorError::InvalidName { name: name.to_owned() });
    }
    if let Some(diagnostic) = file.parsed.diagnostics().first() {
        let place = Place::of(&file.path, &file.parsed, diagnostic.span);
        return Err(RefactorError::BrokenSource { message: diagnostic.message.clone(), place });
    }
    let semantic = Semantic::of_module(&file.parsed, file.module.clone());
    let selected = selection::find(file, selection)?;
    let context = Context::new(file, &semantic, selected);
    let exit = checks::check(&context)?;
    let names = names(&context, exit)?;
    let home = place::find(&context, &names, name)?;
    Ok(text::write(&context, &names, &home, exit, name))
}

/// Everything the steps of an extraction share.
struct Context<'s, 'a> {
    file: &'a ProjectFile,
    semantic: &'s Semantic<'a>,
    selected: selection::Selected<'a>,
    /// The scope that the selection's own bindings fall into: a function's, a class's or the module's.
    scope: ScopeId,
    /// The node that opens it.
    owner: Node<'a>,
}

/// How control leaves the selection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// It goes on behind it.
    Falls,
    /// The function it stands in returns what the new one returns.
    Returns,
}

/// The names that cross the selection's border.
struct Names {
    /// Read within, bound before: in the order they are read.
    inputs: Vec<SymbolId>,
    /// Bound within, read after.
    outputs: Vec<SymbolId>,
    /// Bound within, but the module's own by a `global` outside.
    globals: Vec<SymbolId>,
}

impl<'s, 'a> Context<'s, 'a> {
    fn new(file: &'a ProjectFile, semantic: &'s Semantic<'a>, selected: selection::Selected<'a>) -> Self {
        let first = selected.nodes[0];
        let mut scope = semantic.scope_of(first);
        loop {
            let data = semantic.scope(scope);
            match (data.kind, data.parent) {
                (ScopeKind::Lambda | ScopeKind::Comprehension | ScopeKind::TypeParameters, Some(parent)) => {
                    scope = parent;
                }
                _ => break,
            }
        }
        let owner = file.parsed.node(semantic.scope(scope).node);
        Self { file, semantic, selected, scope, owner }
    }

    fn is_selected(&self, span: Span) -> bool {
        self.selected.span.covers(span)
    }

    fn refuse(&self, span: Span, reason: impl Into<String>) -> RefactorError {
        RefactorError::CannotExtract {
            reason: reason.into(),
            place: Place::of(&self.file.path, &self.file.parsed, span),
        }
    }

    fn is_module(&self) -> bool {
        self.scope == self.semantic.module_scope()
    }

    /// The statements that the owner runs.
    fn body(&self) -> Vec<Node<'a>> {
        self.owner.list(Field::Body).collect()
    }

    /// Nodes of the selection that belong to the function it stands in, not to functions within it.
    fn own_nodes(&self) -> impl Iterator<Item = Node<'a>> {
        let selected = &self.selected;
        selected.nodes.iter().flat_map(|node| node.subtree()).filter(|node| {
            let inner = node
                .ancestors()
                .take_while(|outer| selected.span.covers(outer.span()))
                .find(|outer| matches!(outer.kind(), Kind::FunctionDef | Kind::Lambda | Kind::ClassDef));
            inner.is_none()
        })
    }

    /// How the method that holds the selection takes its first parameter, and that parameter.
    fn receiver(&self) -> Option<(MethodKind, SymbolId)> {
        let function = (self.owner.kind() == Kind::FunctionDef).then_some(self.owner)?;
        function.parent().filter(|parent| parent.kind() == Kind::ClassDef)?;
        let kind = method_kind(function);
        let first = function.child(Field::Params)?.list(Field::Params).next()?;
        let name = first.child(Field::Name)?;
        // A function in a class body need not be called through an instance; its author says so by this name.
        let is_receiver = match kind {
            MethodKind::Instance => name.text() == "self",
            MethodKind::Class => matches!(name.text(), "cls" | "klass" | "mcs"),
            _ => false,
        };
        let symbol = self.semantic.symbol_of(name)?;
        is_receiver.then_some((kind, symbol))
    }
}

fn names(context: &Context<'_, '_>, exit: Exit) -> Result<Names, RefactorError> {
    let semantic = context.semantic;
    let mut bound: Vec<SymbolId> = Vec::new();
    let mut globals: Vec<SymbolId> = Vec::new();
    for binding in semantic.bindings() {
        if !context.is_selected(binding.span) || binding.kind == BindingKind::Deletion {
            continue;
        }
        let symbol = semantic.symbol(binding.symbol);
        let opener = semantic.parsed().node(semantic.scope(symbol.scope).node);
        let list = if symbol.scope == context.scope {
            &mut bound
        } else if context.is_selected(opener.span()) {
            continue;
        } else if symbol.scope == semantic.module_scope() {
            &mut globals
        } else {
            let reason = format!("`{}` is bound here for a scope further out", symbol.name);
            return Err(context.refuse(binding.span, reason));
        };
        if !list.contains(&binding.symbol) {
            list.push(binding.symbol);
        }
    }
    let flow_selection = flow::Selected { nodes: context.selected.nodes.clone() };
    let inside = flow::inside(semantic, context.scope, &flow_selection);
    let inputs = inputs(context, &bound, &inside)?;
    let outputs = match exit {
        Exit::Returns => Vec::new(),
        Exit::Falls => outputs(context, &bound, &flow_selection),
    };
    let parameters = parameter_symbols(context);
    let before = flow::bound_before(semantic, context.scope, &context.body(), &flow_selection, parameters);
    for symbol in &inputs {
        let is_tracked =
            semantic.symbol(*symbol).scope == context.scope && context.owner.kind() != Kind::ClassDef;
        if is_tracked && !before.contains(symbol) {
            return Err(maybe_unbound(context, *symbol));
        }
    }
    let mut inputs = inputs;
    if let Some(end) = &inside.bound {
        for symbol in outputs.iter().filter(|symbol| !end.contains(symbol)) {
            // Not bound on every path: what it was before has to come in, so that it can go out.
            if !before.contains(symbol) {
                return Err(maybe_unbound(context, *symbol));
            }
            if !inputs.contains(symbol) {
                inputs.push(*symbol);
            }
        }
    }
    checks::check_closures(context, &bound, &inputs)?;
    checks::check_exceptions(context, &outputs)?;
    Ok(Names { inputs, outputs, globals })
}

fn inputs(
    context: &Context<'_, '_>,
    bound: &[SymbolId],
    inside: &flow::Inside,
) -> Result<Vec<SymbolId>, RefactorError> {
    let semantic = context.semantic;
    let mut inputs: Vec<SymbolId> = Vec::new();
    let mut references: Vec<_> =
        semantic.references().iter().filter(|reference| context.is_selected(reference.span)).collect();
    references.sort_by_key(|reference| reference.span);
    for reference in references {
        let Some(id) = reference.symbol else { continue };
        let symbol = semantic.symbol(id);
        let scope = semantic.scope(symbol.scope);
        let opener = semantic.parsed().node(scope.node);
        let is_inner = symbol.scope != context.scope && context.is_selected(opener.span());
        let is_global =
            symbol.scope == semantic.module_scope() && !(context.is_module() && bound.contains(&id));
        // Names in string annotations are not run.
        if is_inner || is_global || reference.node.is_none() || inputs.contains(&id) {
            continue;
        }
        if scope.kind == ScopeKind::TypeParameters {
            let reason = format!("the type parameter `{}` is not known outside of its function", symbol.name);
            return Err(context.refuse(reference.span, reason));
        }
        if inside.exposed.contains(&id) {
            inputs.push(id);
        }
    }
    Ok(inputs)
}

fn outputs(context: &Context<'_, '_>, bound: &[SymbolId], selected: &flow::Selected<'_>) -> Vec<SymbolId> {
    let semantic = context.semantic;
    let read = flow::read_after(semantic, context.scope, &context.body(), selected);
    let is_output = |id: &SymbolId| {
        let symbol = semantic.symbol(*id);
        let is_elsewhere = |span: Span| !context.is_selected(span);
        let mut references = symbol.references.iter().map(|id| semantic.reference(*id));
        if read.contains(id) {
            return true;
        }
        // Functions further in, and other modules, read whenever they like.
        if references.any(|reference| {
            is_elsewhere(reference.span)
                && (reference.scope != context.scope || reference.node.is_none())
                && (context.is_module() || reference.span.start >= context.selected.span.end)
        }) {
            return true;
        }
        context.is_module() && is_public(context, *id)
    };
    bound.iter().copied().filter(is_output).collect()
}

/// Whether a module's name that this file never reads may be meant for others: an assigned name, not a loop's variable.
fn is_public(context: &Context<'_, '_>, symbol: SymbolId) -> bool {
    let symbol = context.semantic.symbol(symbol);
    let is_lasting = symbol.bindings.iter().map(|id| context.semantic.binding(*id)).any(|binding| {
        let node = context.semantic.parsed().node(binding.node);
        match binding.kind {
            BindingKind::Assignment => {
                node.field() != Field::Target || node.parent().is_some_and(is_assignment)
            }
            BindingKind::Function | BindingKind::Class | BindingKind::Import | BindingKind::ImportFrom => {
                true
            }
            _ => false,
        }
    });
    let is_private = symbol.name.starts_with('_') && !symbol.name.ends_with("__");
    is_lasting && symbol.references.is_empty() && !is_private
}

fn is_assignment(node: Node<'_>) -> bool {
    matches!(node.kind(), Kind::AnnAssign | Kind::AugAssign)
}

fn parameter_symbols(context: &Context<'_, '_>) -> flow::Symbols {
    let scope = context.semantic.scope(context.scope);
    let is_parameter = |id: &&SymbolId| {
        let symbol = context.semantic.symbol(**id);
        symbol.bindings.iter().any(|id| context.semantic.binding(*id).kind == BindingKind::Parameter)
    };
    scope.symbols.values().filter(is_parameter).copied().collect()
}

fn maybe_unbound(context: &Context<'_, '_>, symbol: SymbolId) -> RefactorError {
    let symbol = context.semantic.symbol(symbol);
    let spans = symbol.references.iter().map(|id| context.semantic.reference(*id).span);
    let bindings = symbol.bindings.iter().map(|id| context.semantic.binding(*id).span);
    let place = spans.chain(bindings).filter(|span| context.is_selected(*span)).min();
    let reason = format!("`{}` may be unbound here, so it can be neither passed nor given back", symbol.name);
    context.refuse(place.unwrap_or(context.selected.span), reason)
}
