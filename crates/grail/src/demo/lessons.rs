//! Work that leaves something to learn from: many sentences, each in a session of its own, made, checked, fixed and approved as always.
//!
//! At first the [`Teacher`] answers. Once a phase was trained, the rest of the sentences is worked on with that, as in daily work: what is
//! right is approved, and what is not is put right by the one who knows, so that the next phase can learn from it.
//!
//! That may take half an hour, so a journal of its own says what came of each sentence: none is worked on twice if the demo is broken off.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::models::ChosenModel;
use grail_agent::{AgentError, Proposal, ProposalStore, Workspace, models, tools};
use grail_flywheel::NoEvents;
use grail_flywheel::event::ProposalDecision;
use grail_flywheel::suite::{Checks, Intent, check_code};
use grail_model::Model;
use grail_rules::Layer;
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;

use super::steps::{Show, read_text, write_lines};
use super::teacher::Teacher;
use crate::generate::{record_edits, reject};
use crate::memory::{OpenWorkspace, open_workspace_in};
use crate::progress::Progress;
use crate::render::count;

/// So many are asked at once: a local model answers them together.
const AT_ONCE: usize = 24;

/// Where sentences are written as they were worked on, for as long as there are more.
const JOURNAL: &str = ".grail/demo-lessons.jsonl";

/// A sentence of a step, and what came of it.
#[derive(Serialize, Deserialize)]
struct Worked {
    command: String,
    intent: String,
    came: Came,
}

/// What came of one sentence.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Came {
    /// What was made is right.
    Right,
    /// It was wrong, and was put right.
    PutRight,
    /// Nothing came of it.
    Nothing,
}

/// Works on sentences with the teacher alone.
pub(super) fn teach(show: &mut Show<'_>, intents: &[Intent]) -> anyhow::Result<()> {
    let title = "the work of some weeks, in fast motion";
    let command =
        format!("$ grail generate '…' --model template --yes    # {}", count(intents.len(), "sentence"));
    if show.was_done(&command, true) {
        return Ok(());
    }
    let came = work(show, title, &command, intents, None)?;
    let right = came.iter().filter(|came| **came != Came::Nothing).count();
    said(show, title, command, format!("{right} of {} passed every check and were approved", intents.len()))
}

/// Works on sentences with a phase, and puts right what it gets wrong.
pub(super) fn practise(show: &mut Show<'_>, intents: &[Intent], phase: &str) -> anyhow::Result<()> {
    let title = "daily work with the new phase: what is wrong is put right";
    let command =
        format!("$ grail generate '…' --model phase:{phase}    # {}", count(intents.len(), "sentence"));
    if show.was_done(&command, true) {
        return Ok(());
    }
    let came = work(show, title, &command, intents, Some(phase))?;
    let count = |wanted: Came| came.iter().filter(|came| **came == wanted).count();
    let (right, put_right) = (count(Came::Right), count(Came::PutRight));
    said(
        show,
        title,
        command,
        format!("{right} of {} approved as they were, {put_right} put right", intents.len()),
    )
}

fn said(show: &mut Show<'_>, title: &str, command: String, said: String) -> anyhow::Result<()> {
    show.terminal.note(format_args!("{said}"))?;
    show.done(title, command, 0, said.into());
    Ok(())
}

fn work(
    show: &mut Show<'_>,
    title: &str,
    command: &str,
    intents: &[Intent],
    phase: Option<&str>,
) -> anyhow::Result<Vec<Came>> {
    show.heading(title, command)?;
    let progress = Progress::of("working", intents.len(), "sentences");
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let root = show.root.clone();
    let journal = root.join(JOURNAL);
    let mut came = worked_before(&journal, command);
    runtime.block_on(async {
        let pupil = match phase {
            Some(phase) => {
                let open = open_workspace_in(&root, |log| log)?;
                Some(models::choose(&open.workspace, Some(&format!("phase:{phase}"))).await?)
            }
            None => None,
        };
        let left: Vec<&Intent> = intents.iter().filter(|intent| !came.contains_key(&intent.intent)).collect();
        let lessons = left.into_iter().map(|intent| lesson(&root, intent, pupil.as_ref()));
        let mut lessons = stream::iter(lessons).buffer_unordered(AT_ONCE);
        while let Some(done) = lessons.next().await {
            let (intent, one, open) = done?;
            open.finish(show.terminal)?;
            let worked = Worked { command: command.to_owned(), intent: intent.intent.clone(), came: one };
            write_lines(&journal, [worked], false);
            came.insert(intent.intent.clone(), one);
            progress.advance(came.len());
        }
        anyhow::Ok(())
    })?;
    drop(progress);
    // From here on the journal of steps says it.
    let _ = fs::remove_file(&journal);
    Ok(came.into_values().collect())
}

/// What came of the sentences of this step before it was broken off.
fn worked_before(journal: &Path, command: &str) -> BTreeMap<String, Came> {
    let text = read_text(journal);
    let worked = text.lines().filter_map(|line| serde_json::from_str::<Worked>(line).ok());
    worked.filter(|worked| worked.command == command).map(|worked| (worked.intent, worked.came)).collect()
}

async fn lesson<'i>(
    root: &Path,
    intent: &'i Intent,
    pupil: Option<&ChosenModel>,
) -> anyhow::Result<(&'i Intent, Came, OpenWorkspace)> {
    let open = open_workspace_in(root, |log| log)?;
    let workspace = &open.workspace;
    let store = ProposalStore::of_project(&workspace.project.root);
    let template = models::choose(workspace, Some(models::TEMPLATE)).await?;
    let teacher = Teacher { template: template.model.as_ref(), said: &intent.intent, meant: &intent.plain };
    let teacher = (&teacher, &template);
    let came = match pupil {
        Some(pupil) => practice(workspace, &store, intent, pupil, teacher).await?,
        None => show_how(workspace, &store, intent, teacher, Came::Right).await?,
    };
    Ok((intent, came, open))
}

/// The teacher's own work.
async fn show_how(
    workspace: &Arc<Workspace>,
    store: &ProposalStore,
    intent: &Intent,
    (teacher, template): (&Teacher<'_>, &ChosenModel),
    came: Came,
) -> anyhow::Result<Came> {
    match make(workspace, teacher, intent, settings(intent, template)).await {
        Ok(made) => approve(workspace, store, &made).map(|()| came),
        Err(_) => Ok(Came::Nothing),
    }
}

/// One sentence with the pupil, and the teacher at hand, who knows what is right without anybody hearing of it.
async fn practice(
    workspace: &Arc<Workspace>,
    store: &ProposalStore,
    intent: &Intent,
    pupil: &ChosenModel,
    teacher: (&Teacher<'_>, &ChosenModel),
) -> anyhow::Result<Came> {
    let unheard = open_workspace_in(&workspace.project.root, |_| Arc::new(NoEvents))?;
    let Ok(right) = make(&unheard.workspace, teacher.0, intent, settings(intent, teacher.1)).await else {
        return Ok(Came::Nothing);
    };
    if let Ok(made) = make(workspace, pupil.model.as_ref(), intent, settings(intent, pupil)).await {
        if is_as_good(&made, &right) {
            approve(workspace, store, &made)?;
            return Ok(Came::Right);
        }
        store.save(&made, None)?;
        workspace.session.emit_proposal(&made, ProposalDecision::Made, None);
        if let ([wrong], [wanted]) = (made.files.as_slice(), right.files.as_slice())
            && wrong.path == wanted.path
            && let Some(text) = &wanted.after
        {
            let mut edited = store.edit(&made.id, &wrong.path, text.clone())?;
            edited.recheck(workspace, &made)?;
            store.save(&edited, None)?;
            record_edits(workspace, &made, &edited);
            write(workspace, store, &edited)?;
            return Ok(Came::PutRight);
        }
        reject(workspace, store, &made.id, Some("that is not what was meant".to_owned()))?;
    }
    show_how(workspace, store, intent, teacher, Came::PutRight).await
}

/// Whether somebody who knows the right answer would approve this one: both name the same, no more and no less, and say the same of themselves.
fn is_as_good(made: &Proposal, right: &Proposal) -> bool {
    let code = |proposal: &Proposal| proposal.files.first().and_then(|file| file.after.clone());
    code(made).zip(code(right)).is_some_and(|(made, right)| says_the_same(&made, &right))
}

fn says_the_same(made: &str, right: &str) -> bool {
    holds(made, right) && holds(right, made) && first_words(made) == first_words(right)
}

/// Whether all that the other one names is in the code.
fn holds(code: &str, other: &str) -> bool {
    Checks::of_code(other).is_some_and(|checks| check_code(&checks, code).is_empty())
}

/// What is in the first line, in whatever order.
fn first_words(code: &str) -> BTreeSet<String> {
    let words = code.lines().next().unwrap_or_default().split(|one: char| !one.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn settings(intent: &Intent, chosen: &ChosenModel) -> GenerateSettings {
    GenerateSettings {
        kind: Some(intent.kind.clone()),
        model_name: chosen.name.clone(),
        phase: chosen.phase.clone(),
        mode: chosen.preferred_mode,
        form: chosen.form.clone(),
        layers: vec![Layer::Syntax, Layer::Rules],
        ..GenerateSettings::default()
    }
}

async fn make(
    workspace: &Arc<Workspace>,
    model: &dyn Model,
    intent: &Intent,
    settings: GenerateSettings,
) -> Result<Proposal, AgentError> {
    let (tools, company) = (tools::for_generating(workspace)?, Company::default());
    Generation::start(workspace, model, tools, &intent.intent, settings, company).await?.run().await
}

fn approve(workspace: &Workspace, store: &ProposalStore, proposal: &Proposal) -> anyhow::Result<()> {
    store.save(proposal, None)?;
    workspace.session.emit_proposal(proposal, ProposalDecision::Made, None);
    write(workspace, store, proposal)
}

/// Approves, and clears the desk: weeks later the same thing may be asked for again. What was approved is kept with its proposal.
fn write(workspace: &Workspace, store: &ProposalStore, proposal: &Proposal) -> anyhow::Result<()> {
    let (approved, _) = store.approve(&proposal.id, workspace.clock.as_ref())?;
    workspace.session.emit_proposal(&approved, ProposalDecision::Approved, None);
    for file in &approved.files {
        fs::remove_file(workspace.project.root.join(&file.path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: &str = "\"\"\"A kiln view with glaze and heat.\"\"\"\n\n\ndef kiln_view(*, glaze: str, heat: str) -> str: ...\n";

    #[test]
    fn an_answer_is_as_good_if_it_names_the_same_in_whatever_order() {
        let other_order = RIGHT.replace("glaze and heat", "heat and glaze");
        assert!(says_the_same(&other_order.replace("heat: str", "heat: float"), RIGHT));
        for (what, wrong) in [
            ("a field is missing", RIGHT.replace(", heat: str", "")),
            ("a field is too much", RIGHT.replace("heat: str", "heat: str, ash: str")),
            ("it is called otherwise", RIGHT.replace("kiln_view", "oven_view")),
            ("it says something else", RIGHT.replace("and heat", "and ash")),
            ("it is no Python", RIGHT.replace("def ", "")),
        ] {
            assert!(!says_the_same(&wrong, RIGHT), "{what}");
        }
    }
}
