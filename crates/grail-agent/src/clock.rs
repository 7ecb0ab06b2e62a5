//! What time it is, and names for new things: injected, so that tests can tell.

use std::sync::atomic::{AtomicU64, Ordering};

use grail_flywheel::event;
use jiff::Timestamp;
use uuid::Uuid;

use crate::AgentError;

pub trait Clock: Send + Sync {
    /// RFC 3339 in UTC, to the second.
    fn now(&self) -> String;

    /// The name and the moment of an event.
    fn stamp(&self) -> (Uuid, String);

    /// A name that nothing else has, and that sorts by time: letters, digits and `-`.
    fn new_id(&self) -> Result<String, AgentError>;
}

/// The time of this machine.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> String {
        Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    fn stamp(&self) -> (Uuid, String) {
        (event::new_event_id(), event::now())
    }

    fn new_id(&self) -> Result<String, AgentError> {
        let mut chance = [0; 3];
        getrandom::fill(&mut chance).map_err(|error| AgentError::Chance { reason: error.to_string() })?;
        let chance = u32::from_be_bytes([0, chance[0], chance[1], chance[2]]);
        Ok(format!("{}-{chance:06x}", Timestamp::now().strftime("%Y%m%d-%H%M%S")))
    }
}

/// A clock that stands still, and counts names.
#[derive(Default)]
pub struct StoppedClock {
    names: AtomicU64,
    stamps: AtomicU64,
}

impl Clock for StoppedClock {
    fn now(&self) -> String {
        "2026-01-01T00:00:00Z".to_owned()
    }

    fn stamp(&self) -> (Uuid, String) {
        let number = self.stamps.fetch_add(1, Ordering::Relaxed) + 1;
        (Uuid::from_u128(number.into()), self.now())
    }

    fn new_id(&self) -> Result<String, AgentError> {
        Ok(format!("20260101-000000-{:06x}", self.names.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

/// Whether a name is one that a clock gives: it becomes a file name, so nothing else may pass.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() <= 40
        && text.len() >= 8
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte) || byte == b'-')
}
