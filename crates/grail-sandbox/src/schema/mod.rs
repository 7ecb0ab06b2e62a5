//! JSON Schemas of inputs, outputs and tool arguments.
//!
//! A [`Schema`] is compiled once and shared. It validates JSON, with messages in our own words and field paths, and it knows the
//! [`shape`] of what it describes: the same shape turns validated JSON into Python values and is written down as Python types, so
//! the two cannot disagree. Schemas are hostile until compiled: nothing is fetched, size and depth are bounded, and a reference
//! that leads back to itself is refused.

mod bounds;
mod message;
mod python;
pub(crate) mod shape;

use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value as Json;

use crate::error::SandboxError;
use crate::outcome::FieldError;
use crate::value::{TooDeep, Value};
use shape::Shapes;

/// A compiled JSON Schema. Cloning is cheap.
#[derive(Clone)]
pub struct Schema(Arc<Compiled>);

struct Compiled {
    json: Json,
    /// Made when first needed where the schema is a Rust type's. `None` if it makes no sense.
    validator: OnceLock<Option<Validator>>,
    shapes: Shapes,
}

impl Schema {
    /// Compiles a schema. The draft is what `$schema` says, else 2020-12. References lead into the schema itself.
    ///
    /// # Errors
    /// The schema is malformed, too large, nests too deep, refers to another document or to itself without end, or has a pattern
    /// that cannot be matched in linear time.
    pub fn from_json(json: Json) -> Result<Self, SandboxError> {
        bounds::check(&json)?;
        let validator = compile(&json)?;
        let shapes = Shapes::of(&json);
        Ok(Self(Arc::new(Compiled { json, validator: OnceLock::from(Some(validator)), shapes })))
    }

    /// The schema of a Rust type.
    ///
    /// # Errors
    /// The type describes itself in a way [`Schema::from_json`] refuses.
    pub fn of<T: schemars::JsonSchema>() -> Result<Self, SandboxError> {
        Self::from_json(schemars::schema_for!(T).to_value())
    }

    /// As [`Schema::of`], for what is hardly ever validated: most of the time goes into the validator, and a tool's arguments are checked
    /// by reading them into their type.
    pub(crate) fn of_tool<T: schemars::JsonSchema>() -> Result<Self, SandboxError> {
        let json = schemars::schema_for!(T).to_value();
        bounds::check(&json)?;
        let shapes = Shapes::of(&json);
        Ok(Self(Arc::new(Compiled { json, validator: OnceLock::new(), shapes })))
    }

    pub fn json(&self) -> &Json {
        &self.0.json
    }

    /// Checks a value; the errors are in the order of their paths.
    ///
    /// # Errors
    /// What does not fit, at most [`message::MAX_ERRORS`] places of it.
    pub fn validate(&self, json: &Json) -> Result<(), Vec<FieldError>> {
        if python::is_too_deep(json) {
            return Err(vec![FieldError { path: String::new(), message: TooDeep.to_string() }]);
        }
        let Some(validator) = self.0.validator.get_or_init(|| compile(&self.0.json).ok()) else {
            let message = "the schema makes no sense".to_owned();
            return Err(vec![FieldError { path: String::new(), message }]);
        };
        if validator.is_valid(json) {
            return Ok(());
        }
        Err(message::field_errors(validator.iter_errors(json), json))
    }

    /// Adds what the schema says about absent properties: their `default`, or null where null is allowed.
    pub fn fill_defaults(&self, json: &mut Json) {
        python::fill_defaults(&self.0.shapes, json);
    }

    /// JSON as Python reads it. An object with known properties becomes a record, so that code can say `inputs['user'].name`; the
    /// top level, free-form maps, and objects with properties that are no Python names become dicts.
    ///
    /// # Errors
    /// The value nests too deep.
    pub fn to_python(&self, json: &Json) -> Result<Value, TooDeep> {
        python::to_python(&self.0.shapes, json, true)
    }

    /// As [`Schema::to_python`], but the top level is a record as well: what a tool returns.
    ///
    /// # Errors
    /// The value nests too deep.
    pub fn to_python_record(&self, json: &Json) -> Result<Value, TooDeep> {
        python::to_python(&self.0.shapes, json, false)
    }

    /// The properties of the top level that can be variables of a program, in the schema's order.
    pub fn variable_names(&self) -> Vec<&str> {
        let Some(object) = self.0.shapes.root_object() else { return Vec::new() };
        let names = object.fields.iter().map(|field| field.name.as_str());
        names.filter(|name| crate::stub::is_free_name(name)).collect()
    }

    pub(crate) fn shapes(&self) -> &Shapes {
        &self.0.shapes
    }
}

fn compile(json: &Json) -> Result<Validator, SandboxError> {
    jsonschema::options()
        .offline()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES))
        .build(json)
        .map_err(|error| SandboxError::Schema {
            place: format!("#{}", error.instance_path()),
            reason: message::schema_error(&error),
        })
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Schema").field(&self.0.json).finish()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.json == other.0.json
    }
}

/// How large one compiled pattern may become.
const PATTERN_BYTES: usize = 1 << 20;
