//! How alike two texts are, and which of many are: sets of shingles, compared by the share they have in common (Jaccard).
//!
//! Disguises do not count: case, white space, invisible characters, compatibility forms, letters that only look Latin, the order of
//! sentences. Among many, near duplicates are found by MinHash in bands, and what must not be missed by a join that misses nothing; what is
//! told is always measured on the whole sets, never estimated.

mod join;
mod pairs;
mod text;

use rustc_hash::FxHashSet;

pub use join::{Join, Seen};
pub(crate) use pairs::FEW;
pub use pairs::{Pair, candidate_pairs};
pub use text::{code_shingles, masked_shingles, plain_shingles, token_shingles};

use crate::example::Example;

/// A set of hashes, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shingles(Vec<u64>);

/// What of an example is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features {
    /// The request in its words.
    pub plain: Shingles,
    /// The request with names of things left out: the same wish about something else.
    pub masked: Shingles,
    /// The code that is taught, with the names that it defines left out.
    pub code: Shingles,
}

/// Requests that are alike but for names are the same wish only if the answers are somewhat alike, too.
pub(crate) const ANSWERS_ALIKE: f64 = 0.4;

impl Shingles {
    pub(crate) fn new(hashes: FxHashSet<u64>) -> Self {
        let mut sorted: Vec<u64> = hashes.into_iter().collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn hashes(&self) -> &[u64] {
        &self.0
    }

    /// The share of all that both have, of all that either has. Nothing is like nothing.
    pub fn jaccard(&self, other: &Self) -> f64 {
        self.jaccard_above(other, 0.0)
    }

    /// The same where it is more than `least`; otherwise anything up to that, and sooner.
    pub fn jaccard_above(&self, other: &Self, least: f64) -> f64 {
        let sum = self.len() + other.len();
        if sum == 0 {
            return 0.0;
        }
        let share = |shared: usize| shared as f64 / (sum - shared) as f64;
        // The fewest that would be more than `least`. Where rounding leaves a doubt, one less is asked for.
        let needed = (least / (1.0 + least) * sum as f64 - 1.0).max(0.0) as usize;
        share(self.shared(other, needed))
    }

    /// How much of `other` is in this.
    pub fn contains(&self, other: &Self) -> f64 {
        if other.is_empty() { 0.0 } else { self.shared(other, 0) as f64 / other.len() as f64 }
    }

    /// How many both have. Where it cannot be `needed` any more, it is not counted to the end.
    fn shared(&self, other: &Self, needed: usize) -> usize {
        /// How many steps are taken without looking whether it is worth it.
        const STEPS: usize = 16;
        let (left, right) = (self.0.as_slice(), other.0.as_slice());
        let (mut one, mut two, mut shared) = (0, 0, 0);
        loop {
            let rest = (left.len() - one).min(right.len() - two);
            if rest == 0 || shared + rest < needed {
                return shared;
            }
            // Neither side can end within so many steps.
            for _ in 0..rest.min(STEPS) {
                let order = left[one].cmp(&right[two]);
                shared += usize::from(order.is_eq());
                one += usize::from(order.is_le());
                two += usize::from(order.is_ge());
            }
        }
    }
}

impl Features {
    pub fn of(example: &Example) -> Self {
        let calls: Vec<String> =
            example.calls.iter().map(|call| format!("{} {}\n", call.tool, call.arguments)).collect();
        let code = match (&example.chosen, &example.rejected) {
            (Some(chosen), _) => chosen.clone(),
            (None, _) if !calls.is_empty() => calls.concat(),
            (None, rejected) => rejected.clone().unwrap_or_default(),
        };
        Self {
            plain: plain_shingles(&example.request),
            masked: masked_shingles(&example.request),
            code: code_shingles(&code),
        }
    }

    /// Features of a request alone.
    pub fn of_request(request: &str) -> Self {
        Self { plain: plain_shingles(request), masked: masked_shingles(request), code: Shingles::default() }
    }

    /// From 0 to 1: the most that requests or answers are alike.
    pub fn likeness(&self, other: &Self) -> f64 {
        self.likeness_above(other, 0.0)
    }

    /// The same where it is more than `least`; otherwise anything up to that.
    pub fn likeness_above(&self, other: &Self, least: f64) -> f64 {
        let mut most = least.max(self.plain.jaccard_above(&other.plain, least));
        most = most.max(self.code.jaccard_above(&other.code, most));
        let masked = self.masked.jaccard_above(&other.masked, most);
        if masked > most && self.may_be_same_wish(other) {
            most = masked;
        }
        most
    }

    /// Whether requests that are alike but for names are the same wish.
    fn may_be_same_wish(&self, other: &Self) -> bool {
        let no_answer = self.code.is_empty() || other.code.is_empty();
        no_answer || self.code.jaccard_above(&other.code, ANSWERS_ALIKE - f64::EPSILON) >= ANSWERS_ALIKE
    }

    /// Whether there is nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.masked.is_empty() && self.code.is_empty()
    }
}
