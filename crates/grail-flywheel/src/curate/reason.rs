//! Why an example was dropped.

use std::fmt;

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// A person said no.
    Rejected,
    /// Something secret was taken out of the answer: what stands in its place must not be learned.
    Redacted,
    /// The answer does not parse.
    Syntax { message: String },
    /// The answer breaks rules that hold today.
    Rules { rules: Vec<String>, message: String },
    /// The answer has errors of types.
    Types { message: String },
    /// The answer cannot be run.
    Run { message: String },
    /// What should not be answered breaks none of these rules any more.
    LabelGone { rules: Vec<String> },
    /// The answer is what should not be answered.
    SameAnswer,
    /// It says the same as another.
    Duplicate { of: String },
    /// It says nearly the same as another.
    NearDuplicate { of: String, percent: u8 },
    /// Its session has given enough.
    SessionCap { cap: usize },
}

impl Reason {
    /// One word for counting.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Redacted => "redacted",
            Self::Syntax { .. } => "syntax",
            Self::Rules { .. } => "rules",
            Self::Types { .. } => "types",
            Self::Run { .. } => "run",
            Self::LabelGone { .. } => "label_gone",
            Self::SameAnswer => "same_answer",
            Self::Duplicate { .. } => "duplicate",
            Self::NearDuplicate { .. } => "near_duplicate",
            Self::SessionCap { .. } => "session_cap",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named =
            |rules: &[String]| rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ");
        match self {
            Self::Rejected => write!(formatter, "a person rejected it"),
            Self::Redacted => write!(formatter, "something secret was taken out of the answer"),
            Self::Syntax { message } => write!(formatter, "the answer does not parse: {message}"),
            Self::Rules { rules, message } => {
                write!(formatter, "the answer breaks {} today: {message}", named(rules))
            }
            Self::Types { message } => write!(formatter, "the answer has errors of types: {message}"),
            Self::Run { message } => write!(formatter, "the answer does not run: {message}"),
            Self::LabelGone { rules } => {
                write!(formatter, "what should not be answered no longer breaks {}", named(rules))
            }
            Self::SameAnswer => write!(formatter, "the answer is also what should not be answered"),
            Self::Duplicate { of } => write!(formatter, "the same as `{of}`"),
            Self::NearDuplicate { of, percent } => write!(formatter, "{percent} % the same as `{of}`"),
            Self::SessionCap { cap } => write!(formatter, "its session gives {cap} better ones already"),
        }
    }
}
