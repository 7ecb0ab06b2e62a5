//! How sure a number is: intervals of shares, tests of paired differences, and tests that may be looked at all the time.
//!
//! Functions of counts and numbers, deterministic to the last bit: what is drawn is drawn with a seed by a generator of our own, so that the
//! same evaluations give the same verdict with every version. Only factorials and the normal distribution's 97.5 % point are needed, which is
//! why there is no library under this.

mod bootstrap;
mod mcnemar;
mod sequential;
mod wilson;

use serde::{Deserialize, Serialize};

pub use bootstrap::{Cluster, bootstrap_difference};
pub use mcnemar::{McNemar, mcnemar};
pub use sequential::{Decision, Sequential, SequentialTest, discordant_e_value};
pub use wilson::{clustered_wilson, effective_cases, wilson};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// SplitMix64: eight bytes of state, and the same numbers on every machine and with every version.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `bound`, evenly but for one part in 2^64 / bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// The natural logarithm of `number!`.
pub(crate) fn ln_factorial(number: u64) -> f64 {
    (2..=number).map(|factor| (factor as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_the_published_generator() {
        // The first numbers of SplitMix64 with the seed 1234567, as its authors list them.
        let mut draws = Draws::new(1_234_567);
        let drawn: Vec<u64> = (0..5).map(|_| draws.next()).collect();
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn factorials_are_those_of_whole_numbers() {
        assert_eq!(ln_factorial(0), 0.0);
        assert!((ln_factorial(10) - 3_628_800f64.ln()).abs() < 1e-12);
    }
}
