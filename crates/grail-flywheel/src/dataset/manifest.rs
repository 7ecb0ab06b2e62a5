//! What a dataset says of itself: where it comes from, what was left out and why, how it is balanced, and what its files hash to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::chat::{ChatForm, estimate_tokens};
use crate::example::{Example, ExampleType};

/// The version of what is written.
pub const MANIFEST_FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// The dataset's name: what everything below hashes to, but for the time.
    pub hash: String,
    /// When it was first built. Not part of the hash.
    pub built: String,
    /// The version of Grail that built it.
    pub grail: String,
    pub event_version: u32,
    pub form: ChatForm,
    pub sources: Sources,
    /// The hash of every pack of rules that judged, by its name.
    pub rules: BTreeMap<String, String>,
    pub settings: Json,
    pub counts: Counts,
    pub weights: Weights,
    pub tokens: TokenCounts,
    pub review: ReviewCounts,
    /// How many examples there are under each licence; `project` is the project's own.
    pub licences: BTreeMap<String, u64>,
    /// What keeps the splits apart, as the split proved it.
    pub proof: Json,
    /// What balancing did.
    pub balance: Json,
    pub files: BTreeMap<String, FileRecord>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sources {
    pub events: Vec<EventSource>,
    /// Sessions whose examples are in the dataset.
    pub sessions: Vec<String>,
    pub imports: Vec<ImportSource>,
    /// Lines of event files that could not be read.
    pub unreadable_lines: u64,
    /// How many prompts are kept for evaluation, and what they hash to.
    pub held_out: u64,
    pub held_out_hash: String,
    /// What each of them hashes to, sorted: whether a suite was held back can be told from the manifest alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out_prompts: Vec<String>,
}

/// One file of events, as far as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventSource {
    pub file: String,
    pub events: u64,
    /// Of the events in their order.
    pub hash: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportSource {
    pub name: String,
    pub hash: String,
    pub origin: String,
    pub examples: u64,
    /// The share of the dataset that it may have.
    pub ratio: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Examples made of events.
    pub extracted: u64,
    pub imported: u64,
    /// Synthetic ways to ask for the same.
    pub varied: u64,
    pub kept: u64,
    pub train: u64,
    pub valid: u64,
    pub test: u64,
    /// How many were left out, by reason.
    pub dropped: BTreeMap<String, u64>,
    pub by_type: BTreeMap<String, u64>,
    pub by_artifact: BTreeMap<String, u64>,
    pub by_rule: BTreeMap<String, u64>,
    pub by_tool: BTreeMap<String, u64>,
    pub by_source: BTreeMap<String, u64>,
}

/// What examples count in training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    pub total: f64,
    pub least: f64,
    pub greatest: f64,
    pub by_type: BTreeMap<String, f64>,
}

/// Estimated, a token for every four bytes begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    pub prompts: u64,
    pub answers: u64,
    /// The longest example, prompt and answer together.
    pub longest: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewCounts {
    pub accepted: u64,
    pub corrected: u64,
    pub rejected: u64,
    /// Kept, and seen by nobody.
    pub waiting: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    pub lines: u64,
    pub bytes: u64,
    pub hash: String,
}

impl Manifest {
    /// The name that follows from everything but the time.
    pub fn content_hash(&self) -> String {
        let content = Self { hash: String::new(), built: String::new(), ..self.clone() };
        let bytes = serde_json::to_vec(&content).unwrap_or_default();
        blake3::hash(&bytes).to_hex().to_string()
    }
}

/// What can be counted in the examples themselves.
pub(crate) fn count_examples(splits: [&[Example]; 3], counts: &mut Counts) {
    let [train, valid, test] = splits;
    (counts.train, counts.valid, counts.test) = (train.len() as u64, valid.len() as u64, test.len() as u64);
    counts.kept = counts.train + counts.valid + counts.test;
    for example in splits.into_iter().flatten() {
        let artifact = example.artifact.clone().unwrap_or_else(|| "none".to_owned());
        add(&mut counts.by_type, example.example_type.name().to_owned());
        add(&mut counts.by_artifact, artifact);
        add(&mut counts.by_source, example.origin.source.clone());
        example.rules.iter().for_each(|rule| add(&mut counts.by_rule, rule.clone()));
        let mut tools = example.tools.clone();
        tools.sort();
        tools.dedup();
        tools.into_iter().for_each(|tool| add(&mut counts.by_tool, tool));
    }
}

pub(crate) fn weigh_examples(splits: [&[Example]; 3]) -> Weights {
    let mut weights = Weights::default();
    for (number, example) in splits.into_iter().flatten().enumerate() {
        let weight = rounded(example.weight.total());
        weights.total += weight;
        weights.least = if number == 0 { weight } else { weights.least.min(weight) };
        weights.greatest = weights.greatest.max(weight);
        *weights.by_type.entry(example.example_type.name().to_owned()).or_default() += weight;
    }
    weights.total = rounded(weights.total);
    weights.by_type.values_mut().for_each(|weight| *weight = rounded(*weight));
    weights
}

/// A product of tenths as people would write it.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

pub(crate) fn count_tokens(splits: [&[Example]; 3], form: &ChatForm) -> TokenCounts {
    let mut tokens = TokenCounts::default();
    for example in splits.into_iter().flatten() {
        let prompt: u64 = form.prompt(example).iter().map(|message| estimate_tokens(&message.content)).sum();
        let answers = [form.answer(example), form.rejected_answer(example)].into_iter().flatten();
        let lengths: Vec<u64> =
            answers.map(|answer| estimate_tokens(&answer.to_json().to_string()).saturating_sub(8)).collect();
        tokens.prompts += prompt;
        tokens.answers += lengths.iter().sum::<u64>();
        tokens.longest = tokens.longest.max(prompt + lengths.into_iter().max().unwrap_or_default());
    }
    tokens
}

pub(crate) fn count_licences(splits: [&[Example]; 3]) -> BTreeMap<String, u64> {
    let mut licences = BTreeMap::new();
    for example in splits.into_iter().flatten() {
        let licence = example.origin.licence.clone().unwrap_or_else(|| "project".to_owned());
        add(&mut licences, licence);
    }
    licences
}

/// Of every type, how many there are: also those of which there are none.
pub fn type_counts(counts: &Counts) -> Vec<(ExampleType, u64)> {
    let count = |kind: ExampleType| (kind, counts.by_type.get(kind.name()).copied().unwrap_or_default());
    ExampleType::ALL.into_iter().map(count).collect()
}

fn add(counts: &mut BTreeMap<String, u64>, name: String) {
    *counts.entry(name).or_default() += 1;
}
