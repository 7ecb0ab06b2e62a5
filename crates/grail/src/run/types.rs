//! Short types: `int`, `list[str]`, `dict[str, float] | None`, written as Python writes them, meant as JSON Schema.

use serde_json::{Value, json};

/// Types nest no deeper than people write them.
const MAX_DEPTH: usize = 16;

/// What a declared input is: its schema, and whether it may be left out.
#[derive(Debug, PartialEq)]
pub(super) struct Declared {
    pub(super) schema: Value,
    pub(super) optional: bool,
}

/// A short type with an optional default in JSON: `int = 3`.
///
/// # Errors
/// Says what is wrong, in a form that follows the name of the input.
pub(super) fn parse_declared(text: &str) -> Result<Declared, String> {
    let (kind, default) = match text.split_once('=') {
        Some((kind, default)) => (kind, Some(default.trim())),
        None => (text, None),
    };
    let mut schema = parse_type(kind)?;
    let Some(default) = default else { return Ok(Declared { schema, optional: false }) };
    let default: Value =
        serde_json::from_str(default).map_err(|_| format!("the default `{default}` is not JSON"))?;
    if let Value::Object(fields) = &mut schema {
        fields.insert("default".to_owned(), default);
    }
    Ok(Declared { schema, optional: true })
}

pub(super) fn parse_type(text: &str) -> Result<Value, String> {
    let mut parser = Parser { text, rest: text };
    let schema = parser.union(0)?;
    parser.skip_space();
    if parser.rest.is_empty() { Ok(schema) } else { Err(parser.problem()) }
}

struct Parser<'text> {
    text: &'text str,
    rest: &'text str,
}

impl<'text> Parser<'text> {
    fn union(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("`{}` nests too deeply", self.text));
        }
        let mut members = vec![self.single(depth)?];
        while self.take("|") {
            members.push(self.single(depth)?);
        }
        Ok(if members.len() == 1 { members.remove(0) } else { json!({ "anyOf": members }) })
    }

    fn single(&mut self, depth: usize) -> Result<Value, String> {
        let name = self.name();
        let schema = match name {
            "str" => json!({ "type": "string" }),
            "int" => json!({ "type": "integer" }),
            "float" => json!({ "type": "number" }),
            "bool" => json!({ "type": "boolean" }),
            "None" => json!({ "type": "null" }),
            "Any" | "object" => json!({}),
            "list" if self.take("[") => {
                let items = self.union(depth + 1)?;
                self.expect("]")?;
                json!({ "type": "array", "items": items })
            }
            "list" => json!({ "type": "array" }),
            "dict" if self.take("[") => {
                if self.name() != "str" {
                    return Err("the keys of a `dict` must be `str`".to_owned());
                }
                self.expect(",")?;
                let values = self.union(depth + 1)?;
                self.expect("]")?;
                json!({ "type": "object", "additionalProperties": values })
            }
            "dict" => json!({ "type": "object" }),
            "Literal" => self.literal()?,
            _ => return Err(self.unknown(name)),
        };
        Ok(schema)
    }

    /// `Literal["a", "b"]`: strings and numbers as JSON writes them.
    fn literal(&mut self) -> Result<Value, String> {
        self.expect("[")?;
        let (inside, rest) = self.rest.split_once(']').ok_or_else(|| self.problem())?;
        self.rest = rest;
        let values: Value = serde_json::from_str(&format!("[{}]", inside.replace('\'', "\"")))
            .map_err(|_| format!("`Literal[{inside}]` lists no JSON values"))?;
        Ok(json!({ "enum": values }))
    }

    fn name(&mut self) -> &'text str {
        self.skip_space();
        let end = self.rest.find(|character: char| !character.is_alphanumeric() && character != '_');
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        name
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) { Ok(()) } else { Err(self.problem()) }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn problem(&self) -> String {
        format!("`{}` is not a type", self.text.trim())
    }

    fn unknown(&self, name: &str) -> String {
        let known =
            "`str`, `int`, `float`, `bool`, `None`, `Any`, `list[…]`, `dict[str, …]`, `Literal[…]`, `… | …`";
        if name.is_empty() {
            return self.problem();
        }
        format!("`{name}` is not a short type, expected {known} or a JSON Schema as a table")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_types_are_json_schemas() {
        for (text, schema) in [
            ("int", json!({"type": "integer"})),
            (" str ", json!({"type": "string"})),
            (
                "list[ dict[str, float] ]",
                json!({"type": "array", "items": {"type": "object", "additionalProperties": {"type": "number"}}}),
            ),
            ("int | None", json!({"anyOf": [{"type": "integer"}, {"type": "null"}]})),
            ("Literal['a', 2]", json!({"enum": ["a", 2]})),
        ] {
            assert_eq!(parse_type(text), Ok(schema), "{text}");
        }
    }

    #[test]
    fn a_default_makes_an_input_optional() {
        let declared = Declared { schema: json!({"type": "integer", "default": 3}), optional: true };
        assert_eq!(parse_declared("int = 3"), Ok(declared));
        assert_eq!(parse_declared("int = x"), Err("the default `x` is not JSON".to_owned()));
    }

    #[test]
    fn what_is_no_type_is_refused() {
        for (text, problem) in [
            ("", "`` is not a type"),
            ("list[int", "`list[int` is not a type"),
            ("int int", "`int int` is not a type"),
            ("dict[int, str]", "the keys of a `dict` must be `str`"),
        ] {
            assert_eq!(parse_type(text), Err(problem.to_owned()));
        }
        assert!(parse_type(&"list[".repeat(100_000)).is_err());
    }
}
