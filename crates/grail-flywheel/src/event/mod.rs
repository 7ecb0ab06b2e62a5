//! One captured moment, and whoever keeps it.
//!
//! An event is a fact, not a log line: what was asked, what was answered and what came of it, so that examples can be made of it later.
//! Results of tools are kept as their shape, never whole. The format has a version; a reader that does not know it says so and goes on.

mod kind;
mod summary;

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use kind::{
    CorrectionSource, EventKind, MergeWay, Problem, ProposalDecision, ReviewVerdict, SkillStage, Tokens,
    ToolUse,
};
pub use summary::{ResultSummary, bounded, is_cut, summarise};

/// The version of what is written. Readers know this one and those before it.
pub const EVENT_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub version: u32,
    /// UUIDv7: sorts by time within one process, whatever the clock does.
    pub id: Uuid,
    /// RFC 3339 in UTC. Order comes from `session` and `number`, never from this.
    pub at: String,
    pub session: String,
    /// From 1, in the order of the session.
    pub number: u64,
    #[serde(flatten)]
    pub context: EventContext,
    /// The event that this one answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Uuid>,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Where the work happens, the same for many events of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventContext {
    /// The branch of git; none with a detached head or without a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The document that the work is done by, below the project's root: context, not curriculum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// What the settings and rules in force hash to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Who answered, as the server names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The phase of the model, where one was promoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

impl Event {
    pub fn new(session: impl Into<String>, number: u64, kind: EventKind) -> Self {
        Self {
            version: EVENT_VERSION,
            id: new_event_id(),
            at: now(),
            session: session.into(),
            number,
            context: EventContext::default(),
            parent: None,
            kind,
        }
    }
}

/// UUIDv7; later ones of a process are greater.
pub fn new_event_id() -> Uuid {
    Uuid::now_v7()
}

/// RFC 3339 in UTC, to the millisecond.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Whether a text may name a session: it becomes part of a file name.
pub fn is_session_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Keeps events. Handing one over never waits for a disk.
pub trait EventSink: Send + Sync {
    fn record(&self, event: Event);
}

/// Keeps none.
pub struct NoEvents;

impl EventSink for NoEvents {
    fn record(&self, _event: Event) {}
}

/// Keeps them in memory, for tests.
#[derive(Default)]
pub struct RememberedEvents(Mutex<Vec<Event>>);

impl RememberedEvents {
    pub fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventSink for RememberedEvents {
    fn record(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}
