//! Opening weights: what is found in them, and what is refused.

use std::fs;
use std::path::Path;

use grail_local::LocalError;
use grail_local::chat::{ChatMessage, ChatTemplate};
use grail_local::tokenizer::Tokenizer;
use grail_local::weights::{Architecture, Weights};

use crate::support::Toy;

#[test]
fn a_folder_in_the_layout_of_transformers_opens() {
    let folder = Toy::default().write();
    let weights = Weights::open(folder.path()).unwrap();
    let config = weights.config();
    assert_eq!(config.architecture, Architecture::Llama);
    assert_eq!(
        (config.hidden, config.layers, config.heads, config.kv_heads, config.head_dim),
        (32, 2, 4, 2, 8)
    );
    assert!(config.tied_embeddings && !config.attention_bias);
    assert_eq!(weights.tensor("model.layers.1.mlp.down_proj.weight").unwrap().dims(), [32, 64]);
    let parameters: usize = Toy::default().tensors().values().map(candle_core::Tensor::elem_count).sum();
    assert_eq!(config.parameters(), parameters as u64);
}

#[test]
fn the_rotation_is_found_where_later_versions_of_transformers_write_it() {
    let folder = Toy::default().write();
    let file = folder.path().join("config.json");
    let mut raw: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    raw.as_object_mut().unwrap().remove("rope_theta");
    raw["rope_parameters"] = serde_json::json!({"rope_theta": 50000.0, "rope_type": "default"});
    fs::write(&file, raw.to_string()).unwrap();
    assert_eq!(Weights::open(folder.path()).unwrap().config().rope_theta, 50000.0);
    raw["rope_parameters"] = serde_json::json!({"rope_theta": 50000.0, "rope_type": "llama3", "factor": 8.0});
    fs::write(&file, raw.to_string()).unwrap();
    assert!(Weights::open(folder.path()).unwrap().config().rope_factors.is_some());
    raw["rope_parameters"] = serde_json::json!({"rope_theta": 50000.0, "rope_type": "yarn"});
    fs::write(&file, raw.to_string()).unwrap();
    assert!(matches!(Weights::open(folder.path()).unwrap_err(), LocalError::Unsupported { .. }));
}

#[test]
fn tokens_are_the_bytes_of_the_text() {
    let folder = Toy::default().write();
    let weights = Weights::open(folder.path()).unwrap();
    let tokenizer = Tokenizer::of(&weights).unwrap();
    let text = "the other grün\n\t🦀{\"x\"}";
    let tokens = tokenizer.encode(text).unwrap();
    assert_eq!(tokenizer.decode(&tokens), text);
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| tokenizer.token_bytes(*token)).collect();
    assert_eq!(bytes, text.as_bytes());
    assert_eq!(tokenizer.encode("the<|im_end|>").unwrap(), [261, 257]);
    assert!(tokenizer.is_end(257) && tokenizer.is_special(256) && !tokenizer.is_special(261));
}

#[test]
fn messages_go_through_the_template_of_the_model() {
    let folder = Toy::default().write();
    let weights = Weights::open(folder.path()).unwrap();
    let template = ChatTemplate::of(&weights).unwrap();
    let messages = [ChatMessage::new("user", "Hi")];
    assert_eq!(
        template.render(&messages, true).unwrap(),
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    );
    assert_eq!(template.render(&messages, false).unwrap(), "<|im_start|>user\nHi<|im_end|>\n");
}

#[test]
fn a_template_can_refuse_and_call_methods_of_strings() {
    let template = ChatTemplate::new("{{ messages[0]['content'].strip() }}", "", "");
    assert_eq!(template.render(&[ChatMessage::new("user", "  a ")], true).unwrap(), "a");
    let template = ChatTemplate::new("{{ raise_exception('no system message') }}", "", "");
    let error = template.render(&[ChatMessage::new("user", "a")], true).unwrap_err().to_string();
    assert!(error.contains("no system message"), "{error}");
    let endless = ChatTemplate::new(
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "",
        "",
    );
    assert!(endless.render(&[], true).is_err());
}

#[test]
fn what_is_no_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| Weights::open(path).unwrap_err();
    assert!(matches!(open(&folder.path().join("absent.gguf")), LocalError::Read { .. }));
    assert!(matches!(open(folder.path()), LocalError::NoModel { .. }));
    let text = folder.path().join("notes.gguf");
    fs::write(&text, "Not a model.").unwrap();
    let error = open(&text);
    assert!(matches!(error, LocalError::NoModel { .. }) && error.hint().is_some());
}

#[test]
fn another_architecture_is_named() {
    let toy = Toy { model_type: "mamba", ..Toy::default() }.write();
    let error = Weights::open(toy.path()).unwrap_err();
    assert!(matches!(&error, LocalError::Architecture { found, .. } if found == "mamba"), "{error}");
}

#[test]
fn a_model_without_its_tokenizer_is_refused_when_it_is_needed() {
    let toy = Toy::default().write();
    fs::remove_file(toy.path().join("tokenizer.json")).unwrap();
    let error = Tokenizer::of(&Weights::open(toy.path()).unwrap()).unwrap_err();
    assert!(matches!(error, LocalError::Tokenizer { .. }) && error.hint().is_some(), "{error}");
}

#[test]
fn safetensors_that_end_too_early_are_damaged() {
    let toy = Toy::default().write();
    let file = toy.path().join("model.safetensors");
    let whole = fs::read(&file).unwrap();
    for length in (0..whole.len()).step_by(whole.len() / 50).chain([1, 7, 8, 9]) {
        fs::write(&file, &whole[..length]).unwrap();
        assert!(Weights::open(toy.path()).is_err(), "{length} of {} bytes", whole.len());
    }
}
