//! Work that leaves something to learn from: many intents, made by the model `template`, checked, fixed and approved as always.
//!
//! It is what `grail generate INTENT --model template --yes` does, for all of them in one process, each in a session of its own.

use std::sync::Arc;
use std::time::Instant;

use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::{ProposalStore, models, tools};
use grail_flywheel::event::ProposalDecision;
use grail_flywheel::suite::{Intent, curriculum};
use grail_rules::Layer;
use tokio::runtime::Builder;

use super::steps::{Show, Step};
use crate::memory::open_workspace_in;
use crate::progress::Progress;
use crate::render::count;

const TITLE: &str = "the work of some weeks, in fast motion";

/// Works on the first intents of the curriculum.
pub(super) fn work_on(show: &mut Show<'_>, most: Option<usize>) -> anyhow::Result<()> {
    let mut intents = curriculum()?;
    intents.truncate(most.unwrap_or(usize::MAX));
    let command =
        format!("$ grail generate '…' --model template --yes    # {}", count(intents.len(), "sentence"));
    show.heading(TITLE, &command)?;
    let started = Instant::now();
    let progress = Progress::of("working", intents.len(), "sentences");
    let mut passed = 0;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    for (number, intent) in intents.iter().enumerate() {
        passed += usize::from(runtime.block_on(work(show, intent))?);
        progress.advance(number + 1);
    }
    drop(progress);
    let said = format!("{passed} of {} passed every check and were approved", intents.len());
    show.terminal.note(format_args!("{said}"))?;
    let seconds = started.elapsed().as_secs_f64();
    show.steps.push(Step { title: TITLE, command, exit: 0, seconds, said: said.into() });
    Ok(())
}

/// Whether something came of one intent.
async fn work(show: &mut Show<'_>, intent: &Intent) -> anyhow::Result<bool> {
    let open = open_workspace_in(&show.root, |log| log)?;
    let workspace = &open.workspace;
    let chosen = models::choose(workspace, Some(models::TEMPLATE)).await?;
    let settings = GenerateSettings {
        kind: Some(intent.kind.clone()),
        model_name: chosen.name.clone(),
        layers: vec![Layer::Syntax, Layer::Rules],
        ..GenerateSettings::default()
    };
    let tools = tools::for_generating(workspace)?;
    let company = Company::default();
    let started =
        Generation::start(workspace, chosen.model.as_ref(), tools, &intent.intent, settings, company).await;
    let proposal = match started {
        Ok(mut generation) => generation.run().await,
        Err(error) => Err(error),
    };
    let passed = match proposal {
        Ok(proposal) => {
            let store = ProposalStore::of_project(&workspace.project.root);
            store.save(&proposal, None)?;
            workspace.session.emit_proposal(&proposal, ProposalDecision::Made, None);
            let (approved, _) = store.approve(&proposal.id, Arc::clone(&workspace.clock).as_ref())?;
            workspace.session.emit_proposal(&approved, ProposalDecision::Approved, None);
            true
        }
        Err(_) => false,
    };
    open.finish(show.terminal)?;
    Ok(passed)
}
