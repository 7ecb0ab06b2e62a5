//! The work with models on servers: whatever a server does, nothing is written and nothing stays behind.

use std::fs;

use grail_agent::embedder::ServerEmbedder;
use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::{AgentError, DialogueLimits, Proposal};
use grail_model::{Model, ServerSettings, connect};
use grail_rules::Layer;
use grail_sandbox::Toolset;
use grail_skills::search::Embedder;
use serde_json::{Value as Json, json};

use crate::loopback::{response, serve, serve_with, stream};
use crate::sample::Sample;

async fn generate(sample: &Sample, model: &dyn Model) -> Result<Proposal, AgentError> {
    let settings = GenerateSettings {
        layers: vec![Layer::Syntax, Layer::Rules],
        limits: DialogueLimits { turns: 3, ..DialogueLimits::default() },
        ..GenerateSettings::default()
    };
    let company = Company::default();
    Generation::start(&sample.workspace, model, Toolset::default(), "a mail service", settings, company)
        .await?
        .run()
        .await
}

fn settings(url: &str) -> ServerSettings {
    ServerSettings { retries: 0, ..ServerSettings::new(url, "tiny") }
}

/// What comes of a server that answers so, with the project as it was.
async fn failure(answers: Vec<Vec<u8>>) -> String {
    let sample = Sample::new(&[]);
    let model = connect(&settings(&serve(answers))).unwrap();
    let error = generate(&sample, &model).await.unwrap_err();
    assert!(sample.workspace.staging.is_empty());
    let files = fs::read_dir(sample.root()).unwrap().map(|entry| entry.unwrap().file_name());
    let files: Vec<_> = files.filter(|name| name != ".grail" && name != "home").collect();
    assert_eq!(files, ["grail.toml"]);
    error.to_string()
}

fn delta(delta: &Json) -> Json {
    json!({"model": "tiny", "choices": [{"delta": delta}]})
}

fn finish() -> Json {
    json!({"model": "tiny", "choices": [{"delta": {}, "finish_reason": "stop"}]})
}

fn call(name: &str, arguments: &str) -> Json {
    let function = json!({"name": name, "arguments": arguments});
    delta(&json!({"tool_calls": [{"index": 0, "id": "a", "function": function}]}))
}

#[tokio::test]
async fn servers_that_fail_leave_nothing_behind() {
    let garbage = response("200 OK", "text/event-stream", "data: %PDF-1.7\n\n");
    assert_eq!(
        failure(vec![garbage]).await,
        "what `tiny` sent cannot be read: expected value at line 1 column 1 in `%PDF-1.7`"
    );
    let midway = stream(&[delta(&json!({"content": "```python\nclass Mail"}))]);
    assert_eq!(
        failure(vec![midway]).await,
        "`tiny` stopped in the middle of its answer: the stream ended before the answer did"
    );
    assert_eq!(failure(vec![stream(&[finish()])]).await, "`tiny` answered with nothing");
    let endless = stream(&vec![delta(&json!({"content": "la ".repeat(20_000)})); 100]);
    assert_eq!(failure(vec![endless]).await, "the answer of `tiny` has more than 4194304 bytes");
    let huge = format!("{{\"code\": \"{}\"}}", "a".repeat(10 << 20));
    let huge = stream(&[call("generate_artifact", &huge), finish()]);
    assert_eq!(failure(vec![huge]).await, "the answer of `tiny` has more than 8388608 bytes");
}

#[tokio::test]
async fn unknown_tools_are_answered_and_nothing_else() {
    let answers = vec![stream(&[call("rm_rf", "{\"path\": \"/\"}"), finish()]); 3];
    let error = failure(answers).await;
    insta::assert_snapshot!(error, @"the model made the same call 3 times in a row");
}

#[test]
fn vectors_of_a_server_serve_the_search() {
    let url = serve_with(3, |number, request| {
        if number == 2 {
            return response("500 Internal Server Error", "text/plain", "out of memory");
        }
        let body: Json = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        let data: Vec<Json> = body["input"]
            .as_array()
            .unwrap()
            .iter()
            .map(|text| json!({"embedding": [text.as_str().unwrap().len(), 1]}))
            .collect();
        response("200 OK", "application/json", &json!({"model": "tiny", "data": data}).to_string())
    });
    let embedder = ServerEmbedder::connect(&settings(&url)).unwrap();
    assert_eq!((embedder.name(), embedder.dimensions()), (format!("tiny at {url}").as_str(), 2));
    // In the middle of asynchronous work, too.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let vectors = runtime.block_on(async { embedder.embed(&["a", "abc"]) });
    assert_eq!(vectors.unwrap(), [[1.0, 1.0], [3.0, 1.0]]);
    assert_eq!(
        embedder.embed(&["a"]).unwrap_err().to_string(),
        format!("the embedder `tiny at {url}` failed: `tiny` answered with status 500: out of memory")
    );
}
