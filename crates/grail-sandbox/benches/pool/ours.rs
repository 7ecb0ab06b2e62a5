//! Grail's sandbox as a host uses it: types checked, inputs and outputs validated, limits on.

use std::time::{Duration, Instant};

use grail_sandbox::{
    Context, Outcome, Schema, Signature, SnapshotKey, Step, StubModule, Tool, Toolset, WorkerConfig, Workers,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::programs::{PAUSING, TWENTY_LINES};
use crate::{Times, report};

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    left: i64,
    right: i64,
}

pub(crate) struct Sandbox {
    pub(crate) context: Context,
    key: SnapshotKey,
}

impl Sandbox {
    pub(crate) async fn start(config: &WorkerConfig) -> Self {
        let workers = Workers::start(config.clone()).await.expect("the worker starts");
        Self { context: context(workers), key: SnapshotKey::from_bytes([7; 32]) }
    }

    pub(crate) async fn run(&self, code: impl AsRef<str>) -> Outcome {
        let outcome = self.context.execute(code.as_ref(), json!({})).await;
        assert!(outcome.value().is_some(), "{outcome:?}");
        outcome
    }

    /// Returns the size of the snapshot.
    pub(crate) async fn dump_and_load(&self, times: &mut Times) -> usize {
        let Step::Suspended(mut paused) = self.context.start(PAUSING, json!({})).await else {
            panic!("it calls a tool")
        };
        let started = Instant::now();
        let snapshot = paused.dump(&self.key).await.expect("a snapshot");
        let loaded = self.context.load(&snapshot, &self.key).await.expect("a restored run");
        times.0.push(started.elapsed());
        assert_eq!(loaded.tool(), "add");
        loaded.call_tool().await;
        paused.call_tool().await;
        snapshot.len()
    }
}

pub(crate) fn context(workers: Workers) -> Context {
    let add = |numbers: Numbers| Ok(numbers.left + numbers.right);
    let add_later = |numbers: Numbers| async move { Ok(numbers.left + numbers.right) };
    let tools = Toolset::new([
        Tool::typed("add", "Adds.", add).expect("a tool"),
        Tool::typed("add_quickly", "Adds.", add).expect("a tool").quick(),
        Tool::typed_async("add_later", "Adds, when it likes.", add_later).expect("a tool"),
    ]);
    Context::builder().tools(tools.expect("one name each")).build(workers).expect("a context")
}

/// How long it takes to be ready.
pub(crate) async fn contexts(config: &WorkerConfig, scale: usize) {
    let workers = Workers::start(config.clone()).await.expect("the worker starts");
    let mut times = Times::default();
    times.add_blocking(50 * scale, || {
        let builder = Context::builder().input_schema(wide_schema(10)).output_schema(wide_schema(3));
        let search =
            Signature::from_schemas("search", Some(&wide_schema(5)), Some(&wide_schema(5))).expect("a tool");
        let tools = Toolset::new([Tool::external(search)]).expect("one name each");
        builder.tools(tools).build(workers.clone()).expect("a context")
    });
    report("a context with schemas and a tool", "grail", "us", times.undisturbed());

    let (mut checked, mut unchecked) = (Times::default(), Times::default());
    for _ in 0..5 * scale {
        checked
            .add(1, || async {
                let workers = Workers::start(config.clone()).await.expect("the worker starts");
                let outcome = context(workers.clone()).execute("1 + 1", json!({})).await;
                (outcome, workers)
            })
            .await;
        unchecked
            .add(1, || async {
                let workers = Workers::start(config.clone()).await.expect("the worker starts");
                let context =
                    Context::builder().without_type_check().build(workers.clone()).expect("a context");
                (context.execute("1 + 1", json!({})).await, workers)
            })
            .await;
    }
    report("from nothing to the first result", "grail", "us", unchecked.undisturbed());
    report("the same, types checked", "grail", "us", checked.undisturbed());
}

pub(crate) fn stubs(scale: usize) {
    let schema = wide_schema(100);
    let (mut stubs, mut all) = (Times::default(), Times::default());
    stubs.add_blocking(50 * scale, || StubModule::new().inputs(&schema).output(&schema).text());
    all.add_blocking(50 * scale, || StubModule::new().inputs(&wide_schema(100)).text());
    report("stubs for 100 fields", "grail", "us", stubs.undisturbed());
    report("the same, with compiling the schema", "grail", "us", all.undisturbed());
}

/// A schema of so many fields of all kinds, every fifth an object.
fn wide_schema(fields: usize) -> Schema {
    let field = |number: usize| match number % 5 {
        0 => json!({"type": "integer", "default": number}),
        1 => json!({"type": ["string", "null"], "description": "A text."}),
        2 => json!({"type": "array", "items": {"type": "number"}}),
        3 => json!({"enum": ["small", "large", number]}),
        _ => {
            json!({"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "integer"}}})
        }
    };
    let properties: Map<String, Json> =
        (0..fields).map(|number| (format!("field_{number}"), field(number))).collect();
    Schema::from_json(json!({"type": "object", "properties": properties})).expect("a schema")
}

/// Runs a thousand programs at once.
pub(crate) async fn crowd(config: &WorkerConfig, count: usize) -> Duration {
    let workers = Workers::start(config.clone()).await.expect("the worker starts");
    let context = context(workers);
    let started = Instant::now();
    let runs: Vec<_> = (0..count)
        .map(|_| {
            let context = context.clone();
            tokio::spawn(async move { context.execute(TWENTY_LINES, json!({})).await })
        })
        .collect();
    for run in runs {
        assert!(run.await.expect("no panic").value().is_some());
    }
    let elapsed = started.elapsed();
    crate::memory::report_crowd("grail");
    elapsed
}
