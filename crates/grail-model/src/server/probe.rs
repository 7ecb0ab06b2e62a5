//! What a server can do, found out by trying: servers claim more, and less, than is true of the model they have loaded.
//!
//! An ability counts when it was seen to work. A server that fails a trial, or ignores what was asked of it, does not have the ability: it is then asked
//! in words, which always works. Only a server that is not there, or does not let us in, is an error.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Server, Shape};
use crate::{ChatRequest, Message, ModelError, ToolChoice, ToolDefinition, collect, structured};

/// More models are not listed.
const MAX_MODELS: usize = 1000;

/// What a server can do with a model. Data to keep: a probe costs some small answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Abilities {
    /// The models it says it has; none if it does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// It takes tools and gives calls of them. Else tools are described in words, and calls are read from the text.
    pub tool_calls: bool,
    /// Answers keep to a schema in `response_format`. Else the schema is in the prompt.
    pub json_schema: bool,
    /// Answers keep to a grammar of llama.cpp's kind.
    pub grammar: bool,
    /// Python in answers uses only names that it gives, if that is wanted: an ability of `grail-local` alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub known_names: bool,
}

impl Default for Abilities {
    /// What is taken for granted of a server that was never probed: tool calls, which nearly all have, and nothing else.
    fn default() -> Self {
        Self { models: Vec::new(), tool_calls: true, json_schema: false, grammar: false, known_names: false }
    }
}

#[derive(Deserialize)]
struct Listing {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    /// Of the weights, where a server says.
    #[serde(default)]
    identity: Option<String>,
}

impl Server {
    /// Tries out what the server can do with its model.
    pub async fn probe(&self) -> Result<Abilities, ModelError> {
        let models = absent_if_unable(self.models().await)?.unwrap_or_default();
        // Each trial asks for its ability by name, not for a way around it.
        let able = Abilities { json_schema: true, grammar: true, ..Abilities::default() };
        let trial = self.clone().with_abilities(able);
        let tool_calls = trial.try_tool_calls().await?;
        let json_schema = trial.try_schema().await?;
        let grammar = trial.try_grammar().await?;
        Ok(Abilities { models, tool_calls, json_schema, grammar, known_names: false })
    }

    /// The names of the models that the server says it has.
    pub async fn models(&self) -> Result<Vec<String>, ModelError> {
        Ok(self.listing().await?.into_iter().map(|model| model.id).collect())
    }

    /// Whether the server lists its model with the weights that must answer.
    pub(crate) async fn check_identity(&self) -> Result<(), ModelError> {
        let Some(expected) = &self.settings.identity else { return Ok(()) };
        let model = self.settings.model.clone();
        let Some(listed) = self.listing().await?.into_iter().find(|listed| listed.id == model) else {
            return Err(ModelError::OtherModel { asked: model, answered: "a server without it".to_owned() });
        };
        match listed.identity {
            Some(found) if found == *expected => Ok(()),
            found => {
                let (expected, found) = (expected.clone(), found.unwrap_or_else(|| "nothing".to_owned()));
                Err(ModelError::OtherIdentity { model, expected, found })
            }
        }
    }

    async fn listing(&self) -> Result<Vec<Listed>, ModelError> {
        let (client, call) = self.call(Shape::Whole);
        let listing: Result<Listing, _> = client.models().list_byot().await;
        let listing = listing.map_err(|error| call.explain(error))?;
        let clean = |listed: Listed| Listed {
            id: call.clean(&listed.id),
            identity: listed.identity.map(|identity| call.clean(&identity)),
        };
        Ok(listing.data.into_iter().take(MAX_MODELS).map(clean).collect())
    }

    async fn try_tool_calls(&self) -> Result<bool, ModelError> {
        let tool = ToolDefinition {
            name: "get_time".to_owned(),
            description: "Tells the time in a city.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            }),
        };
        let request = ChatRequest {
            tools: vec![tool],
            tool_choice: ToolChoice::Required,
            ..trial("What time is it in Oslo? Call get_time.", 96)
        };
        // Calls in the text are another matter, so what came is looked at before anybody reads it.
        let mut has_call = false;
        let hear = |event: &crate::ChatEvent| {
            has_call |= matches!(event, crate::ChatEvent::ToolCall(call) if call.name == "get_time")
        };
        absent_if_unable(collect(self, &request, hear).await)?;
        Ok(has_call)
    }

    async fn try_schema(&self) -> Result<bool, ModelError> {
        // Nobody would answer so who was only told to greet.
        let schema = json!({
            "type": "object",
            "properties": {"colour": {"enum": ["grail-red"]}},
            "required": ["colour"],
            "additionalProperties": false,
        });
        let request = ChatRequest { response_schema: Some(schema.clone()), ..trial("Say hello.", 48) };
        let reply = absent_if_unable(collect(self, &request, |_| {}).await)?;
        Ok(reply.is_some_and(|reply| structured::read(&reply.text, &schema).is_ok()))
    }

    async fn try_grammar(&self) -> Result<bool, ModelError> {
        let request =
            ChatRequest { grammar: Some(r#"root ::= "grail-probe""#.to_owned()), ..trial("Say hello.", 16) };
        let reply = absent_if_unable(collect(self, &request, |_| {}).await)?;
        Ok(reply.is_some_and(|reply| reply.text.trim() == "grail-probe"))
    }
}

fn trial(text: &str, tokens: u32) -> ChatRequest {
    ChatRequest {
        messages: vec![Message::user(text)],
        temperature: Some(0.0),
        max_tokens: Some(tokens),
        seed: Some(1),
        ..ChatRequest::default()
    }
}

/// Failures that only mean that the server cannot do what was tried.
fn absent_if_unable<T>(outcome: Result<T, ModelError>) -> Result<Option<T>, ModelError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(
            ModelError::Status { status: 400 | 404 | 405 | 415 | 422 | 500 | 501, .. }
            | ModelError::NotUnderstood { .. }
            | ModelError::Interrupted { .. }
            | ModelError::PromptTooLong { .. }
            | ModelError::TooLong { .. }
            | ModelError::Empty { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
