//! All pairs of sets that share enough, without looking at all pairs.
//!
//! Two sets that share `least` of their elements share one of their rarest: of a set of `n`, one among the first `n - ⌈least · n⌉ + 1` by
//! rarity. So it is enough to compare sets that meet there; and where they first meet, so much of both must be left that they can still
//! share enough. Nothing is estimated and nothing is missed.

use std::ops::Range;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::Shingles;

/// Sets that can be asked for those that may share at least `least` with one of them.
pub struct Join {
    least: f64,
    /// The sets that are not empty, smallest first: a set is asked for those that come before it here.
    order: Vec<usize>,
    /// In that order.
    sizes: Vec<usize>,
    /// The rarest elements of each, in that order, without those that nobody else has.
    rarest: Vec<Vec<Place>>,
    /// Who has an element among the rarest, in that order.
    holders: FxHashMap<u32, Vec<Place>>,
}

/// What was asked for already, for one asker at a time.
pub struct Seen(Vec<u32>);

#[derive(Clone, Copy)]
struct Place {
    /// The rarity of an element, or the place of a set that holds it.
    which: u32,
    /// How many rarer elements the set has.
    position: u32,
}

impl Join {
    pub fn new(sets: &[&Shingles], least: f64) -> Self {
        let rarities = rarities(sets);
        let mut order: Vec<usize> = (0..sets.len()).filter(|index| !sets[*index].is_empty()).collect();
        order.sort_by_key(|index| (sets[*index].len(), *index));
        let sizes: Vec<usize> = order.iter().map(|index| sets[*index].len()).collect();
        let rarest: Vec<Vec<Place>> =
            order.par_iter().map(|index| rarest(sets[*index], least, &rarities)).collect();
        let mut holders: FxHashMap<u32, Vec<Place>> = FxHashMap::default();
        for (place, elements) in rarest.iter().enumerate() {
            // Whoever asks is at least as large, which leaves fewer elements where the two can first meet.
            let size = sizes[place];
            let positions = size + 1 - shared_at_least(size, size, least).min(size);
            for element in elements.iter().take_while(|element| (element.position as usize) < positions) {
                let holder = Place { which: place as u32, position: element.position };
                holders.entry(element.which).or_default().push(holder);
            }
        }
        Self { least, order, sizes, rarest, holders }
    }

    /// How many sets there are to ask for.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many meetings there are to look at, at most.
    pub fn cost(&self) -> u64 {
        self.holders.values().map(|holders| (holders.len() as u64).pow(2) / 2).sum()
    }

    pub fn nothing_seen(&self) -> Seen {
        Seen(vec![u32::MAX; self.order.len()])
    }

    /// Calls `look` with the set at this place and with every one before it that shares at least `least` with it, and with some that share
    /// less. Each comes once.
    pub fn each_before(&self, place: usize, seen: &mut Seen, mut look: impl FnMut(usize, usize)) {
        let size = self.sizes[place];
        let smallest = whole(self.least * size as f64);
        for element in &self.rarest[place] {
            let Some(holders) = self.holders.get(&element.which) else { continue };
            let from = holders.partition_point(|holder| self.sizes[holder.which as usize] < smallest);
            for holder in holders[from..].iter().take_while(|holder| (holder.which as usize) < place) {
                let other = holder.which as usize;
                if std::mem::replace(&mut seen.0[other], place as u32) == place as u32 {
                    continue;
                }
                let left =
                    (size - element.position as usize).min(self.sizes[other] - holder.position as usize);
                if left >= shared_at_least(size, self.sizes[other], self.least) {
                    look(self.order[place], self.order[other]);
                }
            }
        }
    }

    /// Looks at every pair, on all cores, and puts together what came of it.
    pub fn fold<T: Send>(
        &self,
        start: impl Fn() -> T + Sync + Send,
        look: impl Fn(&mut T, usize, usize) + Sync,
        merge: impl Fn(T, T) -> T + Sync + Send,
    ) -> T {
        let pieces: Vec<Range<usize>> =
            (0..self.len()).step_by(256).map(|from| from..(from + 256).min(self.len())).collect();
        pieces
            .into_par_iter()
            .map_init(
                || self.nothing_seen(),
                |seen, piece| {
                    let mut found = start();
                    for place in piece {
                        self.each_before(place, seen, |one, other| look(&mut found, one, other));
                    }
                    found
                },
            )
            .reduce(&start, merge)
    }
}

/// Elements that more than one set has, numbered from the rarest on.
fn rarities(sets: &[&Shingles]) -> FxHashMap<u64, u32> {
    let mut frequency: FxHashMap<u64, u32> = FxHashMap::default();
    for hash in sets.iter().flat_map(|set| set.hashes()) {
        *frequency.entry(*hash).or_default() += 1;
    }
    let mut shared: Vec<(u32, u64)> =
        frequency.into_iter().filter(|(_, count)| *count > 1).map(|(hash, count)| (count, hash)).collect();
    shared.sort_unstable();
    shared.into_iter().enumerate().map(|(rarity, (_, hash))| (hash, rarity as u32)).collect()
}

/// Elements that nobody else has come first and are only counted.
fn rarest(set: &Shingles, least: f64, rarities: &FxHashMap<u64, u32>) -> Vec<Place> {
    let mut shared: Vec<u32> = set.hashes().iter().filter_map(|hash| rarities.get(hash)).copied().collect();
    let own = set.len() - shared.len();
    let wanted = (set.len() + 1 - whole(least * set.len() as f64).min(set.len())).saturating_sub(own);
    if wanted == 0 {
        return Vec::new();
    }
    if wanted < shared.len() {
        shared.select_nth_unstable(wanted - 1);
        shared.truncate(wanted);
    }
    shared.sort_unstable();
    let place = |(number, rarity): (usize, u32)| Place { which: rarity, position: (own + number) as u32 };
    shared.into_iter().enumerate().map(place).collect()
}

/// How many elements two sets of these sizes have in common if they share `least` of all they have.
fn shared_at_least(one: usize, other: usize, least: f64) -> usize {
    whole(least / (1.0 + least) * (one + other) as f64)
}

/// The next whole number. A product that is one may come out a little above it.
fn whole(number: f64) -> usize {
    (number - 1e-9).ceil() as usize
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
            let join = Join::new(&all, least);
            let note = |found: &mut Vec<_>, one: usize, other: usize| found.push((one.min(other), one.max(other)));
            let found = join.fold(Vec::new, note, |one, other| [one, other].concat());
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
