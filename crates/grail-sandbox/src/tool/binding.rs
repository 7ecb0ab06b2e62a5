//! Arguments to parameters, as Python binds them, and then to a Rust type.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::{Call, ToolError};
use crate::stub::{ParameterKind, Signature};

pub(super) fn bind<Arguments: DeserializeOwned>(
    signature: &Signature,
    call: &Call,
) -> Result<Arguments, ToolError> {
    let arguments = by_name(signature, call)?;
    serde_json::from_value(Json::Object(arguments))
        .map_err(|error| ToolError::type_error(format!("{}() {error}", signature.name)))
}

/// One JSON object from positional and keyword arguments. Extra positional arguments go to `*args` as an array, extra keywords to the
/// object itself, where `**kwargs` would have put them.
pub(super) fn by_name(signature: &Signature, call: &Call) -> Result<Map<String, Json>, ToolError> {
    let mut bound = Map::new();
    let mut positional = call.arguments.iter();
    let takes_position = |kind| matches!(kind, ParameterKind::PositionalOnly | ParameterKind::Normal);
    for parameter in &signature.parameters {
        if takes_position(parameter.kind) {
            if let Some(value) = positional.next() {
                bound.insert(parameter.name.clone(), value.to_json());
            }
        } else if parameter.kind == ParameterKind::VarArgs {
            bound.insert(parameter.name.clone(), positional.by_ref().map(|value| value.to_json()).collect());
        }
    }
    if positional.next().is_some() {
        let most = signature.parameters.iter().filter(|parameter| takes_position(parameter.kind)).count();
        return Err(ToolError::type_error(format!(
            "{}() takes {most} positional arguments but {} were given",
            signature.name,
            call.arguments.len()
        )));
    }
    let takes_any = signature.parameters.iter().any(|parameter| parameter.kind == ParameterKind::VarKwargs);
    for (name, value) in &call.keywords {
        let known = signature.parameters.iter().any(|parameter| {
            parameter.name == *name
                && matches!(parameter.kind, ParameterKind::Normal | ParameterKind::KeywordOnly)
        });
        if !known && !takes_any {
            return Err(ToolError::type_error(format!(
                "{}() got an unexpected keyword argument '{name}'",
                signature.name
            )));
        }
        if bound.insert(name.clone(), value.to_json()).is_some() {
            return Err(ToolError::type_error(format!(
                "{}() got multiple values for argument '{name}'",
                signature.name
            )));
        }
    }
    for parameter in &signature.parameters {
        let required = parameter.default.is_none()
            && !matches!(parameter.kind, ParameterKind::VarArgs | ParameterKind::VarKwargs);
        if required && !bound.contains_key(&parameter.name) {
            return Err(ToolError::type_error(format!(
                "{}() missing required argument: '{}'",
                signature.name, parameter.name
            )));
        }
    }
    Ok(bound)
}
