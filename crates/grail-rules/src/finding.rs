//! What a check found: one shape for all layers, from a syntax error to a failed test.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use grail_code::{Edit, Position, Span};
use serde::{Deserialize, Serialize};

/// Something that is not as it should be, at one place of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The path relative to the project's root, with `/`. Empty if it belongs to no file.
    pub path: Arc<str>,
    pub layer: Layer,
    /// The rule's id; of other tools their code, such as `F401`.
    pub rule: Arc<str>,
    pub severity: Severity,
    pub message: String,
    /// What to do about it, where the message does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Bytes of the decoded text; `None` if only the file is known.
    pub span: Option<Span>,
    /// Line and column from 1, columns in characters.
    pub start: Position,
    pub end: Position,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// Edits that put a finding right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// What it does, in the imperative: `Add the decorator @view`.
    pub title: String,
    pub safety: Safety,
    pub edits: Vec<Edit>,
}

/// Whether a fix may be applied without looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Safety {
    /// Shown, never applied.
    DisplayOnly,
    /// May change what the code means; applied with `--unsafe-fixes`.
    Unsafe,
    /// Keeps or restores what the code is meant to do.
    Safe,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Info,
    Warning,
    #[default]
    Error,
}

/// The layers of a check, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    Syntax,
    Rules,
    Lint,
    Types,
    Tests,
}

impl Finding {
    /// Whether a check that found it has failed; what is merely worth knowing fails nothing.
    pub fn is_failure(&self) -> bool {
        self.severity > Severity::Info
    }

    /// The order in which findings are shown.
    pub fn by_place(one: &Self, other: &Self) -> Ordering {
        (&one.path, one.start, one.end, &one.rule).cmp(&(&other.path, other.start, other.end, &other.rule))
    }
}

impl Severity {
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Layer {
    pub const ALL: [Layer; 5] = [Layer::Syntax, Layer::Rules, Layer::Lint, Layer::Types, Layer::Tests];

    pub const fn name(self) -> &'static str {
        match self {
            Layer::Syntax => "syntax",
            Layer::Rules => "rules",
            Layer::Lint => "lint",
            Layer::Types => "types",
            Layer::Tests => "tests",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
