//! What a tool takes and returns, from JSON Schemas, from Rust types or from Python.

use std::sync::Arc;

use super::literal::python_literal;
use super::name::{is_attribute_name, is_free_name};
use super::parse::{self, Declarations};
use super::types::{Classes, Direction};
use crate::error::SandboxError;
use crate::schema::Schema;
use crate::schema::shape::{Shape, ShapeId};

/// How a tool is called.
#[derive(Clone, Debug)]
pub struct Signature {
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// The return type, as Python writes it.
    pub returns: String,
    pub is_async: bool,
    pub doc: Option<String>,
    /// `[T]` of a generic function.
    pub(super) type_parameters: String,
    pub(super) arguments: Option<Schema>,
    pub(super) result: Option<Schema>,
    /// What stands beside the function in its stub.
    pub(super) declarations: Option<Arc<Declarations>>,
}

/// One parameter. What it accepts is written as Python writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub kind: ParameterKind,
    pub annotation: String,
    /// `...` where the argument may be left out but the default is not known.
    pub default: Option<String>,
    /// Where the annotation comes from, so that a module can write it with its own names.
    pub(super) shape: Option<ShapeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterKind {
    PositionalOnly,
    /// By position or by keyword.
    Normal,
    VarArgs,
    KeywordOnly,
    VarKwargs,
}

/// How long a default may be and still be shown.
const MAX_DEFAULT: usize = 60;

impl Signature {
    /// A tool whose arguments are the properties of one schema and whose result is described by another. Required arguments come
    /// first; all can be given by keyword. Properties that are no Python names can be given as `**{"name": value}`.
    ///
    /// # Errors
    /// `name` cannot be the name of a tool, or `arguments` does not describe an object.
    pub fn from_schemas(
        name: &str,
        arguments: Option<&Schema>,
        result: Option<&Schema>,
    ) -> Result<Self, SandboxError> {
        check_name(name)?;
        let mut classes = Classes::default();
        let returns = match result {
            None => "Any".to_owned(),
            Some(schema) => {
                let shapes = schema.shapes();
                let names = classes.declare(shapes, &[shapes.root()], Direction::Incoming);
                classes.annotation(shapes, shapes.root(), &names)
            }
        };
        let mut parameters = Vec::new();
        if let Some(schema) = arguments {
            parameters = schema_parameters(name, schema)?;
            let shapes = schema.shapes();
            let starts: Vec<ShapeId> = parameters.iter().filter_map(|parameter| parameter.shape).collect();
            let names = classes.declare(shapes, &starts, Direction::Outgoing);
            for parameter in &mut parameters {
                if let Some(shape) = parameter.shape {
                    parameter.annotation = classes.annotation(shapes, shape, &names);
                }
            }
        }
        Ok(Self {
            name: name.to_owned(),
            parameters,
            returns,
            is_async: false,
            doc: arguments.and_then(|schema| schema.json().get("description")?.as_str().map(str::to_owned)),
            type_parameters: String::new(),
            arguments: arguments.cloned(),
            result: result.cloned(),
            declarations: None,
        })
    }

    /// A tool whose arguments are the fields of a Rust type.
    ///
    /// # Errors
    /// As for [`Signature::from_schemas`].
    pub fn of<Arguments: schemars::JsonSchema, Result_: schemars::JsonSchema>(
        name: &str,
    ) -> Result<Self, SandboxError> {
        Self::from_schemas(name, Some(&Schema::of_tool::<Arguments>()?), Some(&Schema::of_tool::<Result_>()?))
    }

    /// A tool written as Python: `async def fetch(url: str, *, retries: int = 3) -> str: ...`
    ///
    /// # Errors
    /// The text is not one function, with the classes and aliases it needs.
    pub fn parse(text: &str) -> Result<Self, SandboxError> {
        let mut signatures = Self::parse_all(text)?;
        match (signatures.pop(), signatures.is_empty()) {
            (Some(signature), true) => Ok(signature),
            (None, _) => Err(SandboxError::Signature { reason: "the stub has no function".to_owned() }),
            (Some(_), false) => Err(SandboxError::Signature {
                reason: "the stub has more than one function; parse all of them at once".to_owned(),
            }),
        }
    }

    /// The tools of a stub file. Imports, classes, aliases and type variables in it are carried along as they are written.
    ///
    /// # Errors
    /// The text does not parse, or holds something that is no declaration.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, SandboxError> {
        parse::parse(text)
    }

    #[must_use]
    pub fn with_doc(mut self, doc: impl Into<String>) -> Self {
        self.doc = Some(doc.into());
        self
    }

    /// The same tool, to be awaited.
    #[must_use]
    pub fn asynchronous(mut self) -> Self {
        self.is_async = true;
        self
    }

    /// The same tool under another name.
    ///
    /// # Errors
    /// No tool can have that name.
    pub fn renamed(mut self, name: &str) -> Result<Self, SandboxError> {
        check_name(name)?;
        name.clone_into(&mut self.name);
        Ok(self)
    }

    /// The schema of the arguments, as one object, if there is one.
    pub fn arguments(&self) -> Option<&Schema> {
        self.arguments.as_ref()
    }

    /// The schema of the result, if there is one.
    pub fn result(&self) -> Option<&Schema> {
        self.result.as_ref()
    }

    /// The function as Python declares it, on one line, without its documentation.
    pub fn header(&self) -> String {
        let annotations: Vec<&str> =
            self.parameters.iter().map(|parameter| parameter.annotation.as_str()).collect();
        self.header_with(&annotations, &self.returns, false)
    }

    /// As a function, or as a method of the object `tools`.
    pub(super) fn header_with(
        &self,
        annotations: &[impl AsRef<str>],
        returns: &str,
        is_method: bool,
    ) -> String {
        let parameters = parameters_text(&self.parameters, annotations, is_method);
        let keyword = if self.is_async { "async def" } else { "def" };
        format!("{keyword} {}{}({parameters}) -> {returns}:", self.name, self.type_parameters)
    }
}

impl Parameter {
    pub fn new(name: impl Into<String>, kind: ParameterKind, annotation: impl Into<String>) -> Self {
        Self { name: name.into(), kind, annotation: annotation.into(), default: None, shape: None }
    }

    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}

pub(super) fn check_name(name: &str) -> Result<(), SandboxError> {
    if is_free_name(name) {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(SandboxError::Signature {
        reason: format!(
            "`{shown}` cannot be the name of a tool: it is no Python name, or has a meaning of its own"
        ),
    })
}

fn schema_parameters(tool: &str, schema: &Schema) -> Result<Vec<Parameter>, SandboxError> {
    let shapes = schema.shapes();
    let object = match shapes.get(shapes.root()) {
        Shape::Object(object) => object,
        Shape::None => return Ok(Vec::new()),
        Shape::Map(value) => {
            let mut others = Parameter::new("others", ParameterKind::VarKwargs, "Any");
            others.shape = Some(*value);
            let is_empty = schema.json().get("additionalProperties") != Some(&serde_json::Value::Bool(true))
                && schema.json().get("additionalProperties").is_none_or(serde_json::Value::is_boolean);
            return Ok(if is_empty { Vec::new() } else { vec![others] });
        }
        _ => {
            return Err(SandboxError::Signature {
                reason: format!("the arguments of `{tool}` must be described by an object with properties"),
            });
        }
    };
    let (mut required, mut optional) = (Vec::new(), Vec::new());
    let mut others = object.others.map(|shape| (shape, 1));
    for field in &object.fields {
        if !is_attribute_name(&field.name) {
            let count = others.map_or(0, |(_, count)| count);
            others = Some((field.shape, count + 1));
            continue;
        }
        let mut parameter = Parameter::new(&field.name, ParameterKind::Normal, "Any");
        parameter.shape = Some(field.shape);
        if field.is_required {
            required.push(parameter);
            continue;
        }
        let default = shapes.absent_value(field).and_then(|value| python_literal(&value, MAX_DEFAULT));
        optional.push(parameter.with_default(default.unwrap_or_else(|| "...".to_owned())));
    }
    required.append(&mut optional);
    if let Some((shape, count)) = others {
        let mut name = "others".to_owned();
        while object.field(&name).is_some() {
            name.push('_');
        }
        let mut parameter = Parameter::new(name, ParameterKind::VarKwargs, "Any");
        parameter.shape = (count == 1).then_some(shape);
        required.push(parameter);
    }
    Ok(required)
}

fn parameters_text(parameters: &[Parameter], annotations: &[impl AsRef<str>], is_method: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut previous = None;
    if is_method {
        let mut name = "self".to_owned();
        while parameters.iter().any(|parameter| parameter.name == name) {
            name.push('_');
        }
        parts.push(name);
        previous = Some(ParameterKind::PositionalOnly);
    }
    for (parameter, annotation) in parameters.iter().zip(annotations) {
        let kind = parameter.kind;
        if previous == Some(ParameterKind::PositionalOnly) && kind != ParameterKind::PositionalOnly {
            parts.push("/".to_owned());
        }
        let has_star = matches!(previous, Some(ParameterKind::KeywordOnly | ParameterKind::VarArgs));
        if kind == ParameterKind::KeywordOnly && !has_star {
            parts.push("*".to_owned());
        }
        let prefix = match kind {
            ParameterKind::VarArgs => "*",
            ParameterKind::VarKwargs => "**",
            _ => "",
        };
        let default = parameter.default.as_ref().map(|default| format!(" = {default}")).unwrap_or_default();
        parts.push(format!("{prefix}{}: {}{default}", parameter.name, annotation.as_ref()));
        previous = Some(kind);
    }
    if previous == Some(ParameterKind::PositionalOnly) {
        parts.push("/".to_owned());
    }
    parts.join(", ")
}
