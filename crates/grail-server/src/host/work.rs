//! Commands about code and proposals.

use std::sync::Arc;

use grail_agent::artifact::Problem;
use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::models::Choosing;
use grail_agent::{AgentError, DialogueLimits, Proposal, Workspace, clean_path, models};
use grail_model::Recorder;
use grail_project::{PythonFile, project_path};
use grail_rules::{Checker, Finding, Layer, ProjectCheck};
use grail_sandbox::Toolset;

use super::envelope::{ErrorCode, HostError};
use super::payload::{
    Check, Checked, Generate, ListProposals, ProposalAnswer, ProposalLine, ProposalList, RejectProposal,
};
use crate::ProposalNote;
use crate::proposals;

/// More problems are counted, not told.
const MAX_PROBLEMS: usize = 200;

pub(super) fn check(workspace: &Workspace, wanted: &Check) -> Result<Checked, HostError> {
    let root = &workspace.project.root;
    let paths = wanted.paths.iter().map(|path| clean_path(path)).collect::<Result<Vec<_>, _>>();
    let paths = paths.map_err(|error| host_error(&error))?;
    let mut files = workspace.python_files();
    if !paths.is_empty() {
        let names: Vec<String> = files.iter().map(|file| project_path(root, &file.path)).collect();
        let is_in = |name: &str, path: &str| {
            name == path || name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        };
        if let Some(missing) = paths.iter().find(|path| !names.iter().any(|name| is_in(name, path))) {
            let message = format!("`{missing}` is no Python file of the project, and holds none");
            return Err(HostError::new(ErrorCode::NotFound, message));
        }
        let is_wanted = |file: &PythonFile| {
            let name = project_path(root, &file.path);
            paths.iter().any(|path| is_in(&name, path))
        };
        files.retain(is_wanted);
    }
    let rules = workspace.rules(wanted.kind.as_deref()).map_err(|error| host_error(&error))?;
    let report = ProjectCheck {
        project: &workspace.project,
        files: &files,
        checker: Checker { rules: &rules, python: Some(workspace.python_rules()) },
        layers: &[Layer::Syntax, Layer::Rules],
        fix: None,
        cache: None,
        progress: &|_| {},
    }
    .run();
    let failures: Vec<&Finding> = report.findings.iter().filter(|finding| finding.is_failure()).collect();
    Ok(Checked {
        passed: failures.is_empty() && report.problems.is_empty(),
        files: report.files.len(),
        problems: failures.iter().take(MAX_PROBLEMS).map(|finding| Problem::from(*finding)).collect(),
        more_problems: failures.len().saturating_sub(MAX_PROBLEMS),
        errors: report.problems.iter().map(ToString::to_string).collect(),
    })
}

/// Whoever calls this lets nobody else stage anything meanwhile.
pub(super) async fn generate(
    workspace: &Arc<Workspace>,
    tools: Toolset,
    wanted: Generate,
) -> Result<ProposalAnswer, HostError> {
    let layer = |name: &String| {
        serde_json::from_value::<Layer>(name.as_str().into()).map_err(|_| {
            HostError::new(ErrorCode::BadPayload, format!("`{name}` is no layer"))
                .hint("syntax, rules, lint, types or tests")
        })
    };
    let layers = wanted.layers.iter().map(layer).collect::<Result<Vec<_>, _>>()?;
    let made: Result<Proposal, AgentError> = async {
        let (name, intent) = (wanted.model.as_deref(), Some(wanted.intent.as_str()));
        let chosen = models::choose_with(workspace, Choosing { name, intent, ..Choosing::default() }).await?;
        let settings = GenerateSettings {
            kind: wanted.kind,
            model_name: chosen.name.clone(),
            phase: chosen.phase.clone(),
            mode: chosen.preferred_mode,
            form: chosen.form.clone(),
            limits: DialogueLimits { prices: chosen.prices, ..DialogueLimits::default() },
            layers,
            feature: wanted.feature,
            ..GenerateSettings::default()
        };
        let recorder = Recorder::new(chosen.model.as_ref());
        let company = Company::default();
        let mut generation =
            Generation::start(workspace, &recorder, tools, &wanted.intent, settings, company).await?;
        let proposal = generation.run().await?;
        proposals::store_of(workspace).save(&proposal, Some(&recorder.recording()))?;
        proposals::announce(workspace, &proposal);
        Ok(proposal)
    }
    .await;
    workspace.staging.clear();
    workspace.artifacts.clear();
    made.map(|proposal| answer(&proposal)).map_err(|error| host_error(&error))
}

pub(super) fn list(workspace: &Workspace, wanted: &ListProposals) -> ProposalList {
    let mut list = ProposalList { proposals: Vec::new(), errors: Vec::new() };
    for stored in proposals::store_of(workspace).list() {
        match stored {
            Ok(proposal) if wanted.all || proposal.state.name() == "waiting" => {
                list.proposals.push(ProposalLine {
                    id: proposal.id.clone(),
                    created: proposal.created.clone(),
                    state: proposal.state.name().to_owned(),
                    intent: proposal.intent().to_owned(),
                    files: proposal.files.iter().map(|file| file.path.clone()).collect(),
                });
            }
            Ok(_) => {}
            Err(error) => list.errors.push(error.to_string()),
        }
    }
    list
}

pub(super) fn show(workspace: &Workspace, id: &str) -> Result<ProposalAnswer, HostError> {
    decided(proposals::store_of(workspace).find(id))
}

pub(super) fn approve(workspace: &Workspace, id: &str) -> Result<ProposalAnswer, HostError> {
    let found = proposals::store_of(workspace).find(id);
    decided(found.and_then(|proposal| proposals::approve(workspace, &proposal.id)))
}

pub(super) fn reject(workspace: &Workspace, wanted: RejectProposal) -> Result<ProposalAnswer, HostError> {
    let found = proposals::store_of(workspace).find(&wanted.id);
    decided(found.and_then(|proposal| proposals::reject(workspace, &proposal.id, wanted.reason)))
}

pub(super) fn revert(workspace: &Workspace, id: &str) -> Result<ProposalAnswer, HostError> {
    let found = proposals::store_of(workspace).find(id);
    decided(found.and_then(|proposal| proposals::revert(workspace, &proposal.id)))
}

fn decided(result: Result<Proposal, AgentError>) -> Result<ProposalAnswer, HostError> {
    result.map(|proposal| answer(&proposal)).map_err(|error| host_error(&error))
}

fn answer(proposal: &Proposal) -> ProposalAnswer {
    ProposalAnswer {
        proposal: ProposalNote::of(proposal),
        lineage: proposal.lineage.clone(),
        retries: proposal.retries,
        model: proposal.model.answered.clone(),
    }
}

/// An error of the agent as a host hears it.
pub(super) fn host_error(error: &AgentError) -> HostError {
    let code = match error {
        AgentError::UnknownProposal { .. }
        | AgentError::UnknownKind { .. }
        | AgentError::UnknownGeneration { .. }
        | AgentError::UnknownModel { .. } => ErrorCode::NotFound,
        AgentError::Intent { .. }
        | AgentError::UnclearKind { .. }
        | AgentError::BadName { .. }
        | AgentError::Path { .. } => ErrorCode::BadPayload,
        AgentError::Exists { .. }
        | AgentError::SkillInstalled { .. }
        | AgentError::ProposalChanged { .. }
        | AgentError::AlreadyDecided { .. }
        | AgentError::NotApproved { .. }
        | AgentError::Busy { .. }
        | AgentError::ChangedMeanwhile { .. }
        | AgentError::ChangedSinceApproval { .. } => ErrorCode::Refused,
        AgentError::Skill(error) => return super::skills::host_error(error),
        _ => ErrorCode::Failed,
    };
    HostError { code, message: error.to_string(), hint: error.hint() }
}
