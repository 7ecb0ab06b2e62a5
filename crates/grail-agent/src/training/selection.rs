//! Which checkpoint becomes the phase: the one that gets most of the validation prompts right. A loss says how surprised a model is by an
//! answer, not whether its own would pass.
//!
//! Prompts that were kept back for validation are asked of every checkpoint, likeliest answers only, and judged like those of a suite: by
//! syntax, by the rules of their kind, and by the names in the answer that a person had approved.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use grail_flywheel::dataset::Dataset;
use grail_flywheel::phase::CurvePoint;
use grail_flywheel::suite::SuitePrompt;
use grail_model::local::LocalServer;
use tokio::runtime::Builder;

use super::data::storage;
use super::{TrainEvent, TrainWatch};
use crate::AgentError;
use crate::evaluate::{count_right, prompt_of};
use crate::models::LocalChoice;
use crate::workspace::Workspace;

/// Where a trainer leaves its checkpoints: folders named for their step.
const CHECKPOINTS: &str = "checkpoints";
/// What makes an adapter, and has to come from one checkpoint.
const ADAPTER_FILES: [&str; 4] = [
    "adapters.safetensors",
    "adapter_config.json",
    "peft/adapter_model.safetensors",
    "peft/adapter_config.json",
];

/// Asks every checkpoint and leaves the best one as the adapter. Without prompts or without a choice, the last one stays.
pub(super) fn keep_best(
    workspace: &Workspace,
    choice: &LocalChoice,
    dataset: &Dataset,
    (adapter, most_prompts): (&Path, u64),
    watch: &mut TrainWatch<'_>,
    curves: &mut Vec<CurvePoint>,
) -> Result<(), AgentError> {
    let checkpoints = checkpoints(adapter);
    let most_prompts = usize::try_from(most_prompts).unwrap_or(usize::MAX);
    let prompts: Vec<SuitePrompt> =
        dataset.valid()?.iter().filter_map(prompt_of).take(most_prompts).collect();
    if checkpoints.len() < 2 || prompts.is_empty() {
        return Ok(());
    }
    let mut best: Option<(usize, &(u64, PathBuf))> = None;
    for checkpoint in &checkpoints {
        if (watch.is_interrupted)() {
            return Err(AgentError::TrainingInterrupted { trainer: "local".to_owned() });
        }
        let (step, folder) = checkpoint;
        let right = count_of(workspace, choice, dataset, folder, &prompts)?;
        (watch.hear)(TrainEvent::Validated { step: *step, right, of: prompts.len() });
        note(curves, *step, right as f64 / prompts.len() as f64);
        // Of equals the later one: it has seen more.
        if best.is_none_or(|(most, _)| right >= most) {
            best = Some((right, checkpoint));
        }
    }
    match best {
        Some((_, (step, folder))) if Some(*step) != checkpoints.last().map(|(step, _)| *step) => {
            ADAPTER_FILES.iter().try_for_each(|name| take(&folder.join(name), &adapter.join(name)))
        }
        _ => Ok(()),
    }
}

/// How many prompts one checkpoint gets right. Training is no part of an asynchronous world, and asking is; so it has a thread of its own.
fn count_of(
    workspace: &Workspace,
    choice: &LocalChoice,
    dataset: &Dataset,
    checkpoint: &Path,
    prompts: &[SuitePrompt],
) -> Result<usize, AgentError> {
    let mut settings = choice.settings.clone();
    settings.adapter = Some(checkpoint.to_owned());
    settings.identity = None;
    let failed = |message: String| AgentError::Training { message, hint: None };
    let ask = || {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(format!("the checkpoints cannot be asked: {error}")))?;
        runtime.block_on(async {
            let server = LocalServer::start(settings, |_: &str| {}).await?;
            count_right(workspace, &server, &dataset.manifest.form, prompts).await
        })
    };
    let asked = thread::scope(|scope| scope.spawn(ask).join());
    asked.unwrap_or_else(|_| Err(failed("the checkpoints could not be asked".to_owned())))
}

/// Writes the share of right answers to where the curves tell of the checkpoint.
fn note(curves: &mut Vec<CurvePoint>, step: u64, passed: f64) {
    match curves.iter_mut().rfind(|point| point.step == step && point.loss.is_none()) {
        Some(point) => point.passed = Some(passed),
        None => {
            let place = curves.iter().take_while(|point| point.step <= step).count();
            let seconds = curves[..place].last().map_or(0.0, |point| point.seconds);
            curves.insert(place, CurvePoint { step, passed: Some(passed), seconds, ..CurvePoint::default() });
        }
    }
}

fn checkpoints(adapter: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(adapter.join(CHECKPOINTS)).into_iter().flatten().flatten();
    let step = |entry: &fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut found: Vec<(u64, PathBuf)> =
        entries.filter_map(|entry| Some((step(&entry)?, entry.path()))).collect();
    found.sort();
    found
}

/// Replaces a file by that of a checkpoint, as a whole; one that the checkpoint does not have would be of another step.
fn take(from: &Path, to: &Path) -> Result<(), AgentError> {
    if !from.is_file() {
        return match fs::remove_file(to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(storage(to, error)),
            _ => Ok(()),
        };
    }
    let unfinished = to.with_extension("unfinished");
    fs::copy(from, &unfinished).map_err(|error| storage(&unfinished, error))?;
    fs::rename(&unfinished, to).map_err(|error| storage(to, error))
}
