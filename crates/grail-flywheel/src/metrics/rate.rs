//! Shares that say what they are shares of.

use serde::Serialize;

/// The 97.5 % point of the normal distribution: intervals hold the truth 95 times in 100.
const Z: f64 = 1.959_964;
/// With fewer cases nothing is said about a target.
pub const ENOUGH: u64 = 10;

/// So many of so many. Without cases there is no share, which is not the same as none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    pub passed: u64,
    pub of: u64,
    /// Between 0 and 1.
    pub rate: Option<f64>,
    /// Wilson's interval at 95 %.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// A sum over cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Mean {
    pub sum: u64,
    pub of: u64,
    pub mean: Option<f64>,
}

impl Rate {
    pub fn new(passed: u64, of: u64) -> Self {
        if of == 0 {
            return Self::default();
        }
        let (cases, share) = (of as f64, passed as f64 / of as f64);
        let shrunk = 1.0 + Z * Z / cases;
        let middle = (share + Z * Z / (2.0 * cases)) / shrunk;
        let reach = Z * (share * (1.0 - share) / cases + Z * Z / (4.0 * cases * cases)).sqrt() / shrunk;
        Self {
            passed,
            of,
            rate: Some(rounded(share)),
            low: Some(rounded((middle - reach).max(0.0))),
            high: Some(rounded((middle + reach).min(1.0))),
        }
    }

    pub fn is_enough(&self) -> bool {
        self.of >= ENOUGH
    }
}

impl Mean {
    pub fn new(sum: u64, of: u64) -> Self {
        Self { sum, of, mean: (of > 0).then(|| rounded(sum as f64 / of as f64)) }
    }
}

/// To four places, so that the same counts are written the same everywhere.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_nothing_is_no_share() {
        assert_eq!(Rate::new(0, 0), Rate::default());
        assert_eq!(Mean::new(0, 0).mean, None);
    }

    #[test]
    fn intervals_are_wilson_s() {
        // As in the tables of textbooks: 7 of 9, none of 10, all of 10.
        let rate = Rate::new(7, 9);
        assert_eq!((rate.rate, rate.low, rate.high), (Some(0.7778), Some(0.4526), Some(0.9368)));
        let rate = Rate::new(0, 10);
        assert_eq!((rate.low, rate.high), (Some(0.0), Some(0.2775)));
        let rate = Rate::new(10, 10);
        assert_eq!((rate.low, rate.high), (Some(0.7225), Some(1.0)));
    }
}
