//! All pairs of sets that share enough, without looking at all pairs.
//!
//! Two sets that share `least` of their elements share one of their rarest: of a set of `n`, one among the first `n - ⌈least · n⌉ + 1` by
//! rarity. So it is enough to compare sets that meet there. Nothing is estimated and nothing is missed.

use rustc_hash::FxHashMap;

use super::Shingles;

/// Calls `look` with every pair that shares at least `least`, the smaller index first, and with some that share less. Each pair comes once.
pub fn each_candidate(sets: &[&Shingles], least: f64, mut look: impl FnMut(usize, usize)) {
    let mut frequency: FxHashMap<u64, u32> = FxHashMap::default();
    for hash in sets.iter().flat_map(|set| set.hashes()) {
        *frequency.entry(*hash).or_default() += 1;
    }
    let mut by_size: Vec<usize> = (0..sets.len()).filter(|index| !sets[*index].is_empty()).collect();
    by_size.sort_by_key(|index| (sets[*index].len(), *index));
    let mut index: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    let mut seen_for = vec![usize::MAX; sets.len()];
    let mut rarest: Vec<(u32, u64)> = Vec::new();
    for current in by_size {
        let size = sets[current].len();
        // A product that is a whole number may come out a little above it.
        let smallest = (least * size as f64 - 1e-9).ceil() as usize;
        rarest.clear();
        rarest.extend(sets[current].hashes().iter().map(|hash| (frequency[hash], *hash)));
        let prefix = (size + 1).saturating_sub(smallest).clamp(1, size);
        rarest.select_nth_unstable(prefix - 1);
        for (count, hash) in &rarest[..prefix] {
            // Nobody else has it.
            if *count == 1 {
                continue;
            }
            let met = index.entry(*hash).or_default();
            for other in met.iter().copied() {
                if seen_for[other] != current && sets[other].len() >= smallest {
                    seen_for[other] = current;
                    look(other.min(current), other.max(current));
                }
            }
            met.push(current);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_pair_that_shares_enough_is_missed(
            sets in prop::collection::vec(prop::collection::hash_set(0u64..30, 0..14), 0..24),
            least in 0.2f64..1.0,
        ) {
            let sets: Vec<Shingles> = sets.into_iter().map(|set| Shingles::new(set.into_iter().collect())).collect();
            let all: Vec<&Shingles> = sets.iter().collect();
            let mut found = Vec::new();
            each_candidate(&all, least, |one, other| found.push((one, other)));
            for one in 0..sets.len() {
                for other in one + 1..sets.len() {
                    let count = found.iter().filter(|pair| **pair == (one, other)).count();
                    prop_assert!(count <= 1);
                    if !sets[one].is_empty() && sets[one].jaccard(&sets[other]) >= least {
                        prop_assert_eq!(count, 1, "{} and {}", one, other);
                    }
                }
            }
        }
    }
}
