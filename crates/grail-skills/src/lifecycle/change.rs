//! Switching an installed skill on and off, and putting it under quarantine.

use super::problem::LifecycleProblem;
use super::record::{Health, Record};
use super::state::State;
use super::store::SkillStore;
use super::{Handshake, Step};
use crate::error::SkillError;

/// Switches a disabled skill on, after testing that it works.
pub fn enable(store: &SkillStore, id: &str, handshake: &Handshake<'_>) -> Result<Record, SkillError> {
    let locked = store.lock(id, &|_| {})?;
    let mut record = locked.installed_record()?;
    let current = record.current_mut()?;
    // Asked before anything is started.
    current.clone().move_to(id, State::Active, None)?;
    let folder = store.version_folder(id, current.number);
    let manifest = store.tested_manifest(id, current)?;
    if let Err(reason) = handshake(&folder, &manifest) {
        let outcome = format!("it stays {}", current.state);
        return Err(LifecycleProblem::HandshakeFailed { id: id.to_owned(), outcome, reason }.into());
    }
    locked.step(Step::Handshaken);
    current.move_to(id, State::Active, None)?;
    record.health = Health::default();
    locked.write(&record)?;
    Ok(record)
}

/// Switches a skill off.
pub fn disable(store: &SkillStore, id: &str, reason: Option<String>) -> Result<Record, SkillError> {
    change(store, id, State::Disabled, reason)
}

/// Puts an active skill where nothing invokes it until somebody has looked at it.
pub fn quarantine(store: &SkillStore, id: &str, reason: String) -> Result<Record, SkillError> {
    change(store, id, State::Quarantined, Some(reason))
}

fn change(store: &SkillStore, id: &str, to: State, reason: Option<String>) -> Result<Record, SkillError> {
    let locked = store.lock(id, &|_| {})?;
    let mut record = locked.installed_record()?;
    record.current_mut()?.move_to(id, to, reason)?;
    locked.write(&record)?;
    Ok(record)
}
