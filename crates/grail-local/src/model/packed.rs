//! Weights laid out for the way they are read, and their product with the states of many tokens.
//!
//! Rows go in groups of sixteen, column by column, so that one vector holds the same columns of all of them. The weights of 4-bit and 8-bit
//! formats stay in 4 and 8 bits; the states they are multiplied with are rounded to 8 bits per block of 32, as llama.cpp does it. What comes
//! out for a token does not depend on the other tokens in the batch, not even in the last bit.

use candle_core::quantized::GgmlDType;

use super::lanes::{Lanes, WIDTH, Work};
use super::threads::Threads;
use crate::weights::RawTensor;
use crate::{LocalError, Result};

/// Columns that share a scale.
pub(super) const BLOCK: usize = 32;

/// Sixteen rows of one block, in 4 bits: `scale * nibble + min`.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct Four {
    nibbles: [[u8; 64]; 4],
    scales: [u16; WIDTH],
    mins: [u16; WIDTH],
}

/// Sixteen rows of one block, in 8 bits: `scale * (byte - 128)`.
#[derive(Clone)]
#[repr(align(32))]
pub(super) struct Eight {
    bytes: [[u8; 64]; 8],
    scales: [u16; WIDTH],
}

#[derive(Clone)]
pub(super) enum Layout {
    Four(Vec<Four>),
    Eight(Vec<Eight>),
    Full(Vec<[f32; WIDTH]>),
}

/// A matrix of weights.
#[derive(Clone)]
pub(crate) struct Packed {
    rows: usize,
    columns: usize,
    layout: Layout,
}

/// How weights are held that the file stores as floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// As 32-bit floats.
    #[default]
    Full,
    /// Rounded to 8 bits per weight: a quarter of the memory, hardly another answer.
    Eight,
}

impl Packed {
    pub(crate) fn from_raw(raw: &RawTensor, precision: Precision) -> Result<Self> {
        let (rows, columns) = (raw.shape[0], raw.shape[1]);
        let is_float = matches!(raw.dtype, GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16);
        match raw.dtype {
            GgmlDType::Q4_0 | GgmlDType::Q4_1 => Ok(Self::four(raw)),
            GgmlDType::Q8_0 => Ok(Self::eight(raw)),
            _ if is_float && (precision == Precision::Full || !columns.is_multiple_of(BLOCK)) => {
                Ok(Self::full(&raw.values()?, rows, columns))
            }
            _ => Ok(Self::rounded(&raw.values()?, rows, columns)),
        }
    }

    /// Matrices one below the other. Those of different formats become 8 bits.
    pub(crate) fn stacked(raws: &[RawTensor], precision: Precision) -> Result<Self> {
        let mut parts: Vec<Self> =
            raws.iter().map(|raw| Self::from_raw(raw, precision)).collect::<Result<_>>()?;
        let kind = |part: &Self| std::mem::discriminant(&part.layout);
        if parts.iter().any(|part| kind(part) != kind(&parts[0])) {
            parts = raws
                .iter()
                .map(|raw| Ok(Self::rounded(&raw.values()?, raw.shape[0], raw.shape[1])))
                .collect::<Result<_>>()?;
        }
        let mut parts = parts.into_iter();
        let Some(mut whole) = parts.next() else {
            return Err(LocalError::Request { field: "weights".to_owned(), reason: "are empty".to_owned() });
        };
        for part in parts {
            // Groups are not split, so a part begins at a multiple of sixteen.
            whole.rows = whole.rows.next_multiple_of(WIDTH) + part.rows;
            match (&mut whole.layout, part.layout) {
                (Layout::Four(blocks), Layout::Four(more)) => blocks.extend(more),
                (Layout::Eight(blocks), Layout::Eight(more)) => blocks.extend(more),
                (Layout::Full(blocks), Layout::Full(more)) => blocks.extend(more),
                _ => unreachable!("all parts were made one format"),
            }
        }
        Ok(whole)
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn bytes(&self) -> u64 {
        let bytes = match &self.layout {
            Layout::Four(blocks) => size_of_val(blocks.as_slice()),
            Layout::Eight(blocks) => size_of_val(blocks.as_slice()),
            Layout::Full(blocks) => size_of_val(blocks.as_slice()),
        };
        bytes as u64
    }

    /// Whether it is multiplied with rounded states.
    pub(super) fn is_rounded(&self) -> bool {
        !matches!(self.layout, Layout::Full(_))
    }

    fn blocks(&self) -> usize {
        self.columns / BLOCK
    }

    pub(super) fn groups(&self) -> usize {
        self.rows.div_ceil(WIDTH)
    }

    fn four(raw: &RawTensor) -> Self {
        let (rows, columns) = (raw.shape[0], raw.shape[1]);
        let size = raw.dtype.type_size();
        let blocks = columns / BLOCK;
        let empty = Four { nibbles: [[0; 64]; 4], scales: [0; WIDTH], mins: [0; WIDTH] };
        let mut packed = vec![empty; rows.div_ceil(WIDTH) * blocks];
        for (index, bytes) in raw.data.chunks_exact(size).enumerate() {
            let (row, block) = (index / blocks, index % blocks);
            let target = &mut packed[row / WIDTH * blocks + block];
            let lane = row % WIDTH;
            let scale = u16::from_le_bytes([bytes[0], bytes[1]]);
            target.scales[lane] = scale;
            let nibbles = if raw.dtype == GgmlDType::Q4_0 {
                target.mins[lane] = (half::f16::from_bits(scale) * half::f16::from_f32(-8.0)).to_bits();
                &bytes[2..18]
            } else {
                target.mins[lane] = u16::from_le_bytes([bytes[2], bytes[3]]);
                &bytes[4..20]
            };
            for (quad, values) in target.nibbles.iter_mut().zip(nibbles.chunks_exact(4)) {
                quad[4 * lane..4 * lane + 4].copy_from_slice(values);
            }
        }
        Self { rows, columns, layout: Layout::Four(packed) }
    }

    fn eight(raw: &RawTensor) -> Self {
        let (rows, columns) = (raw.shape[0], raw.shape[1]);
        let blocks = columns / BLOCK;
        let mut packed = empty_eights(rows, blocks);
        for (index, bytes) in raw.data.chunks_exact(raw.dtype.type_size()).enumerate() {
            let target = &mut packed[index / blocks / WIDTH * blocks + index % blocks];
            let lane = index / blocks % WIDTH;
            target.scales[lane] = u16::from_le_bytes([bytes[0], bytes[1]]);
            for (quad, values) in target.bytes.iter_mut().zip(bytes[2..].chunks_exact(4)) {
                for (place, value) in quad[4 * lane..4 * lane + 4].iter_mut().zip(values) {
                    *place = value.wrapping_add(128);
                }
            }
        }
        Self { rows, columns, layout: Layout::Eight(packed) }
    }

    /// Rounds to 8 bits.
    fn rounded(values: &[f32], rows: usize, columns: usize) -> Self {
        let blocks = columns / BLOCK;
        let mut packed = empty_eights(rows, blocks);
        for (index, values) in values.chunks_exact(BLOCK).enumerate() {
            let target = &mut packed[index / blocks / WIDTH * blocks + index % blocks];
            let lane = index / blocks % WIDTH;
            let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
            let scale = half::f16::from_f32(largest / 127.0);
            target.scales[lane] = scale.to_bits();
            let inverse = if scale.to_f32() > 0.0 { 1.0 / scale.to_f32() } else { 0.0 };
            for (quad, values) in target.bytes.iter_mut().zip(values.chunks_exact(4)) {
                for (place, value) in quad[4 * lane..4 * lane + 4].iter_mut().zip(values) {
                    *place = ((value * inverse).round().clamp(-127.0, 127.0) as i32 + 128) as u8;
                }
            }
        }
        Self { rows, columns, layout: Layout::Eight(packed) }
    }

    pub(crate) fn full(values: &[f32], rows: usize, columns: usize) -> Self {
        let mut packed = vec![[0.0; WIDTH]; rows.div_ceil(WIDTH) * columns];
        for (index, value) in values.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            packed[row / WIDTH * columns + column][row % WIDTH] = *value;
        }
        Self { rows, columns, layout: Layout::Full(packed) }
    }

    /// One row as numbers.
    pub(super) fn row(&self, row: usize, output: &mut [f32]) {
        let (group, lane) = (row / WIDTH, row % WIDTH);
        let number = |bits: u16| half::f16::from_bits(bits).to_f32();
        match &self.layout {
            Layout::Full(blocks) => {
                let blocks = &blocks[group * self.columns..][..self.columns];
                output.iter_mut().zip(blocks).for_each(|(value, block)| *value = block[lane]);
            }
            Layout::Eight(blocks) => {
                let blocks = &blocks[group * self.blocks()..][..self.blocks()];
                for (output, block) in output.chunks_exact_mut(BLOCK).zip(blocks) {
                    let scale = number(block.scales[lane]);
                    for (at, value) in output.iter_mut().enumerate() {
                        let byte = block.bytes[at / 4][4 * lane + at % 4];
                        *value = scale * (f32::from(byte) - 128.0);
                    }
                }
            }
            Layout::Four(blocks) => {
                let blocks = &blocks[group * self.blocks()..][..self.blocks()];
                for (output, block) in output.chunks_exact_mut(BLOCK).zip(blocks) {
                    let (scale, min) = (number(block.scales[lane]), number(block.mins[lane]));
                    for (at, value) in output.iter_mut().enumerate() {
                        let byte = block.nibbles[at / 4 % 4][4 * lane + at % 4];
                        let nibble = if at < BLOCK / 2 { byte & 15 } else { byte >> 4 };
                        *value = scale * f32::from(nibble) + min;
                    }
                }
            }
        }
    }

    /// The product with the states of all tokens: `output[token][row]`.
    pub(super) fn multiply(
        &self,
        states: &States,
        scratch: &mut Vec<[f32; WIDTH]>,
        output: &mut [f32],
        threads: &Threads,
    ) {
        self.multiply_into(states, scratch, output, self.rows, threads, |target, sums| {
            target.copy_from_slice(sums);
        });
    }

    /// The same added to what is there, where a token has `width` numbers and the first row belongs to the one at `start`.
    pub(super) fn add_product(
        &self,
        states: &States,
        scratch: &mut Vec<[f32; WIDTH]>,
        output: &mut [f32],
        (start, width): (usize, usize),
        threads: &Threads,
    ) {
        self.multiply_into(states, scratch, &mut output[start..], width, threads, |target, sums| {
            target.iter_mut().zip(sums).for_each(|(target, sum)| *target += sum);
        });
    }

    /// The numbers of a token are `width` apart; the last one may have fewer.
    fn multiply_into(
        &self,
        states: &States,
        scratch: &mut Vec<[f32; WIDTH]>,
        output: &mut [f32],
        width: usize,
        threads: &Threads,
        put: impl Fn(&mut [f32], &[f32]) + Sync,
    ) {
        let tokens = states.tokens;
        scratch.clear();
        scratch.resize(self.groups() * tokens, [0.0; WIDTH]);
        threads.each_chunk(scratch, tokens, 4, |first, chunk| {
            threads.processor.run(Product { packed: self, states, first, output: chunk });
        });
        threads.each_chunk(output, width, 1, |first, chunk| {
            for (token, output) in (first..tokens).zip(chunk.chunks_mut(width)) {
                let mut sums = scratch[token..].iter().step_by(tokens);
                let (groups, rest) = output[..self.rows].as_chunks_mut::<WIDTH>();
                for (output, sums) in groups.iter_mut().zip(&mut sums) {
                    put(output, sums);
                }
                if let Some(sums) = sums.next() {
                    put(rest, &sums[..rest.len()]);
                }
            }
        });
    }
}

fn empty_eights(rows: usize, blocks: usize) -> Vec<Eight> {
    vec![Eight { bytes: [[128; 64]; 8], scales: [0; WIDTH] }; rows.div_ceil(WIDTH) * blocks]
}

/// What goes into a product: the states of some tokens, as they are and rounded.
#[derive(Default)]
pub(super) struct States {
    pub(super) tokens: usize,
    pub(super) columns: usize,
    pub(super) values: Vec<f32>,
    rounded: Vec<Rounded>,
}

/// One block of one token: 8 bits each, with their scale and their sum.
#[derive(Clone, Copy, Default)]
struct Rounded {
    quads: [i32; 8],
    scale: f32,
    sum: i32,
}

impl States {
    /// Makes room, lets `fill` write the values of each token, and rounds them if a rounded matrix follows.
    pub(super) fn fill(
        &mut self,
        tokens: usize,
        columns: usize,
        is_rounded: bool,
        threads: &Threads,
        fill: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        self.tokens = tokens;
        self.columns = columns;
        self.values.resize(tokens * columns, 0.0);
        let blocks = if is_rounded { columns / BLOCK } else { 0 };
        self.rounded.resize(tokens * blocks, Rounded::default());
        // A token's values and their rounding belong together, but live in two vectors.
        if blocks == 0 {
            threads.each_chunk(&mut self.values, columns, 1, |first, chunk| {
                chunk.chunks_exact_mut(columns).enumerate().for_each(|(at, values)| fill(first + at, values));
            });
            return;
        }
        threads.each_pair(&mut self.values, columns, &mut self.rounded, blocks, |first, values, rounded| {
            for (at, (values, rounded)) in
                values.chunks_exact_mut(columns).zip(rounded.chunks_exact_mut(blocks)).enumerate()
            {
                fill(first + at, values);
                threads.processor.run(Rounding { values, rounded });
            }
        });
    }
}

struct Rounding<'a> {
    values: &'a [f32],
    rounded: &'a mut [Rounded],
}

impl Work for Rounding<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        for (values, rounded) in self.values.chunks_exact(BLOCK).zip(self.rounded) {
            let mut lanes = [0.0_f32; 8];
            for values in values.chunks_exact(8) {
                for (lane, value) in lanes.iter_mut().zip(values) {
                    *lane = lane.max(value.abs());
                }
            }
            let largest = lanes.iter().fold(0.0_f32, |largest, value| largest.max(*value));
            let scale = largest / 127.0;
            let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
            // Adding and taking away this number rounds to the nearest integer, and vectors can do it.
            const NEAREST: f32 = 12_582_912.0;
            let mut bytes = [0_i32; BLOCK];
            for (byte, value) in bytes.iter_mut().zip(values) {
                *byte = ((value * inverse + NEAREST) - NEAREST) as i32;
            }
            rounded.scale = scale;
            rounded.sum = bytes.iter().sum();
            for (quad, bytes) in rounded.quads.iter_mut().zip(bytes.chunks_exact(4)) {
                *quad = i32::from_le_bytes([bytes[0] as u8, bytes[1] as u8, bytes[2] as u8, bytes[3] as u8]);
            }
        }
    }
}

/// Some groups of rows with all tokens.
struct Product<'a> {
    packed: &'a Packed,
    states: &'a States,
    first: usize,
    output: &'a mut [[f32; WIDTH]],
}

impl Work for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (tokens, columns) = (self.states.tokens, self.packed.columns);
        let blocks = columns / BLOCK;
        for (at, output) in self.output.chunks_exact_mut(tokens).enumerate() {
            let group = self.first + at;
            match &self.packed.layout {
                Layout::Four(all) => {
                    tiles(lanes, &all[group * blocks..][..blocks], &self.states.rounded, blocks, output);
                }
                Layout::Eight(all) => {
                    tiles(lanes, &all[group * blocks..][..blocks], &self.states.rounded, blocks, output);
                }
                Layout::Full(all) => {
                    tiles(lanes, &all[group * columns..][..columns], &self.states.values, columns, output);
                }
            }
        }
    }
}

/// A few tokens at a time: the more, the less often weights are unpacked; with too many, sums do not fit into registers.
#[inline(always)]
fn tiles<L: Lanes, B: Block>(
    lanes: L,
    group: &[B],
    states: &[B::State],
    stride: usize,
    output: &mut [[f32; WIDTH]],
) {
    let mut token = 0;
    while token < output.len() {
        let left = output.len() - token;
        token += match left {
            4.. => tile::<L, B, 4>(lanes, group, states, stride, token, output),
            2..4 => tile::<L, B, 2>(lanes, group, states, stride, token, output),
            _ => tile::<L, B, 1>(lanes, group, states, stride, token, output),
        };
    }
}

#[inline(always)]
fn tile<L: Lanes, B: Block, const T: usize>(
    lanes: L,
    group: &[B],
    states: &[B::State],
    stride: usize,
    token: usize,
    output: &mut [[f32; WIDTH]],
) -> usize {
    let rows: [&[B::State]; T] = std::array::from_fn(|at| &states[(token + at) * stride..][..stride]);
    let sums = B::multiply(lanes, group, rows);
    for (output, sum) in output[token..].iter_mut().zip(sums) {
        *output = lanes.store(sum);
    }
    T
}

/// Sixteen rows of some columns.
trait Block: Sized {
    /// What one token has for them.
    type State;
    fn multiply<L: Lanes, const T: usize>(
        lanes: L,
        group: &[Self],
        rows: [&[Self::State]; T],
    ) -> [L::Floats; T];
}

impl Block for Four {
    type State = Rounded;

    #[inline(always)]
    fn multiply<L: Lanes, const T: usize>(lanes: L, group: &[Self], rows: [&[Rounded]; T]) -> [L::Floats; T] {
        let mut totals = [lanes.splat(0.0); T];
        for (at, block) in group.iter().enumerate() {
            // Eight products of at most 2 * 15 * 127 each: a word holds their sum.
            let mut words = [lanes.no_words(); T];
            for quad in 0..4 {
                let bytes = lanes.bytes(&block.nibbles[quad]);
                let (low, high) = (lanes.low_nibbles(bytes), lanes.high_nibbles(bytes));
                for (words, row) in words.iter_mut().zip(rows) {
                    *words = lanes.accumulate(*words, low, lanes.quad(row[at].quads[quad]));
                    *words = lanes.accumulate(*words, high, lanes.quad(row[at].quads[quad + 4]));
                }
            }
            let (scales, mins) = (lanes.halves(&block.scales), lanes.halves(&block.mins));
            for ((total, words), row) in totals.iter_mut().zip(words).zip(rows) {
                let state = &row[at];
                let sum = lanes.multiply(lanes.floats(lanes.widen(words)), scales);
                *total = lanes.multiply_add(sum, lanes.splat(state.scale), *total);
                *total = lanes.multiply_add(mins, lanes.splat(state.scale * state.sum as f32), *total);
            }
        }
        totals
    }
}

impl Block for Eight {
    type State = Rounded;

    #[inline(always)]
    fn multiply<L: Lanes, const T: usize>(lanes: L, group: &[Self], rows: [&[Rounded]; T]) -> [L::Floats; T] {
        let mut totals = [lanes.splat(0.0); T];
        for (at, block) in group.iter().enumerate() {
            // The two nibbles of each byte apart, because products of whole bytes do not fit into words.
            let mut lows = [lanes.no_words(); T];
            let mut highs = [lanes.no_words(); T];
            for quad in 0..8 {
                let bytes = lanes.bytes(&block.bytes[quad]);
                let (low, high) = (lanes.low_nibbles(bytes), lanes.high_nibbles(bytes));
                for token in 0..T {
                    let state = lanes.quad(rows[token][at].quads[quad]);
                    lows[token] = lanes.accumulate(lows[token], low, state);
                    highs[token] = lanes.accumulate(highs[token], high, state);
                }
            }
            let scales = lanes.halves(&block.scales);
            for token in 0..T {
                let state = &rows[token][at];
                let sum = lanes.join(lanes.widen(highs[token]), lanes.widen(lows[token]), 128 * state.sum);
                let sum = lanes.multiply(lanes.floats(sum), scales);
                totals[token] = lanes.multiply_add(sum, lanes.splat(state.scale), totals[token]);
            }
        }
        totals
    }
}

impl Block for [f32; WIDTH] {
    type State = f32;

    #[inline(always)]
    fn multiply<L: Lanes, const T: usize>(lanes: L, group: &[Self], rows: [&[f32]; T]) -> [L::Floats; T] {
        let mut totals = [lanes.splat(0.0); T];
        for (at, block) in group.iter().enumerate() {
            let weights = lanes.load(block);
            for (total, row) in totals.iter_mut().zip(rows) {
                *total = lanes.multiply_add(weights, lanes.splat(row[at]), *total);
            }
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use candle_core::quantized::{GgmlDType, QTensor};
    use candle_core::{Device, Tensor};

    use super::{Packed, Precision, States};
    use crate::model::lanes::Processor;
    use crate::model::threads::Threads;
    use crate::weights::RawTensor;

    /// Some numbers between -1 and 1.
    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32) / ((1_u64 << 23) as f32) - 1.0
        };
        (0..count).map(next).collect()
    }

    fn raw(dtype: GgmlDType, rows: usize, columns: usize) -> RawTensor {
        let values = Tensor::from_vec(numbers(rows * columns, 7), (rows, columns), &Device::Cpu).unwrap();
        let tensor = QTensor::quantize(&values, dtype).unwrap();
        RawTensor { dtype, shape: vec![rows, columns], data: tensor.data().unwrap().into_owned() }
    }

    fn multiply(packed: &Packed, values: &[f32], columns: usize, threads: &Threads) -> Vec<f32> {
        let tokens = values.len() / columns;
        let mut states = States::default();
        states.fill(tokens, columns, packed.is_rounded(), threads, |token, row| {
            row.copy_from_slice(&values[token * columns..][..columns]);
        });
        let mut output = vec![0.0; tokens * packed.rows()];
        packed.multiply(&states, &mut Vec::new(), &mut output, threads);
        output
    }

    #[test]
    fn products_are_those_of_candle_on_every_kind_of_processor() {
        let (rows, columns, tokens) = (40, 96, 7);
        let values = numbers(tokens * columns, 3);
        for dtype in [GgmlDType::F32, GgmlDType::Q4_0, GgmlDType::Q4_1, GgmlDType::Q8_0, GgmlDType::Q5_0] {
            let raw = raw(dtype, rows, columns);
            let states = Tensor::from_vec(values.clone(), (tokens, columns), &Device::Cpu).unwrap();
            let expected = states.matmul(&raw.dense().unwrap().t().unwrap()).unwrap();
            let expected: Vec<f32> = expected.flatten_all().unwrap().to_vec1().unwrap();
            let packed = Packed::from_raw(&raw, Precision::Full).unwrap();
            for processor in Processor::all() {
                for count in [1, 3] {
                    let threads = Threads::with_processor(count, processor);
                    let output = multiply(&packed, &values, columns, &threads);
                    for (value, expected) in output.iter().zip(&expected) {
                        assert!(
                            (value - expected).abs() < 0.12,
                            "{dtype:?} {processor:?}: {value} {expected}"
                        );
                    }
                    // Alone or in a batch: the same to the last bit.
                    for token in 0..tokens {
                        let alone =
                            multiply(&packed, &values[token * columns..][..columns], columns, &threads);
                        assert_eq!(alone, output[token * rows..][..rows], "{dtype:?} {processor:?}");
                    }
                }
            }
            let mut row = vec![0.0; columns];
            packed.row(17, &mut row);
            let expected: Vec<f32> = raw.dense().unwrap().get(17).unwrap().to_vec1().unwrap();
            for (value, expected) in row.iter().zip(&expected) {
                assert!((value - expected).abs() < 0.01, "{dtype:?}: {value} {expected}");
            }
        }
    }

    #[test]
    fn matrices_can_be_stacked_whatever_their_formats() {
        let (first, second) = (raw(GgmlDType::Q4_1, 32, 64), raw(GgmlDType::Q8_0, 16, 64));
        let values = numbers(64, 5);
        let threads = Threads::with_processor(1, Processor::detect());
        let both = Packed::stacked(&[first.clone(), second.clone()], Precision::Full).unwrap();
        let output = multiply(&both, &values, 64, &threads);
        let parts = [first, second]
            .map(|raw| multiply(&Packed::from_raw(&raw, Precision::Full).unwrap(), &values, 64, &threads));
        for (value, expected) in output.iter().zip(parts.concat()) {
            assert!((value - expected).abs() < 0.1, "{value} {expected}");
        }
    }
}
