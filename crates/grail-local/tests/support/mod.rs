//! A toy model of a few thousand parameters, made on the spot: weights, configuration, tokenizer and chat template, as `transformers` lays
//! them out.

#![allow(dead_code, unreachable_pub, reason = "each topic uses its part")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use serde_json::json;
use tempfile::TempDir;

pub const CHAT_TEMPLATE: &str = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// What the toy is made of. Sizes are multiples of 32, so that its weights can be quantised.
#[derive(Clone, Debug)]
pub struct Toy {
    pub model_type: &'static str,
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub ffn: usize,
    pub tied: bool,
    pub seed: u64,
    pub positions: usize,
}

impl Default for Toy {
    fn default() -> Self {
        Self {
            model_type: "llama",
            hidden: 32,
            layers: 2,
            heads: 4,
            kv_heads: 2,
            head_dim: 8,
            ffn: 64,
            tied: true,
            seed: 1,
            positions: 256,
        }
    }
}

/// The vocabulary: every byte, then `<|im_start|>`, `<|im_end|>` and some merged tokens.
pub const MERGES: [(&str, &str); 6] =
    [("e", "r"), ("i", "n"), ("t", "h"), ("th", "e"), ("o", "n"), ("{", "\"")];

impl Toy {
    pub fn vocab(&self) -> usize {
        (256 + 2 + MERGES.len()).next_multiple_of(32)
    }

    /// Writes the toy into a new folder.
    pub fn write(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        self.write_into(folder.path());
        folder
    }

    pub fn write_into(&self, folder: &Path) {
        candle_core::safetensors::save(&self.tensors(), folder.join("model.safetensors")).unwrap();
        let config = json!({
            "architectures": ["LlamaForCausalLM"],
            "model_type": self.model_type,
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "intermediate_size": self.ffn,
            "vocab_size": self.vocab(),
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0,
            "max_position_embeddings": self.positions,
            "tie_word_embeddings": self.tied,
            "bos_token_id": 256,
            "eos_token_id": 257,
        });
        std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
        std::fs::write(folder.join("tokenizer.json"), tokenizer_json().to_string()).unwrap();
        let tokenizer_config = json!({"chat_template": CHAT_TEMPLATE, "eos_token": "<|im_end|>"});
        std::fs::write(folder.join("tokenizer_config.json"), tokenizer_config.to_string()).unwrap();
    }

    pub fn tensors(&self) -> HashMap<String, Tensor> {
        let mut random = Random(self.seed);
        let mut tensors = HashMap::new();
        let mut add = |name: String, shape: &[usize], scale: f32, mean: f32| {
            let count = shape.iter().product();
            let values: Vec<f32> = (0..count).map(|_| mean + scale * random.next()).collect();
            tensors.insert(name, Tensor::from_vec(values, shape, &Device::Cpu).unwrap());
        };
        let (queries, keys) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        add("model.embed_tokens.weight".to_owned(), &[self.vocab(), self.hidden], 1.0, 0.0);
        add("model.norm.weight".to_owned(), &[self.hidden], 0.1, 1.0);
        if !self.tied {
            add("lm_head.weight".to_owned(), &[self.vocab(), self.hidden], 1.0, 0.0);
        }
        for layer in 0..self.layers {
            let prefix = format!("model.layers.{layer}");
            let shapes = [
                ("self_attn.q_proj", queries, self.hidden),
                ("self_attn.k_proj", keys, self.hidden),
                ("self_attn.v_proj", keys, self.hidden),
                ("self_attn.o_proj", self.hidden, queries),
                ("mlp.gate_proj", self.ffn, self.hidden),
                ("mlp.up_proj", self.ffn, self.hidden),
                ("mlp.down_proj", self.hidden, self.ffn),
            ];
            for (name, rows, columns) in shapes {
                add(format!("{prefix}.{name}.weight"), &[rows, columns], 0.5, 0.0);
                if self.model_type == "qwen2"
                    && ["q_proj", "k_proj", "v_proj"].iter().any(|end| name.ends_with(end))
                {
                    add(format!("{prefix}.{name}.bias"), &[rows], 0.5, 0.0);
                }
            }
            add(format!("{prefix}.input_layernorm.weight"), &[self.hidden], 0.1, 1.0);
            add(format!("{prefix}.post_attention_layernorm.weight"), &[self.hidden], 0.1, 1.0);
            if self.model_type == "qwen3" {
                add(format!("{prefix}.self_attn.q_norm.weight"), &[self.head_dim], 0.1, 1.0);
                add(format!("{prefix}.self_attn.k_norm.weight"), &[self.head_dim], 0.1, 1.0);
            }
        }
        tensors
    }
}

/// Numbers between -1 and 1 that are the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((mixed >> 40) as f32) / ((1_u64 << 23) as f32) - 1.0
    }
}

pub fn tokenizer_json() -> serde_json::Value {
    let mut vocab = serde_json::Map::new();
    for byte in 0..=255_u8 {
        vocab.insert(byte_character(byte).to_string(), json!(byte));
    }
    vocab.insert("<|im_start|>".to_owned(), json!(256));
    vocab.insert("<|im_end|>".to_owned(), json!(257));
    for (index, (left, right)) in MERGES.iter().enumerate() {
        vocab.insert(format!("{left}{right}"), json!(258 + index));
    }
    let added = |id: u32, content: &str| json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true});
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [added(256, "<|im_start|>"), added(257, "<|im_end|>")],
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {
            "type": "BPE",
            "dropout": null,
            "unk_token": null,
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": false,
            "byte_fallback": false,
            "vocab": vocab,
            "merges": MERGES.iter().map(|(left, right)| json!([left, right])).collect::<Vec<_>>(),
        },
    })
}

/// The character that byte-level tokenizers write for a byte.
pub fn byte_character(byte: u8) -> char {
    let is_itself = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    if is_itself(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|other| !is_itself(*other)).count();
    char::from_u32(256 + before as u32).unwrap()
}

/// A file of the repository's own making, beside nothing else.
pub fn path(folder: &TempDir) -> PathBuf {
    folder.path().to_owned()
}
