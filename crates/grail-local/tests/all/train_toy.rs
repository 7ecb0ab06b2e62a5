//! A model of a few thousand numbers, made on the spot, in the layout of `transformers`: bytes as tokens, random weights.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const HIDDEN: usize = 24;
pub(crate) const LAYERS: usize = 3;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD: usize = 8;
const FFN: usize = 40;
const VOCAB: usize = 258;

pub(crate) const TEMPLATE: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}\
     {% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A folder with a toy model of the architecture.
pub(crate) fn model(architecture: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "config.json", &config(architecture));
    write(&folder, "tokenizer.json", &tokenizer());
    let settings = json!({"chat_template": TEMPLATE, "eos_token": "<|im_end|>", "bos_token": "<|im_start|>"});
    write(&folder, "tokenizer_config.json", &settings);
    let mut numbers = Numbers(7);
    let mut tensors = HashMap::new();
    let mut add = |name: String, shape: &[usize], around: f32, spread: f32| {
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| around + spread * numbers.next()).collect();
        tensors.insert(name, Tensor::from_vec(values, shape, &Device::Cpu).unwrap());
    };
    add("model.embed_tokens.weight".into(), &[VOCAB, HIDDEN], 0.0, 1.0);
    add("model.norm.weight".into(), &[HIDDEN], 1.0, 0.3);
    for layer in 0..LAYERS {
        let (queries, keys) = (HEADS * HEAD, KV_HEADS * HEAD);
        for (name, outputs, inputs) in [
            ("self_attn.q_proj", queries, HIDDEN),
            ("self_attn.k_proj", keys, HIDDEN),
            ("self_attn.v_proj", keys, HIDDEN),
            ("self_attn.o_proj", HIDDEN, queries),
            ("mlp.gate_proj", FFN, HIDDEN),
            ("mlp.up_proj", FFN, HIDDEN),
            ("mlp.down_proj", HIDDEN, FFN),
        ] {
            let prefix = format!("model.layers.{layer}.{name}");
            add(format!("{prefix}.weight"), &[outputs, inputs], 0.0, 1.5 / (inputs as f32).sqrt());
            if architecture == "qwen2" && ["q_proj", "k_proj", "v_proj"].iter().any(|end| name.ends_with(end))
            {
                add(format!("{prefix}.bias"), &[outputs], 0.0, 0.5);
            }
        }
        for name in ["input_layernorm", "post_attention_layernorm"] {
            add(format!("model.layers.{layer}.{name}.weight"), &[HIDDEN], 1.0, 0.3);
        }
        if architecture == "qwen3" {
            for name in ["q_norm", "k_norm"] {
                add(format!("model.layers.{layer}.self_attn.{name}.weight"), &[HEAD], 1.0, 0.3);
            }
        }
    }
    candle_core::safetensors::save(&tensors, folder.path().join("model.safetensors")).unwrap();
    folder
}

/// A file with one JSON value in each line.
pub(crate) fn lines(folder: &Path, name: &str, rows: &[Value]) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
    file
}

/// A conversation of a question and its answer.
pub(crate) fn example(question: &str, answer: &str, weight: f64) -> Value {
    json!({"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}], "weight": weight})
}

/// Numbers between -1 and 1 that look random.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }
}

fn config(architecture: &str) -> Value {
    json!({
        "model_type": architecture,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD,
        "intermediate_size": FFN,
        "vocab_size": VOCAB,
        "rms_norm_eps": 1e-5,
        "rope_theta": 100.0,
        "max_position_embeddings": 128,
        "tie_word_embeddings": true,
        "eos_token_id": 257,
    })
}

/// The characters that stand for bytes are those of GPT-2.
fn tokenizer() -> Value {
    let mut beyond = 0;
    let mut vocabulary = serde_json::Map::new();
    for byte in 0..=255_u8 {
        let is_itself = matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
        let character = if is_itself {
            char::from(byte)
        } else {
            beyond += 1;
            char::from_u32(255 + beyond).unwrap()
        };
        vocabulary.insert(character.to_string(), json!(byte));
    }
    let added = |id: usize, content: &str| vocabulary_entry(id, content);
    let added = [added(256, "<|im_start|>"), added(257, "<|im_end|>")];
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    })
}

fn vocabulary_entry(id: usize, content: &str) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
}

fn write(folder: &TempDir, name: &str, value: &Value) {
    fs::write(folder.path().join(name), value.to_string()).unwrap();
}
