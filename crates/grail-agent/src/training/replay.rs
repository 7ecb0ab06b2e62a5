//! What a phase learns that goes on from another: what the other has not learned, and some of what it has, so that nothing is forgotten.

use std::collections::BTreeSet;
use std::path::Path;

use grail_flywheel::dataset::{Dataset, open_dataset};
use grail_flywheel::phase::Phase;

use super::FEWEST_ROWS;
use crate::AgentError;

/// For so many new examples one that is known is learned again.
const NEW_PER_KNOWN: usize = 3;

/// Which examples of a dataset are learned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Their names; without them, all.
    wanted: Option<BTreeSet<String>>,
}

impl Replay {
    /// What is new to those who learn after `parent`. Where its dataset is gone, or has nearly everything, all is learned.
    pub(super) fn after(parent: Option<&Phase>, dataset: &Dataset, root: &Path) -> Result<Self, AgentError> {
        let learned = parent.and_then(|phase| phase.dataset.as_deref());
        let Some(Ok(learned)) = learned.map(|hash| open_dataset(root, Some(hash))) else {
            return Ok(Self::default());
        };
        let names = |dataset: &Dataset| -> Result<Vec<String>, AgentError> {
            Ok(dataset.train()?.into_iter().map(|example| example.id).collect())
        };
        Ok(Self::of(&names(&learned)?.into_iter().collect(), names(dataset)?))
    }

    fn of(learned: &BTreeSet<String>, names: Vec<String>) -> Self {
        let (known, new): (Vec<String>, Vec<String>) =
            names.into_iter().partition(|name| learned.contains(name));
        if (new.len() as u64) < FEWEST_ROWS {
            return Self::default();
        }
        // At regular intervals, so that every kind has its share.
        let again = (new.len() / NEW_PER_KNOWN).clamp(1, known.len().max(1));
        let stride = known.len().div_ceil(again).max(1);
        Self { wanted: Some(known.into_iter().step_by(stride).chain(new).collect()) }
    }

    pub fn wants(&self, name: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(name))
    }

    /// How many are learned of so many.
    pub(super) fn count(&self, all: u64) -> u64 {
        self.wanted.as_ref().map_or(all, |wanted| wanted.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(range: std::ops::Range<u32>) -> Vec<String> {
        range.map(|number| format!("{number:03}")).collect()
    }

    #[test]
    fn what_is_new_is_learned_and_some_of_what_is_known() {
        let learned: BTreeSet<String> = names(0..100).into_iter().collect();
        let replay = Replay::of(&learned, names(0..130));
        assert!(names(100..130).iter().all(|name| replay.wants(name)));
        assert_eq!(names(0..100).iter().filter(|name| replay.wants(name)).count(), 10);
        assert_eq!(replay.count(130), 40);
    }

    #[test]
    fn everything_is_learned_where_little_is_new_or_nothing_was_learned() {
        let learned: BTreeSet<String> = names(0..100).into_iter().collect();
        assert_eq!(Replay::of(&learned, names(0..102)), Replay::default());
        assert_eq!(Replay::default().count(102), 102);
        let replay = Replay::of(&BTreeSet::new(), names(0..20));
        assert_eq!(replay.count(20), 20);
    }
}
