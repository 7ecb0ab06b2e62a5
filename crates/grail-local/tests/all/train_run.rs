//! Whole runs on a toy model: learning, weights, going on after a kill, what is written, and what is refused.

use std::fs;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};

use candle_core::Device;
use grail_local::train::{Event, Settings, Stage, Summary, train};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::train_toy::{self, example, lines};

/// A model, a folder for data, and settings for a short run.
struct Scene {
    _model: TempDir,
    folder: TempDir,
    settings: Settings,
}

impl Scene {
    fn new(rows: &[Value]) -> Scene {
        let (model, folder) = (train_toy::model("llama"), tempfile::tempdir().unwrap());
        let train = lines(folder.path(), "train.jsonl", rows);
        let settings = Settings {
            rank: 4,
            scale: 4.0,
            learning_rate: 1e-2,
            iterations: 12,
            batch_size: 3,
            threads: Some(1),
            ..Settings::new(model.path(), &train, &folder.path().join("out"))
        };
        Scene { _model: model, folder, settings }
    }

    fn run(&self) -> (Summary, Vec<Event>) {
        run(&self.settings).unwrap()
    }

    fn refusal(&self) -> String {
        run(&self.settings).unwrap_err().to_string().replace(self.folder.path().to_str().unwrap(), "…")
    }
}

fn run(settings: &Settings) -> grail_local::Result<(Summary, Vec<Event>)> {
    let mut events = vec![];
    let summary = train(settings, &mut |event| events.push(event.clone()))?;
    Ok((summary, events))
}

fn rows(count: usize) -> Vec<Value> {
    let words = ["red", "green", "blue", "black", "white"];
    (0..count)
        .map(|index| example(&format!("{index}?"), &format!("{} {index}.", words[index % 5]), 1.0))
        .collect()
}

fn losses(events: &[Event]) -> Vec<f64> {
    events
        .iter()
        .filter_map(|event| if let Event::Step { loss, .. } = event { Some(*loss) } else { None })
        .collect()
}

fn adapter(folder: &Path) -> Vec<(String, Vec<usize>, Vec<f32>)> {
    let tensors = candle_core::safetensors::load(folder, &Device::Cpu).unwrap();
    let mut tensors: Vec<_> = tensors
        .into_iter()
        .map(|(name, tensor)| {
            (name, tensor.dims().to_vec(), tensor.flatten_all().unwrap().to_vec1().unwrap())
        })
        .collect();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    tensors
}

#[test]
fn what_is_taught_is_learned() {
    let mut scene = Scene::new(&rows(8));
    scene.settings.iterations = 150;
    scene.settings.batch_size = 8;
    scene.settings.learning_rate = 2e-2;
    scene.settings.rank = 8;
    scene.settings.valid = scene.settings.train.clone();
    let (summary, events) = scene.run();
    let losses = losses(&events);
    assert!(losses[0] > 3.0, "{}", losses[0]);
    assert!(summary.valid_loss.unwrap() < 0.2, "{losses:?}");
}

#[test]
fn a_weight_of_two_teaches_what_the_example_twice_teaches() {
    let (mut heavy, mut twice) = (rows(8), rows(8));
    heavy[0]["weight"] = json!(2.0);
    twice.push(twice[0].clone());
    let adapters = [heavy, twice].map(|rows| {
        let mut scene = Scene::new(&rows);
        scene.settings.batch_size = rows.len();
        scene.settings.iterations = 4;
        let (summary, _) = scene.run();
        adapter(&summary.adapter.join("adapters.safetensors"))
    });
    let [heavy, twice] = adapters;
    for ((name, _, heavy), (_, _, twice)) in heavy.iter().zip(&twice) {
        for (heavy, twice) in heavy.iter().zip(twice) {
            // Adam divides by the size of a gradient, so that rounding errors show where there is hardly one.
            assert!((heavy - twice).abs() < 2e-3, "{name}: {heavy} for {twice}");
        }
    }
}

#[test]
fn weights_change_what_is_learned() {
    let mut weighted = rows(8);
    weighted[0]["weight"] = json!(20.0);
    let [plain, weighted] = [rows(8), weighted].map(|rows| {
        let mut scene = Scene::new(&rows);
        scene.settings.valid = Some(lines(scene.folder.path(), "valid.jsonl", &rows[..1]));
        scene.settings.batch_size = 8;
        scene.settings.iterations = 20;
        scene.run().0.valid_loss.unwrap()
    });
    assert!(weighted < 0.8 * plain, "{weighted} with weight, {plain} without");
}

#[test]
fn of_most_examples_only_the_beginning_is_learned() {
    let mut scene = Scene::new(&rows(9));
    scene.settings.whole_every = 3;
    scene.settings.beginning_tokens = 2;
    let (_, events) = scene.run();
    let tokens = |event: &Event| if let Event::Step { tokens, .. } = event { Some(*tokens) } else { None };
    let steps: Vec<u64> = events.iter().filter_map(tokens).collect();
    let whole: Vec<u64> = Scene::new(&rows(9)).run().1.iter().filter_map(tokens).collect();
    // Every step has one whole example and two beginnings.
    assert_eq!(steps.len(), whole.len());
    assert!(steps.iter().zip(&whole).all(|(some, all)| some < all), "{steps:?} of {whole:?}");
    let spread = steps.iter().max().unwrap() - steps.iter().min().unwrap();
    assert!(spread <= 6, "{steps:?}");

    scene.settings.whole_every = 0;
    assert_eq!(
        scene.refusal(),
        "the setting `whole_every` cannot be used for training: it is 0, and must be at least 1 and at most 1048576"
    );
}

#[test]
fn the_beginning_of_an_answer_is_its_first_paragraph() {
    let tokens_of = |answer: &str, whole_every: usize| -> u64 {
        let mut scene = Scene::new(&vec![example("1?", answer, 1.0); 8]);
        scene.settings.batch_size = 1;
        scene.settings.iterations = 2;
        scene.settings.whole_every = whole_every;
        let tokens =
            |event: &Event| if let Event::Step { tokens, .. } = event { Some(*tokens) } else { None };
        scene.run().1.iter().filter_map(tokens).next_back().unwrap()
    };
    let (long, short) = ("a b\n\nand much more\n\nand more", "a b\n\nc");
    assert!(tokens_of(long, 1) > tokens_of(short, 1));
    assert_eq!(tokens_of(long, 2), tokens_of(short, 2), "what comes after a blank line is not learned");
    assert_eq!(tokens_of("a b\nc", 2), tokens_of("a b\nc", 1), "there is one paragraph");
}

#[test]
fn beginnings_that_are_no_shorter_are_the_same_run() {
    let [whole, long] = [1, 3].map(|whole_every| {
        let mut scene = Scene::new(&rows(9));
        scene.settings.whole_every = whole_every;
        scene.settings.beginning_tokens = 1000;
        losses(&scene.run().1)
    });
    assert_eq!(whole, long);
}

#[test]
fn what_is_known_is_not_learned_again() {
    let known = |events: &[Event]| -> Vec<usize> {
        let known = |event: &Event| if let Event::Step { known, .. } = event { Some(*known) } else { None };
        events.iter().filter_map(known).collect()
    };
    let mut scene = Scene::new(&rows(8));
    scene.settings.iterations = 150;
    scene.settings.batch_size = 8;
    scene.settings.learning_rate = 2e-2;
    scene.settings.rank = 8;
    scene.settings.known_loss = 0.5;
    scene.settings.valid = scene.settings.train.clone();
    let (summary, events) = scene.run();
    let known_by_step = known(&events);
    assert_eq!(known_by_step[0], 0);
    assert!(known_by_step.iter().any(|known| (1..8).contains(known)), "{known_by_step:?}");
    assert!(known_by_step.iter().rev().take(20).sum::<usize>() > 20, "{known_by_step:?}");
    assert!(summary.valid_loss.unwrap() < 0.5, "{:?}", summary.valid_loss);

    // Whoever is content with everything learns nothing.
    let mut content = Scene::new(&rows(8));
    content.settings.known_loss = 1000.0;
    let (summary, events) = content.run();
    assert_eq!(known(&events), [3; 12]);
    let ups = adapter(&summary.adapter.join("adapters.safetensors"));
    let is_fresh = |(name, _, numbers): &(String, Vec<usize>, Vec<f32>)| {
        !name.ends_with("lora_b") || numbers.iter().all(|number| *number == 0.0)
    };
    assert!(ups.iter().all(is_fresh));
    content.settings.known_loss = f64::NAN;
    assert_eq!(
        content.refusal(),
        "the setting `known_loss` cannot be used for training: it is NaN, and must not be less than 0"
    );
}

#[test]
fn first_lines_count_as_much_beside_a_whole_answer_as_beside_another() {
    // With batches of one, a step is a whole answer or a beginning, and all of them are taken once.
    let gradient_norms = |whole_every: usize| -> Vec<f64> {
        let mut scene = Scene::new(&vec![example("1?", "a very long answer in many words.", 1.0); 8]);
        scene.settings.batch_size = 1;
        scene.settings.clip = 0.0;
        scene.settings.whole_every = whole_every;
        scene.settings.beginning_tokens = 1;
        scene.settings.learning_rate = 1e-12;
        let norm = |event: &Event| match event {
            Event::Step { gradient_norm, .. } => Some(*gradient_norm),
            _ => None,
        };
        scene.run().1.iter().filter_map(norm).collect()
    };
    let (mixed, rare) = (gradient_norms(2), gradient_norms(4));
    let ratio = |norms: &[f64]| norms[0] / norms[1];
    assert!((ratio(&mixed) - ratio(&rare)).abs() < 1e-3, "{mixed:?} {rare:?}");
    assert!(mixed[1] < rare[1], "{mixed:?} {rare:?}");
}

#[test]
fn a_killed_run_goes_on_as_if_nothing_had_happened() {
    let whole = Scene::new(&rows(10));
    let pairs = pairs(whole.folder.path());
    let with_pairs = |settings: &Settings, output: &str| Settings {
        preferences: Some(pairs.clone()),
        preference_iterations: Some(5),
        checkpoint_every: Some(4),
        output: whole.folder.path().join(output),
        ..settings.clone()
    };
    let uninterrupted = with_pairs(&whole.settings, "whole");
    let (_, events) = run(&uninterrupted).unwrap();
    for killed_at in [3, 7, 12, 14] {
        let mut settings = with_pairs(&whole.settings, &format!("killed-{killed_at}"));
        let killed = catch_unwind(AssertUnwindSafe(|| {
            train(&settings, &mut |event| {
                assert!(!matches!(event, Event::Step { step, .. } if *step == killed_at), "killed here");
            })
        }));
        assert!(killed.is_err());
        settings.resume = true;
        let (_, resumed) = run(&settings).unwrap();
        let begun = (killed_at - 1) / 4 * 4;
        assert!(
            matches!(resumed[0], Event::Start { resumed_from, .. } if resumed_from == (begun > 0).then_some(begun)),
            "{:?}",
            resumed[0]
        );
        assert_eq!(losses(&resumed), losses(&events)[begun..], "killed at {killed_at}");
        let file = |settings: &Settings| fs::read(settings.output.join("adapters.safetensors")).unwrap();
        assert!(file(&settings) == file(&uninterrupted), "killed at {killed_at}");
        let told = fs::read_to_string(settings.output.join("metrics.jsonl")).unwrap();
        let steps: Vec<u64> = told
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|event| event["event"] == "step")
            .map(|event| event["step"].as_u64().unwrap())
            .collect();
        assert_eq!(steps, (1..=17).collect::<Vec<_>>());
    }
}

#[test]
fn a_trainer_ends_with_whoever_started_it_and_keeps_its_last_checkpoint() {
    let mut scene = Scene::new(&rows(8));
    scene.settings.iterations = 5000;
    scene.settings.checkpoint_every = Some(4);
    let config = scene.folder.path().join("settings.json");
    fs::write(&config, json!(scene.settings).to_string()).unwrap();
    let mut trainer = Command::new(env!("CARGO_BIN_EXE_grail-local"))
        .args(["train", "--until-input-ends", "--config"])
        .arg(&config)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(trainer.stdout.take().unwrap()).lines();
    let checkpoint = told
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .find(|event| event["event"] == "checkpoint")
        .unwrap();
    assert_eq!(checkpoint["step"], 4);
    // What is left of a starter that was killed: nobody listens, and nobody holds the other end.
    let ended = trainer.wait_with_output().unwrap();
    assert_eq!(
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap().as_str()),
        (Some(2), "error: whoever started the training is gone\n")
    );
    let written = fs::read_dir(scene.settings.output.join("checkpoints")).unwrap();
    let steps: Vec<usize> =
        written.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok()).collect();
    let last = steps.into_iter().max().unwrap();
    assert!((4..5000).contains(&last), "{last}");
    // It can be gone on from.
    scene.settings.resume = true;
    let mut resumed = None;
    let stopped = catch_unwind(AssertUnwindSafe(|| {
        train(&scene.settings, &mut |event| {
            if let Event::Start { resumed_from, .. } = event {
                resumed = *resumed_from;
            }
            assert!(!matches!(event, Event::Step { .. }), "enough");
        })
    }));
    assert!(stopped.is_err());
    assert_eq!(resumed, Some(last));
}

#[test]
fn a_seed_is_a_run() {
    let run_with = |seed| {
        let mut scene = Scene::new(&rows(9));
        scene.settings.seed = seed;
        scene.settings.threads = Some(1 + seed as usize % 2);
        losses(&scene.run().1)
    };
    assert_eq!(run_with(0), run_with(0));
    assert_ne!(run_with(0), run_with(1));
}

#[test]
fn a_run_does_not_depend_on_the_number_of_threads() {
    let run_with = |threads| {
        let mut scene = Scene::new(&rows(9));
        scene.settings.threads = Some(threads);
        losses(&scene.run().1)
    };
    assert_eq!(run_with(1), run_with(3));
}

#[test]
fn another_run_is_not_gone_on_with() {
    let mut scene = Scene::new(&rows(8));
    scene.run();
    assert_eq!(
        scene.refusal(),
        "the folder `…/out` cannot be used for training: it has checkpoints of an earlier run; set `resume` to go on with it, or choose \
         another folder"
    );
    scene.settings.resume = true;
    scene.settings.learning_rate = 1e-3;
    assert_eq!(
        scene.refusal(),
        "the checkpoint `…/out/checkpoints/12` cannot be used for training: it comes from other settings, other data or another model; run \
         into another folder, or set `resume` to false and empty this one"
    );
}

#[test]
fn the_adapter_is_written_as_mlx_and_peft_read_it() {
    let mut scene = Scene::new(&rows(8));
    scene.settings.layers = Some(2);
    let (summary, _) = scene.run();
    let read = |file: &str| -> Value {
        serde_json::from_slice(&fs::read(summary.adapter.join(file)).unwrap()).unwrap()
    };
    let mlx = adapter(&summary.adapter.join("adapters.safetensors"));
    assert_eq!(mlx.len(), 2 * 7 * 2);
    assert_eq!(mlx[0].0, "model.layers.1.mlp.down_proj.lora_a");
    assert_eq!(mlx[0].1, [40, 4]);
    assert_eq!(
        read("adapter_config.json"),
        json!({"fine_tune_type": "lora", "num_layers": 2, "lora_parameters": {"rank": 4, "scale": 4.0, "dropout": 0.0, "keys": [
            "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"
        ]}})
    );
    let peft = adapter(&summary.adapter.join("peft/adapter_model.safetensors"));
    assert_eq!(peft[0].0, "base_model.model.model.layers.1.mlp.down_proj.lora_A.weight");
    assert_eq!(peft[0].1, [4, 40]);
    assert_eq!(peft[0].2[1], mlx[0].2[4]);
    let config = read("peft/adapter_config.json");
    assert_eq!((&config["r"], &config["lora_alpha"]), (&json!(4), &json!(16.0)));
    assert_eq!(config["layers_to_transform"], json!([1, 2]));
    // Checkpoints hold the same.
    assert_eq!(adapter(&summary.adapter.join("checkpoints/12/adapters.safetensors")), mlx);
}

#[test]
fn events_tell_how_it_goes() {
    let mut scene = Scene::new(&rows(8));
    scene.settings.valid = scene.settings.train.clone();
    scene.settings.checkpoint_every = Some(5);
    let (summary, events) = scene.run();
    let names: Vec<Value> = events.iter().map(|event| json!(event)["event"].clone()).collect();
    let expected = "start step step step step step checkpoint step step step step step checkpoint step step checkpoint done";
    assert_eq!(names, expected.split(' ').map(|name| json!(name)).collect::<Vec<_>>());
    let start = json!(events[0]);
    assert_eq!(
        (&start["examples"], &start["valid"], &start["iterations"]),
        (&json!(8), &json!(8), &json!(12))
    );
    let step = json!(events[1]);
    assert_eq!(
        (&step["stage"], &step["step"], &step["iterations"]),
        (&json!("examples"), &json!(1), &json!(12))
    );
    for field in ["loss", "learning_rate", "gradient_norm", "tokens_per_second", "eta_seconds", "seconds"] {
        assert!(step[field].is_number(), "{field}: {step}");
    }
    assert!(json!(events[6])["valid_loss"].is_number());
    assert!(summary.valid_loss.is_some());
    let written = fs::read_to_string(scene.settings.output.join("metrics.jsonl")).unwrap();
    assert_eq!(written.lines().count(), events.len());
    assert_eq!(serde_json::from_str::<Value>(written.lines().last().unwrap()).unwrap(), json!(events.last()));
}

#[test]
fn pairs_move_the_chosen_answer_away_from_the_rejected_one() {
    let mut scene = Scene::new(&rows(8));
    let likelihoods = |folder: &Path, name: &str, answer: &str, settings: &Settings| {
        let rows: Vec<Value> = (0..8).map(|index| example(&format!("{index}?"), answer, 1.0)).collect();
        Settings { valid: Some(lines(folder, name, &rows)), ..settings.clone() }
    };
    scene.settings.preferences = Some(pairs(scene.folder.path()));
    scene.settings.preference_iterations = Some(15);
    scene.settings.preference_learning_rate = Some(1e-2);
    scene.settings.checkpoint_every = Some(12);
    let mut margins = vec![];
    for (output, answer) in [("a", "good!"), ("b", "wrong")] {
        let settings = likelihoods(scene.folder.path(), &format!("{output}.jsonl"), answer, &scene.settings);
        let (_, events) = run(&Settings { output: scene.folder.path().join(output), ..settings }).unwrap();
        let valid: Vec<f64> = events
            .iter()
            .filter_map(
                |event| if let Event::Checkpoint { valid_loss, .. } = event { *valid_loss } else { None },
            )
            .collect();
        margins.push((valid[0], *valid.last().unwrap()));
        let stages: Vec<Stage> = events
            .iter()
            .filter_map(|event| if let Event::Step { stage, .. } = event { Some(*stage) } else { None })
            .collect();
        assert_eq!(stages, [vec![Stage::Examples; 12], vec![Stage::Preferences; 15]].concat());
    }
    let (before, after) = (margins[1].0 - margins[0].0, margins[1].1 - margins[0].1);
    assert!(after > before + 1.0, "the margin went from {before} to {after}");
}

#[test]
fn a_run_that_diverges_stops_and_says_what_to_do() {
    let mut scene = Scene::new(&rows(8));
    scene.settings.learning_rate = 1e30;
    scene.settings.warmup = Some(0);
    let refusal = scene.refusal();
    assert!(
        refusal.starts_with("what step 2 computed cannot be used for training: the loss is "),
        "{refusal}"
    );
    assert!(
        refusal.ends_with(
            "; lower `learning_rate` (1000000000000000000000000000000) or `scale` (4), or raise `warmup`; there is no checkpoint yet"
        ),
        "{refusal}"
    );
}

#[test]
fn too_few_examples_are_refused() {
    assert_eq!(
        Scene::new(&rows(3)).refusal(),
        "`…/train.jsonl` cannot be used for training: 3 examples are left, and at least 8 are needed"
    );
    let mut some = rows(9);
    some[0]["weight"] = json!(0.0);
    some[1]["messages"][1]["content"] = json!("long ".repeat(200));
    assert_eq!(
        Scene::new(&some).refusal(),
        "`…/train.jsonl` cannot be used for training: 7 examples are left, and at least 8 are needed; 1 were left out because they have \
         more than `max_tokens` (128) tokens; 1 were left out because their weight is 0"
    );
}

#[test]
fn too_few_pairs_leave_the_second_stage_out() {
    let mut scene = Scene::new(&rows(8));
    let file = pairs(scene.folder.path());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.lines().take(3).flat_map(|line| [line, "\n"]).collect::<String>()).unwrap();
    scene.settings.preferences = Some(file);
    let (summary, events) = scene.run();
    assert_eq!(summary.step, 12);
    assert!(matches!(events[0], Event::Start { pairs: 0, iterations: 12, .. }), "{:?}", events[0]);
    let Event::Note { message } = &events[1] else { panic!("{:?}", events[1]) };
    assert_eq!(
        message.replace(scene.folder.path().to_str().unwrap(), "…"),
        "the second stage is left out: `…/pairs.jsonl` cannot be used for training: 3 pairs are left, and at least 8 are needed"
    );
    assert_eq!(json!(events[1])["event"], "note");
    // Without examples they are all there is.
    scene.settings.train = None;
    scene.settings.output = scene.folder.path().join("alone");
    assert_eq!(
        scene.refusal(),
        "`…/pairs.jsonl` cannot be used for training: 3 pairs are left, and at least 8 are needed"
    );
}

#[test]
fn rows_that_are_no_examples_are_refused_with_their_line() {
    let refusal = |row: Value| {
        let mut all = rows(9);
        all[4] = row;
        Scene::new(&all).refusal()
    };
    assert_eq!(
        refusal(json!({"text": "x", "weight": 1})),
        "line 5 of `…/train.jsonl` cannot be used for training: it has no `messages` but `text`, `weight`; all rows of the file must be of \
         one format"
    );
    assert_eq!(
        refusal(
            json!({"messages": [{"role": "assistant", "content": "x"}, {"role": "user", "content": "x"}]})
        ),
        "line 5 of `…/train.jsonl` cannot be used for training: its last message is by `user`, and only answers of the `assistant` are \
         learned"
    );
    assert_eq!(
        refusal(json!({"messages": [{"role": "assistant", "content": "x"}]})),
        "line 5 of `…/train.jsonl` cannot be used for training: there is no message before the answer"
    );
    assert_eq!(
        refusal(example("a", "b", -1.0)),
        "line 5 of `…/train.jsonl` cannot be used for training: its weight is -1"
    );
}

#[test]
fn memory_that_does_not_suffice_is_told_before_the_run() {
    let mut scene = Scene::new(&rows(8));
    scene.settings.memory = Some(1 << 20);
    let refusal = scene.refusal();
    assert!(refusal.contains("MiB to train, and 1 MiB are available; use a smaller model"), "{refusal}");
    assert!(!scene.settings.output.exists());
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let mut scene = Scene::new(&rows(8));
    scene.settings.rank = 0;
    assert_eq!(
        scene.refusal(),
        "the setting `rank` cannot be used for training: it is 0, and must be at least 1 and at most 1024"
    );
    let file = scene.folder.path().join("settings.json");
    fs::write(&file, r#"{"model": "m", "output": "o", "learningrate": 1}"#).unwrap();
    let error = Settings::read(&file).unwrap_err().to_string();
    assert!(error.contains("unknown field `learningrate`"), "{error}");
}

fn pairs(folder: &Path) -> std::path::PathBuf {
    let rows: Vec<Value> = (0..8)
        .map(|index| {
            let prompt = [json!({"role": "user", "content": format!("{index}?")})];
            json!({"prompt": prompt, "chosen": "good!", "rejected": "wrong", "weight": 1.0 + f64::from(index)})
        })
        .collect();
    lines(folder, "pairs.jsonl", &rows)
}
