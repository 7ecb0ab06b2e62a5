//! Tools that hand work in.

use std::sync::Arc;

use grail_sandbox::Toolset;

use crate::AgentError;
use crate::artifact::ArtifactSettings;
use crate::generate::generate_artifact;
use crate::workspace::Workspace;

pub(super) fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    Ok(Toolset::new([generate_artifact(workspace, ArtifactSettings::default())?])?)
}
