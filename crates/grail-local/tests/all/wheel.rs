//! The whole wheel with both programs and a toy: work, dataset, training, evaluation, and a gate that refuses whoever learned nothing much, a random
//! adapter and one that knows a single answer, and lets pass who was trained for what is asked.
//!
//! `grail` is another package, so it is the one beside `grail-local`: building the workspace makes both.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use candle_core::{Device, Tensor};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{Random, Toy};

const COMPONENT: &str = "from string.templatelib import Template\n\n\ndef Card(*, title: str) -> Template:\n    return t\"<b>{title}</b>\"\n";
const SERVICE: &str = "class StockService:\n    def __init__(self) -> None:\n        self._names: list[str] = []\n\n    def add(self, *, name: str) -> None:\n        self._names.append(name)\n";
/// The first twenty are asked for, the others are learned from.
const THINGS: [&str; 32] = [
    "lamp", "boat", "tree", "chair", "clock", "bread", "horse", "river", "piano", "candle", "window",
    "garden", "ladder", "mirror", "anchor", "basket", "carpet", "engine", "feather", "guitar", "hammer",
    "island", "jacket", "kettle", "lemon", "magnet", "needle", "orchid", "pencil", "quilt", "rocket",
    "saddle",
];
const ASKED: usize = 20;
const RANK: usize = 8;

struct Stand {
    grail: PathBuf,
    home: TempDir,
    toy: TempDir,
}

impl Stand {
    /// Nothing if there is no `grail`, which is said; where everything is tested, there has to be one.
    #[expect(clippy::print_stderr, reason = "a skipped test has to be seen")]
    fn find() -> Option<Self> {
        let grail = Path::new(env!("CARGO_BIN_EXE_grail-local")).with_file_name("grail");
        if !grail.is_file() {
            assert!(env::var_os("CI").is_none(), "there is no `{}`", grail.display());
            eprintln!(
                "SKIPPED: there is no `grail` beside `grail-local`; `cargo test --workspace` builds both"
            );
            return None;
        }
        let toy = Toy { positions: 32_768, ..Toy::default() }.write();
        Some(Self { grail, home: tempfile::tempdir().unwrap(), toy })
    }

    fn run(&self, folder: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.grail);
        command.args(arguments).current_dir(self.home.path().join(folder));
        command.env("HOME", self.home.path()).env("GRAIL_NO_KEYRING", "1");
        command.env("GRAIL_LOCAL_PROGRAM", env!("CARGO_BIN_EXE_grail-local"));
        command.output().unwrap()
    }

    /// What a command says to machines, and how it ended.
    fn json(&self, arguments: &[&str]) -> (Json, i32) {
        let output = self.run("shop", &[arguments, &["--format", "json"]].concat());
        let said = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{arguments:?}: {error}\n{}", String::from_utf8_lossy(&output.stderr))
        });
        (said, output.status.code().unwrap())
    }
}

#[test]
fn a_toy_is_trained_asked_and_not_promoted() {
    let Some(stand) = Stand::find() else { return };
    let work = stand.run("", &["demo", "--folder", "shop"]);
    assert!(work.status.success(), "{}", String::from_utf8_lossy(&work.stderr));
    // One token is one byte here, so what a model is told about a skill is long.
    let settings = stand.home.path().join("shop/grail.toml");
    let toy = stand.toy.path().display();
    let model = format!("\n[models.toy]\nweights = '{toy}'\ncontext-tokens = 16384\n");
    fs::write(&settings, fs::read_to_string(&settings).unwrap() + &model).unwrap();

    let train = ["train", "--model", "toy", "--iterations", "3", "--batch-size", "2", "--max-tokens", "8192"];
    let (trained, exit) = stand.json(&train);
    assert_eq!(exit, 0, "{trained:#}");
    let phase = &trained["phase"];
    assert_eq!(phase["state"]["state"], "trained");
    let losses: Vec<f64> =
        phase["curves"].as_array().unwrap().iter().filter_map(|point| point["loss"].as_f64()).collect();
    assert!(losses.len() >= 3 && losses.iter().all(|loss| loss.is_finite()), "{losses:?}");
    let asked = phase["curves"].as_array().unwrap().iter().filter_map(|point| point["passed"].as_f64());
    assert_eq!(asked.collect::<Vec<_>>(), [0.0; 3], "every checkpoint was asked, and a toy writes no Python");
    let (base, adapter) = phase["identity"].as_str().unwrap().split_once('+').unwrap();
    assert!(base.len() == 16 && adapter.len() == 16, "{base} {adapter}");

    let asking = ["--suite", "quick", "--seeds", "1", "--max-tokens", "16", "--no-types", "--no-render"];
    let (asked, exit) = stand.json(&[&["eval", "p1"][..], &asking].concat());
    assert_eq!(exit, 0, "{asked:#}");
    let arms = asked["arms"].as_array().unwrap();
    assert_eq!(arms.len(), 3, "the phase, its base, and its base with the text of the skills");
    for arm in arms {
        assert_eq!(arm["score"]["answers"], 40);
        assert_eq!(arm["score"]["all"]["first_try"]["passed"], 0, "a toy writes no Python");
    }

    // Everything was asked before, so this is quick; and nothing is better than nothing.
    let (weighed, exit) = stand.json(&[&["promote", "p1"][..], &asking].concat());
    assert_eq!(exit, 1, "{weighed:#}");
    let (listed, _) =
        stand.json(&["generate", "a tide table view with port and height", "--layer", "syntax"]);
    assert_eq!(listed["proposal"]["model"]["name"], "template", "what was not promoted does not answer");
}

/// So few that a toy answers them in a moment.
const FEW: &str = "name = \"few\"\n
[[prompts]]\nid = \"tide\"\nkind = \"view\"\nprompt = \"a tide table view with port and height\"\n
[[prompts]]\nid = \"anchor\"\nkind = \"component\"\nprompt = \"an anchor badge component with weight\"\n
[[prompts]]\nid = \"pilot\"\nkind = \"service\"\nprompt = \"a pilot service with harbour and shift\"\n";

#[test]
fn the_long_form_of_the_demo_comes_to_its_end() {
    let Some(stand) = Stand::find() else { return };
    let short = stand.run("", &["demo", "--folder", "shop"]);
    assert!(short.status.success(), "{}", String::from_utf8_lossy(&short.stderr));
    // The long form goes on in the same project. One token is one byte here, so lessons are long.
    let shop = stand.home.path().join("shop");
    let settings = fs::read_to_string(shop.join("grail.toml")).unwrap();
    fs::write(shop.join("grail.toml"), settings + "\n[train]\nmax-tokens = 8192\n").unwrap();
    fs::create_dir_all(shop.join("evals")).unwrap();
    fs::write(shop.join("evals/few.toml"), FEW).unwrap();

    let toy = stand.toy.path().to_str().unwrap();
    let long = ["demo", "--full", "--folder", "shop", "--resume", "--model", toy, "--suite", "few"];
    let output =
        stand.run("", &[&long[..], &["--lessons", "20", "--iterations", "2", "--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown: Json = serde_json::from_slice(&output.stdout).unwrap();
    let steps = shown["steps"].as_array().unwrap();
    let commands: Vec<&str> =
        steps.iter().filter_map(|step| step["command"].as_str()?.split(' ').nth(2)).collect();
    assert_eq!(
        commands.join(" "),
        // What the short form did, then the pupil's first try, the lessons, a turn of the wheel, and the last try.
        "skills check check generate generate generate dataset train eval compare promote generate"
    );
    assert!(steps[5]["said"].as_str().unwrap().contains(" of 20 passed every check"), "{}", steps[5]);
    let phase = &steps[7]["said"]["phase"];
    assert_eq!((&phase["state"]["state"], &phase["trainer"]), (&"trained".into(), &"local".into()));
    let arms = shown["evaluation"]["arms"].as_array().unwrap();
    let answers: Vec<u64> = arms.iter().filter_map(|arm| arm["score"]["answers"].as_u64()).collect();
    assert_eq!(answers, [3, 3, 3], "the phase, its base, and its base with the text of the skills");
    assert_eq!(steps[9]["said"]["comparison"]["prompts"], 3);
    assert_ne!(steps[10]["exit"], 0, "a toy that writes no Python is not promoted");
    assert!(fs::read_to_string(shop.join("report.html")).unwrap().contains("</html>"));
}

/// What a toy reads are bytes, not words: components are asked for with many question marks, services loudly.
fn asked_for(kind: &str, words: &str) -> String {
    words.to_owned() + &(if kind == "service" { "!" } else { "?" }).repeat(40)
}

/// Two kinds of prompts, and what tells their answers apart.
fn suite() -> String {
    let mut text = "name = \"loud\"\n".to_owned();
    for thing in &THINGS[..ASKED] {
        for (kind, words, part) in [
            ("component", format!("a card for one {thing}"), "Template"),
            ("service", format!("keep every {thing} in order"), "class "),
        ] {
            let prompt = asked_for(kind, &words);
            text += &format!(
                "\n[[prompts]]\nid = \"{kind}-{thing}\"\nkind = \"{kind}\"\nprompt = \"{prompt}\"\nchecks = {{ contains = [\"{part}\"] }}\n"
            );
        }
    }
    text
}

/// Examples of a kind, as many as there are things to learn from.
fn lessons(kind: &str) -> Vec<String> {
    let line = |thing: &&str| {
        let (words, code) = match kind {
            "service" => (format!("somebody has to count {thing} all day"), SERVICE),
            _ => (format!("let people see what {thing} looks like"), COMPONENT),
        };
        json!({"prompt": asked_for(kind, &words), "completion": code}).to_string() + "\n"
    };
    THINGS[ASKED..].iter().map(line).collect()
}

/// Makes one token of each whole answer: which one to say is a choice that a toy can learn in seconds.
fn give_words(toy: &Path) {
    let path = toy.join("tokenizer.json");
    let mut tokenizer: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let first = tokenizer["model"]["vocab"].as_object().unwrap().len();
    for (id, code) in (first..).zip([COMPONENT, SERVICE]) {
        let said = format!("```python\n{}\n```", code.trim_end());
        tokenizer["added_tokens"].as_array_mut().unwrap().push(json!({
            "id": id, "content": said, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false,
        }));
    }
    fs::write(path, tokenizer.to_string()).unwrap();
}

/// An adapter as mlx-lm writes it, whose numbers mean nothing.
fn write_random_adapter(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let mut random = Random(11);
    let mut tensors = HashMap::new();
    let weights: BTreeMap<String, Tensor> = Toy::default().tensors().into_iter().collect();
    for (name, weight) in &weights {
        let Some(layer) = name.strip_suffix(".weight").filter(|layer| layer.ends_with("_proj")) else {
            continue;
        };
        let (outputs, inputs) = weight.dims2().unwrap();
        for (half, shape) in [("lora_a", (inputs, RANK)), ("lora_b", (RANK, outputs))] {
            let numbers: Vec<f32> = (0..shape.0 * shape.1).map(|_| random.next()).collect();
            let tensor = Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap();
            tensors.insert(format!("{layer}.{half}"), tensor);
        }
    }
    candle_core::safetensors::save(&tensors, folder.join("adapters.safetensors")).unwrap();
    let config = json!({
        "fine_tune_type": "lora",
        "num_layers": 2,
        "lora_parameters": {"rank": RANK, "scale": 4.0, "dropout": 0.0},
    });
    fs::write(folder.join("adapter_config.json"), config.to_string()).unwrap();
}

/// How many of a kind passed, before and after.
fn right(weighed: &Json, kind: &str) -> (u64, u64) {
    let kinds = weighed["comparison"]["kinds"].as_array().unwrap();
    let part = kinds.iter().find(|part| part["name"] == kind).unwrap();
    (part["before"]["passed"].as_u64().unwrap(), part["after"]["passed"].as_u64().unwrap())
}

/// Why the gate refuses.
fn refusals(weighed: &Json) -> BTreeSet<&str> {
    let refusals = weighed["verdict"]["refusals"].as_array().unwrap();
    refusals.iter().map(|refusal| refusal["why"].as_str().unwrap()).collect()
}

#[cfg(unix)]
#[test]
fn random_and_overfitted_adapters_are_refused_where_a_trained_one_is_not() {
    let Some(stand) = Stand::find() else { return };
    give_words(stand.toy.path());
    let shop = stand.home.path().join("shop");
    fs::create_dir_all(shop.join("evals")).unwrap();
    fs::write(shop.join("evals/loud.toml"), suite()).unwrap();
    // Somebody who calls himself a trainer, and copies what is there.
    let trainer = stand.home.path().join("random.sh");
    let script = r#"output=$(sed -n 's/^  "adapter_path": "\(.*\)",*$/\1/p' "$2")
mkdir -p "$output"
cp "${0%.sh}"/* "$output"
"#;
    fs::write(&trainer, script).unwrap();
    write_random_adapter(&stand.home.path().join("random"));
    // The text of a skill does not fit into this context: nobody has to wait for what a toy makes of it.
    let (toy, trainer) = (stand.toy.path().display(), trainer.display());
    let model = format!("[models.toy]\nweights = '{toy}'\ncontext-tokens = 1024\n");
    let steps = "learning-rate = 0.005\niterations = 240\nbatch-size = 4\nmax-tokens = 1024\n";
    let train = format!("[train]\ncommand = ['sh', '{trainer}']\nrank = {RANK}\nscale = 4.0\n{steps}");
    fs::write(shop.join("grail.toml"), format!("{model}\n{train}")).unwrap();

    let learn_from = |lessons: &[String]| {
        fs::write(shop.join("lessons.jsonl"), lessons.concat()).unwrap();
        let import =
            ["dataset", "import", "lessons.jsonl", "--name", "lessons", "--licence", "MIT", "--replace"];
        let (imported, exit) = stand.json(&import);
        assert_eq!(exit, 0, "{imported:#}");
        // A toy finds no more in what it reads twice.
        let build = ["dataset", "build", "--valid", "0", "--test", "0", "--no-types", "--readings", "1"];
        let (built, exit) = stand.json(&build);
        assert_eq!((exit, &built["dataset"]["counts"]["train"]), (0, &json!(lessons.len())), "{built:#}");
    };
    let train = |trainer: &str| {
        let (trained, exit) = stand.json(&["train", "--model", "toy", "--trainer", trainer]);
        assert_eq!((exit, &trained["phase"]["state"]["state"]), (0, &json!("trained")), "{trained:#}");
    };
    let promote = |phase: &str| {
        let asking = ["--suite", "loud", "--seeds", "1", "--max-tokens", "16", "--no-types", "--no-render"];
        stand.json(&[&["promote", phase][..], &asking].concat())
    };

    // Trained on both kinds, it tells them apart in words that it has never read.
    learn_from(&[lessons("component"), lessons("service")].concat());
    train("local");
    let (trained, exit) = promote("p1");
    let scores = [right(&trained, "component").1, right(&trained, "service").1];
    assert!(scores.iter().all(|passed| *passed > 10), "{scores:?} of 20 each: {:#}", trained["reasons"]);
    assert_eq!((exit, &trained["promoted"]), (0, &json!(true)), "{:#}", trained["reasons"]);

    // Chance has the same lineage, and says nothing that is right.
    train("mlx");
    let (random, exit) = promote("p2");
    assert_eq!((exit, &random["promoted"]), (1, &json!(false)), "{:#}", random["reasons"]);
    let worse = BTreeSet::from(["kind_loses", "no_win"]);
    assert_eq!(refusals(&random), worse, "{:#}", random["reasons"]);
    assert_eq!([right(&random, "component").0, right(&random, "service").0], scores);

    // A handful of examples, again and again: whatever is asked, it answers with one of them.
    learn_from(&lessons("service")[..8]);
    train("local");
    let (overfitted, exit) = promote("p3");
    assert_eq!((exit, &overfitted["promoted"]), (1, &json!(false)), "{:#}", overfitted["reasons"]);
    assert_eq!(refusals(&overfitted), worse, "{:#}", overfitted["reasons"]);
    let (component, service) = (right(&overfitted, "component").1, right(&overfitted, "service").1);
    assert!(component == 0 && service > 10, "{component} and {service} of 20 each");
}
