//! The limits of one call site, or of one call.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::amount::{Amounts, Field, microseconds};
use super::error::PolicyError;

/// Validated limits that are applied on top of a policy. What it leaves out stays as it is.
///
/// ```json
/// {"max-duration": "500ms", "max-memory": "16MiB", "max-suspensions": 3}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceGuard {
    pub(super) limits: Amounts,
}

/// Collects a guard; the first mistake is reported by [`ResourceGuardBuilder::build`].
#[derive(Clone, Debug, Default)]
pub struct ResourceGuardBuilder {
    guard: ResourceGuard,
    problem: Option<PolicyError>,
}

impl ResourceGuard {
    pub fn builder() -> ResourceGuardBuilder {
        ResourceGuardBuilder::default()
    }

    /// The limit of a field, in microseconds, bytes or as a count.
    pub fn get(&self, field: Field) -> Option<u64> {
        self.limits.get(field)
    }
}

impl ResourceGuardBuilder {
    pub fn max_duration(self, time: Duration) -> Self {
        self.limit(Field::MaxDuration, microseconds(time))
    }

    pub fn max_memory(self, bytes: u64) -> Self {
        self.limit(Field::MaxMemory, bytes)
    }

    pub fn max_recursion(self, depth: u32) -> Self {
        self.limit(Field::MaxRecursion, depth.into())
    }

    pub fn max_suspensions(self, calls: u32) -> Self {
        self.limit(Field::MaxSuspensions, calls.into())
    }

    pub fn max_output(self, bytes: u64) -> Self {
        self.limit(Field::MaxOutput, bytes)
    }

    pub fn max_result(self, bytes: u64) -> Self {
        self.limit(Field::MaxResult, bytes)
    }

    pub fn max_source(self, bytes: u64) -> Self {
        self.limit(Field::MaxSource, bytes)
    }

    pub fn check_timeout(self, time: Duration) -> Self {
        self.limit(Field::CheckTimeout, microseconds(time))
    }

    pub fn tool_timeout(self, time: Duration) -> Self {
        self.limit(Field::ToolTimeout, microseconds(time))
    }

    /// Any limit: in microseconds, bytes or as a count.
    pub fn limit(mut self, field: Field, amount: u64) -> Self {
        match field.validate(amount) {
            Ok(amount) => self.guard.limits.set(field, amount),
            Err(problem) => {
                self.problem.get_or_insert(problem);
            }
        }
        self
    }

    /// # Errors
    /// A limit is outside its permitted range.
    pub fn build(self) -> Result<ResourceGuard, PolicyError> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(self.guard),
        }
    }
}
