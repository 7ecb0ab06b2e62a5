//! `[models.NAME]` and `[generate]` in `grail.toml`: which models there are, and which one is asked.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Names of models that come with Grail or with the command line, and cannot be given to others.
const TAKEN_NAMES: [&str; 3] = ["template", "scripted", "replay"];

/// How code is generated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GenerateConfig {
    /// The model that is asked unless `--model` names another: one of `[models]`, or `template`.
    pub model: Option<String>,
    /// The model that tells how near sentences are in meaning, where skills are searched: one of `[models]`. Without it, word vectors that
    /// come with Grail.
    pub embeddings: Option<String>,
}

/// A model on an OpenAI-compatible server, or one on this machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, rename_all = "kebab-case")]
pub struct ModelConfig {
    /// The address of the server, up to and with `/v1`.
    #[serde(default)]
    pub url: Option<String>,
    /// Instead of it, weights on this machine: a name that `grail models list` shows, or a path.
    #[serde(default)]
    pub weights: Option<String>,
    /// The folder of an adapter for the weights, from the project's root.
    #[serde(default)]
    pub adapter: Option<String>,
    /// How many threads the weights may use.
    #[serde(default)]
    pub threads: Option<usize>,
    /// The model as the server names it; without it, the name of the section.
    #[serde(default)]
    pub model: Option<String>,
    /// Other names under which the server may answer for this model.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The environment variable that holds the key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// Seconds that the server may say nothing.
    #[serde(default, deserialize_with = "seconds")]
    pub timeout: Option<u64>,
    /// Seconds that a whole answer may take.
    #[serde(default, deserialize_with = "seconds")]
    pub total_timeout: Option<u64>,
    /// How often a request that failed for the moment is sent again.
    #[serde(default, deserialize_with = "few")]
    pub retries: Option<u32>,
    /// How many tokens a request and its answer may have together.
    #[serde(default)]
    pub context_tokens: Option<u64>,
    #[serde(default, deserialize_with = "temperature")]
    pub temperature: Option<f32>,
    /// How many tokens an answer may have.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// What a million tokens of a request cost.
    #[serde(default, deserialize_with = "price")]
    pub input_price: Option<f64>,
    /// What a million tokens of an answer cost.
    #[serde(default, deserialize_with = "price")]
    pub output_price: Option<f64>,
    #[serde(default)]
    pub mode: ModelMode,
}

/// How a model uses tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelMode {
    /// As it does best.
    #[default]
    Auto,
    /// One call after the other.
    Direct,
    /// Programs that call them.
    Code,
    /// Not at all: the answer is the file, asked for as in training.
    Answer,
}

impl<'de> Deserialize<'de> for ModelConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let config = Self::deserialize(deserializer)?;
        match (&config.url, &config.weights) {
            (None, None) => {
                Err(D::Error::custom("a model needs a `url`, or `weights` if it is on this machine"))
            }
            (Some(_), Some(_)) => {
                Err(D::Error::custom("a model is at a `url` or has `weights` on this machine, not both"))
            }
            (Some(_), None) if config.adapter.is_some() || config.threads.is_some() => {
                Err(D::Error::custom("`adapter` and `threads` belong to `weights` on this machine"))
            }
            _ => Ok(config),
        }
    }
}

/// `[models]`, with names that can be told from those of the models that come along.
pub(crate) fn models<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, ModelConfig>, D::Error> {
    let models: BTreeMap<ModelName, ModelConfig> = BTreeMap::deserialize(deserializer)?;
    Ok(models.into_iter().map(|(ModelName(name), model)| (name, model)).collect())
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ModelName(String);

impl<'de> Deserialize<'de> for ModelName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if TAKEN_NAMES.contains(&name.as_str()) {
            return Err(D::Error::custom(format!("`{name}` is the name of a model that comes with Grail")));
        }
        if name.is_empty() || name.contains([':', '/']) || name.chars().any(char::is_control) {
            return Err(D::Error::custom(format!("`{}` is no name for a model", name.escape_debug())));
        }
        Ok(Self(name))
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    within(u64::deserialize(deserializer)?, 1, 86_400)
}

fn few<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(u32::deserialize(deserializer)?, 0, 10)
}

fn temperature<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f32>, D::Error> {
    within(f32::deserialize(deserializer)?, 0.0, 2.0)
}

fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    within(f64::deserialize(deserializer)?, 0.0, 1e6)
}

fn within<N: PartialOrd + fmt::Display, E: serde::de::Error>(
    number: N,
    least: N,
    most: N,
) -> Result<Option<N>, E> {
    if number >= least && number <= most {
        return Ok(Some(number));
    }
    Err(E::custom(format!("{number} is out of range: {least} to {most}")))
}
