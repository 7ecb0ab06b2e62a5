//! Imports that nothing refers to.

use serde::Serialize;

use super::remove::{alias_of, remove_aliases};
use crate::semantic::{BindingKind, ScopeKind, dotted_text};
use crate::{Edit, Field, Kind, Node, NodeId, Position, Semantic, Span};

/// An import whose name is never used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnusedImport {
    /// What it imports: `typing.Optional`.
    pub imported: String,
    /// The name it binds.
    pub name: String,
    pub span: Span,
    pub start: Position,
    #[serde(skip)]
    pub(super) binding: NodeId,
    #[serde(skip)]
    pub(super) alias: NodeId,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnusedOptions {
    /// Look into `__init__.py` too, where an import is usually there for others.
    pub include_packages: bool,
}

/// All unused imports of a file, in source order. An import is kept if it is listed in `__all__`, re-exported (`import a as a`),
/// tried (`except ImportError`), from `__future__`, a star, in a class body, or marked `# noqa`.
pub fn unused(semantic: &Semantic<'_>, options: &UnusedOptions) -> Vec<UnusedImport> {
    if semantic.module().is_package && !options.include_packages {
        return Vec::new();
    }
    let parsed = semantic.parsed();
    let mut imports = Vec::new();
    for binding in semantic.bindings() {
        if !matches!(binding.kind, BindingKind::Import | BindingKind::ImportFrom) {
            continue;
        }
        let symbol = semantic.symbol(binding.symbol);
        if !symbol.references.is_empty() || !symbol.declarations.is_empty() {
            continue;
        }
        if semantic.scope(symbol.scope).kind == ScopeKind::Class {
            continue;
        }
        let Some(alias) = alias_of(parsed, binding.node) else { continue };
        let Some(statement) = alias.parent() else { continue };
        let is_kept = is_future(statement)
            || is_reexport(alias)
            || is_tried(statement)
            || loads_used_submodule(semantic, alias)
            || is_marked(semantic, statement, alias);
        if is_kept {
            continue;
        }
        imports.push(UnusedImport {
            imported: binding.imported.clone().unwrap_or_default(),
            name: symbol.name.clone().into_owned(),
            span: alias.span(),
            start: parsed.source().position(alias.span().start),
            binding: binding.node,
            alias: alias.id(),
        });
    }
    imports
}

/// The edits that remove all unused imports.
pub fn remove_unused(semantic: &Semantic<'_>, options: &UnusedOptions) -> Vec<Edit> {
    let unused = unused(semantic, options);
    remove_aliases(semantic.parsed(), unused.iter().map(|import| semantic.parsed().node(import.alias)))
}

/// `import a.b` beside `import a as m` is what makes `m.b` work, though nobody says `a`.
fn loads_used_submodule(semantic: &Semantic<'_>, alias: Node<'_>) -> bool {
    let Some(module) = alias.child(Field::Name).map(|name| dotted_text(name.text())) else { return false };
    let is_submodule = module.contains('.') && alias.child(Field::Asname).is_none();
    is_submodule
        && alias.parent().is_some_and(|statement| statement.kind() == Kind::Import)
        && semantic.parsed().nodes_of(Kind::Attribute).any(|node| semantic.has_qualified_name(node, &module))
}

fn is_future(statement: Node<'_>) -> bool {
    statement.child(Field::Module).is_some_and(|module| module.text() == "__future__")
}

fn is_reexport(alias: Node<'_>) -> bool {
    match (alias.child(Field::Name), alias.child(Field::Asname)) {
        (Some(name), Some(asname)) => name.text() == asname.text(),
        _ => false,
    }
}

/// Whether the import stands in a `try` that expects it to fail, or in a handler that makes up for it.
fn is_tried(statement: Node<'_>) -> bool {
    let mut child = statement;
    for ancestor in statement.ancestors() {
        match ancestor.kind() {
            Kind::FunctionDef | Kind::ClassDef => return false,
            Kind::Try if matches!(child.field(), Field::Body | Field::Handlers | Field::Orelse) => {
                let expects_failure =
                    ancestor.list(Field::Handlers).any(|handler| match handler.child(Field::Exc) {
                        None => true,
                        Some(exception) => exception.subtree().any(|name| {
                            matches!(name.kind(), Kind::Name | Kind::Identifier)
                                && matches!(
                                    name.text(),
                                    "ImportError" | "ModuleNotFoundError" | "Exception" | "BaseException"
                                )
                        }),
                    });
                if expects_failure {
                    return true;
                }
            }
            _ => {}
        }
        child = ancestor;
    }
    false
}

/// Whether a `# noqa` that covers unused imports stands on the line of the statement or of the name.
fn is_marked(semantic: &Semantic<'_>, statement: Node<'_>, alias: Node<'_>) -> bool {
    let source = semantic.parsed().source();
    [statement.span().start, alias.span().start, statement.span().end].into_iter().any(|offset| {
        let line = &source.text()[source.line_start(offset) as usize..source.line_end(offset) as usize];
        let Some(at) = line.to_ascii_lowercase().find("# noqa") else { return false };
        match line[at + "# noqa".len()..].trim_start().strip_prefix(':') {
            Some(codes) => codes.to_ascii_uppercase().contains("F401"),
            None => true,
        }
    })
}
