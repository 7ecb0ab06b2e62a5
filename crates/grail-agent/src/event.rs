//! What happened, as it happens: one event per step of the work, handed to whoever keeps them.
//!
//! An event is a fact, not a log line: it holds what was asked, what was answered and what came of it, so that examples to learn from can
//! be made of it later. Keeping events never stops the work: a sink that fails says so when it is asked.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use grail_model::{ToolCall, Usage};
use grail_project::data_folder;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::clock::Clock;

/// One captured moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// RFC 3339, UTC.
    pub at: String,
    pub session: String,
    /// From 1, in the order of the session.
    pub number: u64,
    #[serde(flatten)]
    pub kind: EventKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// Somebody wants something.
    IntentStated {
        intent: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        model: String,
    },
    /// Skills were told to the model.
    SkillLoaded {
        skill: String,
        version: String,
    },
    ModelAnswered {
        model: String,
        text: String,
        tool_calls: Vec<ToolCall>,
        usage: Usage,
    },
    ToolReturned {
        tool: String,
        ok: bool,
        result: Json,
    },
    /// A program that the model wrote was run in the sandbox.
    CodeRan {
        code: String,
        ok: bool,
        result: Json,
    },
    /// An artifact went through its layers.
    ArtifactChecked {
        kind: String,
        path: String,
        ok: bool,
        report: Json,
    },
    /// The model was told what is wrong and asked again.
    RetryAsked {
        reason: String,
    },
    /// A person answered with a correction instead of a decision.
    Corrected {
        text: String,
    },
    /// Another pass of a model looked at the work.
    Reviewed {
        report: Json,
    },
    ApprovalAsked {
        tool: String,
        arguments: Json,
        allowed: bool,
    },
    ProposalMade {
        proposal: String,
    },
    ProposalApproved {
        proposal: String,
    },
    ProposalRejected {
        proposal: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    ProposalReverted {
        proposal: String,
    },
    /// Somebody outside says what became of the work.
    Feedback {
        subject: String,
        verdict: String,
        text: String,
        /// The code as it should have been.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corrected: Option<String>,
    },
    /// A skill, a tool or a rule was made.
    Made {
        what: String,
        name: String,
    },
    Failed {
        reason: String,
    },
}

/// Keeps events.
pub trait EventSink: Send + Sync {
    fn record(&self, event: &Event);
}

/// Keeps none.
pub struct NoEvents;

impl EventSink for NoEvents {
    fn record(&self, _event: &Event) {}
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
    fn record(&self, event: &Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
    }
}

/// Appends them to files, one per session and day: `.grail/events/2026-11-16-SESSION.jsonl`.
pub struct JsonlSink {
    root: PathBuf,
    state: Mutex<JsonlState>,
}

#[derive(Default)]
struct JsonlState {
    open: Option<(PathBuf, File)>,
    problem: Option<String>,
}

impl JsonlSink {
    /// Below a project's root.
    pub fn of_project(root: &Path) -> Self {
        Self { root: root.to_owned(), state: Mutex::default() }
    }

    /// The first event that could not be kept, if there is one.
    pub fn problem(&self) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).problem.clone()
    }

    fn append(&self, state: &mut JsonlState, event: &Event) -> std::io::Result<()> {
        let day = event.at.get(..10).unwrap_or("unknown");
        let folder = self.root.join(".grail").join("events");
        let path = folder.join(format!("{day}-{}.jsonl", event.session));
        let is_open = state.open.as_ref().is_some_and(|(open, _)| *open == path);
        if !is_open {
            data_folder(&self.root)?;
            fs::create_dir_all(&folder)?;
            let file = OpenOptions::new().create(true).append(true).open(&path)?;
            state.open = Some((path, file));
        }
        let Some((_, file)) = &mut state.open else { return Ok(()) };
        // In one write, so that two processes never mix their lines.
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        file.write_all(&line)
    }
}

impl EventSink for JsonlSink {
    fn record(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.append(&mut state, event) {
            state.problem.get_or_insert_with(|| format!("events cannot be kept: {error}"));
        }
    }
}

/// Events that belong together, in their order.
pub struct Session {
    pub id: String,
    sink: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    count: AtomicU64,
}

impl Session {
    pub fn new(id: String, sink: Arc<dyn EventSink>, clock: Arc<dyn Clock>) -> Self {
        Self { id, sink, clock, count: AtomicU64::new(0) }
    }

    pub fn emit(&self, kind: EventKind) {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        self.sink.record(&Event { at: self.clock.now(), session: self.id.clone(), number, kind });
    }
}
