//! Shapes as Python types, and the classes they need.
//!
//! A value that arrives (an input, what a tool returns) is a record, declared as a dataclass nobody can construct. A value that code
//! makes (an output, an argument) is a dict, declared as a `TypedDict`; where a record of the same kind arrives too, either will do.
//! Classes of equal names and contents are shared between schemas; others get numbers.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value as Json;

use super::literal::{comment, docstring, python_literal, python_string};
use super::name::{BUILTIN_TYPES, is_attribute_name};
use crate::schema::shape::{Object, Shape, ShapeId, Shapes};

/// Which way values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Direction {
    /// From the host: records.
    Incoming,
    /// From the code: dicts, or records it was given.
    Outgoing,
}

/// How many types one annotation may consist of; what is larger helps nobody.
const MAX_ANNOTATION: usize = 200;
const MAX_LITERALS: usize = 64;
const MAX_LITERAL_TEXT: usize = 60;

/// The classes of a module.
#[derive(Debug, Default)]
pub(super) struct Classes {
    /// In the order of declaration: name and text.
    declared: Vec<(String, String)>,
    positions: HashMap<String, usize>,
    /// Names something else has.
    taken: HashSet<String>,
    records: HashSet<String>,
    pub(super) imports: Imports,
}

/// What the written types need from `typing` and other modules.
#[derive(Debug, Default)]
pub(super) struct Imports {
    pub(super) typing: BTreeSet<&'static str>,
    pub(super) builtins: bool,
    pub(super) dataclass: bool,
}

/// The names of one schema's classes in a module.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<ShapeId, Named>);

#[derive(Clone, Debug)]
struct Named {
    name: String,
    /// The record that may be given instead.
    record: Option<String>,
}

impl Classes {
    pub(super) fn take(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    pub(super) fn declared(&self) -> impl Iterator<Item = (&str, &str)> {
        self.declared.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Declares the classes that these shapes need.
    pub(super) fn declare(&mut self, shapes: &Shapes, starts: &[ShapeId], direction: Direction) -> Names {
        let needed = reachable_objects(shapes, starts);
        let mut names = Names::default();
        for (id, object) in &needed {
            names.0.insert(*id, Named { name: object.class.clone(), record: None });
        }
        if direction == Direction::Outgoing {
            self.offer_records(shapes, &needed, &mut names);
        }
        // A new name changes the text of every class that mentions it, so that one may no longer be shared either.
        for round in 0.. {
            let mut changed = false;
            let mut fresh: HashSet<String> = HashSet::new();
            for (id, object) in &needed {
                let name = names.name(*id).to_owned();
                let text = self.class_text(shapes, object, &name, &names, direction);
                let is_free = !self.taken.contains(&name)
                    && !fresh.contains(&name)
                    && match self.positions.get(&name) {
                        Some(at) => self.declared[*at].1 == text && round < 8,
                        None => true,
                    };
                if is_free {
                    fresh.insert(name);
                    continue;
                }
                let other = self.free_name(&object.class, &fresh);
                fresh.insert(other.clone());
                if let Some(named) = names.0.get_mut(id) {
                    named.name = other;
                }
                changed = true;
            }
            if !changed {
                break;
            }
        }
        for (id, object) in &needed {
            let name = names.name(*id).to_owned();
            if self.positions.contains_key(&name) {
                continue;
            }
            let text = self.class_text(shapes, object, &name, &names, direction);
            self.positions.insert(name.clone(), self.declared.len());
            if direction == Direction::Incoming && object.is_record {
                self.records.insert(name.clone());
            }
            self.declared.push((name, text));
        }
        names
    }

    /// Finds the records that already arrive and are what the code would have to make.
    fn offer_records(&mut self, shapes: &Shapes, needed: &[(ShapeId, &Object)], names: &mut Names) {
        let arriving = Names(names.0.clone());
        for (id, object) in needed {
            if !object.is_record || !self.records.contains(&object.class) {
                continue;
            }
            let text = self.class_text(shapes, object, &object.class, &arriving, Direction::Incoming);
            let declared = self.positions.get(&object.class).map(|at| &self.declared[*at].1);
            if declared == Some(&text) {
                let dict = format!("{}Dict", object.class);
                names.0.insert(*id, Named { name: dict, record: Some(object.class.clone()) });
            }
        }
    }

    fn free_name(&self, wish: &str, fresh: &HashSet<String>) -> String {
        let is_free = |name: &String| {
            !self.taken.contains(name) && !self.positions.contains_key(name) && !fresh.contains(name)
        };
        (2..).map(|number| format!("{wish}{number}")).find(is_free).unwrap_or_default()
    }

    /// The annotation of a shape.
    pub(super) fn annotation(&mut self, shapes: &Shapes, id: ShapeId, names: &Names) -> String {
        self.qualified_annotation(shapes, id, names, false)
    }

    fn qualified_annotation(&mut self, shapes: &Shapes, id: ShapeId, names: &Names, qualify: bool) -> String {
        let mut writer = Writer {
            shapes,
            names,
            imports: &mut self.imports,
            qualify,
            stack: Vec::new(),
            budget: MAX_ANNOTATION,
        };
        writer.write(id)
    }

    fn class_text(
        &mut self,
        shapes: &Shapes,
        object: &Object,
        name: &str,
        names: &Names,
        direction: Direction,
    ) -> String {
        if direction == Direction::Incoming && object.is_record {
            self.dataclass(shapes, object, name, names)
        } else {
            self.typed_dict(shapes, object, name, names, direction)
        }
    }

    fn dataclass(&mut self, shapes: &Shapes, object: &Object, name: &str, names: &Names) -> String {
        self.imports.dataclass = true;
        let mut text = format!("@dataclass(init=False)\nclass {name}:\n");
        let start = text.len();
        docstring(object.doc.as_deref().unwrap_or_default(), "    ", &mut text);
        let qualify = hides_types(object);
        for field in &object.fields {
            comment(field.doc.as_deref().unwrap_or_default(), "    ", &mut text);
            let annotation = self.qualified_annotation(shapes, field.shape, names, qualify);
            let absent = if field.is_required || shapes.absent_value(field).is_some() {
                ""
            } else {
                "  # may be absent"
            };
            text.push_str(&format!("    {}: {annotation}{absent}\n", field.name));
        }
        if let Some(others) = object.others {
            let annotation = self.qualified_annotation(shapes, others, names, qualify);
            let name = if qualify { "builtins.str" } else { "str" };
            text.push_str(&format!("    def __getattr__(self, name: {name}, /) -> {annotation}: ...\n"));
            self.imports.builtins |= qualify;
        }
        if text.len() == start {
            text.push_str("    ...\n");
        }
        text
    }

    /// A `TypedDict`; one that invites other keys than it names has no better type than a free-form dict.
    pub(super) fn typed_dict(
        &mut self,
        shapes: &Shapes,
        object: &Object,
        name: &str,
        names: &Names,
        direction: Direction,
    ) -> String {
        if object.others.is_some() {
            self.imports.typing.insert("Any");
            return format!("{name} = dict[str, Any]\n");
        }
        self.imports.typing.insert("TypedDict");
        let can_be_class = object.fields.iter().all(|field| is_attribute_name(&field.name));
        let qualify = can_be_class && hides_types(object);
        let mut text = if can_be_class {
            let mut text = format!("class {name}(TypedDict):\n");
            docstring(object.doc.as_deref().unwrap_or_default(), "    ", &mut text);
            text
        } else {
            format!("{name} = TypedDict(\"{name}\", {{\n")
        };
        for field in &object.fields {
            comment(field.doc.as_deref().unwrap_or_default(), "    ", &mut text);
            let mut annotation = self.qualified_annotation(shapes, field.shape, names, qualify);
            let is_there = field.is_required
                || (direction == Direction::Incoming && shapes.absent_value(field).is_some());
            if !is_there {
                self.imports.typing.insert("NotRequired");
                annotation = format!("NotRequired[{annotation}]");
            }
            text.push_str(&if can_be_class {
                format!("    {}: {annotation}\n", field.name)
            } else {
                format!("    {}: {annotation},\n", python_string(&field.name))
            });
        }
        if !can_be_class {
            text.push_str("})\n");
        } else if object.fields.is_empty() {
            text.push_str("    ...\n");
        }
        text
    }
}

impl Names {
    fn name(&self, id: ShapeId) -> &str {
        self.0.get(&id).map_or("Any", |named| named.name.as_str())
    }
}

/// Inside a class, a field named `list` hides the type of that name.
fn hides_types(object: &Object) -> bool {
    object.fields.iter().any(|field| BUILTIN_TYPES.contains(&field.name.as_str()))
}

/// The objects below these shapes, in the order of discovery.
fn reachable_objects<'a>(shapes: &'a Shapes, starts: &[ShapeId]) -> Vec<(ShapeId, &'a Object)> {
    let mut seen: HashSet<ShapeId> = HashSet::new();
    let mut stack: Vec<ShapeId> = starts.iter().rev().copied().collect();
    let mut objects = Vec::new();
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match shapes.get(id) {
            Shape::List(child) | Shape::Map(child) => stack.push(*child),
            Shape::Tuple(children) | Shape::Union(children) => stack.extend(children.iter().rev()),
            Shape::Object(object) => {
                objects.push((id, object));
                stack.extend(object.others);
                stack.extend(object.fields.iter().rev().map(|field| field.shape));
            }
            _ => {}
        }
    }
    objects
}

struct Writer<'a> {
    shapes: &'a Shapes,
    names: &'a Names,
    imports: &'a mut Imports,
    qualify: bool,
    /// A shape within itself, without a class between, has no finite type.
    stack: Vec<ShapeId>,
    budget: usize,
}

impl Writer<'_> {
    fn write(&mut self, id: ShapeId) -> String {
        let mut parts = Parts::default();
        self.collect(id, &mut parts);
        if parts.is_any || (parts.types.is_empty() && parts.literals.is_empty() && !parts.is_optional) {
            return self.typing(if parts.is_any { "Any" } else { "Never" });
        }
        let mut types = Vec::new();
        if !parts.literals.is_empty() {
            types.push(format!("{}[{}]", self.typing("Literal"), parts.literals.join(", ")));
        }
        types.extend(parts.types);
        if parts.is_optional {
            types.push("None".to_owned());
        }
        types.join(" | ")
    }

    /// Adds the alternatives that a shape stands for.
    fn collect(&mut self, id: ShapeId, parts: &mut Parts) {
        if self.budget == 0 || self.stack.contains(&id) {
            parts.is_any = true;
            return;
        }
        self.budget -= 1;
        self.stack.push(id);
        match self.shapes.get(id) {
            Shape::Any => parts.is_any = true,
            Shape::Never => {}
            Shape::None => parts.is_optional = true,
            Shape::Bool => parts.add(self.builtin("bool")),
            Shape::Int => parts.add(self.builtin("int")),
            Shape::Float => parts.add(self.builtin("float")),
            Shape::Str => parts.add(self.builtin("str")),
            Shape::Literal(values) => self.collect_literals(values, parts),
            Shape::List(element) => {
                let element = self.write(*element);
                parts.add(format!("{}[{element}]", self.builtin("list")));
            }
            Shape::Tuple(elements) => {
                let elements: Vec<String> = elements.iter().map(|element| self.write(*element)).collect();
                let elements = if elements.is_empty() { "()".to_owned() } else { elements.join(", ") };
                parts.add(format!("{}[{elements}]", self.builtin("tuple")));
            }
            Shape::Map(value) => {
                let value = self.write(*value);
                parts.add(format!("{}[{}, {value}]", self.builtin("dict"), self.builtin("str")));
            }
            Shape::Object(_) => match self.names.0.get(&id) {
                Some(named) => {
                    parts.add(named.name.clone());
                    if let Some(record) = &named.record {
                        parts.add(record.clone());
                    }
                }
                None => parts.is_any = true,
            },
            Shape::Union(alternatives) => {
                for alternative in alternatives {
                    self.collect(*alternative, parts);
                }
            }
        }
        self.stack.pop();
    }

    fn collect_literals(&mut self, values: &[Json], parts: &mut Parts) {
        let texts: Option<Vec<String>> =
            values.iter().map(|value| python_literal(value, MAX_LITERAL_TEXT)).collect();
        match texts {
            Some(texts) if values.len() <= MAX_LITERALS => {
                for (value, text) in values.iter().zip(texts) {
                    if value.is_null() {
                        parts.is_optional = true;
                    } else if !parts.literals.contains(&text) {
                        parts.literals.push(text);
                    }
                }
            }
            _ => {
                for value in values {
                    match value {
                        Json::Null => parts.is_optional = true,
                        Json::Bool(_) => parts.add(self.builtin("bool")),
                        Json::Number(_) => parts.add(self.builtin("int")),
                        _ => parts.add(self.builtin("str")),
                    }
                }
            }
        }
    }

    fn builtin(&mut self, name: &str) -> String {
        if !self.qualify {
            return name.to_owned();
        }
        self.imports.builtins = true;
        format!("builtins.{name}")
    }

    fn typing(&mut self, name: &'static str) -> String {
        self.imports.typing.insert(name);
        name.to_owned()
    }
}

/// The alternatives of a type.
#[derive(Default)]
struct Parts {
    types: Vec<String>,
    literals: Vec<String>,
    is_optional: bool,
    is_any: bool,
}

impl Parts {
    fn add(&mut self, name: String) {
        if !self.types.contains(&name) {
            self.types.push(name);
        }
    }
}
