//! Scripts, run: each call is a run of its own in a worker process, under a policy that leaves it nothing but its argument.
//!
//! A run of its own costs little (the helpers are compiled anew), and nothing that one file's run did is there for the next.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use grail_sandbox::{
    Context, Ending, Field, FileAccess, Frame, Limit, Outcome, Policies, Policy, PolicyError, ResolvedPolicy,
    ToolAccess, Value, WorkerConfig, Workers,
};
use serde_json::Value as Json;
use tokio::runtime::{Handle, Runtime};

use super::script::Script;
use crate::RuleProblem;

/// Runs scripts in worker processes, which start when the first is needed. Calls block, and may come from many threads.
pub struct ScriptRunner {
    /// Started as `PROGRAM subprocess`.
    program: PathBuf,
    engine: OnceLock<Result<Engine, String>>,
}

struct Engine {
    // Before the runtime, because what it holds ends there.
    context: Context,
    /// Always there until the end.
    runtime: Option<Runtime>,
}

impl Drop for Engine {
    /// Whoever drops it may be a task of another runtime, where nothing may wait.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The time one call may take; large files need some.
const MAX_DURATION: Duration = Duration::from_secs(5);
const MAX_MEMORY: u64 = 256 << 20;
/// The interpreter's own work on nested data counts as recursion.
const MAX_RECURSION: u64 = 500;
const MAX_PRINTED: u64 = 16 << 10;
const MAX_RESULT: u64 = 32 << 20;
const MAX_SOURCE: u64 = 256 << 10;

impl ScriptRunner {
    /// `program` is a worker when it is started as `PROGRAM subprocess`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), engine: OnceLock::new() }
    }

    /// Calls the script's function with these inputs; the answer is what the function returned, as JSON text.
    pub(crate) fn call(&self, script: &Script, inputs: Json) -> Result<String, RuleProblem> {
        let run = || {
            let engine = self.engine.get_or_init(|| self.start()).as_ref().map_err(|message| {
                RuleProblem::new(&script.path, 0, format!("the sandbox cannot start: {message}"))
                    .hint("rules in Python need worker processes; see docs/guides/sandbox.md")
            })?;
            let Some(runtime) = &engine.runtime else {
                return Err(script.problem("the sandbox is shut down"));
            };
            Ok(runtime.block_on(engine.context.execute(&script.program, inputs)))
        };
        let outcome = match Handle::try_current() {
            // Whoever calls may be a task of another runtime, whose thread must not wait for this one.
            Ok(_) => thread::scope(|scope| scope.spawn(run).join())
                .unwrap_or_else(|_| Err(script.problem("the script could not run")))?,
            Err(_) => run()?,
        };
        answer(script, outcome)
    }

    fn start(&self) -> Result<Engine, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let policy = policy().map_err(|error| error.to_string())?;
        let workers = runtime.block_on(Workers::start(WorkerConfig::new(&self.program)));
        let context = workers
            .and_then(|workers| Context::builder().policy(policy).without_type_check().build(workers))
            .map_err(|error| error.to_string())?;
        Ok(Engine { context, runtime: Some(runtime) })
    }
}

/// No tools, no files, nothing to ask the host for, and nothing that could be loosened.
fn policy() -> Result<ResolvedPolicy, PolicyError> {
    let policy = Policy::builder()
        .description("Scripts over trees")
        .max_duration(MAX_DURATION)
        .max_memory(MAX_MEMORY)
        .limit(Field::MaxRecursion, MAX_RECURSION)
        .limit(Field::MaxSuspensions, 0)
        .limit(Field::MaxOutput, MAX_PRINTED)
        .limit(Field::MaxResult, MAX_RESULT)
        .limit(Field::MaxSource, MAX_SOURCE)
        .tools(ToolAccess::none())
        .files(FileAccess::None)
        .build()?;
    Policies::define([("tree-scripts", policy)])?.resolve("tree-scripts")
}

fn answer(script: &Script, outcome: Outcome) -> Result<String, RuleProblem> {
    let function = script.entry.function();
    Err(match outcome.ending {
        Ending::Value { value: Value::Str(text) } => return Ok(text),
        Ending::Value { .. } => script.problem("the script could not run"),
        Ending::Rejected { rejections } => match rejections.into_iter().next() {
            Some(rejection) => {
                let problem = match script.position(rejection.line, rejection.column) {
                    Some(position) => script.problem_at(position, rejection.message),
                    None => script.problem(rejection.message),
                };
                RuleProblem { hint: rejection.hint, ..problem }
            }
            None => script.problem("the script cannot run"),
        },
        Ending::Raised(raised) => {
            let what = match raised.message.is_empty() {
                true => raised.exception.clone(),
                false => format!("{}: {}", raised.exception, first_line(&raised.message)),
            };
            match place(script, &raised.traceback) {
                Some(problem) => problem(&what).hint("mend the script, or catch the exception"),
                // Raised while the answer was written down.
                None => script
                    .problem(format!("what `{function}` returns is no plain data: {what}"))
                    .hint("return lists, dictionaries, strings and numbers"),
            }
        }
        Ending::LimitHit(hit) => {
            let hint = match hit.limit {
                Limit::Duration => {
                    "look for a loop that does not end, or for work that grows with the square of the file"
                }
                Limit::Recursion => "walk the tree with `visit` or `findall`, which do not recurse",
                Limit::Suspensions => {
                    "the script sees its argument and nothing else: no clock, no files, no tools"
                }
                _ => "make the script need less",
            };
            match place(script, &hit.traceback) {
                Some(problem) => problem(&hit.message),
                None => script.problem(hit.message),
            }
            .hint(hint)
        }
        Ending::WorkerCrashed(crash) => script
            .problem(format!("the sandbox's worker died: {}", first_line(&crash.message)))
            .hint("make the script need less"),
        other => script.problem(format!("the script could not run: {}", other.name())),
    })
}

/// The innermost frame that is the script's own.
fn place<'s>(script: &'s Script, frames: &[Frame]) -> Option<impl Fn(&str) -> RuleProblem + use<'s>> {
    let position = frames.iter().rev().find_map(|frame| script.position(frame.line, frame.column))?;
    Some(move |message: &str| script.problem_at(position, super::one_line(message)))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
