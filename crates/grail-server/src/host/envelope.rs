//! What goes over the line: a request in, an answer out, each one object on one line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The version of the envelope that is spoken here.
pub const VERSION: u32 = 1;
/// A longer line is answered with an error and dropped.
pub const MAX_LINE_BYTES: usize = 4 << 20;
/// A longer id is none.
const MAX_ID_BYTES: usize = 200;

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// The version of the envelope: 1.
    pub v: u32,
    /// A name for this request that comes back with its answer.
    pub request_id: String,
    /// What to do: `host.commands` lists it.
    pub command: String,
    /// What the command needs to know.
    #[serde(default)]
    pub payload: Json,
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub v: u32,
    /// That of the request; empty if it could not be read.
    pub request_id: String,
    pub ok: bool,
    /// What came of it, if it is `ok`.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub payload: Json,
    /// What went wrong, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<HostError>,
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostError {
    pub code: ErrorCode,
    pub message: String,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    /// The line is no JSON, or nests too deep.
    BadJson,
    /// It is JSON, but no envelope.
    BadEnvelope,
    /// The line is too long.
    TooLarge,
    UnsupportedVersion,
    UnknownCommand,
    /// The payload is not what the command takes.
    BadPayload,
    /// What the payload names is not there.
    NotFound,
    /// It is there, but may not be used like this.
    Refused,
    /// It was tried, and did not work.
    Failed,
    /// A mistake of ours.
    Internal,
}

impl HostError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Answer {
    pub fn new(request_id: impl Into<String>, result: Result<Json, HostError>) -> Self {
        let (ok, payload, error) = match result {
            Ok(payload) => (true, payload, None),
            Err(error) => (false, Json::Null, Some(error)),
        };
        Self { v: VERSION, request_id: request_id.into(), ok, payload, error }
    }
}

/// Reads a line. The answer to one that is no envelope is given instead, with the id if that much could be read.
pub fn read_line(line: &[u8]) -> Result<Envelope, Box<Answer>> {
    let json: Json = serde_json::from_slice(line).map_err(|error| {
        let error = HostError::new(ErrorCode::BadJson, format!("the line is no JSON: {error}")).hint(
            "one object on one line: {\"v\": 1, \"request_id\": \"1\", \"command\": \"host.commands\"}",
        );
        Box::new(Answer::new("", Err(error)))
    })?;
    let id = json.get("request_id").and_then(Json::as_str).unwrap_or_default();
    let id = if id.len() > MAX_ID_BYTES { "" } else { id }.to_owned();
    let wrong = |code, message: String| Box::new(Answer::new(id.clone(), Err(HostError::new(code, message))));
    // The version decides what the rest means, so it is looked at first.
    match json.get("v").map(Json::as_u64) {
        Some(Some(version)) if version == u64::from(VERSION) => {}
        Some(Some(version)) => {
            let message = format!("version {version} of the envelope is not spoken here");
            let error =
                HostError::new(ErrorCode::UnsupportedVersion, message).hint(format!("use version {VERSION}"));
            return Err(Box::new(Answer::new(id, Err(error))));
        }
        _ => return Err(wrong(ErrorCode::BadEnvelope, "the envelope has no version `v`".to_owned())),
    }
    if id.is_empty() {
        let message = format!("the envelope needs a `request_id` of 1 to {MAX_ID_BYTES} bytes");
        return Err(wrong(ErrorCode::BadEnvelope, message));
    }
    serde_json::from_value(json).map_err(|error| wrong(ErrorCode::BadEnvelope, error.to_string()))
}
