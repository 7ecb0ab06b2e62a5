//! The binder: one walk that fills a [`Semantic`].

use rustc_hash::FxHashMap;

use super::{QualifiedName, ScopeId, Semantic, SymbolId};
use crate::{ModuleName, Node, Parsed};

pub(super) fn bind(parsed: &Parsed, module: ModuleName) -> Semantic<'_> {
    Semantic {
        parsed,
        module,
        scopes: Vec::new(),
        symbols: Vec::new(),
        bindings: Vec::new(),
        references: Vec::new(),
        binding_by_node: FxHashMap::default(),
        reference_by_node: FxHashMap::default(),
        scope_by_node: FxHashMap::default(),
        exports: None,
    }
}

pub(super) fn scope_of(_semantic: &Semantic<'_>, _node: Node<'_>) -> ScopeId {
    ScopeId(0)
}

pub(super) fn lookup(_semantic: &Semantic<'_>, _scope: ScopeId, _name: &str) -> Option<SymbolId> {
    None
}

pub(super) fn qualified_names(_semantic: &Semantic<'_>, _node: Node<'_>) -> Vec<QualifiedName> {
    Vec::new()
}
