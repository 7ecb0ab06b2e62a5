//! What a person means by a message: a correction, a confirmation, or neither.
//!
//! Judged by rules: cues with weights, turned round by negation, moved by position and by a "but", silent inside code and quotations. No
//! model is asked, the same message is always judged the same way, and however long a message is, only its beginning is read. Whoever knows
//! better implements [`MessageClassifier`].

mod cues;
mod reading;
mod score;

use serde::{Deserialize, Serialize};

/// Says what a message means for the work before it.
pub trait MessageClassifier: Send + Sync {
    fn classify(&self, message: &str) -> Judgement;
}

/// Judges by the rules of this module.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleClassifier;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    pub verdict: Verdict,
    /// From 0 to 1, and the surer the more there is between this verdict and the next; no probability.
    pub confidence: f64,
    /// The cues that decided it, in their order; none where there were none.
    pub because: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// What was made is not what was meant.
    Correction,
    /// It is, said so or gone on from.
    Confirmation,
    /// A question, a new wish, a word in between.
    Neither,
}

impl MessageClassifier for RuleClassifier {
    fn classify(&self, message: &str) -> Judgement {
        score::judge(&reading::read(message))
    }
}

impl Verdict {
    pub const ALL: [Self; 3] = [Self::Correction, Self::Confirmation, Self::Neither];

    pub fn name(self) -> &'static str {
        match self {
            Self::Correction => "correction",
            Self::Confirmation => "confirmation",
            Self::Neither => "neither",
        }
    }
}
