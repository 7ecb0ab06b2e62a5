//! The whole wheel with a program that stands in for `grail-local`: it trains at once, and with its adapter it knows the answers.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use grail_flywheel::evaluation::list_evaluations;
use grail_flywheel::suite::load_suite;
use serde_json::{Value as Json, json};

use crate::learning::suite;
use crate::scratch::{Scratch, has_python, render};
use crate::train::theirs;

/// Inspects, trains and serves as `grail-local` does. The base answers with half a file; with the adapter, what is right is looked up.
const LOCAL: &str = r#"#!/usr/bin/env python3
import json, os, signal, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HASH = "0123456789abcdef" * 4
arguments = sys.argv[1:]
option = lambda name: arguments[arguments.index(name) + 1] if name in arguments else None
IDENTITY = HASH[:16] + ("+feedfeedfeedfeed" if option("--adapter") else "")

def train():
    config = json.load(open(option("--config")))
    print(json.dumps({"event": "start", "iterations": 1}), flush=True)
    behaviour = os.environ["GRAIL_TEST_ANSWERS"] + ".train"
    behaviour = open(behaviour).read() if os.path.exists(behaviour) else "well"
    if behaviour == "badly":
        sys.exit("error: there is no room")
    if behaviour == "interrupted":
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)
    os.makedirs(config["output"], exist_ok=True)
    for name in ("adapters.safetensors", "adapter_config.json"):
        open(os.path.join(config["output"], name), "w").write("{}")
    print(json.dumps({"event": "step", "step": 1, "loss": 0.5}), flush=True)
    print(json.dumps({"event": "done", "step": 1}), flush=True)

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def reply(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        listed = {"id": NAME, "object": "model", "owned_by": "grail-local", "identity": IDENTITY}
        self.reply("application/json", json.dumps({"object": "list", "data": [listed]}))

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = [message["content"] for message in asked["messages"] if message["role"] == "user"][0]
        # It is said twice, with an empty line between.
        said = said[: len(said) // 2 - 1]
        known = json.load(open(os.environ["GRAIL_TEST_ANSWERS"])).get(said) if option("--adapter") else None
        text = f"```python\n{known}```" if known else "```python\ndef half("
        with open(os.environ["GRAIL_TEST_ANSWERS"] + ".log", "a") as log:
            log.write(f"{NAME}\n")
        base = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": NAME, "system_fingerprint": IDENTITY}
        parts = [{"delta": {"role": "assistant", "content": text}, "index": 0}, {"delta": {}, "index": 0, "finish_reason": "stop"}]
        lines = [json.dumps({**base, "choices": [part]}) for part in parts]
        usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        lines.append(json.dumps({**base, "choices": [], "usage": usage}))
        self.reply("text/event-stream", "".join(f"data: {line}\n\n" for line in lines + ["[DONE]"]))

if arguments[0] == "inspect":
    print(json.dumps({"architecture": "llama", "parameters": 7, "sha256": HASH, "identity": IDENTITY}))
elif arguments[0] == "train":
    train()
else:
    NAME = option("--name")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ready = {"port": server.server_port, "model": NAME, "identity": IDENTITY, "parameters": 7, "memory_bytes": 1}
    print(json.dumps({"ready": ready}), flush=True)
    sys.stdin.read()
"#;

const SETTINGS: &str = "[learn]\nmodel = \"local:tiny\"\nsuite = \"cards\"\nseeds = 1\nnew-examples = 10\n";

pub(crate) struct Wheel(pub(crate) Scratch);

impl Wheel {
    /// A project with weights, a suite, and everything that the phase will know.
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new(&[
            ("grail.toml", SETTINGS),
            ("evals/cards.toml", &suite(48)),
            ("tiny/config.json", "{}"),
            ("tiny/model.safetensors", "numbers"),
            ("bin/grail-local", LOCAL),
        ]);
        fs::set_permissions(scratch.path("bin/grail-local"), fs::Permissions::from_mode(0o755)).unwrap();
        scratch.run(&["eval", "template", "--no-types", "--no-render"]);
        let prompts = load_suite(scratch.root(), "cards").unwrap();
        let known = list_evaluations(scratch.root()).unwrap().remove(0).unwrap();
        let mut answers: BTreeMap<String, String> = known
            .answers
            .into_iter()
            .map(|answer| (prompts.get(&answer.prompt).unwrap().prompt.clone(), answer.code))
            .collect();
        let badge = "from string.templatelib import Template\n\n\ndef LampBadge(*, colour: str) -> Template:\n    return t\"<b>{colour}</b>\"\n";
        answers.insert("a lamp badge component with colour".to_owned(), badge.to_owned());
        fs::write(scratch.path("answers.json"), serde_json::to_string(&answers).unwrap()).unwrap();
        Self(scratch)
    }

    /// With a first phase that nobody has asked anything.
    fn with_phase() -> Self {
        let wheel = Self::new();
        wheel.run(&["dataset", "import", "--skills"]);
        wheel.run(&["dataset", "build"]);
        wheel.run(&["train", "--model", "local:tiny"]);
        wheel
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self
            .0
            .command(arguments)
            .env("GRAIL_LOCAL_PROGRAM", self.0.path("bin/grail-local"))
            .env("GRAIL_TEST_ANSWERS", self.0.path("answers.json"))
            .output()
            .unwrap();
        render(&output)
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Json {
        let seen = self.run(&[arguments, &["--format", "json"]].concat());
        let text: String =
            seen.lines().filter(|line| !line.starts_with('!') && !line.starts_with("exit ")).collect();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {seen}"))
    }

    /// How training goes from now on: `well`, `badly` or `interrupted`.
    fn trains(&self, behaviour: &str) {
        fs::write(self.0.path("answers.json.train"), behaviour).unwrap();
    }

    /// What a turn comes to, or would.
    fn outcome(&self, arguments: &[&str]) -> Json {
        self.json(&[&["learn"], arguments].concat())["result"]["outcome"].clone()
    }

    /// How often each model was asked.
    pub(crate) fn asked(&self) -> BTreeMap<String, usize> {
        let mut asked = BTreeMap::new();
        for name in fs::read_to_string(self.0.path("answers.json.log")).unwrap_or_default().lines() {
            *asked.entry(name.to_owned()).or_default() += 1;
        }
        asked
    }
}

#[test]
fn one_turn_of_the_wheel_ends_with_a_phase_that_answers() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    wheel.run(&["dataset", "import", "--skills"]);
    let turn = wheel.json(&["learn"]);
    assert_eq!(turn["result"]["outcome"], "promoted", "{turn:#}");
    let phase = turn["phase"]["id"].as_str().unwrap();
    assert_eq!(
        turn["steps"].as_array().unwrap().iter().map(|step| &step["step"]).collect::<Vec<_>>(),
        ["build", "train", "evaluate"]
    );
    assert_eq!(turn["weighed"]["verdict"]["promote"], true);
    // The phase, the base, and the base with the skill: once each.
    let asked = wheel.asked();
    assert_eq!(asked[phase], 48);
    assert_eq!(asked.values().sum::<usize>(), 3 * 48, "{asked:?}");
    // The next turn finds nothing new, and asks nobody.
    assert_eq!(wheel.json(&["learn"])["result"]["outcome"], "nothing_new");
    assert_eq!(wheel.asked(), asked);
    // What was promoted answers in daily work, and the events say so.
    let made = wheel.json(&[
        "generate",
        "a lamp badge component with colour",
        "--layer",
        "syntax",
        "--layer",
        "rules",
    ]);
    assert_eq!(made["proposal"]["files"][0]["path"], "components/lamp_badge.py");
    let stats = wheel.json(&["events", "stats", "--by", "phase"]);
    let phases = stats["stats"]["phases"].as_array().unwrap();
    assert!(phases.iter().any(|group| group["name"] == phase && group["generations"] == 1), "{phases:?}");
    wheel.run(&["rollback"]);
    let chosen = wheel.run(&["generate", "a lamp badge component with colour", "--layer", "syntax"]);
    assert!(chosen.contains("by template"), "{chosen}");
}

#[test]
fn training_is_the_last_lever_and_is_promoted_by_a_person() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    wheel.run(&["dataset", "import", "--skills"]);
    let levers = |more: &[&str]| {
        let found = wheel.json(&[&["improve", "template", "--no-types", "--no-render"], more].concat());
        found["improvements"]["levers"].as_array().unwrap().clone()
    };
    let tried = levers(&["--train"]).remove(0);
    assert_eq!((&tried["lever"], &tried["accepted"]), (&"training".into(), &true.into()), "{tried:#}");
    assert!(tried["gained"]["interval"]["low"].as_f64().unwrap() > 0.5, "{tried:#}");
    // The phase, the base, and the base with the skill, with seven tokens each.
    assert_eq!((&tried["cost"]["answers"], &tried["cost"]["output_tokens"]), (&144.into(), &1008.into()));
    assert!(!wheel.0.path(".grail/phases/current.json").exists());
    let asked = wheel.asked();
    // Nothing is new: the phase is there, and so are its answers.
    let again = levers(&["--train"]).remove(0);
    assert_eq!((&again["what"], &again["gained"]), (&tried["what"], &tried["gained"]));
    assert_eq!((&again["cost"]["answers"], &again["cost"]["output_tokens"]), (&0.into(), &0.into()));
    assert_eq!(wheel.asked(), asked);
    let untried = levers(&[]).remove(0);
    assert!(untried["next"].as_str().unwrap().contains("; 0 of "), "{untried:#}");
    assert!(untried.get("cost").is_none(), "{untried:#}");
    // What is told to type does it.
    let next = tried["next"].as_str().unwrap();
    let phase = next.split(['`', ' ']).nth(3).unwrap();
    assert_eq!(next, format!("`grail promote {phase}` lets it answer"));
    let promoted = wheel.run(&["promote", phase, "--no-types", "--no-render"]);
    assert!(promoted.ends_with("exit 0\n"), "{promoted}");
}

#[test]
fn weights_that_were_swapped_behind_a_name_answer_nothing() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::with_phase();
    let program = wheel.0.path("bin/grail-local");
    fs::write(&program, LOCAL.replace("feedfeedfeedfeed", "0000000000000000")).unwrap();
    let seen = wheel.run(&["promote", "p1", "--no-types", "--no-render"]);
    assert!(seen.contains("0123456789abcdef+0000000000000000") && seen.ends_with("exit 2\n"), "{seen}");
    assert_eq!(wheel.asked(), BTreeMap::new());
}

#[test]
fn a_phase_that_nobody_has_weighed_is_where_a_turn_begins() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::with_phase();
    // Whoever trained did not evaluate: the turn begins there.
    let planned = wheel.json(&["learn", "--dry-run"]);
    assert_eq!(planned["result"]["outcome"], "would_weigh");
    let turn = wheel.json(&["learn"]);
    assert_eq!(turn["result"]["outcome"], "promoted", "{turn:#}");
    assert_eq!(turn["steps"].as_array().unwrap().len(), 2);
}

#[test]
fn a_turn_that_runs_out_of_time_is_gone_on_with() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    // No time at all, unless somebody gives some.
    fs::write(wheel.0.path("grail.toml"), format!("{SETTINGS}minutes = 0\n")).unwrap();
    wheel.run(&["dataset", "import", "--skills"]);
    let out_of_time = |during: &str| json!({"outcome": "out_of_time", "during": during});
    let first = wheel.json(&["learn"]);
    assert_eq!(first["result"], out_of_time("training"), "{first:#}");
    let steps: Vec<&Json> = first["steps"].as_array().unwrap().iter().map(|step| &step["step"]).collect();
    assert_eq!(steps, ["build", "train"]);
    // What is done meanwhile makes another dataset, and what was begun is gone on with all the same.
    fs::write(wheel.0.path("theirs.jsonl"), theirs(12)).unwrap();
    wheel.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs", "--licence", "MIT"]);
    let second = wheel.json(&["learn"]);
    assert_eq!(second["result"], out_of_time("training"), "{second:#}");
    assert_ne!(second["dataset"], first["dataset"]);
    let resumed = wheel.run(&["train", "--resume"]);
    assert!(resumed.starts_with("phase:p1-") && resumed.ends_with("exit 0\n"), "{resumed}");
    let third = wheel.json(&["learn"]);
    assert_eq!(third["result"], out_of_time("evaluation"), "{third:#}");
    let phase = &third["phase"]["id"];
    let told = wheel.run(&["learn"]);
    assert!(told.contains("out of time during evaluation; the next turn goes on there\n"), "{told}");
    let last = wheel.json(&["learn", "--minutes", "60"]);
    assert_eq!(last["result"]["outcome"], "promoted", "{last:#}");
    assert_eq!(&last["phase"]["id"], phase);
}

#[test]
fn a_sequential_comparison_asks_no_more_than_it_needs() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::with_phase();
    let arguments = ["compare", "local:tiny", "p1", "--sequential", "--no-types", "--no-render"];
    let told = wheel.json(&arguments);
    let (comparison, sequential) = (&told["comparison"], &told["comparison"]["sequential"]);
    assert_eq!((&told["whole"], &sequential["decision"]), (&false.into(), &"better".into()), "{told:#}");
    let prompts = comparison["prompts"].as_u64().unwrap() as usize;
    assert!(prompts < 48, "{prompts}");
    assert_eq!(comparison["after"]["passed"]["passed"], prompts);
    // Both were asked the same, and the rest of the suite nobody.
    let asked = wheel.asked();
    assert_eq!(asked.values().copied().collect::<Vec<_>>(), [prompts, prompts], "{asked:?}");
    let seen = wheel.run(&[&arguments[..], &["--examples", "0"]].concat());
    let decided = format!("sequentially: better, decided after {} prompts\n", sequential["decided_after"]);
    assert!(seen.contains(&decided), "{seen}");
    assert!(seen.contains(&format!("! stopped after {prompts} of 48 prompts: it is decided\n")), "{seen}");
    // Answers that are there are not asked for again; without `--sequential` the others are.
    assert_eq!(wheel.asked(), asked);
    let whole = wheel.json(&["compare", "local:tiny", "p1", "--no-types", "--no-render"]);
    assert_eq!((&whole["whole"], &whole["comparison"]["prompts"]), (&true.into(), &48.into()));
    assert_eq!(wheel.asked().values().copied().collect::<Vec<_>>(), [48, 48]);
}

#[test]
fn a_training_that_was_broken_off_is_gone_on_with_whatever_was_added_since() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    fs::write(wheel.0.path("theirs.jsonl"), theirs(12)).unwrap();
    wheel.run(&["dataset", "import", "theirs.jsonl", "--name", "theirs", "--licence", "MIT"]);
    wheel.run(&["dataset", "build", "--valid", "0", "--test", "0"]);
    wheel.trains("interrupted");
    let seen = wheel.run(&["train", "--model", "local:tiny"]);
    assert!(seen.contains("training was interrupted"), "{seen}");
    wheel.trains("well");
    wheel.run(&["dataset", "import", "--skills"]);
    let planned = wheel.json(&["learn", "--dry-run"]);
    assert_eq!(planned["result"]["outcome"], "would_resume", "{planned:#}");
    let turn = wheel.json(&["learn"]);
    assert_eq!(turn["result"]["outcome"], "promoted", "{turn:#}");
    assert_eq!(turn["phase"]["id"], planned["phase"]["id"]);
    assert_ne!(turn["phase"]["dataset"], turn["dataset"]);
    // What was added is learned by the next turn.
    assert_eq!(wheel.outcome(&["--dry-run"]), "would_train");
    // What training begins with is not what was broken off.
    wheel.trains("interrupted");
    wheel.run(&["learn", "--model", "phase:p1"]);
    wheel.trains("well");
    let turn = wheel.json(&["learn", "--model", "phase:p1"]);
    assert_eq!(turn["phase"]["parent"], planned["phase"]["id"], "{turn:#}");
    assert_eq!(turn["result"]["outcome"], "kept", "{turn:#}");
    assert_eq!(wheel.outcome(&[]), "nothing_new");
}

#[test]
fn an_evaluation_decides_nothing_and_what_was_decided_is_not_weighed_again() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    fs::write(wheel.0.path("answers.json"), "{}").unwrap();
    wheel.run(&["dataset", "import", "--skills"]);
    wheel.run(&["dataset", "build"]);
    wheel.run(&["train", "--model", "local:tiny"]);
    wheel.run(&["eval", "p1"]);
    assert_eq!(wheel.outcome(&["--dry-run"]), "would_weigh");
    let turn = wheel.json(&["learn"]);
    assert_eq!(turn["result"]["outcome"], "kept", "{turn:#}");
    assert!(turn["phase"]["refusals"][0].as_str().unwrap().starts_with("it is no win"), "{turn:#}");
    let asked = wheel.asked();
    assert_eq!(wheel.outcome(&[]), "nothing_new");
    assert_eq!(wheel.asked(), asked);
}

#[test]
fn a_training_that_failed_has_taught_nobody() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    wheel.run(&["dataset", "import", "--skills"]);
    wheel.run(&["dataset", "build"]);
    wheel.trains("badly");
    let seen = wheel.run(&["train", "--model", "local:tiny"]);
    assert!(seen.contains("there is no room"), "{seen}");
    let planned = wheel.json(&["learn", "--dry-run"]);
    assert_eq!(planned["result"]["outcome"], "would_train", "{planned:#}");
    assert_eq!(planned["new_examples"], planned["examples"]);
}
