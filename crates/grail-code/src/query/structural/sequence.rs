//! Lists: one pattern after the other, with `zero_or_more`, `zero_or_one`, `at_least` and `at_most` among them.

use serde_json::{Map, Value};

use super::{Builder, QUANTIFIERS, is_capture_name};
use crate::query::PatternError;
use crate::query::matcher::{Item, Matcher, MatcherId, Quantity, Sequence};

impl Builder<'_> {
    pub(super) fn sequence(&mut self, items: &[Value]) -> Result<Sequence, PatternError> {
        let mut sequence = Sequence::default();
        for (index, data) in items.iter().enumerate() {
            let item = self.within(format!("[{index}]"), |builder| builder.item(data))?;
            sequence.items.push(item);
        }
        Ok(sequence)
    }

    /// `contains: P`, a list with `P` somewhere in it.
    pub(super) fn containing(&mut self, map: &Map<String, Value>) -> Result<Sequence, PatternError> {
        if let Some(other) = map.keys().find(|other| *other != "contains") {
            return Err(self.error(format!("`{other}` cannot stand beside `contains`"), Some(other)));
        }
        let item = self.within("contains".to_owned(), |builder| builder.node(&map["contains"]))?;
        let any = self.program.add(Matcher::Any);
        let others = self.program.any_number(any);
        let item = Item { matcher: item, quantity: Quantity::One };
        Ok(Sequence { items: vec![others, item, others] })
    }

    pub(super) fn item(&mut self, data: &Value) -> Result<Item, PatternError> {
        if let Value::String(word) = data {
            if matches!(word.as_str(), "..." | "…") {
                let any = self.program.add(Matcher::Any);
                return Ok(self.program.any_number(any));
            }
            if let Some(name) =
                word.strip_prefix("$$$").filter(|name| name.is_empty() || is_capture_name(name))
            {
                let matcher = self.program.add(Matcher::Any);
                return Ok(self.repeated(matcher, 0, u32::MAX, Some(name).filter(|name| !name.is_empty())));
            }
        }
        let quantifier = data.as_object().and_then(|map| {
            map.iter()
                .find(|(key, _)| QUANTIFIERS.contains(&key.as_str()))
                .map(|(key, value)| (map, key.as_str(), value))
        });
        let Some((map, key, value)) = quantifier else {
            return Ok(Item { matcher: self.node(data)?, quantity: Quantity::One });
        };
        if let Some(other) = map.keys().find(|other| *other != key && *other != "capture") {
            return Err(self.error(format!("`{other}` cannot stand beside `{key}`"), Some(other)));
        }
        let (min, max, of) = match key {
            "zero_or_more" => (0, u32::MAX, value),
            "zero_or_one" => (0, 1, value),
            _ => {
                let count = value.get("n").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
                let Some(count) = count else {
                    return Err(self
                        .error(format!("`{key}` needs a count"), Some(key))
                        .hint(format!("`{key}: {{n: 2, of: ...}}`")));
                };
                let of = value.get("of").unwrap_or(&Value::Null);
                if key == "at_least" { (count, u32::MAX, of) } else { (0, count, of) }
            }
        };
        let matcher = self.within(key.to_owned(), |builder| builder.node(of))?;
        if self.program.binds(matcher) {
            return Err(self
                .error(format!("a capture within `{key}` would stand for several nodes"), Some("capture"))
                .hint(format!("put `capture` beside `{key}` to capture the list")));
        }
        let name = map.get("capture").map(|name| self.capture_name(name)).transpose()?;
        Ok(self.repeated(matcher, min, max, name.as_deref()))
    }

    pub(super) fn repeated(&mut self, matcher: MatcherId, min: u32, max: u32, name: Option<&str>) -> Item {
        let slot = name.map(|name| self.program.slot(name));
        if let Some(slot) = slot {
            self.program.is_many[slot.index()] = true;
        }
        Item { matcher, quantity: Quantity::Many { min, max, slot } }
    }
}
