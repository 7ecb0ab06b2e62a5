//! How a run ended, what it printed and what it used.
//!
//! Every ending says what to do next. *The code raised*, *a limit was hit* and *the worker died* are different endings, because a
//! caller must treat them differently: the first is the code's fault, the second the policy's, the third ours.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::observe::Timeline;
use crate::value::Value;

/// Where the page of an ending lives, relative to the repository.
const DOCS: &str = "docs/guides/sandbox-outcomes.md";

#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    #[serde(flatten)]
    pub ending: Ending,
    pub printed: Printed,
    pub usage: Usage,
    /// Places where the engine silently differs from CPython.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Ending {
    Value {
        value: Value,
    },
    /// The inputs do not fit their schema; nothing ran.
    InvalidInput {
        errors: Vec<FieldError>,
    },
    /// The static check found a construct that cannot run; nothing ran.
    Rejected {
        rejections: Vec<Rejection>,
    },
    /// The type checker found errors; nothing ran.
    TypeErrors {
        problems: Vec<TypeProblem>,
    },
    /// The code raised an exception and did not catch it.
    Raised(Raised),
    LimitHit(LimitHit),
    /// A tool failed and the code did not catch it.
    ToolFailed(ToolFailure),
    /// The result does not fit the output schema.
    InvalidOutput {
        errors: Vec<FieldError>,
        value: Value,
    },
    /// There was no worker to run it: all were busy, or none could be started. Nothing ran.
    NoWorker {
        message: String,
    },
    /// The worker died. Only this run is lost.
    WorkerCrashed(Crash),
    /// A tool that needs approval was called; the paused run is kept under this id.
    AwaitingApproval {
        id: String,
        tool: String,
    },
}

/// One place in a value that does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// `user.address[0].street`; empty for the whole value.
    pub path: String,
    pub message: String,
}

/// A construct the engine cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// Stable name, such as `class-inheritance`.
    pub construct: String,
    pub message: String,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
    /// A rewrite that works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A construct that runs, but not quite as in CPython.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    pub construct: String,
    pub message: String,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TypeProblem {
    /// The checker's rule, such as `invalid-argument-type`.
    pub rule: String,
    pub message: String,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Raised {
    /// The exception's class, such as `ValueError`.
    pub exception: String,
    pub message: String,
    /// Outermost first; only frames of the user's code.
    pub traceback: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Frame {
    pub function: Option<String>,
    pub line: u32,
    pub column: u32,
    pub source: String,
}

/// Which limit stopped the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    Duration,
    Memory,
    Recursion,
    Suspensions,
    Output,
    ResultSize,
    SourceSize,
    CheckTime,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitHit {
    pub limit: Limit,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traceback: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolFailure {
    pub tool: String,
    pub exception: String,
    pub message: String,
    pub traceback: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Crash {
    pub message: String,
}

/// What the code printed, in order, standard output and error together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Printed {
    pub text: String,
    /// Output beyond the limit was cut.
    pub truncated: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Time the interpreter spent executing.
    #[serde(serialize_with = "as_seconds", rename = "executing_seconds")]
    pub executing: Duration,
    /// Time from start to end, checks and tools included.
    #[serde(serialize_with = "as_seconds", rename = "elapsed_seconds")]
    pub elapsed: Duration,
    /// The most memory the run held in its worker, in bytes, as far as the worker could see.
    pub peak_memory: u64,
    pub tool_calls: u32,
    pub suspensions: u32,
}

impl Outcome {
    /// The value, if there is one.
    pub fn value(&self) -> Option<&Value> {
        match &self.ending {
            Ending::Value { value } => Some(value),
            _ => None,
        }
    }

    /// The value as a Rust type.
    ///
    /// # Errors
    /// There is no value, or it is of another shape.
    pub fn decode<Type: DeserializeOwned>(&self) -> Result<Type, String> {
        let value = self.value().ok_or_else(|| format!("the run ended with `{}`", self.ending.name()))?;
        serde_json::from_value(value.to_json()).map_err(|error| error.to_string())
    }
}

impl Ending {
    /// The stable name of this kind of ending, as in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Value { .. } => "value",
            Self::InvalidInput { .. } => "invalid-input",
            Self::Rejected { .. } => "rejected",
            Self::TypeErrors { .. } => "type-errors",
            Self::Raised(_) => "raised",
            Self::LimitHit(_) => "limit-hit",
            Self::ToolFailed(_) => "tool-failed",
            Self::InvalidOutput { .. } => "invalid-output",
            Self::NoWorker { .. } => "no-worker",
            Self::WorkerCrashed(_) => "worker-crashed",
            Self::AwaitingApproval { .. } => "awaiting-approval",
        }
    }

    /// What to do next, in one sentence; a value needs none.
    pub fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Value { .. } => return None,
            Self::InvalidInput { .. } => "give inputs that fit the schema at the named fields; nothing ran",
            Self::Rejected { .. } => "rewrite each construct as its hint says; nothing ran",
            Self::TypeErrors { .. } => "change the code so that its types fit the stubs; nothing ran",
            Self::Raised(_) => "mend the code at the last frame of the traceback, or catch the exception",
            Self::LimitHit(_) => "make the code need less, or raise the limit as far as the policy allows",
            Self::ToolFailed(_) => "mend the tool, or catch its exception in the code",
            Self::InvalidOutput { .. } => "return what the output schema declares at the named fields",
            Self::NoWorker { .. } => "run it again later, or see to the workers; nothing ran",
            Self::WorkerCrashed(_) => {
                "run it again: only this run is lost; if it crashes again, simplify the code"
            }
            Self::AwaitingApproval { .. } => "approve, deny or answer the call; the run goes on from there",
        })
    }

    /// The page that explains this ending; a value needs none.
    pub fn page(&self) -> Option<String> {
        (!matches!(self, Self::Value { .. })).then(|| format!("{DOCS}#{}", self.name()))
    }
}

impl Limit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Memory => "memory",
            Self::Recursion => "recursion",
            Self::Suspensions => "suspensions",
            Self::Output => "output",
            Self::ResultSize => "result-size",
            Self::SourceSize => "source-size",
            Self::CheckTime => "check-time",
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            formatter.write_str(&self.message)
        } else {
            write!(formatter, "`{}`: {}", self.path, self.message)
        }
    }
}

fn as_seconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}
