//! One run, turn by turn, between the host and its worker.
//!
//! The worker stops whenever the code asks for something: a tool, a file, a name, a result it awaits. The driver answers and lets it go
//! on, until the code ends, a limit is hit, or a call comes that only somebody outside can answer. Nothing the worker says is trusted
//! beyond its own run.

mod ending;
mod luggage;
mod requests;
mod variables;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use monty_proto::pb;
use monty_proto::pb::parent_request::Kind as Request;
use monty_types::{MontyObject, MontyUuid};
use tokio::task::JoinSet;

use crate::files::FileSystem;
use crate::observe::Recorder;
use crate::outcome::{Ending, Limit, LimitHit, Usage};
use crate::policy::Limits;
use crate::pool::{Link, Lost, PrintSink, Workers};
use crate::program::Program;
use crate::tool::{Call, Handler, ToolError, Toolset};
use crate::value::{Identities, Value, tools_object, tools_object_id};

pub(crate) use luggage::Luggage;

/// How many failures of tools are remembered, to tell them from exceptions of the code itself.
const MOST_FAILURES: usize = 32;

/// What a run may see and use; the same for all runs of a context.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) tools: Toolset,
    /// Tools that exist but that the policy keeps from this run.
    pub(crate) denied: Arc<[String]>,
    pub(crate) limits: Limits,
    /// Every tool call suspends, so that the caller can answer it.
    pub(crate) stepwise: bool,
    /// Where the variables of a watched run are looked at.
    pub(crate) observer: Option<Workers>,
}

/// A run in a worker.
pub(crate) struct Run {
    link: Link,
    setup: Setup,
    program: Arc<Program>,
    /// Away only while a file call is being answered.
    pub(crate) files: Option<FileSystem>,
    pub(crate) prints: PrintSink,
    pub(crate) usage: Usage,
    pub(crate) recorder: Recorder,
    started: Instant,
    /// How many snippets were fed; the engine numbers them.
    feeds: u32,
    /// Calls of awaited tools that are being answered here.
    in_flight: JoinSet<(u32, String, Result<Value, ToolError>)>,
    /// Answers of awaited tools that the code has not asked for yet.
    ready: Vec<(u32, String, Result<Value, ToolError>)>,
    /// Calls of awaited tools that somebody outside must answer.
    waiting: Vec<PendingCall>,
    /// The tool failures that the code was told of last: which tool, and the exception as it was sent.
    failures: VecDeque<(String, ToolError)>,
    /// Bytes of arguments of awaited calls that are not answered yet.
    held: HashMap<u32, u64>,
    /// Time spent in turns by our own clock.
    spent: Duration,
}

/// A call that waits for an answer from outside.
#[derive(Clone, Debug)]
pub(crate) struct PendingCall {
    pub(crate) id: u32,
    pub(crate) call: Call,
    /// The code awaits the answer; otherwise it stands still at the call.
    pub(crate) awaited: bool,
}

/// Why the driver stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    Ended(Ending),
    Suspended(PendingCall),
}

/// What the driver does with an event.
enum Reaction {
    Send(Request),
    Stop(Stop),
}

impl Run {
    pub(crate) fn new(
        link: Link,
        setup: Setup,
        program: Arc<Program>,
        files: FileSystem,
        prints: PrintSink,
        recorder: Recorder,
        started: Instant,
    ) -> Self {
        Self {
            link,
            setup,
            program,
            files: Some(files),
            prints,
            usage: Usage::default(),
            recorder,
            started,
            feeds: 0,
            in_flight: JoinSet::new(),
            ready: Vec::new(),
            waiting: Vec::new(),
            failures: VecDeque::new(),
            held: HashMap::new(),
            spent: Duration::ZERO,
        }
    }

    /// Runs the program until it ends or suspends.
    pub(crate) async fn feed(&mut self, inputs: Vec<(String, MontyObject)>) -> Stop {
        self.recorder.started(self.started, || {
            let seen = inputs.iter().find(|(name, _)| name == "inputs");
            seen.map(|(_, object)| Value::from_monty(object.clone()).to_json()).unwrap_or_default()
        });
        let mut given = inputs;
        let tools_seen: Vec<_> =
            self.setup.tools.tools().filter(|tool| self.program.source.contains(tool.name())).collect();
        for tool in &tools_seen {
            let name = tool.name().to_owned();
            let docstring = tool.signature().doc.clone();
            given.push((name.clone(), MontyObject::Function { name, docstring }));
        }
        if self.program.source.contains("tools") {
            given.push(("tools".to_owned(), tools_object()));
        }
        let inputs =
            given.into_iter().map(|(name, value)| pb::NamedValue { name, value: Some(value.into()) });
        let request = Request::Feed(pb::Feed {
            code: self.program.source.as_ref().to_owned(),
            inputs: inputs.collect(),
            skip_type_check: true,
        });
        self.feeds += 1;
        let event = self.turn(request).await;
        self.drive(event).await
    }

    /// The next snippet of a session.
    pub(crate) async fn feed_next(
        &mut self,
        program: Arc<Program>,
        inputs: Vec<(String, MontyObject)>,
    ) -> Stop {
        self.program = program;
        self.started = Instant::now();
        self.failures.clear();
        // Calls that the snippet before never awaited: the engine counts calls from zero again.
        self.in_flight = JoinSet::new();
        self.ready.clear();
        self.waiting.clear();
        self.held.clear();
        self.feed(inputs).await
    }

    /// Answers a call that suspended the run, and lets it go on.
    pub(crate) async fn answer(&mut self, pending: &PendingCall, answer: Result<Value, ToolError>) -> Stop {
        self.waiting.retain(|waiting| waiting.id != pending.id);
        self.recorder.resumed();
        self.recorder.answered(pending.id, &answer);
        let request = if pending.awaited {
            self.future_results(vec![(pending.id, pending.call.tool.clone(), answer)])
        } else {
            self.call_result(pending.id, &pending.call.tool, answer)
        };
        let event = self.turn(request).await;
        self.drive(event).await
    }

    /// Ends a suspended run from outside; the code cannot catch it.
    pub(crate) async fn abort(&mut self) {
        let _ = self.turn(requests::abort("the run was ended by its host")).await;
    }

    /// The engine's dump of a suspended or idle session. Calls still in flight are waited for first: their answers travel along.
    pub(crate) async fn dump(&mut self) -> Result<Vec<u8>, Lost> {
        while let Some(finished) = self.in_flight.join_next().await {
            self.ready.extend(finished.ok());
        }
        let event = self.turn(Request::Dump(pb::Dump {})).await?;
        match event.kind {
            Some(pb::child_event::Kind::DumpResult(dump)) => Ok(dump.state),
            _ => Err(Lost::Crashed("the worker gave no snapshot".to_owned())),
        }
    }

    /// Continues from a dump: gives the call at which the run had stopped, or nothing for an idle session. Nothing is called or answered
    /// here, whatever the tools are like by now: that is for whoever looks at the call.
    pub(crate) async fn restore(&mut self, state: Vec<u8>) -> Result<Option<PendingCall>, Lost> {
        use pb::child_event::Kind as Event;

        let event = self.turn(Request::Load(pb::Load { state })).await?;
        self.usage.executing = self.usage.executing.max(Duration::from_micros(event.total_execution_micros));
        match event.kind {
            Some(Event::Ok(_)) => Ok(None),
            Some(Event::FunctionCall(call)) => {
                Ok(Some(PendingCall { id: call.call_id, awaited: false, call: received(call) }))
            }
            Some(Event::ResolveFutures(futures)) => {
                let awaited = |pending: &&PendingCall| futures.pending_call_ids.contains(&pending.id);
                let pending = self.waiting.iter().find(awaited).cloned();
                pending.map(Some).ok_or_else(|| Lost::Crashed("it does not stand at a call".to_owned()))
            }
            _ => Err(Lost::Crashed("it does not stand at a call".to_owned())),
        }
    }

    /// Gives the worker back.
    pub(crate) async fn finish(&mut self) {
        self.in_flight.abort_all();
        self.link.finish().await;
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.usage.elapsed + self.started.elapsed()
    }

    /// The engine's name for the snippet that runs.
    fn script(&self) -> String {
        format!("<python-input-{}>", self.feeds.saturating_sub(1))
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.setup.limits
    }

    pub(crate) fn is_stepwise(&self) -> bool {
        self.setup.stepwise
    }

    pub(crate) fn program(&self) -> &Arc<Program> {
        &self.program
    }

    async fn turn(&mut self, request: Request) -> Result<pb::ChildEvent, Lost> {
        let limit = self.setup.limits.max_duration;
        let remaining = limit.saturating_sub(self.usage.executing);
        let grace = limit.clamp(Duration::from_millis(250), Duration::from_secs(1));
        // The worker tells how long it executed. One that lies gets twice the time, and what many short turns cost anyway, but no more.
        let turns = Duration::from_millis(10).saturating_mul(self.usage.suspensions);
        let by_our_clock = (limit * 2 + grace + turns).saturating_sub(self.spent);
        let started = Instant::now();
        let answer = self.link.turn(request, by_our_clock.min(remaining + grace), &mut self.prints).await;
        self.spent += started.elapsed();
        answer
    }

    async fn drive(&mut self, first: Result<pb::ChildEvent, Lost>) -> Stop {
        let mut event = first;
        loop {
            let reaction = match event {
                Ok(event) => self.react(event).await,
                // The value was too large to send, and the worker still waits for one.
                Err(Lost::TooLarge(message)) => return Stop::Ended(ending::too_large(message)),
                Err(lost) => return Stop::Ended(ending::lost(lost, &self.setup.limits)),
            };
            match reaction {
                Reaction::Send(request) => event = self.turn(request).await,
                Reaction::Stop(stop) => {
                    if let Stop::Suspended(pending) = &stop {
                        self.recorder.suspended(&pending.call);
                    }
                    return stop;
                }
            }
        }
    }

    async fn react(&mut self, event: pb::ChildEvent) -> Reaction {
        use pb::child_event::Kind as Event;

        self.recorder.printed(self.prints.text.len());
        self.usage.executing = self.usage.executing.max(Duration::from_micros(event.total_execution_micros));
        let is_suspension = matches!(
            event.kind,
            Some(Event::FunctionCall(_) | Event::OsCall(_) | Event::NameLookup(_) | Event::ResolveFutures(_))
        );
        if is_suspension {
            self.usage.suspensions = self.usage.suspensions.saturating_add(1);
            if self.usage.suspensions > self.setup.limits.max_suspensions {
                return self.out_of_suspensions().await;
            }
        }
        match event.kind {
            Some(Event::Complete(complete)) => self.completed(complete.value.and_then(|value| value.0)),
            Some(Event::Error(error)) => Reaction::Stop(Stop::Ended(ending::raised(
                error,
                &self.program,
                &self.script(),
                &self.failures,
                &self.usage,
                &self.setup.limits,
            ))),
            Some(Event::FunctionCall(call)) => self.function_call(call).await,
            Some(Event::OsCall(call)) => self.os_call(call).await,
            Some(Event::NameLookup(lookup)) => self.name_lookup(&lookup),
            Some(Event::ResolveFutures(futures)) => self.resolve_futures(&futures.pending_call_ids).await,
            Some(Event::FatalError(fatal)) => Reaction::Stop(Stop::Ended(ending::crashed(fatal.message))),
            _ => Reaction::Stop(Stop::Ended(ending::crashed("the worker answered out of turn".to_owned()))),
        }
    }

    fn completed(&self, value: Option<MontyObject>) -> Reaction {
        let Some(object) = value else {
            return Reaction::Stop(Stop::Ended(ending::crashed("the worker sent no value".to_owned())));
        };
        Reaction::Stop(Stop::Ended(ending::value(object, &self.setup.limits)))
    }

    async fn out_of_suspensions(&mut self) -> Reaction {
        let limit = self.setup.limits.max_suspensions;
        let _ = self.turn(requests::abort("suspension limit exceeded")).await;
        Reaction::Stop(Stop::Ended(Ending::LimitHit(LimitHit {
            limit: Limit::Suspensions,
            message: format!("the code asked the host for something more than {limit} times"),
            traceback: Vec::new(),
        })))
    }

    async fn function_call(&mut self, call: monty_proto::WireFunctionCall) -> Reaction {
        let id = call.call_id;
        if call.object_id.is_some_and(|object| object != tools_object_id()) {
            let error =
                ToolError::new("AttributeError", format!("there is no method `{}`", call.function_name));
            return Reaction::Send(requests::call_error(id, &error));
        }
        let name = call.function_name.clone();
        let Some(tool) = self.setup.tools.get(&name) else {
            let exception = if call.object_id.is_some() { "AttributeError" } else { "NameError" };
            let error = ToolError::new(exception, self.unknown_tool(&name));
            return Reaction::Send(requests::call_error(id, &error));
        };
        self.usage.tool_calls = self.usage.tool_calls.saturating_add(1);
        let size = argument_bytes(&call);
        let held = self.held.values().fold(size, |held, bytes| held.saturating_add(*bytes));
        if held > self.setup.limits.max_memory || ending::has_endless_integer(&call.args) {
            let _ = self.turn(requests::abort("arguments too large")).await;
            return Reaction::Stop(Stop::Ended(Ending::LimitHit(LimitHit {
                limit: Limit::Memory,
                message: format!("the arguments of `{name}` and of calls under way are too large"),
                traceback: Vec::new(),
            })));
        }
        let suspends = self.setup.stepwise
            || self.setup.tools.needs_approval(&name)
            || matches!(tool.handler(), Handler::External);
        let awaited = tool.signature().is_async;
        if awaited {
            self.held.insert(id, size);
        }
        let call = received(call);
        self.recorder.called(id, &call);
        self.record_variables(id).await;
        match (suspends, awaited) {
            (true, false) => Reaction::Stop(Stop::Suspended(PendingCall { id, call, awaited })),
            (true, true) => {
                self.waiting.push(PendingCall { id, call, awaited });
                Reaction::Send(requests::future(id))
            }
            (false, false) => {
                let name = call.tool.clone();
                let answer = call_tool(self.setup.tools.clone(), call, self.setup.limits.tool_timeout).await;
                self.recorder.answered(id, &answer);
                Reaction::Send(self.call_result(id, &name, answer))
            }
            (false, true) => {
                let tools = self.setup.tools.clone();
                let within = self.setup.limits.tool_timeout;
                let mut answer = Box::pin(async move {
                    let name = call.tool.clone();
                    (id, name, call_tool(tools, call, within).await)
                });
                // An answer that is there at once needs no task; all others overlap.
                match answer.as_mut().now_or_never() {
                    Some(answer) => self.ready.push(answer),
                    None => drop(self.in_flight.spawn(answer)),
                }
                Reaction::Send(requests::future(id))
            }
        }
    }

    /// Debugging only: costs a dump and a turn for each variable.
    async fn record_variables(&mut self, id: u32) {
        let Some(workers) = self.setup.observer.clone() else { return };
        if let Ok(event) = self.turn(Request::Dump(pb::Dump {})).await
            && let Some(pb::child_event::Kind::DumpResult(dump)) = event.kind
        {
            let values = variables::look(&workers, dump.state, &self.program.variables()).await;
            self.recorder.variables(id, values);
        }
    }

    async fn os_call(&mut self, call: pb::OsCall) -> Reaction {
        let id = call.call_id;
        let call = call.call.and_then(|call| monty_types::OsFunctionCall::try_from(call).ok());
        let Some(call) = call else {
            return Reaction::Stop(Stop::Ended(ending::crashed("the worker asked for nothing".to_owned())));
        };
        self.recorder.system_call(call.name());
        if let Some(answer) = requests::clock_or_environment(&call) {
            return Reaction::Send(requests::call_value(id, answer));
        }
        // Mounted folders are real folders: a slow disk must not stop the runtime.
        let Some(mut files) = self.files.take() else {
            return Reaction::Stop(Stop::Ended(ending::crashed("the files are gone".to_owned())));
        };
        let answered = tokio::task::spawn_blocking(move || {
            let answer = files.answer(call);
            (files, answer)
        })
        .await;
        match answered {
            Ok((files, answer)) => {
                self.files = Some(files);
                Reaction::Send(requests::file_answer(id, answer))
            }
            Err(_) => Reaction::Stop(Stop::Ended(ending::crashed("a file operation panicked".to_owned()))),
        }
    }

    fn name_lookup(&self, lookup: &pb::NameLookup) -> Reaction {
        let object = lookup.object_id.as_ref().map(|id| MontyUuid::try_from_slice(&id.data));
        let on_tools = object == Some(Some(tools_object_id()));
        let is_plain = object.is_none();
        Reaction::Send(if (on_tools || is_plain) && self.setup.tools.get(&lookup.name).is_some() {
            requests::function_value(&lookup.name)
        } else if on_tools {
            requests::lookup_error(&ToolError::new("AttributeError", self.unknown_tool(&lookup.name)))
        } else if is_plain && (!self.setup.tools.is_empty() || self.setup.denied.contains(&lookup.name)) {
            requests::lookup_error(&ToolError::new("NameError", self.unknown_tool(&lookup.name)))
        } else {
            requests::undefined()
        })
    }

    async fn resolve_futures(&mut self, wanted: &[u32]) -> Reaction {
        let mut results = std::mem::take(&mut self.ready);
        // Wait for one if there is none yet, then take all that are there.
        if results.is_empty()
            && let Some(first) = self.in_flight.join_next().await
        {
            results.extend(first.ok());
        }
        while let Some(next) = self.in_flight.try_join_next() {
            results.extend(next.ok());
        }
        if !results.is_empty() {
            for (id, _, answer) in &results {
                self.recorder.answered(*id, answer);
            }
            return Reaction::Send(self.future_results(results));
        }
        match self.waiting.iter().find(|pending| wanted.contains(&pending.id)) {
            Some(pending) => Reaction::Stop(Stop::Suspended(pending.clone())),
            None => {
                let lost = ToolError::failed("nobody answers what is awaited here");
                Reaction::Send(self.future_results(
                    wanted.iter().map(|id| (*id, String::new(), Err(lost.clone()))).collect(),
                ))
            }
        }
    }

    fn call_result(&mut self, id: u32, tool: &str, answer: Result<Value, ToolError>) -> Request {
        match answer.and_then(sendable) {
            Ok(value) => requests::call_value(id, value),
            Err(error) => {
                let request = requests::call_error(id, &error);
                self.remember_failure(tool, &error);
                request
            }
        }
    }

    fn future_results(&mut self, results: Vec<(u32, String, Result<Value, ToolError>)>) -> Request {
        let mut sent = Vec::new();
        for (id, tool, answer) in results {
            self.held.remove(&id);
            match answer.and_then(sendable) {
                Ok(value) => sent.push(requests::future_value(id, value)),
                Err(error) => {
                    sent.push(requests::future_error(id, &error));
                    self.remember_failure(&tool, &error);
                }
            }
        }
        Request::ResumeFutures(pb::ResumeFutures { results: sent })
    }

    fn remember_failure(&mut self, tool: &str, error: &ToolError) {
        if self.failures.len() == MOST_FAILURES {
            self.failures.pop_front();
        }
        self.failures.push_back((tool.to_owned(), requests::as_sent(error)));
    }

    fn unknown_tool(&self, name: &str) -> String {
        if self.setup.denied.iter().any(|denied| denied == name) {
            return format!("the policy does not allow the tool `{name}`");
        }
        let names = self.setup.tools.names().join(", ");
        if names.is_empty() {
            format!("name '{name}' is not defined")
        } else {
            format!("name '{name}' is not defined; the tools are {names}")
        }
    }
}

/// The call as the code made it.
fn received(call: monty_proto::WireFunctionCall) -> Call {
    let keywords = call.kwargs.into_iter().map(|(name, value)| (name.to_string(), Value::from_monty(value)));
    Call {
        tool: call.function_name,
        keywords: keywords.collect(),
        arguments: call.args.into_iter().map(Value::from_monty).collect(),
    }
}

fn argument_bytes(call: &monty_proto::WireFunctionCall) -> u64 {
    let values = call.args.iter().chain(call.kwargs.iter().flat_map(|(name, value)| [name, value]));
    values.map(|value| value.deep_host_size() as u64).fold(0, u64::saturating_add)
}

pub(crate) async fn call_tool(tools: Toolset, call: Call, within: Duration) -> Result<Value, ToolError> {
    let name = call.tool.clone();
    tokio::time::timeout(within, tools.call(call)).await.unwrap_or_else(|_| {
        Err(ToolError::new("TimeoutError", format!("the tool `{name}` took longer than {within:?}")))
    })
}

fn sendable(value: Value) -> Result<MontyObject, ToolError> {
    let object = value.to_monty(&mut Identities::default());
    if monty_proto::exceeds_max_value_depth(&object) {
        return Err(ToolError::value_error("the tool's result nests too deeply"));
    }
    Ok(object)
}
