//! Two whole conversations, as they were recorded: one with direct calls, one in code mode. What Grail sends must be what it sent then.
//!
//! A change of the prompts, of a tool's signature or of a built-in skill's description is a change of these files:
//! `GRAIL_RECORD=1 cargo test -p grail-agent recorded` writes them anew, and the difference is to be read.

use std::path::PathBuf;

use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::{Mode, Proposal, tools};
use grail_model::{Model, Recorder, Recording, Replay, Scripted, Step, ToolCall};
use grail_rules::Layer;
use serde_json::json;

use crate::sample::Sample;

const INTENT: &str = "a cart service that adds up prices";
/// The rules find two things in it; one of them they mend themselves.
const FIRST: &str = "class CartService:\n    def __init__(self, prices: list[float]):\n        self.prices = prices\n\n    def total(self) -> float\n        return sum(self.prices)\n";
const SECOND: &str = "\"\"\"Carts.\"\"\"\n\n\nclass CartService:\n    def __init__(self, *, prices: list[float]) -> None:\n        self._prices = prices\n\n    def total(self) -> float:\n        return sum(self._prices)\n";

fn sample() -> Sample {
    Sample::new(&[("shop/money.py", "def rounded(amount: float) -> float:\n    return round(amount, 2)\n")])
}

async fn converse(sample: &Sample, model: &dyn Model, mode: Mode) -> Proposal {
    let settings =
        GenerateSettings { layers: vec![Layer::Syntax, Layer::Rules], mode, ..GenerateSettings::default() };
    let tools = tools::for_generating(&sample.workspace).unwrap();
    let start = Generation::start(&sample.workspace, model, tools, INTENT, settings, Company::default());
    start.await.unwrap().run().await.unwrap()
}

/// Replays a recording; or, where one is to be made, makes it from a script.
async fn play(name: &str, script: Vec<Step>, mode: Mode) -> Proposal {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(name);
    if std::env::var_os("GRAIL_RECORD").is_some() {
        let sample = sample();
        let recorder = Recorder::new(Scripted::new(script));
        converse(&sample, &recorder, mode).await;
        recorder.recording().write(&path).unwrap();
    }
    let recording = Recording::read(&path).unwrap();
    converse(&sample(), &Replay::new(recording), mode).await
}

fn call(name: &str, arguments: serde_json::Value) -> Step {
    Step::Call(vec![ToolCall { id: format!("call-{name}"), name: name.to_owned(), arguments }])
}

fn hand_in(code: &str) -> Step {
    call(
        "generate_artifact",
        json!({"artifact_type": "service", "name": "CartService", "description": INTENT, "code": code}),
    )
}

#[tokio::test]
async fn a_conversation_with_direct_calls() {
    let script = vec![
        call("list_files", json!({})),
        call("read_file", json!({"path": "shop/money.py"})),
        hand_in(FIRST),
        hand_in(SECOND),
    ];
    let proposal = play("direct.json", script, Mode::Direct).await;
    assert_eq!((proposal.turns, proposal.retries, proposal.mode.as_str()), (4, 1, "direct"));
    assert_eq!(proposal.files[0].after.as_deref(), Some(SECOND));
}

#[tokio::test]
async fn a_conversation_in_code_mode() {
    let look = "for file in list_files().files:\n    print(file)\nprint(read_file('shop/money.py').text)";
    let hand_in = |code: &str| format!("generate_artifact('service', 'CartService', {INTENT:?}, {code:?})");
    let program = |code: &str| Step::Say(format!("```python\n{code}\n```"));
    let script = vec![program(look), program(&hand_in(FIRST)), program(&hand_in(SECOND))];
    let proposal = play("code.json", script, Mode::Code).await;
    assert_eq!((proposal.turns, proposal.retries, proposal.mode.as_str()), (3, 1, "code"));
    assert_eq!(proposal.files[0].after.as_deref(), Some(SECOND));
}
