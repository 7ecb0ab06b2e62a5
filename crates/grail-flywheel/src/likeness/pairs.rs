//! Which of many sets could be alike: all pairs while there are few, bands of MinHash signatures when there are many.

use minhash_rs::prelude::*;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Shingles;

/// Up to so many, every pair is looked at.
pub(crate) const FEW: usize = 1500;
const PERMUTATIONS: usize = 128;
/// In one band that many share, each is compared with so many before it: what is alike to all of them is alike to each.
const MOST_NEIGHBOURS: usize = 24;

/// Two of many, the smaller index first.
pub type Pair = (u32, u32);

/// Pairs whose sets may be alike. With `BANDS` bands of `128 / BANDS` rows, a pair that shares `s` of its shingles is missed with the
/// probability `(1 - s^rows)^BANDS`: with 32 bands, of 0.85 one in ten billion.
pub fn candidate_pairs<const BANDS: usize>(sets: &[&Shingles]) -> Vec<Pair> {
    let rows = PERMUTATIONS / BANDS;
    let signatures: Vec<Option<Box<[u64; PERMUTATIONS]>>> =
        sets.par_iter().map(|set| signature(set)).collect();
    let mut pairs: FxHashSet<Pair> = FxHashSet::default();
    for band in 0..BANDS {
        let mut buckets: FxHashMap<&[u64], Vec<u32>> = FxHashMap::default();
        for (index, signature) in signatures.iter().enumerate() {
            let Some(signature) = signature else { continue };
            let members = buckets.entry(&signature[band * rows..(band + 1) * rows]).or_default();
            let neighbours = members.iter().rev().take(MOST_NEIGHBOURS);
            pairs.extend(neighbours.map(|member| (*member, index as u32)));
            members.push(index as u32);
        }
    }
    let mut pairs: Vec<Pair> = pairs.into_iter().collect();
    pairs.sort_unstable();
    pairs
}

fn signature(set: &Shingles) -> Option<Box<[u64; PERMUTATIONS]>> {
    if set.is_empty() {
        return None;
    }
    let mut minhash = Box::new(MinHash::<u64, PERMUTATIONS>::new());
    for hash in set.hashes() {
        minhash.insert(*hash);
    }
    Some(Box::new(minhash.into_words()))
}
