//! The loop: a model is asked, what it wants called is called, and it is asked again, until somebody is content or a limit is reached.
//!
//! Both modes run this loop. Called *directly*, tools are offered one by one; in *code mode* the model writes a Python program that calls
//! them as functions, and one turn does the work of ten. A [`Recorder`](grail_model::Recorder) round the model keeps a transcript that can
//! be replayed.

use std::time::{Duration, Instant};

use grail_flywheel::EventKind;
use grail_flywheel::event::{ResultSummary, Tokens, ToolUse, bounded, summarise};
use grail_model::{
    ChatEvent, ChatRequest, FinishReason, Message, Model, Reply, ToolCall, ToolDefinition, Usage, collect,
};
use grail_sandbox::{Tool, ToolError, Toolset};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::AgentError;
use crate::code_mode::{CodeMode, EXECUTE_CODE, program_in};
use crate::generate::tool_error;
use crate::session::Session;
use crate::workspace::Workspace;
use crate::written_tool::{DEFINE_TOOL, keep_tool};

/// Longer results of tools are cut: a model has to read them.
const MAX_RESULT_BYTES: usize = 48 * 1024;
/// Larger arguments are not passed on.
const MAX_ARGUMENT_BYTES: usize = 1 << 20;
/// Longer texts among arguments are not kept in events: of what was called, and of what was only asked for.
const MAX_KEPT_ARGUMENT: usize = 16 * 1024;
const MAX_TOLD_ARGUMENT: usize = 256;
/// More calls in one answer are not made.
const MAX_CALLS: usize = 32;
/// The same calls so often in a row lead nowhere.
const MAX_REPEATS: usize = 3;

/// How a model uses tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// What the model is able to do decides.
    #[default]
    Auto,
    /// One call at a time.
    Direct,
    /// Programs that call tools.
    Code,
    /// None: the answer is the file.
    Answer,
}

impl Mode {
    /// As proposals and events call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto | Self::Direct => "direct",
            Self::Code => "code",
            Self::Answer => "answer",
        }
    }
}

/// What a conversation may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DialogueLimits {
    pub turns: usize,
    /// Of input and output together, as the server counts.
    pub tokens: u64,
    pub time: Duration,
    /// In whatever the prices are given in.
    pub cost: Option<f64>,
    pub prices: Prices,
}

/// What a million tokens cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
}

impl Default for DialogueLimits {
    fn default() -> Self {
        Self {
            turns: 12,
            tokens: 400_000,
            time: Duration::from_secs(900),
            cost: None,
            prices: Prices::default(),
        }
    }
}

/// Decides about calls that need approval.
pub trait Approver: Send + Sync {
    fn allows(&self, tool: &str, arguments: &Json) -> bool;
}

/// Nobody is there: nothing is allowed.
pub struct NobodyApproves;

impl Approver for NobodyApproves {
    fn allows(&self, _tool: &str, _arguments: &Json) -> bool {
        false
    }
}

/// What is going on, for people who wait.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'n> {
    Asking { turn: usize },
    Heard { bytes: usize },
    Calling { tool: &'n str },
    Retrying { reason: &'n str },
}

/// What one turn came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// The model only said something.
    Said(String),
    Called(Vec<Called>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    pub call: ToolCall,
    pub result: Result<Json, ToolError>,
}

pub struct Dialogue<'d> {
    workspace: &'d Workspace,
    model: &'d dyn Model,
    tools: Toolset,
    code: Option<CodeMode>,
    limits: DialogueLimits,
    approver: &'d dyn Approver,
    watch: &'d (dyn Fn(Notice<'_>) + Sync),
    messages: Vec<Message>,
    offered: Vec<ToolDefinition>,
    started: Instant,
    turns: usize,
    usage: Usage,
    /// The name that the model gave itself in its last answer.
    answered_by: Option<String>,
    /// How the last answer ended.
    finish: FinishReason,
    /// The calls of the last turn, and how often they were made in a row.
    repeated: (String, usize),
    /// How many of the workspace's written tools are in the toolset.
    taken_up: usize,
}

impl<'d> Dialogue<'d> {
    /// With `code`, tools are called by programs only.
    pub fn new(
        workspace: &'d Workspace,
        model: &'d dyn Model,
        tools: Toolset,
        code: Option<CodeMode>,
    ) -> Self {
        let offered = match &code {
            // A tool is defined by a call, because a person has to see it by itself.
            Some(_) => {
                let defining = tools.get(DEFINE_TOOL).map(definition);
                std::iter::once(CodeMode::definition()).chain(defining).collect()
            }
            None => tools.tools().map(definition).collect(),
        };
        Self {
            workspace,
            model,
            tools,
            code,
            limits: DialogueLimits::default(),
            approver: &NobodyApproves,
            watch: &|_| {},
            messages: Vec::new(),
            offered,
            started: Instant::now(),
            turns: 0,
            usage: Usage::default(),
            answered_by: None,
            finish: FinishReason::Stop,
            repeated: (String::new(), 0),
            taken_up: 0,
        }
    }

    pub fn with_limits(mut self, limits: DialogueLimits) -> Self {
        self.limits = limits;
        self
    }

    pub fn with_approver(mut self, approver: &'d dyn Approver) -> Self {
        self.approver = approver;
        self
    }

    pub fn watched_by(mut self, watch: &'d (dyn Fn(Notice<'_>) + Sync)) -> Self {
        self.watch = watch;
        self
    }

    pub fn say(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Tells the model what is wrong, as a message of its own.
    pub fn retry(&mut self, reason: &str) {
        (self.watch)(Notice::Retrying { reason });
        self.messages.push(Message::user(reason));
    }

    /// Forgets what was said, except for this.
    pub fn start_over(&mut self, messages: Vec<Message>) {
        self.messages = messages;
    }

    /// How the last answer ended.
    pub fn finish(&self) -> FinishReason {
        self.finish
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub fn usage(&self) -> Usage {
        self.usage
    }

    pub fn turns(&self) -> usize {
        self.turns
    }

    /// Who answered, as the server names it.
    pub fn answered_by(&self) -> Option<&str> {
        self.answered_by.as_deref()
    }

    /// A person spoke: time and turns begin anew, tokens and cost do not.
    pub fn grant_more(&mut self) {
        self.started = Instant::now();
        self.turns = 0;
        self.repeated = (String::new(), 0);
    }

    /// Asks once and does what is wanted.
    pub async fn turn(&mut self) -> Result<Turn, AgentError> {
        self.check_limits()?;
        self.take_up_written_tools().await?;
        self.turns += 1;
        (self.watch)(Notice::Asking { turn: self.turns });
        let (reply, problems) = self.ask().await?;
        self.messages.push(reply.message());
        if !problems.is_empty() && reply.tool_calls.is_empty() {
            self.retry(&problems.join("\n"));
            return Ok(Turn::Called(Vec::new()));
        }
        let program = match &self.code {
            Some(_) if reply.tool_calls.is_empty() => program_in(&reply.text),
            _ => None,
        };
        if let Some(program) = program {
            let call = ToolCall {
                id: "program".to_owned(),
                name: EXECUTE_CODE.to_owned(),
                arguments: json!({"code": program}),
            };
            let result = self.call(&call).await;
            // Not a call as the server knows them, so the answer is not one either.
            self.messages.push(Message::user(format!("The program ended so:\n{}", result_text(&result))));
            return Ok(Turn::Called(vec![Called { call, result }]));
        }
        if reply.tool_calls.is_empty() {
            return Ok(Turn::Said(reply.text));
        }
        self.check_repetition(&reply)?;
        let mut called = Vec::new();
        for (number, call) in reply.tool_calls.into_iter().enumerate() {
            let result = match number < MAX_CALLS {
                true => self.call(&call).await,
                false => Err(ToolError::value_error(format!("only {MAX_CALLS} calls are made at once"))),
            };
            self.messages.push(Message::tool(&call, result_text(&result)));
            called.push(Called { call, result });
        }
        Ok(Turn::Called(called))
    }

    async fn ask(&mut self) -> Result<(Reply, Vec<String>), AgentError> {
        let request = ChatRequest {
            messages: self.messages.clone(),
            tools: self.offered.clone(),
            // Whoever has no tools answers with code.
            known_names: self.offered.is_empty(),
            ..ChatRequest::default()
        };
        let watch = self.watch;
        let mut bytes = 0;
        let hear = |event: &ChatEvent| {
            if let ChatEvent::Text(text) = event {
                bytes += text.len();
                watch(Notice::Heard { bytes });
            }
        };
        let left = self.limits.time.saturating_sub(self.started.elapsed());
        let answer = tokio::time::timeout(left, collect(self.model, &request, hear)).await;
        let mut reply = answer.map_err(|_| time_limit(self.limits.time))??;
        let problems = std::mem::take(&mut reply.problems);
        self.usage += reply.finish.usage;
        self.answered_by = Some(reply.finish.model.clone());
        self.finish = reply.finish.reason;
        let session = &self.workspace.session;
        session.answered_by(&reply.finish.model);
        let told = |call: &ToolCall| ToolUse {
            tool: call.name.clone(),
            arguments: bounded(&call.arguments, MAX_TOLD_ARGUMENT),
        };
        session.emit(EventKind::ModelAnswer {
            text: reply.text.clone(),
            tools: reply.tool_calls.iter().map(told).collect(),
            tokens: tokens(reply.finish.usage),
        });
        Ok((reply, problems))
    }

    async fn call(&mut self, call: &ToolCall) -> Result<Json, ToolError> {
        (self.watch)(Notice::Calling { tool: &call.name });
        if call.name == EXECUTE_CODE && self.code.is_some() {
            // Code mode keeps the program and every call in it.
            return self.call_unrecorded(call).await;
        }
        let started = Instant::now();
        let result = self.call_unrecorded(call).await;
        record_call(&self.workspace.session, &call.name, &call.arguments, &result, started.elapsed());
        result
    }

    async fn call_unrecorded(&self, call: &ToolCall) -> Result<Json, ToolError> {
        if call.arguments.to_string().len() > MAX_ARGUMENT_BYTES {
            return Err(ToolError::value_error(format!(
                "the arguments have more than {MAX_ARGUMENT_BYTES} bytes"
            )));
        }
        let arguments = match &call.arguments {
            Json::Object(arguments) => arguments.clone(),
            Json::Null => Map::new(),
            _ => return Err(ToolError::type_error("the arguments are not an object")),
        };
        if let Some(code) = self.code.as_ref().filter(|_| call.name == EXECUTE_CODE) {
            let program = arguments.get("code").and_then(Json::as_str);
            let program =
                program.ok_or_else(|| ToolError::type_error("`execute_code` needs the argument `code`"))?;
            return Ok(code.run(program, &|tool, arguments| self.is_allowed(tool, arguments)).await);
        }
        if call.name == DEFINE_TOOL && self.tools.get(DEFINE_TOOL).is_some() {
            return self.define(call, arguments).await;
        }
        if self.tools.get(&call.name).is_none() || self.code.is_some() {
            return Err(self.unknown(&call.name));
        }
        if self.tools.needs_approval(&call.name) && !self.is_allowed(&call.name, &call.arguments) {
            return Err(refused(&call.name));
        }
        self.tools.call_with(&call.name, arguments).await
    }

    /// A tool that the model wrote: checked and tried first, then shown to a person, then kept.
    async fn define(&self, call: &ToolCall, arguments: Map<String, Json>) -> Result<Json, ToolError> {
        let name = arguments.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
        if self.tools.get(&name).is_some() {
            return Err(ToolError::value_error(format!("there is a tool `{name}`; choose another name")));
        }
        self.tools.call_with(DEFINE_TOOL, arguments).await?;
        if !self.is_allowed(DEFINE_TOOL, &call.arguments) {
            return Err(refused(DEFINE_TOOL));
        }
        let report = keep_tool(self.workspace, &name).map_err(|error| tool_error(&error))?;
        serde_json::to_value(report).map_err(|error| ToolError::failed(error.to_string()))
    }

    /// Tools that were written since the last turn are offered from now on.
    async fn take_up_written_tools(&mut self) -> Result<(), AgentError> {
        let written = self.workspace.written.kept_since(self.taken_up);
        self.taken_up += written.len();
        let new: Vec<Tool> =
            written.into_iter().filter(|tool| self.tools.get(tool.name()).is_none()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let defined: Vec<ToolDefinition> = new.iter().map(definition).collect();
        self.tools = self.tools.clone().combine(Toolset::new(new)?)?;
        match self.code {
            Some(_) => self.code = Some(CodeMode::start(self.workspace, self.tools.clone()).await?),
            None => self.offered.extend(defined),
        }
        Ok(())
    }

    fn is_allowed(&self, tool: &str, arguments: &Json) -> bool {
        let allowed = self.approver.allows(tool, arguments);
        let (tool, arguments) = (tool.to_owned(), arguments.clone());
        let arguments = bounded(&arguments, MAX_TOLD_ARGUMENT);
        self.workspace.session.emit(EventKind::Approval { tool, arguments, allowed });
        allowed
    }

    fn unknown(&self, name: &str) -> ToolError {
        let shown: String = name.chars().take(80).collect();
        let offered = self.offered.iter().map(|tool| tool.name.as_str());
        let nearest = offered.clone().min_by_key(|known| strsim::damerau_levenshtein(&shown, known));
        let near =
            nearest.filter(|known| strsim::damerau_levenshtein(&shown, known) <= known.len().div_ceil(3));
        ToolError::new(
            "NameError",
            match near {
                Some(known) => format!("there is no tool `{shown}`; did you mean `{known}`?"),
                None => format!(
                    "there is no tool `{shown}`; there are {}",
                    offered.collect::<Vec<_>>().join(", ")
                ),
            },
        )
    }

    fn check_limits(&self) -> Result<(), AgentError> {
        let DialogueLimits { turns, tokens, time, cost, prices } = self.limits;
        let limit = |message: String, hint| Err(AgentError::Limit { message, hint });
        if self.turns >= turns {
            return limit(
                format!("the model was asked {turns} times and is not done"),
                "allow more with `--turns`",
            );
        }
        if self.usage.input_tokens.saturating_add(self.usage.output_tokens) >= tokens {
            return limit(
                format!("the conversation took more than {tokens} tokens"),
                "allow more with `--tokens`",
            );
        }
        if self.started.elapsed() >= time {
            return Err(time_limit(time));
        }
        let spent = prices.of(self.usage);
        match cost {
            Some(most) if spent >= most => limit(
                format!("the conversation cost {spent:.4}, and {most} was allowed"),
                "allow more with `--cost`",
            ),
            _ => Ok(()),
        }
    }

    fn check_repetition(&mut self, reply: &Reply) -> Result<(), AgentError> {
        let calls: Vec<(&str, &Json)> =
            reply.tool_calls.iter().map(|call| (call.name.as_str(), &call.arguments)).collect();
        let key = serde_json::to_string(&calls).unwrap_or_default();
        match self.repeated.0 == key {
            true => self.repeated.1 += 1,
            false => self.repeated = (key, 1),
        }
        if self.repeated.1 < MAX_REPEATS {
            return Ok(());
        }
        Err(AgentError::Limit {
            message: format!("the model made the same call {MAX_REPEATS} times in a row"),
            hint: "a larger model may know better; so may more words in the intent",
        })
    }
}

impl Prices {
    pub fn of(self, usage: Usage) -> f64 {
        (self.input * usage.input_tokens as f64 + self.output * usage.output_tokens as f64) / 1e6
    }
}

/// Keeps a call as an event: what was asked in full, what came back as its shape.
pub fn record_call(
    session: &Session,
    tool: &str,
    arguments: &Json,
    result: &Result<Json, ToolError>,
    took: Duration,
) {
    let result = match result {
        Ok(value) => summarise(value),
        Err(error) => ResultSummary::failed(error.exception.clone()),
    };
    session.emit(EventKind::ToolCall {
        query: session.request(),
        tool: tool.to_owned(),
        arguments: bounded(arguments, MAX_KEPT_ARGUMENT),
        result,
        fields_accessed: Vec::new(),
        microseconds: took.as_micros().try_into().unwrap_or(u64::MAX),
    });
}

pub(crate) fn tokens(usage: Usage) -> Tokens {
    Tokens { input: usage.input_tokens, output: usage.output_tokens }
}

/// A tool as a model is told about it.
pub fn definition(tool: &Tool) -> ToolDefinition {
    let signature = tool.signature();
    let parameters = match signature.arguments() {
        Some(schema) => schema.json().clone(),
        None => json!({"type": "object", "properties": {}}),
    };
    ToolDefinition {
        name: tool.name().to_owned(),
        description: signature.doc.clone().unwrap_or_default(),
        parameters,
    }
}

pub(crate) fn refused(tool: &str) -> ToolError {
    ToolError::new(
        "PermissionError",
        format!("`{tool}` needs a person's approval, and it was not given; go on without it"),
    )
}

fn result_text(result: &Result<Json, ToolError>) -> String {
    let text = match result {
        Ok(Json::String(text)) => text.clone(),
        Ok(value) => value.to_string(),
        Err(error) => json!({"error": error.exception, "message": error.message}).to_string(),
    };
    if text.len() <= MAX_RESULT_BYTES {
        return text;
    }
    let end = (0..=MAX_RESULT_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}\n… ({} more bytes; ask for less)", &text[..end], text.len() - end)
}

fn time_limit(time: Duration) -> AgentError {
    AgentError::Limit {
        message: format!("the conversation took more than {} seconds", time.as_secs()),
        hint: "allow more with `--timeout`",
    }
}
