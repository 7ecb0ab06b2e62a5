//! Phases: what training made, with everything that it was made of, and which of them is used.
//!
//! A phase lies in `.grail/phases/<id>/`: `phase.json` and the files of its adapter, which are compared by hash before they are used.
//! `current.json` says which phase answers, which one challenges it for a share of the work, and how that came about; it is replaced as a
//! whole, under a lock.

mod registry;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::dataset::manifest::FileRecord;

pub use registry::{ADAPTER_FOLDER, PHASES_FOLDER, Phases, Why, hash_adapter};

/// The version of what is written.
pub const PHASE_FORMAT: u32 = 1;
/// A challenger has passed no gate: at least half of the work stays with the one that answers. In its shadow there is nothing to lose.
pub const MOST_SHARE: f64 = 0.5;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub format: u32,
    /// `p3-1f2e3d`: a number that counts on, and the beginning of a hash.
    pub id: String,
    /// The phase that training began with; none if it was the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The model of `grail.toml` whose adapter training began with. No phase made that one, so nobody knows what it learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_adapter: Option<String>,
    pub base: Base,
    /// None before training has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<Adapter>,
    /// Who a server says it is when it answers with this base and adapter; none before training has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The hash of the dataset. Without one, nobody knows what was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// `local`, `mlx`, `trl`.
    pub trainer: String,
    /// As the trainer was given them.
    #[serde(default)]
    pub hyper_parameters: Json,
    pub seed: u64,
    /// What it ran on: system, processor, cores, memory; nothing that names it.
    #[serde(default)]
    pub machine: BTreeMap<String, String>,
    /// RFC 3339.
    pub started: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// What was measured on the way, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<CurvePoint>,
    /// Hashes of evaluations, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evaluations: Vec<String>,
    /// Why the gate refused it in a turn of the wheel; none before such a turn has ended, and none if it was promoted, which the history
    /// says. An evaluation decides nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<String>,
    pub state: PhaseState,
}

/// The model that an adapter belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    pub name: String,
    /// Of the weights' file.
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adapter {
    /// Of all files, by name and content.
    pub hash: String,
    pub files: BTreeMap<String, FileRecord>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    pub step: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_loss: Option<f64>,
    /// The share of validation prompts that passed: what a checkpoint is chosen by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
    #[serde(default)]
    pub seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PhaseState {
    /// Being trained, or broken off: training may be resumed.
    Training,
    Trained,
    Failed {
        reason: String,
    },
}

/// Which phase answers, and how that came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Current {
    /// The phase that answers; none is the base.
    #[serde(default)]
    pub phase: Option<String>,
    #[serde(default)]
    pub challenger: Option<Challenger>,
    /// Oldest first; never shortened.
    #[serde(default)]
    pub history: Vec<Change>,
}

/// A phase that answers a share of the work, so that the two can be compared on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Challenger {
    pub phase: String,
    /// Above 0, at most [`MOST_SHARE`]; in the shadow at most 1.
    pub share: f64,
    /// It answers its share beside the one that answers, and nobody sees it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
}

/// Who answers an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "assigned", content = "phase", rename_all = "snake_case")]
pub enum Assigned {
    /// Nothing was ever promoted.
    Base,
    Current(String),
    Challenger(String),
}

/// One change of who answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// RFC 3339.
    pub at: String,
    pub what: ChangeKind,
    /// Who answers, or challenges, from then on; none is the base or nobody.
    pub phase: Option<String>,
    /// Who did before.
    pub before: Option<String>,
    /// Whether somebody insisted although the gate had refused.
    #[serde(default)]
    pub forced: bool,
    /// Why: the verdict of the gate, or the words of whoever did it.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Hashes of the two evaluations that were compared, before and after.
    #[serde(default)]
    pub evaluations: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Promoted,
    RolledBack,
    Challenged,
    ChallengeEnded,
}

impl Phase {
    /// Whether it has an adapter that can answer.
    pub fn is_usable(&self) -> bool {
        self.state == PhaseState::Trained && self.adapter.is_some()
    }
}

impl Current {
    /// Who answers this intent: the same one for the same intent, whenever and wherever it is asked.
    pub fn assign(&self, intent: &str) -> Assigned {
        if let Some(challenger) = self.challenger_of(intent).filter(|challenger| !challenger.shadow) {
            return Assigned::Challenger(challenger.phase.clone());
        }
        match &self.phase {
            Some(phase) => Assigned::Current(phase.clone()),
            None => Assigned::Base,
        }
    }

    /// The phase that answers this intent as well, in the shadow of whoever does.
    pub fn shadow(&self, intent: &str) -> Option<&str> {
        let challenger = self.challenger_of(intent).filter(|challenger| challenger.shadow)?;
        Some(&challenger.phase)
    }

    fn challenger_of(&self, intent: &str) -> Option<&Challenger> {
        self.challenger.as_ref().filter(|challenger| share_of(intent, &challenger.phase) < challenger.share)
    }
}

impl Assigned {
    pub fn phase(&self) -> Option<&str> {
        match self {
            Self::Base => None,
            Self::Current(phase) | Self::Challenger(phase) => Some(phase),
        }
    }
}

/// Where an intent lies between 0 and 1. Another challenger gets other intents, so that none is always asked the same ones.
fn share_of(intent: &str, challenger: &str) -> f64 {
    let words: Vec<&str> = intent.split_whitespace().collect();
    let hash = blake3::hash(format!("{challenger}\n{}", words.join(" ")).as_bytes());
    let number = hash.as_bytes()[..8].iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    // 53 bits fit into a float without rounding up to 1.
    (number >> 11) as f64 / (1u64 << 53) as f64
}
