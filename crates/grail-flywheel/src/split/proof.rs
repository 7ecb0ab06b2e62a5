//! The proof: what is on two sides is compared, and the most that any of it is alike is told.
//!
//! It knows nothing of clusters. Anybody can ask for it again, of files that were split elsewhere.

use rayon::prelude::*;

use super::cluster::{features, same_origin};
use super::near::{NearPairs, alike};
use super::{HeldOut, Leak, LeakKind, Proof, Side};
use crate::example::Example;
use crate::likeness::{FEW, Features};

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
    let compared = compare(features, sides, threshold);
    let mut leaks: Vec<Leak> = Vec::new();
    for (one, other, similarity) in compared.near {
        leaks.push(leak(examples, one, other, LeakKind::Alike, similarity));
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
        pairs_checked: compared.count,
        pairs,
        is_exhaustive: compared.is_exhaustive,
        highest_similarity: compared.highest,
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
    let near = compare(features, sides, threshold).near.into_iter().map(|(one, other, _)| (one, other));
    let origins = same_origin(examples).into_iter().filter(|(one, other, _)| sides[*one] != sides[*other]);
    near.chain(origins.map(|(one, other, _)| (one, other))).collect()
}

#[derive(Default)]
struct Compared {
    count: u64,
    is_exhaustive: bool,
    highest: f64,
    near: Vec<(usize, usize, f64)>,
}

impl Compared {
    fn and(mut self, other: Self) -> Self {
        self.count += other.count;
        self.highest = self.highest.max(other.highest);
        self.near.extend(other.near);
        self
    }

    fn look(&mut self, features: &[Features], one: usize, other: usize, threshold: f64) {
        self.count += 1;
        let least = self.highest.min(threshold - f64::EPSILON);
        let similarity = features[one].likeness_above(&features[other], least);
        self.highest = self.highest.max(similarity);
        if similarity >= threshold {
            self.near.push((one, other, similarity));
        }
    }
}

/// Compares across borders: every pair while there are few, and those that could be near when there are many.
fn compare(features: &[Features], sides: &[Side], threshold: f64) -> Compared {
    let mut compared = Compared { is_exhaustive: features.len() <= FEW, ..Compared::default() };
    if compared.is_exhaustive {
        for one in 0..features.len() {
            for other in (one + 1..features.len()).filter(|other| sides[one] != sides[*other]) {
                compared.look(features, one, other, threshold);
            }
        }
        return compared;
    }
    let distinct: Vec<usize> = [Side::Train, Side::Valid, Side::Test]
        .into_iter()
        .flat_map(|wanted| {
            let (places, of_side): (Vec<usize>, Vec<&Features>) =
                features.iter().enumerate().filter(|(place, _)| sides[*place] == wanted).unzip();
            alike(&of_side).into_iter().map(move |members| places[members[0]])
        })
        .collect();
    let texts: Vec<&Features> = distinct.iter().map(|place| &features[*place]).collect();
    let look = |compared: &mut Compared, one: usize, other: usize| {
        let (one, other) = (distinct[one].min(distinct[other]), distinct[one].max(distinct[other]));
        if sides[one] != sides[other] {
            compared.look(features, one, other, threshold);
        }
    };
    for join in NearPairs::of(&texts, threshold).joins() {
        compared = compared.and(join.fold(Compared::default, look, Compared::and));
    }
    compared
}

pub(super) fn nearest_prompts<'p>(
    examples: &[Example],
    held_out: &HeldOut<'p>,
) -> Vec<(&'p str, f64, usize)> {
    let found = examples.par_iter().enumerate().filter_map(|(index, example)| {
        let (prompt, similarity) = held_out.nearest(example)?;
        Some((prompt, similarity, index))
    });
    found.collect()
}

fn leak(examples: &[Example], one: usize, other: usize, why: LeakKind, similarity: f64) -> Leak {
    Leak { one: examples[one].id.clone(), other: examples[other].id.clone(), why, similarity }
}
