//! Code mode: the model writes one program that calls tools as functions, instead of asking for them one by one.
//!
//! The program runs in the sandbox with exactly the tools on offer. It is type-checked against their stubs before it runs, and whatever
//! becomes of it comes back as something the model can act on. A call that needs approval waits for it; the program cannot go round it.

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use grail_code::{Field, Kind, Source, parse_module};
use grail_flywheel::EventKind;
use grail_flywheel::event::{ResultSummary, summarise};
use grail_flywheel::extract::fields_accessed;
use grail_model::ToolDefinition;
use grail_sandbox::{
    Call, Context, Ending, Middleware, Next, Outcome, Policies, Preset, Step, Suspended, Tool, ToolError,
    Toolset, Value, WorkerConfig, Workers,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tokio::sync::OnceCell;

use crate::AgentError;
use crate::dialogue::{record_call, refused};
use crate::session::Session;
use crate::workspace::Workspace;
use crate::written_tool::DEFINE_TOOL;

/// The one tool of this mode.
pub const EXECUTE_CODE: &str = "execute_code";

pub struct CodeMode {
    context: Context,
    tools: Toolset,
    session: Arc<Session>,
}

impl CodeMode {
    pub async fn start(workspace: &Workspace, tools: Toolset) -> Result<Self, AgentError> {
        // Programs call tools; new ones are defined where a person can see them.
        let tools = tools.filter(|tool| ![DEFINE_TOOL, EXECUTE_CODE].contains(&tool.name()));
        let session = Arc::clone(&workspace.session);
        let tools = tools.wrap(RecordCalls(Arc::clone(&session)));
        let workers = Workers::start(WorkerConfig::new(workspace.program.clone())).await?;
        let policy = Policies::default()
            .resolve(Preset::AiAgent.name())
            .map_err(|error| AgentError::Other { message: error.to_string(), hint: None })?;
        let context =
            Context::builder().tools(tools.clone()).policy(policy).result_optional().build(workers)?;
        Ok(Self { context, tools, session })
    }

    pub fn definition() -> ToolDefinition {
        ToolDefinition {
            name: EXECUTE_CODE.to_owned(),
            description: "Run a Python program. The functions of the stubs are there without an import; what is printed and the last \
                          expression come back."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"code": {"type": "string", "description": "The program"}},
                "required": ["code"],
                "additionalProperties": false
            }),
        }
    }

    /// What the model is shown: the functions it may call, as stubs.
    pub fn stubs(&self) -> &str {
        self.context.stubs()
    }

    /// Runs a program. Calls that need approval are put to `is_allowed`. The program and each of its calls are events.
    pub async fn run(&self, code: &str, is_allowed: &(dyn Fn(&str, &Json) -> bool + Sync)) -> Json {
        let started = Instant::now();
        let told = self.run_unrecorded(code, is_allowed).await;
        let result = match told.get("error") {
            Some(error) => ResultSummary::failed(error["outcome"].as_str().unwrap_or("unknown")),
            None => summarise(&told["value"]),
        };
        self.session.emit(EventKind::SandboxRun {
            query: self.session.request(),
            code: code.to_owned(),
            result,
            tools: called_tools(code, &self.tools),
            fields_accessed: fields_accessed(code, &self.tools.names()),
            microseconds: started.elapsed().as_micros().try_into().unwrap_or(u64::MAX),
        });
        told
    }

    async fn run_unrecorded(&self, code: &str, is_allowed: &(dyn Fn(&str, &Json) -> bool + Sync)) -> Json {
        let mut step = self.context.start(code, Json::Null).await;
        loop {
            step = match step {
                Step::Finished(outcome) => return told(&outcome),
                Step::Suspended(suspended) => {
                    if !suspended.needs_approval() {
                        suspended.call_tool().await
                    } else {
                        let arguments = self.named_arguments(&suspended);
                        match is_allowed(suspended.tool(), &arguments) {
                            true => suspended.call_tool().await,
                            false => {
                                let error: ToolError = refused(suspended.tool());
                                suspended.fail(error).await
                            }
                        }
                    }
                }
            };
        }
    }

    /// The arguments of a call by their names, as a person is asked about them in either mode. A call that does not fit is shown as it is.
    fn named_arguments(&self, suspended: &Suspended) -> Json {
        let call = Call {
            tool: suspended.tool().to_owned(),
            arguments: suspended.arguments().to_vec(),
            keywords: suspended.keywords().to_vec(),
        };
        shown_arguments(&call, self.tools.get(&call.tool))
    }
}

fn shown_arguments(call: &Call, tool: Option<&Tool>) -> Json {
    let named = tool.and_then(|tool| call.by_name(tool.signature()).ok());
    named.map(Json::Object).unwrap_or_else(|| {
        let arguments: Vec<Json> = call.arguments.iter().map(Value::to_json).collect();
        let keywords = call.keywords.iter().map(|(name, value)| (name.clone(), value.to_json()));
        json!({"arguments": arguments, "keywords": keywords.collect::<serde_json::Map<_, _>>()})
    })
}

/// Keeps each call of a program as an event.
struct RecordCalls(Arc<Session>);

impl std::fmt::Debug for RecordCalls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("RecordCalls")
    }
}

impl Middleware for RecordCalls {
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            let started = Instant::now();
            let tool = call.tool.clone();
            let arguments = shown_arguments(&call, Some(next.tool()));
            let result = next.run(call).await;
            let told = result.as_ref().map(Value::to_json).map_err(Clone::clone);
            record_call(&self.0, &tool, &arguments, &told, started.elapsed());
            result
        }
        .boxed()
    }
}

/// The tools that a program names in calls, in the order in which it does.
fn called_tools(code: &str, tools: &Toolset) -> Vec<String> {
    let parsed = parse_module(Source::from_text(code));
    let calls = parsed.root().descendants().filter(|node| node.kind() == Kind::Call);
    let names = calls.filter_map(|call| Some(call.child(Field::Func)?.text().to_owned()));
    names.filter(|name| tools.get(name).is_some()).collect()
}

#[derive(Deserialize, JsonSchema)]
struct Program {
    /// The program.
    code: String,
}

/// What came of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramResult {
    /// What it printed.
    #[serde(default)]
    pub printed: String,
    /// The value of its last expression; nothing if it has none or did not get there.
    #[serde(default)]
    pub value: Json,
    /// How it ended, if not with a value: what was refused, what was raised, which limit was hit, with lines.
    #[serde(default)]
    pub error: Json,
    /// What to do about it.
    #[serde(default)]
    pub hint: Option<String>,
}

/// Programs as one tool among others, for whoever calls tools directly. What a program may call only reads, so nobody is asked.
pub fn execute_code(workspace: &Arc<Workspace>, tools: Toolset) -> Result<Tool, AgentError> {
    let names = tools.names().join(", ");
    let documentation = format!(
        "Run a Python program in the sandbox: many calls in one. What is printed and the last expression come back. It may call, as functions: {names}."
    );
    // Workers are started with the first program, not with the toolset.
    let started: Arc<OnceCell<CodeMode>> = Arc::default();
    let workspace = Arc::clone(workspace);
    Ok(Tool::typed_async(EXECUTE_CODE, &documentation, move |program: Program| {
        let (workspace, tools, started) = (Arc::clone(&workspace), tools.clone(), Arc::clone(&started));
        async move {
            let start = started.get_or_try_init(|| CodeMode::start(&workspace, tools)).await;
            let code = start.map_err(|error| ToolError::failed(error.to_string()))?;
            let told = code.run(&program.code, &|_, _| false).await;
            let result = serde_json::from_value(told).map_err(|error| ToolError::failed(error.to_string()));
            result as Result<ProgramResult, ToolError>
        }
    })?)
}

/// An outcome as a model is told it: what was printed, the last value, or what to mend.
fn told(outcome: &Outcome) -> Json {
    let mut told = json!({});
    if !outcome.printed.text.is_empty() {
        told["printed"] = outcome.printed.text.clone().into();
    }
    match &outcome.ending {
        Ending::Value { value } => told["value"] = value.to_json(),
        ending => {
            told["error"] = serde_json::to_value(ending).unwrap_or_default();
            if let Some(advice) = ending.advice() {
                told["hint"] = advice.into();
            }
        }
    }
    told
}

/// The program in an answer that is no tool call: the only fenced block of Python, if there is exactly one.
pub fn program_in(text: &str) -> Option<String> {
    let mut programs = fenced_blocks(text)
        .into_iter()
        .filter(|(language, _)| matches!(language.as_str(), "python" | "py" | ""));
    match (programs.next(), programs.next()) {
        (Some((_, program)), None) => Some(program),
        _ => None,
    }
}

/// Fenced blocks of Markdown: language and text.
pub(crate) fn fenced_blocks(text: &str) -> Vec<(String, String)> {
    fences(text).0
}

/// The language of a block, and what is in it.
type Fence = (String, String);

/// Fenced blocks, and the one that nobody closed.
pub(crate) fn fences(text: &str) -> (Vec<Fence>, Option<Fence>) {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String, String)> = None;
    for line in text.lines() {
        let stripped = line.trim_start();
        match &mut open {
            None if stripped.starts_with("```") || stripped.starts_with("~~~") => {
                let mark: String =
                    stripped.chars().take_while(|character| *character == '`' || *character == '~').collect();
                let language =
                    stripped[mark.len()..].split_whitespace().next().unwrap_or_default().to_lowercase();
                open = Some((mark, language, String::new()));
            }
            None => {}
            Some((mark, language, body)) if stripped.trim_end() == mark => {
                blocks.push((std::mem::take(language), std::mem::take(body)));
                open = None;
            }
            Some((_, _, body)) => {
                body.push_str(line);
                body.push('\n');
            }
        }
    }
    (blocks, open.map(|(_, language, body)| (language, body)))
}
