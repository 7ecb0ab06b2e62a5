//! Something to learn from: what was asked, what should be answered, what should not, and where all of it comes from.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::event::{Problem, ToolUse};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The hash of what there is to learn: the same lesson has the same name, whoever taught it.
    pub id: String,
    #[serde(rename = "type")]
    pub example_type: ExampleType,
    /// The kind of artifact, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// Rules that it teaches, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Tools that it uses, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Why it was asked: a few lines of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The last turns before the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub window: Vec<Turn>,
    pub request: String,
    /// What should be answered. Without it, the example only says what should not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Calls that should be made, where the answer is calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolUse>,
    /// What should not be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
    /// What is wrong with `rejected`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Where the code belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub weight: Weight,
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExampleType {
    /// An error, and how it was mended.
    Corrective,
    /// Right at the first try.
    Positive,
    /// What was not meant.
    Negative,
    /// Several tools, one after the other.
    MultiTool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// `user` or `assistant`.
    pub role: String,
    pub text: String,
}

/// Why it counts as much as it does: the product is what training uses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// By type.
    pub base: f64,
    /// By what became of the branch.
    pub outcome: f64,
    /// By how much of its kind there is: what is rare counts more, what is derived counts less.
    #[serde(default = "unchanged", skip_serializing_if = "is_unchanged")]
    pub balance: f64,
}

fn unchanged() -> f64 {
    1.0
}

fn is_unchanged(factor: &f64) -> bool {
    *factor == unchanged()
}

/// Where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `project`, `skill:NAME` or `import:NAME`.
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The example that this one is made of by saying the request in other words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation_of: Option<String>,
    /// Who had answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The events it was made of, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Uuid>,
}

impl ExampleType {
    pub const ALL: [Self; 4] = [Self::Corrective, Self::Positive, Self::Negative, Self::MultiTool];

    pub fn name(self) -> &'static str {
        match self {
            Self::Corrective => "corrective",
            Self::Positive => "positive",
            Self::Negative => "negative",
            Self::MultiTool => "multi_tool",
        }
    }

    /// How much one of them is worth before anything is known of its branch.
    pub fn base_weight(self) -> f64 {
        match self {
            Self::Corrective => 1.5,
            Self::Positive => 1.0,
            Self::Negative => 2.0,
            Self::MultiTool => 1.3,
        }
    }
}

impl Weight {
    pub fn new(base: f64, outcome: f64) -> Self {
        Self { base, outcome, balance: unchanged() }
    }

    pub fn total(self) -> f64 {
        self.base * self.outcome * self.balance
    }
}

impl Example {
    /// The name that follows from what there is to learn. Weight and origin are not part of it.
    pub fn content_id(&self) -> String {
        let lesson = (
            self.example_type,
            &self.artifact,
            &self.context,
            &self.window,
            &self.request,
            &self.chosen,
            &self.calls,
            &self.rejected,
        );
        let bytes = serde_json::to_vec(&lesson).unwrap_or_default();
        blake3::hash(&bytes).to_hex()[..16].to_owned()
    }
}
