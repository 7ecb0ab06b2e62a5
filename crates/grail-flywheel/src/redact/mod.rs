//! Privacy: secrets, keys, tokens and e-mail addresses are taken out of events before anything is written.
//!
//! What is found becomes `[redacted:KIND]`, in every text of an event and inside the quotes it stood in, so that code stays code. Shapes are
//! known, not values: what looks like nothing known stays. Redacting twice changes nothing. Text without anything suspicious costs one pass.

mod clues;
mod rules;
mod values;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use self::clues::{ClueSet, Clues};
use self::rules::{Rule, rules};
use crate::event::Event;

/// One replacement can uncover another; more rounds than this are not needed by anything but an attack.
const MAX_ROUNDS: usize = 8;
/// Fields of an event that Grail itself makes, and that others refer to.
const OWN_FIELDS: [&str; 7] = ["version", "id", "at", "session", "number", "parent", "event"];

/// Finds what must not be kept, and takes it out.
pub struct Redactor {
    clues: Clues,
    rules: Vec<Rule>,
}

static SHARED: LazyLock<Redactor> = LazyLock::new(|| Redactor { clues: Clues::new(), rules: rules() });

impl Redactor {
    /// The one that everybody uses.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// A text without what must not be kept.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut current = Cow::Borrowed(text);
        for _ in 0..MAX_ROUNDS {
            match self.redact_once(&current) {
                Some(redacted) => current = Cow::Owned(redacted),
                None => break,
            }
        }
        current
    }

    /// Takes what must not be kept out of every text of a value, names of fields too. A field that is called like a secret is one if it
    /// looks like one.
    pub fn redact_json(&self, value: &mut Json) {
        match value {
            Json::String(text) => {
                if let Cow::Owned(redacted) = self.redact(text) {
                    *text = redacted;
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Json::Object(fields) => self.redact_fields(fields),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    /// An event as it is written, without its line feed.
    pub fn line(&self, event: &Event) -> String {
        let mut line = Vec::new();
        let _ = self.write_line(event, usize::MAX, &mut line);
        line.pop();
        String::from_utf8(line).unwrap_or_default()
    }

    /// Appends an event as a line, without what must not be kept. If the line would be longer than `limit`, nothing is appended and its
    /// length is told.
    pub(crate) fn write_line(&self, event: &Event, limit: usize, lines: &mut Vec<u8>) -> Result<(), usize> {
        let start = lines.len();
        if serde_json::to_writer(&mut *lines, event).is_err() {
            lines.truncate(start);
            return Err(0);
        }
        let length = lines.len() - start;
        if length > limit {
            lines.truncate(start);
            return Err(length);
        }
        // The line is looked at as it is; only if it has a clue is the event taken apart.
        if self.clues.is_suspicious(&lines[start..])
            && let Ok(Json::Object(mut fields)) = serde_json::to_value(event)
        {
            for (name, value) in &mut fields {
                if !OWN_FIELDS.contains(&name.as_str()) {
                    self.redact_json(value);
                }
            }
            lines.truncate(start);
            if serde_json::to_writer(&mut *lines, &fields).is_err() {
                lines.truncate(start);
                return Err(0);
            }
        }
        lines.push(b'\n');
        Ok(())
    }

    fn redact_fields(&self, fields: &mut Map<String, Json>) {
        for (name, value) in &mut *fields {
            if let Json::String(text) = value
                && values::is_secret_field(name, text)
            {
                *text = marker("secret");
            }
            self.redact_json(value);
        }
        if fields.keys().any(|name| matches!(self.redact(name), Cow::Owned(_))) {
            let renamed = std::mem::take(fields).into_iter();
            fields.extend(renamed.map(|(name, value)| (self.redact(&name).into_owned(), value)));
        }
    }

    fn redact_once(&self, text: &str) -> Option<String> {
        let found = self.clues.find(text);
        if found == ClueSet::default() {
            return None;
        }
        let mut secrets: Vec<(Range<usize>, &'static str)> = Vec::new();
        for rule in self.rules.iter().filter(|rule| found.has(rule.clue)) {
            secrets.extend(rule.find(text).map(|range| (range, rule.kind)));
        }
        // Stable: of two at the same place, the rule that comes first has it.
        secrets.sort_by_key(|(range, _)| range.start);
        let mut redacted = String::with_capacity(text.len());
        let mut copied = 0;
        for (range, kind) in &secrets {
            if range.start >= copied {
                redacted.push_str(&text[copied..range.start]);
                redacted.push_str(&marker(kind));
                copied = range.end;
            }
        }
        redacted.push_str(&text[copied..]);
        (!secrets.is_empty()).then_some(redacted)
    }
}

fn marker(kind: &str) -> String {
    format!("[redacted:{kind}]")
}
