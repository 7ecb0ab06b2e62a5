//! A paused run with what it waits for and what its host needs to go on, sealed together.
//!
//! The seal covers the call, the policy's name, the snapshot and `origin`, so nobody without the key can put one call before a person's
//! eyes and have another one carried out; whoever goes on with the run asks [`Question::is_about`] first. It covers no more than that: if
//! `origin` names a file, such as one of tools, the name is sealed and the file's content is not.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::snapshot::{MAX_SNAPSHOT_BYTES, SnapshotError, SnapshotKey};
use crate::tool::Call;
use crate::value::Value;

/// What a seal is for. It is worth nothing elsewhere: a run that waits for a person's approval cannot go on as if it were any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Whoever has the run may go on with it.
    Resume,
    /// Somebody has to decide first, once.
    Approval,
}

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
    /// The name of the policy it runs under.
    pub policy: String,
    /// Whatever the host wants to find again when the run goes on.
    pub origin: Json,
}

impl PausedRun {
    pub(crate) fn new(call: &Call, policy: String, origin: Json, snapshot: Vec<u8>) -> Self {
        let (arguments, keywords) = plain(call);
        Self { question: Question { tool: call.tool.clone(), arguments, keywords, policy, origin }, snapshot }
    }

    /// Three lines: the question, the snapshot, the seal over both.
    pub(crate) fn seal(&self, key: &SnapshotKey, purpose: Purpose) -> Vec<u8> {
        let sealed = format!("{}\n{}", json!(self.question), BASE64.encode(&self.snapshot));
        let seal = key.sign(purpose.name(), sealed.as_bytes());
        format!("{sealed}\n{seal}\n").into_bytes()
    }

    /// # Errors
    /// The bytes are no paused run, were changed, or were sealed with another key or for another purpose.
    pub fn open(bytes: &[u8], key: &SnapshotKey, purpose: Purpose) -> Result<Self, SnapshotError> {
        // Base64 is longer than what it encodes.
        if bytes.len() > 2 * MAX_SNAPSHOT_BYTES {
            return Err(SnapshotError::NotASnapshot);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| SnapshotError::NotASnapshot)?;
        let (sealed, seal) = text.trim_end().rsplit_once('\n').ok_or(SnapshotError::NotASnapshot)?;
        if !key.verifies(purpose.name(), sealed.as_bytes(), seal) {
            return Err(SnapshotError::Tampered);
        }
        let (question, snapshot) = sealed.split_once('\n').ok_or(SnapshotError::Tampered)?;
        let question = serde_json::from_str(question).map_err(|_| SnapshotError::Tampered)?;
        let snapshot = BASE64.decode(snapshot).map_err(|_| SnapshotError::Tampered)?;
        Ok(Self { question, snapshot })
    }
}

impl Question {
    /// Whether `call`, which a restored run stands at, is the one that was sealed.
    pub fn is_about(&self, call: &Call) -> bool {
        // The question has been through text, which may change the last digit of a float.
        let through_text = |call: &Call| serde_json::from_str(&json!(plain(call)).to_string()).ok();
        let sealed: (&Vec<Json>, &Map<String, Json>) = (&self.arguments, &self.keywords);
        let found: Option<(Vec<Json>, Map<String, Json>)> = through_text(call);
        self.tool == call.tool && found.is_some_and(|(arguments, keywords)| sealed == (&arguments, &keywords))
    }
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Resume => "grail paused run",
            Self::Approval => "grail run that waits for approval",
        }
    }
}

fn plain(call: &Call) -> (Vec<Json>, Map<String, Json>) {
    let arguments = call.arguments.iter().map(Value::to_json).collect();
    let keywords = call.keywords.iter().map(|(name, value)| (name.clone(), value.to_json())).collect();
    (arguments, keywords)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, amount: f64, keyword: &str) -> Call {
        let keywords = vec![(keyword.to_owned(), Value::str("now"))];
        Call { tool: tool.to_owned(), arguments: vec![Value::Float(amount)], keywords }
    }

    #[test]
    fn a_question_is_about_the_call_that_was_sealed_and_no_other() {
        let key = SnapshotKey::from_bytes([7; 32]);
        for amount in [12.5, 0.1 + 0.2, 1.0 / 3.0, 2.2250738585072014e-308, 122.416_294_033_786_58, f64::NAN]
        {
            let asked = call("pay", amount, "when");
            let bytes = PausedRun::new(&asked, "default".to_owned(), Json::Null, Vec::new())
                .seal(&key, Purpose::Approval);
            let question = PausedRun::open(&bytes, &key, Purpose::Approval).expect("sealed").question;
            assert!(question.is_about(&asked), "{amount}");
            assert!(!question.is_about(&call("pay_all", amount, "when")));
            assert!(!question.is_about(&call("pay", 99.0, "when")));
            assert!(!question.is_about(&call("pay", amount, "then")));
            assert!(!question.is_about(&Call { keywords: Vec::new(), ..asked }));
        }
    }

    #[test]
    fn a_run_that_waits_for_approval_is_none_that_anybody_may_go_on_with() {
        let key = SnapshotKey::from_bytes([7; 32]);
        let paused = PausedRun::new(&call("pay", 1.0, "when"), "default".to_owned(), Json::Null, Vec::new());
        for (sealed, other) in [(Purpose::Approval, Purpose::Resume), (Purpose::Resume, Purpose::Approval)] {
            let bytes = paused.seal(&key, sealed);
            assert!(PausedRun::open(&bytes, &key, sealed).is_ok());
            assert!(matches!(PausedRun::open(&bytes, &key, other), Err(SnapshotError::Tampered)));
        }
    }
}
