//! The body of a request for a chat completion, read leniently and judged before anything is computed.

use serde::Deserialize;
use serde_json::Value;

use crate::chat::ChatMessage;
use crate::grammar::{Constraint, Part};
use crate::sampling::Sampling;
use crate::{LocalError, Result};

const MAX_STOPS: usize = 16;
const MAX_STOP_BYTES: usize = 1000;

#[derive(Debug, Deserialize)]
pub(super) struct ChatBody {
    pub(super) model: Option<String>,
    messages: Vec<MessageBody>,
    pub(super) max_tokens: Option<usize>,
    pub(super) max_completion_tokens: Option<usize>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    top_k: Option<i64>,
    seed: Option<i64>,
    stop: Option<Stop>,
    #[serde(default)]
    pub(super) stream: bool,
    stream_options: Option<StreamOptions>,
    response_format: Option<ResponseFormat>,
    grammar: Option<String>,
    template: Option<Vec<Part>>,
    /// Whether Python in the answer may use only names that it gives, and words go on as the last request says them.
    #[serde(default)]
    known_names: bool,
    tools: Option<Vec<Value>>,
    n: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct MessageBody {
    role: String,
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Debug, Deserialize)]
struct ContentPart {
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Stop {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Debug, Deserialize)]
struct ResponseFormat {
    r#type: String,
    json_schema: Option<SchemaFormat>,
}

#[derive(Debug, Deserialize)]
struct SchemaFormat {
    schema: Value,
}

impl ChatBody {
    pub(super) fn counts_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    pub(super) fn messages(&self) -> Result<Vec<ChatMessage>> {
        if self.messages.is_empty() {
            return Err(wrong("messages", "are empty"));
        }
        if self.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
            return Err(wrong("tools", "are not supported; describe them in a message"));
        }
        if self.n.is_some_and(|n| n != 1) {
            return Err(wrong("n", "is not supported; ask several times, which is as fast"));
        }
        let message = |message: &MessageBody| {
            let content = match &message.content {
                None => String::new(),
                Some(Content::Text(text)) => text.clone(),
                Some(Content::Parts(parts)) => parts.iter().map(|part| part.text.as_str()).collect(),
            };
            ChatMessage { role: message.role.clone(), content }
        };
        Ok(self.messages.iter().map(message).collect())
    }

    pub(super) fn sampling(&self) -> Result<Sampling> {
        let temperature = self.temperature.unwrap_or(1.0);
        if !(0.0..=10.0).contains(&temperature) {
            return Err(wrong("temperature", "is a number from 0 to 10"));
        }
        let top_p = self.top_p.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&top_p) {
            return Err(wrong("top_p", "is a number from 0 to 1"));
        }
        let top_k = usize::try_from(self.top_k.unwrap_or(0)).unwrap_or(0);
        let seed = match self.seed {
            Some(seed) => seed.cast_unsigned(),
            None => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                now.map_or(0, |since| since.as_nanos() as u64)
            }
        };
        Ok(Sampling { temperature, top_k, top_p, seed })
    }

    pub(super) fn stop(&self) -> Result<Vec<String>> {
        let stops = match &self.stop {
            None => Vec::new(),
            Some(Stop::One(stop)) => vec![stop.clone()],
            Some(Stop::Many(stops)) => stops.clone(),
        };
        if stops.len() > MAX_STOPS || stops.iter().any(|stop| stop.len() > MAX_STOP_BYTES) {
            return Err(wrong("stop", "has too many or too long texts"));
        }
        Ok(stops)
    }

    pub(super) fn constraint(&self) -> Result<Option<Constraint>> {
        let mut constraints = Vec::new();
        if let Some(format) = &self.response_format {
            match (format.r#type.as_str(), &format.json_schema) {
                ("text", _) => {}
                ("json_object", _) => {
                    constraints.push(Constraint::JsonSchema(serde_json::json!({"type": "object"})));
                }
                ("json_schema", Some(format)) => {
                    constraints.push(Constraint::JsonSchema(format.schema.clone()))
                }
                ("json_schema", None) => return Err(wrong("response_format", "has no `json_schema`")),
                _ => {
                    return Err(wrong(
                        "response_format",
                        "is of another type than `text`, `json_object` and `json_schema`",
                    ));
                }
            }
        }
        constraints.extend(self.grammar.clone().map(Constraint::Grammar));
        constraints.extend(self.template.clone().map(Constraint::Template));
        if self.known_names {
            let request = self.messages()?.into_iter().rfind(|message| message.role == "user");
            let request = request.map(|message| message.content).unwrap_or_default();
            constraints.push(Constraint::KnownNames { request });
        }
        if constraints.len() > 1 {
            return Err(wrong("grammar", "cannot be combined with another form of the answer"));
        }
        Ok(constraints.pop())
    }
}

fn wrong(field: &str, reason: &str) -> LocalError {
    LocalError::Request { field: field.to_owned(), reason: reason.to_owned() }
}
