//! Names: scopes, bindings, references and qualified names, by Python's own rules.
//!
//! A [`Symbol`] is a name in a scope; all its bindings and references hang together, whatever order they run in. That is the unit a
//! rename moves and an unused import lacks references to.

mod bind;

use rustc_hash::FxHashMap;

use crate::{Context, Kind, ModuleName, Node, NodeId, Parsed, Span};

/// The names of one file.
pub struct Semantic<'a> {
    parsed: &'a Parsed,
    module: ModuleName,
    scopes: Vec<Scope>,
    symbols: Vec<Symbol>,
    bindings: Vec<Binding>,
    references: Vec<Reference>,
    binding_by_node: FxHashMap<NodeId, BindingId>,
    reference_by_node: FxHashMap<NodeId, ReferenceId>,
    scope_by_node: FxHashMap<NodeId, ScopeId>,
    exports: Option<Vec<Export>>,
}

macro_rules! index {
    ($($(#[doc = $doc:literal])+ $name:ident;)*) => {
        $($(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);
        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        })*
    };
}

index! {
    /// A scope of a file; the first is the module's.
    ScopeId;
    /// A name in a scope.
    SymbolId;
    /// One place that binds a name.
    BindingId;
    /// One place that uses a name.
    ReferenceId;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScopeKind {
    Module,
    Class,
    Function,
    Lambda,
    Comprehension,
    /// Holds the type parameters of a generic function, class or alias.
    TypeParameters,
}

pub struct Scope {
    pub kind: ScopeKind,
    /// The node that opens the scope.
    pub node: NodeId,
    pub parent: Option<ScopeId>,
    pub symbols: FxHashMap<String, SymbolId>,
    /// `from module import *` in this scope, as absolute module names where they are known.
    pub star_imports: Vec<NodeId>,
}

/// A name in a scope, with everything that binds and uses it.
pub struct Symbol {
    pub name: String,
    pub scope: ScopeId,
    pub bindings: Vec<BindingId>,
    pub references: Vec<ReferenceId>,
    /// `global`/`nonlocal` declarations of the name, in inner scopes, as identifier spans.
    pub declarations: Vec<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingKind {
    /// `=`, `+=`, `:=`, and the targets of `for`, `with` and comprehensions.
    Assignment,
    /// `x: int` without a value.
    Annotation,
    Function,
    Class,
    Parameter,
    /// `import a.b` (binds `a`) or `import a.b as c` (binds `c`).
    Import,
    /// `from m import a`.
    ImportFrom,
    ExceptHandler,
    MatchCapture,
    TypeParameter,
    TypeAlias,
    Deletion,
}

pub struct Binding {
    pub symbol: SymbolId,
    pub kind: BindingKind,
    /// The `Name` or `Identifier` that binds; for `import a.b` without an alias the dotted identifier.
    pub node: NodeId,
    /// The bytes of the bound name itself (`a` of `import a.b`).
    pub span: Span,
    /// What an import brings in, absolute where the module's own name is known: `typing.Optional`, `os.path`.
    pub imported: Option<String>,
    /// Within `if TYPE_CHECKING:`.
    pub is_typing_only: bool,
}

pub struct Reference {
    pub name: String,
    /// Where the reference stands, which is not always where the name is bound.
    pub scope: ScopeId,
    /// `None` for builtins and for names nobody binds.
    pub symbol: Option<SymbolId>,
    /// `None` within a string annotation.
    pub node: Option<NodeId>,
    pub span: Span,
    pub context: Context,
    pub kind: ReferenceKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceKind {
    /// A name in code.
    Plain,
    /// A name in an annotation.
    Annotation,
    /// A name within an annotation that is a string.
    StringAnnotation,
    /// A string in `__all__`; the span is the string's content.
    Export,
}

/// A name in `__all__`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    pub name: String,
    /// The content of the string literal, between its quotes.
    pub span: Span,
}

/// A dotted name that an expression or definition goes by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QualifiedName {
    pub name: String,
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    Import,
    Builtin,
    /// Defined in this file; inner names of functions read `outer.<locals>.inner`.
    Local,
}

impl<'a> Semantic<'a> {
    /// Binds a file on its own: relative imports keep their dots.
    pub fn new(parsed: &'a Parsed) -> Self {
        Self::of_module(parsed, ModuleName::default())
    }

    /// Binds a file whose own name is known, so that relative imports become absolute.
    pub fn of_module(parsed: &'a Parsed, module: ModuleName) -> Self {
        bind::bind(parsed, module)
    }

    pub fn parsed(&self) -> &'a Parsed {
        self.parsed
    }

    pub fn module(&self) -> &ModuleName {
        &self.module
    }

    pub fn scopes(&self) -> impl Iterator<Item = (ScopeId, &Scope)> {
        self.scopes.iter().enumerate().map(|(index, scope)| (ScopeId(index as u32), scope))
    }

    pub fn symbols(&self) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.symbols.iter().enumerate().map(|(index, symbol)| (SymbolId(index as u32), symbol))
    }

    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.index()]
    }

    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.index()]
    }

    pub fn binding(&self, id: BindingId) -> &Binding {
        &self.bindings[id.index()]
    }

    pub fn reference(&self, id: ReferenceId) -> &Reference {
        &self.references[id.index()]
    }

    pub fn module_scope(&self) -> ScopeId {
        ScopeId(0)
    }

    /// The scope a node's names are looked up in.
    pub fn scope_of(&self, node: Node<'_>) -> ScopeId {
        bind::scope_of(self, node)
    }

    /// The scope that a `FunctionDef`, `ClassDef`, `Lambda` or comprehension opens.
    pub fn scope_opened_by(&self, node: NodeId) -> Option<ScopeId> {
        self.scope_by_node.get(&node).copied()
    }

    /// The symbol that a `Name` or binding identifier stands for.
    pub fn symbol_of(&self, node: Node<'_>) -> Option<SymbolId> {
        if let Some(binding) = self.binding_by_node.get(&node.id()) {
            return Some(self.binding(*binding).symbol);
        }
        self.reference_by_node.get(&node.id()).and_then(|reference| self.reference(*reference).symbol)
    }

    pub fn binding_at(&self, node: NodeId) -> Option<&Binding> {
        self.binding_by_node.get(&node).map(|id| self.binding(*id))
    }

    pub fn reference_at(&self, node: NodeId) -> Option<&Reference> {
        self.reference_by_node.get(&node).map(|id| self.reference(*id))
    }

    /// The symbol that `name` means in `scope`, by Python's lookup rules.
    pub fn lookup(&self, scope: ScopeId, name: &str) -> Option<SymbolId> {
        bind::lookup(self, scope, name)
    }

    /// What `__all__` lists; `None` if the module does not define it.
    pub fn exports(&self) -> Option<&[Export]> {
        self.exports.as_deref()
    }

    /// The dotted names that an expression (`Name`, `Attribute`, `Call` by its function) or a definition goes by: one for each way
    /// its first name may be bound. Empty if it has no name.
    pub fn qualified_names(&self, node: Node<'_>) -> Vec<QualifiedName> {
        bind::qualified_names(self, node)
    }

    /// Whether the node goes by this dotted name. `typing.Optional` holds for `Opt` after `from typing import Optional as Opt`.
    pub fn has_qualified_name(&self, node: Node<'_>, name: &str) -> bool {
        // Most nodes fail here, before any string is built.
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_candidate = match node.kind() {
            Kind::Name | Kind::Call | Kind::FunctionDef | Kind::ClassDef => true,
            Kind::Attribute => node.child(crate::Field::Attr).is_some_and(|attr| attr.text() == last),
            _ => false,
        };
        is_candidate && self.qualified_names(node).iter().any(|qualified| qualified.name == name)
    }
}
