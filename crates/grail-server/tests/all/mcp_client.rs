//! A client that speaks raw lines, and a server in the same process with tools of every sort.

use std::collections::BTreeSet;
use std::sync::Arc;

use grail_agent::Workspace;
use grail_agent::artifact::ArtifactSettings;
use grail_agent::generate::{generate_artifact, tool_error};
use grail_rules::Layer;
use grail_sandbox::{Tool, ToolError, Toolset};
use grail_server::ServerError;
use grail_server::mcp::{McpServer, McpSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use tokio::task::JoinHandle;

use crate::sample::Sample;

pub(crate) struct Client {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) server: JoinHandle<Result<(), ServerError>>,
    count: u64,
    /// Whatever came while something else was waited for.
    pub(crate) heard: Vec<Json>,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// Some words.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    path: String,
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Noted {
    /// Where it goes.
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// One tool of every sort.
pub(crate) fn tools(workspace: &Arc<Workspace>) -> Toolset {
    let count =
        Tool::typed("count_words", "Count the words of a text.", |text: Text| -> Result<usize, ToolError> {
            if text.text.is_empty() {
                return Err(ToolError::value_error("the text is empty; hint: say something"));
            }
            Ok(text.text.split_whitespace().count())
        });
    let staging = Arc::clone(workspace);
    let note = Tool::typed("write_note", "Write a file.", move |note: Note| {
        let path = staging.staging.write(&note.path, note.text).map_err(|error| tool_error(&error))?;
        Ok(Noted { path })
    });
    let staging = Arc::clone(workspace);
    let erase = Tool::typed("erase", "Remove a file.", move |text: Text| {
        staging.staging.remove(&text.text).map_err(|error| tool_error(&error))
    });
    let staging = Arc::clone(workspace);
    let endless = Tool::typed_async("endless", "Stage something and never end.", move |_: Nothing| {
        let staged = staging.staging.write("never.py", "pass\n".to_owned());
        async move {
            staged.map_err(|error| tool_error(&error))?;
            std::future::pending::<Result<String, ToolError>>().await
        }
    });
    let panics =
        Tool::typed("panics", "Panic.", |_: Nothing| -> Result<String, ToolError> { panic!("on purpose") });
    let settings =
        ArtifactSettings { layers: vec![Layer::Syntax, Layer::Rules], ..ArtifactSettings::default() };
    let artifact = generate_artifact(workspace, settings).unwrap();
    let tools = [count, note, erase, endless, panics].map(Result::unwrap);
    Toolset::new(tools.into_iter().chain([artifact])).unwrap().require_approval(|tool| tool.name() == "erase")
}

pub(crate) fn is_read_only(name: &str) -> bool {
    matches!(name, "count_words" | "panics")
}

pub(crate) fn writing() -> McpSettings {
    McpSettings { write: true, allowed: BTreeSet::new() }
}

impl Client {
    /// Connected, and nothing said yet.
    pub(crate) fn connect(sample: &Sample, settings: McpSettings) -> Self {
        Self::connect_with(sample, tools(&sample.workspace), settings)
    }

    pub(crate) fn connect_with(sample: &Sample, tools: Toolset, settings: McpSettings) -> Self {
        let server = McpServer::new(Arc::clone(&sample.workspace), tools, is_read_only, settings).unwrap();
        let server = server.watching(Arc::clone(&sample.watched));
        let (here, there) = tokio::io::duplex(64 * 1024);
        let (input, output) = split(there);
        let server = tokio::spawn(server.serve_streams(input, output));
        let (output, input) = split(here);
        Self { input, output: BufReader::new(output).lines(), server, count: 0, heard: Vec::new() }
    }

    /// Connected and greeted, as clients without special abilities do it.
    pub(crate) async fn greeted(sample: &Sample, settings: McpSettings) -> Self {
        let mut client = Self::connect(sample, settings);
        client.greet(json!({})).await;
        client
    }

    pub(crate) async fn greet(&mut self, capabilities: Json) -> Json {
        let answer = self
            .request(
                "initialize",
                json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": capabilities,
                    "clientInfo": {"name": "tester", "version": "1"},
                }),
            )
            .await;
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    pub(crate) async fn line(&mut self, line: &[u8]) {
        self.input.write_all(line).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Json) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.line(message.to_string().as_bytes()).await;
    }

    /// Sends a request and gives back its id.
    pub(crate) async fn send(&mut self, method: &str, params: Json) -> u64 {
        self.count += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params});
        self.line(message.to_string().as_bytes()).await;
        self.count
    }

    /// The next message of the server; `None` when it is gone.
    pub(crate) async fn next(&mut self) -> Option<Json> {
        let line = self.output.next_line().await.ok().flatten()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// The answer to a request: its result or its error.
    pub(crate) async fn answer(&mut self, id: u64) -> Json {
        loop {
            let message = self.next().await.expect("the server is gone");
            if message.get("method").is_some() || message["id"] != id {
                self.heard.push(message);
                continue;
            }
            return message.get("result").or_else(|| message.get("error")).unwrap().clone();
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Json) -> Json {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Json) -> Json {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Answers a request of the server.
    pub(crate) async fn reply(&mut self, request: &Json, result: Json) {
        let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.line(message.to_string().as_bytes()).await;
    }

    /// Hangs up, and waits for the server to notice.
    pub(crate) async fn leave(self) -> Result<(), ServerError> {
        drop((self.input, self.output));
        self.server.await.unwrap()
    }
}
