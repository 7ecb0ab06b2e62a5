//! AdamW, the schedule of its learning rate, and the bound on the length of gradients.

use super::adapter::Numbers;

const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;
/// The share of the learning rate that is left at the end.
const LAST_SHARE: f64 = 0.05;

/// A straight line up to `highest` over `warmup` steps, then half a cosine down to a twentieth of it at the last of `steps`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    pub highest: f64,
    pub warmup: usize,
    pub steps: usize,
}

impl Schedule {
    /// The learning rate of a step, counted from 0.
    pub fn at(&self, step: usize) -> f64 {
        if step < self.warmup {
            return self.highest * (step + 1) as f64 / self.warmup as f64;
        }
        let rest = self.steps.saturating_sub(self.warmup + 1).max(1);
        let done = ((step - self.warmup) as f64 / rest as f64).min(1.0);
        let share = LAST_SHARE + (1.0 - LAST_SHARE) * 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
        self.highest * share
    }
}

#[derive(Clone, Debug)]
pub(super) struct Optimizer {
    pub(super) first: Numbers,
    pub(super) second: Numbers,
    /// Updates made since the moments were zero.
    pub(super) updates: usize,
    pub(super) weight_decay: f64,
}

impl Optimizer {
    pub(super) fn new(zeros: Numbers, weight_decay: f64) -> Optimizer {
        Optimizer { first: zeros.clone(), second: zeros, updates: 0, weight_decay }
    }

    pub(super) fn update(&mut self, numbers: &mut Numbers, gradients: &Numbers, learning_rate: f64) {
        self.updates += 1;
        let first_bias = 1.0 - FIRST_DECAY.powi(self.updates as i32);
        let second_bias = 1.0 - SECOND_DECAY.powi(self.updates as i32);
        let step = (learning_rate / first_bias) as f32;
        let decay = (1.0 - learning_rate * self.weight_decay) as f32;
        let inverse_second_bias = (1.0 / second_bias) as f32;
        let (first_decay, second_decay, epsilon) = (FIRST_DECAY as f32, SECOND_DECAY as f32, EPSILON as f32);
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((numbers, gradients), (first, second)) in numbers.iter_mut().zip(gradients).zip(moments) {
            for (((number, gradient), first), second) in
                numbers.iter_mut().zip(gradients).zip(first).zip(second)
            {
                *first = first_decay * *first + (1.0 - first_decay) * gradient;
                *second = second_decay * *second + (1.0 - second_decay) * gradient * gradient;
                let size = (*second * inverse_second_bias).sqrt() + epsilon;
                *number = *number * decay - step * *first / size;
            }
        }
    }
}

/// Shortens gradients to `longest`, unless that is 0, and returns how long they were.
pub fn clip(gradients: &mut [Vec<f32>], longest: f64) -> f64 {
    let square: f64 = gradients
        .iter()
        .map(|numbers| numbers.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>())
        .sum();
    let length = square.sqrt();
    if longest > 0.0 && length > longest {
        let factor = (longest / length) as f32;
        for value in gradients.iter_mut().flatten() {
            *value *= factor;
        }
    }
    length
}
