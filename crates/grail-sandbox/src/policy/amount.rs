//! The limits as data: their names, units and permitted ranges, and amounts as people write them.
//!
//! An amount is a `u64` in its field's unit (microseconds, bytes or a count), so that "stricter" is "smaller" for every field.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::de::{self, DeserializeSeed, Deserializer, Visitor};

use super::error::PolicyError;

/// One of the limits of [`super::Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    MaxDuration,
    MaxMemory,
    MaxRecursion,
    MaxSuspensions,
    MaxOutput,
    MaxResult,
    MaxSource,
    CheckTimeout,
    ToolTimeout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Time,
    Bytes,
    Count,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000_000;

/// Longest first, so that `ms` is not read as `s`.
const TIME_UNITS: [(&str, u64); 6] =
    [("min", 60 * SECOND), ("ms", 1000), ("us", 1), ("h", 3600 * SECOND), ("m", 60 * SECOND), ("s", SECOND)];
const BYTE_UNITS: [(&str, u64); 7] = [
    ("KiB", KIB),
    ("MiB", MIB),
    ("GiB", GIB),
    ("KB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

impl Field {
    pub const ALL: [Self; 9] = [
        Self::MaxDuration,
        Self::MaxMemory,
        Self::MaxRecursion,
        Self::MaxSuspensions,
        Self::MaxOutput,
        Self::MaxResult,
        Self::MaxSource,
        Self::CheckTimeout,
        Self::ToolTimeout,
    ];

    /// As in `grail.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxDuration => "max-duration",
            Self::MaxMemory => "max-memory",
            Self::MaxRecursion => "max-recursion",
            Self::MaxSuspensions => "max-suspensions",
            Self::MaxOutput => "max-output",
            Self::MaxResult => "max-result",
            Self::MaxSource => "max-source",
            Self::CheckTimeout => "check-timeout",
            Self::ToolTimeout => "tool-timeout",
        }
    }

    /// What it limits, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Self::MaxDuration => "time the code may execute; waiting for tools does not count",
            Self::MaxMemory => "memory the run may allocate in its worker",
            Self::MaxRecursion => "depth of Python calls",
            Self::MaxSuspensions => "calls to the host: tools, files, waits",
            Self::MaxOutput => "printed output",
            Self::MaxResult => "size of the result",
            Self::MaxSource => "size of the source",
            Self::CheckTimeout => "time the checks before the run may take",
            Self::ToolTimeout => "time one tool call may take",
        }
    }

    /// The permitted range as text, such as `1MiB to 64GiB`.
    pub fn range(self) -> String {
        let permitted = self.permitted();
        format!("{} to {}", self.show(*permitted.start()), self.show(*permitted.end()))
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }

    /// Upper ends: the engine's own (recursion, one frame of its protocol, the stack a worker compiles on), or beyond any sense.
    pub(super) fn permitted(self) -> RangeInclusive<u64> {
        match self {
            Self::MaxDuration => 1000..=24 * 3600 * SECOND,
            Self::MaxMemory => MIB..=64 * GIB,
            Self::MaxRecursion => 1..=1000,
            Self::MaxSuspensions => 0..=1_000_000,
            Self::MaxOutput => 0..=GIB,
            Self::MaxResult => 1..=128 * MIB,
            Self::MaxSource => 1..=MIB,
            Self::CheckTimeout => 10_000..=600 * SECOND,
            Self::ToolTimeout => 1000..=24 * 3600 * SECOND,
        }
    }

    pub(super) fn validate(self, amount: u64) -> Result<u64, PolicyError> {
        if self.permitted().contains(&amount) {
            Ok(amount)
        } else {
            Err(self.out_of_range(self.show(amount)))
        }
    }

    /// The amount as a person would write it, in the largest unit that says it exactly.
    pub(super) fn show(self, amount: u64) -> String {
        let units: &[(&str, u64)] = match self.unit() {
            Unit::Count => return amount.to_string(),
            Unit::Time => &[("h", 3600 * SECOND), ("s", SECOND), ("ms", 1000), ("us", 1)],
            Unit::Bytes => &[("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("B", 1)],
        };
        let exact = units.iter().find(|(_, size)| amount >= *size && amount.is_multiple_of(*size));
        match exact {
            Some((unit, size)) => format!("{}{unit}", amount / size),
            None if self.unit() == Unit::Time => "0s".to_owned(),
            None => "0B".to_owned(),
        }
    }

    pub(super) fn parse(self, text: &str) -> Result<u64, PolicyError> {
        let trimmed = text.trim();
        let (number, size) = match self.unit() {
            Unit::Count => (trimmed, 1),
            Unit::Time => split_unit(trimmed, &TIME_UNITS).unwrap_or((trimmed, SECOND)),
            Unit::Bytes => split_unit(trimmed, &BYTE_UNITS).unwrap_or((trimmed, 1)),
        };
        let number = number.trim_end();
        // `f64` alone would also take `inf`, `nan` and `1e9`.
        if number.is_empty()
            || !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-')
        {
            return Err(self.unreadable(text));
        }
        if let Ok(whole) = number.parse::<u64>() {
            return match whole.checked_mul(size) {
                Some(amount) => self.validate(amount),
                None => Err(self.out_of_range(text.to_owned())),
            };
        }
        let number: f64 = number.parse().map_err(|_| self.unreadable(text))?;
        self.scaled(number, size, text)
    }

    fn scaled(self, number: f64, size: u64, text: &str) -> Result<u64, PolicyError> {
        let scaled = (number * size as f64).round();
        let whole_needed = self.unit() == Unit::Count && number.fract() != 0.0;
        // Far above every range and still exact as a float.
        if !(0.0..=1e15).contains(&scaled) || whole_needed {
            return Err(self.out_of_range(text.to_owned()));
        }
        self.validate(scaled as u64)
    }

    fn plain_number(self, number: f64, text: &str) -> Result<u64, PolicyError> {
        self.scaled(number, if self.unit() == Unit::Time { SECOND } else { 1 }, text)
    }

    fn unit(self) -> Unit {
        match self {
            Self::MaxDuration | Self::CheckTimeout | Self::ToolTimeout => Unit::Time,
            Self::MaxMemory | Self::MaxOutput | Self::MaxResult | Self::MaxSource => Unit::Bytes,
            Self::MaxRecursion | Self::MaxSuspensions => Unit::Count,
        }
    }

    fn out_of_range(self, value: String) -> PolicyError {
        PolicyError::OutOfRange { field: self, value: shortened(&value) }
    }

    fn unreadable(self, text: &str) -> PolicyError {
        let expected = match self.unit() {
            Unit::Time => "a time such as `5s`, `500ms` or `2min`, or a number of seconds",
            Unit::Bytes => "a size such as `64MiB` or `1KB`, or a number of bytes",
            Unit::Count => "a whole number",
        };
        PolicyError::Unreadable { field: self, value: shortened(text), expected }
    }
}

/// An amount of this field, written as a number or as text.
impl<'de> DeserializeSeed<'de> for Field {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(AmountVisitor(self))
    }
}

struct AmountVisitor(Field);

impl Visitor<'_> for AmountVisitor {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an amount for `{}`", self.0.name())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u64, E> {
        self.0.plain_number(number as f64, &number.to_string()).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u64, E> {
        self.0.plain_number(number as f64, &number.to_string()).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<u64, E> {
        self.0.plain_number(number, &number.to_string()).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        self.0.parse(text).map_err(E::custom)
    }
}

/// Some of the limits, by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts([Option<u64>; Field::ALL.len()]);

impl Amounts {
    pub(super) fn get(&self, field: Field) -> Option<u64> {
        self.0[field.index()]
    }

    pub(super) fn set(&mut self, field: Field, amount: u64) {
        self.0[field.index()] = Some(amount);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Field, u64)> + '_ {
        Field::ALL.into_iter().filter_map(|field| Some((field, self.get(field)?)))
    }
}

/// As `{"max-duration": "5s"}`.
impl serde::Serialize for Amounts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(field, amount)| (field.name(), Shown(field, amount))))
    }
}

impl<'de> serde::Deserialize<'de> for Amounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AmountsVisitor)
    }
}

struct AmountsVisitor;

impl<'de> Visitor<'de> for AmountsVisitor {
    type Value = Amounts;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table of limits")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Amounts, A::Error> {
        let mut amounts = Amounts::default();
        while let Some(key) = map.next_key::<String>()? {
            let Some(field) = Field::from_name(&key) else {
                return Err(de::Error::custom(super::error::unknown_key(&key, &Field::ALL.map(Field::name))));
            };
            amounts.set(field, map.next_value_seed(field)?);
        }
        Ok(amounts)
    }
}

/// Writes an amount: counts as numbers, the rest as text.
pub(super) struct Shown(pub(super) Field, pub(super) u64);

impl serde::Serialize for Shown {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.unit() {
            Unit::Count => serializer.serialize_u64(self.1),
            Unit::Time | Unit::Bytes => serializer.serialize_str(&self.0.show(self.1)),
        }
    }
}

/// Rounded up: a limit of some nanoseconds is not one of zero.
pub(super) fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX)
}

fn split_unit<'a>(text: &'a str, units: &[(&str, u64)]) -> Option<(&'a str, u64)> {
    units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)))
}

/// Values in messages come from files; they need not be whole.
fn shortened(value: &str) -> String {
    match value.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}
