//! A question in the words of the protocol.

use serde_json::{Map, Value as Json, json};

use super::prompted;
use crate::{Abilities, ChatRequest, Message, Role, ServerSettings, ToolChoice};

/// The body of a request for a streamed answer. What the server cannot do by itself is asked for in words.
pub(super) fn chat_body(
    settings: &ServerSettings,
    abilities: &Abilities,
    request: &ChatRequest,
) -> Map<String, Json> {
    let request = &prompted::adapt(request, abilities);
    let mut body = Map::new();
    let mut set = |name: &str, value: Json| body.insert(name.to_owned(), value);
    set("model", json!(settings.model));
    set("messages", request.messages.iter().map(message).collect());
    set("stream", json!(true));
    set("stream_options", json!({"include_usage": true}));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            })
        });
        set("tools", tools.collect());
        match &request.tool_choice {
            // Not to choose is the same, and every server knows it.
            ToolChoice::Auto => None,
            ToolChoice::None => set("tool_choice", json!("none")),
            ToolChoice::Required => set("tool_choice", json!("required")),
            ToolChoice::Tool(name) => {
                set("tool_choice", json!({"type": "function", "function": {"name": name}}))
            }
        };
    }
    if let Some(schema) = &request.response_schema {
        let schema = json!({"name": "answer", "strict": is_strict(schema), "schema": schema});
        set("response_format", json!({"type": "json_schema", "json_schema": schema}));
    }
    if let Some(grammar) = &request.grammar {
        set("grammar", json!(grammar));
    }
    if request.known_names && abilities.known_names {
        set("known_names", json!(true));
    }
    if let Some(temperature) = request.temperature.or(settings.temperature) {
        // As it was written: 0.2 as an f32 would be 0.20000000298.
        let shown: Option<f64> = temperature.to_string().parse().ok();
        set("temperature", json!(shown));
    }
    if let Some(tokens) = request.max_tokens.or(settings.max_tokens) {
        set("max_tokens", json!(tokens));
    }
    if let Some(seed) = request.seed {
        set("seed", json!(seed));
    }
    if !request.stop.is_empty() {
        set("stop", json!(request.stop));
    }
    body
}

/// Hosted servers hold a model to the letter only of schemas in which every object names all its fields, and refuse others that claim to be so.
fn is_strict(schema: &Json) -> bool {
    match schema {
        Json::Object(fields) => {
            let is_complete = fields.get("properties").is_none_or(|properties| {
                let names = properties.as_object().into_iter().flat_map(Map::keys);
                let required = fields.get("required").and_then(Json::as_array);
                let is_required = |name: &String| {
                    required.is_some_and(|required| required.iter().any(|it| it.as_str() == Some(name)))
                };
                fields.get("additionalProperties") == Some(&Json::Bool(false))
                    && names.clone().all(is_required)
            });
            let is_open = fields.get("type").and_then(Json::as_str) == Some("object")
                && !fields.contains_key("properties");
            is_complete && !is_open && fields.values().all(is_strict)
        }
        Json::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

fn message(message: &Message) -> Json {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(message.role));
    let has_only_calls = message.content.is_empty() && !message.tool_calls.is_empty();
    fields.insert("content".to_owned(), if has_only_calls { Json::Null } else { json!(message.content) });
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let arguments = match &call.arguments {
                Json::String(text) => text.clone(),
                value => value.to_string(),
            };
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        });
        fields.insert("tool_calls".to_owned(), calls.collect());
    }
    if let (Role::Tool, Some(id)) = (message.role, &message.tool_call_id) {
        fields.insert("tool_call_id".to_owned(), json!(id));
    }
    Json::Object(fields)
}
