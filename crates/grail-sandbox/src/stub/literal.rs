//! JSON as Python literals, docstrings and comments.

use serde_json::Value as Json;

/// A literal, or `None` if it would be longer than `limit` characters.
pub(super) fn python_literal(json: &Json, limit: usize) -> Option<String> {
    let mut text = String::new();
    write_literal(json, limit, &mut text).then_some(text)
}

/// Writes until done or past the limit; the limit also bounds the recursion, for every level writes a bracket.
fn write_literal(json: &Json, limit: usize, text: &mut String) -> bool {
    match json {
        Json::Null => text.push_str("None"),
        Json::Bool(true) => text.push_str("True"),
        Json::Bool(false) => text.push_str("False"),
        Json::Number(number) => text.push_str(&number.to_string()),
        Json::String(value) if value.len() > limit => return false,
        Json::String(value) => text.push_str(&python_string(value)),
        Json::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                if text.len() > limit || !write_literal(item, limit, text) {
                    return false;
                }
            }
            text.push(']');
        }
        Json::Object(fields) => {
            text.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                text.push_str(&python_string(name));
                text.push_str(": ");
                if text.len() > limit || !write_literal(value, limit, text) {
                    return false;
                }
            }
            text.push('}');
        }
    }
    text.len() <= limit
}

/// A string literal in double quotes.
pub(super) fn python_string(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    text.push('"');
    for character in value.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => push_escaped(other, &mut text),
        }
    }
    text.push('"');
    text
}

/// A docstring, indented; empty documentation gives nothing.
pub(super) fn docstring(doc: &str, indent: &str, out: &mut String) {
    let lines: Vec<&str> = doc.trim().lines().map(str::trim_end).collect();
    if lines.is_empty() {
        return;
    }
    let common = lines
        .iter()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min();
    out.push_str(indent);
    out.push_str("\"\"\"");
    for (index, line) in lines.iter().enumerate() {
        let line = if index == 0 { line } else { line.get(common.unwrap_or(0)..).unwrap_or_default() };
        if index > 0 {
            out.push('\n');
            if !line.is_empty() {
                out.push_str(indent);
            }
        }
        for character in line.chars() {
            match character {
                '"' => out.push_str("\\\""),
                other => push_escaped(other, out),
            }
        }
    }
    if lines.len() > 1 {
        out.push('\n');
        out.push_str(indent);
    }
    out.push_str("\"\"\"\n");
}

/// One line of comment.
pub(super) fn comment(text: &str, indent: &str, out: &mut String) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String =
        words.join(" ").chars().filter(|character| !character.is_control()).take(160).collect();
    if !line.is_empty() {
        out.push_str(indent);
        out.push_str("# ");
        out.push_str(&line);
        out.push('\n');
    }
}

fn push_escaped(character: char, text: &mut String) {
    match character {
        '\\' => text.push_str("\\\\"),
        '\t' => text.push_str("\\t"),
        '\r' => text.push_str("\\r"),
        other if other.is_control() || matches!(other, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
            text.push_str(&format!("\\u{:04x}", other as u32));
        }
        other => text.push(other),
    }
}
