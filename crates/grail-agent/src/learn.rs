//! One turn of the wheel: a dataset, and if enough of it is new, a phase that is trained, evaluated, compared, and promoted or not.
//!
//! A turn has a budget of time and can end anywhere: what was trained or answered until then is kept, and the next turn goes on there: with
//! the training that was broken off, whatever was added since, or with a phase of which nothing was decided. Who starts it (a person, a
//! timer) makes no difference. Only one turn goes on at a time.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use grail_flywheel::dataset::{Manifest, open_dataset};
use grail_flywheel::gate::Refusal;
use grail_flywheel::phase::{Phase, PhaseState, Phases};
use grail_flywheel::suite::Suite;
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::AgentError;
use crate::compare::Watch;
use crate::models::PHASE_PREFIX;
use crate::promotion::{Scales, WeighSettings, Weighed, gained, weigh, win};
use crate::training::{TrainOrder, TrainWatch, is_resumable, train};
use crate::workspace::Workspace;

const LOCK_FILE: &str = "learn.lock";

/// How a turn is made.
#[derive(Clone, Debug)]
pub struct LearnSettings {
    /// What phases are trained on; without it, what `[train]` says.
    pub model: Option<String>,
    /// How many examples the last phase must not have seen.
    pub new_examples: u64,
    pub budget: Duration,
    /// Only say what would be done.
    pub dry_run: bool,
    /// The share of the intents that a phase gets which is not clearly better yet.
    pub challenger_share: f64,
    pub weigh: WeighSettings,
}

impl LearnSettings {
    /// As the project's settings have it.
    pub fn of(workspace: &Workspace) -> Self {
        let learn = &workspace.project.config.learn;
        Self {
            model: learn.model.clone(),
            new_examples: learn.new_examples,
            budget: Duration::from_secs(learn.minutes.saturating_mul(60)),
            dry_run: false,
            challenger_share: learn.challenger_share,
            weigh: WeighSettings::of(workspace),
        }
    }
}

/// What a turn came to.
pub struct Turn {
    pub outcome: Outcome,
    /// The hash of the dataset.
    pub dataset: String,
    pub examples: u64,
    /// Of them, those that the last phase did not see.
    pub new_examples: u64,
    pub phase: Option<Phase>,
    pub weighed: Option<Weighed>,
    pub steps: Vec<Step>,
}

/// One step, and how long it took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    pub step: &'static str,
    pub seconds: f64,
    pub said: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Too little is new.
    NothingNew {
        wanted: u64,
    },
    /// A dry run ends before training.
    WouldTrain,
    /// A dry run ends before a training is gone on with that was broken off.
    WouldResume {
        phase: String,
    },
    /// A dry run ends before a trained phase is weighed.
    WouldWeigh {
        phase: String,
    },
    OutOfTime {
        during: &'static str,
    },
    Promoted {
        reason: String,
    },
    /// It is not clearly better, and tried on a share of the work.
    Challenges {
        share: f64,
        reasons: Vec<String>,
    },
    /// The one that answers stays.
    Kept {
        reasons: Vec<String>,
    },
}

/// Held as long as a turn goes on.
pub struct LearnLock(#[expect(dead_code, reason = "the lock ends with it")] File);

/// Nobody else turns the wheel meanwhile.
pub fn lock(root: &Path) -> Result<LearnLock, AgentError> {
    let folder = root.join(".grail");
    let path = folder.join(LOCK_FILE);
    let storage = |source| AgentError::Storage { path: path.display().to_string(), source };
    fs::create_dir_all(&folder).map_err(storage)?;
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(storage)?;
    match file.try_lock() {
        Ok(()) => Ok(LearnLock(file)),
        Err(TryLockError::WouldBlock) => Err(AgentError::Other {
            message: "another `grail learn` is at work in this project".to_owned(),
            hint: Some("wait for it; what it does is kept".to_owned()),
        }),
        Err(TryLockError::Error(source)) => Err(storage(source)),
    }
}

/// Goes on from a dataset that was just built. `train_watch` hears of training and says when to stop, `watch` hears of asking.
pub async fn turn(
    workspace: &Workspace,
    suite: &Suite,
    built: &Manifest,
    settings: &LearnSettings,
    train_watch: &mut TrainWatch<'_>,
    watch: Watch<'_>,
) -> Result<Turn, AgentError> {
    let started = Instant::now();
    let root = &workspace.project.root;
    let phases = Phases::new(root);
    let last = last_phase(root)?;
    let (examples, new_examples) = count_new(root, Some(&built.hash), last.as_ref())?;
    let mut turn = Turn {
        outcome: Outcome::NothingNew { wanted: settings.new_examples },
        dataset: built.hash.clone(),
        examples,
        new_examples,
        phase: None,
        weighed: None,
        steps: Vec::new(),
    };
    let phase = match last {
        // It was trained by a person, or by a turn that ended too early.
        Some(phase) if phase.is_usable() && !phases.is_decided(&phase)? => {
            if settings.dry_run {
                turn.outcome = Outcome::WouldWeigh { phase: phase.id.clone() };
                turn.phase = Some(phase);
                return Ok(turn);
            }
            phase
        }
        last => {
            let broken_off = last.filter(|phase| phase.state == PhaseState::Training);
            if new_examples < settings.new_examples && broken_off.is_none() {
                return Ok(turn);
            }
            if settings.dry_run {
                turn.outcome = match &broken_off {
                    Some(phase) => Outcome::WouldResume { phase: phase.id.clone() },
                    None => Outcome::WouldTrain,
                };
                turn.phase = broken_off;
                return Ok(turn);
            }
            // It goes on with the dataset it began with; what was added since is for the next turn.
            let resumed = broken_off.map(|phase| format!("{PHASE_PREFIX}{}", phase.id));
            let is_late = || started.elapsed() >= settings.budget;
            let is_interrupted = || (train_watch.is_interrupted)() || is_late();
            let order = TrainOrder {
                dataset: resumed.is_none().then_some(built.hash.as_str()),
                model: resumed.as_deref().or(settings.model.as_deref()),
                resume: resumed.is_some(),
                ..TrainOrder::default()
            };
            let begun = Instant::now();
            let trained = train(
                workspace,
                &order,
                &mut TrainWatch { hear: &mut *train_watch.hear, is_interrupted: &is_interrupted },
            );
            match trained {
                Ok(phase) => {
                    let loss = phase.curves.iter().rev().find_map(|point| point.loss);
                    let said =
                        loss.map_or_else(|| phase.id.clone(), |loss| format!("{}, loss {loss:.3}", phase.id));
                    turn.step("train", begun, said);
                    phase
                }
                Err(AgentError::TrainingInterrupted { .. }) if is_late() => {
                    turn.step("train", begun, "out of time; the next turn resumes it".to_owned());
                    turn.outcome = Outcome::OutOfTime { during: "training" };
                    return Ok(turn);
                }
                Err(error) => return Err(error),
            }
        }
    };
    let begun = Instant::now();
    let rest = settings.budget.saturating_sub(started.elapsed());
    let scales = Scales::of(workspace, &phase)?;
    let weighing = weigh(workspace, suite, &phase, &scales, &settings.weigh, watch);
    let weighed = match tokio::time::timeout(rest, weighing).await {
        Ok(weighed) => weighed?,
        Err(_) => {
            turn.step("evaluate", begun, "out of time; the next turn goes on".to_owned());
            turn.outcome = Outcome::OutOfTime { during: "evaluation" };
            turn.phase = Some(phase);
            return Ok(turn);
        }
    };
    turn.step("evaluate", begun, gained(&weighed.comparison));
    turn.outcome = decide(workspace, &phases, &weighed, settings)?;
    turn.phase = Some(phases.get(&phase.id)?);
    turn.weighed = Some(weighed);
    Ok(turn)
}

fn decide(
    workspace: &Workspace,
    phases: &Phases,
    weighed: &Weighed,
    settings: &LearnSettings,
) -> Result<Outcome, AgentError> {
    if weighed.verdict.promote {
        weighed.promote(workspace, false)?;
        return Ok(Outcome::Promoted { reason: win(&weighed.comparison) });
    }
    let refusals = &weighed.verdict.refusals;
    let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    // What is merely not decided may be tried; what is wrong may not.
    let is_harmless = refusals.iter().all(|refusal| matches!(refusal, Refusal::NoWin { .. }));
    let (id, share) = (&weighed.phase.id, settings.challenger_share);
    let outcome = match is_harmless && !weighed.comparison.is_loss() && share > 0.0 {
        true => {
            phases.challenge(id, share)?;
            Outcome::Challenges { share, reasons: reasons.clone() }
        }
        false => Outcome::Kept { reasons: reasons.clone() },
    };
    // Last of all: whatever ends the turn before this leaves a phase that the next turn weighs.
    phases.refuse(id, reasons)?;
    Ok(outcome)
}

/// The last phase that has learned something, or will: a training that failed has taught nobody, and one that cannot be gone on with never will.
pub(crate) fn last_phase(root: &Path) -> Result<Option<Phase>, AgentError> {
    let counts = |phase: &Phase| phase.is_usable() || is_resumable(root, phase);
    Ok(Phases::new(root).list()?.into_iter().filter_map(Result::ok).rfind(counts))
}

/// How many examples a dataset has to train with, and how many of them the last phase did not see, and will not see when it is gone on with. Without a
/// name, of the newest dataset.
pub(crate) fn count_new(
    root: &Path,
    dataset: Option<&str>,
    last: Option<&Phase>,
) -> Result<(u64, u64), AgentError> {
    let examples = open_dataset(root, dataset)?.train()?;
    let seen =
        last.and_then(|phase| phase.dataset.as_deref()).and_then(|hash| open_dataset(root, Some(hash)).ok());
    let seen: FxHashSet<String> = match seen {
        Some(dataset) => dataset.train()?.into_iter().map(|example| example.id).collect(),
        None => FxHashSet::default(),
    };
    let new = examples.iter().filter(|example| !seen.contains(&example.id)).count();
    Ok((examples.len() as u64, new as u64))
}

impl Turn {
    fn step(&mut self, step: &'static str, begun: Instant, said: String) {
        let seconds = (begun.elapsed().as_secs_f64() * 10.0).round() / 10.0;
        self.steps.push(Step { step, seconds, said });
    }
}
