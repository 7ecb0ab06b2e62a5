//! The documentation of a module, class or function.

use serde_json::Value;

use super::layout::{kind_of, leaf_text};

/// The docstring, cleaned like `inspect.cleandoc` does: without quotes, common indentation and blank ends.
///
/// Escapes are left as written; a docstring with backslashes is rare and usually raw.
pub fn docstring(node: &Value) -> Option<String> {
    let statement = node.get("body")?.as_array()?.first()?;
    let value = statement
        .get("value")
        .filter(|_| statement.as_object().is_some_and(|node| kind_of(node) == "Expr"))?;
    let parts: Vec<&Value> = match value.get("type")?.as_str()? {
        "String" => vec![value],
        "ConcatenatedString" => value.get("parts")?.as_array()?.iter().collect(),
        _ => return None,
    };
    let mut text = String::new();
    for part in parts {
        text.push_str(literal_content(leaf_text(Some(part)))?);
    }
    Some(clean(&text))
}

/// What stands between the quotes of a plain string.
fn literal_content(literal: &str) -> Option<&str> {
    let body = literal.trim_start_matches(['r', 'R', 'u', 'U']);
    for quote in ["\"\"\"", "'''", "\"", "'"] {
        if let Some(content) = body.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Some(content);
        }
    }
    None
}

fn clean(text: &str) -> String {
    let text = expand_tabs(&text.replace("\r\n", "\n").replace('\r', "\n"));
    let lines: Vec<&str> = text.split('\n').collect();
    let margin = lines[1..]
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let mut cleaned: Vec<&str> = vec![lines[0].trim_start()];
    cleaned.extend(lines[1..].iter().map(|line| line.get(margin..).unwrap_or_default()));
    while cleaned.last().is_some_and(|line| line.is_empty()) {
        cleaned.pop();
    }
    while cleaned.first().is_some_and(|line| line.is_empty()) {
        cleaned.remove(0);
    }
    cleaned.join("\n")
}

/// Tabs reach to the next multiple of eight columns.
fn expand_tabs(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut column = 0;
    for character in text.chars() {
        match character {
            '\t' => {
                let width = 8 - column % 8;
                result.extend(std::iter::repeat_n(' ', width));
                column += width;
            }
            '\n' => {
                result.push('\n');
                column = 0;
            }
            _ => {
                result.push(character);
                column += 1;
            }
        }
    }
    result
}
