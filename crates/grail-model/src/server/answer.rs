//! The pieces of a streamed answer, put together.
//!
//! Servers take the protocol lightly: fields are missing or null, tool calls come without numbers or all under the same one, arguments come
//! as an object, the name of a call comes again with every piece. All of that is read; what has another type is refused by whoever parses.

use serde::Deserialize;
use serde_json::Value as Json;

use super::identity::is_same_model;
use super::wire::{Call, error_message};
use crate::tool_text::{self, MAX_CALLS};
use crate::{ChatEvent, Finish, FinishReason, ModelError, ToolCall, Usage};

/// One event of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    model: Option<String>,
    system_fingerprint: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<Json>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    index: Option<u64>,
    #[serde(alias = "message")]
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Delta {
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

/// Text, or a list of parts of which the texts are taken.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "`content` is neither text nor a list of parts")]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionPiece {
    name: Option<String>,
    /// Text, piece by piece; or all at once as what it means.
    arguments: Option<Json>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

/// An answer while it comes.
pub(super) struct Answer {
    call: Call,
    model: Option<String>,
    /// Whether the right weights have spoken.
    is_identified: bool,
    has_choice: bool,
    bytes: usize,
    calls: Vec<Building>,
    usage: Usage,
    reason: Option<FinishReason>,
}

/// A tool call while it comes.
#[derive(Default)]
struct Building {
    index: Option<u64>,
    id: String,
    name: String,
    text: String,
    whole: Option<Json>,
}

impl Answer {
    pub(super) fn new(call: Call) -> Self {
        Self {
            call,
            model: None,
            is_identified: false,
            has_choice: false,
            bytes: 0,
            calls: Vec::new(),
            usage: Usage::default(),
            reason: None,
        }
    }

    /// Whether nothing but the usage can still come.
    pub(super) fn is_finished(&self) -> bool {
        self.reason.is_some()
    }

    /// Takes a piece; gives the text in it.
    pub(super) fn take(&mut self, chunk: Chunk) -> Result<Option<ChatEvent>, ModelError> {
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let reason = self.call.clean(&error_message(&error));
            return Err(ModelError::Interrupted { model: self.call.settings.model.clone(), reason });
        }
        if let Some(usage) = chunk.usage {
            self.usage = Usage {
                input_tokens: usage.prompt_tokens.unwrap_or_default(),
                output_tokens: usage.completion_tokens.unwrap_or_default(),
            };
        }
        let choice = chunk.choices.into_iter().flatten().find(|choice| choice.index.unwrap_or_default() == 0);
        // Pings may come without a name; what is said may not.
        if choice.is_some() || chunk.model.is_some() {
            self.identify(chunk.model)?;
            self.identify_weights(chunk.system_fingerprint)?;
        }
        let Some(choice) = choice else { return Ok(None) };
        self.has_choice = true;
        if let Some(reason) = choice.finish_reason {
            self.reason = Some(finish_reason(&reason));
        }
        let Some(delta) = choice.delta else { return Ok(None) };
        for piece in delta.tool_calls.into_iter().flatten() {
            self.take_call(piece)?;
        }
        let mut text = delta.content.map(Content::into_text).unwrap_or_default();
        if let Some(refusal) = delta.refusal {
            text.push_str(&refusal);
            self.reason = Some(FinishReason::Filtered);
        }
        self.count(text.len())?;
        Ok((!text.is_empty()).then_some(ChatEvent::Text(text)))
    }

    /// What is left to say when the stream is over.
    pub(super) fn finish(&mut self) -> Result<Vec<ChatEvent>, ModelError> {
        let asked = self.call.settings.model.clone();
        let Some(reason) = self.reason.or(self.call.is_done().then_some(FinishReason::Stop)) else {
            let reason = "the stream ended before the answer did".to_owned();
            return Err(match self.has_choice {
                true => ModelError::Interrupted { model: asked, reason },
                false => self.call.not_understood("no part of the stream is an answer"),
            });
        };
        if !self.has_choice {
            return Err(ModelError::Empty { model: asked });
        }
        let mut calls: Vec<ToolCall> = Vec::new();
        for building in std::mem::take(&mut self.calls) {
            let is_taken = |id: &str| id.is_empty() || calls.iter().any(|call: &ToolCall| call.id == id);
            let id = match is_taken(&building.id) {
                true => format!("call-{}", calls.len() + 1),
                false => building.id.clone(),
            };
            calls.push(ToolCall { id, name: building.name.clone(), arguments: building.arguments() });
        }
        let reason = match reason {
            FinishReason::Stop if !calls.is_empty() => FinishReason::ToolCalls,
            FinishReason::ToolCalls if calls.is_empty() => FinishReason::Stop,
            other => other,
        };
        let model = self.call.clean(&self.model.clone().unwrap_or_default());
        let finish = Finish { reason, usage: self.usage, model };
        Ok(calls.into_iter().map(ChatEvent::ToolCall).chain([ChatEvent::Finished(finish)]).collect())
    }

    /// The name must be right before anything of the answer is handed on, and stay the same.
    fn identify(&mut self, name: Option<String>) -> Result<(), ModelError> {
        let name = match (name, &self.model) {
            (None, Some(_)) => return Ok(()),
            (Some(name), Some(known)) if name == *known => return Ok(()),
            (name, _) => name.unwrap_or_default(),
        };
        let settings = &self.call.settings;
        if !is_same_model(&settings.model, &settings.aliases, &name) {
            let answered = match name.trim().is_empty() {
                true => "a model without a name".to_owned(),
                false => self.call.clean(&name),
            };
            return Err(ModelError::OtherModel { asked: settings.model.clone(), answered });
        }
        self.model = Some(name);
        Ok(())
    }

    /// The same for the weights, where it is known which ones must answer.
    fn identify_weights(&mut self, found: Option<String>) -> Result<(), ModelError> {
        let settings = &self.call.settings;
        let Some(expected) = &settings.identity else { return Ok(()) };
        match found {
            Some(found) if found == *expected => self.is_identified = true,
            None if self.is_identified => {}
            found => {
                return Err(ModelError::OtherIdentity {
                    model: settings.model.clone(),
                    expected: expected.clone(),
                    found: found.map_or_else(|| "nothing".to_owned(), |found| self.call.clean(&found)),
                });
            }
        }
        Ok(())
    }

    fn take_call(&mut self, piece: CallPiece) -> Result<(), ModelError> {
        let id = piece.id.unwrap_or_default();
        let function = piece.function.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let continues = self.calls.iter().rposition(|call| match (piece.index, call.index) {
            (Some(index), Some(other)) if index != other => false,
            // The same number with another id and a name is another call.
            _ => id.is_empty() || id == call.id || name.is_empty(),
        });
        // Without a number, an id or a name decides; without any of them it belongs to the last.
        let starts = piece.index.is_none() && id.is_empty() && !name.is_empty();
        let position = match continues {
            Some(position) if !starts => position,
            _ => {
                if self.calls.len() == MAX_CALLS {
                    return Err(self
                        .call
                        .not_understood(&format!("it calls more than {MAX_CALLS} tools at once")));
                }
                self.calls.push(Building { index: piece.index, ..Building::default() });
                self.calls.len() - 1
            }
        };
        let building = &mut self.calls[position];
        let before = building.size();
        if building.id.is_empty() {
            building.id = id;
        }
        if building.name != name {
            building.name.push_str(&name);
        }
        match function.arguments {
            Some(Json::String(text)) => building.text.push_str(&text),
            None | Some(Json::Null) => {}
            Some(whole) => building.whole = Some(whole),
        }
        let grown = building.size().saturating_sub(before);
        self.count(grown)
    }

    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        let limit = self.call.settings.limits.reply_bytes;
        if self.bytes > limit { Err(self.call.too_long(limit)) } else { Ok(()) }
    }
}

impl Building {
    fn size(&self) -> usize {
        let whole = self.whole.as_ref().map_or(0, |whole| whole.to_string().len());
        self.id.len() + self.name.len() + self.text.len() + whole
    }

    /// An object where there is one to be had; else the text, for whoever judges it.
    fn arguments(self) -> Json {
        match self.whole {
            Some(whole) => whole,
            None => tool_text::arguments(self.text),
        }
    }
}

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

fn finish_reason(word: &str) -> FinishReason {
    match word {
        "length" | "max_tokens" => FinishReason::Length,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::Filtered,
        _ => FinishReason::Stop,
    }
}
