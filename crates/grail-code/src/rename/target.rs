//! What a position or a dotted name means: the thing to rename.

use super::{RenameError, check::place};
use crate::semantic::{BindingKind, ScopeKind, SymbolId};
use crate::{Field, Kind, ModuleName, Node, Position, Project, Semantic, Span};

/// All files of a project, bound.
pub(super) struct Bound<'p> {
    pub(super) files: Vec<BoundFile<'p>>,
}

pub(super) struct BoundFile<'p> {
    pub(super) path: &'p str,
    pub(super) semantic: Semantic<'p>,
}

impl<'p> Bound<'p> {
    pub(super) fn new(project: &'p Project) -> Self {
        let files = project.files.iter().map(|file| BoundFile {
            path: &file.path,
            semantic: Semantic::of_module(&file.parsed, file.module.clone()),
        });
        Self { files: files.collect() }
    }

    pub(super) fn index(&self, path: &str) -> Option<usize> {
        self.files.iter().position(|file| file.path == path)
    }

    pub(super) fn module(&self, name: &str) -> Option<usize> {
        self.files.iter().position(|file| file.semantic.module().name == name)
    }
}

/// The thing to rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A name in a scope of a file, other than a class's.
    Symbol { file: usize, symbol: SymbolId },
    /// An attribute or method: the span of one mention of its name.
    Member { file: usize, span: Span },
}

/// The thing at a position, followed through imports to where it is defined.
pub(super) fn target_at(bound: &Bound<'_>, path: &str, at: Position) -> Result<Target, RenameError> {
    let file = bound.index(path).ok_or_else(|| RenameError::UnknownFile { path: path.to_owned() })?;
    let semantic = &bound.files[file].semantic;
    let source = semantic.parsed().source();
    let offset = source.offset(at).ok_or_else(|| RenameError::NoSuchPlace { path: path.to_owned(), at })?;
    let not_a_name = || RenameError::NotAName { path: path.to_owned(), at };
    // A name within a string annotation is no node of its own.
    let in_string = semantic.references().iter().find(|reference| {
        reference.node.is_none() && reference.span.start <= offset && offset <= reference.span.end
    });
    if let Some(reference) = in_string {
        let symbol = reference.symbol.ok_or_else(not_a_name)?;
        return follow(bound, file, symbol);
    }
    let node = semantic.parsed().node_at(offset).ok_or_else(not_a_name)?;
    target_of_node(bound, file, node).ok_or_else(not_a_name)?
}

/// The thing that a node of a file names.
pub(super) fn target_of_node(
    bound: &Bound<'_>,
    file: usize,
    node: Node<'_>,
) -> Option<Result<Target, RenameError>> {
    let semantic = &bound.files[file].semantic;
    if !matches!(node.kind(), Kind::Name | Kind::Identifier) {
        return None;
    }
    let parent = node.parent();
    match (parent.map(Node::kind), node.field()) {
        (Some(Kind::Attribute), Field::Attr) => {
            let attribute = parent?;
            let names = semantic.fully_qualified_names(attribute);
            if let Some(target) = names.iter().find_map(|name| module_member(bound, &name.name)) {
                return Some(Ok(target));
            }
            Some(Ok(Target::Member { file, span: node.span() }))
        }
        (Some(Kind::Keyword), Field::Keyword) => Some(keyword_target(bound, file, node)),
        (Some(Kind::MatchKeyword), Field::Attr) => Some(Ok(Target::Member { file, span: node.span() })),
        (Some(Kind::Alias), Field::Name) => {
            // The imported name itself, even if an alias follows.
            let alias = parent?;
            let statement = alias.parent()?;
            if statement.kind() == Kind::ImportFrom {
                let module = crate::semantic::imported_module(statement, semantic.module());
                if let Some(target) = module_member(bound, &format!("{module}.{}", node.text())) {
                    return Some(Ok(target));
                }
            }
            if alias.child(Field::Asname).is_some() {
                return Some(Err(RenameError::OutsideProject { name: node.text().to_owned() }));
            }
            semantic.symbol_of(node).map(|symbol| follow(bound, file, symbol))
        }
        (Some(Kind::ImportFrom), Field::Module) => Some(Err(RenameError::NotAName {
            path: bound.files[file].path.to_owned(),
            at: semantic.parsed().source().position(node.span().start),
        })),
        (Some(Kind::Global | Kind::Nonlocal), _) => {
            let scope = semantic.scope_of(node);
            let symbol = semantic
                .symbols()
                .find(|(_, symbol)| symbol.declarations.contains(&node.span()))
                .map(|(id, _)| id)
                .or_else(|| semantic.lookup(scope, node.text()))?;
            Some(follow(bound, file, symbol))
        }
        _ => semantic.symbol_of(node).map(|symbol| follow(bound, file, symbol)),
    }
}

/// From an import to the definition in the project; a class's own names become members.
fn follow(bound: &Bound<'_>, file: usize, symbol: SymbolId) -> Result<Target, RenameError> {
    let semantic = &bound.files[file].semantic;
    let data = semantic.symbol(symbol);
    if semantic.scope(data.scope).kind == ScopeKind::Class {
        let first = data.bindings.first().map(|id| semantic.binding(*id).span);
        return first
            .map(|span| Target::Member { file, span })
            .ok_or_else(|| RenameError::UnknownName { name: data.name.clone().into_owned() });
    }
    let imported = data.bindings.iter().find_map(|id| {
        let binding = semantic.binding(*id);
        let is_unaliased = semantic.parsed().node(binding.node).field() == Field::Name;
        binding.imported.as_deref().filter(|_| is_unaliased && binding.kind == BindingKind::ImportFrom)
    });
    if let Some(target) = imported.and_then(|name| module_member(bound, name)) {
        return Ok(target);
    }
    Ok(Target::Symbol { file, symbol })
}

/// The definition that a dotted name means in the project, followed through re-exports.
pub(super) fn module_member(bound: &Bound<'_>, name: &str) -> Option<Target> {
    let mut name = name.to_owned();
    // Re-exports may form a chain, and a broken project a circle.
    for _ in 0..32 {
        let (module, member) = name.rsplit_once('.')?;
        if let Some(file) = bound.module(module) {
            let semantic = &bound.files[file].semantic;
            let scope = semantic.scope(semantic.module_scope());
            let symbol = *scope.symbols.get(member)?;
            let imported = semantic.symbol(symbol).bindings.iter().find_map(|id| {
                semantic
                    .binding(*id)
                    .imported
                    .clone()
                    .filter(|_| semantic.binding(*id).kind == BindingKind::ImportFrom)
            });
            match imported {
                Some(next) if next != name && next.rsplit('.').next() == Some(member) => {
                    if is_in_project(bound, &next) {
                        name = next;
                        continue;
                    }
                    return Some(Target::Symbol { file, symbol });
                }
                _ => return Some(Target::Symbol { file, symbol }),
            }
        }
        // `module.Class.member`
        let (outer, class) = module.rsplit_once('.')?;
        let file = bound.module(outer)?;
        let semantic = &bound.files[file].semantic;
        let symbol = *semantic.scope(semantic.module_scope()).symbols.get(class)?;
        return class_member(semantic, symbol, member).map(|span| Target::Member { file, span });
    }
    None
}

fn is_in_project(bound: &Bound<'_>, name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(module, member)| {
        bound.module(module).is_some_and(|file| {
            let semantic = &bound.files[file].semantic;
            semantic.scope(semantic.module_scope()).symbols.contains_key(member)
        })
    })
}

/// Where a class binds a member in its body, or a method assigns it to `self`.
pub(super) fn class_member(semantic: &Semantic<'_>, class: SymbolId, member: &str) -> Option<Span> {
    let bindings = semantic.symbol(class).bindings.iter().map(|id| semantic.binding(*id));
    let definition = bindings.filter(|binding| binding.kind == BindingKind::Class).find_map(|binding| {
        semantic.parsed().node(binding.node).parent().filter(|node| node.kind() == Kind::ClassDef)
    })?;
    let scope = semantic.scope_opened_by(definition.id())?;
    if let Some(symbol) = semantic.scope(scope).symbols.get(member) {
        return semantic.symbol(*symbol).bindings.first().map(|id| semantic.binding(*id).span);
    }
    definition.descendants().find_map(|node| {
        let is_store = node.kind() == Kind::Attribute
            && node.context() == Some(crate::Context::Store)
            && node.child(Field::Value).is_some_and(|value| value.text() == "self");
        let attr = node.child(Field::Attr).filter(|attr| is_store && attr.text() == member)?;
        Some(attr.span())
    })
}

/// The parameter that a keyword argument names.
fn keyword_target(bound: &Bound<'_>, file: usize, name: Node<'_>) -> Result<Target, RenameError> {
    let semantic = &bound.files[file].semantic;
    let member = Target::Member { file, span: name.span() };
    let call = name.ancestors().find(|node| node.kind() == Kind::Call);
    let Some(function) = call.and_then(|call| call.child(Field::Func)) else { return Ok(member) };
    let names = semantic.fully_qualified_names(function);
    for qualified in &names {
        let Some(Target::Symbol { file, symbol }) = module_member(bound, &qualified.name) else { continue };
        let semantic = &bound.files[file].semantic;
        if let Some(symbol) = parameter_of(semantic, symbol, name.text()) {
            return Ok(Target::Symbol { file, symbol });
        }
    }
    Ok(member)
}

/// The parameter of a function, or of a class's `__init__`.
pub(super) fn parameter_of(semantic: &Semantic<'_>, function: SymbolId, parameter: &str) -> Option<SymbolId> {
    let bindings = semantic.symbol(function).bindings.iter().map(|id| semantic.binding(*id));
    for binding in bindings {
        let definition = semantic.parsed().node(binding.node).parent()?;
        let function = match binding.kind {
            BindingKind::Function => definition,
            BindingKind::Class => definition.list(Field::Body).find(|node| {
                node.kind() == Kind::FunctionDef
                    && node.child(Field::Name).is_some_and(|name| name.text() == "__init__")
            })?,
            _ => continue,
        };
        let scope = semantic.scope_opened_by(function.id())?;
        let symbol = semantic.scope(scope).symbols.get(parameter).copied()?;
        let is_parameter = semantic
            .symbol(symbol)
            .bindings
            .iter()
            .any(|id| semantic.binding(*id).kind == BindingKind::Parameter);
        return is_parameter.then_some(symbol);
    }
    None
}

/// The thing that a dotted name means; a name without dots is looked for in every module.
pub(super) fn target_named(bound: &Bound<'_>, name: &str) -> Result<Target, RenameError> {
    let unknown = || RenameError::UnknownName { name: name.to_owned() };
    if let Some(target) = module_member(bound, name) {
        return Ok(target);
    }
    // `module.function.parameter`
    if let Some((function, parameter)) = name.rsplit_once('.') {
        match module_member(bound, function) {
            Some(Target::Symbol { file, symbol }) => {
                if let Some(symbol) = parameter_of(&bound.files[file].semantic, symbol, parameter) {
                    return Ok(Target::Symbol { file, symbol });
                }
            }
            Some(Target::Member { file, span }) => {
                let semantic = &bound.files[file].semantic;
                let method = semantic.parsed().node_at(span.start).and_then(Node::parent);
                let scope = method.and_then(|method| semantic.scope_opened_by(method.id()));
                if let Some(symbol) = scope.and_then(|scope| semantic.scope(scope).symbols.get(parameter)) {
                    return Ok(Target::Symbol { file, symbol: *symbol });
                }
            }
            None => {}
        }
        return Err(unknown());
    }
    let mut found = bound.files.iter().enumerate().filter_map(|(file, bound)| {
        let scope = bound.semantic.scope(bound.semantic.module_scope());
        let symbol = *scope.symbols.get(name)?;
        let is_definition = bound
            .semantic
            .symbol(symbol)
            .bindings
            .iter()
            .any(|id| bound.semantic.binding(*id).imported.is_none());
        is_definition.then_some(Target::Symbol { file, symbol })
    });
    match (found.next(), found.next()) {
        (Some(target), None) => Ok(target),
        _ => Err(unknown()),
    }
}

/// The first syntax error of a file, as a reason not to touch it.
pub(super) fn broken(file: &BoundFile<'_>) -> Option<RenameError> {
    let diagnostic = file.semantic.parsed().diagnostics().first()?;
    let place = place(file.semantic.parsed(), file.path, diagnostic.span);
    Some(RenameError::Broken { path: place.path, at: place.at, message: diagnostic.message.clone() })
}

/// A module's own name for one of its top-level symbols.
pub(super) fn full_name(module: &ModuleName, name: &str) -> String {
    if module.is_known() { format!("{}.{name}", module.name) } else { name.to_owned() }
}
