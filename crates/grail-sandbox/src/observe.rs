//! Timelines, spans and counters of runs; secrets stay out of them.
//!
//! The run driver feeds a [`Recorder`] while a run goes on and calls [`count_outcome`] when it has ended. All text passes a
//! [`Redactor`] first. Nothing here grows with what the code does: steps, values and series are bounded.

mod metrics;
mod redactor;
mod timeline;

pub use metrics::{CountSeries, Counters, DurationSeries, METRICS, Metric, Metrics, MetricsSnapshot};
pub(crate) use metrics::{count_outcome, count_tool_call};
pub use redactor::{REDACTED, Redactor, SecretTooShort};
pub(crate) use timeline::Recorder;
pub use timeline::{Timeline, TimelineEvent, TimelineStep};
