//! Events that are kept and also heard: whoever waits for a long call is told what goes on.

use std::sync::Arc;

use grail_agent::{Event, EventKind, EventSink};
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
    fn record(&self, event: &Event) {
        self.inner.record(event);
        if let Some(line) = line_about(&event.kind) {
            // Nobody has to listen.
            let _ = self.sender.send(line);
        }
    }
}

fn line_about(event: &EventKind) -> Option<String> {
    Some(match event {
        EventKind::IntentStated { model, .. } => format!("asking the model `{model}`"),
        EventKind::ModelAnswered { model, .. } => format!("`{model}` answered"),
        EventKind::SkillLoaded { skill, .. } => format!("told the skill `{skill}`"),
        EventKind::ArtifactChecked { path, ok: true, .. } => format!("`{path}` passed its checks"),
        EventKind::ArtifactChecked { path, .. } => format!("`{path}` did not pass its checks"),
        EventKind::RetryAsked { .. } => "told the model what is wrong".to_owned(),
        EventKind::CodeRan { .. } => "ran a program in the sandbox".to_owned(),
        EventKind::Reviewed { .. } => "reviewed the work".to_owned(),
        EventKind::ProposalMade { proposal } => format!("made the proposal `{proposal}`"),
        _ => return None,
    })
}
