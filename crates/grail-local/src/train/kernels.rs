//! What stands between the products of a network, forwards and backwards, row by row: norms, rotations, the gate, the exponential.
//!
//! Every function here is inlined into a loop that is compiled for the vector instructions of the machine, so it is written without branches
//! and without fused operations, which are slow where the machine lacks them.

/// `e^x` to about one unit in the last place, for any `x` at most 88. Below -87 it is as good as 0.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³: adding it leaves the nearest whole number in the low bits
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // ln 2 in two parts, so that the rest keeps its bits.
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let mut sum = 1.987_569_1e-4;
    sum = sum * rest + 1.398_199_9e-3;
    sum = sum * rest + 8.333_452e-3;
    sum = sum * rest + 4.166_579_6e-2;
    sum = sum * rest + 1.666_666_5e-1;
    sum = sum * rest + 5e-1;
    let power = f32::from_bits(shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23);
    (sum * rest * rest + rest + 1.0) * power
}

#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The sum of products. Sixteen sums side by side, because the order of one sum could not be changed by the compiler.
#[inline(always)]
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0; 16];
    let (left_chunks, right_chunks) = (left.chunks_exact(16), right.chunks_exact(16));
    let tail: f32 = left_chunks.remainder().iter().zip(right_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in left_chunks.zip(right_chunks) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + tail
}

/// `into += factor · row`
#[inline(always)]
pub(super) fn add_scaled(into: &mut [f32], factor: f32, row: &[f32]) {
    for (into, value) in into.iter_mut().zip(row) {
        *into += factor * value;
    }
}

/// `1 / √(mean of squares + epsilon)`
#[inline(always)]
pub(super) fn inverse_root_mean_square(row: &[f32], epsilon: f32) -> f32 {
    1.0 / (dot(row, row) / row.len() as f32 + epsilon).sqrt()
}

#[inline(always)]
pub(super) fn norm(into: &mut [f32], row: &[f32], weight: &[f32], epsilon: f32) {
    let inverse = inverse_root_mean_square(row, epsilon);
    for ((into, value), weight) in into.iter_mut().zip(row).zip(weight) {
        *into = value * inverse * weight;
    }
}

/// Adds what `gradient`, the gradient of a normed row, comes to before the norm.
#[inline(always)]
pub(super) fn add_norm_gradient(
    into: &mut [f32],
    row: &[f32],
    weight: &[f32],
    gradient: &[f32],
    epsilon: f32,
) {
    let inverse = inverse_root_mean_square(row, epsilon);
    let mut sums = [0.0; 16];
    let width = row.len();
    let whole = width - width % 16;
    for start in (0..whole).step_by(16) {
        let (row, weight, gradient) =
            (&row[start..start + 16], &weight[start..start + 16], &gradient[start..start + 16]);
        for lane in 0..16 {
            sums[lane] += row[lane] * weight[lane] * gradient[lane];
        }
    }
    let tail: f32 = (whole..width).map(|index| row[index] * weight[index] * gradient[index]).sum();
    let along = (sums.iter().sum::<f32>() + tail) * inverse * inverse / width as f32;
    for (((into, value), weight), gradient) in into.iter_mut().zip(row).zip(weight).zip(gradient) {
        *into += inverse * (weight * gradient - value * along);
    }
}

/// Turns each pair (index, index + half) of a head by its angle.
#[inline(always)]
pub(super) fn rotate(head: &mut [f32], cosines: &[f32], sines: &[f32]) {
    let (first, second) = head.split_at_mut(head.len() / 2);
    for (((first, second), cosine), sine) in first.iter_mut().zip(second).zip(cosines).zip(sines) {
        let (a, b) = (*first, *second);
        *first = a * cosine - b * sine;
        *second = b * cosine + a * sine;
    }
}

/// Turns it back, which is also what the gradient of a rotated head needs.
#[inline(always)]
pub(super) fn rotate_back(head: &mut [f32], cosines: &[f32], sines: &[f32]) {
    let (first, second) = head.split_at_mut(head.len() / 2);
    for (((first, second), cosine), sine) in first.iter_mut().zip(second).zip(cosines).zip(sines) {
        let (a, b) = (*first, *second);
        *first = a * cosine + b * sine;
        *second = b * cosine - a * sine;
    }
}

/// `silu(gate) · up`
#[inline(always)]
pub(super) fn gated(into: &mut [f32], gate: &[f32], up: &[f32]) {
    for ((into, gate), up) in into.iter_mut().zip(gate).zip(up) {
        *into = gate * sigmoid(*gate) * up;
    }
}

/// The gradients of gate and up, of that of `silu(gate) · up`.
#[inline(always)]
pub(super) fn gated_gradient(
    into_gate: &mut [f32],
    into_up: &mut [f32],
    gate: &[f32],
    up: &[f32],
    gradient: &[f32],
) {
    for ((((into_gate, into_up), gate), up), gradient) in
        into_gate.iter_mut().zip(into_up).zip(gate).zip(up).zip(gradient)
    {
        let chance = sigmoid(*gate);
        *into_gate = gradient * up * chance * (1.0 + gate * (1.0 - chance));
        *into_up = gradient * gate * chance;
    }
}

/// Turns scores into shares of one, after scaling; what is beyond `seen` becomes 0.
#[inline(always)]
pub(super) fn softmax(row: &mut [f32], seen: usize, scale: f32) {
    let (row, unseen) = row.split_at_mut(seen);
    unseen.fill(0.0);
    let highest = max(row) * scale;
    for value in row.iter_mut() {
        *value = exp(*value * scale - highest);
    }
    let inverse = 1.0 / sum(row);
    for value in row.iter_mut() {
        *value *= inverse;
    }
}

/// From the gradient of the shares to the gradient of the scores, in place.
#[inline(always)]
pub(super) fn softmax_gradient(gradient: &mut [f32], shares: &[f32], seen: usize, scale: f32) {
    let (gradient, unseen) = gradient.split_at_mut(seen);
    unseen.fill(0.0);
    let along = dot(gradient, &shares[..seen]);
    for (gradient, share) in gradient.iter_mut().zip(shares) {
        *gradient = scale * share * (*gradient - along);
    }
}

#[inline(always)]
pub(super) fn max(row: &[f32]) -> f32 {
    let mut highest = [f32::NEG_INFINITY; 16];
    let chunks = row.chunks_exact(16);
    let tail = chunks
        .remainder()
        .iter()
        .fold(f32::NEG_INFINITY, |highest, value| if *value > highest { *value } else { highest });
    for chunk in chunks {
        for lane in 0..16 {
            highest[lane] = if chunk[lane] > highest[lane] { chunk[lane] } else { highest[lane] };
        }
    }
    highest.iter().fold(tail, |highest, value| if *value > highest { *value } else { highest })
}

#[inline(always)]
pub(super) fn sum(row: &[f32]) -> f32 {
    let mut sums = [0.0; 16];
    let chunks = row.chunks_exact(16);
    let tail: f32 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for lane in 0..16 {
            sums[lane] += chunk[lane];
        }
    }
    sums.iter().sum::<f32>() + tail
}
