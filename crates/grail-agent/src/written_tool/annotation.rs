//! Annotations of Python as JSON Schemas: what can cross the border between a model and a tool it wrote.

use serde_json::{Value as Json, json};

/// Deeper types are not understood.
const MAX_DEPTH: usize = 8;

/// The schema of an annotation such as `list[str] | None`.
pub(super) fn schema_of(annotation: &str) -> Result<Json, String> {
    schema(annotation.trim(), 0)
}

fn schema(text: &str, depth: usize) -> Result<Json, String> {
    let unknown = || {
        format!(
            "`{text}` is no type that JSON knows; use str, int, float, bool, None, list[...], dict[str, ...] and unions of these"
        )
    };
    if depth > MAX_DEPTH {
        return Err(unknown());
    }
    let members = split(text, '|');
    if members.len() > 1 {
        let members: Vec<Json> =
            members.iter().map(|member| schema(member, depth + 1)).collect::<Result<_, _>>()?;
        return Ok(json!({"anyOf": members}));
    }
    Ok(match text {
        "str" => json!({"type": "string"}),
        "int" => json!({"type": "integer"}),
        "float" => json!({"type": "number"}),
        "bool" => json!({"type": "boolean"}),
        "None" => json!({"type": "null"}),
        "list" => json!({"type": "array"}),
        "dict" => json!({"type": "object"}),
        _ => {
            let inner = |start: &str| text.strip_prefix(start)?.strip_suffix(']');
            if let Some(item) = inner("list[") {
                return Ok(json!({"type": "array", "items": schema(item.trim(), depth + 1)?}));
            }
            let entry = inner("dict[").ok_or_else(unknown)?;
            match split(entry, ',').as_slice() {
                ["str", value] => {
                    json!({"type": "object", "additionalProperties": schema(value, depth + 1)?})
                }
                _ => return Err(unknown()),
            }
        }
    })
}

/// The parts between separators that stand in no brackets.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (index, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if character == separator && depth == 0 => {
                parts.push(text[start..index].trim());
                start = index + character.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_knows_is_understood_and_nothing_else() {
        assert_eq!(schema_of("str").unwrap(), json!({"type": "string"}));
        assert_eq!(
            schema_of("list[dict[str, int | None]] | None").unwrap(),
            json!({"anyOf": [
                {"type": "array", "items": {"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}},
                {"type": "null"}
            ]})
        );
        for text in [
            "",
            "bytes",
            "list[",
            "dict[int, str]",
            "dict[str]",
            "Callable[[], int]",
            "|",
            &"list[".repeat(50),
        ] {
            assert!(schema_of(text).is_err(), "{text}");
        }
    }
}
