//! A paused run with what it waits for and what its host needs to go on, sealed together.
//!
//! Nobody can put one call before a person's eyes and have another one carried out, or have a run go on with other tools than it
//! was started with.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::snapshot::{MAX_SNAPSHOT_BYTES, SnapshotError, SnapshotKey};
use crate::tool::Call;
use crate::value::Value;

/// What the seal is for, so that it is worth nothing elsewhere.
const PURPOSE: &str = "grail paused run";

/// A run that stands at a call.
#[derive(Clone, Debug)]
pub struct PausedRun {
    pub question: Question,
    pub snapshot: Vec<u8>,
}

/// What a paused run waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub tool: String,
    pub arguments: Vec<Json>,
    pub keywords: Map<String, Json>,
    /// Whatever the host wants to find again when the run goes on.
    pub origin: Json,
}

impl PausedRun {
    pub(crate) fn new(call: &Call, origin: Json, snapshot: Vec<u8>) -> Self {
        let question = Question {
            tool: call.tool.clone(),
            arguments: call.arguments.iter().map(Value::to_json).collect(),
            keywords: call.keywords.iter().map(|(name, value)| (name.clone(), value.to_json())).collect(),
            origin,
        };
        Self { question, snapshot }
    }

    /// Three lines: the question, the snapshot, the seal over both.
    pub(crate) fn seal(&self, key: &SnapshotKey) -> Vec<u8> {
        let sealed = format!("{}\n{}", json!(self.question), BASE64.encode(&self.snapshot));
        let seal = key.sign(PURPOSE, sealed.as_bytes());
        format!("{sealed}\n{seal}\n").into_bytes()
    }

    /// # Errors
    /// The bytes are no paused run, were changed, or were sealed with another key.
    pub fn open(bytes: &[u8], key: &SnapshotKey) -> Result<Self, SnapshotError> {
        // Base64 is longer than what it encodes.
        if bytes.len() > 2 * MAX_SNAPSHOT_BYTES {
            return Err(SnapshotError::NotASnapshot);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| SnapshotError::NotASnapshot)?;
        let (sealed, seal) = text.trim_end().rsplit_once('\n').ok_or(SnapshotError::NotASnapshot)?;
        if !key.verifies(PURPOSE, sealed.as_bytes(), seal) {
            return Err(SnapshotError::Tampered);
        }
        let (question, snapshot) = sealed.split_once('\n').ok_or(SnapshotError::Tampered)?;
        let question = serde_json::from_str(question).map_err(|_| SnapshotError::Tampered)?;
        let snapshot = BASE64.decode(snapshot).map_err(|_| SnapshotError::Tampered)?;
        Ok(Self { question, snapshot })
    }
}
