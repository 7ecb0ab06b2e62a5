//! What a phase learned from, as far as anybody can prove it, and how near that is to what it is asked.

use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;

use crate::dataset::build::prompt_hash;
use crate::dataset::store::{Dataset, open_dataset};
use crate::example::Example;
use crate::phase::{Phase, Phases};
use crate::split::{SplitSettings, nearest_held_out};
use crate::suite::Suite;

/// What is known of the datasets of a phase: its own, and those of all that it began with.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "lineage", rename_all = "snake_case")]
pub enum Lineage {
    Unknown {
        reason: String,
    },
    /// Every file of every dataset is what its manifest says, and the manifest is what the phase names.
    Known {
        /// The phase's own.
        dataset: String,
        /// What is in several datasets counts in each.
        examples: usize,
        /// Prompts of the suite that one of the datasets was not built against.
        missing: usize,
        /// The most that a request that was learned from is like a prompt of the suite.
        highest: f64,
        /// Those that are too much alike, the most alike first.
        overlaps: Vec<Overlap>,
    },
}

/// An example that was learned from, and the prompt that it is near.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlap {
    pub example: String,
    pub prompt: String,
    pub similarity: f64,
}

/// Opens the dataset of a phase and those of all phases before it, verifies every byte of them, and compares all of it with the suite. What
/// an adapter learned once stays in whatever goes on from it. Everything that a trainer can have seen counts: what is trained on and what is
/// validated with.
pub fn lineage_of(root: &Path, phase: &Phase, suite: &Suite) -> Lineage {
    match learned(root, phase) {
        Ok(learned) => compare(&learned, suite),
        Err(reason) => Lineage::Unknown { reason },
    }
}

/// Everything that a phase has learned from.
struct Learned {
    /// Its own.
    dataset: String,
    /// The hashes of the prompts that each dataset was built without.
    held_out: Vec<Vec<String>>,
    examples: Vec<Example>,
}

fn learned(root: &Path, phase: &Phase) -> Result<Learned, String> {
    let phases = Phases::new(root);
    let (dataset, examples) = learned_itself(root, phase)?;
    let mut learned = Learned {
        dataset: dataset.manifest.hash,
        held_out: vec![dataset.manifest.sources.held_out_prompts],
        examples,
    };
    let mut passed = vec![phase.id.clone()];
    let mut parent = phase.parent.clone();
    while let Some(id) = parent {
        let of_parent = |reason: String| format!("of `{id}`, which it began with: {reason}");
        let before = phases.get(&id).map_err(|error| of_parent(error.to_string()))?;
        if passed.contains(&before.id) {
            return Err(of_parent("it began with itself".to_owned()));
        }
        let (dataset, examples) = learned_itself(root, &before).map_err(of_parent)?;
        learned.held_out.push(dataset.manifest.sources.held_out_prompts);
        learned.examples.extend(examples);
        passed.push(before.id);
        parent = before.parent;
    }
    Ok(learned)
}

/// What a phase has learned from beside what it began with.
fn learned_itself(root: &Path, phase: &Phase) -> Result<(Dataset, Vec<Example>), String> {
    if let Some(model) = &phase.foreign_adapter {
        return Err(format!("it began with the adapter of `{model}`, which no phase has made"));
    }
    let Some(hash) = &phase.dataset else {
        return Err("it names no dataset".to_owned());
    };
    // A beginning would do for people, not for a proof.
    if hash.len() != 64 {
        return Err(format!("`{hash}` is not the whole hash of a dataset"));
    }
    let opened = open_dataset(root, Some(hash)).and_then(|dataset| Ok((seen(&dataset)?, dataset)));
    opened.map(|(examples, dataset)| (dataset, examples)).map_err(|error| error.to_string())
}

fn seen(dataset: &Dataset) -> Result<Vec<Example>, crate::FlywheelError> {
    let mut examples = dataset.train()?;
    examples.extend(dataset.valid()?);
    Ok(examples)
}

fn compare(learned: &Learned, suite: &Suite) -> Lineage {
    let examples = &learned.examples;
    let prompts: Vec<String> = suite.prompts.iter().map(|prompt| prompt.prompt.clone()).collect();
    let is_missing = |hash: String| learned.held_out.iter().any(|known| known.binary_search(&hash).is_err());
    let missing = prompts.iter().filter(|prompt| is_missing(prompt_hash(prompt))).count();
    let threshold = SplitSettings::default().threshold;
    let nearest = nearest_held_out(examples, &prompts);
    let highest = nearest.par_iter().map(|(_, _, similarity)| *similarity).reduce(|| 0.0, f64::max);
    let mut overlaps: Vec<Overlap> = nearest
        .into_iter()
        .filter(|(_, _, similarity)| *similarity >= threshold)
        .map(|(example, prompt, similarity)| Overlap {
            example: examples[example].id.clone(),
            prompt: prompt.to_owned(),
            similarity,
        })
        .collect();
    overlaps.sort_by(|one, other| {
        other.similarity.total_cmp(&one.similarity).then_with(|| one.example.cmp(&other.example))
    });
    // What is in several datasets was learned once.
    overlaps.dedup();
    Lineage::Known { dataset: learned.dataset.clone(), examples: examples.len(), missing, highest, overlaps }
}
