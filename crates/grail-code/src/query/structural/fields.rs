//! The fields and attributes of a node pattern, by the names of the schema and their aliases.

use serde_json::Value;

use super::{Builder, KEYS, QUANTIFIERS, did_you_mean};
use crate::query::PatternError;
use crate::query::matcher::{FieldTest, KindSet, Matcher, MatcherId, NodeTest, Sequence, Test, TextTest};
use crate::query::vocabulary::{self, closest};
use crate::tree::{Arity, Attribute};
use crate::{Field, Kind};

impl Builder<'_> {
    /// A field or attribute by name; narrows `node` to the kinds that have it. Gives a test of the node itself if the name stands
    /// for its value.
    pub(super) fn field(
        &mut self,
        node: &mut NodeTest,
        key: &str,
        data: &Value,
    ) -> Result<Option<MatcherId>, PatternError> {
        let mut place: Option<Place> = None;
        let mut narrowed = KindSet::EMPTY;
        for kind in node.kinds.iter() {
            let found = place_of(kind, key);
            if let Some(found) = found
                && place.is_none_or(|place| place == found)
            {
                place = Some(found);
                narrowed = narrowed.union(KindSet::of(&[kind]));
            }
        }
        let Some(place) = place else { return Err(self.unknown_field(node.kinds, key)) };
        node.kinds = narrowed;
        match place {
            Place::Own => self.own_value(data).map(Some),
            Place::Attribute(name) => {
                let value = self.attribute(name, data)?;
                node.attributes.push((name, value));
                Ok(None)
            }
            Place::Field(field, Arity::Many) => {
                let test = match data {
                    Value::Null => return Ok(None),
                    Value::String(word) if matches!(word.as_str(), "*" | "any") => return Ok(None),
                    Value::Array(items) => self.sequence(items)?,
                    Value::Bool(false) => Sequence::default(),
                    Value::String(word) if word.starts_with("$$$") => {
                        self.sequence(std::slice::from_ref(data))?
                    }
                    Value::Object(map) if map.contains_key("contains") => self.containing(map)?,
                    Value::Object(map) if map.keys().any(|key| QUANTIFIERS.contains(&key.as_str())) => {
                        self.sequence(std::slice::from_ref(data))?
                    }
                    _ => {
                        return Err(self.error(format!("`{key}` is a list"), Some(key)).hint(format!(
                            "write `{key}: [...]`; `\"$$$\"` in it stands for any number of nodes"
                        )));
                    }
                };
                node.fields.push(FieldTest { field, test: Test::Sequence(test) });
                Ok(None)
            }
            Place::Field(field, arity) => {
                let test = match data {
                    Value::Null => return Ok(None),
                    Value::String(word) if matches!(word.as_str(), "*" | "any") => return Ok(None),
                    Value::Bool(false) if arity == Arity::Optional => Test::Absent,
                    Value::Bool(true) if arity == Arity::Optional => {
                        Test::One(self.program.add(Matcher::Any))
                    }
                    Value::String(word) if field == Field::Op => {
                        let text = vocabulary::operator(word).unwrap_or(word);
                        Test::One(self.literal(&[Kind::Operator], text))
                    }
                    Value::Object(map) if map.contains_key("contains") && list_holder(field).is_some() => {
                        let Some((kind, inner)) = list_holder(field) else { return Ok(None) };
                        let test = Test::Sequence(self.containing(map)?);
                        Test::One(self.node_with(kind, vec![(inner, test)]))
                    }
                    Value::Array(items) => {
                        let Some((kind, inner)) = list_holder(field) else {
                            return self.node(data).map(Some);
                        };
                        let test = Test::Sequence(self.sequence(items)?);
                        Test::One(self.node_with(kind, vec![(inner, test)]))
                    }
                    _ => Test::One(self.node(data)?),
                };
                node.fields.push(FieldTest { field, test });
                Ok(None)
            }
        }
    }

    /// The value of a name, string or number: `value`, `id`.
    pub(super) fn own_value(&mut self, data: &Value) -> Result<MatcherId, PatternError> {
        match data {
            Value::String(text) if !matches!(text.as_str(), "*" | "any") => {
                let value = self.program.add(Matcher::Value(TextTest::Exact(text.clone())));
                let written = self.program.add(Matcher::Text(TextTest::Exact(text.clone())));
                Ok(self.program.add(Matcher::OneOf(vec![value, written])))
            }
            _ => self.node(data),
        }
    }

    pub(super) fn attribute(&mut self, name: &'static str, data: &Value) -> Result<Attribute, PatternError> {
        const WORDS: &[&str] = &[
            "and",
            "or",
            "s",
            "r",
            "a",
            "load",
            "store",
            "del",
            "positional_only",
            "positional",
            "star",
            "keyword_only",
            "double_star",
        ];
        let value = match data {
            Value::Bool(flag) => Some(Attribute::Flag(*flag)),
            Value::Number(number) => {
                number.as_u64().and_then(|n| u32::try_from(n).ok()).map(Attribute::Number)
            }
            Value::Null => Some(Attribute::Absent),
            Value::String(word) => {
                let word = word.to_lowercase();
                WORDS.iter().find(|known| **known == word).map(|known| Attribute::Word(known))
            }
            _ => None,
        };
        value.ok_or_else(|| self.error(format!("`{name}` cannot be `{data}`"), Some(name)))
    }

    pub(super) fn unknown_field(&self, kinds: KindSet, key: &str) -> PatternError {
        let mut kinds = kinds.iter();
        let (first, second) = (kinds.next(), kinds.next());
        let owner = match (first, second) {
            (Some(kind), None) => Some(kind),
            _ => None,
        };
        let Some(kind) = owner else {
            let error = self.error(format!("unknown key `{key}`"), Some(key));
            return did_you_mean(error, key, KEYS.iter().chain(QUANTIFIERS).copied());
        };
        let error = self.error(format!("`{}` has no field `{key}`", kind.name()), Some(key));
        let own: Vec<&str> = kind
            .fields()
            .iter()
            .map(|spec| spec.field.name())
            .chain(kind.attributes().iter().copied())
            .collect();
        match closest(key, own.iter().copied().chain(KEYS.iter().copied())) {
            Some(suggestion) => error.hint(format!("did you mean `{suggestion}`?")),
            None if own.is_empty() => {
                error.hint(format!("`{}` has no fields; `value` is its text", kind.name()))
            }
            None => error.hint(format!("`{}` has `{}`", kind.name(), own.join("`, `"))),
        }
    }
}

/// What a key of a node pattern names.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Field(Field, Arity),
    Attribute(&'static str),
    /// The node's own text or value.
    Own,
}

fn place_of(kind: Kind, key: &str) -> Option<Place> {
    let key = vocabulary::resolve_field(kind, key);
    if let Some(spec) = kind.field(key) {
        return Some(Place::Field(spec.field, spec.arity));
    }
    if let Some(attribute) = kind.attributes().iter().find(|attribute| **attribute == key) {
        return Some(Place::Attribute(attribute));
    }
    let is_leaf = kind.fields().is_empty() && !matches!(kind, Kind::Pass | Kind::Break | Kind::Continue);
    (is_leaf && matches!(key, "value" | "id" | "name" | "n" | "s")).then_some(Place::Own)
}

/// The node that syntax puts around the list in a field, so that the list alone may be written.
fn list_holder(field: Field) -> Option<(Kind, Field)> {
    match field {
        Field::Params => Some((Kind::Parameters, Field::Params)),
        Field::TypeParams => Some((Kind::TypeParams, Field::Params)),
        Field::Orelse => Some((Kind::Else, Field::Body)),
        Field::Finalbody => Some((Kind::Finally, Field::Body)),
        _ => None,
    }
}
