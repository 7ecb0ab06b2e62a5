//! The proof: what is on two sides is compared, and the most that any of it is alike is told.
//!
//! It knows nothing of clusters. Anybody can ask for it again, of files that were split elsewhere.

use rayon::prelude::*;

use super::cluster::{candidates, features, same_origin};
use super::{HeldOut, Leak, LeakKind, Proof, Side};
use crate::example::Example;
use crate::likeness::{FEW, Features, Pair};

/// More bands than the search for clusters has: what it missed is found.
const BANDS: usize = 64;
/// More leaks are counted as these.
const MOST_TOLD: usize = 100;

/// Compares what is on three sides, and all of it with prompts that are held out.
pub fn prove(sides: [&[Example]; 3], held_out: &[String], threshold: f64) -> Proof {
    let names = [Side::Train, Side::Valid, Side::Test];
    let mut examples = Vec::new();
    let mut which = Vec::new();
    for (side, name) in sides.into_iter().zip(names) {
        examples.extend(side.iter().cloned());
        which.extend(side.iter().map(|_| name));
    }
    let features = features(&examples);
    prove_sides(&examples, &features, &which, &HeldOut::new(held_out), threshold)
}

pub(super) fn prove_sides(
    examples: &[Example],
    features: &[Features],
    sides: &[Side],
    held_out: &HeldOut<'_>,
    threshold: f64,
) -> Proof {
    let count = |wanted: Side| sides.iter().filter(|side| **side == wanted).count() as u64;
    let (train, valid, test) = (count(Side::Train), count(Side::Valid), count(Side::Test));
    let pairs = train * valid + train * test + valid * test;
    let is_exhaustive = examples.len() <= FEW;
    let compared = compared(features, sides, is_exhaustive);
    let highest = compared
        .par_chunks(4096)
        .map(|chunk| {
            chunk.iter().fold(0.0, |most, (one, other)| {
                features[*one as usize].likeness_above(&features[*other as usize], most)
            })
        })
        .reduce(|| 0.0, f64::max);
    let mut leaks: Vec<Leak> = Vec::new();
    if highest >= threshold {
        for (one, other) in near(&compared, features, threshold) {
            let similarity = features[one].likeness(&features[other]);
            leaks.push(leak(examples, one, other, LeakKind::Alike, similarity));
        }
    }
    for (one, other, why) in same_origin(examples) {
        if sides[one] != sides[other] {
            leaks.push(leak(examples, one, other, why, features[one].likeness(&features[other])));
        }
    }
    let mut highest_held_out: f64 = 0.0;
    for (prompt, similarity, index) in nearest_prompts(examples, held_out) {
        highest_held_out = highest_held_out.max(similarity);
        if similarity >= threshold {
            let one = examples[index].id.clone();
            leaks.push(Leak { one, other: prompt.to_owned(), why: LeakKind::HeldOut, similarity });
        }
    }
    leaks.sort_by(|one, other| (&one.one, &one.other, one.why).cmp(&(&other.one, &other.other, other.why)));
    leaks.dedup();
    let holds = leaks.is_empty();
    leaks.truncate(MOST_TOLD);
    Proof {
        holds,
        threshold,
        clusters: 0,
        pairs_checked: compared.len() as u64,
        pairs,
        is_exhaustive,
        highest_similarity: highest,
        highest_held_out,
        held_out_prompts: held_out.prompts.len(),
        leaks,
    }
}

/// Pairs that the proof finds too near, to be put together.
pub(super) fn crossing(
    examples: &[Example],
    features: &[Features],
    sides: &[Side],
    threshold: f64,
) -> Vec<(usize, usize)> {
    let compared = compared(features, sides, examples.len() <= FEW);
    let mut pairs = near(&compared, features, threshold);
    let origins = same_origin(examples).into_iter().filter(|(one, other, _)| sides[*one] != sides[*other]);
    pairs.extend(origins.map(|(one, other, _)| (one, other)));
    pairs
}

/// The pairs across borders that are looked at.
fn compared(features: &[Features], sides: &[Side], is_exhaustive: bool) -> Vec<Pair> {
    let crosses = |(one, other): &Pair| sides[*one as usize] != sides[*other as usize];
    if !is_exhaustive {
        return candidates::<BANDS>(features).into_iter().filter(crosses).collect();
    }
    let count = features.len() as u32;
    (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))).filter(crosses).collect()
}

fn near(compared: &[Pair], features: &[Features], threshold: f64) -> Vec<(usize, usize)> {
    let least = threshold - f64::EPSILON;
    let pairs = compared.par_iter().map(|(one, other)| (*one as usize, *other as usize));
    pairs
        .filter(|(one, other)| features[*one].likeness_above(&features[*other], least) >= threshold)
        .collect()
}

fn nearest_prompts<'p>(examples: &[Example], held_out: &HeldOut<'p>) -> Vec<(&'p str, f64, usize)> {
    let found = examples.par_iter().enumerate().filter_map(|(index, example)| {
        let (prompt, similarity) = held_out.nearest(example)?;
        Some((prompt, similarity, index))
    });
    found.collect()
}

fn leak(examples: &[Example], one: usize, other: usize, why: LeakKind, similarity: f64) -> Leak {
    Leak { one: examples[one].id.clone(), other: examples[other].id.clone(), why, similarity }
}
