//! Answers that must be JSON of a given shape.
//!
//! Whether a server holds its model to the schema or the model was only told, what came is checked. What is wrong is a sentence to tell the model.

use serde_json::Value as Json;

use crate::tool_text;

/// More problems are not told.
const MAX_PROBLEMS: usize = 5;

/// The value in an answer, if it keeps to the schema. It may stand in a code fence, or have words around it, because models cannot help it.
pub fn read(text: &str, schema: &Json) -> Result<Json, String> {
    let validator =
        jsonschema::validator_for(schema).map_err(|error| format!("the schema is none: {error}"))?;
    let value = find_value(text)?;
    let problems: Vec<String> = validator
        .iter_errors(&value)
        .take(MAX_PROBLEMS)
        .map(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            path => format!("at `{path}`: {error}"),
        })
        .collect();
    if problems.is_empty() {
        Ok(value)
    } else {
        Err(format!("the answer does not keep to the schema: {}", problems.join("; ")))
    }
}

fn find_value(text: &str) -> Result<Json, String> {
    let text = after_thoughts(text).trim();
    let whole = tool_text::one_value(text);
    let Err(problem) = whole else { return whole };
    let fenced = text.split("```").nth(1).map(|block| block.split_once('\n').map_or(block, |(_, body)| body));
    let braced =
        text.find(['{', '[']).zip(text.rfind(['}', ']'])).and_then(|(start, end)| text.get(start..=end));
    [fenced, braced]
        .into_iter()
        .flatten()
        .find_map(|part| tool_text::one_value(part.trim()).ok())
        .ok_or_else(|| format!("the answer is no JSON: {problem}"))
}

/// What a model thinks aloud is no answer.
fn after_thoughts(text: &str) -> &str {
    text.rsplit_once("</think>").map_or(text, |(_, rest)| rest)
}
