//! Names: scopes, bindings, references and qualified names, by Python's own rules.
//!
//! A [`Symbol`] is a name in a scope; all its bindings and references hang together, whatever order they run in. That is the unit a
//! rename moves and an unused import lacks references to.

mod annotations;
mod bind;
mod builtins;
mod exports;
pub mod origins;
mod qualified;
mod resolve;

use std::borrow::Cow;

use rustc_hash::FxHashMap;

pub(crate) use bind::{dotted_text, imported_module};
pub use builtins::is_builtin;

use crate::{Context, Field, Kind, ModuleName, Node, NodeId, Parsed, Span};

/// The names of one file.
pub struct Semantic<'a> {
    parsed: &'a Parsed,
    module: ModuleName,
    scopes: Vec<Scope<'a>>,
    symbols: Vec<Symbol<'a>>,
    bindings: Vec<Binding>,
    references: Vec<Reference<'a>>,
    /// What each node binds or refers to, if anything: dense, because most files ask for most names.
    roles: Vec<Role>,
    scope_by_node: FxHashMap<NodeId, ScopeId>,
    exports: Option<Vec<Export>>,
    string_chains: Vec<StringChain>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    None,
    Binding(BindingId),
    Reference(ReferenceId),
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

pub struct Scope<'a> {
    pub kind: ScopeKind,
    /// The node that opens the scope.
    pub node: NodeId,
    pub parent: Option<ScopeId>,
    pub symbols: FxHashMap<Cow<'a, str>, SymbolId>,
    /// The `from module import *` statements of this scope.
    pub star_imports: Vec<NodeId>,
}

/// A name in a scope, with everything that binds and uses it.
pub struct Symbol<'a> {
    pub name: Cow<'a, str>,
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
    /// Where the statement that assigns ends: until then the name still means what it meant before.
    value_end: Option<u32>,
}

pub struct Reference<'a> {
    pub name: Cow<'a, str>,
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

/// `root.a.b` within a string annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringChain {
    pub root: ReferenceId,
    /// The attributes read from the root, from left to right.
    pub attributes: Vec<Span>,
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

    pub fn scopes(&self) -> impl Iterator<Item = (ScopeId, &Scope<'a>)> {
        self.scopes.iter().enumerate().map(|(index, scope)| (ScopeId(index as u32), scope))
    }

    pub fn symbols(&self) -> impl Iterator<Item = (SymbolId, &Symbol<'a>)> {
        self.symbols.iter().enumerate().map(|(index, symbol)| (SymbolId(index as u32), symbol))
    }

    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    pub fn references(&self) -> &[Reference<'a>] {
        &self.references
    }

    pub fn scope(&self, id: ScopeId) -> &Scope<'a> {
        &self.scopes[id.index()]
    }

    pub fn symbol(&self, id: SymbolId) -> &Symbol<'a> {
        &self.symbols[id.index()]
    }

    pub fn binding(&self, id: BindingId) -> &Binding {
        &self.bindings[id.index()]
    }

    pub fn reference(&self, id: ReferenceId) -> &Reference<'a> {
        &self.references[id.index()]
    }

    pub fn module_scope(&self) -> ScopeId {
        ScopeId(0)
    }

    /// The scope a node's names are looked up in.
    pub fn scope_of(&self, node: Node<'_>) -> ScopeId {
        resolve::scope_of(self, node)
    }

    /// The scope that a `FunctionDef`, `ClassDef`, `Lambda`, comprehension or `TypeParams` opens.
    pub fn scope_opened_by(&self, node: NodeId) -> Option<ScopeId> {
        self.scope_by_node.get(&node).copied()
    }

    /// The symbol that a `Name` or binding identifier stands for.
    pub fn symbol_of(&self, node: Node<'_>) -> Option<SymbolId> {
        match self.roles.get(node.id().index())? {
            Role::None => None,
            Role::Binding(binding) => Some(self.binding(*binding).symbol),
            Role::Reference(reference) => self.reference(*reference).symbol,
        }
    }

    pub fn binding_at(&self, node: NodeId) -> Option<&Binding> {
        match self.roles.get(node.index())? {
            Role::Binding(binding) => Some(self.binding(*binding)),
            _ => None,
        }
    }

    pub fn reference_at(&self, node: NodeId) -> Option<&Reference<'a>> {
        match self.roles.get(node.index())? {
            Role::Reference(reference) => Some(self.reference(*reference)),
            _ => None,
        }
    }

    /// The symbol that `name` means in `scope`, by Python's lookup rules.
    pub fn lookup(&self, scope: ScopeId, name: &str) -> Option<SymbolId> {
        resolve::lookup(&self.scopes, scope, name)
    }

    /// The scopes that a lookup from `scope` asks, in order.
    pub fn lookup_chain(&self, scope: ScopeId) -> impl Iterator<Item = ScopeId> + '_ {
        resolve::chain(&self.scopes, scope)
    }

    /// What `__all__` lists; `None` if the module does not define it.
    pub fn exports(&self) -> Option<&[Export]> {
        self.exports.as_deref()
    }

    /// Dotted names within string annotations.
    pub fn string_chains(&self) -> &[StringChain] {
        &self.string_chains
    }

    /// The dotted names a symbol goes by: one for each way it may be bound.
    pub fn symbol_names(&self, symbol: SymbolId) -> Vec<QualifiedName> {
        qualified::symbol_names(self, symbol)
    }

    /// The dotted names that an expression (`Name`, `Attribute`, `Call` by its function) or a definition goes by: one for each way
    /// its first name may be bound. Empty if it has no name.
    pub fn qualified_names(&self, node: Node<'_>) -> Vec<QualifiedName> {
        qualified::qualified_names(self, node)
    }

    /// As [`Self::qualified_names`], with names of this file under the module's own name.
    pub fn fully_qualified_names(&self, node: Node<'_>) -> Vec<QualifiedName> {
        let mut names = self.qualified_names(node);
        if self.module.is_known() {
            for name in names.iter_mut().filter(|name| name.origin == Origin::Local) {
                name.name = format!("{}.{}", self.module.name, name.name);
            }
        }
        names
    }

    /// Whether the node goes by this dotted name. `typing.Optional` holds for `Opt` after `from typing import Optional as Opt`.
    pub fn has_qualified_name(&self, node: Node<'_>, name: &str) -> bool {
        // Most nodes fail here, before any string is built.
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_candidate = match node.kind() {
            Kind::Name
            | Kind::Call
            | Kind::Subscript
            | Kind::FunctionDef
            | Kind::ClassDef
            | Kind::Decorator => true,
            Kind::Attribute => node.child(Field::Attr).is_some_and(|attr| attr.text() == last),
            _ => false,
        };
        is_candidate && self.qualified_names(node).iter().any(|qualified| qualified.name == name)
    }
}
