//! Generating: the same answer alone and in a batch, with and without cache, with an adapter as with merged weights.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use grail_local::LocalError;
use grail_local::chat::ChatMessage;
use grail_local::engine::{EndReason, Engine, EngineLimits, Event, Generation};
use grail_local::model::{Adapter, Cache, Model, ModelOptions, Next, Precision, Scratch};
use grail_local::sampling::Sampling;
use grail_local::tokenizer::Tokenizer;
use grail_local::weights::Weights;
use serde_json::json;

use crate::support::{Random, Toy};

const OPTIONS: ModelOptions = ModelOptions { threads: 1, context: 256, precision: Precision::Full };
const LIMITS: EngineLimits = EngineLimits { batch: 8, queue: 100, positions: 4096 };

fn model(folder: &Path, options: ModelOptions) -> Model {
    Model::load(&Weights::open(folder).unwrap(), None, options).unwrap()
}

fn engine(folder: &Path, options: ModelOptions, limits: EngineLimits) -> (Engine, Arc<Tokenizer>) {
    let tokenizer = Arc::new(Tokenizer::of(&Weights::open(folder).unwrap()).unwrap());
    (Engine::start(model(folder, options), Arc::clone(&tokenizer), limits), tokenizer)
}

fn generation(tokenizer: &Tokenizer, text: &str, seed: u64) -> Generation {
    Generation {
        prompt: tokenizer.encode(text).unwrap(),
        max_tokens: 24,
        sampling: Sampling { temperature: 0.9, seed, ..Sampling::default() },
        stop: Vec::new(),
        constraint: None,
    }
}

/// The scores after the last of the tokens, which go in as parts of these lengths.
fn scores(model: &Model, tokens: &[u32], lengths: &[usize]) -> Vec<f32> {
    let mut cache = Cache::new(model.config());
    let mut scratch = Scratch::default();
    let mut rest = tokens;
    for length in lengths {
        let (tokens, others) = rest.split_at(*length);
        model.forward(&mut [Next { cache: &mut cache, tokens, wants_scores: true }], &mut scratch).unwrap();
        rest = others;
    }
    assert!(rest.is_empty());
    scratch.scores
}

/// The whole forward pass again, in tensors of candle and without a cache.
fn reference(tensors: &HashMap<String, Tensor>, toy: &Toy, tokens: &[u32]) -> Vec<f32> {
    let get = |name: &str| tensors[name].clone();
    let norm = |x: &Tensor, weight: Tensor| {
        let mean = x.sqr().unwrap().mean_keepdim(candle_core::D::Minus1).unwrap();
        let x = x.broadcast_div(&(mean + 1e-5).unwrap().sqrt().unwrap()).unwrap();
        x.broadcast_mul(&weight).unwrap()
    };
    let count = tokens.len();
    let half = toy.head_dim / 2;
    let angles: Vec<f32> = (0..count)
        .flat_map(|at| (0..half).map(move |i| at as f32 / 10000_f32.powf(2.0 * i as f32 / (2 * half) as f32)))
        .collect();
    let angles = Tensor::from_vec(angles, (count, half), &Device::Cpu).unwrap();
    let angles = Tensor::cat(&[&angles, &angles], 1).unwrap();
    let (cosines, sines) = (angles.cos().unwrap(), angles.sin().unwrap());
    let turn = |x: &Tensor| {
        let (a, b) = (x.narrow(2, 0, half).unwrap(), x.narrow(2, half, half).unwrap());
        let turned = Tensor::cat(&[&b.neg().unwrap(), &a], 2).unwrap();
        (x.broadcast_mul(&cosines).unwrap() + turned.broadcast_mul(&sines).unwrap()).unwrap()
    };
    let ids = Tensor::new(tokens, &Device::Cpu).unwrap();
    let mut x = get("model.embed_tokens.weight").index_select(&ids, 0).unwrap();
    for layer in 0..toy.layers {
        let name = |end: &str| format!("model.layers.{layer}.{end}");
        let project = |x: &Tensor, end: &str| {
            let y = x.matmul(&get(&name(&format!("{end}.weight"))).t().unwrap()).unwrap();
            match tensors.get(&name(&format!("{end}.bias"))) {
                Some(bias) => y.broadcast_add(bias).unwrap(),
                None => y,
            }
        };
        let h = norm(&x, get(&name("input_layernorm.weight")));
        let heads = |end: &str, heads: usize, head_norm: Option<&str>| {
            let y = project(&h, end).reshape((count, heads, toy.head_dim)).unwrap();
            let y = match head_norm.and_then(|end| tensors.get(&name(end))) {
                Some(weight) => norm(&y, weight.clone()),
                None => y,
            };
            y.transpose(0, 1).unwrap().contiguous().unwrap()
        };
        let q = turn(&heads("self_attn.q_proj", toy.heads, Some("self_attn.q_norm.weight")));
        let k = turn(&heads("self_attn.k_proj", toy.kv_heads, Some("self_attn.k_norm.weight")));
        let v = heads("self_attn.v_proj", toy.kv_heads, None);
        let repeat = |x: Tensor| {
            let parts: Vec<Tensor> = (0..toy.heads)
                .map(|head| x.narrow(0, head / (toy.heads / toy.kv_heads), 1).unwrap())
                .collect();
            Tensor::cat(&parts, 0).unwrap()
        };
        let (k, v) = (repeat(k), repeat(v));
        let weights = (q.matmul(&k.transpose(1, 2).unwrap().contiguous().unwrap()).unwrap()
            / (toy.head_dim as f64).sqrt())
        .unwrap();
        let mask: Vec<f32> = (0..count)
            .flat_map(|row| (0..count).map(move |column| if column > row { f32::NEG_INFINITY } else { 0.0 }))
            .collect();
        let mask = Tensor::from_vec(mask, (count, count), &Device::Cpu).unwrap();
        let weights = candle_nn::ops::softmax_last_dim(&weights.broadcast_add(&mask).unwrap()).unwrap();
        let y = weights.matmul(&v).unwrap().transpose(0, 1).unwrap().contiguous().unwrap();
        let y = y.reshape((count, toy.heads * toy.head_dim)).unwrap();
        x = (x + project(&y, "self_attn.o_proj")).unwrap();
        let h = norm(&x, get(&name("post_attention_layernorm.weight")));
        let y = (project(&h, "mlp.gate_proj").silu().unwrap() * project(&h, "mlp.up_proj")).unwrap();
        x = (x + project(&y, "mlp.down_proj")).unwrap();
    }
    let x = norm(&x, get("model.norm.weight")).narrow(0, count - 1, 1).unwrap();
    let head = tensors.get("lm_head.weight").cloned().unwrap_or_else(|| get("model.embed_tokens.weight"));
    x.matmul(&head.t().unwrap()).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

fn assert_near(left: &[f32], right: &[f32], tolerance: f32) {
    let scale = right.iter().fold(1.0_f32, |largest, value| largest.max(value.abs()));
    for (left, right) in left.iter().zip(right) {
        assert!((left - right).abs() < tolerance * scale, "{left} {right}");
    }
}

#[test]
fn the_forward_pass_is_that_of_candle_for_every_architecture() {
    let toys = [
        Toy::default(),
        Toy { model_type: "qwen2", tied: false, heads: 6, kv_heads: 1, ..Toy::default() },
        Toy { model_type: "qwen3", head_dim: 20, kv_heads: 4, ..Toy::default() },
    ];
    for toy in toys {
        let folder = toy.write();
        let model = model(folder.path(), OPTIONS);
        let tokens: Vec<u32> = (0..37).map(|at| (at * 31 + 5) % 260).collect();
        assert_near(&scores(&model, &tokens, &[37]), &reference(&toy.tensors(), &toy, &tokens), 5e-3);
    }
}

#[test]
fn with_the_cache_it_is_the_same_as_all_at_once() {
    let folder = Toy::default().write();
    let model = model(folder.path(), OPTIONS);
    let tokens: Vec<u32> = (0..40).collect();
    let whole = scores(&model, &tokens, &[40]);
    assert_eq!(whole, scores(&model, &tokens, &[1; 40]));
    assert_eq!(whole, scores(&model, &tokens, &[17, 1, 20, 2]));
}

#[test]
fn a_copied_beginning_is_as_good_as_a_computed_one() {
    let folder = Toy::default().write();
    let model = model(folder.path(), OPTIONS);
    let mut scratch = Scratch::default();
    let mut cache = Cache::new(model.config());
    let tokens: Vec<u32> = (0..40).collect();
    model
        .forward(&mut [Next { cache: &mut cache, tokens: &tokens, wants_scores: false }], &mut scratch)
        .unwrap();
    let mut copy = cache.prefix(21);
    model
        .forward(&mut [Next { cache: &mut copy, tokens: &tokens[21..], wants_scores: true }], &mut scratch)
        .unwrap();
    assert_eq!(scratch.scores, scores(&model, &tokens, &[40]));
}

#[test]
fn a_batch_gives_the_tokens_of_one_by_one() {
    let folder = Toy::default().write();
    let prompts =
        ["the", "one in the other", "{\"x\": ", "a rather long prompt that goes on and on and on", "x"];
    let (engine, tokenizer) = engine(folder.path(), OPTIONS, LIMITS);
    let alone: Vec<String> = prompts
        .iter()
        .zip(0..)
        .map(|(prompt, seed)| engine.complete(generation(&tokenizer, prompt, seed)).unwrap().0)
        .collect();
    for threads in [1, 3] {
        let (engine, _) = self::engine(folder.path(), ModelOptions { threads, ..OPTIONS }, LIMITS);
        let mut receivers: Vec<_> = prompts
            .iter()
            .zip(0..)
            .map(|(prompt, seed)| engine.submit(generation(&tokenizer, prompt, seed)).unwrap())
            .collect();
        let together: Vec<String> = receivers
            .iter_mut()
            .map(|events| {
                let mut text = String::new();
                while let Some(Event::Text(more)) = events.blocking_recv() {
                    text.push_str(&more);
                }
                text
            })
            .collect();
        assert_eq!(alone, together);
    }
}

#[test]
fn a_seed_repeats_an_answer_and_another_gives_another() {
    let folder = Toy::default().write();
    let (engine, tokenizer) = engine(folder.path(), OPTIONS, LIMITS);
    let answer = |seed| engine.complete(generation(&tokenizer, "the", seed)).unwrap();
    assert_eq!(answer(1), answer(1));
    assert_ne!(answer(1), answer(2));
}

#[test]
fn a_stop_string_ends_the_answer_before_it() {
    let folder = Toy::default().write();
    let (engine, tokenizer) = engine(folder.path(), OPTIONS, LIMITS);
    let (whole, reason) = engine.complete(generation(&tokenizer, "the", 3)).unwrap();
    assert_eq!(reason, EndReason::Length);
    // The toy speaks in broken characters mostly; two whole ones in a row are two tokens.
    let is_whole = |pair: &&[char]| pair.iter().all(char::is_ascii);
    let characters: Vec<char> = whole.chars().collect();
    let stop: String = characters.windows(2).find(is_whole).unwrap().iter().collect();
    let expected = whole.split(&stop).next().unwrap().to_owned();
    let stopped = Generation { stop: vec![stop], ..generation(&tokenizer, "the", 3) };
    assert_eq!(engine.complete(stopped).unwrap(), (expected, EndReason::Stop));
}

#[test]
fn prompts_that_begin_alike_share_the_beginning_and_nothing_else() {
    let folder = Toy::default().write();
    let (engine, tokenizer) = engine(folder.path(), OPTIONS, LIMITS);
    let beginning = "the same beginning of every prompt, longer than sixteen tokens: ";
    let fresh = |prompt: &str| {
        let (engine, _) = self::engine(folder.path(), OPTIONS, LIMITS);
        engine.complete(generation(&tokenizer, prompt, 7)).unwrap().0
    };
    let prompts = ["a", "bc", "a", ""].map(|end| format!("{beginning}{end}"));
    let receivers =
        prompts.each_ref().map(|prompt| engine.submit(generation(&tokenizer, prompt, 7)).unwrap());
    for (prompt, mut events) in prompts.iter().zip(receivers) {
        let mut text = String::new();
        while let Some(Event::Text(more)) = events.blocking_recv() {
            text.push_str(&more);
        }
        assert_eq!(text, fresh(prompt));
    }
}

#[test]
fn more_requests_than_places_wait_and_too_many_are_refused() {
    let folder = Toy::default().write();
    let (engine, tokenizer) =
        engine(folder.path(), OPTIONS, EngineLimits { batch: 2, queue: 3, positions: 50 });
    let mut accepted = Vec::new();
    let mut refused = 0;
    for seed in 0..40 {
        match engine.submit(generation(&tokenizer, "the", seed)) {
            Ok(events) => accepted.push(events),
            Err(LocalError::Busy { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0 && accepted.len() >= 5);
    for mut events in accepted {
        while let Some(Event::Text(_)) = events.blocking_recv() {}
    }
    assert!(engine.complete(generation(&tokenizer, "the", 1)).is_ok());
}

#[test]
fn who_hangs_up_makes_room() {
    let folder = Toy::default().write();
    let (engine, tokenizer) =
        engine(folder.path(), OPTIONS, EngineLimits { batch: 1, queue: 0, positions: 500 });
    let endless = Generation { max_tokens: 250, ..generation(&tokenizer, "the", 1) };
    drop(engine.submit(endless).unwrap());
    // Whether the first was noticed yet or not: there is room soon.
    let answer = loop {
        match engine.complete(generation(&tokenizer, "the", 1)) {
            Err(LocalError::Busy { .. }) => std::thread::yield_now(),
            answer => break answer,
        }
    };
    assert!(answer.is_ok());
}

#[test]
fn a_prompt_that_is_too_long_is_refused_and_an_answer_ends_with_the_context() {
    let folder = Toy::default().write();
    let (engine, tokenizer) = engine(folder.path(), ModelOptions { context: 30, ..OPTIONS }, LIMITS);
    let long = generation(&tokenizer, &"x ".repeat(100), 1);
    assert!(matches!(engine.submit(long), Err(LocalError::PromptTooLong { tokens: 200, context: 30 })));
    let (_, reason) = engine.complete(generation(&tokenizer, &"x ".repeat(10), 1)).unwrap();
    assert_eq!(reason, EndReason::Length);
}

#[test]
fn an_answer_that_goes_round_in_circles_is_ended() {
    let toy = Toy { positions: 1024, ..Toy::default() };
    let folder = toy.write();
    // Layers that add nothing: what comes next depends on nothing but the last token.
    let mut tensors = toy.tensors();
    for (name, tensor) in &mut tensors {
        if name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight") {
            *tensor = tensor.zeros_like().unwrap();
        }
    }
    candle_core::safetensors::save(&tensors, folder.path().join("model.safetensors")).unwrap();
    let (engine, tokenizer) = engine(folder.path(), ModelOptions { context: 1024, ..OPTIONS }, LIMITS);
    let tokens = |temperature: f32| {
        let sampling = Sampling { temperature, ..Sampling::default() };
        let long = Generation { max_tokens: 900, sampling, ..generation(&tokenizer, "the", 1) };
        let mut events = engine.submit(long).unwrap();
        loop {
            match events.blocking_recv() {
                Some(Event::Text(_)) => {}
                Some(Event::End { reason, tokens, .. }) => break (reason, tokens),
                other => panic!("{other:?}"),
            }
        }
    };
    let (reason, count) = tokens(0.0);
    assert_eq!(reason, EndReason::Length);
    assert!((97..900).contains(&count), "{count} tokens");
    // As good as without chance is still by lot.
    assert_eq!(tokens(0.001), (EndReason::Length, 900));
}

#[test]
fn weights_that_are_no_numbers_are_an_error_of_the_request() {
    let folder = Toy::default().write();
    let mut tensors = Toy::default().tensors();
    let broken = Tensor::full(f32::NAN, 32, &Device::Cpu).unwrap();
    tensors.insert("model.norm.weight".to_owned(), broken);
    candle_core::safetensors::save(&tensors, folder.path().join("model.safetensors")).unwrap();
    let (engine, tokenizer) = engine(folder.path(), OPTIONS, LIMITS);
    assert!(matches!(engine.complete(generation(&tokenizer, "the", 1)), Err(LocalError::NotANumber)));
}

#[test]
fn weights_in_eight_bits_answer_nearly_the_same() {
    let folder = Toy::default().write();
    let full = model(folder.path(), OPTIONS);
    let eight = model(folder.path(), ModelOptions { precision: Precision::Eight, ..OPTIONS });
    let tokens: Vec<u32> = (40..60).collect();
    assert_near(&scores(&eight, &tokens, &[20]), &scores(&full, &tokens, &[20]), 0.1);
    assert!(eight.bytes() * 3 < full.bytes());
}

/// Two matrices per layer and their product, by the names of the layers.
fn changes(toy: &Toy, rank: usize) -> Vec<(String, Tensor, Tensor)> {
    let mut random = Random(9);
    let mut matrix = |rows: usize, columns: usize| {
        let values: Vec<f32> = (0..rows * columns).map(|_| random.next() * 0.3).collect();
        Tensor::from_vec(values, (rows, columns), &Device::Cpu).unwrap()
    };
    let names = [
        ("self_attn.q_proj", 32, 32),
        ("self_attn.v_proj", 16, 32),
        ("mlp.up_proj", 64, 32),
        ("mlp.down_proj", 32, 64),
    ];
    (0..toy.layers)
        .flat_map(|layer| {
            names.map(|(name, rows, columns)| (format!("model.layers.{layer}.{name}"), rows, columns))
        })
        .map(|(name, rows, columns)| (name, matrix(rank, columns), matrix(rows, rank)))
        .collect()
}

#[test]
fn an_adapter_is_the_low_rank_product_in_both_layouts() {
    let toy = Toy::default();
    let folder = toy.write();
    let weights = Weights::open(folder.path()).unwrap();
    let changes = changes(&toy, 4);
    let mut merged = toy.tensors();
    for (name, down, up) in &changes {
        let change = (up.matmul(down).unwrap() * 2.5).unwrap();
        let name = format!("{name}.weight");
        merged.insert(name.clone(), (&merged[&name] + change).unwrap());
    }
    let tokens: Vec<u32> = (40..60).collect();
    let expected = reference(&merged, &toy, &tokens);

    let mlx = tempfile::tempdir().unwrap();
    let tensors: HashMap<String, Tensor> = changes
        .iter()
        .flat_map(|(name, down, up)| {
            let turned = |tensor: &Tensor| tensor.t().unwrap().contiguous().unwrap();
            [(format!("{name}.lora_a"), turned(down)), (format!("{name}.lora_b"), turned(up))]
        })
        .collect();
    candle_core::safetensors::save(&tensors, mlx.path().join("adapters.safetensors")).unwrap();
    let settings = json!({"fine_tune_type": "lora", "num_layers": 2, "lora_parameters": {"rank": 4, "scale": 2.5, "dropout": 0.0}});
    std::fs::write(mlx.path().join("adapter_config.json"), settings.to_string()).unwrap();

    let peft = tempfile::tempdir().unwrap();
    let tensors: HashMap<String, Tensor> = changes
        .iter()
        .flat_map(|(name, down, up)| {
            let name = format!("base_model.model.{name}");
            [(format!("{name}.lora_A.weight"), down.clone()), (format!("{name}.lora_B.weight"), up.clone())]
        })
        .collect();
    candle_core::safetensors::save(&tensors, peft.path().join("adapter_model.safetensors")).unwrap();
    std::fs::write(peft.path().join("adapter_config.json"), json!({"r": 4, "lora_alpha": 10}).to_string())
        .unwrap();

    let plain = scores(&Model::load(&weights, None, OPTIONS).unwrap(), &tokens, &[20]);
    for adapter in [mlx.path(), peft.path()] {
        let adapter = Adapter::read(adapter, weights.config()).unwrap();
        let adapted = scores(&Model::load(&weights, Some(&adapter), OPTIONS).unwrap(), &tokens, &[20]);
        assert_near(&adapted, &expected, 5e-3);
        assert!(adapted.iter().zip(&plain).any(|(a, b)| (a - b).abs() > 0.1));
    }
}

#[test]
fn an_adapter_of_another_model_is_refused() {
    let toy = Toy::default();
    let folder = tempfile::tempdir().unwrap();
    let read = |tensors: Vec<(&str, &[usize])>, settings: &str| {
        let tensors: HashMap<String, Tensor> = tensors
            .into_iter()
            .map(|(name, shape)| {
                (name.to_owned(), Tensor::zeros(shape, candle_core::DType::F32, &Device::Cpu).unwrap())
            })
            .collect();
        candle_core::safetensors::save(&tensors, folder.path().join("adapters.safetensors")).unwrap();
        std::fs::write(folder.path().join("adapter_config.json"), settings).unwrap();
        let weights = toy.write();
        let weights = Weights::open(weights.path()).unwrap();
        Adapter::read(folder.path(), weights.config()).unwrap_err().to_string()
    };
    let settings = r#"{"lora_parameters": {"scale": 1.0}}"#;
    let q = "model.layers.0.self_attn.q_proj";
    let (a, b) = (format!("{q}.lora_a"), format!("{q}.lora_b"));
    assert!(read(vec![(&a, &[32, 4])], settings).contains("but not"));
    assert!(read(vec![(&a, &[99, 4]), (&b, &[4, 32])], settings).contains("which has (32, 32)"));
    assert!(read(vec![(&a, &[32, 4]), (&b, &[4, 32])], "{}").contains("scale"));
    assert!(read(vec![(&a, &[32, 4]), (&b, &[4, 32])], "[").contains("adapter_config.json"));
    let far = "model.layers.7.self_attn.q_proj";
    assert!(
        read(vec![(&format!("{far}.lora_a"), &[32, 4]), (&format!("{far}.lora_b"), &[4, 32])], settings)
            .contains("no layer")
    );
    assert!(read(vec![("something.else", &[32, 4])], settings).contains("no part of a LoRA"));
}

/// By hand: `GRAIL_LOCAL_WEIGHTS=model.gguf cargo test -p grail-local --test all -- --ignored a_real_model`
#[test]
#[ignore = "needs the weights of a real, instruction-tuned model"]
fn a_real_model_answers_sensibly() {
    let path = std::env::var("GRAIL_LOCAL_WEIGHTS").expect("GRAIL_LOCAL_WEIGHTS names the weights");
    let weights = Weights::open(Path::new(&path)).unwrap();
    let template = grail_local::chat::ChatTemplate::of(&weights).unwrap();
    let (engine, tokenizer) = engine(Path::new(&path), ModelOptions { context: 1024, ..OPTIONS }, LIMITS);
    let messages = [ChatMessage::new("user", "What is the capital of France? Answer in one sentence.")];
    let prompt = tokenizer.encode_prompt(&template.render(&messages, true).unwrap()).unwrap();
    let generation = Generation {
        prompt,
        max_tokens: 40,
        sampling: Sampling::default(),
        stop: Vec::new(),
        constraint: None,
    };
    let (text, reason) = engine.complete(generation).unwrap();
    assert!(text.contains("Paris"), "{text}");
    assert_eq!(reason, EndReason::Stop);
}
