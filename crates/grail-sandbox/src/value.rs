//! Python values at the border.
//!
//! A [`Value`] is what tools receive and return and what a run ends with. It is complete: a value the public variants have no place
//! for stays whole inside [`Native`] and can be handed back to the code unchanged. JSON is one way to write it down, and loses what
//! JSON cannot say (tuples, sets, big integers); nothing in here is recursive beyond [`MAX_DEPTH`].

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use monty_proto::WireObject;
use monty_types::{DictPairs, MontyClassInstance, MontyClassType, MontyObject, MontyUuid};
use num_bigint::BigInt;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Number, Value as Json};

/// How deep a value may nest on its way into a worker or out of it. The engine's wire format ends not much deeper.
pub const MAX_DEPTH: usize = 48;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits.
    BigInt(BigInt),
    Float(f64),
    Str(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Set(Vec<Value>),
    FrozenSet(Vec<Value>),
    /// In insertion order, as in Python.
    Dict(Vec<(Value, Value)>),
    Record(Record),
    /// Dates, paths, types, exceptions and whatever else Python has.
    Native(Native),
}

/// An object with named fields: an instance of a dataclass or of a class the code defined.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub class: String,
    pub fields: Vec<(String, Value)>,
}

/// A value kept as the engine gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Native(MontyObject);

impl Native {
    /// Python's name for its type, such as `date`.
    pub fn type_name(&self) -> &str {
        self.0.type_name()
    }

    pub fn repr(&self) -> String {
        self.0.py_repr()
    }
}

impl Value {
    pub fn str(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }

    /// What JSON says, as Python would load it.
    ///
    /// # Errors
    /// The value nests deeper than [`MAX_DEPTH`].
    pub fn from_json(json: &Json) -> Result<Self, TooDeep> {
        from_json(json, 0)
    }

    /// JSON, as close as it gets: bytes as base64, sets and tuples as arrays, dates in ISO 8601, big integers and whatever else JSON
    /// lacks as strings.
    pub fn to_json(&self) -> Json {
        match self {
            Self::None => Json::Null,
            Self::Bool(flag) => Json::Bool(*flag),
            Self::Int(number) => Json::from(*number),
            Self::BigInt(number) => match u64::try_from(number) {
                Ok(number) => Json::from(number),
                Err(_) => Json::String(number.to_string()),
            },
            Self::Float(number) => match Number::from_f64(*number) {
                Some(number) => Json::Number(number),
                None => Json::String(self.repr()),
            },
            Self::Str(text) => Json::String(text.clone()),
            Self::Bytes(bytes) => Json::String(BASE64.encode(bytes)),
            Self::List(items) | Self::Tuple(items) | Self::Set(items) | Self::FrozenSet(items) => {
                Json::Array(items.iter().map(Self::to_json).collect())
            }
            Self::Dict(pairs) => {
                Json::Object(pairs.iter().map(|(key, value)| (key.as_json_key(), value.to_json())).collect())
            }
            Self::Record(record) => {
                let fields = record.fields.iter().map(|(name, value)| (name.clone(), value.to_json()));
                Json::Object(fields.collect::<Map<_, _>>())
            }
            Self::Native(native) => Json::String(native.plain_text()),
        }
    }

    /// Python's `repr()`.
    pub fn repr(&self) -> String {
        self.to_monty(&mut Identities::default()).py_repr()
    }

    /// Reads a field of a record or a string key of a dict.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Record(record) => {
                record.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
            }
            Self::Dict(pairs) => pairs
                .iter()
                .find(|(key, _)| matches!(key, Self::Str(text) if text == name))
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// As `json.dumps` writes keys.
    fn as_json_key(&self) -> String {
        match self {
            Self::Str(text) => text.clone(),
            Self::None => "null".to_owned(),
            Self::Bool(flag) => flag.to_string(),
            other => other.repr(),
        }
    }

    pub(crate) fn to_monty(&self, identities: &mut Identities) -> MontyObject {
        let mut all = |items: &[Self]| items.iter().map(|item| item.to_monty(identities)).collect();
        match self {
            Self::None => MontyObject::None,
            Self::Bool(flag) => MontyObject::Bool(*flag),
            Self::Int(number) => MontyObject::Int(*number),
            Self::BigInt(number) => MontyObject::BigInt(number.clone()),
            Self::Float(number) => MontyObject::Float(*number),
            Self::Str(text) => MontyObject::String(text.clone()),
            Self::Bytes(bytes) => MontyObject::Bytes(bytes.clone()),
            Self::List(items) => MontyObject::List(all(items)),
            Self::Tuple(items) => MontyObject::Tuple(all(items)),
            Self::Set(items) => MontyObject::Set(all(items)),
            Self::FrozenSet(items) => MontyObject::FrozenSet(all(items)),
            Self::Dict(pairs) => MontyObject::Dict(
                pairs
                    .iter()
                    .map(|(key, value)| (key.to_monty(identities), value.to_monty(identities)))
                    .collect(),
            ),
            Self::Record(record) => {
                let attrs: DictPairs = record
                    .fields
                    .iter()
                    .map(|(name, value)| (MontyObject::String(name.clone()), value.to_monty(identities)))
                    .collect();
                identities.instance(&record.class, attrs)
            }
            Self::Native(native) => native.0.clone(),
        }
    }

    pub(crate) fn from_monty(object: MontyObject) -> Self {
        let all = |items: Vec<MontyObject>| items.into_iter().map(Self::from_monty).collect();
        match object {
            MontyObject::None => Self::None,
            MontyObject::Bool(flag) => Self::Bool(flag),
            MontyObject::Int(number) => Self::Int(number),
            MontyObject::BigInt(number) => Self::BigInt(number),
            MontyObject::Float(number) => Self::Float(number),
            MontyObject::String(text) => Self::Str(text),
            MontyObject::Bytes(bytes) => Self::Bytes(bytes),
            MontyObject::List(items) => Self::List(all(items)),
            MontyObject::Tuple(items) => Self::Tuple(all(items)),
            MontyObject::Set(items) => Self::Set(all(items)),
            MontyObject::FrozenSet(items) => Self::FrozenSet(all(items)),
            MontyObject::Dict(pairs) => Self::Dict(
                pairs
                    .into_iter()
                    .map(|(key, value)| (Self::from_monty(key), Self::from_monty(value)))
                    .collect(),
            ),
            MontyObject::ClassInstance(instance) => Self::Record(Record {
                class: instance.class_type.name,
                fields: instance
                    .attrs
                    .into_iter()
                    .map(|(name, value)| (name.to_string(), Self::from_monty(value)))
                    .collect(),
            }),
            MontyObject::NamedTuple { type_name, field_names, values } => Self::Record(Record {
                class: type_name,
                fields: field_names.into_iter().zip(values.into_iter().map(Self::from_monty)).collect(),
            }),
            other => Self::Native(Native(other)),
        }
    }
}

/// A value as text that loses nothing, infinities included: the engine's wire format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PackedValue(String);

impl PackedValue {
    pub(crate) fn pack(value: &Value) -> Self {
        let wire = WireObject::new(value.to_monty(&mut Identities::default()));
        // What came over the wire fits it again.
        Self(BASE64.encode(monty_proto::encode_to_capped_vec(&wire).unwrap_or_default()))
    }

    /// Only ever called on what a seal vouches for.
    pub(crate) fn unpack(&self) -> Value {
        let bytes = BASE64.decode(&self.0).unwrap_or_default();
        let wire = monty_proto::decode_frame::<WireObject>(&bytes).unwrap_or_default();
        wire.0.map_or(Value::None, Value::from_monty)
    }
}

/// A value that nests deeper than [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep;

impl fmt::Display for TooDeep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "nests deeper than {MAX_DEPTH} levels")
    }
}

/// Names for the objects a host sends: the engine wants every class and instance to have one.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    instances: u64,
}

impl Identities {
    pub(crate) fn instance(&mut self, class: &str, attrs: DictPairs) -> MontyObject {
        self.instances += 1;
        MontyObject::ClassInstance(Box::new(MontyClassInstance {
            class_type: MontyClassType {
                name: class.to_owned(),
                id: identity("class", class),
                host_defined: true,
                is_dataclass: true,
                attrs: Vec::new().into(),
            },
            instance_id: identity("instance", &self.instances.to_string()),
            attrs,
        }))
    }
}

/// The object behind the name `tools`: its methods are the tools.
pub(crate) fn tools_object() -> MontyObject {
    MontyObject::ClassInstance(Box::new(MontyClassInstance {
        class_type: MontyClassType {
            name: "Tools".to_owned(),
            id: identity("class", "tools"),
            host_defined: true,
            is_dataclass: false,
            attrs: Vec::new().into(),
        },
        instance_id: tools_object_id(),
        attrs: Vec::new().into(),
    }))
}

pub(crate) fn tools_object_id() -> MontyUuid {
    identity("instance", "tools")
}

fn identity(kind: &str, name: &str) -> MontyUuid {
    let digest = blake3::hash(format!("{kind}:{name}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    MontyUuid::from_random_bytes(bytes)
}

impl Native {
    /// `str()` for what has a plain text form, else `repr()`.
    fn plain_text(&self) -> String {
        match &self.0 {
            MontyObject::Date(date) => format!("{:04}-{:02}-{:02}", date.year, date.month, date.day),
            MontyObject::DateTime(moment) => {
                let mut text = format!(
                    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                    moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second
                );
                if moment.microsecond != 0 {
                    text.push_str(&format!(".{:06}", moment.microsecond));
                }
                if let Some(offset) = moment.offset_seconds {
                    let (sign, offset) = if offset < 0 { ('-', -offset) } else { ('+', offset) };
                    text.push_str(&format!("{sign}{:02}:{:02}", offset / 3600, offset % 3600 / 60));
                }
                text
            }
            MontyObject::Path(path) => path.clone(),
            // What the engine has no value for, such as a function, it sends as text already.
            MontyObject::Repr(text) => text.clone(),
            other => other.py_repr(),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

fn from_json(json: &Json, depth: usize) -> Result<Value, TooDeep> {
    if depth > MAX_DEPTH {
        return Err(TooDeep);
    }
    Ok(match json {
        Json::Null => Value::None,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::Int(number),
            (None, Some(number)) => Value::BigInt(BigInt::from(number)),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::Str(text.clone()),
        Json::Array(items) => {
            Value::List(items.iter().map(|item| from_json(item, depth + 1)).collect::<Result<_, _>>()?)
        }
        Json::Object(fields) => Value::Dict(
            fields
                .iter()
                .map(|(name, value)| Ok((Value::Str(name.clone()), from_json(value, depth + 1)?)))
                .collect::<Result<_, _>>()?,
        ),
    })
}
