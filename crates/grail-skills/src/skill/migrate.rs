//! Front matter of earlier skills, brought to the specification: `version`, `requires` and `patterns` move under `metadata`.
//!
//! Only lines of the front matter change; the body and every other line stay as they are, byte for byte. What cannot be moved safely is
//! left alone, and the validator goes on reporting it.

use super::document::{self, MAX_FRONT_BYTES, MIGRATED};
use super::yaml::{self, Node};

/// The text with its front matter migrated; `None` if there is nothing to do.
pub fn migrate_front_matter(text: &str) -> Option<String> {
    let front = document::split(text).front.filter(|front| front.len() <= MAX_FRONT_BYTES)?;
    let root = yaml::parse(front).ok()?.root.filter(Node::is_map)?;
    let lines: Vec<&str> = front.split_inclusive('\n').collect();
    let newline = if front.contains("\r\n") { "\r\n" } else { "\n" };
    let keys: Vec<(&str, usize)> = root.fields().map(|(name, key, _)| (name, key.line)).collect();
    let metadata = root.fields().find(|(name, ..)| *name == "metadata").map(|(_, key, value)| (key, value));
    let known: Vec<&str> =
        metadata.map(|(_, value)| value.fields().map(|(name, ..)| name).collect()).unwrap_or_default();
    let mut moved = Vec::new();
    let mut dropped = vec![false; lines.len()];
    for (name, key, value) in root.fields() {
        // What `metadata` says already is not said twice.
        if !MIGRATED.contains(&name) || known.contains(&name) {
            continue;
        }
        if moved.iter().any(|(other, _)| *other == name) {
            return None;
        }
        let start = key.line - 1;
        let end = field_end(&lines, &keys, key.line);
        dropped.get_mut(start..end)?.fill(true);
        moved.push((name, value.flat_text()));
    }
    if moved.is_empty() {
        return None;
    }
    let (insert_at, indent, heading) = match metadata {
        // A map in braces or no map at all has no place for another line.
        Some((_, value)) if !value.is_map() => return None,
        Some((key, value)) => {
            let first = value.fields().next()?.1.line;
            if first == key.line {
                return None;
            }
            let line = lines.get(first - 1)?;
            let indent = line.len() - line.trim_start_matches(' ').len();
            (field_end(&lines, &keys, key.line), indent, false)
        }
        None => (lines.len(), 2, true),
    };
    let mut added = String::new();
    if heading {
        added.push_str(&format!("metadata:{newline}"));
    }
    for (name, value) in moved {
        added.push_str(&format!("{:indent$}{name}: {}{newline}", "", quoted(&value)));
    }
    let mut migrated = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index == insert_at {
            migrated.push_str(&added);
        }
        if !dropped[index] {
            migrated.push_str(line);
        }
    }
    if insert_at >= lines.len() {
        migrated.push_str(&added);
    }
    let start = text.find('\n')? + 1;
    Some(format!("{}{migrated}{}", &text[..start], &text[start + front.len()..]))
}

/// The index of the line behind a field: the next one that is neither indented, nor blank, nor a list item of it.
fn field_end(lines: &[&str], keys: &[(&str, usize)], line: usize) -> usize {
    let next =
        keys.iter().map(|(_, next)| next - 1).filter(|next| *next >= line).min().unwrap_or(lines.len());
    // Comments and blank lines above the next field are its own.
    let mut end = next;
    while end > line && lines.get(end - 1).is_some_and(|line| is_loose(line)) {
        end -= 1;
    }
    end
}

fn is_loose(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// A YAML text in double quotes, whatever is in it.
fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            _ if character.is_control() => {}
            _ => text.push(character),
        }
    }
    text.push('"');
    text
}
