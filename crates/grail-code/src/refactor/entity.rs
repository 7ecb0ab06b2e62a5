//! What an expression stands for across files, as far as names and imports tell: a module, a function, a class, an instance.
//!
//! There is no type inference here. An instance is known only where it is written down: `self`, an annotation, a constructor call.

use std::cell::Cell;

use crate::semantic::{Binding, BindingKind, ScopeId, Symbol, SymbolId};
use crate::{Field, Kind, Node, NodeId, Project, Semantic};

/// Imports, bases and receivers are followed this far; what goes in circles ends as unknown.
const FUEL: u32 = 24;

/// Names with many bindings multiply; one question may look at this many.
const STEPS: u32 = 4000;

/// A `def` or `class` of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Definition {
    pub(super) file: usize,
    pub(super) node: NodeId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entity {
    /// A module or something below one, by its dotted name. It may lie outside of the project.
    Module(String),
    Function {
        definition: Definition,
        receiver: Receiver,
    },
    Class(Definition),
    Instance(Definition),
    /// `super()` in a method of this class.
    Super(Definition),
    Unknown,
}

/// How a function was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receiver {
    None,
    Class,
    Instance,
}

/// The names of all files of a project.
pub(super) struct Names<'a> {
    pub(super) project: &'a Project,
    pub(super) semantics: Vec<Semantic<'a>>,
    /// What is left of [`STEPS`].
    steps: Cell<u32>,
}

impl<'a> Names<'a> {
    pub(super) fn new(project: &'a Project) -> Self {
        let semantics =
            project.files.iter().map(|file| Semantic::of_module(&file.parsed, file.module.clone())).collect();
        Self { project, semantics, steps: Cell::new(STEPS) }
    }

    pub(super) fn node(&self, definition: Definition) -> Node<'a> {
        self.project.files[definition.file].parsed.node(definition.node)
    }

    /// What an expression may stand for: one entity for each way its first name is bound.
    pub(super) fn entities(&self, file: usize, expression: Node<'a>) -> Vec<Entity> {
        self.steps.set(STEPS);
        self.entities_of(file, expression, FUEL)
    }

    /// What a dotted name stands for, seen from nowhere in particular.
    pub(super) fn dotted(&self, name: &str) -> Vec<Entity> {
        self.steps.set(STEPS);
        self.dotted_with(name, FUEL)
    }

    /// A class's own or inherited function of that name.
    pub(super) fn method(&self, class: Definition, name: &str) -> Option<Definition> {
        self.steps.set(STEPS);
        self.class_member(class, name, Receiver::Class, FUEL).into_iter().find_map(|entity| match entity {
            Entity::Function { definition, .. } => Some(definition),
            _ => None,
        })
    }

    /// The classes of the project that a class derives from, itself first. The order is depth-first, which is Python's own except
    /// for diamonds.
    pub(super) fn lineage(&self, class: Definition) -> Vec<Definition> {
        self.steps.set(STEPS);
        self.lineage_with(class, FUEL)
    }

    /// Every class of the project.
    pub(super) fn classes(&self) -> Vec<Definition> {
        let mut classes = Vec::new();
        for (file, content) in self.project.files.iter().enumerate() {
            let nodes = content.parsed.nodes_of(Kind::ClassDef);
            classes.extend(nodes.map(|node| Definition { file, node: node.id() }));
        }
        classes
    }

    /// One step further, unless the question has become too wide or too deep.
    fn burn(&self, fuel: u32) -> Option<u32> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        fuel.checked_sub(1)
    }

    fn entities_of(&self, file: usize, expression: Node<'a>, fuel: u32) -> Vec<Entity> {
        let Some(fuel) = self.burn(fuel) else { return vec![Entity::Unknown] };
        // Attribute chains are as deep as the input; walk down, then up again.
        let mut attributes = Vec::new();
        let mut base = expression;
        while base.kind() == Kind::Attribute {
            let (Some(value), Some(attribute)) = (base.child(Field::Value), base.child(Field::Attr)) else {
                return vec![Entity::Unknown];
            };
            attributes.push(attribute.text());
            base = value;
        }
        let mut entities = match base.kind() {
            Kind::Name => self.name(file, base, fuel),
            Kind::Call => self.called(file, base, fuel),
            _ => vec![Entity::Unknown],
        };
        for attribute in attributes.iter().rev() {
            entities = entities.iter().flat_map(|entity| self.member(entity, attribute, fuel)).collect();
        }
        entities
    }

    fn name(&self, file: usize, name: Node<'a>, fuel: u32) -> Vec<Entity> {
        let semantic = &self.semantics[file];
        match semantic.symbol_of(name) {
            Some(symbol) => self.symbol(file, symbol, fuel),
            None => self.star_imported(file, semantic.module_scope(), name.text(), fuel),
        }
    }

    /// What a call gives: an instance for a class, nothing known for a function.
    fn called(&self, file: usize, call: Node<'a>, fuel: u32) -> Vec<Entity> {
        let Some(function) = call.child(Field::Func) else { return vec![Entity::Unknown] };
        let is_super = function.kind() == Kind::Name
            && function.text() == "super"
            && call.child(Field::Args).is_none()
            && self.semantics[file].symbol_of(function).is_none();
        if is_super {
            let class = call.ancestors().find(|node| node.kind() == Kind::ClassDef);
            return vec![
                class.map_or(Entity::Unknown, |class| Entity::Super(Definition { file, node: class.id() })),
            ];
        }
        let instances = |entity: Entity| match entity {
            Entity::Class(class) => Entity::Instance(class),
            _ => Entity::Unknown,
        };
        self.entities_of(file, function, fuel).into_iter().map(instances).collect()
    }

    fn symbol(&self, file: usize, symbol: SymbolId, fuel: u32) -> Vec<Entity> {
        let semantic = &self.semantics[file];
        let symbol = semantic.symbol(symbol);
        let bindings = symbol.bindings.iter().map(|id| semantic.binding(*id));
        let mut entities: Vec<Entity> = Vec::new();
        for binding in bindings.filter(|binding| binding.kind != BindingKind::Deletion) {
            for entity in self.binding(file, symbol, binding, fuel) {
                if !entities.contains(&entity) {
                    entities.push(entity);
                }
            }
        }
        entities
    }

    fn binding(&self, file: usize, symbol: &Symbol<'a>, binding: &Binding, fuel: u32) -> Vec<Entity> {
        let semantic = &self.semantics[file];
        let node = semantic.parsed().node(binding.node);
        match binding.kind {
            BindingKind::Function => definition_of(file, node).map_or_else(Vec::new, |definition| {
                vec![Entity::Function { definition, receiver: Receiver::None }]
            }),
            BindingKind::Class => {
                definition_of(file, node).map_or_else(Vec::new, |class| vec![Entity::Class(class)])
            }
            BindingKind::Import if node.field() != Field::Asname => {
                vec![Entity::Module(symbol.name.to_string())]
            }
            BindingKind::Import | BindingKind::ImportFrom => match &binding.imported {
                Some(imported) => self.dotted_with(imported, fuel),
                None => vec![Entity::Unknown],
            },
            BindingKind::Parameter => self.parameter(file, node, fuel),
            BindingKind::Assignment | BindingKind::Annotation => self.assigned(file, node, fuel),
            _ => vec![Entity::Unknown],
        }
    }

    fn parameter(&self, file: usize, name: Node<'a>, fuel: u32) -> Vec<Entity> {
        let Some(parameter) = name.parent() else { return vec![Entity::Unknown] };
        if let Some(annotation) = parameter.child(Field::Annotation) {
            return self.annotated(file, annotation, fuel);
        }
        let function = parameter.parent().and_then(Node::parent);
        let Some(function) = function.filter(|node| node.kind() == Kind::FunctionDef) else {
            return vec![Entity::Unknown];
        };
        let is_first = parameter.parent().and_then(|list| list.list(Field::Params).next()) == Some(parameter);
        let class = function.parent().filter(|node| node.kind() == Kind::ClassDef && is_first);
        let Some(class) = class else { return vec![Entity::Unknown] };
        let class = Definition { file, node: class.id() };
        vec![match method_kind(function) {
            MethodKind::Instance => Entity::Instance(class),
            MethodKind::Class | MethodKind::New => Entity::Class(class),
            MethodKind::Static => Entity::Unknown,
        }]
    }

    fn assigned(&self, file: usize, name: Node<'a>, fuel: u32) -> Vec<Entity> {
        let unknown = vec![Entity::Unknown];
        let Some(statement) = name.parent() else { return unknown };
        match statement.kind() {
            Kind::AnnAssign => match statement.child(Field::Annotation) {
                Some(annotation) => self.annotated(file, annotation, fuel),
                None => unknown,
            },
            Kind::Assign | Kind::NamedExpr => match statement.child(Field::Value) {
                Some(value) => self.entities_of(file, value, fuel),
                None => unknown,
            },
            _ => unknown,
        }
    }

    fn annotated(&self, file: usize, annotation: Node<'a>, fuel: u32) -> Vec<Entity> {
        let instances = |entity: Entity| match entity {
            Entity::Class(class) => Entity::Instance(class),
            _ => Entity::Unknown,
        };
        match annotation.kind() {
            Kind::Name | Kind::Attribute => {
                self.entities_of(file, annotation, fuel).into_iter().map(instances).collect()
            }
            _ => vec![Entity::Unknown],
        }
    }

    fn member(&self, entity: &Entity, name: &str, fuel: u32) -> Vec<Entity> {
        match entity {
            Entity::Module(module) => self.dotted_with(&format!("{module}.{name}"), fuel),
            Entity::Class(class) => self.class_member(*class, name, Receiver::Class, fuel),
            Entity::Instance(class) => self.class_member(*class, name, Receiver::Instance, fuel),
            Entity::Super(class) => self.inherited_member(*class, name, fuel),
            Entity::Function { .. } | Entity::Unknown => vec![Entity::Unknown],
        }
    }

    fn class_member(&self, class: Definition, name: &str, receiver: Receiver, fuel: u32) -> Vec<Entity> {
        let lineage = self.lineage_with(class, fuel);
        lineage
            .iter()
            .find_map(|class| self.own_member(*class, name, receiver, fuel))
            .unwrap_or_else(|| vec![Entity::Unknown])
    }

    fn inherited_member(&self, class: Definition, name: &str, fuel: u32) -> Vec<Entity> {
        let lineage = self.lineage_with(class, fuel);
        lineage
            .iter()
            .skip(1)
            .find_map(|class| self.own_member(*class, name, Receiver::Instance, fuel))
            .unwrap_or_else(|| vec![Entity::Unknown])
    }

    fn own_member(
        &self,
        class: Definition,
        name: &str,
        receiver: Receiver,
        fuel: u32,
    ) -> Option<Vec<Entity>> {
        let semantic = &self.semantics[class.file];
        let scope = semantic.scope_opened_by(class.node)?;
        let symbol = *semantic.scope(scope).symbols.get(name)?;
        let reached = |entity: Entity| match entity {
            Entity::Function { definition, .. } => Entity::Function { definition, receiver },
            other => other,
        };
        Some(self.symbol(class.file, symbol, fuel).into_iter().map(reached).collect())
    }

    fn lineage_with(&self, class: Definition, fuel: u32) -> Vec<Definition> {
        let mut lineage: Vec<Definition> = Vec::new();
        let mut open = vec![class];
        while let Some(class) = open.pop() {
            if lineage.contains(&class) {
                continue;
            }
            lineage.push(class);
            let Some(fuel) = self.burn(fuel) else { break };
            let bases: Vec<Node<'a>> = self.node(class).list(Field::Bases).collect();
            for base in bases.into_iter().rev().filter(|base| base.kind() != Kind::Keyword) {
                // `Base[int]` derives from `Base`.
                let base = if base.kind() == Kind::Subscript { base.child(Field::Value) } else { Some(base) };
                for entity in base.map_or_else(Vec::new, |base| self.entities_of(class.file, base, fuel)) {
                    if let Entity::Class(base) = entity {
                        open.push(base);
                    }
                }
            }
        }
        lineage
    }

    fn dotted_with(&self, name: &str, fuel: u32) -> Vec<Entity> {
        let Some(fuel) = self.burn(fuel) else { return vec![Entity::Unknown] };
        let is_module = |name: &str| self.project.files.iter().position(|file| file.module.name == name);
        // A package that binds the name of its own submodule means what it binds: `from .run import run`.
        if let Some((package, last)) = name.rsplit_once('.')
            && let Some(file) = is_module(package)
        {
            let scope = self.semantics[file].module_scope();
            if let Some(symbol) = self.semantics[file].scope(scope).symbols.get(last) {
                let entities = self.symbol(file, *symbol, fuel);
                if !entities.contains(&Entity::Unknown) && !entities.is_empty() {
                    return entities;
                }
            }
            if is_module(name).is_none() {
                return self.star_imported(file, scope, last, fuel);
            }
        }
        if is_module(name).is_some() {
            return vec![Entity::Module(name.to_owned())];
        }
        match name.rsplit_once('.') {
            // Below a class, or below a module outside of the project.
            Some((owner, last)) if self.has_module_prefix(owner) => {
                let owners = self.dotted_with(owner, fuel);
                let below = |entity: &Entity| match entity {
                    Entity::Module(_) => vec![Entity::Unknown],
                    entity => self.member(entity, last, fuel),
                };
                owners.iter().flat_map(below).collect()
            }
            _ => vec![Entity::Module(name.to_owned())],
        }
    }

    fn has_module_prefix(&self, name: &str) -> bool {
        self.project.files.iter().any(|file| {
            let module = file.module.name.as_str();
            !module.is_empty()
                && name.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// A name that only a `from module import *` may have brought.
    fn star_imported(&self, file: usize, scope: ScopeId, name: &str, fuel: u32) -> Vec<Entity> {
        let semantic = &self.semantics[file];
        for statement in &semantic.scope(scope).star_imports {
            let statement = semantic.parsed().node(*statement);
            let module = statement.child(Field::Module).map_or("", Node::text);
            let Some(module) = semantic.module().resolve(statement.import_level(), module) else { continue };
            if self.project.module(&module).is_none() {
                continue;
            }
            let entities = self.dotted_with(&format!("{module}.{name}"), fuel);
            if !entities.contains(&Entity::Unknown) {
                return entities;
            }
        }
        vec![Entity::Unknown]
    }
}

/// How a method takes its first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MethodKind {
    Instance,
    Class,
    Static,
    /// `__new__` is static, but its first parameter is the class.
    New,
}

/// The kind of a function that stands in a class body.
pub(crate) fn method_kind(function: Node<'_>) -> MethodKind {
    let name = function.child(Field::Name).map_or("", Node::text);
    let is_decorated = |name: &str| {
        function.list(Field::Decorators).any(|decorator| {
            decorator.child(Field::Expression).is_some_and(|expression| {
                expression.text() == name || expression.text().ends_with(&format!(".{name}"))
            })
        })
    };
    if is_decorated("staticmethod") {
        MethodKind::Static
    } else if is_decorated("classmethod") || matches!(name, "__init_subclass__" | "__class_getitem__") {
        MethodKind::Class
    } else if name == "__new__" {
        MethodKind::New
    } else {
        MethodKind::Instance
    }
}

/// The definition whose name this identifier is.
fn definition_of(file: usize, identifier: Node<'_>) -> Option<Definition> {
    identifier.parent().map(|node| Definition { file, node: node.id() })
}
