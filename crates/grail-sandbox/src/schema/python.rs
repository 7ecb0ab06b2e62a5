//! Validated JSON as Python values, by the shape its schema describes.

use serde_json::Value as Json;

use super::shape::{Object, Shape, ShapeId, Shapes};
use crate::value::{MAX_DEPTH, Record, TooDeep, Value};

/// How far a value is looked into to choose between alternatives.
const LOOK_AHEAD: usize = 3;

pub(super) fn is_too_deep(json: &Json) -> bool {
    let mut stack = vec![(json, 0)];
    while let Some((json, depth)) = stack.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        match json {
            Json::Array(items) => stack.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(fields) => stack.extend(fields.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    false
}

pub(super) fn to_python(shapes: &Shapes, json: &Json, top_is_dict: bool) -> Result<Value, TooDeep> {
    Ok(match convert(shapes, shapes.root(), json, 0)? {
        Value::Record(record) if top_is_dict => {
            Value::Dict(record.fields.into_iter().map(|(name, value)| (Value::Str(name), value)).collect())
        }
        value => value,
    })
}

fn convert(shapes: &Shapes, shape: ShapeId, json: &Json, depth: usize) -> Result<Value, TooDeep> {
    if depth > MAX_DEPTH {
        return Err(TooDeep);
    }
    let shape = choose(shapes, shape, json);
    Ok(match json {
        Json::Array(items) => {
            let mut converted = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                converted.push(convert(shapes, element(shapes, shape, index), item, depth + 1)?);
            }
            match shapes.get(shape) {
                Shape::Tuple(elements) if elements.len() == items.len() => Value::Tuple(converted),
                _ => Value::List(converted),
            }
        }
        Json::Object(fields) => {
            let record = match shapes.get(shape) {
                Shape::Object(object) if object.is_record => Some(object),
                _ => None,
            };
            let mut converted = Vec::with_capacity(fields.len());
            for (name, value) in fields {
                let value = convert(shapes, property(shapes, shape, name), value, depth + 1)?;
                converted.push((name, value));
            }
            match record {
                Some(object) => Value::Record(Record {
                    class: object.class.clone(),
                    fields: converted.into_iter().map(|(name, value)| (name.clone(), value)).collect(),
                }),
                None => Value::Dict(
                    converted.into_iter().map(|(name, value)| (Value::str(name), value)).collect(),
                ),
            }
        }
        Json::Number(number) if matches!(shapes.get(shape), Shape::Int) => {
            match (number.as_i64(), number.as_f64()) {
                // JSON Schema calls `1.0` an integer.
                (None, Some(float)) if float.fract() == 0.0 && float.abs() < 9e15 => Value::Int(float as i64),
                _ => Value::from_json(json)?,
            }
        }
        scalar => Value::from_json(scalar)?,
    })
}

/// Defaults may have defaults of their own, twice as many at every level; what fills more than this is no longer a default.
const MOST_DEFAULTS: usize = 10_000;

/// What the schema says about absent properties.
pub(super) fn fill_defaults(shapes: &Shapes, json: &mut Json) {
    let mut left = MOST_DEFAULTS;
    fill(shapes, shapes.root(), json, 0, &mut left);
}

fn fill(shapes: &Shapes, shape: ShapeId, json: &mut Json, depth: usize, left: &mut usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let shape = choose(shapes, shape, json);
    match json {
        Json::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                fill(shapes, element(shapes, shape, index), item, depth + 1, left);
            }
        }
        Json::Object(fields) => {
            if let Shape::Object(object) = shapes.get(shape) {
                for field in &object.fields {
                    if let Some(value) = shapes.absent_value(field)
                        && !fields.contains_key(&field.name)
                        && *left > 0
                    {
                        *left -= 1;
                        fields.insert(field.name.clone(), value);
                    }
                }
            }
            for (name, value) in fields.iter_mut() {
                fill(shapes, property(shapes, shape, name), value, depth + 1, left);
            }
        }
        _ => {}
    }
}

fn element(shapes: &Shapes, shape: ShapeId, index: usize) -> ShapeId {
    match shapes.get(shape) {
        Shape::List(element) => *element,
        Shape::Tuple(elements) => elements.get(index).copied().unwrap_or(Shapes::ANY),
        _ => Shapes::ANY,
    }
}

fn property(shapes: &Shapes, shape: ShapeId, name: &str) -> ShapeId {
    match shapes.get(shape) {
        Shape::Map(value) => *value,
        Shape::Object(object) => {
            object.field(name).map_or(object.others.unwrap_or(Shapes::ANY), |field| field.shape)
        }
        _ => Shapes::ANY,
    }
}

/// The alternative a value belongs to: the first it fits as far as can be seen, preferring one that fits exactly.
fn choose(shapes: &Shapes, shape: ShapeId, json: &Json) -> ShapeId {
    let mut shape = shape;
    for _ in 0..LOOK_AHEAD {
        let Shape::Union(alternatives) = shapes.get(shape) else { return shape };
        let fitting =
            alternatives.iter().copied().find(|alternative| fits(shapes, *alternative, json, LOOK_AHEAD));
        shape = fitting.unwrap_or(Shapes::ANY);
    }
    shape
}

fn fits(shapes: &Shapes, shape: ShapeId, json: &Json, budget: usize) -> bool {
    if budget == 0 {
        return true;
    }
    match (shapes.get(shape), json) {
        (Shape::Any, _)
        | (Shape::None, Json::Null)
        | (Shape::Bool, Json::Bool(_))
        | (Shape::Float, Json::Number(_))
        | (Shape::Str, Json::String(_))
        | (Shape::Map(_), Json::Object(_)) => true,
        (Shape::Int, Json::Number(number)) => number.as_f64().is_some_and(|number| number.fract() == 0.0),
        (Shape::Literal(values), _) => values.contains(json),
        (Shape::List(element), Json::Array(items)) => {
            items.iter().take(4).all(|item| fits(shapes, *element, item, budget - 1))
        }
        (Shape::Tuple(elements), Json::Array(items)) => {
            elements.len() == items.len()
                && elements
                    .iter()
                    .zip(items)
                    .take(4)
                    .all(|(element, item)| fits(shapes, *element, item, budget - 1))
        }
        (Shape::Object(object), Json::Object(fields)) => fits_object(shapes, object, fields, budget),
        (Shape::Union(alternatives), _) => {
            alternatives.iter().any(|alternative| fits(shapes, *alternative, json, budget - 1))
        }
        _ => false,
    }
}

fn fits_object(
    shapes: &Shapes,
    object: &Object,
    fields: &serde_json::Map<String, Json>,
    budget: usize,
) -> bool {
    object.fields.iter().all(|field| match fields.get(&field.name) {
        Some(value) => fits(shapes, field.shape, value, budget - 1),
        None => !field.is_required,
    }) && (!object.is_closed || fields.keys().all(|name| object.field(name).is_some()))
}
