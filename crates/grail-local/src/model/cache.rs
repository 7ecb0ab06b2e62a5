//! Keys and values of the tokens that a sequence has behind it, as 16-bit floats.
//!
//! Keys lie in blocks of sixteen positions, dimension by dimension; values lie position by position. Both are read as they lie.

use super::lanes::WIDTH;
use crate::weights::Config;

/// Room is made for so many positions at a time.
const STEP: usize = 128;

#[derive(Clone, Default)]
pub(super) struct LayerCache {
    /// `[block of positions][head][dimension]`, a lane per position.
    pub(super) keys: Vec<[u16; WIDTH]>,
    /// `[position][head][chunk of dimensions]`, a lane per dimension.
    pub(super) values: Vec<[u16; WIDTH]>,
}

/// The memory of one sequence.
#[derive(Clone)]
pub struct Cache {
    pub(super) layers: Vec<LayerCache>,
    pub(super) length: usize,
    pub(super) kv_heads: usize,
    pub(super) head_dim: usize,
    pub(super) chunks: usize,
}

impl Cache {
    pub fn new(config: &Config) -> Self {
        Self {
            layers: vec![LayerCache::default(); config.layers],
            length: 0,
            kv_heads: config.kv_heads,
            head_dim: config.head_dim,
            chunks: config.head_dim.div_ceil(WIDTH),
        }
    }

    /// The bytes that one position takes.
    pub fn bytes_per_token(config: &Config) -> u64 {
        let chunks = config.head_dim.div_ceil(WIDTH) * WIDTH;
        (config.layers * config.kv_heads * (config.head_dim + chunks) * 2) as u64
    }

    /// The number of tokens in it.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// A copy of the beginning. What was computed for it does not depend on what follows.
    pub fn prefix(&self, tokens: usize) -> Self {
        let tokens = tokens.min(self.length);
        let blocks = tokens.div_ceil(WIDTH) * self.kv_heads * self.head_dim;
        let positions = tokens * self.kv_heads * self.chunks;
        let layer = |layer: &LayerCache| LayerCache {
            keys: layer.keys[..blocks].to_vec(),
            values: layer.values[..positions].to_vec(),
        };
        Self { layers: self.layers.iter().map(layer).collect(), length: tokens, ..*self }
    }

    /// Makes room for as many tokens after the last.
    pub(super) fn reserve(&mut self, tokens: usize) {
        let positions = (self.length + tokens).next_multiple_of(STEP);
        let keys = positions / WIDTH * self.kv_heads * self.head_dim;
        let values = positions * self.kv_heads * self.chunks;
        for layer in &mut self.layers {
            if layer.keys.len() < keys {
                layer.keys.reserve_exact(keys - layer.keys.len());
                layer.keys.resize(keys, [0; WIDTH]);
                layer.values.reserve_exact(values.saturating_sub(layer.values.len()));
            }
            if layer.values.len() < values {
                layer.values.resize(values, [0; WIDTH]);
            }
        }
    }

    /// Writes the keys and values of one position.
    pub(super) fn write(&mut self, layer: usize, position: usize, keys: &[f32], values: &[f32]) {
        let (head_dim, kv_heads, chunks) = (self.head_dim, self.kv_heads, self.chunks);
        let layer = &mut self.layers[layer];
        let (block, lane) = (position / WIDTH, position % WIDTH);
        let rows = &mut layer.keys[block * kv_heads * head_dim..][..kv_heads * head_dim];
        for (row, key) in rows.iter_mut().zip(keys) {
            row[lane] = half(*key);
        }
        for (head, values) in values.chunks_exact(head_dim).enumerate() {
            let rows = &mut layer.values[(position * kv_heads + head) * chunks..][..chunks];
            for (row, values) in rows.iter_mut().zip(values.chunks(WIDTH)) {
                for (place, value) in row.iter_mut().zip(values) {
                    *place = half(*value);
                }
            }
        }
    }
}

/// Rounded to 16 bits, and never infinite.
fn half(value: f32) -> u16 {
    half::f16::from_f32(value.clamp(-65_504.0, 65_504.0)).to_bits()
}
