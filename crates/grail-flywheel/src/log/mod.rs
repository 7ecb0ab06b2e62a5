//! Events on disk: `.grail/events/<YYYY-MM-DD>-<SESSION>.jsonl`, one line of JSON for each, appended and never changed.
//!
//! What is acknowledged is on the disk. Any number of processes may write, also to the same session; a reader meets whole lines or is told
//! where one is not. Only [`forget_session`] takes something away, and leaves a tombstone.

mod append;
mod forget;
mod mend;
mod names;
mod problem;
mod reader;
mod weight;
mod writer;

pub(crate) use append::{Hold, lock};
pub use forget::{ForgetReport, forget_session, forgotten_sessions};
pub use grail_project::{EventSettings, SyncPolicy};
pub use mend::set_torn_aside;
pub use names::{EventFileName, events_folder};
pub use problem::{ReadProblem, ReadProblemKind};
pub(crate) use reader::read_single_files;
pub use reader::{EventReader, Filter, MAX_LINE_BYTES, Position, StoredEvent, read_events};
pub use writer::{EventLog, MAX_EVENT_BYTES, Ticket};
