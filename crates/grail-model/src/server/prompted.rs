//! Tools and schemas in words, for servers that cannot do better.
//!
//! Calls are asked for between `<tool_call>` tags, which most models have seen in training and [`crate::tool_text`] reads back.

use std::borrow::Cow;

use serde_json::json;

use crate::{Abilities, ChatRequest, Message, Role, ToolChoice};

/// The request as this server understands it.
pub(super) fn adapt<'r>(request: &'r ChatRequest, abilities: &Abilities) -> Cow<'r, ChatRequest> {
    let has_tools = !request.tools.is_empty() || request.messages.iter().any(|it| it.role == Role::Tool);
    let needs_tools = has_tools && !abilities.tool_calls;
    let needs_schema = request.response_schema.is_some() && !abilities.json_schema;
    if !needs_tools && !needs_schema {
        return Cow::Borrowed(request);
    }
    let mut request = request.clone();
    let mut words = Vec::new();
    if needs_tools {
        request.messages = request.messages.into_iter().map(in_words).collect();
        words.extend(tools_in_words(&request));
        request.tools.clear();
        request.tool_choice = ToolChoice::Auto;
    }
    if let Some(schema) = request.response_schema.take_if(|_| needs_schema) {
        words.push(format!(
            "Answer with one JSON value that keeps to this JSON Schema, and with nothing else: no words around it, no code fence.\n{schema}"
        ));
    }
    if words.is_empty() {
        return Cow::Owned(request);
    }
    let words = words.join("\n\n");
    match request.messages.first_mut() {
        Some(first) if first.role == Role::System => first.content = format!("{}\n\n{words}", first.content),
        _ => request.messages.insert(0, Message::system(words)),
    }
    Cow::Owned(request)
}

fn tools_in_words(request: &ChatRequest) -> Option<String> {
    if request.tools.is_empty() || request.tool_choice == ToolChoice::None {
        return None;
    }
    let tools = request.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters}).to_string()
    });
    let tools = tools.collect::<Vec<_>>().join("\n");
    let choice = match &request.tool_choice {
        ToolChoice::Required => "\nCall at least one tool.".to_owned(),
        ToolChoice::Tool(name) => format!("\nCall the tool `{name}`."),
        _ => String::new(),
    };
    Some(format!(
        "These tools are there, one per line, each with the JSON Schema of its parameters:\n{tools}\n\
         To call one, write\n<tool_call>\n{{\"name\": \"NAME\", \"arguments\": {{…}}}}\n</tool_call>\n\
         and nothing after it; the result comes in the next message.{choice}"
    ))
}

/// Calls and their results as a model without tool calls would have written and read them.
fn in_words(message: Message) -> Message {
    match message.role {
        Role::Tool => {
            let content = message.content.replace("</tool_response>", "<\\/tool_response>");
            Message::user(format!("<tool_response>\n{content}\n</tool_response>"))
        }
        _ if !message.tool_calls.is_empty() => {
            let calls = message.tool_calls.iter().map(|call| {
                let call = json!({"name": call.name, "arguments": call.arguments});
                format!("<tool_call>\n{call}\n</tool_call>")
            });
            let text = std::iter::once(message.content.clone()).filter(|text| !text.is_empty());
            let content = text.chain(calls).collect::<Vec<_>>().join("\n");
            Message { content, tool_calls: Vec::new(), ..message }
        }
        _ => message,
    }
}
