//! Events that are kept and also heard: whoever waits for a long call is told what goes on.

use std::sync::Arc;

use grail_flywheel::event::{ProposalDecision, SkillStage};
use grail_flywheel::{Event, EventKind, EventSink};
use tokio::sync::broadcast;

/// A listener that is slower than this misses the oldest.
const CAPACITY: usize = 64;

/// Hands events on to a sink, and tells those who listen.
pub struct WatchedEvents {
    inner: Arc<dyn EventSink>,
    sender: broadcast::Sender<String>,
}

impl WatchedEvents {
    pub fn new(inner: Arc<dyn EventSink>) -> Self {
        Self { inner, sender: broadcast::Sender::new(CAPACITY) }
    }

    /// Hears a line for each event that a person would want to know of.
    pub fn listen(&self) -> broadcast::Receiver<String> {
        self.sender.subscribe()
    }
}

impl EventSink for WatchedEvents {
    fn record(&self, event: Event) {
        if let Some(line) = line_about(&event) {
            // Nobody has to listen.
            let _ = self.sender.send(line);
        }
        self.inner.record(event);
    }
}

fn line_about(event: &Event) -> Option<String> {
    let model = event.context.model.as_deref().unwrap_or("unknown");
    Some(match &event.kind {
        EventKind::Intent { .. } => format!("asking the model `{model}`"),
        EventKind::ModelAnswer { .. } => format!("`{model}` answered"),
        EventKind::Skill { skill, stage: SkillStage::Loaded, .. } => format!("told the skill `{skill}`"),
        EventKind::DomainValidation { path, passed: true, .. } => format!("`{path}` passed its checks"),
        EventKind::DomainValidation { path, .. } => format!("`{path}` did not pass its checks"),
        EventKind::SandboxRun { .. } => "ran a program in the sandbox".to_owned(),
        EventKind::Review { .. } => "reviewed the work".to_owned(),
        EventKind::Proposal { proposal, decision: ProposalDecision::Made, .. } => {
            format!("made the proposal `{proposal}`")
        }
        _ => return None,
    })
}
