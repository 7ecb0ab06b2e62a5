//! What came of asking one model every prompt of a suite: answers as they were judged, kept for good under their hash.
//!
//! An evaluation says who was asked and who answered. Numbers are never stored: they follow from the answers, see [`Score`].

mod score;
mod store;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Problem, Tokens};
use crate::suite::{Group, Suite};

pub(crate) use score::broken_rules;
pub use score::{Broken, Proportion, Score, Tally};
pub use store::{EVALUATIONS_FOLDER, keep_evaluation, list_evaluations, open_evaluation};

/// The version of what is written.
pub const EVALUATION_FORMAT: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    pub format: u32,
    /// What everything below hashes to, but for the moment; the evaluation's name.
    #[serde(default)]
    pub hash: String,
    /// When it was made, in RFC 3339. Not part of the hash.
    #[serde(default)]
    pub made: String,
    pub arm: Arm,
    pub suite: SuiteName,
    /// Every prompt was asked once with each.
    pub seeds: Vec<u64>,
    /// How it was asked: limits and sampling, and the system prompt of the chat.
    pub asking: Asking,
    /// The hash of every pack of rules that judged, by its name.
    #[serde(default)]
    pub rules: BTreeMap<String, String>,
    /// The layers that judged: `syntax`, `rules`, `types`, `render`.
    #[serde(default)]
    pub layers: Vec<String>,
    /// The version of Grail that judged.
    #[serde(default)]
    pub grail: String,
    /// By prompt and seed.
    pub answers: Vec<Answer>,
}

/// Who is asked, and with what in the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// What reports call it, such as `base`, `base with the skill` or the name of a phase.
    pub name: String,
    /// The model that was asked for, by its name.
    pub model: String,
    /// Who answered, as the server proved it with every answer: base and adapter.
    pub identity: String,
    /// The phase, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The text of a skill that was told with every prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillText>,
    /// Which control it is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
}

/// Arms that say what a number is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// The base model, told nothing.
    Base,
    /// The base model, told the text of the skill.
    BaseWithSkill,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillText {
    /// The skill's name; several are `kind by kind`.
    pub name: String,
    /// Of the text that was told.
    pub hash: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteName {
    pub name: String,
    pub hash: String,
    /// How many prompts it has.
    pub prompts: usize,
}

/// What is the same for every prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asking {
    pub system_prompt: String,
    /// How often each prompt was said; 0 in evaluations that were made before it was counted, which is once.
    #[serde(default)]
    pub readings: u8,
    pub max_tokens: u32,
    pub temperature: f64,
    /// How often a wrong answer was sent back with what is wrong.
    pub retries: u32,
    /// Whether a model on this machine was held to names that its answer gives.
    #[serde(default)]
    pub known_names: bool,
}

/// One prompt with one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The prompt's name in the suite.
    pub prompt: String,
    pub kind: String,
    pub group: Group,
    pub seed: u64,
    /// The code of the last try as it was answered; empty if there was none.
    pub code: String,
    /// Whether the first answer passed everything as it was, without any fix.
    pub first_try_passed: bool,
    /// Whether the last answer passed after safe fixes.
    pub passed_with_fixes: bool,
    /// What was wrong with the first answer before any fix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Rules whose fixes were applied, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<String>,
    #[serde(default)]
    pub retries: u32,
    pub tokens: Tokens,
    pub milliseconds: u64,
    /// Why the model stopped: `stop`, `length`, or what went wrong.
    pub finish: String,
}

/// Which of two verdicts counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Passed at the first try, as it was.
    #[default]
    FirstTry,
    /// Passed after fixes and retries.
    WithFixes,
}

impl From<&Suite> for SuiteName {
    fn from(suite: &Suite) -> Self {
        Self { name: suite.name.clone(), hash: suite.hash.clone(), prompts: suite.prompts.len() }
    }
}

impl Answer {
    pub fn passed(&self, measure: Measure) -> bool {
        match measure {
            Measure::FirstTry => self.first_try_passed,
            Measure::WithFixes => self.passed_with_fixes,
        }
    }
}

impl Evaluation {
    /// The name that follows from everything but the moment.
    pub fn content_hash(&self) -> String {
        let content = Self { hash: String::new(), made: String::new(), ..self.clone() };
        let bytes = serde_json::to_vec(&content).unwrap_or_default();
        blake3::hash(&bytes).to_hex()[..32].to_owned()
    }

    pub fn score(&self) -> Score {
        Score::of(&self.answers)
    }

    /// What is wrong with it as an evaluation of this suite: prompts or seeds that are missing or there twice.
    pub fn gaps(&self, suite: &Suite) -> Vec<String> {
        let mut gaps = Vec::new();
        if self.suite.hash != suite.hash {
            gaps.push(format!("it answers suite `{}`, not `{}`", self.suite.hash, suite.hash));
        }
        let mut counts: BTreeMap<(&str, u64), usize> = BTreeMap::new();
        for answer in &self.answers {
            *counts.entry((answer.prompt.as_str(), answer.seed)).or_default() += 1;
        }
        for prompt in &suite.prompts {
            for seed in &self.seeds {
                match counts.remove(&(prompt.id.as_str(), *seed)) {
                    Some(1) => {}
                    Some(count) => {
                        gaps.push(format!("`{}` was answered {count} times with seed {seed}", prompt.id))
                    }
                    None => gaps.push(format!("`{}` was not answered with seed {seed}", prompt.id)),
                }
            }
        }
        gaps.extend(
            counts.keys().map(|(prompt, seed)| format!("`{prompt}` with seed {seed} is not in the suite")),
        );
        gaps
    }
}
