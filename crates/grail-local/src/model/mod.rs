//! The forward pass: states of any number of tokens of any number of sequences through all layers.
//!
//! There is no padding: a step takes the next tokens of each sequence, many of one whose prompt is read and one of each that is answering,
//! multiplies all of them with each matrix at once, and lets each look back at its own cache. What comes out for a sequence is the same to
//! the last bit whatever else is in the step.
//!
//! Candle reads the formats of the weights and proves the products in the tests; the arithmetic itself is here, because its products with
//! 4-bit weights that have minima are not vectorised and every operation of it allocates a tensor.

mod adapter;
mod arithmetic;
mod cache;
mod lanes;
mod packed;
mod threads;

pub use adapter::{Adapter, LowRank};
use arithmetic::{Attention, Gate, Norm, norm_in_place, rotate};
pub use cache::Cache;
use lanes::WIDTH;
pub use packed::Precision;
use packed::{Packed, States};
pub(crate) use threads::Threads;

use crate::weights::{Config, RawTensor, Weights};
use crate::{LocalError, Result};

/// How a model is loaded.
#[derive(Clone, Copy, Debug)]
pub struct ModelOptions {
    pub threads: usize,
    /// The longest sequence.
    pub context: usize,
    pub precision: Precision,
}

/// A model in memory, ready to compute.
pub struct Model {
    config: Config,
    context: usize,
    embedding: Packed,
    head: Option<Packed>,
    norm: Vec<f32>,
    layers: Vec<Layer>,
    cosines: Vec<f32>,
    sines: Vec<f32>,
    threads: Threads,
}

struct Layer {
    input_norm: Vec<f32>,
    query_key_value: Linear,
    head_norms: Option<(Vec<f32>, Vec<f32>)>,
    output: Linear,
    ffn_norm: Vec<f32>,
    gate_up: Linear,
    down: Linear,
}

/// A matrix with what is added to its products.
struct Linear {
    weights: Packed,
    bias: Option<Vec<f32>>,
    changes: Option<Changes>,
}

/// The low-rank changes of the matrices that were stacked.
struct Changes {
    down: Packed,
    /// Where each begins among the inner values and among the outputs.
    ups: Vec<(usize, usize, Packed)>,
}

/// The next tokens of one sequence.
pub struct Next<'a> {
    pub cache: &'a mut Cache,
    pub tokens: &'a [u32],
    /// Whether the scores after the last of them are asked for.
    pub wants_scores: bool,
}

/// Buffers that are kept from step to step.
#[derive(Default)]
pub struct Scratch {
    states: States,
    inner: States,
    sums: Vec<[f32; WIDTH]>,
    hidden: Vec<f32>,
    wide: Vec<f32>,
    narrow: Vec<f32>,
    low: Vec<f32>,
    /// The scores of each sequence that asked for them, one after the other.
    pub scores: Vec<f32>,
}

impl Model {
    pub fn load(weights: &Weights, adapter: Option<&Adapter>, options: ModelOptions) -> Result<Self> {
        let config = weights.config().clone();
        let context = options.context.min(config.max_positions);
        let values = |name: &str| weights.raw(name)?.values();
        let mut layers = Vec::with_capacity(config.layers);
        for index in 0..config.layers {
            let prefix = format!("model.layers.{index}");
            let load = |names: &[&str]| Linear::load(weights, adapter, &prefix, names, options.precision);
            let norm = |name: &str| values(&format!("{prefix}.{name}.weight"));
            layers.push(Layer {
                input_norm: norm("input_layernorm")?,
                query_key_value: load(&["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"])?,
                head_norms: if config.qk_norm {
                    Some((norm("self_attn.q_norm")?, norm("self_attn.k_norm")?))
                } else {
                    None
                },
                output: load(&["self_attn.o_proj"])?,
                ffn_norm: norm("post_attention_layernorm")?,
                gate_up: load(&["mlp.gate_proj", "mlp.up_proj"])?,
                down: load(&["mlp.down_proj"])?,
            });
        }
        let embedding = Packed::from_raw(&weights.raw("model.embed_tokens.weight")?, options.precision)?;
        let head = if config.tied_embeddings {
            None
        } else {
            Some(Packed::from_raw(&weights.raw("lm_head.weight")?, options.precision)?)
        };
        let frequencies = config.inverse_frequencies();
        let angles =
            || (0..context).flat_map(|position| frequencies.iter().map(move |it| position as f32 * it));
        Ok(Self {
            context,
            embedding,
            head,
            norm: values("model.norm.weight")?,
            layers,
            cosines: angles().map(f32::cos).collect(),
            sines: angles().map(f32::sin).collect(),
            threads: Threads::new(options.threads),
            config,
        })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The longest sequence.
    pub fn context(&self) -> usize {
        self.context
    }

    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// The bytes of the weights in memory.
    pub fn bytes(&self) -> u64 {
        let layers = self.layers.iter().flat_map(|layer| {
            [&layer.query_key_value, &layer.output, &layer.gate_up, &layer.down]
                .map(|linear| linear.weights.bytes())
        });
        layers.sum::<u64>() + self.embedding.bytes() + self.head.as_ref().map_or(0, Packed::bytes)
    }

    /// One step of all sequences. The scores are in `scratch`, in the order of the sequences that asked for them.
    pub fn forward(&self, sequences: &mut [Next<'_>], scratch: &mut Scratch) -> Result<()> {
        for next in sequences.iter() {
            let tokens = next.cache.len() + next.tokens.len();
            if tokens > self.context || next.tokens.is_empty() {
                return Err(LocalError::PromptTooLong { tokens, context: self.context });
            }
            if let Some(token) = next.tokens.iter().find(|token| **token as usize >= self.config.vocab) {
                return Err(LocalError::Encode { reason: format!("there is no token {token}") });
            }
        }
        self.threads.run(|| self.compute(sequences, scratch));
        Ok(())
    }

    fn compute(&self, sequences: &mut [Next<'_>], scratch: &mut Scratch) {
        let Config { hidden, rms_eps: epsilon, head_dim, heads, kv_heads, ffn, .. } = self.config;
        let (threads, processor) = (&self.threads, self.threads.processor);
        let tokens: usize = sequences.iter().map(|next| next.tokens.len()).sum();
        let Scratch { states, inner, sums, hidden: residual, wide, narrow, low, scores } = scratch;
        residual.resize(tokens * hidden, 0.0);
        let all = sequences.iter().flat_map(|next| next.tokens);
        for (token, row) in all.zip(residual.chunks_exact_mut(hidden)) {
            self.embedding.row(*token as usize, row);
        }
        for next in sequences.iter_mut() {
            next.cache.reserve(next.tokens.len());
        }
        let width = self.layers.first().map_or(0, |layer| layer.query_key_value.weights.rows());
        let (key_start, value_start) = {
            let keys = (heads * head_dim).next_multiple_of(WIDTH);
            (keys, keys + (kv_heads * head_dim).next_multiple_of(WIDTH))
        };
        let up_start = ffn.next_multiple_of(WIDTH);
        // Which sequence and position each token is.
        let places: Vec<(usize, usize)> = sequences
            .iter()
            .enumerate()
            .flat_map(|(index, next)| (0..next.tokens.len()).map(move |at| (index, next.cache.length + at)))
            .collect();
        for (index, layer) in self.layers.iter().enumerate() {
            let linear = &layer.query_key_value;
            states.fill(tokens, hidden, linear.weights.is_rounded(), threads, |token, output| {
                let values = &residual[token * hidden..][..hidden];
                processor.run(Norm { values, weights: &layer.input_norm, epsilon, output });
            });
            wide.resize(tokens * width, 0.0);
            linear.multiply(states, inner, low, sums, wide, threads);
            self.turn_and_remember(index, layer, sequences, wide, width, key_start, value_start);
            let group = heads / kv_heads * head_dim;
            narrow.resize(tokens * heads * head_dim, 0.0);
            let caches: Vec<&Cache> = sequences.iter().map(|next| &*next.cache).collect();
            threads.each_chunk(narrow, group, 1, |first, chunk| {
                for (at, output) in chunk.chunks_exact_mut(group).enumerate() {
                    let (token, kv_head) = ((first + at) / kv_heads, (first + at) % kv_heads);
                    let (sequence, position) = places[token];
                    let queries = &wide[token * width + kv_head * group..][..group];
                    let cache = caches[sequence];
                    let layer = &cache.layers[index];
                    processor.run(Attention {
                        cache,
                        layer,
                        kv_head,
                        positions: position + 1,
                        queries,
                        output,
                    });
                }
            });
            let is_rounded = layer.output.weights.is_rounded();
            states.fill(tokens, heads * head_dim, is_rounded, threads, |token, output| {
                output.copy_from_slice(&narrow[token * heads * head_dim..][..heads * head_dim]);
            });
            narrow.resize(tokens * hidden, 0.0);
            layer.output.multiply(states, inner, low, sums, narrow, threads);
            add(residual, narrow);
            let is_rounded = layer.gate_up.weights.is_rounded();
            states.fill(tokens, hidden, is_rounded, threads, |token, output| {
                let values = &residual[token * hidden..][..hidden];
                processor.run(Norm { values, weights: &layer.ffn_norm, epsilon, output });
            });
            let rows = layer.gate_up.weights.rows();
            wide.resize(tokens * rows, 0.0);
            layer.gate_up.multiply(states, inner, low, sums, wide, threads);
            states.fill(tokens, ffn, layer.down.weights.is_rounded(), threads, |token, output| {
                let values = &wide[token * rows..][..rows];
                processor.run(Gate { gate: &values[..ffn], up: &values[up_start..up_start + ffn], output });
            });
            layer.down.multiply(states, inner, low, sums, narrow, threads);
            add(residual, narrow);
        }
        for next in sequences.iter_mut() {
            next.cache.length += next.tokens.len();
        }
        let mut last = 0;
        let mut asked = Vec::new();
        for next in sequences.iter() {
            last += next.tokens.len();
            if next.wants_scores {
                asked.push(last - 1);
            }
        }
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        scores.resize(asked.len() * self.config.vocab, 0.0);
        if !asked.is_empty() {
            states.fill(asked.len(), hidden, head.is_rounded(), threads, |index, output| {
                let values = &residual[asked[index] * hidden..][..hidden];
                processor.run(Norm { values, weights: &self.norm, epsilon, output });
            });
            head.multiply(states, sums, scores, threads);
        }
    }

    /// Turns queries and keys by their positions, and puts keys and values into the caches.
    #[expect(clippy::too_many_arguments, reason = "the places of the three parts")]
    fn turn_and_remember(
        &self,
        index: usize,
        layer: &Layer,
        sequences: &mut [Next<'_>],
        wide: &mut [f32],
        width: usize,
        key_start: usize,
        value_start: usize,
    ) {
        let Config { head_dim, heads, kv_heads, rms_eps, .. } = self.config;
        let half = head_dim / 2;
        let mut rest = wide;
        let mut parts = Vec::with_capacity(sequences.len());
        for next in sequences {
            let (own, others) = rest.split_at_mut(next.tokens.len() * width);
            parts.push((next, own));
            rest = others;
        }
        self.threads.each(&mut parts, |(next, rows)| {
            for (at, row) in rows.chunks_exact_mut(width).enumerate() {
                let position = next.cache.length + at;
                let cosines = &self.cosines[position * half..][..half];
                let sines = &self.sines[position * half..][..half];
                let (queries, others) = row.split_at_mut(key_start);
                let (keys, values) = others.split_at_mut(value_start - key_start);
                let keys = &mut keys[..kv_heads * head_dim];
                for head in queries[..heads * head_dim].chunks_exact_mut(head_dim) {
                    if let Some((norm, _)) = &layer.head_norms {
                        norm_in_place(head, norm, rms_eps);
                    }
                    rotate(head, cosines, sines);
                }
                for head in keys.chunks_exact_mut(head_dim) {
                    if let Some((_, norm)) = &layer.head_norms {
                        norm_in_place(head, norm, rms_eps);
                    }
                    rotate(head, cosines, sines);
                }
                next.cache.write(index, position, keys, &values[..kv_heads * head_dim]);
            }
        });
    }
}

impl Linear {
    fn load(
        weights: &Weights,
        adapter: Option<&Adapter>,
        prefix: &str,
        names: &[&str],
        precision: Precision,
    ) -> Result<Self> {
        let raws: Vec<RawTensor> = names
            .iter()
            .map(|name| weights.raw(&format!("{prefix}.{name}.weight")))
            .collect::<Result<_>>()?;
        let packed = Packed::stacked(&raws, precision)?;
        let mut bias = None;
        let mut downs = Vec::new();
        let mut ups = Vec::new();
        let (mut start, mut rank) = (0, 0);
        for (name, raw) in names.iter().zip(&raws) {
            let name = format!("{prefix}.{name}");
            if weights.has(&format!("{name}.bias")) {
                let values = weights.raw(&format!("{name}.bias"))?.values()?;
                let bias = bias.get_or_insert_with(|| vec![0.0; packed.rows()]);
                bias[start..start + values.len()].copy_from_slice(&values);
            }
            if let Some(change) = adapter.and_then(|adapter| adapter.layers.get(&name)) {
                downs.extend_from_slice(&change.down);
                ups.push((rank, start, Packed::full(&change.up, raw.shape[0], change.rank)));
                rank += change.rank;
            }
            start = (start + raw.shape[0]).next_multiple_of(WIDTH);
        }
        let columns = raws.first().map_or(0, |raw| raw.shape[1]);
        let changes = (rank > 0).then(|| Changes { down: Packed::full(&downs, rank, columns), ups });
        Ok(Self { weights: packed, bias, changes })
    }

    /// The products of all tokens, with what is added to them.
    fn multiply(
        &self,
        states: &States,
        inner: &mut States,
        low: &mut Vec<f32>,
        sums: &mut Vec<[f32; WIDTH]>,
        output: &mut [f32],
        threads: &Threads,
    ) {
        self.weights.multiply(states, sums, output, threads);
        let rows = self.weights.rows();
        if let Some(bias) = &self.bias {
            output.chunks_exact_mut(rows).for_each(|row| add(row, bias));
        }
        let Some(changes) = &self.changes else { return };
        let rank = changes.down.rows();
        low.resize(states.tokens * rank, 0.0);
        changes.down.multiply(states, sums, low, threads);
        for (first, start, up) in &changes.ups {
            inner.fill(states.tokens, up.columns(), false, threads, |token, output| {
                output.copy_from_slice(&low[token * rank + first..][..up.columns()]);
            });
            up.add_product(inner, sums, output, (*start, rows), threads);
        }
    }
}

fn add(target: &mut [f32], values: &[f32]) {
    target.iter_mut().zip(values).for_each(|(target, value)| *target += value);
}
