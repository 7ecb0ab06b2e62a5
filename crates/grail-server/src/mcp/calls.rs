//! One call of a tool, from the question whether it may to the proposal that its changes became.
//!
//! Calls that only look run beside each other. Those that stage changes run one at a time, because they share the staging: each begins with
//! nothing staged, and leaves nothing. A call that is cancelled leaves nothing either, even where its work cannot be stopped half-way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use grail_agent::generate::{GENERATE_ARTIFACT, tool_error};
use grail_agent::{
    AgentError, Making, ModelIdentity, Proposal, StagedWork, propose_staged, record_call, record_generation,
};
use grail_model::Usage;
use grail_sandbox::ToolError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value as Json;
use tokio::sync::broadcast;

use super::approval::{Answer, Asked, Pending, Question, ask, brought_back, plain};
use super::tools::{Access, OfferedTool};
use super::{Inner, McpServer};
use crate::proposals::{self, ProposalNote, diff_of};

/// How often somebody who waits hears that the work goes on.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// As much of arguments and changes as a person is shown in a question.
const MAX_SHOWN: usize = 4_000;

const ALLOW: (&str, &str) = ("allow", "refuse");
const APPROVE: (&str, &str) = ("approve", "reject");

/// What a call came to.
struct Done {
    value: Json,
    proposal: Option<Proposal>,
}

impl McpServer {
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let inner = &self.inner;
        let Some(offered) = inner.offered.iter().find(|offered| *offered.name() == *request.name) else {
            return Err(unknown_tool(inner, &request.name));
        };
        let arguments = request.arguments.unwrap_or_default();
        let mut is_allowed =
            offered.access != Access::Asks || inner.settings.allowed.contains(offered.name());
        if let Some(name) = &request.request_state {
            let responses = request.input_responses.as_ref();
            match inner.pending.take(name) {
                Some(Pending::Proposal { id, tool, result }) if tool == offered.name() => {
                    let answer = brought_back(responses, APPROVE.0, APPROVE.1);
                    return Ok(structured(offered.result(result, Some(&decide(inner, &id, answer)))));
                }
                Some(Pending::Call { tool, arguments: shown })
                    if tool == offered.name() && shown == arguments =>
                {
                    if brought_back(responses, ALLOW.0, ALLOW.1) != Answer::Yes {
                        return Ok(refused(offered.name()));
                    }
                    is_allowed = true;
                }
                // Not ours, or about something else: as if nothing had been answered.
                _ => {}
            }
        }
        if !is_allowed {
            let pending = || Pending::Call { tool: offered.name().to_owned(), arguments: arguments.clone() };
            match ask(
                &context,
                &about_call(offered, &arguments),
                &inner.pending,
                || inner.new_name(),
                pending,
            )
            .await
            {
                Asked::Answered(Answer::Yes) => {}
                Asked::Answered(_) => return Ok(refused(offered.name())),
                Asked::Unable => return Ok(cannot_ask(offered.name())),
                Asked::Return(question) => return Ok((*question).into()),
            }
        }
        let done = match run(inner, offered, arguments, &context).await {
            Ok(done) => done,
            Err(error) => return Ok(failed(&error)),
        };
        let Some(proposal) = done.proposal else { return Ok(structured(offered.result(done.value, None))) };
        if inner.settings.write {
            let note = decide(inner, &proposal.id, Answer::Yes);
            return Ok(structured(offered.result(done.value, Some(&note))));
        }
        let pending = || Pending::Proposal {
            id: proposal.id.clone(),
            tool: offered.name().to_owned(),
            result: done.value.clone(),
        };
        let answer =
            match ask(&context, &about_proposal(&proposal), &inner.pending, || inner.new_name(), pending)
                .await
            {
                Asked::Answered(answer) => answer,
                Asked::Unable => Answer::Nothing,
                Asked::Return(question) => return Ok((*question).into()),
            };
        let note = decide(inner, &proposal.id, answer);
        Ok(structured(offered.result(done.value, Some(&note))))
    }
}

/// Calls the tool, tells how it goes on, and stops waiting when the client does.
async fn run(
    inner: &Arc<Inner>,
    offered: &OfferedTool,
    arguments: JsonObject,
    context: &RequestContext<RoleServer>,
) -> Result<Done, ToolError> {
    if matches!(offered.access, Access::Reads | Access::Notes) && context.meta.get_progress_token().is_none()
    {
        let (started, asked) = (Instant::now(), Json::Object(arguments.clone()));
        return tokio::select! {
            result = inner.tools.call_with(offered.name(), arguments) => {
                record(inner, offered.name(), offered.access, &asked, &result, started);
                Ok(Done { value: result?, proposal: None })
            }
            () = context.ct.cancelled() => Err(cancelled()),
        };
    }
    let mut heard = inner.watched.as_ref().map(|watched| watched.listen());
    let client = context.client_info().map(|client| format!("{} {}", client.name, client.version));
    let (is_cancelled, worker) = (context.ct.clone(), Arc::clone(inner));
    let (name, access, is_async) = (offered.name().to_owned(), offered.access, offered.is_async);
    // In a task of its own, which goes on until nothing is left behind.
    let mut work = tokio::spawn(async move {
        let stop = || is_cancelled.is_cancelled();
        let (started, asked) = (Instant::now(), Json::Object(arguments.clone()));
        let call = worker.tools.call_with(&name, arguments.clone());
        if matches!(access, Access::Reads | Access::Notes) {
            let result = call.await;
            record(&worker, &name, access, &asked, &result, started);
            return Ok(Done { value: result?, proposal: None });
        }
        let _alone = worker.writing.lock().await;
        if stop() {
            return Err(cancelled());
        }
        worker.clear();
        note_request(&worker, &name, &arguments, client.as_deref());
        let result = match is_async {
            true => tokio::select! {
                result = call => result,
                () = is_cancelled.cancelled() => Err(cancelled()),
            },
            // It cannot be stopped: what it stages is dropped when it ends.
            false => call.await,
        };
        record(&worker, &name, access, &asked, &result, started);
        if name == GENERATE_ARTIFACT {
            record_handed_in(&worker, &arguments, started);
        }
        let done = match result {
            Ok(_) if stop() => Err(cancelled()),
            result => finish(&worker, &name, &arguments, client, result),
        };
        worker.clear();
        done
    });
    let mut progress = Progress::new(context);
    progress.tell(format!("calling `{}`", offered.name())).await;
    let mut heartbeat = tokio::time::interval_at(tokio::time::Instant::now() + HEARTBEAT, HEARTBEAT);
    loop {
        tokio::select! {
            done = &mut work => {
                progress.tell("done".to_owned()).await;
                return done.unwrap_or_else(|_| Err(ToolError::failed("the call ended in a panic")));
            }
            () = context.ct.cancelled() => return Err(cancelled()),
            line = hear(&mut heard) => progress.tell(line).await,
            _ = heartbeat.tick() => progress.tell(format!("`{}` goes on", offered.name())).await,
        }
    }
}

/// Keeps a call as an event; a note is one by itself.
fn record(
    inner: &Inner,
    tool: &str,
    access: Access,
    arguments: &Json,
    result: &Result<Json, ToolError>,
    started: Instant,
) {
    if !matches!(access, Access::Notes) {
        record_call(&inner.workspace.session, tool, arguments, result, started.elapsed());
    }
}

/// An artifact is handed in by somebody else's model, which was asked for it where Grail does not hear: its description says for what.
fn note_request(inner: &Inner, tool: &str, arguments: &JsonObject, client: Option<&str>) {
    let session = &inner.workspace.session;
    let text = |name: &str| arguments.get(name).and_then(Json::as_str);
    let Some(request) = text("description").filter(|_| tool == GENERATE_ARTIFACT) else { return };
    // Said again, it is another attempt at the same.
    if session.request() != request {
        session.emit_intent(request, text("artifact_type"), &plain(client.unwrap_or("unknown"), 200));
    }
}

/// What came of an artifact, once it passes: until then its maker tries again.
fn record_handed_in(inner: &Inner, arguments: &JsonObject, started: Instant) {
    let Some(checked) = inner.workspace.artifacts.last_since(0).filter(|checked| checked.report.success)
    else {
        return;
    };
    let request = arguments.get("description").and_then(Json::as_str).unwrap_or_default();
    let making = Making {
        request,
        retries: checked.attempt.saturating_sub(1) as usize,
        skills: Vec::new(),
        usage: Usage::default(),
        took: started.elapsed(),
        is_kept: true,
    };
    record_generation(&inner.workspace, &checked, making);
}

/// Makes a proposal of what a call staged, and keeps it.
fn finish(
    inner: &Inner,
    tool: &str,
    arguments: &JsonObject,
    client: Option<String>,
    result: Result<Json, ToolError>,
) -> Result<Done, ToolError> {
    let value = result?;
    let text = |name: &str| arguments.get(name).and_then(Json::as_str).map(str::to_owned);
    let client = client.map_or_else(|| "unknown".to_owned(), |client| plain(&client, 200));
    let work = StagedWork {
        request: text("description").or_else(|| text("intent")).unwrap_or_else(|| format!("`{tool}`")),
        kind: text("artifact_type"),
        author: ModelIdentity { name: "mcp".to_owned(), asked: client.clone(), answered: client },
        mode: "mcp".to_owned(),
    };
    let propose = || -> Result<Option<Proposal>, AgentError> {
        let proposal = propose_staged(&inner.workspace, work)?;
        if let Some(proposal) = &proposal {
            proposals::keep(&inner.workspace, proposal)?;
        }
        Ok(proposal)
    };
    Ok(Done { value, proposal: propose().map_err(|error| tool_error(&error))? })
}

/// Carries out what was decided. What cannot be carried out leaves the proposal as it is, and says why.
fn decide(inner: &Inner, id: &str, answer: Answer) -> ProposalNote {
    let workspace = &inner.workspace;
    let decided = match answer {
        Answer::Yes => proposals::approve(workspace, id),
        Answer::No => proposals::reject(workspace, id, Some("refused in the client".to_owned())),
        Answer::Nothing => proposals::store_of(workspace).read(id),
    };
    let problem = match decided {
        Ok(proposal) => return ProposalNote::of(&proposal),
        Err(error) => tool_error(&error).message,
    };
    match proposals::store_of(workspace).read(id) {
        Ok(proposal) => ProposalNote { next: problem, ..ProposalNote::of(&proposal) },
        Err(_) => ProposalNote {
            id: id.to_owned(),
            state: "unknown".to_owned(),
            files: Vec::new(),
            diff: String::new(),
            next: problem,
        },
    }
}

/// Tells a client that asked for it how a call goes on.
struct Progress<'c> {
    context: &'c RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    count: f64,
}

impl<'c> Progress<'c> {
    fn new(context: &'c RequestContext<RoleServer>) -> Self {
        Self { context, token: context.meta.get_progress_token(), count: 0.0 }
    }

    async fn tell(&mut self, message: String) {
        let Some(token) = &self.token else { return };
        let progress = ProgressNotificationParam::new(token.clone(), self.count).with_message(message);
        self.count += 1.0;
        // A client that is gone hears nothing.
        let _ = self.context.peer.notify_progress(progress).await;
    }
}

/// The next line about what goes on; never, where nobody listens.
async fn hear(heard: &mut Option<broadcast::Receiver<String>>) -> String {
    loop {
        let Some(receiver) = heard else { return std::future::pending().await };
        match receiver.recv().await {
            Ok(line) => return line,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => *heard = None,
        }
    }
}

fn about_call(offered: &OfferedTool, arguments: &JsonObject) -> Question {
    let arguments = serde_json::to_string_pretty(arguments).unwrap_or_default();
    Question {
        message: format!("May `{}` be called with\n{}", offered.name(), plain(&arguments, MAX_SHOWN)),
        yes: ALLOW.0,
        no: ALLOW.1,
    }
}

fn about_proposal(proposal: &Proposal) -> Question {
    let request = plain(proposal.intent(), 500);
    let diff = plain(&diff_of(proposal, MAX_SHOWN), MAX_SHOWN);
    Question {
        message: format!("Write this change into the project? ({request})\n{diff}"),
        yes: APPROVE.0,
        no: APPROVE.1,
    }
}

fn structured(value: Json) -> CallToolResponse {
    CallToolResult::structured(value).into()
}

fn failed(error: &ToolError) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())]).into()
}

fn refused(tool: &str) -> CallToolResponse {
    failed(&ToolError::new(
        "PermissionError",
        format!("`{tool}` was not allowed by the person who was asked"),
    ))
}

fn cannot_ask(tool: &str) -> CallToolResponse {
    failed(&ToolError::new(
        "PermissionError",
        format!(
            "`{tool}` needs the approval of a person, and this client cannot ask; hint: start the server with `grail mcp --allow {tool}`"
        ),
    ))
}

fn cancelled() -> ToolError {
    ToolError::failed("the call was cancelled")
}

fn unknown_tool(inner: &Inner, name: &str) -> ErrorData {
    let shown: String = name.chars().take(80).collect();
    let known: Vec<&str> = inner.offered.iter().map(OfferedTool::name).collect();
    ErrorData::invalid_params(format!("there is no tool `{shown}`; there are {}", known.join(", ")), None)
}
