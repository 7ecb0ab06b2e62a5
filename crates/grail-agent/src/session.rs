//! Events that belong together, in their order, with what is the same for all of them.
//!
//! A session knows where the work happens (branch, spec, settings, model), what was asked for, and what was handed in before: from that
//! follow the context of every event, what it answers, and the chain of attempts at one artifact.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use grail_flywheel::event::{EVENT_VERSION, EventContext, Problem, ProposalDecision};
use grail_flywheel::{Event, EventKind, EventSink};
use grail_project::current_branch;
use uuid::Uuid;

use crate::clock::Clock;
use crate::proposal::Proposal;

/// How long a branch is taken to be checked out before it is looked at again: a server lives longer than a branch.
const BRANCH_AGE: Duration = Duration::from_secs(1);

pub struct Session {
    pub id: String,
    root: PathBuf,
    sink: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    count: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    context: EventContext,
    branch_read: Option<Instant>,
    request: String,
    /// The last event of its sort.
    intent: Option<Uuid>,
    answer: Option<Uuid>,
    /// What was handed in last and did not pass, by kind of artifact.
    failed: BTreeMap<String, Attempt>,
}

struct Attempt {
    number: u32,
    event: Uuid,
    code: String,
    problems: Vec<Problem>,
}

impl Session {
    pub fn new(id: String, root: &Path, sink: Arc<dyn EventSink>, clock: Arc<dyn Clock>) -> Self {
        Self { id, root: root.to_owned(), sink, clock, count: AtomicU64::new(0), state: Mutex::default() }
    }

    /// Hands an event over. What it answers follows from what went before.
    pub fn emit(&self, kind: EventKind) -> Uuid {
        let parent = {
            let state = self.state();
            match &kind {
                EventKind::Intent { .. } => None,
                EventKind::ToolCall { .. } | EventKind::SandboxRun { .. } => state.answer.or(state.intent),
                _ => state.intent,
            }
        };
        self.emit_after(parent, kind)
    }

    fn emit_after(&self, parent: Option<Uuid>, kind: EventKind) -> Uuid {
        let (id, at) = self.clock.stamp();
        let context = {
            let mut state = self.state();
            if state.branch_read.is_none_or(|read| read.elapsed() >= BRANCH_AGE) {
                state.branch_read = Some(Instant::now());
                state.context.branch = current_branch(&self.root);
            }
            match &kind {
                EventKind::Intent { request, .. } => {
                    state.request.clone_from(request);
                    state.intent = Some(id);
                    state.answer = None;
                    state.failed.clear();
                }
                EventKind::ModelAnswer { .. } => state.answer = Some(id),
                _ => {}
            }
            state.context.clone()
        };
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let session = self.id.clone();
        self.sink.record(Event { version: EVENT_VERSION, id, at, session, number, context, parent, kind });
        id
    }

    /// An artifact was checked. If the one before it did not pass, this was another attempt, which is an event of its own. Tells how
    /// many attempts there were.
    pub fn emit_check(&self, validation: EventKind) -> u32 {
        let EventKind::DomainValidation { artifact, path, code, passed, problems, .. } = &validation else {
            return 0;
        };
        let (artifact, path, code, passed) = (artifact.clone(), path.clone(), code.clone(), *passed);
        let problems = problems.clone();
        let event = self.emit(validation);
        let (query, before) = {
            let mut state = self.state();
            (state.request.clone(), state.failed.remove(&artifact))
        };
        let mut number = 1;
        if let Some(before) = before {
            number = before.number + 1;
            let retry = EventKind::Retry {
                query,
                artifact: artifact.clone(),
                path,
                attempt: before.number,
                problems: before.problems,
                original: before.code,
                corrected: code.clone(),
                passed,
            };
            self.emit_after(Some(before.event), retry);
        }
        if !passed {
            self.state().failed.insert(artifact, Attempt { number, event, code, problems });
        }
        number
    }

    /// What passed its check turned out to be wrong, as tests or a reviewer say: the next thing handed in is another attempt.
    pub fn emit_doubt(&self, artifact: &str, code: String, problems: Vec<Problem>) {
        let mut state = self.state();
        let Some(event) = state.intent else { return };
        state.failed.insert(artifact.to_owned(), Attempt { number: 1, event, code, problems });
    }

    /// Somebody wants something, and a model is to make it.
    pub fn emit_intent(&self, request: &str, artifact: Option<&str>, model: &str) {
        self.answered_by(model);
        self.emit(EventKind::Intent { request: request.to_owned(), artifact: artifact.map(str::to_owned) });
    }

    /// A proposal was made or decided.
    pub fn emit_proposal(&self, proposal: &Proposal, decision: ProposalDecision, reason: Option<String>) {
        let paths = proposal.files.iter().map(|file| file.path.clone()).collect();
        self.emit(EventKind::Proposal { proposal: proposal.id.clone(), decision, reason, paths });
    }

    /// What was asked for last.
    pub fn request(&self) -> String {
        self.state().request.clone()
    }

    /// The document that the work is done by.
    pub fn work_by_spec(&self, spec: Option<String>) {
        self.state().context.spec = spec;
    }

    /// What the settings hash to.
    pub fn work_with_settings(&self, hash: String) {
        self.state().context.config = Some(hash);
    }

    /// The phase that answers, where one does.
    pub fn answered_in_phase(&self, phase: Option<&str>) {
        self.state().context.phase = phase.map(str::to_owned);
    }

    /// Who answers, as far as is known.
    pub fn answered_by(&self, model: &str) {
        self.state().context.model = Some(model.to_owned());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
