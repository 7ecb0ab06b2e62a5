//! Which checkpoint becomes the phase: the one that gets most of the validation prompts right. A loss says how surprised a model is by an
//! answer, not whether its own would pass; it decides only where the prompts are too few to.
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
    let mut scores = Vec::new();
    for (step, folder) in &checkpoints {
        if (watch.is_interrupted)() {
            return Err(AgentError::TrainingInterrupted { trainer: "local".to_owned() });
        }
        let right = match count_of(workspace, choice, dataset, folder, &prompts) {
            Ok(right) => right,
            // What was trained for an hour is not lost for want of a comparison.
            Err(error) => {
                (watch.hear)(TrainEvent::Noted(&format!("the last checkpoint is kept: {error}")));
                return Ok(());
            }
        };
        (watch.hear)(TrainEvent::Validated { step: *step, right, of: prompts.len() });
        note(curves, *step, right as f64 / prompts.len() as f64);
        let told = curves.iter().rfind(|point| point.step == *step && point.passed.is_some());
        scores.push(Score { right, valid_loss: told.and_then(|point| point.validation_loss) });
    }
    match best(&scores, prompts.len()) {
        Some(place) if place + 1 < checkpoints.len() => adopt(adapter, &checkpoints[place].1),
        _ => Ok(()),
    }
}

/// What is known of a checkpoint.
#[derive(Clone, Copy)]
struct Score {
    right: usize,
    valid_loss: Option<f64>,
}

/// The place of the best. Few prompts cannot tell checkpoints apart that differ by less than two standard errors: of those, the one that is least
/// surprised by the right answers counts. Of equals the later one does: it has seen more.
fn best(scores: &[Score], of: usize) -> Option<usize> {
    let highest = scores.iter().map(|score| score.right).max()?;
    let share = highest as f64 / of.max(1) as f64;
    let error = (share * (1.0 - share) * of as f64).sqrt();
    let is_as_good = |score: &Score| score.right as f64 + 2.0 * error >= highest as f64;
    let mut candidates: Vec<(usize, Score)> =
        scores.iter().copied().enumerate().filter(|(_, score)| is_as_good(score)).collect();
    if candidates.iter().any(|(_, score)| score.valid_loss.is_none()) {
        candidates.retain(|(_, score)| score.right == highest);
    }
    let loss = |score: &Score| score.valid_loss.unwrap_or_default();
    candidates
        .into_iter()
        .rev()
        .min_by(|one, other| loss(&one.1).total_cmp(&loss(&other.1)))
        .map(|(place, _)| place)
}

/// Makes the adapter that of a checkpoint.
fn adopt(adapter: &Path, checkpoint: &Path) -> Result<(), AgentError> {
    ADAPTER_FILES.iter().try_for_each(|name| take(&checkpoint.join(name), &adapter.join(name)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_checkpoint_is_kept_and_of_equals_the_last() {
        let scores = |rights: &[usize]| -> Vec<Score> {
            rights.iter().map(|right| Score { right: *right, valid_loss: None }).collect()
        };
        assert_eq!(best(&scores(&[3, 9, 9, 4]), 12), Some(2));
        assert_eq!(best(&scores(&[0, 0]), 12), Some(1));
        assert_eq!(best(&[], 12), None);
    }

    #[test]
    fn what_chance_cannot_tell_apart_is_told_apart_by_the_loss() {
        let told = |rights: [(usize, f64); 3]| {
            best(&rights.map(|(right, loss)| Score { right, valid_loss: Some(loss) }), 24)
        };
        assert_eq!(told([(16, 0.04), (14, 0.03), (15, 0.02)]), Some(2));
        // Too far from the best to be one of them.
        assert_eq!(told([(16, 0.04), (15, 0.03), (11, 0.01)]), Some(1));
        // Who gets all right needs no other proof.
        assert_eq!(told([(24, 0.04), (23, 0.01), (9, 0.02)]), Some(0));
    }

    #[test]
    fn an_adapter_becomes_that_of_one_checkpoint_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (adapter, checkpoint) = (folder.path(), folder.path().join("checkpoints/20"));
        fs::create_dir_all(&checkpoint).unwrap();
        fs::create_dir_all(adapter.join("peft")).unwrap();
        fs::create_dir_all(adapter.join("checkpoints/100")).unwrap();
        fs::write(adapter.join("adapters.safetensors"), "last").unwrap();
        fs::write(adapter.join("peft/adapter_model.safetensors"), "last").unwrap();
        fs::write(checkpoint.join("adapters.safetensors"), "best").unwrap();
        assert_eq!(checkpoints(adapter).iter().map(|(step, _)| *step).collect::<Vec<_>>(), [20, 100]);

        adopt(adapter, &checkpoint).unwrap();
        assert_eq!(fs::read_to_string(adapter.join("adapters.safetensors")).unwrap(), "best");
        // What the checkpoint does not have would be of another step.
        assert!(!adapter.join("peft/adapter_model.safetensors").exists());
    }

    #[test]
    fn the_share_of_right_answers_is_told_with_its_checkpoint() {
        let point = |step, loss| CurvePoint { step, loss, ..CurvePoint::default() };
        let mut curves = vec![point(1, Some(2.0)), point(2, Some(1.0)), point(2, None), point(3, Some(0.5))];
        note(&mut curves, 2, 0.25);
        note(&mut curves, 1, 0.0);
        let told: Vec<_> = curves.iter().map(|point| (point.step, point.passed)).collect();
        assert_eq!(told, [(1, None), (1, Some(0.0)), (2, None), (2, Some(0.25)), (3, None)]);
    }
}
