//! Health checks: how many failed in a row is remembered, so that a restart forgets nothing.

use super::record::{Health, Record, now, shortened};
use super::state::State;
use super::store::SkillStore;
use crate::error::SkillError;

/// So many failed checks in a row put a skill under quarantine.
pub const MAX_FAILURES: u32 = 5;

/// Remembers how a check of an active skill went, and puts the skill under quarantine when it failed too often.
pub fn note_health(store: &SkillStore, id: &str, check: &Result<(), String>) -> Result<Record, SkillError> {
    let locked = store.wait_for_lock(id, &|_| {})?;
    let mut record = locked.installed_record()?;
    let failures = record.health.failures;
    let current = record.current_mut()?;
    if current.state != State::Active {
        // A late answer about a version that nobody uses any more says nothing.
        return Ok(record);
    }
    let health = match check {
        Ok(()) => Health { failures: 0, checked: Some(now()), problem: None },
        Err(problem) => Health {
            failures: failures.saturating_add(1),
            checked: Some(now()),
            problem: Some(shortened(problem)),
        },
    };
    if health.failures >= MAX_FAILURES {
        let problem = health.problem.as_deref().unwrap_or_default();
        let reason = format!("{} health checks in a row failed; the last one: {problem}", health.failures);
        current.move_to(id, State::Quarantined, Some(reason))?;
    }
    record.health = health;
    locked.write(&record)?;
    Ok(record)
}
