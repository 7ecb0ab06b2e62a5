//! What the tests share: workers from the real binary, and contexts on them.

use grail_sandbox::{Context, ContextBuilder, Ending, Outcome, WorkerConfig, Workers};

pub(crate) async fn workers() -> Workers {
    let mut config = WorkerConfig::new(env!("CARGO_BIN_EXE_grail-sandbox-worker"));
    config.most = 2;
    Workers::start(config).await.expect("the worker binary starts")
}

/// A context with everything at its default.
pub(crate) async fn context() -> Context {
    build(Context::builder()).await
}

pub(crate) async fn build(builder: ContextBuilder) -> Context {
    builder.build(workers().await).expect("the context fits its policy")
}

/// The value's `repr()`, or the whole outcome where there is none.
pub(crate) fn shown(outcome: &Outcome) -> String {
    match &outcome.ending {
        Ending::Value { value } => value.repr(),
        other => format!("{other:?}"),
    }
}
