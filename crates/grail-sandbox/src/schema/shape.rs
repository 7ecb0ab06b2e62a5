//! The shape a schema describes, as far as Python types can say it: a flat graph, so that recursive schemas are just cycles of
//! numbers and no walk follows the depth of the schema. What a shape leaves out (ranges, patterns, conditions) is the validator's.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value as Json};

use crate::stub::{class_name, is_attribute_name};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ShapeId(u32);

#[derive(Debug)]
pub(crate) enum Shape {
    /// Anything; also what has no better description.
    Any,
    /// Nothing fits.
    Never,
    None,
    Bool,
    Int,
    Float,
    Str,
    /// Strings, integers, booleans and null.
    Literal(Vec<Json>),
    List(ShapeId),
    /// An array of exactly these.
    Tuple(Vec<ShapeId>),
    /// An object with free names.
    Map(ShapeId),
    Object(Object),
    Union(Vec<ShapeId>),
}

/// An object with known properties.
#[derive(Debug)]
pub(crate) struct Object {
    /// Unique within the schema.
    pub(crate) class: String,
    pub(crate) doc: Option<String>,
    pub(crate) fields: Vec<Field>,
    /// What other properties hold, if the schema invites them.
    pub(crate) others: Option<ShapeId>,
    /// Other properties are refused.
    pub(crate) is_closed: bool,
    /// Every property can be an attribute, so below the top level it is a record.
    pub(crate) is_record: bool,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) shape: ShapeId,
    pub(crate) is_required: bool,
    pub(crate) default: Option<Json>,
    pub(crate) doc: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Shapes {
    shapes: Vec<Shape>,
    root: ShapeId,
}

impl Shapes {
    pub(crate) const ANY: ShapeId = ShapeId(0);

    /// The shapes of a schema that passed its bounds.
    pub(super) fn of(schema: &Json) -> Self {
        let mut builder = Builder {
            document: schema,
            shapes: vec![Shape::Any],
            known: HashMap::new(),
            waiting: VecDeque::new(),
            classes: property_names(schema),
        };
        let root = builder.shape_of(schema, "Result");
        while let Some((id, schema, hint)) = builder.waiting.pop_front() {
            let shape = builder.build(schema, &hint);
            builder.shapes[id.0 as usize] = shape;
        }
        Self { shapes: builder.shapes, root }
    }

    pub(crate) fn get(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }

    pub(crate) fn root(&self) -> ShapeId {
        self.root
    }

    /// The object at the top level.
    pub(crate) fn root_object(&self) -> Option<&Object> {
        match self.get(self.root) {
            Shape::Object(object) => Some(object),
            _ => None,
        }
    }

    /// What stands for a property that is absent: its default, or null where null fits.
    pub(crate) fn absent_value(&self, field: &Field) -> Option<Json> {
        match &field.default {
            Some(default) => Some(default.clone()),
            None if !field.is_required && self.takes_null(field.shape) => Some(Json::Null),
            None => None,
        }
    }

    pub(crate) fn takes_null(&self, id: ShapeId) -> bool {
        let is_null = |id: &ShapeId| match self.get(*id) {
            Shape::None => true,
            Shape::Literal(values) => values.contains(&Json::Null),
            _ => false,
        };
        match self.get(id) {
            Shape::Union(alternatives) => alternatives.iter().any(is_null),
            _ => is_null(&id),
        }
    }
}

impl Object {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Follows a reference into the document.
pub(super) fn resolve<'a>(document: &'a Json, reference: &str) -> Option<&'a Json> {
    let pointer = reference.strip_prefix('#')?;
    if pointer.contains('%') { None } else { document.pointer(pointer) }
}

struct Builder<'a> {
    document: &'a Json,
    shapes: Vec<Shape>,
    /// By the address of the subschema.
    known: HashMap<*const Json, ShapeId>,
    waiting: VecDeque<(ShapeId, &'a Json, String)>,
    /// The names classes cannot have any more. In a class, a field hides a class of the same name, so properties count too.
    classes: HashSet<String>,
}

impl<'a> Builder<'a> {
    /// The shape of a subschema, built now or later. `hint` names its class, if it needs one and has no better name.
    fn shape_of(&mut self, schema: &'a Json, hint: &str) -> ShapeId {
        let (schema, hint) = self.follow(schema, hint);
        if let Some(id) = self.known.get(&std::ptr::from_ref(schema)) {
            return *id;
        }
        let id = self.push(Shape::Any);
        self.known.insert(schema, id);
        self.waiting.push_back((id, schema, hint));
        id
    }

    fn push(&mut self, shape: Shape) -> ShapeId {
        self.shapes.push(shape);
        ShapeId(self.shapes.len() as u32 - 1)
    }

    /// Follows references, and `allOf`s of one, for as long as the schema says nothing else. Ends: circles were refused before.
    fn follow(&self, schema: &'a Json, hint: &str) -> (&'a Json, String) {
        let (mut schema, mut hint) = (schema, hint.to_owned());
        while let Json::Object(fields) = schema {
            let says_more =
                fields.keys().any(|name| is_structural(name) && name != "$ref" && name != "allOf");
            let target = match (fields.get("$ref"), fields.get("allOf").and_then(Json::as_array)) {
                (Some(Json::String(reference)), None) if !says_more => resolve(self.document, reference)
                    .inspect(|_| {
                        if let Some((_, key)) = reference.rsplit_once('/') {
                            hint = key.to_owned();
                        }
                    }),
                (None, Some(parts)) if parts.len() == 1 && !says_more => parts.first(),
                _ => None,
            };
            match target {
                Some(target) => schema = target,
                None => break,
            }
        }
        (schema, hint)
    }

    fn build(&mut self, schema: &'a Json, hint: &str) -> Shape {
        let fields = match schema {
            Json::Object(fields) => fields,
            Json::Bool(false) => return Shape::Never,
            _ => return Shape::Any,
        };
        if let Some(value) = fields.get("const") {
            return literal(std::slice::from_ref(value));
        }
        if let Some(values) = fields.get("enum").and_then(Json::as_array) {
            return literal(values);
        }
        let mut parts = Vec::new();
        self.collect_parts(fields, &mut parts);
        if parts.iter().any(|part| part.contains_key("properties")) {
            return self.object(fields, &parts, hint);
        }
        for part in &parts {
            for keyword in ["anyOf", "oneOf"] {
                if let Some(alternatives) = part.get(keyword).and_then(Json::as_array) {
                    return self.union(alternatives, hint);
                }
            }
        }
        let Some(part) =
            parts.iter().copied().find(|part| part.contains_key("type")).or(parts.first().copied())
        else {
            return Shape::Any;
        };
        match part.get("type") {
            Some(Json::String(name)) => self.typed(name, part, hint),
            Some(Json::Array(names)) => {
                let names: Vec<&str> = names.iter().filter_map(Json::as_str).collect();
                if let [name] = names.as_slice() {
                    return self.typed(name, part, hint);
                }
                let mut alternatives = Vec::new();
                for name in names {
                    let shape = self.typed(name, part, hint);
                    alternatives.push(self.push(shape));
                }
                Shape::Union(alternatives)
            }
            _ if part.contains_key("items") || part.contains_key("prefixItems") => {
                self.typed("array", part, hint)
            }
            // Without a type, `additionalProperties` alone says nothing about values that are no objects.
            _ => Shape::Any,
        }
    }

    /// This schema and everything that holds together with it. Bounded: circles and long chains were refused before.
    fn collect_parts(&self, fields: &'a Map<String, Json>, parts: &mut Vec<&'a Map<String, Json>>) {
        parts.push(fields);
        let reference =
            fields.get("$ref").and_then(Json::as_str).and_then(|reference| resolve(self.document, reference));
        let all = fields.get("allOf").and_then(Json::as_array).into_iter().flatten();
        for schema in reference.into_iter().chain(all) {
            if let Json::Object(fields) = schema {
                self.collect_parts(fields, parts);
            }
        }
    }

    fn typed(&mut self, name: &str, fields: &'a Map<String, Json>, hint: &str) -> Shape {
        match name {
            "null" => Shape::None,
            "boolean" => Shape::Bool,
            "integer" => Shape::Int,
            "number" => Shape::Float,
            "string" => Shape::Str,
            "array" => self.array(fields, hint),
            "object" => self.map(fields, hint),
            _ => Shape::Any,
        }
    }

    fn array(&mut self, fields: &'a Map<String, Json>, hint: &str) -> Shape {
        let item_hint = format!("{hint}Item");
        let items = fields.get("items");
        // `items` as an array is how drafts before 2020-12 write `prefixItems`.
        let (prefix, rest) = match (fields.get("prefixItems"), items) {
            (Some(Json::Array(prefix)), rest) => (prefix, rest),
            (None, Some(Json::Array(prefix))) => (prefix, fields.get("additionalItems")),
            (_, Some(items)) => return Shape::List(self.shape_of(items, &item_hint)),
            (_, None) => return Shape::List(Shapes::ANY),
        };
        let length = prefix.len() as u64;
        let limit = |keyword: &str| fields.get(keyword).and_then(Json::as_u64);
        let ends = rest == Some(&Json::Bool(false)) || limit("maxItems") == Some(length);
        if !ends || limit("minItems") != Some(length) {
            return Shape::List(Shapes::ANY);
        }
        Shape::Tuple(prefix.iter().map(|schema| self.shape_of(schema, &item_hint)).collect())
    }

    fn map(&mut self, fields: &'a Map<String, Json>, hint: &str) -> Shape {
        let value_hint = format!("{hint}Value");
        let patterns = fields.get("patternProperties").and_then(Json::as_object);
        match (fields.get("additionalProperties"), patterns) {
            (Some(Json::Bool(false)), Some(patterns)) if patterns.len() == 1 => {
                let value = patterns.values().next().map(|schema| self.shape_of(schema, &value_hint));
                Shape::Map(value.unwrap_or(Shapes::ANY))
            }
            (Some(schema @ Json::Object(_)), None) => Shape::Map(self.shape_of(schema, &value_hint)),
            _ => Shape::Map(Shapes::ANY),
        }
    }

    fn union(&mut self, alternatives: &'a [Json], hint: &str) -> Shape {
        let shapes: Vec<ShapeId> = alternatives
            .iter()
            .enumerate()
            .map(|(index, schema)| {
                let is_only_object = alternatives.iter().filter(|schema| is_object(schema)).count() == 1;
                if is_only_object {
                    self.shape_of(schema, hint)
                } else {
                    self.shape_of(schema, &format!("{hint}{}", index + 1))
                }
            })
            .collect();
        Shape::Union(shapes)
    }

    fn object(&mut self, own: &'a Map<String, Json>, parts: &[&'a Map<String, Json>], hint: &str) -> Shape {
        let own_title = own.get("title").and_then(Json::as_str);
        let class = self.claim_class(own_title.unwrap_or(hint));
        let required: HashSet<&str> = parts
            .iter()
            .filter_map(|part| part.get("required").and_then(Json::as_array))
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let mut fields: Vec<Field> = Vec::new();
        let mut positions: HashMap<&str, usize> = HashMap::new();
        for part in parts {
            for (name, schema) in part.get("properties").and_then(Json::as_object).into_iter().flatten() {
                let field = Field {
                    name: name.clone(),
                    shape: self.shape_of(schema, name),
                    is_required: required.contains(name.as_str()),
                    default: self.annotation(schema, "default").cloned(),
                    doc: self.annotation(schema, "description").and_then(Json::as_str).map(str::to_owned),
                };
                match positions.get(name.as_str()) {
                    // The first part is the schema itself, which knows best.
                    Some(at) if matches!(self.shapes[fields[*at].shape.0 as usize], Shape::Never) => {
                        fields[*at] = field
                    }
                    Some(_) => {}
                    None => {
                        positions.insert(name, fields.len());
                        fields.push(field);
                    }
                }
            }
        }
        let invites = |keyword: &str| parts.iter().find_map(|part| part.get(keyword));
        let others = match invites("additionalProperties") {
            Some(Json::Bool(true)) => Some(Shapes::ANY),
            Some(schema @ Json::Object(_)) => Some(self.shape_of(schema, &format!("{hint}Value"))),
            // Alternatives beside the properties may add some.
            _ if ["anyOf", "oneOf", "patternProperties"].iter().any(|keyword| invites(keyword).is_some()) => {
                Some(Shapes::ANY)
            }
            _ => None,
        };
        let is_closed = parts.iter().any(|part| {
            ["additionalProperties", "unevaluatedProperties"]
                .iter()
                .any(|keyword| part.get(*keyword) == Some(&Json::Bool(false)))
        });
        Shape::Object(Object {
            class,
            doc: own.get("description").and_then(Json::as_str).map(str::to_owned),
            is_record: fields.iter().all(|field| is_attribute_name(&field.name)),
            fields,
            others,
            is_closed,
        })
    }

    /// An annotation of a property: its own, else that of what it refers to.
    fn annotation(&self, schema: &'a Json, keyword: &str) -> Option<&'a Json> {
        schema.get(keyword).or_else(|| {
            let (target, _) = self.follow(schema, "");
            if keyword == "default" { target.get(keyword) } else { None }
        })
    }

    fn claim_class(&mut self, wish: &str) -> String {
        let wish = class_name(wish);
        let mut name = wish.clone();
        let mut number = 2;
        while !self.classes.insert(name.clone()) {
            name = format!("{wish}{number}");
            number += 1;
        }
        name
    }
}

fn property_names(schema: &Json) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut stack = vec![schema];
    while let Some(json) = stack.pop() {
        match json {
            Json::Array(items) => stack.extend(items),
            Json::Object(fields) => {
                let properties = fields.get("properties").and_then(Json::as_object);
                let keys = properties.into_iter().flat_map(Map::keys);
                names.extend(keys.filter(|name| name.starts_with(char::is_uppercase)).cloned());
                stack.extend(fields.values());
            }
            _ => {}
        }
    }
    names
}

/// Whether a keyword bears on the shape.
fn is_structural(keyword: &str) -> bool {
    matches!(
        keyword,
        "$ref"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "type"
            | "properties"
            | "items"
            | "prefixItems"
            | "enum"
            | "const"
            | "additionalProperties"
            | "patternProperties"
            | "required"
    )
}

fn is_object(schema: &Json) -> bool {
    schema.get("properties").is_some() || schema.get("$ref").is_some()
}

fn literal(values: &[Json]) -> Shape {
    let is_plain = |value: &Json| match value {
        Json::Null | Json::Bool(_) | Json::String(_) => true,
        Json::Number(number) => number.is_i64(),
        Json::Array(_) | Json::Object(_) => false,
    };
    if !values.is_empty() && values.iter().all(is_plain) {
        Shape::Literal(values.to_vec())
    } else {
        Shape::Any
    }
}
