//! A real model: llama.cpp with SmolLM2-135M-Instruct, as `scripts/live-model` installs it. Slow, so it is only run by `just test-live`.
//!
//! A small model says what it likes. Tested is what holds whatever it says, and what the server makes it say.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::StreamExt;
use grail_model::{
    Abilities, ChatEvent, ChatRequest, FinishReason, Message, Model, ModelError, Recorder, Recording, Replay,
    Server, ServerSettings, ToolChoice, ToolDefinition, collect, connect, structured, tool_text,
};
use serde_json::json;

use crate::loopback::question;

const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1";

/// The server, for as long as this lives: it ends when its input does.
struct Live {
    process: Child,
    url: String,
}

impl Live {
    /// Nothing if it is not installed, which is said.
    #[expect(clippy::print_stderr, reason = "whoever runs the test must see that it was skipped")]
    fn start() -> Option<Self> {
        let script = repository().join("scripts/live-model");
        let mut process = Command::new(script)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the script starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("the address");
        if line.trim().is_empty() {
            let code = process.wait().expect("it ends").code();
            assert_eq!(code, Some(3), "the live model does not start");
            eprintln!("skipped: no live model is installed; `scripts/live-model install` does that");
            return None;
        }
        Some(Self { process, url: line.trim().to_owned() })
    }

    fn settings(&self) -> ServerSettings {
        ServerSettings { timeout: Duration::from_secs(300), ..ServerSettings::new(&self.url, MODEL) }
    }

    fn model(&self) -> Server {
        connect(&self.settings()).unwrap()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn short(text: &str, tokens: u32) -> ChatRequest {
    ChatRequest { max_tokens: Some(tokens), temperature: Some(0.0), seed: Some(1), ..question(text) }
}

fn get_time() -> ToolDefinition {
    ToolDefinition {
        name: "get_time".to_owned(),
        description: "Tells the time in a city.".to_owned(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
    }
}

#[tokio::test]
#[ignore = "needs `scripts/live-model install`"]
async fn a_real_answer_is_streamed_counted_and_signed() {
    let Some(live) = Live::start() else { return };
    let request = short("Say hello to Ada.", 12);
    let events: Vec<_> = live.model().chat(&request).map(Result::unwrap).collect().await;
    let pieces = events.iter().filter(|event| matches!(event, ChatEvent::Text(_))).count();
    assert!(pieces > 1, "{events:?}");
    let Some(ChatEvent::Finished(finish)) = events.last() else { panic!("{events:?}") };
    assert!(finish.model.ends_with(&format!("{MODEL}.gguf")), "{}", finish.model);
    assert!(finish.usage.input_tokens > 10 && (1..=12).contains(&finish.usage.output_tokens), "{finish:?}");
    // The same model under another name is another model.
    let settings = ServerSettings { model: "SmolLM2-360M-Instruct".to_owned(), ..live.settings() };
    let error = collect(&connect(&settings).unwrap(), &request, |_| {}).await.unwrap_err();
    assert!(matches!(error, ModelError::OtherModel { .. }), "{error}");
}

#[tokio::test]
#[ignore = "needs `scripts/live-model install`"]
async fn a_real_server_is_probed() {
    let Some(live) = Live::start() else { return };
    let abilities = live.model().probe().await.unwrap();
    assert_eq!(abilities.models.len(), 1);
    // The server takes tools, and the chat template of this model drops them without a word: only trying finds that out.
    let expected = Abilities { tool_calls: false, json_schema: true, grammar: true, ..abilities.clone() };
    assert_eq!(abilities, expected);
}

#[tokio::test]
#[ignore = "needs `scripts/live-model install`"]
async fn real_answers_keep_to_schemas_and_grammars() {
    let Some(live) = Live::start() else { return };
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}, "warm": {"type": "boolean"}},
        "required": ["city", "warm"],
        "additionalProperties": false,
    });
    let able = Abilities { json_schema: true, grammar: true, ..Abilities::default() };
    let model = live.model().with_abilities(able);
    let request = ChatRequest { response_schema: Some(schema.clone()), ..short("Is it warm in Cairo?", 60) };
    let reply = collect(&model, &request, |_| {}).await.unwrap();
    let value = structured::read(&reply.text, &schema).unwrap();
    assert!(value["warm"].is_boolean());
    let grammar = Some(r#"root ::= ("yes" | "no")"#.to_owned());
    let reply = collect(&model, &ChatRequest { grammar, ..short("Is snow warm?", 5) }, |_| {}).await.unwrap();
    assert!(["yes", "no"].contains(&reply.text.as_str()), "{}", reply.text);
    // In words it does as it likes; what it says is judged, and nothing breaks.
    let model = live.model().with_abilities(Abilities { tool_calls: false, ..Abilities::default() });
    let reply = collect(&model, &request, |_| {}).await.unwrap();
    let _ = structured::read(&reply.text, &schema);
    let request = ChatRequest { tools: vec![get_time()], ..short("What time is it in Oslo?", 60) };
    let reply = collect(&model, &request, |_| {}).await.unwrap();
    let _ = tool_text::understand(&reply.text, &request.tools);
}

#[tokio::test]
#[ignore = "needs `scripts/live-model install`"]
async fn real_texts_become_vectors() {
    let Some(live) = Live::start() else { return };
    let texts = ["a red apple", "an apple that is red", "quarterly tax return"];
    let vectors = live.model().embed(&texts).await.unwrap();
    assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [576, 576, 576]);
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    assert!(cosine(&vectors[0], &vectors[1]) > cosine(&vectors[0], &vectors[2]));
}

#[tokio::test]
#[ignore = "needs `scripts/live-model install`"]
async fn a_real_answer_can_be_stopped() {
    let Some(live) = Live::start() else { return };
    let model = live.model();
    let request = short("Write a long story about a dragon.", 3000);
    let mut stream = model.chat(&request);
    assert!(matches!(stream.next().await, Some(Ok(ChatEvent::Text(_)))));
    drop(stream);
    // There is one slot: this is answered soon only because the story is not written to its end.
    let reply = collect(&model, &short("Say hello.", 4), |_| {}).await.unwrap();
    assert!(!reply.text.is_empty());
}

#[tokio::test]
#[ignore = "needs `scripts/live-model install`"]
async fn what_a_real_model_says_can_be_replayed() {
    let Some(live) = Live::start() else { return };
    let abilities = live.model().probe().await.unwrap();
    let recorder = Recorder::new(live.model().with_abilities(abilities));
    let mut heard = Vec::new();
    let hello = short("Say hello to Ada in one short sentence.", 60);
    heard.push(collect(&recorder, &hello, |_| {}).await.unwrap());
    // So small a model calls a tool only if a grammar leaves it nothing else to say; which city, it says by itself.
    let grammar = r#"root ::= "<tool_call>{\"name\": \"get_time\", \"arguments\": {\"city\": \"" [A-Z] [a-z]+ "\"}}</tool_call>""#;
    let ask = ChatRequest {
        tools: vec![get_time()],
        tool_choice: ToolChoice::Required,
        ..short("What time is it in Oslo?", 60)
    };
    let time = ChatRequest { grammar: Some(grammar.to_owned()), ..ask.clone() };
    heard.push(collect(&recorder, &time, |_| {}).await.unwrap());
    assert_eq!(heard[1].finish.reason, FinishReason::ToolCalls);
    let result = Message::tool(&heard[1].tool_calls[0], "12:30");
    let messages = [ask.messages.clone(), vec![heard[1].message(), result]].concat();
    let answer = ChatRequest { messages, tool_choice: ToolChoice::None, ..ask };
    heard.push(collect(&recorder, &answer, |_| {}).await.unwrap());
    let folder = tempfile::tempdir().unwrap();
    // To look at it, or to keep it as the fixture of `recordings`.
    let path = std::env::var_os("GRAIL_KEEP_RECORDING")
        .map_or_else(|| folder.path().join("smollm2.json"), |path| repository().join(path));
    recorder.recording().write(&path).unwrap();
    let recording = Recording::read(&path).unwrap();
    let requests: Vec<ChatRequest> = recording.exchanges.iter().map(|it| it.request.clone()).collect();
    let replay = Replay::new(recording);
    for (request, reply) in requests.iter().zip(&heard) {
        assert_eq!(&collect(&replay, request, |_| {}).await.unwrap(), reply);
    }
}
