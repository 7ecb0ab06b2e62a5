//! Which pairs may be near: those that the joins find, and nothing near is not among them.

use rustc_hash::FxHashMap;

use crate::likeness::{ANSWERS_ALIKE, Features, Join, Shingles};

/// Every pair that is near, and some that are not.
pub(super) struct NearPairs {
    joins: Vec<Join>,
}

impl NearPairs {
    /// Near is what has the same words, the same answer, or the same words but for names and answers somewhat alike. For the last, it is
    /// enough to look at the words or at the answers, whichever are less alike among all of them.
    pub(super) fn of(features: &[&Features], threshold: f64) -> Self {
        let join = |set: fn(&Features) -> &Shingles, least| {
            Join::new(&features.iter().map(|features| set(features)).collect::<Vec<_>>(), least)
        };
        let plain = join(|features| &features.plain, threshold);
        let masked = join(|features| &features.masked, threshold);
        let code = join(|features| &features.code, threshold);
        // Without an answer there is nothing but the words.
        if features.iter().all(|features| !features.code.is_empty()) && ANSWERS_ALIKE <= threshold {
            let somewhat_alike = join(|features| &features.code, ANSWERS_ALIKE);
            if somewhat_alike.cost() < masked.cost() + code.cost() {
                return Self { joins: vec![plain, somewhat_alike] };
            }
        }
        Self { joins: vec![plain, code, masked] }
    }

    pub(super) fn joins(&self) -> &[Join] {
        &self.joins
    }
}

/// Those that do not differ in anything that is compared, together. What has nothing to compare is like nothing.
pub(super) fn alike(features: &[&Features]) -> Vec<Vec<usize>> {
    let mut known: FxHashMap<&Features, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, one) in features.iter().copied().enumerate() {
        match known.get(one) {
            Some(group) => groups[*group].push(index),
            None => {
                if !one.is_empty() {
                    known.insert(one, groups.len());
                }
                groups.push(vec![index]);
            }
        }
    }
    groups
}
