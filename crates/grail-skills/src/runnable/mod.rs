//! Runnable skills: a folder with a manifest and a script that answers JSON-RPC 2.0 requests, one per line, on its standard streams.

pub mod capabilities;
mod connection;
pub mod fence;
pub mod inline_metadata;
mod manifest;
mod problem;
mod process;
pub mod protocol;
mod runner;
mod runtime;
mod start;

pub use capabilities::Capability;
pub use connection::{Answer, Connection, ConnectionSettings, Leave, Notification};
pub use fence::{FenceReport, Limits, Wall};
pub use inline_metadata::{InlineMetadata, read_inline_metadata};
pub use manifest::{Credential, MANIFEST_FILE, Manifest, is_skill_id};
pub use problem::{RunFailure, RunProblem};
pub use process::Ending;
pub use runner::{Backoff, Daemon, Invocation, check_health_once, invoke_once};
pub use runtime::{Needs, Runtime, Surroundings, choose_runtime};
pub use start::{RunnableSkill, StartSettings};

pub(crate) use fence::LauncherWord;
pub(crate) use process::{Stop, launcher_word};
pub(crate) use start::{Start, shown_errors};
