//! A conversation with one process of a skill: requests and responses by number, notifications in between.
//!
//! The process is believed as far as the protocol goes. The first thing that is not of it ends the process; only an error that the skill
//! itself reports leaves it running.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fence::{FenceReport, LauncherWord};
use super::problem::{RunFailure, RunProblem};
use super::process::{Ending, launcher_word};
use super::protocol;
use super::start::{RunnableSkill, Start, StartSettings, Started, failure_of_stop, shown_errors};
use crate::credentials::{CredentialEnvironment, Redactor};

/// How much of a line is quoted in an error.
const QUOTED_CHARACTERS: usize = 120;
/// How long the launcher's word may take after the program itself has spoken.
const LAUNCHER_PATIENCE: Duration = Duration::from_secs(1);

/// Bounds of a conversation.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    pub start: StartSettings,
    pub handshake_timeout: Duration,
    pub request_timeout: Duration,
    pub health_timeout: Duration,
    /// How long a skill has to end after it was asked to.
    pub shutdown_timeout: Duration,
    /// Notifications kept for each request; those after are counted.
    pub max_notifications: usize,
    /// What a skill may print before it answers.
    pub max_output_bytes: usize,
}

impl ConnectionSettings {
    pub fn new(start: StartSettings) -> Self {
        Self {
            start,
            handshake_timeout: protocol::HANDSHAKE_TIMEOUT,
            request_timeout: protocol::REQUEST_TIMEOUT,
            health_timeout: protocol::HEALTH_TIMEOUT,
            shutdown_timeout: Duration::from_secs(2),
            max_notifications: 100,
            max_output_bytes: 16 << 20,
        }
    }
}

/// A process of a skill that has introduced itself.
pub struct Connection {
    started: Started,
    skill: String,
    settings: ConnectionSettings,
    redactor: Redactor,
    last_id: u64,
    fence: FenceReport,
}

/// What a skill made of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub output: Value,
    pub notifications: Vec<Notification>,
    /// Beyond those that are kept.
    pub dropped_notifications: usize,
}

/// Something a skill said unasked.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Notification {
    pub method: String,
    pub params: Value,
}

/// How a skill took its leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It ended by itself, as asked.
    Ended(Ending),
    Killed,
}

struct Reply {
    result: Value,
    notifications: Vec<Notification>,
    dropped_notifications: usize,
}

impl Connection {
    /// Starts the skill and shakes hands.
    pub fn open(
        skill: &RunnableSkill,
        credentials: &CredentialEnvironment,
        settings: &ConnectionSettings,
    ) -> Result<Self, RunProblem> {
        let script = skill.script();
        let started = Start::of_skill(skill, &script, credentials).start(&settings.start)?;
        let mut connection = Self {
            started,
            skill: skill.manifest.id.clone(),
            settings: settings.clone(),
            redactor: credentials.redactor().clone(),
            last_id: 0,
            fence: FenceReport::missing("no launcher"),
        };
        connection.shake_hands(skill)?;
        if connection.started.is_fenced {
            connection.fence = match connection.started.process.launcher_word(LAUNCHER_PATIENCE) {
                Some(LauncherWord::Fenced(report)) => report,
                _ => FenceReport::missing("the launcher said nothing"),
            };
        }
        Ok(connection)
    }

    pub fn invoke(&mut self, input: &Value) -> Result<Answer, RunProblem> {
        let mut reply =
            self.request(protocol::INVOKE, Some(json!({ "input": input })), self.settings.request_timeout)?;
        let output = match &mut reply.result {
            Value::Object(fields) => fields.remove("output"),
            _ => None,
        };
        let Some(output) = output else {
            return Err(self.fail(RunFailure::BadResult { method: protocol::INVOKE, missing: "an `output`" }));
        };
        Ok(Answer {
            output,
            notifications: reply.notifications,
            dropped_notifications: reply.dropped_notifications,
        })
    }

    /// Asks after its health.
    pub fn health(&mut self) -> Result<(), RunProblem> {
        let reply = self.request(protocol::HEALTH, None, self.settings.health_timeout)?;
        match reply.result.get("status") {
            Some(Value::String(status)) if status == "ok" => Ok(()),
            Some(status) => {
                let status = self.quote(status.as_str().map_or_else(|| status.to_string(), str::to_owned));
                Err(self.problem(RunFailure::Unhealthy { status }))
            }
            None => Err(self.fail(RunFailure::BadResult { method: protocol::HEALTH, missing: "a `status`" })),
        }
    }

    /// Asks it to end, and ends it if it does not.
    pub fn close(self) -> Leave {
        self.close_with_errors().0
    }

    /// As [`Connection::close`]; with the end of all that it wrote to stderr, which may lag behind its answers.
    pub fn close_with_errors(mut self) -> (Leave, String) {
        let leave = self.take_leave();
        (leave, self.errors())
    }

    fn take_leave(&mut self) -> Leave {
        if self.started.process.is_killed() {
            return Leave::Killed;
        }
        let deadline = Instant::now() + self.settings.shutdown_timeout;
        // What it answers does not matter any more.
        let _ = self.request(protocol::SHUTDOWN, None, self.settings.shutdown_timeout);
        self.started.process.close_input();
        match self.started.process.wait(deadline) {
            Some(ending) if !self.started.process.is_killed() => Leave::Ended(ending),
            _ => {
                self.started.process.kill();
                Leave::Killed
            }
        }
    }

    /// Which walls stand round the process.
    pub fn fence(&self) -> &FenceReport {
        &self.fence
    }

    /// The number of the process, which is also that of its group.
    pub fn process_id(&self) -> u32 {
        self.started.process.id()
    }

    /// The end of what it wrote to stderr so far, without credentials.
    pub fn errors(&self) -> String {
        shown_errors(&self.started.process, &self.redactor, self.settings.start.stderr_bytes)
    }

    fn shake_hands(&mut self, skill: &RunnableSkill) -> Result<(), RunProblem> {
        let expected = skill.manifest.version.to_string();
        let params = json!({ "expected_name": skill.manifest.id, "version": expected });
        let reply = self.request(protocol::HANDSHAKE, Some(params), self.settings.handshake_timeout)?;
        let text = |key: &str| reply.result.get(key).and_then(Value::as_str).map(str::to_owned);
        let missing = |missing| RunFailure::BadResult { method: protocol::HANDSHAKE, missing };
        let failure = match (text("name"), text("version")) {
            (None, _) => missing("a `name`"),
            (_, None) => missing("a `version`"),
            (Some(name), _) if name != skill.manifest.id => RunFailure::OtherName { got: self.quote(name) },
            (_, Some(version)) if version != expected => {
                RunFailure::OtherVersion { expected, got: self.quote(version) }
            }
            _ => return Ok(()),
        };
        Err(self.fail(failure))
    }

    fn request(
        &mut self,
        method: &'static str,
        params: Option<Value>,
        limit: Duration,
    ) -> Result<Reply, RunProblem> {
        // A day is for ever, and keeps the sum from overflowing.
        let deadline = Instant::now() + limit.min(Duration::from_secs(24 * 60 * 60));
        let id = self.last_id + 1;
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if let Some(params) = params {
            request["params"] = params;
        }
        let line = request.to_string().into_bytes();
        if line.len() > protocol::MAX_LINE_BYTES {
            return Err(self.problem(RunFailure::InputTooLong { bytes: line.len() }));
        }
        self.last_id = id;
        self.started.process.write_line(line);
        let (mut notifications, mut dropped_notifications, mut bytes) = (Vec::new(), 0, 0);
        loop {
            let line = match self.started.process.next_line(deadline) {
                Ok(line) => line,
                Err(stop) => return Err(self.fail(failure_of_stop(stop, method, limit))),
            };
            bytes += line.len() + 1;
            let most = self.settings.max_output_bytes;
            if bytes > most {
                return Err(self.fail(RunFailure::TooMuchOutput { method, most }));
            }
            match self.read_message(&line, id, method) {
                Ok(Message::Nothing) => {}
                Ok(Message::Notification(notification)) => {
                    if notifications.len() < self.settings.max_notifications {
                        notifications.push(notification);
                    } else {
                        dropped_notifications += 1;
                    }
                }
                Ok(Message::Result(result)) => {
                    return Ok(Reply { result, notifications, dropped_notifications });
                }
                // The skill itself says no: it goes on.
                Err(failure @ RunFailure::Refused { .. }) => return Err(self.problem(failure)),
                Err(failure) => return Err(self.fail(failure)),
            }
        }
    }

    fn read_message(&self, line: &[u8], asked: u64, method: &'static str) -> Result<Message, RunFailure> {
        let not_protocol = |reason: String| RunFailure::NotProtocol { reason };
        if line.trim_ascii().is_empty() {
            return Ok(Message::Nothing);
        }
        let Ok(mut message) = serde_json::from_slice::<Value>(line) else {
            return Err(RunFailure::NotJson { line: self.quote(String::from_utf8_lossy(line).into_owned()) });
        };
        self.redactor.redact_value(&mut message);
        let Value::Object(mut fields) = message else {
            return Err(not_protocol("a message is an object".to_owned()));
        };
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(not_protocol("a message has `\"jsonrpc\": \"2.0\"`".to_owned()));
        }
        if let Some(called) = fields.get("method") {
            let called = self.quote(called.as_str().map_or_else(|| called.to_string(), str::to_owned));
            if fields.contains_key("id") {
                return Err(not_protocol(format!("it asks for `{called}`, but a skill only answers")));
            }
            let params = fields.remove("params").unwrap_or_default();
            return Ok(Message::Notification(Notification { method: called, params }));
        }
        let (result, error) = (fields.remove("result"), fields.remove("error"));
        match fields.get("id") {
            Some(Value::Number(id)) if id.as_u64() == Some(asked) => {}
            // It could not even read the number of the request.
            Some(Value::Null) if error.is_some() && result.is_none() => {}
            Some(id) => return Err(RunFailure::OtherId { asked, got: self.quote(id.to_string()) }),
            None => return Err(not_protocol("a response has an `id`".to_owned())),
        }
        match (result, error) {
            (Some(result), None) => Ok(Message::Result(result)),
            (None, Some(error)) => {
                let code = error.get("code").and_then(Value::as_i64);
                let message = error.get("message").and_then(Value::as_str);
                let (Some(code), Some(message)) = (code, message) else {
                    return Err(not_protocol("an error has a `code` and a `message`".to_owned()));
                };
                Err(RunFailure::Refused { method, code, message: self.quote(message.to_owned()) })
            }
            _ => Err(not_protocol("a response has a `result` or an `error`".to_owned())),
        }
    }

    /// Ends the process and says why.
    fn fail(&mut self, failure: RunFailure) -> RunProblem {
        self.started.process.kill();
        self.problem(failure)
    }

    fn problem(&self, failure: RunFailure) -> RunProblem {
        let stderr = self.errors();
        // Only where nothing else was said: what a script writes later could pass for the launcher's word.
        let failure = match failure {
            RunFailure::Died { method: protocol::HANDSHAKE, how: Ending::Code(126) } => {
                let reason = stderr.lines().next_back().and_then(|line| launcher_word(line.as_bytes()));
                match reason {
                    Some(LauncherWord::NotStarted(reason)) => RunFailure::NotStarted { reason },
                    _ => failure,
                }
            }
            failure => failure,
        };
        RunProblem { skill: self.skill.clone(), failure, stderr }
    }

    /// Text of the skill's for a message: without secrets, on one line, and not too much of it.
    fn quote(&self, text: String) -> String {
        let text = self.redactor.redact(&text);
        let mut characters =
            text.trim().chars().map(|character| if character.is_control() { ' ' } else { character });
        let quoted: String = characters.by_ref().take(QUOTED_CHARACTERS).collect();
        if characters.next().is_some() { quoted + "…" } else { quoted }
    }
}

enum Message {
    Nothing,
    Notification(Notification),
    Result(Value),
}
