//! From scores to the next token. The same scores, settings and seed give the same token, whatever else is going on.

use toktrie::SimpleVob;

use crate::{LocalError, Result};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// 0 takes the best token always.
    pub temperature: f32,
    /// Only so many of the best tokens; 0 for all.
    pub top_k: usize,
    /// Only the best tokens that have this share of the probability together.
    pub top_p: f32,
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, top_k: 0, top_p: 1.0, seed: 0 }
    }
}

/// Tokens that are less probable than e to the minus this, beside the best, are never drawn.
const LEAST: f32 = 40.0;

/// Below this the best token is taken: dividing by less would only overflow.
const COLDEST: f32 = 1e-4;

impl Sampling {
    /// Whether chance decides, and not the scores alone.
    pub fn is_by_lot(&self) -> bool {
        self.temperature >= COLDEST
    }

    /// The token after `position` others, among those that the mask allows.
    pub fn choose(&self, scores: &[f32], mask: Option<&SimpleVob>, position: usize) -> Result<u32> {
        let is_allowed = |token: u32| mask.is_none_or(|mask| mask.is_allowed(token));
        if scores.iter().any(|score| score.is_nan()) {
            return Err(LocalError::NotANumber);
        }
        let mut best = None;
        for (token, score) in (0..).zip(scores) {
            if best.is_none_or(|(_, highest)| *score > highest) && is_allowed(token) {
                best = Some((token, *score));
            }
        }
        let Some((best, highest)) = best.filter(|(_, highest)| highest.is_finite()) else {
            return Err(LocalError::NotANumber);
        };
        if !self.is_by_lot() {
            return Ok(best);
        }
        let floor = highest - LEAST * self.temperature;
        let mut candidates: Vec<(u32, f32)> = (0..)
            .zip(scores.iter().copied())
            .filter(|(token, score)| *score >= floor && is_allowed(*token))
            .collect();
        let by_score = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if self.top_k > 0 && self.top_k < candidates.len() {
            candidates.select_nth_unstable_by(self.top_k, by_score);
            candidates.truncate(self.top_k);
        }
        candidates.sort_unstable_by(by_score);
        let weight = |score: f32| (f64::from(score - highest) / f64::from(self.temperature)).exp();
        let weights: Vec<f64> = candidates.iter().map(|(_, score)| weight(*score)).collect();
        let mut total: f64 = weights.iter().sum();
        let mut kept = weights.len();
        if self.top_p < 1.0 {
            let wanted = total * f64::from(self.top_p.max(0.0));
            let mut sum = 0.0;
            kept = weights
                .iter()
                .position(|weight| {
                    sum += weight;
                    sum >= wanted
                })
                .map_or(kept, |last| last + 1);
            total = weights[..kept].iter().sum();
        }
        let mut left = uniform(self.seed, position as u64) * total;
        for ((token, _), weight) in candidates[..kept].iter().zip(&weights) {
            left -= weight;
            if left < 0.0 {
                return Ok(*token);
            }
        }
        Ok(candidates[kept - 1].0)
    }
}

/// A number from 0 to 1 that depends on the seed and the position alone.
fn uniform(seed: u64, position: u64) -> f64 {
    let mut mixed = seed.wrapping_add(position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for _ in 0..2 {
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
    }
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use toktrie::SimpleVob;

    use super::Sampling;

    const SCORES: [f32; 5] = [0.0, 2.0, 1.0, 2.0, -50.0];

    #[test]
    fn without_heat_the_first_of_the_best_is_taken() {
        let sampling = Sampling::default();
        assert_eq!(sampling.choose(&SCORES, None, 0).unwrap(), 1);
        let mut mask = SimpleVob::alloc(5);
        mask.allow_token(0);
        mask.allow_token(2);
        assert_eq!(sampling.choose(&SCORES, Some(&mask), 0).unwrap(), 2);
    }

    #[test]
    fn tokens_are_drawn_by_their_probability_and_by_the_seed() {
        let draw = |sampling: Sampling| -> Vec<usize> {
            let mut counts = vec![0; 5];
            for position in 0..10_000 {
                counts[sampling.choose(&SCORES, None, position).unwrap() as usize] += 1;
            }
            counts
        };
        let warm = Sampling { temperature: 1.0, seed: 4, ..Sampling::default() };
        let counts = draw(warm);
        // e^0 : e^2 : e^1 : e^2 of 18.5
        for (count, expected) in counts.iter().zip([541, 3996, 1470, 3996, 0]) {
            assert!((*count as i64 - expected).abs() < 200, "{counts:?}");
        }
        assert_eq!(counts, draw(warm));
        assert_ne!(counts, draw(Sampling { seed: 5, ..warm }));
        let top_k = draw(Sampling { top_k: 2, ..warm });
        assert!(top_k[0] == 0 && top_k[2] == 0 && top_k[1] > 4000 && top_k[3] > 4000);
        let top_p = draw(Sampling { top_p: 0.9, ..warm });
        assert!(top_p[0] == 0 && top_p[2] > 1000);
    }

    #[test]
    fn scores_that_are_no_numbers_are_an_error() {
        for broken in [f32::NAN, f32::INFINITY] {
            assert!(Sampling::default().choose(&[0.0, broken], None, 0).is_err());
        }
        assert!(Sampling::default().choose(&SCORES, Some(&SimpleVob::alloc(5)), 0).is_err());
    }
}
