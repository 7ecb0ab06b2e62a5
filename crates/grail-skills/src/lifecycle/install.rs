//! Installing a version of a skill, and returning to the last good one.
//!
//! Both put a version on trial beside the current one. It is tested, and only then takes the current one's place: until the record is
//! replaced, the old version is there and active; from then on, the new one is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use semver::Version;

use super::problem::LifecycleProblem;
use super::record::{Accepted, Installed, Record, now};
use super::stage::{StagedSkill, copy_skill, validate_staged_skill};
use super::state::State;
use super::store::{Locked, SkillStore, failed};
use super::{Handshake, Step};
use crate::error::SkillError;
use crate::runnable::capabilities::uncovered;
use crate::runnable::{Capability, Manifest};

/// How to install.
pub struct InstallSettings<'a> {
    /// Capabilities that the user accepts although the manifest does not declare them.
    pub accept: BTreeSet<Capability>,
    pub handshake: &'a Handshake<'a>,
    pub on_step: &'a dyn Fn(Step),
}

/// What was installed.
#[derive(Clone, Debug)]
pub struct InstallReport {
    pub record: Record,
    /// The version that was current before.
    pub replaced: Option<Version>,
}

/// Installs the skill in `source`: copied, checked, put beside the current version, tested, and then made the current one.
pub fn install(
    store: &SkillStore,
    source: &Path,
    settings: &InstallSettings<'_>,
) -> Result<InstallReport, SkillError> {
    // Most mistakes show here, before a single file is copied. What counts is the copy, which is checked again.
    let id = Manifest::read(source)?.id;
    let real = fs::canonicalize(source).map_err(|reason| failed("open", source, reason))?;
    let locked = store.lock(&id, settings.on_step)?;
    let mut record = locked.record()?;
    let staging = locked.staging()?;
    if fs::canonicalize(staging.path()).is_ok_and(|staging| staging.starts_with(&real)) {
        return Err(LifecycleProblem::HoldsStore { folder: source.to_owned() }.into());
    }
    let folder = staging.path().join(&id);
    copy_skill(&real, &folder, settings.on_step)?;
    locked.step(Step::Staged);
    let staged = validate_staged_skill(&folder).map_err(|error| relocate(error, &folder, source))?;
    record.accepted = accept(&record, &staged, &settings.accept)?;
    locked.step(Step::Validated);

    let number = locked.last_number(&record) + 1;
    record.last_number = number;
    locked.place(staging, number)?;
    let candidate = Installed {
        number,
        version: staged.manifest.version.clone(),
        hash: staged.hash.clone(),
        state: State::Pending,
        since: now(),
        reason: None,
        is_good: false,
        source: real,
        capabilities: staged.used(),
    };
    try_candidate(&locked, record, candidate, settings.handshake)
}

/// Returns to the last good version, after testing that it still works.
pub fn rollback(
    store: &SkillStore,
    id: &str,
    handshake: &Handshake<'_>,
    on_step: &dyn Fn(Step),
) -> Result<InstallReport, SkillError> {
    let locked = store.lock(id, on_step)?;
    let record = locked.installed_record()?;
    let Some(mut candidate) = record.last_good.clone() else {
        return Err(LifecycleProblem::NoLastGood { id: id.to_owned() }.into());
    };
    candidate.state = State::Pending;
    candidate.since = now();
    candidate.reason = Some("rolled back".to_owned());
    try_candidate(&locked, record, candidate, handshake)
}

/// Tests a version and makes it the current one, or leaves everything as it was.
fn try_candidate(
    locked: &Locked<'_>,
    mut record: Record,
    mut candidate: Installed,
    handshake: &Handshake<'_>,
) -> Result<InstallReport, SkillError> {
    let id = locked.id.as_str();
    let reason = candidate.reason.clone();
    let folder = locked.store.version_folder(id, candidate.number);
    let manifest = locked.store.tested_manifest(id, &candidate)?;
    candidate.move_to(id, State::Testing, reason.clone())?;
    record.candidate = Some(candidate.clone());
    locked.write(&record)?;

    let tested = handshake(&folder, &manifest);
    locked.step(Step::Handshaken);
    record.candidate = None;
    let replaced = record.current.as_ref().map(|current| current.version.clone());
    let outcome = match (&tested, &record.current) {
        (Ok(()), _) => {
            candidate.move_to(id, State::Active, reason)?;
            record.promote(candidate);
            None
        }
        (Err(_), Some(current)) => Some(format!("version {} stays {}", current.version, current.state)),
        (Err(reason), None) => {
            candidate.move_to(id, State::Quarantined, Some(reason.clone()))?;
            record.promote(candidate);
            Some("it is quarantined".to_owned())
        }
    };
    locked.write(&record)?;
    locked.prune(&record);
    match (tested, outcome) {
        (Err(reason), Some(outcome)) => {
            Err(LifecycleProblem::HandshakeFailed { id: id.to_owned(), outcome, reason }.into())
        }
        _ => Ok(InstallReport { record, replaced }),
    }
}

/// What is accepted for this content from now on, or the capabilities that nobody declared or accepted.
fn accept(
    record: &Record,
    staged: &StagedSkill,
    accept: &BTreeSet<Capability>,
) -> Result<Option<Accepted>, SkillError> {
    let undeclared = uncovered(&staged.used(), &staged.manifest.declared());
    let mut accepted = accept.clone();
    if let Some(before) = record.accepted.as_ref().filter(|before| before.hash == staged.hash) {
        accepted.extend(before.capabilities.iter().cloned());
    }
    let open = uncovered(&undeclared, &accepted);
    if !open.is_empty() {
        let id = staged.manifest.id.clone();
        return Err(LifecycleProblem::Undeclared { id, undeclared: open }.into());
    }
    Ok((!undeclared.is_empty()).then(|| Accepted { hash: staged.hash.clone(), capabilities: undeclared }))
}

/// Problems of the copy, said of the folder that the user knows.
fn relocate(error: SkillError, copy: &Path, source: &Path) -> SkillError {
    match error {
        SkillError::Problem(mut problem) => {
            if let Ok(inside) = problem.path.strip_prefix(copy) {
                problem.path = source.join(inside);
            }
            problem.into()
        }
        other => other,
    }
}
