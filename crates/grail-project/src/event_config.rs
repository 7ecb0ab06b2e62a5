//! `[events]` in `grail.toml`: whether Grail remembers what happened at work, and how surely.

use serde::Deserialize;

/// What is kept of the work in a project.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct EventSettings {
    /// Whether events are kept at all. Without, nothing is written and no folder is made.
    pub enabled: bool,
    /// When events are forced to the disk.
    pub sync: SyncPolicy,
}

/// When what was written is forced to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncPolicy {
    /// Once for all events that have come together meanwhile: a kept event survives a loss of power.
    #[default]
    Group,
    /// Once for every event.
    Always,
    /// Never: a kept event survives the end of the process, but not a loss of power.
    Never,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self { enabled: true, sync: SyncPolicy::default() }
    }
}
