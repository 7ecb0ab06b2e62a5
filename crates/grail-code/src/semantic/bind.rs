//! The binder: one pass over the flat tree that collects scopes, bindings and references, then resolves them.
//!
//! The pass is a loop with a stack of frames, each saying in which scope the nodes of a subtree are looked up. Where a child of a
//! node belongs to another scope than its parent (a function's body, but not its defaults), [`Binder::enter`] pushes a frame.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use unicode_normalization::UnicodeNormalization;

use super::{
    Binding, BindingId, BindingKind, Reference, ReferenceId, ReferenceKind, Role, Scope, ScopeId, ScopeKind,
    Semantic, StringChain, SymbolId, annotations, exports, resolve,
};
use crate::{Context, Field, Kind, ModuleName, Node, NodeId, Parsed, Span};

pub(super) fn bind(parsed: &Parsed, module: ModuleName) -> Semantic<'_> {
    let mut binder = Binder::new(parsed, module);
    binder.walk();
    annotations::bind_typing_strings(&mut binder);
    resolve::resolve(binder)
}

/// A subtree whose names are looked up alike.
#[derive(Clone, Copy)]
struct Frame {
    end: usize,
    scope: ScopeId,
    is_annotation: bool,
    is_typing_only: bool,
}

/// What the walk collects; symbols exist only after [`resolve::resolve`].
pub(super) struct Binder<'a> {
    pub(super) parsed: &'a Parsed,
    pub(super) module: ModuleName,
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) bindings: Vec<PendingBinding<'a>>,
    pub(super) references: Vec<Reference<'a>>,
    pub(super) roles: Vec<Role>,
    pub(super) scope_by_node: FxHashMap<NodeId, ScopeId>,
    pub(super) declarations: Vec<Declaration<'a>>,
    pub(super) exports: Option<Vec<super::Export>>,
    pub(super) string_chains: Vec<StringChain>,
}

pub(super) struct PendingBinding<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) scope: ScopeId,
    pub(super) binding: Binding,
}

/// `global name` or `nonlocal name`.
pub(super) struct Declaration<'a> {
    pub(super) scope: ScopeId,
    pub(super) name: Cow<'a, str>,
    pub(super) is_global: bool,
    pub(super) span: Span,
}

impl<'a> Binder<'a> {
    fn new(parsed: &'a Parsed, module: ModuleName) -> Self {
        let root = Scope {
            kind: ScopeKind::Module,
            node: parsed.root().id(),
            parent: None,
            symbols: FxHashMap::default(),
            star_imports: Vec::new(),
        };
        Self {
            parsed,
            module,
            scopes: vec![root],
            bindings: Vec::new(),
            references: Vec::new(),
            roles: vec![Role::None; parsed.len()],
            scope_by_node: FxHashMap::from_iter([(parsed.root().id(), ScopeId(0))]),
            declarations: Vec::new(),
            exports: None,
            string_chains: Vec::new(),
        }
    }

    fn walk(&mut self) {
        let outermost =
            Frame { end: self.parsed.len(), scope: ScopeId(0), is_annotation: false, is_typing_only: false };
        let mut frames = vec![outermost];
        for node in self.parsed.nodes() {
            while frames.len() > 1 && frames.last().is_some_and(|frame| frame.end <= node.id().index()) {
                frames.pop();
            }
            let mut frame = frames.last().copied().unwrap_or(outermost);
            if let Some(parent) = node.parent()
                && let Some(inner) = self.enter(node, parent, frame)
            {
                frame = Frame { end: node.subtree_end(), ..inner };
                frames.push(frame);
            }
            self.node(node, frame);
        }
    }

    /// The frame of a child that is looked up differently from its parent.
    fn enter(&self, node: Node<'a>, parent: Node<'a>, frame: Frame) -> Option<Frame> {
        let opened = || self.scope_by_node.get(&parent.id()).copied();
        // What a scope's header sees: the type parameters if there are any, else the surroundings.
        let header = |owner: Node<'a>| {
            let type_params = owner.child(Field::TypeParams);
            type_params.and_then(|node| self.scope_by_node.get(&node.id()).copied()).unwrap_or(frame.scope)
        };
        let annotation = |scope| Some(Frame { scope, is_annotation: true, ..frame });
        let inside = |scope| Some(Frame { scope, is_annotation: false, ..frame });
        match (parent.kind(), node.field()) {
            (Kind::FunctionDef | Kind::ClassDef, Field::Body) => inside(opened()?),
            (Kind::FunctionDef, Field::Returns) => annotation(header(parent)),
            (Kind::FunctionDef | Kind::ClassDef | Kind::TypeAlias, Field::TypeParams) => {
                inside(*self.scope_by_node.get(&node.id())?)
            }
            (Kind::ClassDef, Field::Bases) => inside(header(parent)),
            (Kind::TypeAlias, Field::Value) => annotation(header(parent)),
            (Kind::Parameter, Field::Annotation) => {
                let function = parent.parent().and_then(Node::parent)?;
                annotation(header(function))
            }
            (Kind::TypeVar | Kind::TypeVarTuple | Kind::ParamSpec, Field::Bound | Field::Default) => {
                annotation(frame.scope)
            }
            (Kind::AnnAssign, Field::Annotation) => annotation(frame.scope),
            (Kind::Lambda, Field::Body) => inside(opened()?),
            (
                Kind::ListComp | Kind::SetComp | Kind::DictComp | Kind::GeneratorExp,
                Field::Elt | Field::Key | Field::Value,
            ) => inside(opened()?),
            (Kind::Comprehension, field) => {
                let whole = parent.parent()?;
                let is_first = whole.child(Field::Generators) == Some(parent);
                if is_first && field == Field::Iter {
                    return None;
                }
                inside(*self.scope_by_node.get(&whole.id())?)
            }
            (Kind::Subscript, Field::Slice) if frame.is_annotation && is_named(parent, "Literal") => {
                inside(frame.scope)
            }
            (Kind::Tuple, Field::Elts)
                if frame.is_annotation
                    && parent.parent().is_some_and(|outer| {
                        outer.kind() == Kind::Subscript && is_named(outer, "Annotated")
                    })
                    && parent.children().next() != Some(node) =>
            {
                inside(frame.scope)
            }
            (Kind::If | Kind::Elif, Field::Body) if tests_type_checking(parent) => {
                Some(Frame { is_typing_only: true, ..frame })
            }
            _ => None,
        }
    }

    fn node(&mut self, node: Node<'a>, frame: Frame) {
        match node.kind() {
            Kind::Name => self.name(node, frame),
            Kind::FunctionDef => {
                self.bind_child(node, Field::Name, BindingKind::Function, frame);
                let header = self.open_type_params(node, frame.scope);
                self.open_scope(ScopeKind::Function, node, header);
            }
            Kind::ClassDef => {
                self.bind_child(node, Field::Name, BindingKind::Class, frame);
                let header = self.open_type_params(node, frame.scope);
                self.open_scope(ScopeKind::Class, node, header);
            }
            Kind::TypeAlias => {
                self.open_type_params(node, frame.scope);
            }
            Kind::Lambda => {
                self.open_scope(ScopeKind::Lambda, node, frame.scope);
            }
            Kind::ListComp | Kind::SetComp | Kind::DictComp | Kind::GeneratorExp => {
                self.open_scope(ScopeKind::Comprehension, node, frame.scope);
            }
            Kind::Parameter => {
                let owner = node.parent().and_then(Node::parent);
                if let Some(scope) = owner.and_then(|owner| self.scope_by_node.get(&owner.id()).copied()) {
                    self.bind_child(node, Field::Name, BindingKind::Parameter, Frame { scope, ..frame });
                }
            }
            Kind::TypeVar | Kind::TypeVarTuple | Kind::ParamSpec => {
                self.bind_child(node, Field::Name, BindingKind::TypeParameter, frame);
            }
            Kind::ExceptHandler => self.bind_child(node, Field::Name, BindingKind::ExceptHandler, frame),
            Kind::MatchStar | Kind::MatchAs => {
                self.bind_child(node, Field::Name, BindingKind::MatchCapture, frame)
            }
            Kind::MatchMapping => self.bind_child(node, Field::Rest, BindingKind::MatchCapture, frame),
            Kind::Alias => self.alias(node, frame),
            Kind::Global | Kind::Nonlocal => {
                let is_global = node.kind() == Kind::Global;
                for name in node.list(Field::Names) {
                    let declaration = Declaration {
                        scope: frame.scope,
                        name: spelled(name.text()),
                        is_global,
                        span: name.span(),
                    };
                    self.declarations.push(declaration);
                }
            }
            Kind::String if frame.is_annotation => {
                annotations::bind_string(self, node, frame.scope);
            }
            Kind::Assign | Kind::AugAssign | Kind::AnnAssign | Kind::Expr if frame.scope == ScopeId(0) => {
                exports::collect(self, node);
            }
            _ => {}
        }
    }

    fn name(&mut self, node: Node<'a>, frame: Frame) {
        let parent = node.parent();
        let parent_kind = parent.map(Node::kind);
        match node.context() {
            Some(Context::Store) => {
                let kind = match parent_kind {
                    Some(Kind::TypeAlias) => BindingKind::TypeAlias,
                    Some(Kind::AnnAssign)
                        if parent.is_some_and(|parent| parent.child(Field::Value).is_none()) =>
                    {
                        BindingKind::Annotation
                    }
                    _ => BindingKind::Assignment,
                };
                let scope = match parent_kind {
                    Some(Kind::NamedExpr) => self.outside_comprehensions(frame.scope),
                    _ => frame.scope,
                };
                if parent_kind == Some(Kind::AugAssign) {
                    self.refer(node, frame, Context::Load);
                }
                self.bind(node, kind, Frame { scope, ..frame });
            }
            Some(Context::Delete) => {
                self.refer(node, frame, Context::Delete);
                self.bind(node, BindingKind::Deletion, frame);
            }
            _ => self.refer(node, frame, Context::Load),
        }
    }

    fn refer(&mut self, node: Node<'a>, frame: Frame, context: Context) {
        let kind = if frame.is_annotation { ReferenceKind::Annotation } else { ReferenceKind::Plain };
        self.add_reference(Reference {
            name: spelled(node.text()),
            scope: frame.scope,
            symbol: None,
            node: Some(node.id()),
            span: node.span(),
            context,
            kind,
        });
    }

    pub(super) fn add_reference(&mut self, reference: Reference<'a>) -> ReferenceId {
        let id = ReferenceId(self.references.len() as u32);
        if let Some(node) = reference.node {
            self.roles[node.index()] = Role::Reference(id);
        }
        self.references.push(reference);
        id
    }

    fn bind(&mut self, node: Node<'a>, kind: BindingKind, frame: Frame) {
        self.add_binding(node, node.span(), kind, None, frame);
    }

    fn bind_child(&mut self, node: Node<'a>, field: Field, kind: BindingKind, frame: Frame) {
        if let Some(name) = node.child(field) {
            self.bind(name, kind, frame);
        }
    }

    fn add_binding(
        &mut self,
        node: Node<'a>,
        span: Span,
        kind: BindingKind,
        imported: Option<String>,
        frame: Frame,
    ) {
        let id = BindingId(self.bindings.len() as u32);
        self.roles[node.id().index()] = Role::Binding(id);
        let is_typing_only = frame.is_typing_only;
        let value_end = match kind {
            BindingKind::Assignment if self.scopes[frame.scope.index()].kind == ScopeKind::Class => {
                node.statement().map(|statement| statement.span().end)
            }
            _ => None,
        };
        let binding =
            Binding { symbol: SymbolId(0), kind, node: node.id(), span, imported, is_typing_only, value_end };
        let name = spelled(span.of(self.parsed.text()));
        self.bindings.push(PendingBinding { name, scope: frame.scope, binding });
    }

    fn alias(&mut self, node: Node<'a>, frame: Frame) {
        let (Some(statement), Some(name)) = (node.parent(), node.child(Field::Name)) else { return };
        let dotted = dotted_text(name.text());
        let target = node.child(Field::Asname);
        if statement.kind() == Kind::Import {
            match target {
                Some(target) => {
                    self.add_binding(
                        target,
                        target.span(),
                        BindingKind::Import,
                        Some(dotted.into_owned()),
                        frame,
                    );
                }
                None => {
                    let first = dotted.split('.').next().map_or(0, str::len) as u32;
                    let span = Span::new(name.span().start, name.span().start + first);
                    self.add_binding(name, span, BindingKind::Import, Some(dotted.into_owned()), frame);
                }
            }
            return;
        }
        if name.text() == "*" {
            self.scopes[frame.scope.index()].star_imports.push(statement.id());
            return;
        }
        let module = imported_module(statement, &self.module);
        let separator = if module.is_empty() || module.ends_with('.') { "" } else { "." };
        let imported = format!("{module}{separator}{dotted}");
        let target = target.unwrap_or(name);
        self.add_binding(target, target.span(), BindingKind::ImportFrom, Some(imported), frame);
    }

    fn open_scope(&mut self, kind: ScopeKind, node: Node<'a>, parent: ScopeId) -> ScopeId {
        let id = ScopeId(self.scopes.len() as u32);
        let symbols = FxHashMap::default();
        self.scopes.push(Scope {
            kind,
            node: node.id(),
            parent: Some(parent),
            symbols,
            star_imports: Vec::new(),
        });
        self.scope_by_node.insert(node.id(), id);
        id
    }

    fn open_type_params(&mut self, owner: Node<'a>, parent: ScopeId) -> ScopeId {
        match owner.child(Field::TypeParams) {
            Some(type_params) => self.open_scope(ScopeKind::TypeParameters, type_params, parent),
            None => parent,
        }
    }

    /// `:=` in a comprehension binds around it.
    fn outside_comprehensions(&self, mut scope: ScopeId) -> ScopeId {
        while self.scopes[scope.index()].kind == ScopeKind::Comprehension {
            let Some(parent) = self.scopes[scope.index()].parent else { break };
            scope = parent;
        }
        scope
    }
}

/// The module of a `from … import`, absolute where the file's own name is known, else with its dots.
pub(crate) fn imported_module(statement: Node<'_>, module: &ModuleName) -> String {
    let name = statement.child(Field::Module).map_or(Cow::Borrowed(""), |node| dotted_text(node.text()));
    let level = statement.import_level();
    module.resolve(level, &name).unwrap_or_else(|| ".".repeat(level as usize) + &name)
}

/// A dotted name without the white space Python allows round its dots.
pub(crate) fn dotted_text(text: &str) -> Cow<'_, str> {
    if text.contains(|character: char| character.is_whitespace() || character == '\\') {
        Cow::Owned(
            text.chars().filter(|character| !character.is_whitespace() && *character != '\\').collect(),
        )
    } else {
        Cow::Borrowed(text)
    }
}

/// Python compares identifiers in NFKC form.
pub(super) fn spelled(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) }
}

/// Whether a subscript's value is called `name`, plainly or as the last part of a dotted name.
fn is_named(subscript: Node<'_>, name: &str) -> bool {
    subscript.child(Field::Value).is_some_and(|value| match value.kind() {
        Kind::Name => value.text() == name,
        Kind::Attribute => value.child(Field::Attr).is_some_and(|attr| attr.text() == name),
        _ => false,
    })
}

fn tests_type_checking(branch: Node<'_>) -> bool {
    branch.child(Field::Test).is_some_and(|test| match test.kind() {
        Kind::Name => test.text() == "TYPE_CHECKING",
        Kind::Attribute => test.child(Field::Attr).is_some_and(|attr| attr.text() == "TYPE_CHECKING"),
        _ => false,
    })
}
