//! What a phase learned from, as far as anybody can prove it, and how near that is to what it is asked.

use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;

use crate::dataset::build::prompt_hash;
use crate::dataset::store::{Dataset, open_dataset};
use crate::example::Example;
use crate::phase::Phase;
use crate::split::{SplitSettings, nearest_held_out};
use crate::suite::Suite;

/// What is known of the dataset of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "lineage", rename_all = "snake_case")]
pub enum Lineage {
    Unknown {
        reason: String,
    },
    /// Every file of the dataset is what its manifest says, and the manifest is what the phase names.
    Known {
        dataset: String,
        examples: usize,
        /// Prompts of the suite that the dataset was not built against.
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

/// Opens the dataset of a phase, verifies every byte of it, and compares all of it with the suite. Everything that a trainer can have seen
/// counts: what is trained on and what is validated with.
pub fn lineage_of(root: &Path, phase: &Phase, suite: &Suite) -> Lineage {
    let Some(hash) = &phase.dataset else {
        return Lineage::Unknown { reason: "it names no dataset".to_owned() };
    };
    // A beginning would do for people, not for a proof.
    if hash.len() != 64 {
        return Lineage::Unknown { reason: format!("`{hash}` is not the whole hash of a dataset") };
    }
    match open_dataset(root, Some(hash)).and_then(|dataset| Ok((seen(&dataset)?, dataset))) {
        Err(error) => Lineage::Unknown { reason: error.to_string() },
        Ok((examples, dataset)) => compare(&dataset, &examples, suite),
    }
}

fn seen(dataset: &Dataset) -> Result<Vec<Example>, crate::FlywheelError> {
    let mut examples = dataset.train()?;
    examples.extend(dataset.valid()?);
    Ok(examples)
}

fn compare(dataset: &Dataset, examples: &[Example], suite: &Suite) -> Lineage {
    let prompts: Vec<String> = suite.prompts.iter().map(|prompt| prompt.prompt.clone()).collect();
    let held_out = &dataset.manifest.sources.held_out_prompts;
    let missing =
        prompts.iter().filter(|prompt| held_out.binary_search(&prompt_hash(prompt)).is_err()).count();
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
    Lineage::Known {
        dataset: dataset.manifest.hash.clone(),
        examples: examples.len(),
        missing,
        highest,
        overlaps,
    }
}
