//! Two arms on the same prompts and seeds: who is better, by how much, and how sure that is.
//!
//! Everything is paired. The unit is the prompt: seeds of one prompt are no independent evidence, so intervals resample prompts, and a
//! prompt is won or lost by the mean of its seeds. The same two evaluations give the same comparison, to the last digit.

mod examples;
mod paired;

use serde::{Deserialize, Serialize};

use crate::evaluation::{Arm, Evaluation, Measure, Proportion, SuiteName};
use crate::event::Problem;
use crate::statistics::{Interval, McNemar, Sequential};
use crate::suite::Group;

pub use paired::{compare, compare_with};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareSettings {
    pub measure: Measure,
    /// How sure intervals are: 0.95.
    pub confidence: f64,
    pub resamples: u32,
    /// Of the bootstrap.
    pub seed: u64,
    /// How many examples side by side are told of each rule.
    pub examples: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub suite: SuiteName,
    pub settings: CompareSettings,
    pub before: Side,
    pub after: Side,
    /// How many prompts and seeds both answered.
    pub prompts: usize,
    pub pairs: usize,
    /// What is gained from before to after.
    pub difference: Difference,
    /// By prompt.
    pub mcnemar: McNemar,
    /// Valid at any moment at which somebody looks and stops.
    pub sequential: Sequential,
    pub kinds: Vec<Part>,
    pub groups: Vec<Part>,
    /// Rules whose problems changed, the most first.
    pub rules: Vec<RuleChange>,
    /// Prompts and seeds of which one arm passed and the other did not, won ones first.
    pub examples: Vec<SideBySide>,
}

/// One of the two.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The hash of its evaluation.
    pub evaluation: String,
    pub arm: Arm,
    /// On the pairs that are compared.
    pub passed: Proportion,
}

/// A difference of shares, between -1 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    pub estimate: f64,
    /// By bootstrap over prompts.
    pub interval: Interval,
}

/// The same for some of the prompts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The kind or group.
    pub name: String,
    pub prompts: usize,
    pub before: Proportion,
    pub after: Proportion,
    pub difference: Difference,
    /// Prompts won and lost.
    pub won: u64,
    pub lost: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleChange {
    pub rule: String,
    /// Answers that broke it before and do not any more.
    pub won: u64,
    /// Answers that did not break it before and do now.
    pub lost: u64,
    pub before: u64,
    pub after: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideBySide {
    pub prompt: String,
    pub kind: String,
    pub group: Group,
    pub seed: u64,
    pub won: bool,
    /// The rule that made the difference first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub before: Told,
    pub after: Told,
}

/// An answer as it is shown beside another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    pub passed: bool,
    pub code: String,
    pub problems: Vec<Problem>,
}

impl Default for CompareSettings {
    fn default() -> Self {
        Self { measure: Measure::FirstTry, confidence: 0.95, resamples: 10_000, seed: 0, examples: 3 }
    }
}

impl Comparison {
    /// Whether the interval lies above nothing.
    pub fn is_win(&self) -> bool {
        self.difference.interval.low > 0.0
    }

    /// Whether the interval lies below nothing.
    pub fn is_loss(&self) -> bool {
        self.difference.interval.high < 0.0
    }

    pub fn kind(&self, name: &str) -> Option<&Part> {
        self.kinds.iter().find(|part| part.name == name)
    }
}

impl Side {
    pub(crate) fn of(evaluation: &Evaluation, passed: Proportion) -> Self {
        Self { evaluation: evaluation.hash.clone(), arm: evaluation.arm.clone(), passed }
    }
}
