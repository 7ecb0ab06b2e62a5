//! What a training run is told: one JSON file, every field checked before anything is loaded.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::unusable;
use crate::{LocalError, Result};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The weights to adapt.
    pub model: PathBuf,
    /// Examples, one JSON object in each line: `{"messages": [{"role", "content"} …], "weight": 1.0}`. The last message is learned.
    #[serde(default)]
    pub train: Option<PathBuf>,
    /// Examples whose loss is told at every checkpoint, and that are never learned.
    #[serde(default)]
    pub valid: Option<PathBuf>,
    /// Pairs for a second stage: `{"prompt": [messages], "chosen": text, "rejected": text, "weight": 1.0}`. Beside `train`, too few of them are noted
    /// and left out.
    #[serde(default)]
    pub preferences: Option<PathBuf>,
    /// The folder for the adapter, the metrics and the checkpoints.
    pub output: PathBuf,
    /// An adapter to begin with; a fresh one otherwise. Its rank, scale and layers must be those of this run.
    #[serde(default)]
    pub adapter: Option<PathBuf>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default = "default_rank")]
    pub rank: usize,
    /// The factor of the adapter's output, as mlx-lm counts it; PEFT's `alpha` is this times the rank.
    #[serde(default = "default_scale")]
    pub scale: f32,
    /// The highest learning rate, reached after the warm-up.
    #[serde(default = "default_learning_rate")]
    pub learning_rate: f64,
    #[serde(default = "default_iterations")]
    pub iterations: usize,
    /// Examples of one step; they need not be equally long.
    #[serde(default = "default_batch_size")]
    pub batch_size: usize,
    /// Examples with more tokens are left out, and counted.
    #[serde(default = "default_max_tokens")]
    pub max_tokens: usize,
    /// One of so many examples is learned whole, of the others only the beginning of the answer: it decides what the rest is about, and costs a
    /// fraction of it. With 1 all are learned whole.
    #[serde(default = "default_whole_every")]
    pub whole_every: usize,
    /// The beginning of an answer is its first paragraph, which in code is the docstring; and no more of it than so many tokens.
    #[serde(default = "default_beginning_tokens")]
    pub beginning_tokens: usize,
    /// An answer no token of which has a higher loss is known, and is not learned again: the way back, half of the work, is left out. With 0 nothing is known.
    #[serde(default)]
    pub known_loss: f64,
    /// Steps until the learning rate is reached; a tenth of the iterations if it is not said.
    #[serde(default)]
    pub warmup: Option<usize>,
    /// Gradients longer than this are shortened to it; 0 for never.
    #[serde(default = "default_clip")]
    pub clip: f64,
    /// Steps between checkpoints; a quarter of all steps if it is not said.
    #[serde(default)]
    pub checkpoint_every: Option<usize>,
    /// How many layers are adapted, from the last; all if it is not said.
    #[serde(default)]
    pub layers: Option<usize>,
    #[serde(default)]
    pub weight_decay: f64,
    /// Go on from the last checkpoint in the output folder, if there is one.
    #[serde(default)]
    pub resume: bool,
    /// Threads; as many as the machine has cores if it is not said.
    #[serde(default)]
    pub threads: Option<usize>,
    /// Bytes of memory that the run may take; what is free if it is not said.
    #[serde(default)]
    pub memory: Option<u64>,
    /// Steps of the second stage; two rounds over the pairs if it is not said.
    #[serde(default)]
    pub preference_iterations: Option<usize>,
    /// The highest learning rate of the second stage; a quarter of the first stage's if it is not said.
    #[serde(default)]
    pub preference_learning_rate: Option<f64>,
    /// How much the comparison counts beside the loss of the chosen answer.
    #[serde(default = "default_preference_weight")]
    pub preference_weight: f64,
}

fn default_rank() -> usize {
    8
}

fn default_scale() -> f32 {
    20.0
}

fn default_learning_rate() -> f64 {
    5e-4
}

fn default_iterations() -> usize {
    60
}

fn default_batch_size() -> usize {
    4
}

fn default_max_tokens() -> usize {
    512
}

fn default_whole_every() -> usize {
    1
}

fn default_beginning_tokens() -> usize {
    48
}

fn default_clip() -> f64 {
    1.0
}

fn default_preference_weight() -> f64 {
    0.25
}

impl Settings {
    /// Everything that may be left out left out.
    pub fn new(model: &Path, train: &Path, output: &Path) -> Settings {
        Settings {
            model: model.to_owned(),
            train: Some(train.to_owned()),
            valid: None,
            preferences: None,
            output: output.to_owned(),
            adapter: None,
            seed: 0,
            rank: default_rank(),
            scale: default_scale(),
            learning_rate: default_learning_rate(),
            iterations: default_iterations(),
            batch_size: default_batch_size(),
            max_tokens: default_max_tokens(),
            whole_every: default_whole_every(),
            beginning_tokens: default_beginning_tokens(),
            known_loss: 0.0,
            warmup: None,
            clip: default_clip(),
            checkpoint_every: None,
            layers: None,
            weight_decay: 0.0,
            resume: false,
            threads: None,
            memory: None,
            preference_iterations: None,
            preference_learning_rate: None,
            preference_weight: default_preference_weight(),
        }
    }

    pub fn read(file: &Path) -> Result<Settings> {
        let text =
            std::fs::read(file).map_err(|source| LocalError::Read { path: file.to_owned(), source })?;
        serde_json::from_slice(&text)
            .map_err(|error| unusable(format!("`{}`", file.display()), error.to_string()))
    }

    pub(super) fn check(&self) -> Result<()> {
        let wrong =
            |field: &str, reason: &str| Err(unusable(format!("the setting `{field}`"), reason.to_owned()));
        if self.train.is_none() && self.preferences.is_none() {
            return wrong("train", "there is neither `train` nor `preferences`");
        }
        for (field, value, bound) in [
            ("rank", self.rank, 1 << 10),
            ("iterations", self.iterations, 1 << 30),
            ("batch_size", self.batch_size, 1 << 16),
            ("max_tokens", self.max_tokens, 1 << 20),
            ("whole_every", self.whole_every, 1 << 20),
            ("beginning_tokens", self.beginning_tokens, 1 << 20),
            ("layers", self.layers.unwrap_or(1), 1 << 20),
            ("checkpoint_every", self.checkpoint_every.unwrap_or(1), usize::MAX),
            ("threads", self.threads.unwrap_or(1), 1 << 10),
            ("preference_iterations", self.preference_iterations.unwrap_or(1), 1 << 30),
        ] {
            if value == 0 || value > bound {
                return wrong(field, &format!("it is {value}, and must be at least 1 and at most {bound}"));
            }
        }
        for (field, value) in [
            ("learning_rate", self.learning_rate),
            ("preference_learning_rate", self.preference_learning_rate.unwrap_or(1.0)),
            ("scale", f64::from(self.scale)),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return wrong(field, &format!("it is {value}, and must be more than 0"));
            }
        }
        for (field, value) in [
            ("clip", self.clip),
            ("known_loss", self.known_loss),
            ("weight_decay", self.weight_decay),
            ("preference_weight", self.preference_weight),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(field, &format!("it is {value}, and must not be less than 0"));
            }
        }
        Ok(())
    }
}
