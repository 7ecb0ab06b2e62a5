//! One example as the rows of a layout, or why it has none there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::{ExportSettings, Layout};
use crate::dataset::chat::{CHATML_ANSWER, ChatForm, Message, chatml, chatml_answer};
use crate::example::{Example, Origin};

pub(super) struct RowWriter<'d> {
    form: &'d ChatForm,
    layout: Layout,
    is_standard: bool,
    /// The same in every row: a loader that looks at the first one has seen them all.
    tools: Json,
}

impl<'d> RowWriter<'d> {
    pub(super) fn new<'e>(
        form: &'d ChatForm,
        settings: &ExportSettings,
        examples: impl Iterator<Item = &'e Example>,
    ) -> Self {
        let tools = if settings.layout == Layout::Tools { described_tools(examples) } else { Json::Null };
        Self { form, layout: settings.layout, is_standard: settings.is_standard, tools }
    }

    pub(super) fn rows(&self, example: &Example) -> Result<Vec<Json>, &'static str> {
        match self.layout {
            Layout::Grail | Layout::Parquet => Ok(vec![told_to_others(example)]),
            Layout::TrlDpo | Layout::OpenaiDpo => self.pair(example).map(|row| vec![row]),
            Layout::TrlKto => self.judged(example),
            _ => self.answered(example).map(|row| vec![row]),
        }
    }

    /// A prompt with the answer that is to be learned.
    fn answered(&self, example: &Example) -> Result<Json, &'static str> {
        let answer = self.form.answer(example).ok_or("it says only what should not be answered")?;
        let speaks_calls = matches!(self.layout, Layout::Tools | Layout::Chatml | Layout::Openai);
        if !answer.calls.is_empty() && !speaks_calls {
            return Err("its answer is calls of tools");
        }
        if self.layout == Layout::Tools && self.tools == json!([]) {
            return Err("no answer of the dataset calls a tool");
        }
        let mut messages = self.form.prompt(example);
        Ok(match self.layout {
            Layout::Completions => completion(&messages, &answer),
            Layout::TrlSft if self.is_standard => {
                json!({"prompt": chatml(&messages) + CHATML_ANSWER, "completion": chatml_answer(&answer)})
            }
            Layout::TrlSft => json!({"prompt": listed(&messages), "completion": [answer.to_json()]}),
            Layout::Chatml => {
                messages.push(answer);
                json!({"text": chatml(&messages)})
            }
            Layout::Tools => {
                messages.push(answer);
                json!({"messages": listed(&messages), "tools": self.tools})
            }
            Layout::Openai if !answer.calls.is_empty() => {
                messages.push(answer);
                json!({"messages": listed(&messages), "tools": described_tools(std::iter::once(example))})
            }
            _ => {
                messages.push(answer);
                json!({"messages": listed(&messages)})
            }
        })
    }

    /// A prompt with a better and a worse answer.
    fn pair(&self, example: &Example) -> Result<Json, &'static str> {
        let (Some(chosen), Some(rejected)) = (self.form.answer(example), self.form.rejected_answer(example))
        else {
            return Err("it is no pair of answers");
        };
        if !chosen.calls.is_empty() {
            return Err("its answer is calls of tools");
        }
        if chosen == rejected {
            return Err("both answers are the same");
        }
        let messages = self.form.prompt(example);
        Ok(match self.layout {
            Layout::OpenaiDpo => json!({
                "input": {"messages": listed(&messages)},
                "preferred_output": [chosen.to_json()],
                "non_preferred_output": [rejected.to_json()],
            }),
            _ if self.is_standard => json!({
                "prompt": chatml(&messages) + CHATML_ANSWER,
                "chosen": chatml_answer(&chosen),
                "rejected": chatml_answer(&rejected),
            }),
            _ => json!({
                "prompt": listed(&messages),
                "chosen": [chosen.to_json()],
                "rejected": [rejected.to_json()],
            }),
        })
    }

    /// Each answer by itself, and whether it is a good one.
    fn judged(&self, example: &Example) -> Result<Vec<Json>, &'static str> {
        let messages = self.form.prompt(example);
        let good = self.form.answer(example).filter(|answer| answer.calls.is_empty());
        let bad = self.form.rejected_answer(example);
        let row = |answer: Message, label: bool| match self.is_standard {
            true => json!({
                "prompt": chatml(&messages) + CHATML_ANSWER,
                "completion": chatml_answer(&answer),
                "label": label,
            }),
            false => json!({"prompt": listed(&messages), "completion": [answer.to_json()], "label": label}),
        };
        let rows: Vec<Json> = [good.map(|answer| row(answer, true)), bad.map(|answer| row(answer, false))]
            .into_iter()
            .flatten()
            .collect();
        if rows.is_empty() { Err("its answer is calls of tools") } else { Ok(rows) }
    }
}

/// Loaders put a prompt into a turn of its own, so what comes before the last one is told within it.
fn completion(messages: &[Message], answer: &Message) -> Json {
    let said = |message: &Message| match message.role {
        "assistant" => format!("You answered:\n{}", message.content),
        _ => message.content.clone(),
    };
    let prompt: Vec<String> = messages.iter().map(said).collect();
    json!({"prompt": prompt.join("\n\n"), "completion": answer.content})
}

fn listed(messages: &[Message]) -> Json {
    Json::Array(messages.iter().map(Message::to_json).collect())
}

/// What leaves the project: the lesson, its weight, and whose it is. Names of sessions and branches stay.
fn told_to_others(example: &Example) -> Json {
    let origin = Origin {
        source: example.origin.source.clone(),
        licence: example.origin.licence.clone(),
        ..Origin::default()
    };
    let told = Example { origin, ..example.clone() };
    serde_json::to_value(&told).unwrap_or_default()
}

/// The tools that answers call, with parameters as the calls have them: nothing else is known of them here.
fn described_tools<'e>(examples: impl Iterator<Item = &'e Example>) -> Json {
    let mut tools: BTreeMap<&str, Vec<&Json>> = BTreeMap::new();
    for call in examples.flat_map(|example| &example.calls) {
        tools.entry(&call.tool).or_default().push(&call.arguments);
    }
    let described = tools.into_iter().map(|(name, calls)| {
        let objects: Vec<&Map<String, Json>> = calls.iter().filter_map(|call| call.as_object()).collect();
        let names: BTreeSet<&String> = objects.iter().flat_map(|object| object.keys()).collect();
        let properties: Map<String, Json> = names
            .iter()
            .map(|name| {
                let types: BTreeSet<&str> =
                    objects.iter().filter_map(|object| object.get(*name)).map(json_type).collect();
                let types: Vec<&str> = types.into_iter().collect();
                let schema = match types.as_slice() {
                    [only] => json!({"type": only}),
                    _ => json!({}),
                };
                ((*name).clone(), schema)
            })
            .collect();
        let required: Vec<&&String> =
            names.iter().filter(|name| objects.iter().all(|object| object.contains_key(**name))).collect();
        json!({"type": "function", "function": {
            "name": name,
            "description": name.replace('_', " "),
            "parameters": {"type": "object", "properties": properties, "required": required},
        }})
    });
    Json::Array(described.collect())
}

fn json_type(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}
