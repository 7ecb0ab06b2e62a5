//! GGUF files: the same model as from safetensors, and no harm from damaged ones.

use std::fs;
use std::path::Path;

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{IndexOp, Tensor};
use grail_local::LocalError;
use grail_local::chat::{ChatMessage, ChatTemplate};
use grail_local::tokenizer::Tokenizer;
use grail_local::weights::Weights;
use proptest::prelude::*;

use crate::support::{CHAT_TEMPLATE, MERGES, Toy, byte_character};

/// The toy as llama.cpp would store it.
pub(crate) fn write_gguf(toy: &Toy, path: &Path, dtype: GgmlDType) {
    let mut tokens: Vec<String> = (0..=255).map(|byte| byte_character(byte).to_string()).collect();
    tokens.extend(["<|im_start|>", "<|im_end|>"].map(str::to_owned));
    tokens.extend(MERGES.map(|(left, right)| format!("{left}{right}")));
    tokens.extend((tokens.len()..toy.vocab()).map(|index| format!("[unused {index}]")).collect::<Vec<_>>());
    let kinds = (0..tokens.len()).map(|index| Value::I32(if [256, 257].contains(&index) { 3 } else { 1 }));
    let architecture = toy.model_type;
    let number = |value: usize| Value::U32(value as u32);
    let own = [
        ("embedding_length", number(toy.hidden)),
        ("block_count", number(toy.layers)),
        ("attention.head_count", number(toy.heads)),
        ("attention.head_count_kv", number(toy.kv_heads)),
        ("attention.key_length", number(toy.head_dim)),
        ("feed_forward_length", number(toy.ffn)),
        ("attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("rope.freq_base", Value::F32(10000.0)),
        ("context_length", number(toy.positions)),
    ];
    let mut metadata: Vec<(String, Value)> =
        own.into_iter().map(|(key, value)| (format!("{architecture}.{key}"), value)).collect();
    metadata.push(("general.architecture".to_owned(), Value::String(architecture.to_owned())));
    metadata.push(("tokenizer.ggml.model".to_owned(), Value::String("gpt2".to_owned())));
    metadata.push(("tokenizer.ggml.pre".to_owned(), Value::String("gpt-2".to_owned())));
    metadata.push(("tokenizer.ggml.token_type".to_owned(), Value::Array(kinds.collect())));
    metadata.push((
        "tokenizer.ggml.tokens".to_owned(),
        Value::Array(tokens.into_iter().map(Value::String).collect()),
    ));
    let merges = MERGES.map(|(left, right)| Value::String(format!("{left} {right}")));
    metadata.push(("tokenizer.ggml.merges".to_owned(), Value::Array(merges.to_vec())));
    metadata.push(("tokenizer.ggml.eos_token_id".to_owned(), number(257)));
    metadata.push(("tokenizer.ggml.bos_token_id".to_owned(), number(256)));
    metadata.push(("tokenizer.ggml.add_bos_token".to_owned(), Value::Bool(false)));
    metadata.push(("tokenizer.chat_template".to_owned(), Value::String(CHAT_TEMPLATE.to_owned())));
    let tensors: Vec<(String, QTensor)> = toy
        .tensors()
        .into_iter()
        .map(|(name, tensor)| {
            let tensor = match (toy.model_type, name.as_str()) {
                ("llama", name) if name.contains("q_proj") => interleave(&tensor, toy.heads),
                ("llama", name) if name.contains("k_proj") => interleave(&tensor, toy.kv_heads),
                _ => tensor,
            };
            let dtype = if tensor.rank() == 1 { GgmlDType::F32 } else { dtype };
            (llama_name(&name), QTensor::quantize(&tensor, dtype).unwrap())
        })
        .collect();
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let tensors: Vec<(&str, &QTensor)> =
        tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut file = fs::File::create(path).unwrap();
    gguf_file::write(&mut file, &metadata, &tensors).unwrap();
}

/// First half 0, second half 0, first half 1, … of each head, as the conversion script of llama.cpp does it.
fn interleave(tensor: &Tensor, heads: usize) -> Tensor {
    let (rows, columns) = tensor.dims2().unwrap();
    let half = rows / heads / 2;
    let parts = tensor.reshape((heads, 2, half, columns)).unwrap().transpose(1, 2).unwrap();
    parts.contiguous().unwrap().reshape((rows, columns)).unwrap()
}

fn llama_name(name: &str) -> String {
    name.replace("model.embed_tokens", "token_embd")
        .replace("model.norm", "output_norm")
        .replace("lm_head", "output")
        .replace("model.layers", "blk")
        .replace("post_attention_layernorm", "ffn_norm")
        .replace("input_layernorm", "attn_norm")
        .replace("self_attn.q_proj", "attn_q")
        .replace("self_attn.k_proj", "attn_k")
        .replace("self_attn.v_proj", "attn_v")
        .replace("self_attn.o_proj", "attn_output")
        .replace("self_attn.q_norm", "attn_q_norm")
        .replace("self_attn.k_norm", "attn_k_norm")
        .replace("mlp.gate_proj", "ffn_gate")
        .replace("mlp.up_proj", "ffn_up")
        .replace("mlp.down_proj", "ffn_down")
}

#[test]
fn a_gguf_file_is_the_model_it_was_made_of() {
    for model_type in ["llama", "qwen2", "qwen3"] {
        let toy = Toy { model_type, ..Toy::default() };
        let folder = toy.write();
        let file = folder.path().join("toy.gguf");
        write_gguf(&toy, &file, GgmlDType::F32);
        let (gguf, safetensors) = (Weights::open(&file).unwrap(), Weights::open(folder.path()).unwrap());
        assert_eq!(gguf.config(), safetensors.config());
        assert_eq!(gguf.names().collect::<Vec<_>>(), safetensors.names().collect::<Vec<_>>());
        for name in safetensors.names() {
            let (left, right) = (gguf.tensor(name).unwrap(), safetensors.tensor(name).unwrap());
            let same = left.eq(&right).unwrap().to_dtype(candle_core::DType::F32).unwrap();
            assert_eq!(same.mean_all().unwrap().to_scalar::<f32>().unwrap(), 1.0, "{name}");
        }
        let (left, right) = (Tokenizer::of(&gguf).unwrap(), Tokenizer::of(&safetensors).unwrap());
        for text in ["the other one", "  {\"a\": 1}\n<|im_end|>\n", "größer 🦀 x2024"] {
            assert_eq!(left.encode(text).unwrap(), right.encode(text).unwrap(), "{text}");
        }
        assert_eq!(left.ends(), right.ends());
        let messages = [ChatMessage::new("user", "Hi")];
        let render = |weights: &Weights| ChatTemplate::of(weights).unwrap().render(&messages, true).unwrap();
        assert_eq!(render(&gguf), render(&safetensors));
    }
}

#[test]
fn rows_of_quantised_tensors_are_in_the_order_of_transformers() {
    let toy = Toy::default();
    let folder = toy.write();
    let file = folder.path().join("toy.gguf");
    write_gguf(&toy, &file, GgmlDType::Q8_0);
    let name = "model.layers.0.self_attn.q_proj.weight";
    let stored = Weights::open(&file).unwrap().tensor(name).unwrap();
    let difference = (stored - &toy.tensors()[name]).unwrap().abs().unwrap();
    assert!(difference.max_all().unwrap().to_scalar::<f32>().unwrap() < 0.01);
    assert_eq!(difference.i(0).unwrap().dims(), [32]);
}

#[test]
fn a_file_that_ends_anywhere_is_refused() {
    let toy = Toy::default();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toy.gguf");
    write_gguf(&toy, &file, GgmlDType::Q4_1);
    let whole = fs::read(&file).unwrap();
    for length in (4..whole.len()).step_by(whole.len() / 300).chain(4..60) {
        fs::write(&file, &whole[..length]).unwrap();
        let error = Weights::open(&file).unwrap_err();
        assert!(matches!(error, LocalError::Damaged { .. }), "{length} of {} bytes: {error}", whole.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is changed in the header, opening it ends, and what opens can be read.
    #[test]
    fn changed_bytes_do_no_harm(changes in proptest::collection::vec((0_usize..9000, any::<u8>()), 1..6)) {
        let (folder, whole) = example();
        let mut bytes = whole.clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        let file = folder.path().join("changed.gguf");
        fs::write(&file, &bytes).unwrap();
        if let Ok(weights) = Weights::open(&file) {
            let _ = Tokenizer::of(&weights);
            let _ = ChatTemplate::of(&weights);
        }
    }

    /// Lengths and counts that promise everything.
    #[test]
    fn enormous_numbers_reserve_nothing(at in 4_usize..9000, number in prop_oneof![Just(u64::MAX), Just(1 << 40), Just(1 << 31)]) {
        let (folder, whole) = example();
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        let file = folder.path().join("enormous.gguf");
        fs::write(&file, &bytes).unwrap();
        let _ = Weights::open(&file);
    }
}

/// One file for all cases.
fn example() -> &'static (tempfile::TempDir, Vec<u8>) {
    static EXAMPLE: std::sync::OnceLock<(tempfile::TempDir, Vec<u8>)> = std::sync::OnceLock::new();
    EXAMPLE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("toy.gguf");
        write_gguf(&Toy::default(), &file, GgmlDType::Q4_1);
        let bytes = fs::read(&file).unwrap();
        (folder, bytes)
    })
}
