//! Typed, limited, resumable runs of untrusted Python.
//!
//! Code enters through a [`Context`]: its inputs are validated, it is checked before it runs, it sees only the tools and files it was
//! given, and it runs in a worker process under limits that the host enforces. What comes out is an [`Outcome`], which keeps apart
//! what the code did from what happened to it.
//!
//! The host's half links no interpreter. The worker's half (feature `worker`) is the only code that does.
//!
//! ```no_run
//! use grail_sandbox::{Context, Signature, Tool, Toolset, Value, WorkerConfig, Workers};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Order {
//!     items: Vec<String>,
//! }
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Total {
//!     price: f64,
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let price = Tool::blocking(Signature::parse("def price(item: str) -> float: ...")?, |call| {
//!     Ok(Value::Float(if call.arguments[0] == Value::str("tea") { 2.5 } else { 4.0 }))
//! });
//! let context = Context::builder()
//!     .input::<Order>()?
//!     .output::<Total>()?
//!     .tools(Toolset::new([price])?)
//!     .build(Workers::start(WorkerConfig::beside_this_program()?).await?)?;
//!
//! let code = "{'price': sum([price(item) for item in inputs['items']])}";
//! let outcome = context.execute(code, Order { items: vec!["tea".to_owned()] }).await;
//! match outcome.decode::<Total>() {
//!     Ok(total) => assert_eq!(total.price, 2.5),
//!     Err(why) => eprintln!("{why}: {}", outcome.ending.advice().unwrap_or_default()),
//! }
//! # Ok(())
//! # }
//! ```

mod approvals;
mod compat;
mod context;
mod error;
mod files;
mod observe;
mod outcome;
mod paused;
mod policy;
mod pool;
mod program;
mod run;
mod schema;
mod session;
mod snapshot;
mod stub;
mod tool;
mod value;
#[cfg(feature = "worker")]
pub mod worker;

pub use approvals::{
    Approval, ApprovalError, ApprovalList, ApprovalState, ApprovalStore, BrokenApproval, Decision,
    NewApproval,
};
pub use compat::subset_reference;
pub use context::{CallOptions, Context, ContextBuilder, Step, Suspended};
pub use error::SandboxError;
pub use files::{Access, CallbackFile, FileBudget, Files, Mount, Permission};
pub use observe::{
    CountSeries, Counters, DurationSeries, METRICS, Metric, Metrics, MetricsSnapshot, REDACTED, Redactor,
    SecretTooShort, Timeline, TimelineEvent, TimelineStep,
};
pub use outcome::{
    Crash, Ending, FieldError, Frame, Limit, LimitHit, Note, Outcome, Printed, Raised, Rejection,
    ToolFailure, TypeProblem, Usage,
};
pub use paused::{PausedRun, Purpose, Question};
pub use policy::{
    Field, FileAccess, Limits, Policies, Policy, PolicyBuilder, PolicyError, Preset, ResolvedPolicy,
    ResourceGuard, ResourceGuardBuilder, ToolAccess,
};
pub use pool::{WorkerConfig, Workers};
pub use program::ResultRule;
pub use schema::Schema;
pub use session::Session;
pub use snapshot::{KEY_FILE, KEY_VARIABLE, MAX_SNAPSHOT_BYTES, SnapshotError, SnapshotKey};
pub use stub::{Parameter, ParameterKind, Signature, StubModule};
pub use tool::{
    CacheResults, Call, CountCalls, LimitRate, LogCalls, Middleware, Next, Retry, Tool, ToolError, Toolset,
    ToolsetError,
};
pub use value::{MAX_DEPTH, Native, Record, TooDeep, Value};
