//! How alike two texts are, and which of many are: sets of shingles, compared by the share they have in common (Jaccard).
//!
//! Disguises do not count: case, white space, invisible characters, compatibility forms, letters that only look Latin, the order of
//! sentences. Among many, near duplicates are found by MinHash in bands, and what must not be missed by a join that misses nothing; what is
//! told is always measured on the whole sets, never estimated.

mod join;
mod pairs;
mod text;

use rustc_hash::FxHashSet;

pub use join::each_candidate;
pub(crate) use pairs::FEW;
pub use pairs::{Pair, candidate_pairs};
pub use text::{code_shingles, masked_shingles, plain_shingles, token_shingles};

use crate::example::Example;

/// A set of hashes, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shingles(Vec<u64>);

/// What of an example is compared.
#[derive(Clone, Debug, Default)]
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
        let shared = self.shared(other);
        let all = self.len() + other.len() - shared;
        if all == 0 { 0.0 } else { shared as f64 / all as f64 }
    }

    /// How much of `other` is in this.
    pub fn contains(&self, other: &Self) -> f64 {
        if other.is_empty() { 0.0 } else { self.shared(other) as f64 / other.len() as f64 }
    }

    /// No likeness can be greater, by the sizes alone.
    fn bound(&self, other: &Self) -> f64 {
        let (small, large) = (self.len().min(other.len()), self.len().max(other.len()));
        if large == 0 { 0.0 } else { small as f64 / large as f64 }
    }

    fn shared(&self, other: &Self) -> usize {
        let (mut one, mut two, mut shared) = (self.0.iter().peekable(), other.0.iter().peekable(), 0);
        while let (Some(left), Some(right)) = (one.peek(), two.peek()) {
            match left.cmp(right) {
                std::cmp::Ordering::Less => drop(one.next()),
                std::cmp::Ordering::Greater => drop(two.next()),
                std::cmp::Ordering::Equal => {
                    shared += 1;
                    one.next();
                    two.next();
                }
            }
        }
        shared
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
        let mut most = least;
        let mut code = None;
        if self.plain.bound(&other.plain) > most {
            most = most.max(self.plain.jaccard(&other.plain));
        }
        if self.code.bound(&other.code) > most {
            let alike = self.code.jaccard(&other.code);
            most = most.max(alike);
            code = Some(alike);
        }
        if self.masked.bound(&other.masked) > most {
            let masked = self.masked.jaccard(&other.masked);
            if masked > most {
                let is_same_wish = self.code.is_empty()
                    || other.code.is_empty()
                    || code.unwrap_or_else(|| self.code.jaccard(&other.code)) >= ANSWERS_ALIKE;
                if is_same_wish {
                    most = masked;
                }
            }
        }
        most
    }
}
