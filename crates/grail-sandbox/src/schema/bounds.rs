//! What a schema must be before anything is compiled from it: small, shallow, and referring only to itself, never in a circle.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::shape::resolve;
use crate::error::SandboxError;

const MAX_NODES: usize = 50_000;
const MAX_TEXT: usize = 1 << 20;
const MAX_DEPTH: usize = 64;
/// How many subschemas one value may be checked against at one place.
const MAX_ALTERNATIVES: u64 = 10_000;

/// Keywords whose schemas describe the same value as the schema they stand in.
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords that hold data, in which `$ref` means nothing.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

pub(super) fn check(schema: &Json) -> Result<(), SandboxError> {
    let mut walk = Walk::default();
    walk.visit(schema, &mut String::from("#"), 0, false)?;
    let mut alternatives = Alternatives { root: schema, counts: HashMap::new() };
    for (node, place) in walk.referring {
        if alternatives.count(node, 0).is_none_or(|count| count > MAX_ALTERNATIVES) {
            let reason = "its references lead back to itself, or branch too often, before any part of a value is looked at";
            return Err(refuse(&place, reason));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Walk<'a> {
    nodes: usize,
    text: usize,
    /// Where an endless or exploding check could begin.
    referring: Vec<(&'a Json, String)>,
}

impl<'a> Walk<'a> {
    fn visit(
        &mut self,
        json: &'a Json,
        place: &mut String,
        depth: usize,
        is_data: bool,
    ) -> Result<(), SandboxError> {
        self.nodes += 1;
        if let Json::String(text) = json {
            self.text += text.len();
        }
        if depth > MAX_DEPTH {
            return Err(refuse(place, &format!("it nests deeper than {MAX_DEPTH} levels")));
        }
        if self.nodes > MAX_NODES || self.text > MAX_TEXT {
            return Err(refuse(
                "#",
                &format!("it is larger than {MAX_NODES} nodes or {MAX_TEXT} bytes of text"),
            ));
        }
        let length = place.len();
        match json {
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    place.push_str(&format!("/{index}"));
                    self.visit(item, place, depth + 1, is_data)?;
                    place.truncate(length);
                }
            }
            Json::Object(fields) => {
                if !is_data {
                    for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                        if let Some(Json::String(target)) = fields.get(keyword) {
                            check_reference(target, keyword, place)?;
                        }
                    }
                    if fields.contains_key("$ref")
                        || IN_PLACE_LISTS.iter().any(|keyword| fields.contains_key(*keyword))
                    {
                        self.referring.push((json, place.clone()));
                    }
                }
                for (name, value) in fields {
                    self.text += name.len();
                    place.push('/');
                    place.push_str(name);
                    self.visit(value, place, depth + 1, is_data || DATA.contains(&name.as_str()))?;
                    place.truncate(length);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn check_reference(target: &str, keyword: &str, place: &str) -> Result<(), SandboxError> {
    if keyword != "$ref" {
        return Err(refuse(place, &format!("`{keyword}` is not supported; use `$ref`")));
    }
    if !target.starts_with('#') {
        let reason = format!(
            "`$ref` leads to another document, `{}`; copy it into `$defs`",
            super::message::cut(target, 80)
        );
        return Err(refuse(place, &reason));
    }
    Ok(())
}

/// Counts the subschemas that apply to one value in place, through references.
struct Alternatives<'a> {
    root: &'a Json,
    /// By address; zero while being counted, so that a circle shows.
    counts: HashMap<*const Json, u64>,
}

impl<'a> Alternatives<'a> {
    /// `None` for a circle, or for a chain longer than [`MAX_DEPTH`].
    fn count(&mut self, schema: &'a Json, depth: usize) -> Option<u64> {
        let Json::Object(fields) = schema else { return Some(1) };
        match self.counts.get(&std::ptr::from_ref(schema)) {
            Some(0) => return None,
            Some(count) => return Some(*count),
            None if depth > MAX_DEPTH => return None,
            None => {}
        }
        self.counts.insert(schema, 0);
        let mut total: u64 = 1;
        if let Some(Json::String(reference)) = fields.get("$ref")
            && let Some(target) = resolve(self.root, reference)
        {
            total = total.saturating_add(self.count(target, depth + 1)?);
        }
        for keyword in IN_PLACE {
            if let Some(schema) = fields.get(keyword) {
                total = total.saturating_add(self.count(schema, depth + 1)?);
            }
        }
        for keyword in IN_PLACE_LISTS {
            for schema in fields.get(keyword).and_then(Json::as_array).into_iter().flatten() {
                total = total.saturating_add(self.count(schema, depth + 1)?);
            }
        }
        if let Some(Json::Object(dependent)) = fields.get("dependentSchemas") {
            for schema in dependent.values() {
                total = total.saturating_add(self.count(schema, depth + 1)?);
            }
        }
        self.counts.insert(schema, total);
        Some(total)
    }
}

fn refuse(place: &str, reason: &str) -> SandboxError {
    SandboxError::Schema { place: super::message::cut(place, 200), reason: reason.to_owned() }
}
