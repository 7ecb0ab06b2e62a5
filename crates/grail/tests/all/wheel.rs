//! The whole wheel with a program that stands in for `grail-local`: it trains at once, and with its adapter it knows the answers.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use grail_flywheel::evaluation::list_evaluations;
use grail_flywheel::suite::load_suite;
use serde_json::Value as Json;

use crate::learning::suite;
use crate::scratch::{Scratch, has_python, render};

/// Inspects, trains and serves as `grail-local` does. The base answers with half a file; with the adapter, what is right is looked up.
const LOCAL: &str = r#"#!/usr/bin/env python3
import json, os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HASH = "0123456789abcdef" * 4
arguments = sys.argv[1:]
option = lambda name: arguments[arguments.index(name) + 1] if name in arguments else None
IDENTITY = HASH[:16] + ("+feedfeedfeedfeed" if option("--adapter") else "")

def train():
    config = json.load(open(option("--config")))
    print(json.dumps({"event": "start", "iterations": 1}), flush=True)
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

struct Wheel(Scratch);

impl Wheel {
    /// A project with weights, a suite, and everything that the phase will know.
    fn new() -> Self {
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

    fn run(&self, arguments: &[&str]) -> String {
        let output = self
            .0
            .command(arguments)
            .env("GRAIL_LOCAL_PROGRAM", self.0.path("bin/grail-local"))
            .env("GRAIL_TEST_ANSWERS", self.0.path("answers.json"))
            .output()
            .unwrap();
        render(&output)
    }

    fn json(&self, arguments: &[&str]) -> Json {
        let seen = self.run(&[arguments, &["--format", "json"]].concat());
        let text: String =
            seen.lines().filter(|line| !line.starts_with('!') && !line.starts_with("exit ")).collect();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {seen}"))
    }

    /// How often each model was asked.
    fn asked(&self) -> BTreeMap<String, usize> {
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
fn weights_that_were_swapped_behind_a_name_answer_nothing() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    wheel.run(&["dataset", "import", "--skills"]);
    wheel.run(&["dataset", "build"]);
    wheel.run(&["train", "--model", "local:tiny"]);
    let program = wheel.0.path("bin/grail-local");
    fs::write(&program, LOCAL.replace("feedfeedfeedfeed", "0000000000000000")).unwrap();
    let seen = wheel.run(&["promote", "p1", "--no-types", "--no-render"]);
    assert!(seen.contains("0123456789abcdef+0000000000000000") && seen.ends_with("exit 2\n"), "{seen}");
    assert_eq!(wheel.asked(), BTreeMap::new());
}

#[test]
fn a_turn_that_runs_out_of_time_is_gone_on_with() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    wheel.run(&["dataset", "import", "--skills"]);
    wheel.run(&["dataset", "build"]);
    wheel.run(&["train", "--model", "local:tiny"]);
    // Whoever trained did not evaluate: the turn begins there.
    let planned = wheel.json(&["learn", "--dry-run"]);
    assert_eq!(planned["result"]["outcome"], "would_weigh");
    let turn = wheel.json(&["learn"]);
    assert_eq!(turn["result"]["outcome"], "promoted", "{turn:#}");
    assert_eq!(turn["steps"].as_array().unwrap().len(), 2);
}
