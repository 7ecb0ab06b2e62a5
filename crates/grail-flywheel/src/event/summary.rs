//! A result as its shape: enough to know what came back, too little to know what it said.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Deeper parts of a result are not told.
const MAX_DEPTH: usize = 3;
/// More fields of an object are counted, not named.
const MAX_FIELDS: usize = 24;
/// Stands for a text that is too long to keep.
const CUT: &str = "$cut";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultSummary {
    pub ok: bool,
    /// Types and names of fields, such as `{path: string, lines: [12 × string]}`.
    pub shape: String,
    /// How much there was, as JSON.
    pub bytes: u64,
    /// The kind of failure, such as `PermissionError`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is kept of a result.
pub fn summarise(result: &Json) -> ResultSummary {
    let mut shape = String::new();
    write_shape(result, MAX_DEPTH, &mut shape);
    ResultSummary { ok: true, shape, bytes: measured(result), error: None }
}

impl ResultSummary {
    /// A failure, by the name of its kind: messages may quote what must not be kept.
    pub fn failed(error: impl Into<String>) -> Self {
        Self { ok: false, error: Some(error.into()), ..Self::default() }
    }
}

/// Arguments as they are kept: a text that is longer than `most` becomes `{"$cut": BYTES}`, so that nobody takes a part for the whole.
pub fn bounded(arguments: &Json, most: usize) -> Json {
    match arguments {
        Json::String(text) if text.len() > most => serde_json::json!({CUT: text.len()}),
        Json::Array(items) => Json::Array(items.iter().map(|item| bounded(item, most)).collect()),
        Json::Object(fields) => {
            Json::Object(fields.iter().map(|(name, field)| (name.clone(), bounded(field, most))).collect())
        }
        other => other.clone(),
    }
}

/// Whether something was cut out of arguments.
pub fn is_cut(arguments: &Json) -> bool {
    match arguments {
        Json::Array(items) => items.iter().any(is_cut),
        Json::Object(fields) => fields.contains_key(CUT) || fields.values().any(is_cut),
        _ => false,
    }
}

fn write_shape(value: &Json, depth: usize, shape: &mut String) {
    match value {
        Json::Null => shape.push_str("null"),
        Json::Bool(_) => shape.push_str("bool"),
        Json::Number(number) if number.is_f64() => shape.push_str("float"),
        Json::Number(_) => shape.push_str("int"),
        Json::String(_) => shape.push_str("string"),
        Json::Array(items) if items.is_empty() => shape.push_str("[]"),
        Json::Array(items) => {
            shape.push_str(&format!("[{} × ", items.len()));
            match depth {
                0 => shape.push('…'),
                _ => write_shape(&items[0], depth - 1, shape),
            }
            shape.push(']');
        }
        Json::Object(fields) if depth == 0 => shape.push_str(&format!("{{{} fields}}", fields.len())),
        Json::Object(fields) => {
            shape.push('{');
            for (number, (name, field)) in fields.iter().take(MAX_FIELDS).enumerate() {
                if number > 0 {
                    shape.push_str(", ");
                }
                shape.extend(name.chars().take(40));
                shape.push_str(": ");
                write_shape(field, depth - 1, shape);
            }
            if fields.len() > MAX_FIELDS {
                shape.push_str(&format!(", … {} more", fields.len() - MAX_FIELDS));
            }
            shape.push('}');
        }
    }
}

/// The length as JSON, without writing it out.
fn measured(value: &Json) -> u64 {
    struct Counted(u64);
    impl std::io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_arguments_are_cut_so_that_it_shows() {
        let arguments = json!({"path": "a.py", "code": "x".repeat(40), "more": [{"text": "short"}]});
        let kept = bounded(&arguments, 20);
        assert_eq!(kept, json!({"path": "a.py", "code": {"$cut": 40}, "more": [{"text": "short"}]}));
        assert!(is_cut(&kept) && !is_cut(&arguments));
    }

    #[test]
    fn a_summary_tells_names_and_types_and_no_values() {
        let result =
            json!({"path": "secret.py", "lines": ["a", "b"], "deep": {"a": {"b": {"c": 1}}}, "n": 1.5});
        let summary = summarise(&result);
        insta::assert_snapshot!(summary.shape, @"{path: string, lines: [2 × string], deep: {a: {b: {1 fields}}}, n: float}");
        assert_eq!(summary.bytes, result.to_string().len() as u64);
    }
}
