//! The arithmetic between the matrices: norms, rotations, activations, attention over the cache.

use super::cache::{Cache, LayerCache};
use super::lanes::{Lanes, WIDTH, Work};

/// `output = values / rms(values) * weights`
pub(super) struct Norm<'a> {
    pub(super) values: &'a [f32],
    pub(super) weights: &'a [f32],
    pub(super) epsilon: f32,
    pub(super) output: &'a mut [f32],
}

impl Work for Norm<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let factor = inverse_rms(self.values, self.epsilon);
        for ((output, value), weight) in self.output.iter_mut().zip(self.values).zip(self.weights) {
            *output = value * factor * weight;
        }
    }
}

/// The norm of one head, in place.
pub(super) fn norm_in_place(values: &mut [f32], weights: &[f32], epsilon: f32) {
    let factor = inverse_rms(values, epsilon);
    for (value, weight) in values.iter_mut().zip(weights) {
        *value *= factor * weight;
    }
}

#[inline(always)]
fn inverse_rms(values: &[f32], epsilon: f32) -> f32 {
    let mut lanes = [0.0_f32; WIDTH];
    let chunks = values.chunks_exact(WIDTH);
    let rest: f32 = chunks.remainder().iter().map(|value| value * value).sum();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value * value;
        }
    }
    let mean = (lanes.iter().sum::<f32>() + rest) / values.len() as f32;
    1.0 / (mean + epsilon).sqrt()
}

/// `output = silu(gate) * up`
pub(super) struct Gate<'a> {
    pub(super) gate: &'a [f32],
    pub(super) up: &'a [f32],
    pub(super) output: &'a mut [f32],
}

impl Work for Gate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        for ((output, gate), up) in self.output.iter_mut().zip(self.gate).zip(self.up) {
            *output = gate / (1.0 + exponential(-gate)) * up;
        }
    }
}

/// Turns the pairs of dimensions of one head by the angles of a position.
#[inline]
pub(super) fn rotate(head: &mut [f32], cosines: &[f32], sines: &[f32]) {
    let (first, second) = head.split_at_mut(cosines.len());
    for ((a, b), (cosine, sine)) in first.iter_mut().zip(second).zip(cosines.iter().zip(sines)) {
        (*a, *b) = (*a * cosine - *b * sine, *b * cosine + *a * sine);
    }
}

/// e to the power of x within a few units of the last place, in operations that vectors have.
#[inline(always)]
#[allow(clippy::excessive_precision, reason = "the constants as they are known")]
pub(super) fn exponential(x: f32) -> f32 {
    const NEAREST: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let power = (x * std::f32::consts::LOG2_E + NEAREST) - NEAREST;
    let rest = x - power * 0.693_359_375 - power * -2.121_944_4e-4;
    let mut sum = 1.987_569_15e-4;
    for factor in [1.398_199_95e-3, 8.333_451_9e-3, 4.166_579_6e-2, 1.666_666_55e-1, 5.000_000_1e-1] {
        sum = sum * rest + factor;
    }
    let value = sum * rest * rest + rest + 1.0;
    f32::from_bits(((power as i32 + 127) << 23) as u32) * value
}

/// The attention of the query heads that share one key head, for one token.
pub(super) struct Attention<'a> {
    pub(super) cache: &'a Cache,
    pub(super) layer: &'a LayerCache,
    pub(super) kv_head: usize,
    /// Positions that the token sees, itself included.
    pub(super) positions: usize,
    pub(super) queries: &'a [f32],
    pub(super) output: &'a mut [f32],
}

impl Work for Attention<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let head_dim = self.cache.head_dim;
        let mut scores = Vec::new();
        let (mut queries, mut output) = (self.queries, self.output);
        while !queries.is_empty() {
            let heads = match queries.len() / head_dim {
                heads @ 1..4 => heads,
                _ => 4,
            };
            let (some, rest) = queries.split_at(heads * head_dim);
            let (target, rest_target) = output.split_at_mut(heads * head_dim);
            let part = Part {
                layer: self.layer,
                cache: self.cache,
                kv_head: self.kv_head,
                positions: self.positions,
            };
            match heads {
                1 => part.attend::<L, 1>(lanes, some, target, &mut scores),
                2 => part.attend::<L, 2>(lanes, some, target, &mut scores),
                3 => part.attend::<L, 3>(lanes, some, target, &mut scores),
                _ => part.attend::<L, 4>(lanes, some, target, &mut scores),
            }
            (queries, output) = (rest, rest_target);
        }
    }
}

struct Part<'a> {
    cache: &'a Cache,
    layer: &'a LayerCache,
    kv_head: usize,
    positions: usize,
}

impl Part<'_> {
    #[inline(always)]
    fn attend<L: Lanes, const H: usize>(
        &self,
        lanes: L,
        queries: &[f32],
        output: &mut [f32],
        scores: &mut Vec<f32>,
    ) {
        let Cache { head_dim, kv_heads, chunks, .. } = *self.cache;
        let blocks = self.positions.div_ceil(WIDTH);
        let length = blocks * WIDTH;
        scores.clear();
        scores.resize(H * length, 0.0);
        let scale = 1.0 / (head_dim as f32).sqrt();
        for block in 0..blocks {
            let keys = &self.layer.keys[(block * kv_heads + self.kv_head) * head_dim..][..head_dim];
            let mut sums = [lanes.splat(0.0); H];
            for (at, key) in keys.iter().enumerate() {
                let key = lanes.halves(key);
                for (head, sum) in sums.iter_mut().enumerate() {
                    *sum = lanes.multiply_add(key, lanes.splat(queries[head * head_dim + at]), *sum);
                }
            }
            for (head, sum) in sums.into_iter().enumerate() {
                let values = lanes.store(lanes.multiply(sum, lanes.splat(scale)));
                scores[head * length + block * WIDTH..][..WIDTH].copy_from_slice(&values);
            }
        }
        let mut factors = [0.0; H];
        for (scores, factor) in scores.chunks_exact_mut(length).zip(&mut factors) {
            *factor = 1.0 / soften(&mut scores[..self.positions]);
        }
        for chunk in 0..chunks {
            let mut sums = [lanes.splat(0.0); H];
            for position in 0..self.positions {
                let value = &self.layer.values[(position * kv_heads + self.kv_head) * chunks + chunk];
                let value = lanes.halves(value);
                for (head, sum) in sums.iter_mut().enumerate() {
                    *sum = lanes.multiply_add(value, lanes.splat(scores[head * length + position]), *sum);
                }
            }
            let width = WIDTH.min(head_dim - chunk * WIDTH);
            for (head, sum) in sums.into_iter().enumerate() {
                let values = lanes.store(lanes.multiply(sum, lanes.splat(factors[head])));
                output[head * head_dim + chunk * WIDTH..][..width].copy_from_slice(&values[..width]);
            }
        }
    }
}

/// Turns scores into weights that are not yet divided by their sum, which is returned.
#[inline(always)]
fn soften(scores: &mut [f32]) -> f32 {
    let mut largest = f32::NEG_INFINITY;
    for score in scores.iter() {
        largest = largest.max(*score);
    }
    let mut lanes = [0.0_f32; WIDTH];
    for chunk in scores.chunks_mut(WIDTH) {
        for (score, lane) in chunk.iter_mut().zip(&mut lanes) {
            *score = exponential(*score - largest);
            *lane += *score;
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::exponential;

    #[test]
    fn the_exponential_is_right_to_a_few_units() {
        for step in -8700..8800 {
            let x = step as f32 / 100.0;
            let expected = f64::from(x).exp();
            let error = (f64::from(exponential(x)) - expected).abs() / expected;
            assert!(error < 3e-7, "{x}: {error}");
        }
        assert!(exponential(f32::NEG_INFINITY) < 1e-37);
    }
}
