//! Examples to train, valid and test, so that nothing in one is nearly in another, and the proof of it.
//!
//! Never by row: examples of one session, of one event, with requests or answers that are alike, and a variation with its source stay
//! together. Which cluster goes where follows from hashes of what is in it. The proof is made afterwards, on the result; what it finds is
//! put together and split again, so a proof that holds is all that leaves here.

mod cluster;
mod near;
mod proof;

use serde::Serialize;

use crate::example::Example;
use crate::likeness::{Features, masked_shingles, plain_shingles};

pub use proof::prove;

#[derive(Clone, Debug, PartialEq)]
pub struct SplitSettings {
    /// Of the examples; the rest is train.
    pub valid: f64,
    pub test: f64,
    /// Two texts that are this alike must not be on two sides.
    pub threshold: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Split {
    pub train: Vec<Example>,
    pub valid: Vec<Example>,
    pub test: Vec<Example>,
    /// Those near a held-out prompt, with the prompt: they are nowhere.
    pub held_out: Vec<(Example, String)>,
    pub proof: Proof,
    /// What the numbers are too small for, as sentences.
    pub warnings: Vec<String>,
}

/// What was compared across the borders, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proof {
    /// Whether nothing crosses.
    pub holds: bool,
    /// What counts as near.
    pub threshold: f64,
    pub clusters: usize,
    /// Pairs on two sides that were compared text by text.
    pub pairs_checked: u64,
    /// All pairs on two sides.
    pub pairs: u64,
    /// Whether all pairs were compared. Otherwise those were that could be near, and a filter that misses none of these found them: a pair
    /// that is found in two ways counts twice, and texts of one side that are the same but for disguises are compared once.
    pub is_exhaustive: bool,
    /// The most that two texts on two sides are alike, of those that were compared.
    pub highest_similarity: f64,
    /// The most that a request on any side is like a held-out prompt.
    pub highest_held_out: f64,
    pub held_out_prompts: usize,
    /// What crosses, by the names of two examples and how alike they are; not more than a hundred.
    pub leaks: Vec<Leak>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leak {
    pub one: String,
    pub other: String,
    pub why: LeakKind,
    pub similarity: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeakKind {
    /// Requests or answers are too much alike.
    Alike,
    SameSession,
    SameEvent,
    /// One is a variation of the other, or both are of a third.
    Variation,
    /// A request is near a prompt that is held out.
    HeldOut,
}

/// A request that holds so much of a held-out prompt holds the prompt.
const CONTAINED: f64 = 0.9;
/// Clusters that prove to be one are joined so often; the proof says if that was not enough.
const MOST_ROUNDS: usize = 8;
/// Fewer examples to test with tell little.
const FEW_TO_TEST: usize = 20;

impl Default for SplitSettings {
    fn default() -> Self {
        Self { valid: 0.1, test: 0.1, threshold: 0.7 }
    }
}

/// Splits by cluster. `held_out` are prompts of evaluations: nothing near one of them is learned from.
pub fn split(examples: Vec<Example>, held_out: &[String], settings: &SplitSettings) -> Split {
    let mut split = Split::default();
    let mut examples = examples;
    // Whatever order they come in, the result is the same.
    examples.sort_by(|one, other| (&one.id, &one.origin.session).cmp(&(&other.id, &other.origin.session)));
    let held = HeldOut::new(held_out);
    let mut rest = Vec::with_capacity(examples.len());
    for example in examples {
        match held.near(&example, settings.threshold) {
            Some(prompt) => split.held_out.push((example, prompt.to_owned())),
            None => rest.push(example),
        }
    }
    let features: Vec<Features> = cluster::features(&rest);
    let mut clusters = cluster::Clusters::of(&rest, &features, settings.threshold);
    let mut sides = clusters.sides(&rest, settings);
    for _ in 0..MOST_ROUNDS {
        split.proof = proof::prove_sides(&rest, &features, &sides, &held, settings.threshold);
        if split.proof.holds {
            break;
        }
        let joined = proof::crossing(&rest, &features, &sides, settings.threshold);
        if joined.is_empty() {
            break;
        }
        joined.into_iter().for_each(|(one, other)| clusters.join(one, other));
        sides = clusters.sides(&rest, settings);
    }
    split.proof.clusters = clusters.count();
    split.warnings = warnings(&sides, clusters.count(), settings);
    for (example, side) in rest.into_iter().zip(sides) {
        match side {
            Side::Train => split.train.push(example),
            Side::Valid => split.valid.push(example),
            Side::Test => split.test.push(example),
        }
    }
    split
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Train,
    Valid,
    Test,
}

/// Prompts that nothing may be near.
struct HeldOut<'p> {
    prompts: Vec<(&'p str, Features)>,
}

impl<'p> HeldOut<'p> {
    fn new(prompts: &'p [String]) -> Self {
        let prompts = prompts.iter().map(|prompt| (prompt.as_str(), Features::of_request(prompt)));
        Self { prompts: prompts.collect() }
    }

    /// The prompt that an example is nearest to, if it is near: in its request, or in what was said before it.
    fn near(&self, example: &Example, threshold: f64) -> Option<&'p str> {
        self.nearest(example).filter(|(_, similarity)| *similarity >= threshold).map(|(prompt, _)| prompt)
    }

    fn nearest(&self, example: &Example) -> Option<(&'p str, f64)> {
        if self.prompts.is_empty() {
            return None;
        }
        let turns = example.window.iter().filter(|turn| turn.role == "user").map(|turn| turn.text.as_str());
        let texts = std::iter::once(example.request.as_str()).chain(turns);
        let mut nearest: Option<(&'p str, f64)> = None;
        for text in texts {
            let (plain, masked) = (plain_shingles(text), masked_shingles(text));
            for (prompt, features) in &self.prompts {
                let mut similarity = plain.jaccard(&features.plain).max(masked.jaccard(&features.masked));
                // More words around a prompt do not make it another.
                let contained = plain.contains(&features.plain);
                if contained >= CONTAINED && features.plain.len() >= 7 {
                    similarity = similarity.max(contained);
                }
                if nearest.is_none_or(|(_, most)| similarity > most) {
                    nearest = Some((prompt, similarity));
                }
            }
        }
        nearest
    }
}

/// For every example the held-out prompt that its request or what was said before is nearest to, with how alike they are; the measure by
/// which [`split`] leaves examples out.
pub fn nearest_held_out<'p>(examples: &[Example], held_out: &'p [String]) -> Vec<(usize, &'p str, f64)> {
    let nearest = proof::nearest_prompts(examples, &HeldOut::new(held_out));
    nearest.into_iter().map(|(prompt, similarity, example)| (example, prompt, similarity)).collect()
}

fn warnings(sides: &[Side], clusters: usize, settings: &SplitSettings) -> Vec<String> {
    let mut warnings = Vec::new();
    let count = |wanted: Side| sides.iter().filter(|side| **side == wanted).count();
    let (valid, test) = (count(Side::Valid), count(Side::Test));
    if sides.is_empty() {
        warnings.push("there is no example to split".to_owned());
        return warnings;
    }
    if clusters < 3 {
        let things = if clusters == 1 { "1 cluster".to_owned() } else { format!("{clusters} clusters") };
        warnings.push(format!(
            "{} examples are {things} of work: too little to hold anything back without a leak; more sessions about other things are needed",
            sides.len()
        ));
    }
    for (name, wanted, found) in [("valid", settings.valid, valid), ("test", settings.test, test)] {
        if wanted > 0.0 && found == 0 && clusters >= 3 {
            warnings.push(format!("`{name}` is empty: every cluster is larger than its share"));
        }
    }
    if settings.test > 0.0 && test > 0 && test < FEW_TO_TEST {
        warnings.push(format!(
            "{test} examples to test with tell little: differences under {} points are chance",
            (98.0 / (test as f64).sqrt()).round()
        ));
    }
    warnings
}
