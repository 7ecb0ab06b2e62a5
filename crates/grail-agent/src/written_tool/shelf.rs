//! Tools that were checked or kept while a conversation goes on: drafts wait for a person, new tools for the loop to take them up.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use grail_sandbox::Tool;

use super::ToolDraft;

#[derive(Default)]
pub(crate) struct Shelf {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Checked, not yet approved.
    drafts: BTreeMap<String, ToolDraft>,
    kept: Vec<Tool>,
}

impl Shelf {
    pub(super) fn put_draft(&self, draft: ToolDraft) {
        self.lock().drafts.insert(draft.name.clone(), draft);
    }

    pub(super) fn take_draft(&self, name: &str) -> Option<ToolDraft> {
        self.lock().drafts.remove(name)
    }

    pub(super) fn keep(&self, tool: Tool) {
        self.lock().kept.push(tool);
    }

    /// Tools that were kept after the first `count`.
    pub(crate) fn kept_since(&self, count: usize) -> Vec<Tool> {
        self.lock().kept.get(count..).unwrap_or_default().to_vec()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
