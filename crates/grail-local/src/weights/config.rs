//! What a model is made of, read from its metadata and held within bounds that arithmetic can rely on.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::gguf::Header;
use crate::{LocalError, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    Llama,
    Qwen2,
    Qwen3,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    pub architecture: Architecture,
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub ffn: usize,
    pub vocab: usize,
    pub rms_eps: f32,
    pub rope_theta: f32,
    /// What the inverse frequencies are divided by: the scaling of Llama 3.
    #[serde(skip)]
    pub rope_factors: Option<Vec<f32>>,
    /// The output uses the weights of the embedding.
    pub tied_embeddings: bool,
    pub max_positions: usize,
    /// The projections to queries, keys and values have biases.
    pub attention_bias: bool,
    /// Queries and keys are normed by head (Qwen 3).
    pub qk_norm: bool,
}

impl Config {
    /// The angle per position of each pair of dimensions.
    pub fn inverse_frequencies(&self) -> Vec<f32> {
        let half = self.head_dim / 2;
        (0..half)
            .map(|index| {
                let frequency =
                    1.0 / f64::from(self.rope_theta).powf(2.0 * index as f64 / self.head_dim as f64);
                let factor = self.rope_factors.as_ref().map_or(1.0, |factors| f64::from(factors[index]));
                (frequency / factor) as f32
            })
            .collect()
    }

    /// The shape of each linear layer as (outputs, inputs), by the end of its name.
    pub fn projections(&self) -> [(&'static str, (usize, usize)); 7] {
        let (queries, keys) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        [
            ("self_attn.q_proj", (queries, self.hidden)),
            ("self_attn.k_proj", (keys, self.hidden)),
            ("self_attn.v_proj", (keys, self.hidden)),
            ("self_attn.o_proj", (self.hidden, queries)),
            ("mlp.gate_proj", (self.ffn, self.hidden)),
            ("mlp.up_proj", (self.ffn, self.hidden)),
            ("mlp.down_proj", (self.hidden, self.ffn)),
        ]
    }

    pub fn parameters(&self) -> u64 {
        let layer: usize = self.projections().iter().map(|(_, (rows, columns))| rows * columns).sum();
        let norms = 2 * self.hidden + if self.qk_norm { 2 * self.head_dim } else { 0 };
        let biases = if self.attention_bias { (self.heads + 2 * self.kv_heads) * self.head_dim } else { 0 };
        let embeddings = self.vocab * self.hidden * if self.tied_embeddings { 1 } else { 2 };
        ((layer + norms + biases) * self.layers + embeddings + self.hidden) as u64
    }

    pub(super) fn from_gguf(path: &Path, header: &Header) -> Result<Self> {
        let found = header.text("general.architecture").unwrap_or("?");
        let architecture = match found {
            "llama" => Architecture::Llama,
            "qwen2" => Architecture::Qwen2,
            "qwen3" => Architecture::Qwen3,
            _ => return Err(LocalError::Architecture { path: path.to_owned(), found: found.to_owned() }),
        };
        let size = |key: &str| -> Option<usize> {
            header.integer(&format!("{found}.{key}")).and_then(|value| usize::try_from(value).ok())
        };
        let required = |key: &str| {
            size(key).ok_or_else(|| LocalError::Damaged {
                path: path.to_owned(),
                reason: format!("its metadata lacks `{found}.{key}`"),
            })
        };
        let hidden = required("embedding_length")?;
        let heads = required("attention.head_count")?;
        let vocab = header.tensors.get("token_embd.weight").and_then(|place| place.shape.first().copied());
        let config = Self {
            architecture,
            hidden,
            layers: required("block_count")?,
            heads,
            kv_heads: size("attention.head_count_kv").unwrap_or(heads),
            head_dim: size("attention.key_length").unwrap_or_else(|| hidden.checked_div(heads).unwrap_or(0)),
            ffn: required("feed_forward_length")?,
            vocab: vocab.unwrap_or(0),
            rms_eps: header.float(&format!("{found}.attention.layer_norm_rms_epsilon")).unwrap_or(1e-5)
                as f32,
            rope_theta: header.float(&format!("{found}.rope.freq_base")).unwrap_or(10_000.0) as f32,
            rope_factors: None,
            tied_embeddings: !header.tensors.contains_key("output.weight"),
            max_positions: size("context_length").unwrap_or(2048),
            attention_bias: header.tensors.contains_key("blk.0.attn_q.bias"),
            qk_norm: header.tensors.contains_key("blk.0.attn_q_norm.weight"),
        };
        if header.integer(&format!("{found}.expert_count")).is_some_and(|count| count > 0) {
            return Err(unsupported(path, "mixtures of experts are not"));
        }
        if size("rope.dimension_count").is_some_and(|count| count != config.head_dim) {
            return Err(unsupported(path, "rotating a part of each head is not"));
        }
        if header.text(&format!("{found}.rope.scaling.type")).is_some_and(|kind| kind != "none") {
            return Err(unsupported(path, "this scaling of positions is not"));
        }
        config.checked(path)
    }

    pub(super) fn from_json(path: &Path, text: &[u8], has: impl Fn(&str) -> bool) -> Result<Self> {
        let raw: RawConfig = serde_json::from_slice(text).map_err(|error| LocalError::Damaged {
            path: path.to_owned(),
            reason: format!("it is not the configuration of a model: {error}"),
        })?;
        let architecture = match raw.model_type.as_str() {
            "llama" => Architecture::Llama,
            "qwen2" => Architecture::Qwen2,
            "qwen3" => Architecture::Qwen3,
            other => return Err(LocalError::Architecture { path: path.to_owned(), found: other.to_owned() }),
        };
        // transformers 5 writes one table for what were two fields before.
        let rotation = raw.rope_parameters.filter(|table| table.is_object());
        let theta = || rotation.as_ref()?["rope_theta"].as_f64().map(|theta| theta as f32);
        let head_dim =
            raw.head_dim.unwrap_or_else(|| raw.hidden_size.checked_div(raw.num_attention_heads).unwrap_or(0));
        let mut config = Self {
            architecture,
            hidden: raw.hidden_size,
            layers: raw.num_hidden_layers,
            heads: raw.num_attention_heads,
            kv_heads: raw.num_key_value_heads.unwrap_or(raw.num_attention_heads),
            head_dim,
            ffn: raw.intermediate_size,
            vocab: raw.vocab_size,
            rms_eps: raw.rms_norm_eps.unwrap_or(1e-6),
            rope_theta: raw.rope_theta.or_else(theta).unwrap_or(10_000.0),
            rope_factors: None,
            tied_embeddings: !has("lm_head.weight"),
            max_positions: raw.max_position_embeddings.unwrap_or(2048),
            attention_bias: has("model.layers.0.self_attn.q_proj.bias"),
            qk_norm: has("model.layers.0.self_attn.q_norm.weight"),
        }
        .checked(path)?;
        if let Some(scaling) = raw.rope_scaling.filter(|scaling| !scaling.is_null()).or(rotation) {
            let kind = scaling["rope_type"].as_str().or(scaling["type"].as_str()).unwrap_or("?");
            match kind {
                "default" => {}
                "llama3" => config.rope_factors = Some(llama3_factors(&config, &scaling)),
                _ => return Err(unsupported(path, "this scaling of positions is not")),
            }
        }
        Ok(config)
    }

    /// Every size within what a machine of this kind can hold, so that products of them do not overflow.
    fn checked(self, path: &Path) -> Result<Self> {
        let bounds = [
            ("width", self.hidden, 1 << 16),
            ("number of layers", self.layers, 1 << 10),
            ("number of heads", self.heads, 1 << 10),
            ("number of key heads", self.kv_heads, 1 << 10),
            ("head size", self.head_dim, 1 << 10),
            ("inner width", self.ffn, 1 << 20),
            ("vocabulary", self.vocab, 1 << 21),
            ("number of positions", self.max_positions, 1 << 27),
        ];
        for (what, value, limit) in bounds {
            if value == 0 || value > limit {
                let reason = format!("its {what} is {value}");
                return Err(LocalError::Damaged { path: path.to_owned(), reason });
            }
        }
        let is_even = self.head_dim.is_multiple_of(2) && self.heads.is_multiple_of(self.kv_heads);
        let is_finite = self.rms_eps > 0.0 && self.rms_eps < 1.0 && self.rope_theta.is_finite();
        if !is_even || !is_finite || self.rope_theta < 1.0 {
            let reason = "its heads, its epsilon or its rotation make no sense".to_owned();
            return Err(LocalError::Damaged { path: path.to_owned(), reason });
        }
        Ok(self)
    }
}

#[derive(Deserialize)]
struct RawConfig {
    model_type: String,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    intermediate_size: usize,
    vocab_size: usize,
    rms_norm_eps: Option<f32>,
    rope_theta: Option<f32>,
    rope_scaling: Option<serde_json::Value>,
    rope_parameters: Option<serde_json::Value>,
    max_position_embeddings: Option<usize>,
}

/// Long waves are stretched, short ones are kept, those between are mixed.
fn llama3_factors(config: &Config, scaling: &serde_json::Value) -> Vec<f32> {
    let number = |key: &str, otherwise: f64| scaling[key].as_f64().unwrap_or(otherwise);
    let factor = number("factor", 8.0);
    let low = number("low_freq_factor", 1.0);
    let high = number("high_freq_factor", 4.0);
    let original = number("original_max_position_embeddings", 8192.0);
    let frequencies = config.inverse_frequencies();
    let factors = frequencies.iter().map(|frequency| {
        let wave = std::f64::consts::TAU / f64::from(*frequency);
        if wave < original / high {
            1.0
        } else if wave > original / low {
            factor
        } else {
            let smooth = (original / wave - low) / (high - low);
            1.0 / ((1.0 - smooth) / factor + smooth)
        }
    });
    factors.map(|factor| factor as f32).collect()
}

fn unsupported(path: &Path, what: &str) -> LocalError {
    LocalError::Unsupported { path: path.to_owned(), reason: format!("{what} supported") }
}
