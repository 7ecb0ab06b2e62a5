//! Why a policy, a guard or a combination of them is refused.

use thiserror::Error;

use super::amount::Field;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PolicyError {
    #[error("`{}` is `{value}`, permitted is {}", field.name(), field.range())]
    OutOfRange { field: Field, value: String },
    #[error("`{}` is `{value}`, expected {expected}", field.name())]
    Unreadable { field: Field, value: String, expected: &'static str },
    #[error("`may-loosen` gives `{}` the ceiling `{ceiling}`, below its limit `{limit}`", field.name())]
    CeilingBelowLimit { field: Field, ceiling: String, limit: String },
    #[error("`{pattern}` is not a tool name or a pattern with `*`")]
    ToolPattern { pattern: String },
    #[error("`tools` lists more than {limit} names")]
    TooManyTools { limit: usize },
    #[error("policy `{policy}`: {message}")]
    Malformed { policy: String, message: String },
    #[error("`{name}` cannot name a policy")]
    Name { name: String },
    #[error("`{name}` is a preset and cannot be defined again")]
    PresetRedefined { name: String },
    #[error("policy `{name}` is defined twice")]
    DefinedTwice { name: String },
    #[error("there is no policy `{name}`")]
    Unknown { name: String, known: Vec<String> },
    #[error("policy `{policy}` inherits from `{parent}`, which does not exist")]
    UnknownParent { policy: String, parent: String, known: Vec<String> },
    #[error("policies inherit from each other: {}", path.join(" → "))]
    Cycle { path: Vec<String> },
    #[error("no policy was named")]
    NothingToCompose,
    #[error("`{}` is `{value}`, but policy `{policy}` allows at most `{ceiling}`", field.name())]
    LoosensTooFar { field: Field, value: String, ceiling: String, policy: String },
}

impl PolicyError {
    /// What to do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::CeilingBelowLimit { .. } => Some("raise the ceiling or lower the limit".to_owned()),
            Self::ToolPattern { .. } => {
                Some("write names such as `fetch`, `files.read` or `search_*`".to_owned())
            }
            Self::TooManyTools { .. } => Some("group tools under a prefix and allow `prefix_*`".to_owned()),
            Self::Name { .. } => Some("use letters, digits, `-` and `_`, at most 64".to_owned()),
            Self::PresetRedefined { name } => {
                Some(format!("choose another name and write `inherits = [\"{name}\"]`"))
            }
            Self::DefinedTwice { .. } => Some("`-` and `_` are the same in names of policies".to_owned()),
            Self::Unknown { name, known } | Self::UnknownParent { parent: name, known, .. } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Some(suggestion(name, &known))
            }
            Self::Cycle { .. } => Some("remove one of these from the `inherits` of another".to_owned()),
            Self::LoosensTooFar { field, ceiling, .. } => Some(format!(
                "ask for at most `{ceiling}`, or run under a policy whose `may-loosen` has a higher `{}`",
                field.name()
            )),
            Self::OutOfRange { .. }
            | Self::Unreadable { .. }
            | Self::Malformed { .. }
            | Self::NothingToCompose => None,
        }
    }
}

/// For errors inside a document, where there is no place for a separate hint.
pub(super) fn unknown_key(key: &str, known: &[&str]) -> String {
    let key: String = key.chars().take(40).collect();
    format!("unknown key `{key}`; {}", suggestion(&key, known))
}

fn suggestion(name: &str, known: &[&str]) -> String {
    // Names come from files: a long one is like no other, and comparing it would cost the product of the lengths.
    let comparable = name.len() <= 100;
    let nearest = known
        .iter()
        .filter(|_| comparable)
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None => {
            let list: Vec<String> = known.iter().take(20).map(|name| format!("`{name}`")).collect();
            format!("known here: {}{}", list.join(", "), if known.len() > 20 { ", …" } else { "" })
        }
    }
}
