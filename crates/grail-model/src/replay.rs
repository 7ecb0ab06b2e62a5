//! Conversations that were had once and can be had again: real traffic for tests without a server.
//!
//! A recording is a list of requests and what came back. A request is found by what it says, not by when it is asked; the same request
//! asked again gets the next answer that was recorded for it, and the last one from then on.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::{ChatEvent, ChatRequest, ChatStream, Model, ModelError, Reply};

/// Requests and their answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The model that was asked.
    pub model: String,
    pub exchanges: Vec<Exchange>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    pub request: ChatRequest,
    pub reply: Reply,
}

/// Asks another model and writes down what it says. Answers that fail are not recorded.
pub struct Recorder<M> {
    model: M,
    exchanges: Mutex<Vec<Exchange>>,
}

/// Answers as recorded.
pub struct Replay {
    recording: Recording,
    /// How often each request was asked.
    asked: Mutex<HashMap<String, usize>>,
}

/// A longer recording is neither read nor written.
const MAX_RECORDING_BYTES: u64 = 64 << 20;

impl Recording {
    /// Reads a file that [`Recording::write`] has written.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let fail = |reason: String| ModelError::Recording { path: path.to_owned(), action: "read", reason };
        let file = File::open(path).map_err(|error| fail(error.to_string()))?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(fail("it is no file".to_owned()));
        }
        let mut bytes = Vec::new();
        file.take(MAX_RECORDING_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| fail(error.to_string()))?;
        if bytes.len() as u64 > MAX_RECORDING_BYTES {
            return Err(fail(format!("it has more than {MAX_RECORDING_BYTES} bytes")));
        }
        serde_json::from_slice(&bytes).map_err(|error| fail(error.to_string()))
    }

    /// Writes JSON for people to read: beside the file first, so that it is there whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), ModelError> {
        let fail =
            |reason: String| ModelError::Recording { path: path.to_owned(), action: "written", reason };
        let mut text = serde_json::to_string_pretty(self).map_err(|error| fail(error.to_string()))?;
        text.push('\n');
        if text.len() as u64 > MAX_RECORDING_BYTES {
            return Err(fail(format!("it would have more than {MAX_RECORDING_BYTES} bytes")));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| fail(error.to_string()))?;
        file.write_all(text.as_bytes()).map_err(|error| fail(error.to_string()))?;
        file.persist(path).map(|_| ()).map_err(|error| fail(error.error.to_string()))
    }
}

impl<M: Model> Recorder<M> {
    pub fn new(model: M) -> Self {
        Self { model, exchanges: Mutex::default() }
    }

    /// What was recorded so far.
    pub fn recording(&self) -> Recording {
        let exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Recording { model: self.model.name().to_owned(), exchanges }
    }
}

impl<M: Model> Model for Recorder<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m> {
        let (mut text, mut tool_calls) = (String::new(), Vec::new());
        Box::pin(self.model.chat(request).inspect(move |event| match event {
            Ok(ChatEvent::Text(piece)) => text.push_str(piece),
            Ok(ChatEvent::ToolCall(call)) => tool_calls.push(call.clone()),
            Ok(ChatEvent::Finished(finish)) => {
                let reply = Reply {
                    text: std::mem::take(&mut text),
                    tool_calls: std::mem::take(&mut tool_calls),
                    problems: Vec::new(),
                    finish: finish.clone(),
                };
                let exchange = Exchange { request: request.clone(), reply };
                self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
            }
            Err(_) => {}
        }))
    }
}

impl Replay {
    pub fn new(recording: Recording) -> Self {
        Self { recording, asked: Mutex::default() }
    }

    fn answer(&self, request: &ChatRequest) -> Option<&Reply> {
        let answers: Vec<&Reply> = self
            .recording
            .exchanges
            .iter()
            .filter(|exchange| exchange.request == *request)
            .map(|exchange| &exchange.reply)
            .collect();
        let key = serde_json::to_string(request).ok()?;
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let times = asked.entry(key).or_default();
        let answer = answers.get(*times).or(answers.last()).copied();
        *times += 1;
        answer
    }
}

impl Model for Replay {
    fn name(&self) -> &str {
        &self.recording.model
    }

    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m> {
        let events = match self.answer(request) {
            None => vec![Err(ModelError::NotRecorded { recorded: self.recording.exchanges.len() })],
            Some(reply) => {
                let text = (!reply.text.is_empty()).then(|| ChatEvent::Text(reply.text.clone()));
                let calls = reply.tool_calls.iter().cloned().map(ChatEvent::ToolCall);
                let finish = ChatEvent::Finished(reply.finish.clone());
                text.into_iter().chain(calls).chain([finish]).map(Ok).collect()
            }
        };
        Box::pin(stream::iter(events))
    }
}
