//! The flywheel's memory: what happened at work, what became of it, and what can be learned from it.
//!
//! Events are the source of truth: lines of JSON, appended and never changed. Everything else (the index, examples, datasets, numbers) is
//! computed from them and can be computed again. No model is asked here; whatever needs judgement comes in as a trait.

pub mod comparison;
pub mod curate;
pub mod dataset;
pub mod error;
pub mod evaluation;
pub mod event;
pub mod example;
pub mod extract;
pub mod gate;
pub mod index;
pub mod likeness;
pub mod log;
pub mod metrics;
pub mod outcome;
pub mod phase;
pub mod redact;
pub mod split;
pub mod statistics;
pub mod suite;
pub mod words;

pub use error::FlywheelError;
pub use event::{Event, EventKind, EventSink, NoEvents, RememberedEvents};
pub use example::{Example, ExampleType};
pub use log::{EventLog, Filter, ReadProblem, StoredEvent, Ticket, read_events};
