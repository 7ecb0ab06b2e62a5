//! Named limits and permissions; composed, the strictest wins.
//!
//! A [`Policy`] says some of what a run may use. [`Policies`] knows them by name and resolves one, or several together, into a
//! [`ResolvedPolicy`] that says everything. Two later layers may speak: the [`ResourceGuard`] of a call site, then that of one call.
//! Each may tighten; each may loosen a limit only up to the ceiling in the policy's `may-loosen`. Permissions are never loosened.
//!
//! Nothing here is unlimited, and a value outside its permitted range never enters: it is refused where it is written down.

mod access;
mod amount;
mod document;
mod error;
mod guard;
mod preset;
mod resolve;

use std::time::Duration;

pub use access::{FileAccess, ToolAccess};
pub use amount::Field;
pub use document::{Policy, PolicyBuilder};
pub use error::PolicyError;
pub use guard::{ResourceGuard, ResourceGuardBuilder};
pub use preset::Preset;
pub use resolve::{Policies, ResolvedPolicy};

/// What one run may use, after every layer has been applied. There is no "unlimited".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time the interpreter may spend executing; waiting for tools does not count.
    pub max_duration: Duration,
    /// Bytes the run may allocate in its worker.
    pub max_memory: u64,
    /// Depth of Python calls.
    pub max_recursion: u32,
    /// How often the run may stop to ask the host: tool calls, file calls, waits.
    pub max_suspensions: u32,
    /// Bytes of printed output that are kept; printing more ends the run.
    pub max_output: u64,
    /// Bytes of the result value.
    pub max_result: u64,
    /// Bytes of source.
    pub max_source: u64,
    /// Time the static check and the type check may take.
    pub check_timeout: Duration,
    /// Time one tool call may take.
    pub tool_timeout: Duration,
}

impl Default for Limits {
    /// Those of the preset `default`.
    fn default() -> Self {
        ResolvedPolicy::default().limits
    }
}

impl Limits {
    /// One of them, in its field's unit: microseconds, bytes or a count.
    pub(crate) fn get(&self, field: Field) -> u64 {
        match field {
            Field::MaxDuration => amount::microseconds(self.max_duration),
            Field::MaxMemory => self.max_memory,
            Field::MaxRecursion => self.max_recursion.into(),
            Field::MaxSuspensions => self.max_suspensions.into(),
            Field::MaxOutput => self.max_output,
            Field::MaxResult => self.max_result,
            Field::MaxSource => self.max_source,
            Field::CheckTimeout => amount::microseconds(self.check_timeout),
            Field::ToolTimeout => amount::microseconds(self.tool_timeout),
        }
    }

    pub(crate) fn set(&mut self, field: Field, value: u64) {
        let count = || u32::try_from(value).unwrap_or(u32::MAX);
        match field {
            Field::MaxDuration => self.max_duration = Duration::from_micros(value),
            Field::MaxMemory => self.max_memory = value,
            Field::MaxRecursion => self.max_recursion = count(),
            Field::MaxSuspensions => self.max_suspensions = count(),
            Field::MaxOutput => self.max_output = value,
            Field::MaxResult => self.max_result = value,
            Field::MaxSource => self.max_source = value,
            Field::CheckTimeout => self.check_timeout = Duration::from_micros(value),
            Field::ToolTimeout => self.tool_timeout = Duration::from_micros(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_can_be_read_back() {
        let mut limits = Limits::default();
        for (value, field) in (1..).zip(Field::ALL) {
            limits.set(field, value);
        }
        for (value, field) in (1..).zip(Field::ALL) {
            assert_eq!(limits.get(field), value, "{}", field.name());
        }
    }
}
