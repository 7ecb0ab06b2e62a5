//! Which tools and files a policy allows, ordered from strict to loose.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::PolicyError;

/// How far a mounted folder may be used. Code sees no file at all unless the host mounts some; this is the most a mount may grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileAccess {
    /// No files.
    #[default]
    None,
    /// Reading.
    Read,
    /// Reading, and writing that never reaches the disk.
    Overlay,
    /// Reading and writing.
    Write,
}

/// Which tools may be called: all, none, or those whose name matches a pattern (`*` stands for any characters).
///
/// Several policies together allow a tool that each of them allows, so an access is a set of lists of which *every* one must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolAccess {
    required: BTreeSet<BTreeSet<String>>,
}

const MAX_PATTERNS: usize = 1000;
const MAX_PATTERN_LENGTH: usize = 200;

impl FileAccess {
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Overlay => "overlay",
            Self::Write => "write",
        }
    }
}

impl ToolAccess {
    pub fn all() -> Self {
        Self::default()
    }

    pub fn none() -> Self {
        Self { required: BTreeSet::from([BTreeSet::new()]) }
    }

    /// Only tools whose name is in `patterns` or matches one with `*`.
    ///
    /// # Errors
    /// A pattern is empty, too long or no name, or there are too many.
    pub fn only<I: IntoIterator<Item = S>, S: Into<String>>(patterns: I) -> Result<Self, PolicyError> {
        let mut list = BTreeSet::new();
        for pattern in patterns {
            let pattern = pattern.into();
            let named = |character: char| character.is_alphanumeric() || "_.*".contains(character);
            if pattern.is_empty() || pattern.len() > MAX_PATTERN_LENGTH || !pattern.chars().all(named) {
                return Err(PolicyError::ToolPattern { pattern: pattern.chars().take(40).collect() });
            }
            list.insert(pattern);
            if list.len() > MAX_PATTERNS {
                return Err(PolicyError::TooManyTools { limit: MAX_PATTERNS });
            }
        }
        Ok(Self { required: BTreeSet::from([list]) }.simplified())
    }

    pub fn allows(&self, tool: &str) -> bool {
        self.required.iter().all(|list| list.iter().any(|pattern| matches(pattern, tool)))
    }

    /// What both allow.
    pub fn and(&self, other: &Self) -> Self {
        Self { required: self.required.union(&other.required).cloned().collect() }.simplified()
    }

    /// One spelling for one meaning as far as that is cheap: a list without wildcards is filtered by all others.
    fn simplified(mut self) -> Self {
        self.required.retain(|list| !list.contains("*"));
        if let Some(names) =
            self.required.iter().find(|list| !list.iter().any(|pattern| pattern.contains('*')))
        {
            let allowed = names.iter().filter(|name| self.allows(name)).cloned().collect();
            self.required = BTreeSet::from([allowed]);
        }
        self
    }
}

impl fmt::Display for ToolAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.required.is_empty() {
            return formatter.write_str("all");
        }
        if self.required.iter().any(BTreeSet::is_empty) {
            return formatter.write_str("none");
        }
        for (position, list) in self.required.iter().enumerate() {
            if position > 0 {
                formatter.write_str(" and ")?;
            }
            for (position, pattern) in list.iter().enumerate() {
                write!(formatter, "{}`{pattern}`", if position > 0 { ", " } else { "" })?;
            }
        }
        Ok(())
    }
}

/// `"all"`, `"none"` or a list of patterns. What several policies together allow is not always one list; then each list is written
/// out, and read back they have the same meaning.
impl Serialize for ToolAccess {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut lists = self.required.iter();
        match (lists.next(), lists.next()) {
            (None, _) => serializer.serialize_str("all"),
            (Some(list), None) if list.is_empty() => serializer.serialize_str("none"),
            (Some(list), None) => serializer.collect_seq(list),
            _ => serializer.collect_seq(&self.required),
        }
    }
}

impl<'de> Deserialize<'de> for ToolAccess {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolAccessVisitor)
    }
}

struct ToolAccessVisitor;

#[derive(Deserialize)]
#[serde(untagged)]
enum PatternOrList {
    Pattern(String),
    List(Vec<String>),
}

impl<'de> Visitor<'de> for ToolAccessVisitor {
    type Value = ToolAccess;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("`all`, `none` or a list of tool names for `tools`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ToolAccess, E> {
        match text {
            "all" => Ok(ToolAccess::all()),
            "none" => Ok(ToolAccess::none()),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<ToolAccess, A::Error> {
        let mut patterns = Vec::new();
        let mut access: Option<ToolAccess> = None;
        while let Some(item) = items.next_element()? {
            match item {
                PatternOrList::Pattern(pattern) => patterns.push(pattern),
                PatternOrList::List(list) => {
                    let list = ToolAccess::only(list).map_err(de::Error::custom)?;
                    access = Some(access.map_or(list.clone(), |access| access.and(&list)));
                }
            }
        }
        match access {
            Some(access) if patterns.is_empty() => Ok(access),
            Some(_) => Err(de::Error::custom("`tools` mixes names and lists")),
            None => ToolAccess::only(patterns).map_err(de::Error::custom),
        }
    }
}

/// Greedy with one point of return, so the time is at most the product of the lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut position) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while position < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, position));
            at += 1;
        } else if pattern.get(at) == Some(&name[position]) {
            at += 1;
            position += 1;
        } else if let Some((star_at, taken)) = star {
            star = Some((star_at, taken + 1));
            (at, position) = (star_at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}
