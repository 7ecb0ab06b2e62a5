//! `grail train` on scratch projects, with programs that do what trainers do, well and badly.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use serde_json::Value as Json;

use crate::scratch::Scratch;

/// Inspects like `grail-local`, and trains as `$GRAIL_TEST_TRAINER` says.
const LOCAL: &str = r#"#!/bin/sh
hash=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
if [ "$1" = inspect ]; then
    identity=0123456789abcdef
    case "$*" in *--adapter*) identity=$identity+feedfeedfeedfeed ;; esac
    echo "{\"architecture\": \"llama\", \"parameters\": 7, \"sha256\": \"$hash\", \"identity\": \"$identity\"}"
    exit 0
fi
output=$(sed -n 's/^  "output": "\(.*\)",*$/\1/p' "$3")
write() { mkdir -p "$output"; printf adapter > "$output/adapters.safetensors"; echo '{}' > "$output/adapter_config.json"; }
echo '{"event": "start", "iterations": 2}'
case "$GRAIL_TEST_TRAINER" in
nothing) exit 0 ;;
nan) echo '{"event": "step", "step": 1, "loss": null}'; exec sleep 60 ;;
memory)
    echo 'error: training needs 9 GB of memory, and 2 GB are free' >&2
    echo 'hint: a smaller batch takes less' >&2
    exit 1 ;;
interrupted)
    echo '{"event": "step", "step": 1, "loss": 3.5}'
    mkdir -p "$output/checkpoints"
    kill -INT "$PPID"
    exec sleep 60 ;;
orphaned)
    [ -p /dev/stdin ] && [ "$4" = --until-input-ends ] || exit 1
    kill -KILL "$PPID"
    cat > /dev/null
    echo ended > "${0%/*}/told"
    exit 1 ;;
esac
echo '{"event": "step", "step": 1, "loss": 3.25, "learning_rate": 0.0005, "tokens_per_second": 120, "seconds": 1.5}'
echo '{"event": "checkpoint", "step": 1, "valid_loss": 3.0}'
echo '{"event": "step", "step": 2, "loss": 1.5}'
write
echo '{"event": "done", "step": 2}'
"#;

const MLX: &str = r#"#!/bin/sh
output=$(sed -n 's/^  "adapter_path": "\(.*\)",*$/\1/p' "$2")
echo 'Loading pretrained model'
echo 'Iter 1: Val loss 3.100, Val took 0.1s'
echo 'Iter 1: Train loss 3.000, Learning Rate 2.000e-04, It/sec 1.0, Tokens/sec 90.5, Trained Tokens 90, Peak mem 1.0 GB'
mkdir -p "$output"
printf adapter > "$output/0000001_adapters.safetensors"
printf adapter > "$output/adapters.safetensors"
echo '{}' > "$output/adapter_config.json"
"#;

/// So many lines to import.
pub(crate) fn theirs(examples: usize) -> String {
    let line = |number: usize| {
        let verbs =
            ["sum", "sort", "join", "count", "strip", "split", "hash", "pack", "zip", "map", "drop", "fold"];
        let (verb, other) = (verbs[number], verbs[(number + 5) % verbs.len()]);
        let code = format!(
            "def {verb}_{other}(items: list[str]) -> str:\n    return \"{number} {verb}\".join(items[{number}:])\n"
        );
        let prompt = format!("Write how to {verb} the {other} of case {number}{number}");
        serde_json::json!({"prompt": prompt, "completion": code}).to_string() + "\n"
    };
    (0..examples).map(line).collect()
}

/// A project with so many examples, weights of its own, and the two programs.
fn project(examples: usize) -> Scratch {
    let scratch = Scratch::new(&[
        ("grail.toml", ""),
        ("theirs.jsonl", &theirs(examples)),
        ("tiny/config.json", "{}"),
        ("tiny/model.safetensors", "numbers"),
        ("bin/grail-local", LOCAL),
        ("bin/mlx_lm.lora", MLX),
    ]);
    for program in ["bin/grail-local", "bin/mlx_lm.lora"] {
        fs::set_permissions(scratch.path(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    scratch.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs", "--licence", "MIT"]);
    let built = scratch.run(&["dataset", "build", "--valid", "0", "--test", "0"]);
    assert!(built.ends_with("exit 0\n"), "{built}");
    scratch
}

fn train(scratch: &Scratch, behaviour: &str, arguments: &[&str]) -> Output {
    let mut all = vec!["train"];
    all.extend(arguments);
    let path = format!("{}:/usr/bin:/bin", scratch.path("bin").display());
    scratch
        .command(&all)
        .env("GRAIL_LOCAL_PROGRAM", scratch.path("bin/grail-local"))
        .env("GRAIL_TEST_TRAINER", behaviour)
        .env("PATH", path)
        .output()
        .unwrap()
}

fn phase(scratch: &Scratch) -> Json {
    let output = scratch.command(&["models", "list", "--format", "json"]).output().unwrap();
    let listed: Json = serde_json::from_slice(&output.stdout).unwrap();
    listed["phases"].as_array().unwrap().last().unwrap().clone()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_dataset_becomes_a_phase_with_all_that_it_was_made_of() {
    let scratch = project(12);
    let output = train(&scratch, "fine", &["--model", "local:tiny", "--format", "json", "--iterations", "2"]);
    assert_eq!(said(&output), "");
    let told: Json = serde_json::from_slice(&output.stdout).unwrap();
    let made = &told["phase"];
    assert_eq!(made["state"]["state"], "trained");
    assert_eq!(made["base"]["name"], "tiny");
    assert_eq!(made["identity"], "0123456789abcdef+feedfeedfeedfeed");
    assert_eq!((&made["trainer"], &made["hyper_parameters"]["iterations"]), (&"local".into(), &2.into()));
    let losses: Vec<&Json> = made["curves"].as_array().unwrap().iter().map(|point| &point["loss"]).collect();
    assert_eq!(losses, [&Json::from(3.25), &Json::Null, &Json::from(1.5)]);
    assert_eq!(made["curves"][1]["validation_loss"], 3.0);
    assert_eq!(made["adapter"]["files"].as_object().unwrap().len(), 2);
    let id = made["id"].as_str().unwrap();
    let config = scratch.read(&format!(".grail/phases/{id}/data/train.json"));
    let config: Json = serde_json::from_str(&config).unwrap();
    assert!(config["train"].as_str().unwrap().ends_with("weighted.jsonl"));
    assert_eq!((&config["resume"], config.get("valid")), (&Json::Bool(false), None));
    assert_eq!(phase(&scratch), *made);
    let listed = scratch.run(&["models", "list"]);
    assert!(listed.contains(&format!("phase:{id} tiny with dataset ")), "{listed}");
}

#[test]
fn a_trainer_that_writes_nothing_has_failed() {
    let scratch = project(12);
    let output = train(&scratch, "nothing", &["--model", "local:tiny"]);
    assert_eq!(
        said(&output),
        "error: the trainer `local` says that it is done, and has written no adapter\n\
         hint: look at what it said; its own version may write elsewhere\n"
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(phase(&scratch)["state"]["state"], "failed");
}

#[test]
fn a_loss_that_is_no_number_ends_training() {
    let scratch = project(12);
    let output = train(&scratch, "nan", &["--model", "local:tiny"]);
    assert!(
        said(&output).starts_with("error: the loss is no number any more at step 1\n"),
        "{}",
        said(&output)
    );
    assert_eq!(phase(&scratch)["state"]["state"], "failed");
}

#[test]
fn what_the_trainer_says_about_memory_is_passed_on() {
    let scratch = project(12);
    let output = train(&scratch, "memory", &["--model", "local:tiny"]);
    assert_eq!(
        said(&output),
        "error: training needs 9 GB of memory, and 2 GB are free\nhint: a smaller batch takes less\n"
    );
}

#[test]
fn an_interrupted_training_is_gone_on_with() {
    let scratch = project(12);
    let output = train(&scratch, "interrupted", &["--model", "local:tiny", "--iterations", "7"]);
    assert_eq!(
        said(&output),
        "error: training was interrupted; what the trainer `local` has learned so far is kept\n\
         hint: `grail train --resume` goes on with it\n"
    );
    let broken_off = phase(&scratch);
    assert_eq!(
        (&broken_off["state"]["state"], &broken_off["curves"][0]["loss"]),
        (&"training".into(), &3.5.into())
    );
    let output = train(&scratch, "fine", &["--resume", "--format", "json"]);
    let told: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["phase"]["id"], broken_off["id"]);
    assert_eq!(told["phase"]["hyper_parameters"]["iterations"], 7);
    assert_eq!(told["phase"]["curves"][0]["loss"], 3.25);
    let id = broken_off["id"].as_str().unwrap();
    let config = scratch.read(&format!(".grail/phases/{id}/data/train.json"));
    assert!(config.contains("\"resume\": true"), "{config}");
    let again = train(&scratch, "fine", &["--resume"]);
    assert!(said(&again).starts_with("error: no training was broken off\n"));
}

#[test]
fn an_adapter_that_no_phase_made_is_written_down_and_gone_on_with() {
    let scratch = project(12);
    let settings = "[models.ours]\nweights = \"tiny\"\nadapter = \"found\"\n";
    fs::write(scratch.path("grail.toml"), settings).unwrap();
    fs::create_dir(scratch.path("found")).unwrap();
    train(&scratch, "interrupted", &["--model", "ours"]);
    let broken_off = phase(&scratch);
    assert_eq!((&broken_off["foreign_adapter"], broken_off.get("parent")), (&"ours".into(), None));
    let output = train(&scratch, "fine", &["--resume", "--format", "json"]);
    let told: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["phase"]["id"], broken_off["id"]);
    let id = broken_off["id"].as_str().unwrap();
    let config = scratch.read(&format!(".grail/phases/{id}/data/train.json"));
    let config: Json = serde_json::from_str(&config).unwrap();
    assert!(config["adapter"].as_str().unwrap().ends_with("/found"), "{config}");
}

#[test]
fn a_trainer_hears_that_grail_was_killed() {
    let scratch = project(12);
    let told = scratch.path("bin/told");
    assert!(Command::new("mkfifo").arg(&told).status().unwrap().success());
    let output = train(&scratch, "orphaned", &["--model", "local:tiny"]);
    assert_eq!(output.status.code(), None, "{}", said(&output));
    // Its input ends with whoever started it; until then it waits.
    assert_eq!(fs::read_to_string(&told).unwrap(), "ended\n");
    assert_eq!(phase(&scratch)["state"]["state"], "training");
    let output = train(&scratch, "fine", &["--resume", "--format", "json"]);
    let told: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["phase"]["state"]["state"], "trained");
}

#[test]
fn other_trainers_learn_from_no_pairs() {
    let scratch = project(12);
    let order = ["--model", "local:tiny", "--trainer", "mlx", "--preferences"];
    let output = train(&scratch, "fine", &order);
    assert_eq!(
        said(&output),
        "error: the trainer `mlx` cannot learn from pairs of answers\n\
         hint: leave `--preferences` out (in `grail.toml`: `preferences`), or train with `local`\n"
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_is_not_quite_as_wished_is_said_to_everybody() {
    let scratch = project(12);
    let output = train(&scratch, "fine", &["--model", "local:tiny", "--preferences"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(
        said(&output).contains("the second stage is left out: the dataset has no pairs"),
        "{}",
        said(&output)
    );
}

#[test]
fn other_trainers_learn_whole_answers_only() {
    let scratch = project(12);
    let order = ["--model", "local:tiny", "--trainer", "mlx", "--whole-every", "2"];
    let output = train(&scratch, "fine", &order);
    assert_eq!(
        said(&output),
        "error: the trainer `mlx` learns whole answers only\n\
         hint: leave `--whole-every` out (in `grail.toml`: `whole-every`), or train with `local`\n"
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn whoever_learns_beginnings_says_so() {
    let scratch = project(12);
    let order = ["--model", "local:tiny", "--whole-every", "2", "--format", "json"];
    let told: Json = serde_json::from_slice(&train(&scratch, "fine", &order).stdout).unwrap();
    assert_eq!(told["phase"]["hyper_parameters"]["whole_every"], 2);
    let id = told["phase"]["id"].as_str().unwrap();
    let config = scratch.read(&format!(".grail/phases/{id}/data/train.json"));
    assert!(config.contains("\"whole_every\": 2"), "{config}");
}

#[test]
fn three_examples_are_not_enough() {
    let scratch = project(3);
    let output = train(&scratch, "fine", &["--model", "local:tiny"]);
    assert!(
        said(&output).contains(" has 3 examples to train with; at least 8 are needed\n"),
        "{}",
        said(&output)
    );
}

#[test]
fn mlx_is_read_from_the_lines_it_prints_for_people() {
    let scratch = project(12);
    let output = train(&scratch, "", &["--model", "local:tiny", "--trainer", "mlx", "--format", "json"]);
    assert_eq!(said(&output), "");
    let told: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["phase"]["trainer"], "mlx");
    assert_eq!(told["phase"]["curves"][1]["tokens_per_second"], 90.5);
    let files: Vec<&String> = told["phase"]["adapter"]["files"].as_object().unwrap().keys().collect();
    assert_eq!(files, ["adapter_config.json", "adapters.safetensors"]);
}

#[test]
fn an_adapter_that_is_gone_on_with_keeps_its_measures() {
    let scratch = project(12);
    train(&scratch, "fine", &["--model", "local:tiny", "--rank", "4"]);
    let output = train(&scratch, "fine", &["--model", "phase:p1", "--scale", "10"]);
    assert_eq!(
        said(&output),
        "error: `phase:p1` was trained with `--scale` 20 and cannot be gone on with as 10\n\
         hint: leave `--scale` out, or begin with its weights instead of the phase\n"
    );
    assert_eq!(output.status.code(), Some(2));
    let output = train(&scratch, "fine", &["--model", "phase:p1", "--rank", "4", "--format", "json"]);
    let told: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["phase"]["hyper_parameters"]["rank"], 4);
}

#[test]
fn mlx_is_read_from_its_table_too() {
    let scratch = project(12);
    let table = MLX.replace(
        "echo 'Iter 1: Train loss 3.000, Learning Rate 2.000e-04, It/sec 1.0, Tokens/sec 90.5, Trained Tokens 90, Peak mem 1.0 GB'",
        r"printf '  \033[38;5;244m   1\033[0m    \033[1;32m3.000 ▼\033[0m    \033[1m1,090\033[0m    \033[38;5;244m  1.1k\033[0m\n'",
    );
    fs::write(scratch.path("bin/mlx_lm.lora"), table).unwrap();
    let output = train(&scratch, "", &["--model", "local:tiny", "--trainer", "mlx", "--format", "json"]);
    let told: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["phase"]["curves"][1]["loss"], 3.0);
    assert_eq!(told["phase"]["curves"][1]["tokens_per_second"], 1090.0);
}

#[test]
fn a_trainer_that_is_not_there_is_explained() {
    let scratch = project(12);
    fs::remove_file(scratch.path("bin/mlx_lm.lora")).unwrap();
    let output = train(&scratch, "", &["--model", "local:tiny", "--trainer", "mlx"]);
    assert!(
        said(&output).starts_with("error: the trainer `mlx` needs `mlx_lm.lora`, which is neither in"),
        "{}",
        said(&output)
    );
    fs::write(scratch.path("tiny.gguf"), "GGUF").unwrap();
    let output = train(&scratch, "", &["--model", "local:tiny.gguf", "--trainer", "trl"]);
    assert!(said(&output).contains("it takes folders with `.safetensors` files"), "{}", said(&output));
}
