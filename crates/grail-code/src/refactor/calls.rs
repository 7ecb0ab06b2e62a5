//! The calls of a function across a project.
//!
//! Certain is what names, imports, `self`, `super()`, annotations and constructors prove. Every other call of an attribute with the
//! same name is unsure, and so is every place that hands the function on as a value.

use rustc_hash::FxHashSet;

use super::entity::{Definition, Entity, MethodKind, Names, Receiver};
use super::error::Place;
use super::target::Function;
use super::{Location, Note};
use crate::{Context, Field, Kind, Node};

/// A call that means the function.
pub(super) struct Call<'a> {
    pub(super) file: usize,
    pub(super) node: Node<'a>,
    /// How many of the parameters the receiver fills.
    pub(super) bound: usize,
}

pub(super) struct Calls<'a> {
    pub(super) certain: Vec<Call<'a>>,
    pub(super) unsure: Vec<Location>,
    /// Overriding and overridden methods.
    pub(super) notes: Vec<Note>,
}

pub(super) fn find<'a>(names: &Names<'a>, function: &Function<'a>, extra: &[Location]) -> Calls<'a> {
    let constructed = constructed_classes(names, function);
    let spellings = spellings(names, function, &constructed);
    let search = Search { names, function, constructed, extra };
    let mut calls = Calls { certain: Vec::new(), unsure: Vec::new(), notes: notes(names, function) };
    for (file, content) in names.project.files.iter().enumerate() {
        let text = content.parsed.text();
        if !spellings.iter().any(|name| text.contains(name.as_str())) {
            continue;
        }
        for node in content.parsed.nodes() {
            let spelled = match node.kind() {
                Kind::Name => Some(node),
                Kind::Attribute => node.child(Field::Attr),
                _ => None,
            };
            if node.context() == Some(Context::Load)
                && let Some(spelled) = spelled.filter(|spelled| spellings.contains(spelled.text()))
            {
                search.visit(&mut calls, file, node, spelled);
            }
        }
    }
    calls
}

struct Search<'s, 'a> {
    names: &'s Names<'a>,
    function: &'s Function<'a>,
    /// Classes whose construction runs the function.
    constructed: Vec<Definition>,
    extra: &'s [Location],
}

impl<'a> Search<'_, 'a> {
    fn visit(&self, calls: &mut Calls<'a>, file: usize, expression: Node<'a>, spelled: Node<'a>) {
        let path = &self.names.project.files[file].path;
        let call = expression
            .parent()
            .filter(|parent| parent.kind() == Kind::Call && expression.field() == Field::Func);
        let entities = self.names.entities(file, expression);
        let matches: Vec<Option<usize>> = entities.iter().map(|entity| self.bound_by(entity)).collect();
        let is_given = self.extra.iter().any(|extra| extra.path == *path && extra.span == spelled.span());
        match (call, matches.first()) {
            (Some(node), Some(&Some(bound))) if matches.iter().all(|other| *other == Some(bound)) => {
                calls.certain.push(Call { file, node, bound });
                return;
            }
            (Some(node), _) if is_given => {
                calls.certain.push(Call { file, node, bound: self.bound_by_receiver(file, expression) });
                return;
            }
            _ => {}
        }
        let may_mean_it = matches.iter().any(Option::is_some) || is_given;
        // Naming a class does not hand on its constructor where only the type is meant.
        let is_handed_on = may_mean_it && (call.is_some() || !self.is_mere_type(file, expression));
        let is_namesake = !may_mean_it
            && call.is_some()
            && expression.kind() == Kind::Attribute
            && entities.contains(&Entity::Unknown);
        if is_handed_on || is_namesake {
            calls.unsure.push(Location { path: path.clone(), span: spelled.span() });
        }
    }

    /// How many parameters are filled if the entity, called, runs the function; `None` if it does not.
    fn bound_by(&self, entity: &Entity) -> Option<usize> {
        match entity {
            Entity::Function { definition, receiver } if *definition == self.function.definition => {
                Some(match (self.function.method, receiver) {
                    (Some(MethodKind::Instance), Receiver::Instance) => 1,
                    (Some(MethodKind::Class), Receiver::Instance | Receiver::Class) => 1,
                    _ => 0,
                })
            }
            Entity::Class(class) if self.constructed.contains(class) => Some(self.function.bound_count()),
            _ => None,
        }
    }

    /// For calls that somebody else vouches for.
    fn bound_by_receiver(&self, file: usize, callee: Node<'a>) -> usize {
        let receiver = callee.child(Field::Value);
        let is_class = |receiver: Node<'a>| {
            self.names.entities(file, receiver).iter().any(|entity| matches!(entity, Entity::Class(_)))
        };
        match self.function.method {
            Some(MethodKind::Instance) => usize::from(!receiver.is_some_and(is_class)),
            Some(MethodKind::Class) => 1,
            _ => 0,
        }
    }

    /// Whether a class is named only as a type: in an annotation, as a base, as a receiver.
    fn is_mere_type(&self, file: usize, expression: Node<'a>) -> bool {
        let is_class =
            self.names.entities(file, expression).iter().all(|entity| matches!(entity, Entity::Class(_)));
        is_class
            && (matches!(
                expression.field(),
                Field::Annotation | Field::Returns | Field::Bases | Field::Cls | Field::Exc | Field::Slice
            ) || expression
                .parent()
                .is_some_and(|parent| matches!(parent.kind(), Kind::Attribute | Kind::Subscript))
                || expression
                    .ancestors()
                    .any(|node| matches!(node.field(), Field::Annotation | Field::Returns))
                || expression.parent().is_some_and(|parent| {
                    parent.kind() == Kind::Call
                        && parent.child(Field::Func).is_some_and(|function| {
                            matches!(function.text(), "isinstance" | "issubclass" | "super")
                        })
                }))
    }
}

/// For a constructor: the class and all that inherit it.
fn constructed_classes(names: &Names<'_>, function: &Function<'_>) -> Vec<Definition> {
    let is_constructor = matches!(function.name, "__init__" | "__new__") && function.class.is_some();
    if !is_constructor {
        return Vec::new();
    }
    let mut classes = names.classes();
    classes.retain(|class| names.method(*class, function.name) == Some(function.definition));
    classes
}

/// The names the function may be called by: its own, its classes' for a constructor, and what imports rename these to.
fn spellings(names: &Names<'_>, function: &Function<'_>, constructed: &[Definition]) -> FxHashSet<String> {
    let mut spellings = FxHashSet::from_iter([function.name.to_owned()]);
    for class in constructed {
        if let Some(name) = names.node(*class).child(Field::Name) {
            spellings.insert(name.text().to_owned());
        }
    }
    if function.method == Some(MethodKind::New) || !constructed.is_empty() {
        spellings.insert("cls".to_owned());
    }
    loop {
        let before = spellings.len();
        for content in &names.project.files {
            for alias in content.parsed.nodes_of(Kind::Alias) {
                if let (Some(name), Some(alias)) = (alias.child(Field::Name), alias.child(Field::Asname))
                    && spellings.contains(name.text())
                {
                    spellings.insert(alias.text().to_owned());
                }
            }
        }
        if spellings.len() == before {
            return spellings;
        }
    }
}

/// Methods of the same name up and down the inheritance, which callers may reach instead.
fn notes(names: &Names<'_>, function: &Function<'_>) -> Vec<Note> {
    let Some(own) = function.class else { return Vec::new() };
    if matches!(function.name, "__init__" | "__new__") {
        return Vec::new();
    }
    let mut notes = Vec::new();
    let upwards = names.lineage(own);
    for class in names.classes() {
        let is_above = class != own && upwards.contains(&class);
        let is_below = class != own && names.lineage(class).contains(&own);
        if !is_above && !is_below {
            continue;
        }
        let class_node = names.node(class);
        let relative = class_node.list(Field::Body).find(|node| {
            node.kind() == Kind::FunctionDef
                && node.child(Field::Name).is_some_and(|name| name.text() == function.name)
        });
        let Some(name) = relative.and_then(|node| node.child(Field::Name)) else { continue };
        let place = Place::new(names.project, class.file, name.span());
        let message = if is_below {
            "this method overrides the changed one and keeps its own parameters"
        } else {
            "the changed method overrides this one, which keeps its own parameters"
        };
        notes.push(Note {
            location: Location { path: place.path, span: place.span },
            message: message.to_owned(),
        });
    }
    notes
}
