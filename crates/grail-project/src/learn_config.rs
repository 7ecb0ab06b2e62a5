//! `[learn]` in `grail.toml`: how the wheel turns by itself, and how much of the daily work a challenger gets.

use serde::{Deserialize, Deserializer};

/// How a project learns.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LearnConfig {
    /// The model that phases are trained on: local weights by name or path.
    pub model: Option<String>,
    /// The suite that decides: a name or a file.
    pub suite: Option<String>,
    /// How many examples a dataset must have that the last phase did not see.
    pub new_examples: u64,
    /// Minutes that one turn may take.
    pub minutes: u64,
    /// How often each prompt of the suite is asked.
    pub seeds: u64,
    /// How many points of a hundred a kind of artifact may lose before a phase is refused.
    pub margin: f64,
    /// The share of generations that goes to a phase which is not clearly better yet, from 0 to 0.5.
    #[serde(deserialize_with = "share")]
    pub challenger_share: f64,
}

impl Default for LearnConfig {
    fn default() -> Self {
        Self {
            model: None,
            suite: None,
            new_examples: 50,
            minutes: 60,
            seeds: 3,
            margin: 5.0,
            challenger_share: 0.0,
        }
    }
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(deserializer)?;
    if (0.0..=0.5).contains(&share) {
        return Ok(share);
    }
    Err(serde::de::Error::custom(format!("{share} is out of range: 0 to 0.5")))
}
