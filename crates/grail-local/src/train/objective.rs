//! What is made small, given the loss of every predicted token: the weighted loss of answers, and the comparison of two answers.
//!
//! **Examples.** With weight `w` and `n` answer tokens each, the loss of a step is `Σᵢ wᵢ Σₜ lossᵢₜ / Σᵢ wᵢ nᵢ`: the mean over all answer tokens
//! where each token counts as much as its example. An example of weight 2 is the same as the example twice.
//!
//! **Pairs.** ORPO: the mean loss of the chosen answer, plus `λ · -log σ(odds(chosen) - odds(rejected))` where `odds(a) = a - log(1 - eᵃ)` of the
//! mean log-likelihood `a`. The loss of a step is the mean over pairs by weight. It was chosen over DPO because it needs no second model
//! beside the trained one, goes on teaching the right answer while it pushes the wrong one away, and counts answers of different lengths
//! alike.

use std::ops::Range;

use super::sequences::Sample;

/// A mean log-likelihood nearer to 0 than this is certainty: its odds are not raised further.
const CERTAIN: f64 = -1e-3;

/// What one token of an example adds to the denominator of a step.
pub fn example_total<'a>(batch: impl IntoIterator<Item = (&'a Sample, f32)>) -> f64 {
    batch.into_iter().map(|(sample, weight)| f64::from(weight) * sample.answer_tokens() as f64).sum()
}

/// A part of the loss of a step, and how much each predicted token counts in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    pub loss: f64,
    pub importance: Vec<f32>,
}

/// `answers` are the parts of `losses` that belong to each example, `total` the denominator of the whole step.
pub fn examples(losses: &[f32], answers: &[Range<usize>], weights: &[f32], total: f64) -> Objective {
    let mut objective = Objective { loss: 0.0, importance: vec![0.0; losses.len()] };
    for (range, weight) in answers.iter().zip(weights) {
        let share = f64::from(*weight) / total;
        objective.loss += share * sum(&losses[range.clone()]);
        objective.importance[range.clone()].fill(share as f32);
    }
    objective
}

/// `answers` are the parts of `losses` of the chosen and the rejected answers in turn, `total` the weight of all pairs of the step.
pub fn pairs(
    losses: &[f32],
    answers: &[Range<usize>],
    weights: &[f32],
    total: f64,
    comparison: f64,
) -> Objective {
    let mut objective = Objective { loss: 0.0, importance: vec![0.0; losses.len()] };
    for (ranges, weight) in answers.chunks_exact(2).zip(weights) {
        let [chosen, rejected] = ranges else { continue };
        let share = f64::from(*weight) / total;
        let likelihood = |range: &Range<usize>| -sum(&losses[range.clone()]) / range.len() as f64;
        let (of_chosen, of_rejected) = (likelihood(chosen), likelihood(rejected));
        let difference = odds(of_chosen) - odds(of_rejected);
        // -log σ(x), without overflow.
        let surprise = (-difference).max(0.0) + (-difference.abs()).exp().ln_1p();
        objective.loss += share * (-of_chosen + comparison * surprise);
        let pull = comparison / (1.0 + difference.exp());
        let per_chosen = share * (1.0 + pull * odds_slope(of_chosen)) / chosen.len() as f64;
        let per_rejected = -share * pull * odds_slope(of_rejected) / rejected.len() as f64;
        objective.importance[chosen.clone()].fill(per_chosen as f32);
        objective.importance[rejected.clone()].fill(per_rejected as f32);
    }
    objective
}

fn odds(likelihood: f64) -> f64 {
    let likelihood = likelihood.min(CERTAIN);
    likelihood - (-likelihood.exp_m1()).ln()
}

fn odds_slope(likelihood: f64) -> f64 {
    if likelihood > CERTAIN { 0.0 } else { 1.0 / -likelihood.exp_m1() }
}

fn sum(losses: &[f32]) -> f64 {
    losses.iter().map(|loss| f64::from(*loss)).sum()
}
