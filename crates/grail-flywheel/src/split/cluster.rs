//! What belongs together, and which side it goes to.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use uuid::Uuid;

use super::near::{NearPairs, alike};
use super::{Side, SplitSettings};
use crate::example::Example;
use crate::likeness::{Features, Join};

pub(super) fn features(examples: &[Example]) -> Vec<Features> {
    examples.par_iter().map(Features::of).collect()
}

/// Of a kind with fewer examples, any side may have all.
const FEW_OF_A_KIND: usize = 10;
/// How many are looked at before what was found is put together: few in the beginning, when nothing is together yet.
const FEWEST_AT_ONCE: usize = 64;
const MOST_AT_ONCE: usize = 2048;

/// Sets of examples, by union and find.
pub(super) struct Clusters {
    parents: Vec<usize>,
}

impl Clusters {
    pub(super) fn of(examples: &[Example], features: &[Features], threshold: f64) -> Self {
        let mut clusters = Self { parents: (0..examples.len()).collect() };
        for (one, other, _) in same_origin(examples) {
            clusters.join(one, other);
        }
        // What is the same but for its disguise is together before anything is compared.
        let distinct = alike(&features.iter().collect::<Vec<_>>());
        for members in &distinct {
            members.iter().for_each(|member| clusters.join(members[0], *member));
        }
        let features: Vec<&Features> = distinct.iter().map(|members| &features[members[0]]).collect();
        for join in NearPairs::of(&features, threshold).joins() {
            clusters.join_near(join, &features, &distinct, threshold);
        }
        clusters
    }

    /// Looks for what is near on all cores, some at a time; what was found to belong together meanwhile is not compared again.
    fn join_near(&mut self, join: &Join, features: &[&Features], distinct: &[Vec<usize>], threshold: f64) {
        let least = threshold - f64::EPSILON;
        let mut from = 0;
        while from < join.len() {
            let roots: Vec<usize> = distinct.iter().map(|members| self.find(members[0])).collect();
            let to = (from + from.clamp(FEWEST_AT_ONCE, MOST_AT_ONCE)).min(join.len());
            let near = (from..to).into_par_iter().map_init(
                || join.nothing_seen(),
                |seen, place| {
                    let mut found: Vec<(usize, usize)> = Vec::new();
                    let mut known: Vec<usize> = Vec::new();
                    join.each_before(place, seen, |one, other| {
                        let root = roots[other];
                        if root != roots[one]
                            && !known.contains(&root)
                            && features[one].likeness_above(features[other], least) >= threshold
                        {
                            known.push(root);
                            found.push((distinct[one][0], distinct[other][0]));
                        }
                    });
                    found
                },
            );
            for (one, other) in near.flatten_iter().collect::<Vec<_>>() {
                self.join(one, other);
            }
            from = to;
        }
    }

    pub(super) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other)] = one.min(other);
    }

    pub(super) fn count(&self) -> usize {
        self.parents.iter().enumerate().filter(|(index, parent)| index == *parent).count()
    }

    fn find(&mut self, index: usize) -> usize {
        let mut root = index;
        while self.parents[root] != root {
            root = self.parents[root];
        }
        let mut next = index;
        while self.parents[next] != root {
            next = std::mem::replace(&mut self.parents[next], root);
        }
        root
    }

    /// A side for each example. Clusters come in the order of their hashes; test is filled first, then valid, and what is much too large
    /// for either is train. So is what would take a kind away from train: answers of one template are alike, and may all be one cluster.
    pub(super) fn sides(&mut self, examples: &[Example], settings: &SplitSettings) -> Vec<Side> {
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for index in 0..examples.len() {
            members.entry(self.find(index)).or_default().push(index);
        }
        let mut sides = vec![Side::Train; examples.len()];
        if members.len() < 3 {
            return sides;
        }
        let mut clusters: Vec<(blake3::Hash, Vec<usize>)> =
            members.into_values().map(|members| (cluster_hash(examples, &members), members)).collect();
        clusters.sort_by(|one, other| one.0.as_bytes().cmp(other.0.as_bytes()));
        let wanted = |share: f64| (examples.len() as f64 * share.clamp(0.0, 0.45)).round() as usize;
        let mut waiting = clusters;
        for (side, wanted) in [(Side::Test, wanted(settings.test)), (Side::Valid, wanted(settings.valid))] {
            let mut filled = 0;
            let mut kinds = KindShares::new(examples, wanted);
            let mut passed_on = Vec::new();
            for (hash, members) in waiting {
                // A cluster may go a little over: without that, small sets would stay empty.
                let room = wanted + wanted / 4 + usize::from(wanted > 0 && wanted < 4);
                if filled < wanted && filled + members.len() <= room && kinds.take(examples, &members) {
                    filled += members.len();
                    members.iter().for_each(|member| sides[*member] = side);
                } else {
                    passed_on.push((hash, members));
                }
            }
            waiting = passed_on;
        }
        sides
    }
}

/// How much of each kind one side may take.
struct KindShares<'e> {
    left: BTreeMap<&'e str, usize>,
}

impl<'e> KindShares<'e> {
    /// Twice the side's share. Of kinds with few examples nothing can be said.
    fn new(examples: &'e [Example], wanted: usize) -> Self {
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        for kind in examples.iter().filter_map(|example| example.artifact.as_deref()) {
            *left.entry(kind).or_default() += 1;
        }
        left.retain(|_, count| *count >= FEW_OF_A_KIND);
        for count in left.values_mut() {
            *count = (*count * wanted * 2).div_ceil(examples.len().max(1));
        }
        Self { left }
    }

    /// Whether these may be taken; if so, they are.
    fn take(&mut self, examples: &'e [Example], members: &[usize]) -> bool {
        let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
        for kind in members.iter().filter_map(|member| examples[*member].artifact.as_deref()) {
            *taken.entry(kind).or_default() += 1;
        }
        let fits = taken.iter().all(|(kind, count)| self.left.get(kind).is_none_or(|left| count <= left));
        if fits {
            for (kind, count) in taken {
                self.left.entry(kind).and_modify(|left| *left -= count);
            }
        }
        fits
    }
}

/// Pairs that come from one session, one event, or one source, and which of it.
pub(super) fn same_origin(examples: &[Example]) -> Vec<(usize, usize, super::LeakKind)> {
    let mut sessions: FxHashMap<&str, usize> = FxHashMap::default();
    let mut events: FxHashMap<Uuid, usize> = FxHashMap::default();
    let mut sources: FxHashMap<&str, usize> = FxHashMap::default();
    let mut pairs = Vec::new();
    for (index, example) in examples.iter().enumerate() {
        if let Some(session) = &example.origin.session {
            let first = *sessions.entry(session).or_insert(index);
            pairs.push((first, index, super::LeakKind::SameSession));
        }
        for event in &example.origin.events {
            let first = *events.entry(*event).or_insert(index);
            pairs.push((first, index, super::LeakKind::SameEvent));
        }
        for name in [Some(&example.id), example.origin.variation_of.as_ref()].into_iter().flatten() {
            let first = *sources.entry(name).or_insert(index);
            pairs.push((first, index, super::LeakKind::Variation));
        }
    }
    pairs.retain(|(one, other, _)| one != other);
    pairs
}

fn cluster_hash(examples: &[Example], members: &[usize]) -> blake3::Hash {
    let mut names: Vec<&str> = members.iter().map(|member| examples[*member].id.as_str()).collect();
    names.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for name in names {
        hasher.update(name.as_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize()
}
