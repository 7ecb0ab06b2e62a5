//! From observations to a score that means what it says: the chance that the skill does what is asked.
//!
//! A logistic regression over the observations of [`super::comparison`], fitted on `intents/fitting.toml`. For the embedder that the program brings
//! along the coefficients are below; `grail-dev skill-search` fits them anew and says how they do on the half that nothing is fitted on. For any other
//! embedder they are fitted when its index is made, since its cosines lie elsewhere.

use super::comparison::{COUNT, Comparison, Observations};

/// The skill does what is asked, so that nobody needs to make another one.
pub const SAME: f32 = 0.85;

/// What is left of the score of a skill that does the opposite.
const CONTRADICTED: f32 = 0.5;

/// Weights of the observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    pub(crate) constant: f64,
    pub(crate) weights: [f64; COUNT],
}

/// An observation with what is right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labelled {
    pub(crate) observations: Observations,
    pub(crate) same: bool,
    /// How many such pairs it stands for.
    pub(crate) importance: f64,
}

/// The coefficients for [`super::WordEmbedder`].
pub fn fitted_for_words() -> Calibration {
    Calibration {
        constant: -5.195,
        weights: [
            0.000, // lexical
            2.046, // semantic
            1.744, // whole
            1.525, // covered
            0.491, // covered by part
            1.417, // part covered
            0.000, // weakest
            0.211, // contained
            0.000, // name covered
            2.102, // name weakest
        ],
    }
}

impl Calibration {
    /// With three decimals, as they are written down: more would only tell how one machine rounds.
    pub fn rounded(mut self) -> Self {
        for number in std::iter::once(&mut self.constant).chain(&mut self.weights) {
            // Adding 0 turns -0 into 0.
            *number = (*number * 1000.0).round() / 1000.0 + 0.0;
        }
        self
    }

    /// Between 0 and 1; below a half for what contradicts the query, however alike it is.
    pub(crate) fn score(&self, comparison: &Comparison) -> f32 {
        self.score_parts(&comparison.observations, comparison.contradiction.is_some())
    }

    pub(crate) fn score_parts(&self, observations: &Observations, contradicts: bool) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1")]
        let score = sigmoid(self.sum(observations)) as f32;
        if contradicts { score * CONTRADICTED } else { score }
    }

    fn sum(&self, observations: &Observations) -> f64 {
        let weighted =
            self.weights.iter().zip(observations).map(|(weight, value)| weight * f64::from(*value));
        self.constant + weighted.sum::<f64>()
    }

    /// The coefficients that make the labels most likely, held small. What is alike must not count against a skill: an observation
    /// whose weight would be negative has none.
    pub(crate) fn fit(examples: &[Labelled]) -> Self {
        let mut used = [true; COUNT];
        loop {
            let fitted = Self::fit_some(examples, &used);
            let wrong = (0..COUNT)
                .map(|index| (fitted.weights[index], index))
                .filter(|(weight, _)| *weight < 0.0)
                .min_by(|left, right| left.0.total_cmp(&right.0));
            match wrong {
                Some((_, index)) => used[index] = false,
                None => return fitted,
            }
        }
    }

    /// Newton's method; the sum is convex, so it does not matter where it starts.
    fn fit_some(examples: &[Labelled], used: &[bool; COUNT]) -> Self {
        /// Keeps weights near 0 that few examples speak for.
        const RESTRAINT: f64 = 0.5;
        const ROUNDS: usize = 30;
        let mut fitted = Self { constant: 0.0, weights: [0.0; COUNT] };
        for _ in 0..ROUNDS {
            let mut slope = [0.0; COUNT + 1];
            let mut curvature = [[0.0; COUNT + 1]; COUNT + 1];
            for example in examples {
                let chance = sigmoid(fitted.sum(&example.observations));
                let error = (chance - f64::from(u8::from(example.same))) * example.importance;
                let spread = (chance * (1.0 - chance)).max(1e-9) * example.importance;
                let values = with_constant(&example.observations, used);
                for (row, value) in values.iter().enumerate() {
                    slope[row] += error * value;
                    for (column, other) in values.iter().enumerate() {
                        curvature[row][column] += spread * value * other;
                    }
                }
            }
            for (index, weight) in fitted.weights.iter().enumerate() {
                slope[index] += RESTRAINT * weight;
                curvature[index][index] += RESTRAINT;
            }
            curvature[COUNT][COUNT] += 1e-6;
            let step = solve(curvature, slope);
            for (weight, change) in fitted.weights.iter_mut().zip(&step) {
                *weight -= change;
            }
            fitted.constant -= step[COUNT];
            if step.iter().all(|change| change.abs() < 1e-9) {
                break;
            }
        }
        fitted
    }
}

fn sigmoid(sum: f64) -> f64 {
    1.0 / (1.0 + (-sum).exp())
}

fn with_constant(observations: &Observations, used: &[bool; COUNT]) -> [f64; COUNT + 1] {
    let mut values = [1.0; COUNT + 1];
    for ((value, observation), used) in values.iter_mut().zip(observations).zip(used) {
        *value = if *used { f64::from(*observation) } else { 0.0 };
    }
    values
}

/// Gauss's elimination with pivots. The matrix is positive definite.
fn solve<const SIZE: usize>(mut matrix: [[f64; SIZE]; SIZE], mut right: [f64; SIZE]) -> [f64; SIZE] {
    for column in 0..SIZE {
        let pivot = (column..SIZE)
            .max_by(|left, other| matrix[*left][column].abs().total_cmp(&matrix[*other][column].abs()))
            .unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let (upper, lower) = matrix.split_at_mut(column + 1);
        let leading = &upper[column];
        for (offset, row) in lower.iter_mut().enumerate() {
            let factor = row[column] / leading[column];
            for (value, above) in row.iter_mut().zip(leading).skip(column) {
                *value -= factor * above;
            }
            right[column + 1 + offset] -= factor * right[column];
        }
    }
    let mut solution = [0.0; SIZE];
    for row in (0..SIZE).rev() {
        let known: f64 = (row + 1..SIZE).map(|column| matrix[row][column] * solution[column]).sum();
        solution[row] = (right[row] - known) / matrix[row][row];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_finds_the_observation_that_tells_and_stays_between_0_and_1() {
        let example = |value: f32, same| {
            let mut observations = [0.0; COUNT];
            observations[3] = value;
            Labelled { observations, same, importance: 10.0 }
        };
        let fitted = Calibration::fit(&[
            example(0.9, true),
            example(0.8, true),
            example(0.2, false),
            example(0.1, false),
        ]);
        assert!(fitted.weights[3] > 1.0);
        assert!(fitted.weights[0].abs() < 1e-6);
        let sure = fitted.score_parts(&example(1e9, true).observations, false);
        let unsure = fitted.score_parts(&example(-1e9, true).observations, false);
        assert_eq!((sure, unsure), (1.0, 0.0));
    }
}
