//! Rows in one form: loaders look at the first one and believe it of all others, so all others must be like it.

use std::fmt;

use serde_json::Value as Json;

use super::Layout;
use crate::dataset::chat::ChatForm;

/// The first row that is not like the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixedForm {
    /// From 1.
    pub line: usize,
    pub problem: String,
}

impl fmt::Display for MixedForm {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.problem)
    }
}

/// Whether all rows have the same fields, begin with the one system prompt and take turns as a chat does.
pub fn check_rows<'r>(
    layout: Layout,
    form: &ChatForm,
    rows: impl Iterator<Item = &'r Json>,
) -> Result<(), MixedForm> {
    let mut first: Option<Vec<&str>> = None;
    for (number, row) in rows.enumerate() {
        let fail = |problem: String| MixedForm { line: number + 1, problem };
        let Json::Object(fields) = row else { return Err(fail("the row is no object".to_owned())) };
        // Fields that an example may have or not are Grail's own business, and OpenAI looks at each row by itself.
        if !matches!(layout, Layout::Grail | Layout::Openai) {
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            match &first {
                None => first = Some(names),
                Some(expected) if *expected != names => {
                    let problem = format!(
                        "the row has the fields {}, the first one {}",
                        quoted(&names),
                        quoted(expected)
                    );
                    return Err(fail(problem));
                }
                Some(_) => {}
            }
        }
        check_row(row, form).map_err(fail)?;
    }
    Ok(())
}

fn check_row(row: &Json, form: &ChatForm) -> Result<(), String> {
    let conversation =
        row.get("messages").or_else(|| row.get("input")?.get("messages")).or_else(|| row.get("prompt"));
    match conversation {
        Some(Json::Array(messages)) => check_messages(messages, form, row.get("messages").is_some())?,
        Some(Json::String(text)) => check_opening(text, form)?,
        Some(_) => return Err("the prompt is neither text nor messages".to_owned()),
        None => {
            if let Some(text) = row.get("text").and_then(Json::as_str) {
                check_opening(text, form)?;
            }
        }
    }
    for name in ["chosen", "rejected", "completion", "preferred_output", "non_preferred_output"] {
        // Grail's own rows have answers of the same names, bare.
        let Some(answer) = row.get(name).filter(|_| row.get("request").is_none()) else { continue };
        let is_like_the_prompt = match (conversation, answer) {
            (Some(Json::Array(_)), Json::Array(messages)) => {
                matches!(messages.as_slice(), [only] if only.get("role").and_then(Json::as_str) == Some("assistant"))
            }
            (Some(Json::String(_)), Json::String(text)) => !text.is_empty(),
            _ => false,
        };
        if !is_like_the_prompt {
            return Err(format!("`{name}` is not written as the prompt is"));
        }
    }
    Ok(())
}

fn check_opening(text: &str, form: &ChatForm) -> Result<(), String> {
    let marked = format!("<|im_start|>system\n{}<|im_end|>\n", form.system_prompt);
    match text.starts_with(&marked) || text.starts_with(&form.system_prompt) {
        true => Ok(()),
        false => Err("the text does not begin with the system prompt of the dataset".to_owned()),
    }
}

fn check_messages(messages: &[Json], form: &ChatForm, is_answered: bool) -> Result<(), String> {
    let role = |message: &Json| message.get("role").and_then(Json::as_str).unwrap_or_default().to_owned();
    let roles: Vec<String> = messages.iter().map(role).collect();
    let opening = messages.first().and_then(|message| message.get("content")).and_then(Json::as_str);
    if roles.first().map(String::as_str) != Some("system") || opening != Some(form.system_prompt.as_str()) {
        return Err("the first message is not the system prompt of the dataset".to_owned());
    }
    for (number, role) in roles.iter().enumerate().skip(1) {
        let expected = if number % 2 == 1 { "user" } else { "assistant" };
        if role != expected {
            return Err(format!("message {} is of `{role}`; it is `{expected}`'s turn", number + 1));
        }
    }
    let last = if is_answered { "assistant" } else { "user" };
    match roles.last().map(String::as_str) == Some(last) {
        true => Ok(()),
        false => Err(format!("the last message is not of `{last}`")),
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
