//! The function that a change is about.

use super::entity::{Definition, Entity, MethodKind, Names, method_kind};
use super::error::{Place, RefactorError};
use crate::semantic::BindingKind;
use crate::tree::ParameterKind;
use crate::{Field, Kind, Node, Project, Span};

/// Which function is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The function whose name stands at this byte of a file, defined or used there. A class means its `__init__`.
    At { path: String, offset: u32 },
    /// By its dotted name: `package.module.function`, `package.module.Class.method`, `package.module.Class`.
    Named(String),
}

/// A function with its parameters, found and fit to be changed.
pub(super) struct Function<'a> {
    pub(super) definition: Definition,
    pub(super) node: Node<'a>,
    pub(super) name: &'a str,
    /// The class whose body holds the function.
    pub(super) class: Option<Definition>,
    /// `None` outside of a class.
    pub(super) method: Option<MethodKind>,
    pub(super) list: Node<'a>,
    pub(super) parameters: Vec<Parameter<'a>>,
}

#[derive(Clone, Copy)]
pub(super) struct Parameter<'a> {
    pub(super) node: Node<'a>,
    pub(super) name: &'a str,
    pub(super) kind: ParameterKind,
    pub(super) has_default: bool,
    /// Where it stands in the list, `/` and `*` counted.
    pub(super) index: usize,
}

pub(super) fn find<'a>(names: &Names<'a>, target: &Target) -> Result<Function<'a>, RefactorError> {
    let definition = match target {
        Target::Named(name) => only_function(names, names.dotted(name))
            .ok_or_else(|| RefactorError::UnknownFunction { name: name.clone() })?,
        Target::At { path, offset } => {
            let project = names.project;
            let file = project
                .files
                .iter()
                .position(|file| file.path == *path)
                .ok_or_else(|| RefactorError::UnknownFile { path: path.clone() })?;
            at(names, file, *offset).ok_or_else(|| {
                let end = project.files[file].parsed.text().len() as u32;
                RefactorError::NoFunction { place: Place::new(project, file, Span::at((*offset).min(end))) }
            })?
        }
    };
    refuse_second_definition(names, definition)?;
    let node = names.node(definition);
    describe(definition, node).ok_or_else(|| RefactorError::NoFunction {
        place: Place::new(names.project, definition.file, node.span()),
    })
}

impl<'a> Function<'a> {
    /// How many parameters, from the first, a call through an instance fills by itself.
    pub(super) fn bound_count(&self) -> usize {
        usize::from(matches!(self.method, Some(MethodKind::Instance | MethodKind::Class | MethodKind::New)))
    }

    /// The parameters that arguments can fill by position, in order.
    pub(super) fn positional(&self) -> impl Iterator<Item = &Parameter<'a>> {
        self.parameters.iter().filter(|parameter| {
            matches!(parameter.kind, ParameterKind::PositionalOnly | ParameterKind::Positional)
        })
    }

    pub(super) fn parameter(&self, names: &Names<'a>, name: &str) -> Result<Parameter<'a>, RefactorError> {
        let found = self.parameters.iter().find(|parameter| parameter.name == name);
        found.copied().ok_or_else(|| RefactorError::UnknownParameter {
            name: name.to_owned(),
            place: self.place(names.project),
        })
    }

    pub(super) fn place(&self, project: &Project) -> Place {
        let span = self.node.child(Field::Name).map_or(self.node.span(), Node::span);
        Place::new(project, self.definition.file, span)
    }
}

fn describe(definition: Definition, node: Node<'_>) -> Option<Function<'_>> {
    let name = node.child(Field::Name)?.text();
    let list = node.child(Field::Params)?;
    let class = node.parent().filter(|parent| parent.kind() == Kind::ClassDef);
    let mut parameters = Vec::new();
    for (index, item) in list.list(Field::Params).enumerate() {
        if let (Some(kind), Some(name)) = (item.parameter_kind(), item.child(Field::Name)) {
            let has_default = item.child(Field::Default).is_some();
            parameters.push(Parameter { node: item, name: name.text(), kind, has_default, index });
        }
    }
    Some(Function {
        definition,
        node,
        name,
        class: class.map(|class| Definition { file: definition.file, node: class.id() }),
        method: class.map(|_| method_kind(node)),
        list,
        parameters,
    })
}

fn at(names: &Names<'_>, file: usize, offset: u32) -> Option<Definition> {
    let parsed = &names.project.files[file].parsed;
    let node = parsed.node_at(offset)?;
    let parent = node.parent()?;
    let entities = match (node.kind(), parent.kind()) {
        (Kind::Identifier, Kind::FunctionDef) => return Some(Definition { file, node: parent.id() }),
        (Kind::Identifier, Kind::ClassDef) => vec![Entity::Class(Definition { file, node: parent.id() })],
        (Kind::Identifier, Kind::Attribute) => names.entities(file, parent),
        (Kind::Name, _) => names.entities(file, node),
        _ => return None,
    };
    only_function(names, entities)
}

fn only_function(names: &Names<'_>, entities: Vec<Entity>) -> Option<Definition> {
    let mut functions: Vec<Definition> = Vec::new();
    for entity in entities {
        match entity {
            Entity::Function { definition, .. } => functions.push(definition),
            Entity::Class(class) => functions.push(names.method(class, "__init__")?),
            _ => return None,
        }
    }
    functions.into_iter().next()
}

/// Overloads and conditional definitions share one name: changing one of them would break the others.
fn refuse_second_definition(names: &Names<'_>, definition: Definition) -> Result<(), RefactorError> {
    let semantic = &names.semantics[definition.file];
    let Some(identifier) = names.node(definition).child(Field::Name) else { return Ok(()) };
    let Some(binding) = semantic.binding_at(identifier.id()) else { return Ok(()) };
    let symbol = semantic.symbol(binding.symbol);
    let other = symbol
        .bindings
        .iter()
        .map(|id| semantic.binding(*id))
        .find(|binding| binding.kind == BindingKind::Function && binding.node != identifier.id());
    match other {
        None => Ok(()),
        Some(other) => Err(RefactorError::DefinedTwice {
            name: symbol.name.to_string(),
            place: Place::new(names.project, definition.file, other.span),
        }),
    }
}
