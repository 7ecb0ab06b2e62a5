//! Deciding about a proposal: approve, reject, revert. What is written is what was shown, or nothing.

use grail_project::{ChangeSet, FileChange, ProjectError, WriteReport, read_source, write_changes};

use super::{Proposal, ProposalState, ProposalStore, ProposedFile};
use crate::AgentError;
use crate::clock::Clock;
use crate::staging::{MAX_READ_BYTES, Staging};

impl ProposalStore {
    /// Writes the files as they were shown. Refused if one of them is no longer what it was.
    pub fn approve(&self, id: &str, clock: &dyn Clock) -> Result<(Proposal, WriteReport), AgentError> {
        let _lock = self.lock(id)?;
        let mut proposal = self.waiting(id)?;
        let changed = |path: &str| AgentError::ChangedMeanwhile { path: path.to_owned() };
        let changes =
            self.changes(&proposal.files, |file| (file.before.as_deref(), file.after.as_deref()), changed)?;
        let report = write_changes(&changes, &self.root)?;
        self.update(&mut proposal, ProposalState::Approved { at: clock.now() })?;
        Ok((proposal, report))
    }

    pub fn reject(
        &self,
        id: &str,
        reason: Option<String>,
        clock: &dyn Clock,
    ) -> Result<Proposal, AgentError> {
        let _lock = self.lock(id)?;
        let mut proposal = self.waiting(id)?;
        self.update(&mut proposal, ProposalState::Rejected { at: clock.now(), reason })?;
        Ok(proposal)
    }

    /// Puts the files back. Refused if one of them has changed since.
    pub fn revert(&self, id: &str, clock: &dyn Clock) -> Result<(Proposal, WriteReport), AgentError> {
        let _lock = self.lock(id)?;
        let mut proposal = self.read(id)?;
        if !matches!(proposal.state, ProposalState::Approved { .. }) {
            return Err(AgentError::NotApproved {
                id: id.to_owned(),
                state: proposal.state.name().to_owned(),
            });
        }
        let changed = |path: &str| AgentError::ChangedSinceApproval { path: path.to_owned() };
        let changes =
            self.changes(&proposal.files, |file| (file.after.as_deref(), file.before.as_deref()), changed)?;
        let report = write_changes(&changes, &self.root)?;
        self.update(&mut proposal, ProposalState::Reverted { at: clock.now() })?;
        Ok((proposal, report))
    }

    /// Replaces the text of a waiting proposal's file: somebody edited it before deciding.
    pub fn edit(&self, id: &str, path: &str, text: String) -> Result<Proposal, AgentError> {
        let _lock = self.lock(id)?;
        let mut proposal = self.waiting(id)?;
        if let Some(file) = proposal.files.iter_mut().find(|file| file.path == path) {
            file.after = Some(text);
        }
        self.save(&proposal, None)?;
        Ok(proposal)
    }

    fn waiting(&self, id: &str) -> Result<Proposal, AgentError> {
        let proposal = self.read(id)?;
        match proposal.state {
            ProposalState::Waiting => Ok(proposal),
            ref state => {
                Err(AgentError::AlreadyDecided { id: id.to_owned(), state: state.name().to_owned() })
            }
        }
    }

    fn changes<'p>(
        &self,
        files: &'p [ProposedFile],
        ends: impl Fn(&'p ProposedFile) -> (Option<&'p str>, Option<&'p str>),
        changed: impl Fn(&str) -> AgentError,
    ) -> Result<ChangeSet, AgentError> {
        let staging = Staging::new(&self.root);
        let mut changes = Vec::new();
        for file in files {
            let (from, to) = ends(file);
            let full = staging.locate(&file.path)?;
            let current = match read_source(&full, MAX_READ_BYTES) {
                Ok(current) => Some(current),
                Err(ProjectError::PathMissing { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            if current.as_ref().map(|current| current.source.text()) != from {
                return Err(changed(&file.path));
            }
            match (current, to) {
                (Some(current), Some(text)) => {
                    changes.extend(FileChange::replace(current, false, text.to_owned())?)
                }
                (Some(current), None) => changes.push(FileChange::remove(current, false)),
                (None, Some(text)) => changes.push(FileChange::create(full, text.to_owned(), false)?),
                (None, None) => {}
            }
        }
        Ok(ChangeSet::new(changes))
    }
}
