//! What a server does not take, learnt from its refusals.
//!
//! Every server knows the protocol, and hardly one knows all of it: older ones do not count tokens in a stream, some hosted models take no
//! temperature and call the length of an answer otherwise. None of these matters so much that an answer should fail for it.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value as Json};

use crate::ModelError;

/// Fields that a request can do without.
const OPTIONAL: [&str; 3] = ["stream_options", "temperature", "seed"];

/// What refusals sound like, in small letters.
const REFUSALS: [&str; 7] =
    ["unsupported", "not support", "unrecognized", "unknown", "unexpected", "not permitted", "not allowed"];

#[derive(Default)]
pub(super) struct Dialect {
    left_out: [AtomicBool; OPTIONAL.len()],
    /// `max_completion_tokens` instead of `max_tokens`.
    says_completion: AtomicBool,
}

impl Dialect {
    /// The body as the server takes it.
    pub(super) fn speak(&self, mut body: Map<String, Json>) -> Map<String, Json> {
        for (field, left_out) in OPTIONAL.iter().zip(&self.left_out) {
            if left_out.load(Ordering::Relaxed) {
                body.remove(*field);
            }
        }
        if self.says_completion.load(Ordering::Relaxed)
            && let Some(tokens) = body.remove("max_tokens")
        {
            body.insert("max_completion_tokens".to_owned(), tokens);
        }
        body
    }

    /// Whether the refusal teaches something, so that asking again may help. Nothing is learnt twice.
    pub(super) fn learn(&self, error: &ModelError) -> bool {
        let ModelError::Status { status: 400 | 422, message, .. } = error else { return false };
        let message = message.to_lowercase();
        if message.contains("max_completion_tokens") {
            return !self.says_completion.swap(true, Ordering::Relaxed);
        }
        if !REFUSALS.iter().any(|refusal| message.contains(refusal)) {
            return false;
        }
        let mut fields = OPTIONAL.iter().zip(&self.left_out);
        let refused = fields.find(|(field, _)| message.contains(*field));
        refused.is_some_and(|(_, left_out)| !left_out.swap(true, Ordering::Relaxed))
    }
}
