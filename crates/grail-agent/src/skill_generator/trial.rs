//! Starting a skill to see whether it works: behind the fence, without network, without credentials.

use std::path::Path;

use grail_skills::credentials::CredentialEnvironment;
use grail_skills::lifecycle::StagedSkill;
use grail_skills::runnable::{
    Connection, ConnectionSettings, RunProblem, RunnableSkill, StartSettings, Surroundings,
};

use crate::workspace::Workspace;

/// How generated skills are started.
pub(super) fn settings(workspace: &Workspace) -> ConnectionSettings {
    let root = workspace.project.root.clone();
    let mut start = StartSettings::new(Surroundings::of_this_process(Some(root)));
    start.launcher = Some(workspace.program.clone());
    ConnectionSettings::new(start)
}

/// Greets a staged skill and asks after its health. `false` if it was not started, because that would fetch packages that nobody has
/// agreed to: a model may have invented their names.
pub(super) async fn attempt(
    workspace: &Workspace,
    folder: &Path,
    staged: &StagedSkill,
) -> Result<bool, String> {
    if !staged.dependencies.is_empty() {
        return Ok(false);
    }
    let settings = settings(workspace);
    let folder = folder.to_owned();
    let greeted = tokio::task::spawn_blocking(move || greet(&folder, &settings)).await;
    greeted.map_err(|error| error.to_string())??;
    Ok(true)
}

/// A handshake, a question after its health, and a farewell.
pub(super) fn greet(folder: &Path, settings: &ConnectionSettings) -> Result<(), String> {
    let skill = RunnableSkill::open(folder).map_err(|problem| problem.to_string())?;
    let mut connection = Connection::open(&skill, &CredentialEnvironment::default(), settings)
        .map_err(|problem| told(&problem))?;
    connection.health().map_err(|problem| told(&problem))?;
    connection.close();
    Ok(())
}

fn told(problem: &RunProblem) -> String {
    match problem.hint() {
        Some(hint) => format!("it {}; {hint}", problem.failure),
        None => format!("it {}", problem.failure),
    }
}
