//! Keeps secrets out of what is shown and stored.
//!
//! A secret is an exact text, or whatever a record holds under a marked name. The same text in another encoding is not recognised: code
//! that means to leak a secret through its output can do so. This guards against accidents, not against the code.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem::Finder;
use serde_json::{Map, Value as Json};
use thiserror::Error;

use crate::value::Value;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Shorter texts occur everywhere by chance.
const MIN_LENGTH: usize = 4;
/// Deeper values are not shown at all. More than any value that passes the border has.
const MAX_DEPTH: usize = 100;

/// Replaces secrets by [`REDACTED`] in texts and values. Cheap to clone. Takes time linear in the text for every secret.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    secrets: Arc<Vec<Finder<'static>>>,
    names: Arc<BTreeSet<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a secret of {length} characters is too short to be recognised, at least {MIN_LENGTH} are needed")]
pub struct SecretTooShort {
    pub length: usize,
}

impl Redactor {
    /// Hides this text wherever it occurs.
    ///
    /// # Errors
    /// The text is so short that it would occur by chance.
    pub fn secret(mut self, text: &str) -> Result<Self, SecretTooShort> {
        let length = text.chars().count();
        if length < MIN_LENGTH {
            return Err(SecretTooShort { length });
        }
        self.add(text);
        Ok(self)
    }

    /// Hides everything under this name in records and dicts, and the texts and numbers of `value` wherever they occur; those too short
    /// to be recognised only under the name.
    pub fn secret_input(mut self, name: &str, value: &Json) -> Self {
        Arc::make_mut(&mut self.names).insert(name.to_owned());
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            match value {
                Json::String(text) if text.chars().count() >= MIN_LENGTH => self.add(text),
                Json::Number(number) if number.to_string().len() >= MIN_LENGTH => {
                    self.add(&number.to_string())
                }
                Json::Array(items) => pending.extend(items),
                Json::Object(fields) => pending.extend(fields.values()),
                Json::String(_) | Json::Number(_) | Json::Bool(_) | Json::Null => {}
            }
        }
        self
    }

    /// Hides everything under this name in records and dicts. If it names an input of a run, the input's texts and numbers are hidden
    /// in that run as well.
    pub fn secret_name(mut self, name: &str) -> Self {
        Arc::make_mut(&mut self.names).insert(name.to_owned());
        self
    }

    pub(crate) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// For a run with these inputs.
    pub(crate) fn for_inputs(&self, inputs: &Json) -> Self {
        let marked = self.names.iter().filter_map(|name| Some((name, inputs.get(name)?)));
        marked.fold(self.clone(), |redactor, (name, value)| redactor.secret_input(name, value))
    }

    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty() && self.names.is_empty()
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let ranges = self.occurrences(text);
        if ranges.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut redacted = String::with_capacity(text.len());
        let mut end = 0;
        for range in ranges {
            redacted.push_str(&text[end..range.start]);
            redacted.push_str(REDACTED);
            end = range.end;
        }
        redacted.push_str(&text[end..]);
        Cow::Owned(redacted)
    }

    pub fn json(&self, value: &Json) -> Json {
        self.json_at(value, 0)
    }

    fn json_at(&self, value: &Json, depth: usize) -> Json {
        if depth > MAX_DEPTH {
            return Json::String("[too deep]".to_owned());
        }
        match value {
            Json::Null | Json::Bool(_) => value.clone(),
            Json::Number(number) => match self.text(&number.to_string()) {
                Cow::Borrowed(_) => value.clone(),
                Cow::Owned(redacted) => Json::String(redacted),
            },
            Json::String(text) => Json::String(self.text(text).into_owned()),
            Json::Array(items) => {
                Json::Array(items.iter().map(|item| self.json_at(item, depth + 1)).collect())
            }
            Json::Object(fields) => {
                let redacted = fields.iter().map(|(name, value)| {
                    let value = match self.names.contains(name) {
                        true => Json::String(REDACTED.to_owned()),
                        false => self.json_at(value, depth + 1),
                    };
                    (self.text(name).into_owned(), value)
                });
                Json::Object(redacted.collect::<Map<_, _>>())
            }
        }
    }

    fn add(&mut self, text: &str) {
        // In messages a text stands as Python or JSON quote it.
        let python = Value::str(text).repr();
        let json = Json::String(text.to_owned()).to_string();
        let spellings = BTreeSet::from([text, &python[1..python.len() - 1], &json[1..json.len() - 1]]);
        let known = Arc::make_mut(&mut self.secrets);
        for spelling in spellings {
            if known.iter().all(|secret| secret.needle() != spelling.as_bytes()) {
                known.push(Finder::new(spelling).into_owned());
            }
        }
    }

    /// In order and apart. Secrets that overlap become one range, so that no end of one stays behind.
    fn occurrences(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for secret in self.secrets.iter() {
            let length = secret.needle().len();
            found.extend(secret.find_iter(text.as_bytes()).map(|start| start..start + length));
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for range in found {
            match apart.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        apart
    }
}
