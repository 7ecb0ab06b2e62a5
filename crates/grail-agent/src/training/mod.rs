//! Training: a frozen dataset and weights become a phase.
//!
//! Who trains is behind one trait: [`Trainer`] turns a folder of rows into a folder with an adapter, as a process of its own whose progress is
//! read from what it prints. Everything around it is the same for all of them: the dataset is verified, the phase is written down before the first step, and
//! what comes out is believed only when it lies there, hashes, and never was NaN. Whatever breaks training off leaves a phase that can be
//! resumed.

mod child;
mod data;
mod local;
mod machine;
mod mlx;
mod order;
mod replay;
mod selection;
mod trl;

use std::fs::File;
use std::path::{Path, PathBuf};

use grail_flywheel::dataset::store::short_hash;
use grail_flywheel::dataset::{Dataset, open_dataset};
use grail_flywheel::event::now;
use grail_flywheel::log::forgotten_sessions;
use grail_flywheel::phase::{Base, CurvePoint, Phase, PhaseState, Phases, hash_adapter};
use grail_model::local::inspect_weights;
use grail_project::TrainerName;

use crate::AgentError;
use crate::models::LocalChoice;
use crate::workspace::Workspace;

pub use local::LocalTrainer;
pub use mlx::MlxTrainer;
pub use order::{TrainOrder, TrainSettings};
pub use replay::Replay;
pub use trl::TrlTrainer;

/// Fewer rows teach nothing but themselves.
pub const FEWEST_ROWS: u64 = 8;
const LOCK_FILE: &str = ".training";

/// Somebody who trains.
pub trait Trainer {
    fn name(&self) -> TrainerName;

    /// Trains until it is done, told or stopped. What it measures is told as it goes.
    fn train(&self, job: &TrainJob<'_>, watch: &mut TrainWatch<'_>) -> Result<(), AgentError>;
}

/// What a trainer is given.
#[derive(Clone, Debug)]
pub struct TrainJob<'j> {
    pub dataset: &'j Dataset,
    /// What of it is learned.
    pub replay: &'j Replay,
    /// A `.gguf` file, or a folder with `.safetensors` files.
    pub weights: &'j Path,
    /// An adapter to begin with.
    pub adapter: Option<&'j Path>,
    /// Where rows are written as the trainer wants them.
    pub data: &'j Path,
    /// Where the adapter goes.
    pub output: &'j Path,
    pub settings: &'j TrainSettings,
    /// Go on from the last checkpoint in the output.
    pub resume: bool,
}

/// Who looks on.
pub struct TrainWatch<'w> {
    pub hear: &'w mut dyn FnMut(TrainEvent<'_>),
    pub is_interrupted: &'w dyn Fn() -> bool,
}

/// How training goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrainEvent<'e> {
    /// The phase has its name.
    Began { phase: &'e str },
    /// So many steps are to be made.
    Planned { iterations: u64 },
    /// Something was measured.
    Point(&'e CurvePoint),
    /// A checkpoint was asked: so many of the validation prompts it gets right.
    Validated { step: u64, right: usize, of: usize },
    /// Something was said that is no number.
    Said(&'e str),
    /// What is done is not quite what was wished.
    Noted(&'e str),
}

/// The trainer of this name, set up as the project says.
pub fn trainer(workspace: &Workspace, name: TrainerName) -> Box<dyn Trainer> {
    let config = &workspace.project.config.train;
    let root = workspace.project.root.clone();
    match name {
        TrainerName::Local => Box::new(LocalTrainer),
        TrainerName::Mlx => Box::new(MlxTrainer { root, command: config.command.clone() }),
        TrainerName::Trl => Box::new(TrlTrainer { root, python: config.python.clone() }),
    }
}

/// Trains a phase: a new one, or one that was broken off.
pub fn train(
    workspace: &Workspace,
    order: &TrainOrder<'_>,
    watch: &mut TrainWatch<'_>,
) -> Result<Phase, AgentError> {
    let root = &workspace.project.root;
    let phases = Phases::new(root);
    let plan = match order.resume {
        true => order.resumed(workspace, &phases)?,
        false => order.planned(workspace)?,
    };
    let trainer = trainer(workspace, plan.trainer);
    let dataset = open_dataset(root, Some(&plan.dataset))?;
    check_dataset(root, &dataset)?;
    let mut phase = match plan.phase {
        Some(phase) => phase,
        None => phases.begin(new_phase(&plan.choice, &dataset, plan.trainer, &plan.settings)?)?,
    };
    (watch.hear)(TrainEvent::Began { phase: &phase.id });
    let folder = phases.folder(&phase.id);
    let _lock = lock(&folder, &phase.id)?;
    let job = TrainJob {
        dataset: &dataset,
        replay: &plan.replay,
        weights: &plan.choice.settings.weights,
        adapter: plan.choice.settings.adapter.as_deref(),
        data: &folder.join("data"),
        output: &phases.adapter_folder(&phase.id),
        settings: &plan.settings,
        resume: order.resume,
    };
    let result = run(trainer.as_ref(), &job, watch, &mut phase.curves);
    let result = result.and_then(|()| {
        let asked = (job.output, plan.settings.validate);
        selection::keep_best(workspace, &plan.choice, &dataset, asked, watch, &mut phase.curves)?;
        phase.adapter = Some(hash_adapter(job.output)?);
        phase.identity = Some(inspect_weights(job.weights, Some(job.output))?.identity);
        Ok(())
    });
    match &result {
        Ok(()) => {
            phase.state = PhaseState::Trained;
            phase.ended = Some(now());
        }
        // It can be gone on with.
        Err(AgentError::TrainingInterrupted { .. }) => {}
        Err(error) => {
            phase.state = PhaseState::Failed { reason: error.to_string() };
            phase.ended = Some(now());
        }
    }
    phases.save(&phase)?;
    result.map(|()| phase)
}

/// Whether a training was broken off that can be gone on with: what it learns from is there and may be learned.
pub(crate) fn is_resumable(root: &Path, phase: &Phase) -> bool {
    let opened = || open_dataset(root, Some(phase.dataset.as_deref()?)).ok();
    phase.state == PhaseState::Training && opened().is_some_and(|it| check_dataset(root, &it).is_ok())
}

/// Lets a trainer do its work and looks at what it left.
fn run(
    trainer: &dyn Trainer,
    job: &TrainJob<'_>,
    watch: &mut TrainWatch<'_>,
    curves: &mut Vec<CurvePoint>,
) -> Result<(), AgentError> {
    let is_interrupted = watch.is_interrupted;
    let mut hear = |event: TrainEvent<'_>| {
        if let TrainEvent::Point(point) = event {
            // What was measured again after a resumption counts.
            curves.retain(|known| known.step < point.step || is_other_sort(known, point));
            curves.push(point.clone());
        }
        (watch.hear)(event);
    };
    let before = adapter_file(job.output).and_then(|file| file.metadata().ok()?.modified().ok());
    trainer.train(job, &mut TrainWatch { hear: &mut hear, is_interrupted })?;
    let name = trainer.name().name();
    let Some(file) = adapter_file(job.output) else {
        return Err(training_error(
            format!("the trainer `{name}` says that it is done, and has written no adapter"),
            "look at what it said; its own version may write elsewhere",
        ));
    };
    let written = file.metadata().ok().and_then(|metadata| metadata.modified().ok());
    if before.is_some() && written == before {
        return Err(training_error(
            format!("the trainer `{name}` says that it is done, and has left the old adapter as it was"),
            "look at what it said",
        ));
    }
    Ok(())
}

/// A loss of training and one of validation may belong to the same step.
fn is_other_sort(known: &CurvePoint, point: &CurvePoint) -> bool {
    known.step == point.step && known.loss.is_some() != point.loss.is_some()
}

/// The weights of an adapter, in either of the two layouts there are.
fn adapter_file(folder: &Path) -> Option<PathBuf> {
    let files = ["adapters.safetensors", "adapter_model.safetensors"].map(|name| folder.join(name));
    let is_written =
        |path: &PathBuf| path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
    files.into_iter().find(is_written)
}

fn new_phase(
    choice: &LocalChoice,
    dataset: &Dataset,
    trainer: TrainerName,
    settings: &TrainSettings,
) -> Result<Phase, AgentError> {
    let inspected = inspect_weights(&choice.settings.weights, None)?;
    if let Some(expected) = choice.settings.sha256.as_deref().filter(|expected| *expected != inspected.sha256)
    {
        return Err(grail_model::ModelError::OtherIdentity {
            model: choice.base.clone(),
            expected: expected.to_owned(),
            found: inspected.sha256,
        }
        .into());
    }
    let is_foreign = choice.phase.is_none() && choice.settings.adapter.is_some();
    Ok(Phase {
        format: 0,
        id: String::new(),
        parent: choice.phase.clone(),
        foreign_adapter: is_foreign.then(|| choice.name.clone()),
        base: Base { name: choice.base.clone(), sha256: inspected.sha256 },
        adapter: None,
        identity: None,
        dataset: Some(dataset.manifest.hash.clone()),
        trainer: trainer.name().to_owned(),
        hyper_parameters: serde_json::to_value(settings).unwrap_or_default(),
        seed: settings.seed,
        machine: machine::describe(),
        started: String::new(),
        ended: None,
        curves: Vec::new(),
        evaluations: Vec::new(),
        refusals: Vec::new(),
        state: PhaseState::Training,
    })
}

/// Whether there is enough to learn from, and nothing that was to be forgotten.
fn check_dataset(root: &Path, dataset: &Dataset) -> Result<(), AgentError> {
    let manifest = &dataset.manifest;
    let name = short_hash(&manifest.hash);
    let forgotten = forgotten_sessions(root)?;
    if manifest.sources.sessions.iter().any(|session| forgotten.contains(session)) {
        return Err(training_error(
            format!("dataset `{name}` has sessions that were forgotten since"),
            "`grail dataset build` makes one without them",
        ));
    }
    let rows = manifest.files.get("train.jsonl").map_or(0, |record| record.lines);
    if rows < FEWEST_ROWS {
        return Err(training_error(
            format!("dataset `{name}` has {rows} examples to train with; at least {FEWEST_ROWS} are needed"),
            "work more with Grail, or begin with the examples of the skills: `grail dataset import --skills`",
        ));
    }
    Ok(())
}

/// Two trainings in one folder would write over each other.
fn lock(folder: &Path, phase: &str) -> Result<File, AgentError> {
    let path = folder.join(LOCK_FILE);
    let storage = |source| AgentError::Storage { path: path.display().to_string(), source };
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(storage)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(training_error(
            format!("phase `{phase}` is being trained right now"),
            "wait for it, or stop the other training first",
        )),
        Err(std::fs::TryLockError::Error(source)) => Err(storage(source)),
    }
}

fn training_error(message: impl Into<String>, hint: impl Into<String>) -> AgentError {
    AgentError::Training { message: message.into(), hint: Some(hint.into()) }
}
