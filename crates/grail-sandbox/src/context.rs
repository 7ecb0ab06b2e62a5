//! The door: a context holds everything a run may see, and starts runs.
//!
//! A context is made once and used for many runs, from many tasks at a time. Runs share its workers and its memory of checked programs,
//! and nothing else: what one run did is not there for the next.

mod builder;
mod prepared;
mod suspended;

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value as Json;
use tracing::Instrument;

use crate::error::SandboxError;
use crate::files::{FileSystem, Files};
use crate::observe::{Metrics, Recorder, Redactor, count_outcome};
use crate::outcome::{Ending, FieldError, Limit, LimitHit, Note, Outcome, Printed, Usage};
use crate::policy::{Limits, ResolvedPolicy, ResourceGuard};
use crate::pool::{LivePrinter, PrintSink, Stay, Workers};
use crate::program::{Program, ResultRule};
use crate::run::{Run, Setup, Stop};
use crate::schema::Schema;
use crate::tool::Toolset;
use crate::value::{Identities, Value};

pub use builder::ContextBuilder;
pub use suspended::{Step, Suspended};

use prepared::PreparedPrograms;

/// Everything a run may see. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub(crate) inner: Arc<Inner>,
    /// A session too long for the checker to see all of.
    skips_type_check: bool,
}

pub(crate) struct Inner {
    pub(crate) workers: Workers,
    input_schema: Option<Schema>,
    output_schema: Option<Schema>,
    pub(crate) tools: Toolset,
    pub(crate) denied: Arc<[String]>,
    pub(crate) policy: ResolvedPolicy,
    pub(crate) files: Files,
    stubs: String,
    prepared: PreparedPrograms,
    inputs_as_names: bool,
    type_check: bool,
    pub(crate) rule: ResultRule,
    debug: bool,
    metrics: Option<Arc<dyn Metrics>>,
    pub(crate) redactor: Redactor,
    live: Option<LivePrinter>,
}

/// What one call may ask for beyond its context.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Tightens the context's policy, or loosens it where the policy says so.
    pub limits: ResourceGuard,
}

/// A run that is about to start.
pub(crate) struct Ready {
    pub(crate) program: Arc<Program>,
    inputs: Vec<(String, monty_types::MontyObject)>,
    pub(crate) limits: Limits,
}

impl Context {
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// Runs `code` to its end. A call that only somebody outside can answer fails the run; [`Context::run`] suspends there instead.
    pub async fn execute(&self, code: &str, inputs: impl Serialize) -> Outcome {
        self.execute_with(code, inputs, &CallOptions::default()).await
    }

    pub async fn execute_with(&self, code: &str, inputs: impl Serialize, options: &CallOptions) -> Outcome {
        match self.run(code, inputs, options).await {
            Step::Finished(outcome) => *outcome,
            Step::Suspended(suspended) => suspended.unanswered().await,
        }
    }

    /// Runs `code` up to its first tool call. Every call suspends, and the caller answers it.
    pub async fn start(&self, code: &str, inputs: impl Serialize) -> Step {
        self.begin(code, inputs, &CallOptions::default(), true).await
    }

    /// Runs `code` with the context's tools, up to a call that only somebody outside can answer: one that needs approval, or of a tool
    /// without a handler.
    pub async fn run(&self, code: &str, inputs: impl Serialize, options: &CallOptions) -> Step {
        self.begin(code, inputs, options, false).await
    }

    async fn begin(&self, code: &str, inputs: impl Serialize, options: &CallOptions, stepwise: bool) -> Step {
        let span =
            tracing::info_span!("grail.run", bytes = code.len(), stepwise, outcome = tracing::field::Empty);
        let step = async {
            let started = Instant::now();
            let ready = match self.ready(code, inputs, options).await {
                Ok(ready) => ready,
                Err(ending) => return Step::Finished(Box::new(self.unstarted(*ending, started))),
            };
            let mut run = match self.open(&ready, stepwise, started).await {
                Ok(run) => run,
                Err(error) => return Step::Finished(Box::new(self.unstarted(unavailable(&error), started))),
            };
            let stop = run.feed(ready.inputs).await;
            self.step(run, stop).await
        }
        .instrument(span.clone())
        .await;
        let reached = match &step {
            Step::Finished(outcome) => outcome.ending.name(),
            Step::Suspended(_) => "suspended",
        };
        span.record("outcome", reached);
        step
    }

    pub(crate) fn without_type_check(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), skips_type_check: true }
    }

    pub(crate) fn skips_type_check(&self) -> bool {
        self.skips_type_check
    }

    /// Everything but running: schema, static check, type check. A value of `None` means that nothing was found.
    pub async fn check(&self, code: &str) -> Outcome {
        let started = Instant::now();
        let limits = self.inner.policy.limits.clone();
        match self.checked_program(code, &limits, self.inner.rule, "").await {
            Ok(program) => {
                let mut outcome = self.unstarted(Ending::Value { value: Value::None }, started);
                outcome.notes.clone_from(&program.notes);
                outcome
            }
            Err(ending) => self.unstarted(*ending, started),
        }
    }

    /// The stubs that code is checked against: what a model should be shown.
    pub fn stubs(&self) -> &str {
        &self.inner.stubs
    }

    pub fn limits(&self) -> &Limits {
        &self.inner.policy.limits
    }

    async fn ready(
        &self,
        code: &str,
        inputs: impl Serialize,
        options: &CallOptions,
    ) -> Result<Ready, Box<Ending>> {
        let limits = self.inner.policy.limits_under(&options.limits).map_err(|error| {
            Box::new(Ending::InvalidInput {
                errors: vec![FieldError { path: String::new(), message: error.to_string() }],
            })
        })?;
        let inputs = self.inputs(inputs)?;
        let program = self.checked_program(code, &limits, self.inner.rule, &self.undeclared(&inputs)).await?;
        Ok(Ready { program, inputs, limits })
    }

    /// Validates inputs and turns them into the variables the code sees.
    pub(crate) fn inputs(
        &self,
        inputs: impl Serialize,
    ) -> Result<Vec<(String, monty_types::MontyObject)>, Box<Ending>> {
        let invalid = |path: &str, message: String| {
            Box::new(Ending::InvalidInput { errors: vec![FieldError { path: path.to_owned(), message }] })
        };
        let mut json = match serde_json::to_value(inputs) {
            Ok(Json::Null) => Json::Object(serde_json::Map::new()),
            Ok(json) => json,
            Err(error) => return Err(invalid("", error.to_string())),
        };
        if !json.is_object() {
            return Err(invalid("", "inputs must be an object with a field for each input".to_owned()));
        }
        let value = match &self.inner.input_schema {
            Some(schema) => {
                schema.fill_defaults(&mut json);
                schema.validate(&json).map_err(|errors| Box::new(Ending::InvalidInput { errors }))?;
                schema.fill_defaults(&mut json);
                schema.to_python(&json)
            }
            None if json.as_object().is_some_and(serde_json::Map::is_empty) => return Ok(Vec::new()),
            None => Value::from_json(&json),
        };
        let value = value.map_err(|error| invalid("", error.to_string()))?;
        let object = value.to_monty(&mut Identities::default());
        if monty_proto::exceeds_max_value_depth(&object) {
            return Err(invalid("", "the inputs nest too deeply".to_owned()));
        }
        let mut given = Vec::new();
        if self.inner.inputs_as_names
            && let monty_types::MontyObject::Dict(pairs) = &object
        {
            let names = pairs.iter().map(|(name, value)| (name.to_string(), value.clone()));
            given.extend(names.filter(|(name, _)| crate::stub::is_free_name(name)));
        }
        given.push(("inputs".to_owned(), object));
        Ok(given)
    }

    /// Definitions, for the type checker, of inputs that are visible as names and that no schema declares.
    fn undeclared(&self, inputs: &[(String, monty_types::MontyObject)]) -> String {
        if !self.inner.inputs_as_names || self.inner.input_schema.is_some() {
            return String::new();
        }
        let names = inputs.iter().map(|(name, _)| name).filter(|name| crate::stub::is_free_name(name));
        let given = "from typing import Any\ndef grail_given_() -> Any: ...\n".to_owned();
        names.fold(given, |source, name| source + name + " = grail_given_()\n")
    }

    /// Checks `code`, or remembers that it was checked. `before` is what has run before it in the same session.
    pub(crate) async fn checked_program(
        &self,
        code: &str,
        limits: &Limits,
        rule: ResultRule,
        before: &str,
    ) -> Result<Arc<Program>, Box<Ending>> {
        if code.len() as u64 > limits.max_source {
            return Err(Box::new(Ending::LimitHit(LimitHit {
                limit: Limit::SourceSize,
                message: format!(
                    "the source has {} bytes, the policy allows {}",
                    code.len(),
                    limits.max_source
                ),
                traceback: Vec::new(),
            })));
        }
        let is_tool = |name: &str| self.inner.tools.get(name).is_some();
        let prepared = self.inner.prepared.get(code, rule, before, &is_tool);
        let program = prepared
            .program
            .clone()
            .map_err(|rejections| Box::new(Ending::Rejected { rejections: rejections.to_vec() }))?;
        if !self.inner.type_check || self.skips_type_check {
            return Ok(program);
        }
        let problems = prepared.problems(&self.inner.workers, &self.inner.stubs, before, limits).await?;
        if problems.is_empty() {
            Ok(program)
        } else {
            Err(Box::new(Ending::TypeErrors { problems: problems.to_vec() }))
        }
    }

    pub(crate) async fn open(
        &self,
        ready: &Ready,
        stepwise: bool,
        started: Instant,
    ) -> Result<Run, SandboxError> {
        let (program, limits) = (Arc::clone(&ready.program), ready.limits.clone());
        self.open_program(program, limits, Stay::OneRun, stepwise, started).await
    }

    pub(crate) async fn open_program(
        &self,
        program: Arc<Program>,
        limits: Limits,
        stay: Stay,
        stepwise: bool,
        started: Instant,
    ) -> Result<Run, SandboxError> {
        let link = self.inner.workers.runner(&limits, stay).await?;
        let prints = PrintSink::new(limits.max_output, self.inner.live.clone());
        let files = FileSystem::new(&self.inner.files, self.inner.policy.files);
        let recorder = match self.inner.debug {
            true => Recorder::on(self.inner.redactor.clone(), self.inner.policy.name(), started),
            false => Recorder::off(self.inner.redactor.clone()),
        };
        let setup = Setup {
            tools: self.inner.tools.clone(),
            denied: Arc::clone(&self.inner.denied),
            limits,
            stepwise,
            observer: self.inner.debug.then(|| self.inner.workers.clone()),
        };
        Ok(Run::new(link, setup, program, files, prints, recorder, started))
    }

    pub(crate) async fn step(&self, run: Run, stop: Stop) -> Step {
        match stop {
            Stop::Ended(ending) => Step::Finished(Box::new(self.finish(run, ending).await)),
            Stop::Suspended(pending) => Step::Suspended(Box::new(Suspended::new(self.clone(), run, pending))),
        }
    }

    pub(crate) async fn finish(&self, mut run: Run, ending: Ending) -> Outcome {
        run.finish().await;
        self.outcome(&mut run, ending)
    }

    /// The outcome of a run that stopped: output checked, usage and output attached, counters moved.
    pub(crate) fn outcome(&self, run: &mut Run, ending: Ending) -> Outcome {
        let ending = self.check_output(ending);
        let peak_memory = match &ending {
            // A worker that died at its limit could not say how far it got; it got at least there.
            Ending::LimitHit(hit) if hit.limit == Limit::Memory => {
                run.prints.peak_memory.max(run.limits().max_memory)
            }
            _ => run.prints.peak_memory,
        };
        let usage = Usage { elapsed: run.elapsed(), peak_memory, ..run.usage.clone() };
        let printed = Printed { text: std::mem::take(&mut run.prints.text), truncated: run.prints.truncated };
        let timeline = run.recorder.finish(&ending, &printed);
        self.measured(Outcome { ending, printed, usage, notes: run.program().notes.clone(), timeline })
    }

    pub(crate) fn unstarted(&self, ending: Ending, started: Instant) -> Outcome {
        let usage = Usage { elapsed: started.elapsed(), ..Usage::default() };
        let notes: Vec<Note> = Vec::new();
        self.measured(Outcome { ending, printed: Printed::default(), usage, notes, timeline: None })
    }

    fn check_output(&self, ending: Ending) -> Ending {
        match (ending, &self.inner.output_schema) {
            (Ending::Value { value }, Some(schema)) => match schema.validate(&value.to_json()) {
                Ok(()) => Ending::Value { value },
                Err(errors) => Ending::InvalidOutput { errors, value },
            },
            (ending, _) => ending,
        }
    }

    fn measured(&self, outcome: Outcome) -> Outcome {
        if let Some(metrics) = &self.inner.metrics {
            count_outcome(metrics.as_ref(), &outcome);
        }
        outcome
    }
}

pub(crate) fn unavailable(error: &SandboxError) -> Ending {
    Ending::NoWorker { message: error.to_string() }
}
