//! What somebody wants trained, and what it comes to once the project's settings and the dataset have had their say.

use grail_flywheel::dataset::open_dataset;
use grail_flywheel::phase::{Phase, PhaseState, Phases};
use grail_model::local::CATALOGUE;
use grail_project::{TrainConfig, TrainerName};
use serde::{Deserialize, Serialize};

use super::{Replay, training_error};
use crate::AgentError;
use crate::models::{LocalChoice, PHASE_PREFIX, local_choice, phase_choice};
use crate::workspace::Workspace;

/// How often everything is seen, where nobody says how many steps to make.
const ROUNDS: u64 = 2;
const FEWEST_STEPS: u64 = 20;
const MOST_STEPS: u64 = 2000;
/// Of how many validation prompts a checkpoint is asked: enough to tell good from bad, few enough to be answered in a minute.
const VALIDATE: u64 = 24;
/// What is known so well is not learned again: each right token is some twenty times as probable as all others together.
const KNOWN_LOSS: f64 = 0.05;

/// What is to be trained. What is not said is said by `[train]` in `grail.toml`, or follows.
#[derive(Clone, Debug, Default)]
pub struct TrainOrder<'o> {
    /// The beginning of a dataset's hash; without it, the newest.
    pub dataset: Option<&'o str>,
    /// What training begins with: weights, or a phase. To go on, `phase:ID` names the phase that was broken off.
    pub model: Option<&'o str>,
    pub trainer: Option<TrainerName>,
    pub wishes: TrainConfig,
    /// Go on with the phase that was broken off last.
    pub resume: bool,
}

/// How a phase is trained, as it is kept with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainSettings {
    pub iterations: u64,
    pub batch_size: u64,
    pub learning_rate: f64,
    pub rank: u64,
    pub scale: f64,
    pub seed: u64,
    pub max_tokens: u64,
    /// One of so many examples is learned whole, of the others the beginning.
    #[serde(default = "all_whole")]
    pub whole_every: u64,
    /// An answer no token of which has a higher loss is not learned again; 0 where all are.
    #[serde(default)]
    pub known_loss: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_every: Option<u64>,
    /// How many validation prompts decide between checkpoints.
    #[serde(default)]
    pub validate: u64,
    #[serde(default)]
    pub preferences: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
}

/// What phases were trained with that do not say.
fn all_whole() -> u64 {
    1
}

/// Everything that is decided before the first step.
pub(super) struct Plan {
    pub(super) choice: LocalChoice,
    pub(super) dataset: String,
    pub(super) trainer: TrainerName,
    pub(super) settings: TrainSettings,
    pub(super) replay: Replay,
    /// The phase that is gone on with.
    pub(super) phase: Option<Phase>,
}

impl TrainOrder<'_> {
    pub(super) fn planned(&self, workspace: &Workspace) -> Result<Plan, AgentError> {
        let config = &workspace.project.config.train;
        let name = self.model.or(self.wishes.model.as_deref()).or(config.model.as_deref());
        let name = name.unwrap_or(CATALOGUE[0].name);
        let choice = local_choice(workspace, name)?.ok_or_else(|| {
            training_error(
                format!("`{name}` cannot be trained here"),
                "name weights on this machine (`grail models list`), `local:PATH`, or `phase:ID` to go on from",
            )
        })?;
        let trainer = self.trainer.or(self.wishes.trainer).or(config.trainer).unwrap_or_default();
        if trainer != TrainerName::Local
            && self.wishes.whole_every.or(config.whole_every).is_some_and(|every| every > 1)
        {
            return Err(training_error(
                format!("the trainer `{}` learns whole answers only", trainer.name()),
                "leave `--whole-every` out (in `grail.toml`: `whole-every`), or train with `local`",
            ));
        }
        if trainer != TrainerName::Local && self.wishes.preferences.or(config.preferences) == Some(true) {
            return Err(training_error(
                format!("the trainer `{}` cannot learn from pairs of answers", trainer.name()),
                "leave `--preferences` out (in `grail.toml`: `preferences`), or train with `local`",
            ));
        }
        let dataset = open_dataset(&workspace.project.root, self.dataset)?;
        let rows = dataset.manifest.files.get("train.jsonl").map_or(0, |record| record.lines);
        // An adapter that is gone on with has its measures.
        let parent =
            choice.phase.as_deref().map(|id| Phases::new(&workspace.project.root).get(id)).transpose()?;
        let replay = Replay::after(parent.as_ref(), &dataset, &workspace.project.root)?;
        let parent = parent.and_then(|phase| TrainSettings::of_phase(&phase));
        if let Some(parent) = &parent {
            check_measures(name, &self.wishes, parent)?;
        }
        let settings = TrainSettings::new(&self.wishes, config, trainer, replay.count(rows), parent.as_ref());
        Ok(Plan { choice, dataset: dataset.manifest.hash, trainer, settings, replay, phase: None })
    }

    /// The phase that was broken off last, just as it was begun.
    pub(super) fn resumed(&self, workspace: &Workspace, phases: &Phases) -> Result<Plan, AgentError> {
        let wanted = self.model.and_then(|model| model.strip_prefix(PHASE_PREFIX));
        let is_meant = |phase: &Phase| {
            let is_open = phase.state == PhaseState::Training;
            let is_named = wanted.is_none_or(|name| phase.id.starts_with(name));
            let hash = phase.dataset.as_deref().unwrap_or_default();
            is_open && is_named && self.dataset.is_none_or(|dataset| hash.starts_with(dataset))
        };
        let phase = phases.list()?.into_iter().filter_map(Result::ok).rfind(is_meant);
        let phase = phase.ok_or_else(|| {
            training_error("no training was broken off", "`grail train` without `--resume` begins one")
        })?;
        let broken = |what: &str| {
            training_error(
                format!("phase `{}` cannot be gone on with: its {what} is not known", phase.id),
                "begin another one",
            )
        };
        let parent = phase.parent.as_deref().map(|id| phases.get(id)).transpose()?;
        let choice = match &parent {
            Some(parent) => phase_choice(workspace, parent)?,
            None => {
                let name = phase.foreign_adapter.clone();
                let name = name.unwrap_or_else(|| format!("local:{}", phase.base.name));
                let mut choice = local_choice(workspace, &name)?.ok_or_else(|| broken("base"))?;
                choice.settings.sha256 = Some(phase.base.sha256.clone());
                choice
            }
        };
        let trainer = TrainerName::ALL.into_iter().find(|trainer| trainer.name() == phase.trainer);
        let root = &workspace.project.root;
        let hash = phase.dataset.clone().ok_or_else(|| broken("dataset"))?;
        let replay = Replay::after(parent.as_ref(), &open_dataset(root, Some(&hash))?, root)?;
        Ok(Plan {
            choice,
            replay,
            dataset: hash,
            trainer: trainer.ok_or_else(|| broken("trainer"))?,
            settings: TrainSettings::of_phase(&phase).ok_or_else(|| broken("settings"))?,
            phase: Some(phase),
        })
    }
}

/// No trainer can give an adapter other measures: some would fail, some would count it with another factor than it was trained with.
fn check_measures(name: &str, wishes: &TrainConfig, parent: &TrainSettings) -> Result<(), AgentError> {
    let number = |value: u64| value.to_string();
    let layers = |value: Option<u64>| value.map_or_else(|| "all".to_owned(), number);
    let measures = [
        ("rank", wishes.rank.map(number), number(parent.rank)),
        ("scale", wishes.scale.map(|scale| scale.to_string()), parent.scale.to_string()),
        ("layers", wishes.layers.map(number), layers(parent.layers)),
    ];
    for (option, wish, known) in measures {
        if let Some(wish) = wish.filter(|wish| *wish != known) {
            return Err(training_error(
                format!(
                    "`{name}` was trained with `--{option}` {known} and cannot be gone on with as {wish}"
                ),
                format!("leave `--{option}` out, or begin with its weights instead of the phase"),
            ));
        }
    }
    Ok(())
}

impl TrainSettings {
    fn new(
        wishes: &TrainConfig,
        config: &TrainConfig,
        trainer: TrainerName,
        rows: u64,
        parent: Option<&Self>,
    ) -> Self {
        let batch_size = wishes.batch_size.or(config.batch_size).unwrap_or(2);
        let rounds = wishes.rounds.or(config.rounds).unwrap_or(ROUNDS);
        let steps = rows.saturating_mul(rounds).div_ceil(batch_size).clamp(FEWEST_STEPS, MOST_STEPS);
        let first_rate = if trainer == TrainerName::Local { 3e-4 } else { 2e-4 };
        // Whoever goes on is nearly there: long strides would lead away again.
        let own_rate = if parent.is_some() { first_rate / 3.0 } else { first_rate };
        let measure =
            |wish: Option<u64>, set: Option<u64>, of_parent: Option<u64>| wish.or(of_parent).or(set);
        Self {
            iterations: wishes
                .iterations
                .or(config.iterations.filter(|_| wishes.rounds.is_none()))
                .unwrap_or(steps),
            batch_size,
            learning_rate: wishes.learning_rate.or(config.learning_rate).unwrap_or(own_rate),
            rank: measure(wishes.rank, config.rank, parent.map(|parent| parent.rank)).unwrap_or(8),
            scale: wishes.scale.or(parent.map(|parent| parent.scale)).or(config.scale).unwrap_or(20.0),
            seed: wishes.seed.or(config.seed).unwrap_or(0),
            max_tokens: wishes.max_tokens.or(config.max_tokens).unwrap_or(768),
            whole_every: wishes
                .whole_every
                .or(config.whole_every)
                .filter(|_| trainer == TrainerName::Local)
                .unwrap_or_else(all_whole),
            known_loss: if trainer == TrainerName::Local { KNOWN_LOSS } else { 0.0 },
            layers: measure(wishes.layers, config.layers, parent.and_then(|parent| parent.layers)),
            warmup: wishes.warmup.or(config.warmup),
            checkpoint_every: wishes.checkpoint_every.or(config.checkpoint_every),
            validate: wishes.validate.or(config.validate).unwrap_or(VALIDATE),
            preferences: wishes.preferences.or(config.preferences).unwrap_or(false),
            threads: wishes.threads.or(config.threads),
        }
    }

    fn of_phase(phase: &Phase) -> Option<Self> {
        serde_json::from_value(phase.hyper_parameters.clone()).ok()
    }
}
