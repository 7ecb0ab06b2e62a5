//! Options of a rule: values that a project may set, written into the definition as `%{name}`.
//!
//! They are put in after the YAML is read, scalar by scalar, so that no value can change the shape of a definition.

use serde_json::{Map, Value};

/// The values of a rule's options, by name.
pub type Options = Map<String, Value>;

/// Replaces `%{name}` in every string. A string that is nothing else becomes the option's value, whatever its type. `Err` names an
/// option that does not exist.
pub(crate) fn fill(value: &mut Value, options: &Options) -> Result<(), String> {
    match value {
        Value::String(text) if text.contains("%{") => {
            *value = fill_text(text, options)?;
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill(item, options)),
        Value::Object(map) => map.values_mut().try_for_each(|item| fill(item, options)),
        _ => Ok(()),
    }
}

fn fill_text(text: &str, options: &Options) -> Result<Value, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("%{") {
        let Some((name, behind)) = after.split_once('}') else { break };
        let value = lookup(name, options).ok_or_else(|| name.to_owned())?;
        if before.is_empty() && behind.is_empty() && result.is_empty() {
            return Ok(value);
        }
        result.push_str(before);
        match value {
            Value::String(text) => result.push_str(&text),
            other => result.push_str(&other.to_string()),
        }
        rest = behind;
    }
    result.push_str(rest);
    Ok(Value::String(result))
}

/// `decorator`, or a part of a `module:name`: `decorator.module`, `decorator.name`, `decorator.dotted`.
fn lookup(name: &str, options: &Options) -> Option<Value> {
    if let Some(value) = options.get(name) {
        return Some(value.clone());
    }
    let (option, part) = name.rsplit_once('.')?;
    let text = options.get(option)?.as_str()?;
    let (module, name) = text.split_once(':').unwrap_or(("", text));
    let result = match part {
        "module" => module.to_owned(),
        "name" => name.to_owned(),
        "dotted" if module.is_empty() => name.to_owned(),
        "dotted" => format!("{module}.{name}"),
        _ => return None,
    };
    Some(Value::String(result))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_fill_strings_and_keep_their_types() {
        let options = json!({"decorator": "app.web:view", "limit": 3, "names": ["a", "b"]});
        let mut value = json!({"a": "@%{decorator.name} of %{decorator.module}", "b": "%{names}", "c": ["%{limit}"], "d": "%{"});
        fill(&mut value, options.as_object().expect("an object")).expect("known options");
        assert_eq!(value, json!({"a": "@view of app.web", "b": ["a", "b"], "c": [3], "d": "%{"}));
    }

    #[test]
    fn an_unknown_option_is_named() {
        assert_eq!(fill(&mut json!("%{colour}"), &Options::new()), Err("colour".to_owned()));
    }
}
