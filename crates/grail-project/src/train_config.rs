//! `[train]` in `grail.toml`: who trains, and how. The command line says the same and goes before it.

use serde::{Deserialize, Deserializer};

/// How a phase is trained. What is not said is the trainer's own choice.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TrainConfig {
    pub trainer: Option<TrainerName>,
    /// The weights that training begins with: a name that `grail models list` shows, or a path.
    pub model: Option<String>,
    /// How `mlx_lm.lora` is started, if not by its name.
    pub command: Vec<String>,
    /// The Python that has TRL, if not the project's or the one on `PATH`.
    pub python: Option<String>,
    /// How many steps are made.
    #[serde(deserialize_with = "positive")]
    pub iterations: Option<u64>,
    /// How often every example is seen, where nobody says how many steps to make.
    #[serde(deserialize_with = "positive")]
    pub rounds: Option<u64>,
    #[serde(deserialize_with = "positive")]
    pub batch_size: Option<u64>,
    #[serde(deserialize_with = "rate")]
    pub learning_rate: Option<f64>,
    /// How many dimensions an adapter has.
    #[serde(deserialize_with = "positive")]
    pub rank: Option<u64>,
    /// The factor of what an adapter says, as mlx-lm counts it.
    #[serde(deserialize_with = "rate")]
    pub scale: Option<f64>,
    pub seed: Option<u64>,
    /// Longer examples are left out.
    #[serde(deserialize_with = "positive")]
    pub max_tokens: Option<u64>,
    /// One of so many examples is learned whole, of the others the beginning of the answer; only `local` can. Without it, all are learned whole.
    #[serde(deserialize_with = "positive")]
    pub whole_every: Option<u64>,
    /// How many layers get an adapter, from the last; without it, all.
    #[serde(deserialize_with = "positive")]
    pub layers: Option<u64>,
    /// Steps until the learning rate is reached.
    pub warmup: Option<u64>,
    /// Steps between checkpoints.
    #[serde(deserialize_with = "positive")]
    pub checkpoint_every: Option<u64>,
    /// How many validation prompts every checkpoint is asked, to keep the one that gets most of them right; with 0 the last one is kept.
    pub validate: Option<u64>,
    /// Whether pairs of a wrong and a right answer are learned from in a second stage, where the trainer can.
    pub preferences: Option<bool>,
    #[serde(deserialize_with = "positive")]
    pub threads: Option<u64>,
}

/// Who trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainerName {
    /// Grail's own, in the program `grail-local`.
    #[default]
    Local,
    /// mlx-lm.
    Mlx,
    /// TRL with PEFT.
    Trl,
}

impl TrainerName {
    pub const ALL: [Self; 3] = [Self::Local, Self::Mlx, Self::Trl];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Mlx => "mlx",
            Self::Trl => "trl",
        }
    }
}

fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(serde::de::Error::custom("0 is out of range: at least 1")),
        number => Ok(Some(number)),
    }
}

fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let number = f64::deserialize(deserializer)?;
    match number > 0.0 && number <= 1e6 {
        true => Ok(Some(number)),
        false => Err(serde::de::Error::custom(format!("{number} is out of range: above 0, up to 1000000"))),
    }
}
