//! What a rule in Python says about a file, checked: it was written by code that nobody trusts.
//!
//! Shapes, lengths and numbers are bounded, texts are one printable line, and every range lies within the file on borders of characters.

use std::borrow::Cow;
use std::sync::Arc;

use grail_code::{Edit, Source, Span, edit};
use serde_json::{Map, Value as Json};

use super::one_line;
use crate::{CompiledRule, Finding, Fix, Layer, Safety};

/// A rule with more to say about one call is broken, or says the same everywhere.
pub(crate) const MAX_FINDINGS: usize = 1_000;
const MAX_EDITS: usize = 200;
/// All edits of one answer together.
const MAX_EDIT_BYTES: usize = 4 << 20;
const MAX_TEXT_BYTES: usize = 16 << 10;

/// A file that findings may be about.
pub(crate) struct Place<'f> {
    pub(crate) path: Arc<str>,
    pub(crate) source: Cow<'f, Source>,
}

/// The findings of an answer. The error says what is wrong with it, as the rest of a sentence about the function.
pub(crate) fn findings<'f>(
    rule: &CompiledRule,
    text: &str,
    place: impl Fn(&Map<String, Json>) -> Result<Place<'f>, String>,
) -> Result<Vec<Finding>, String> {
    let answer: Json = serde_json::from_str(text).map_err(|error| format!("returned no data: {error}"))?;
    let items = match answer {
        Json::Null => return Ok(Vec::new()),
        Json::Array(items) => items,
        other => return Err(format!("returned {}, not a list of findings", kind(&other))),
    };
    if items.len() > MAX_FINDINGS {
        return Err(format!("returned {} findings; at most {MAX_FINDINGS} are taken", items.len()));
    }
    let mut room = MAX_EDIT_BYTES;
    let mut findings = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let found = finding(rule, item, &place, &mut room);
        findings.push(
            found.map_err(|message| format!("returned a bad finding (number {}): {message}", index + 1))?,
        );
    }
    Ok(findings)
}

fn finding<'f>(
    rule: &CompiledRule,
    item: &Json,
    place: &impl Fn(&Map<String, Json>) -> Result<Place<'f>, String>,
    room: &mut usize,
) -> Result<Finding, String> {
    let Json::Object(fields) = item else { return Err(format!("it is {}, not a dictionary", kind(item))) };
    known_keys(fields, &["path", "range", "message", "help", "fix"])?;
    let Place { path, source } = place(fields)?;
    let source = source.as_ref();
    let span = range(fields, source)?;
    let message = line(fields, "message")?.ok_or("it has no `message`")?;
    let fix = match fields.get("fix") {
        None | Some(Json::Null) => None,
        Some(data) => Some(fix(rule, data, source, room)?),
    };
    Ok(Finding {
        path,
        layer: Layer::Rules,
        rule: Arc::clone(&rule.rule.id),
        severity: rule.severity,
        message,
        help: line(fields, "help")?,
        span: Some(span),
        start: source.position(span.start),
        end: source.position(span.end),
        fix,
    })
}

fn fix(rule: &CompiledRule, data: &Json, source: &Source, room: &mut usize) -> Result<Fix, String> {
    let Json::Object(fields) = data else {
        return Err(format!("its `fix` is {}, not a dictionary", kind(data)));
    };
    known_keys(fields, &["title", "edits"])?;
    let title = line(fields, "title")?.ok_or("its `fix` has no `title`")?;
    let Some(Json::Array(items)) = fields.get("edits") else {
        return Err("its `fix` has no list `edits`".to_owned());
    };
    if items.len() > MAX_EDITS {
        return Err(format!("its `fix` has {} edits; at most {MAX_EDITS} are taken", items.len()));
    }
    let mut edits = Vec::with_capacity(items.len());
    for item in items {
        let Json::Object(fields) = item else {
            return Err(format!("an edit is {}, not a dictionary", kind(item)));
        };
        known_keys(fields, &["range", "text"])?;
        let Some(Json::String(text)) = fields.get("text") else {
            return Err("an edit has no string `text`".to_owned());
        };
        *room = room.checked_sub(text.len()).ok_or("its `fix` is too large")?;
        edits.push(Edit::replace(range(fields, source)?, text.as_str()));
    }
    let edits = edit::order(edits).map_err(|conflict| format!("in its `fix`, {conflict}"))?;
    Ok(Fix { title, safety: rule.rule.fix.unwrap_or(Safety::DisplayOnly), edits })
}

/// The `range` of a finding or an edit: two offsets, in order, within the file, on borders of characters.
fn range(fields: &Map<String, Json>, source: &Source) -> Result<Span, String> {
    let data = match fields.get("range") {
        None => return Err("it has neither a `node` nor a `range`".to_owned()),
        // Of a node that the script made itself.
        Some(Json::Null) => return Err("its `node` is not one of the tree".to_owned()),
        Some(data) => data,
    };
    let offsets = data.as_array().filter(|offsets| offsets.len() == 2);
    let offset = |index: usize| u32::try_from(offsets?.get(index)?.as_u64()?).ok();
    let (Some(start), Some(end)) = (offset(0), offset(1)) else {
        return Err("its `range` is not `[start, end]`".to_owned());
    };
    let text = source.text();
    if start > end || end as usize > text.len() {
        return Err(format!("its range {start} to {end} is not within the file's {} bytes", text.len()));
    }
    if !text.is_char_boundary(start as usize) || !text.is_char_boundary(end as usize) {
        return Err(format!("its range {start} to {end} cuts a character in two; ranges count bytes"));
    }
    Ok(Span::new(start, end))
}

/// A text for people, which must fit one line of a terminal.
fn line(fields: &Map<String, Json>, key: &str) -> Result<Option<String>, String> {
    match fields.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) if text.trim().is_empty() => Err(format!("its `{key}` is empty")),
        Some(Json::String(text)) if text.len() > MAX_TEXT_BYTES => Err(format!("its `{key}` is too long")),
        Some(Json::String(text)) => Ok(Some(one_line(text))),
        Some(other) => Err(format!("its `{key}` is {}, not a string", kind(other))),
    }
}

fn known_keys(fields: &Map<String, Json>, known: &[&str]) -> Result<(), String> {
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let key: String = one_line(key).chars().take(40).collect();
            Err(format!("`{key}` means nothing here; known are `{}`", known.join("`, `")))
        }
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "None",
        Json::Bool(_) => "a bool",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "a dictionary",
    }
}
