//! How an example is said to a model: one system prompt, one chat template, code in one fence.
//!
//! Training, evaluation and use must say the same thing in the same way, so this is the only place that knows how. A text that carries
//! markers of a chat template would break out of its turn once it is laid out; such an example is refused, not escaped.

use grail_code::{Field, Kind, Source, parse_module};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::event::ToolUse;
use crate::example::Example;

/// What a model is told first. Short: what it must know is what it is to learn.
pub const SYSTEM_PROMPT: &str = "Write Python in this project's dialect: one whole file in a fenced block.";

/// How often a request is said. Whoever reads from left to right, as models do, knows only at its end what to look for; a small one that reads it twice
/// finds more of it.
pub const READINGS: u8 = 2;

/// More is a waste.
pub const MOST_READINGS: u8 = 3;

/// What stands between two times.
const BETWEEN: &str = "\n\n";

/// How turns are laid out where a layout is plain text.
pub const CHAT_TEMPLATE: &str = "chatml";

/// A longer system prompt is a document.
pub const MAX_SYSTEM_PROMPT_BYTES: usize = 8 * 1024;

/// Markers of the chat templates that are in use.
const MARKERS: [&str; 14] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|eot_id|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
];

/// The one way in which a dataset speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatForm {
    pub system_prompt: String,
    pub chat_template: String,
    /// How often a request is said.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub readings: u8,
}

/// What is not said of datasets that were made before it was counted.
fn once() -> u8 {
    1
}

fn is_once(readings: &u8) -> bool {
    *readings == once()
}

impl Default for ChatForm {
    fn default() -> Self {
        Self {
            system_prompt: SYSTEM_PROMPT.to_owned(),
            chat_template: CHAT_TEMPLATE.to_owned(),
            readings: READINGS,
        }
    }
}

/// One turn as a trainer reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub role: &'static str,
    pub content: String,
    pub calls: Vec<ToolUse>,
}

impl Message {
    pub fn new(role: &'static str, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), calls: Vec::new() }
    }

    /// As every trainer's chat layout has it. Arguments are text: as objects, columns of different calls would be merged into one.
    pub fn to_json(&self) -> Json {
        if self.calls.is_empty() {
            return json!({"role": self.role, "content": self.content});
        }
        let call = |(number, call): (usize, &ToolUse)| {
            let arguments = call.arguments.to_string();
            let function = json!({"name": call.tool, "arguments": arguments});
            json!({"id": format!("call_{}", number + 1), "type": "function", "function": function})
        };
        let calls: Vec<Json> = self.calls.iter().enumerate().map(call).collect();
        json!({"role": self.role, "content": self.content, "tool_calls": calls})
    }
}

impl ChatForm {
    /// A request of which nothing else is known, as a model is asked when it is used: the same turns as those it was trained on.
    pub fn question(&self, request: &str) -> Vec<Message> {
        vec![Message::new("system", self.system_prompt.as_str()), Message::new("user", self.said(request))]
    }

    /// A request as often as it is read.
    fn said(&self, request: &str) -> String {
        vec![request.trim(); usize::from(self.readings)].join(BETWEEN)
    }

    /// The same form with more to know before every request. No model is trained in it: it is what training is compared with.
    pub fn with_knowledge(&self, text: &str) -> Self {
        let system_prompt = format!("{}\n\n{}", self.system_prompt, text.trim());
        Self { system_prompt, ..self.clone() }
    }

    /// Everything before the answer. Turns of the same role are one, and the first one is a person's.
    pub fn prompt(&self, example: &Example) -> Vec<Message> {
        let mut messages = vec![Message::new("system", self.system_prompt.as_str())];
        for turn in &example.window {
            let role = if turn.role == "assistant" { "assistant" } else { "user" };
            let is_first = messages.len() == 1;
            if !(is_first && role == "assistant") {
                push(&mut messages, role, &turn.text);
            }
        }
        if let Some(context) = example.context.as_deref().map(str::trim).filter(|context| !context.is_empty())
        {
            push(&mut messages, "user", &format!("Context:\n{context}"));
        }
        push(&mut messages, "user", &self.said(&example.request));
        messages
    }

    /// The answer that is to be learned, if there is one.
    pub fn answer(&self, example: &Example) -> Option<Message> {
        let text = example.chosen.as_deref().map(|chosen| answer_text(example, chosen));
        if text.is_none() && example.calls.is_empty() {
            return None;
        }
        let content = text.unwrap_or_default();
        Some(Message { role: "assistant", content, calls: example.calls.clone() })
    }

    /// The answer that is to be unlearned, if there is one.
    pub fn rejected_answer(&self, example: &Example) -> Option<Message> {
        let rejected = example.rejected.as_deref()?;
        Some(Message::new("assistant", answer_text(example, rejected)))
    }
}

/// A request without what was said again: what a form has repeated comes back as it was.
pub fn said_once(request: &str) -> &str {
    let first = |times: usize| {
        let once = request.get(..(request.len() + BETWEEN.len()) / times)?.strip_suffix(BETWEEN)?;
        (!once.is_empty() && vec![once; times].join(BETWEEN) == request).then_some(once)
    };
    (2..=usize::from(MOST_READINGS)).find_map(first).unwrap_or(request)
}

/// Why a text cannot be said within a turn.
pub fn check_said(text: &str) -> Result<(), String> {
    if let Some(marker) = MARKERS.iter().find(|marker| text.contains(**marker)) {
        return Err(format!("a text carries `{marker}`, a marker of a chat template"));
    }
    if let Some(control) = text.chars().find(|character| is_forbidden(*character)) {
        return Err(format!("a text carries the control character {}", control.escape_unicode()));
    }
    Ok(())
}

/// Why an example does not fit into any dataset's one form.
pub fn check_form(example: &Example) -> Result<(), String> {
    let turns = example.window.iter().map(|turn| turn.text.as_str());
    let answers = [&example.context, &example.chosen, &example.rejected];
    let texts =
        answers.into_iter().flatten().map(String::as_str).chain(turns).chain([example.request.as_str()]);
    for text in texts {
        check_said(text)?;
    }
    if let Some(turn) = example.window.iter().find(|turn| !matches!(turn.role.as_str(), "user" | "assistant"))
    {
        return Err(format!("a turn has the role `{}`; only `user` and `assistant` fit", turn.role));
    }
    if example.request.trim().is_empty() {
        return Err("nothing is asked".to_owned());
    }
    if example.chosen.is_none() && example.calls.is_empty() && example.rejected.is_none() {
        return Err("there is neither an answer nor a wrong one".to_owned());
    }
    if !(example.weight.total().is_finite() && (0.0..=100.0).contains(&example.weight.total())) {
        return Err("the weight is not a number from 0 to 100".to_owned());
    }
    Ok(())
}

/// Whether a system prompt can begin every example.
pub fn check_system_prompt(text: &str) -> Result<(), String> {
    if text.trim().is_empty() || text.len() > MAX_SYSTEM_PROMPT_BYTES {
        return Err(format!("a system prompt has 1 to {MAX_SYSTEM_PROMPT_BYTES} bytes"));
    }
    if MARKERS.iter().any(|marker| text.contains(marker)) || text.contains(is_forbidden) {
        return Err("the system prompt carries markers of a chat template or control characters".to_owned());
    }
    Ok(())
}

/// Characters that no text to learn from has: they command terminals and break lines that others read.
pub fn is_forbidden(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

/// Turns laid out as ChatML. Nothing in them can be a marker, or `check_form` would have refused it.
pub fn chatml(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        text.push_str(&format!("<|im_start|>{}\n{}<|im_end|>\n", message.role, chatml_content(message)));
    }
    text
}

/// What ChatML says before an answer.
pub const CHATML_ANSWER: &str = "<|im_start|>assistant\n";

/// An answer behind [`CHATML_ANSWER`].
pub fn chatml_answer(message: &Message) -> String {
    format!("{}<|im_end|>\n", chatml_content(message))
}

/// Calls stand in the text as the models that speak ChatML write them.
fn chatml_content(message: &Message) -> String {
    let mut content = message.content.clone();
    for call in &message.calls {
        if !content.is_empty() {
            content.push('\n');
        }
        let call = json!({"name": call.tool, "arguments": call.arguments});
        content.push_str(&format!("<tool_call>\n{call}\n</tool_call>"));
    }
    content
}

/// Roughly how many tokens a text is: a token for every four bytes begun.
pub fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

fn push(messages: &mut Vec<Message>, role: &'static str, text: &str) {
    match messages.last_mut().filter(|last| last.role == role) {
        Some(last) => {
            last.content.push_str("\n\n");
            last.content.push_str(text);
        }
        None => messages.push(Message::new(role, text)),
    }
}

/// Code goes into one fence, longer than any it holds: so it is found again in an answer. Words stay words.
fn answer_text(example: &Example, text: &str) -> String {
    let is_of_a_file = example.artifact.is_some() || example.path.is_some();
    let has_fence = text.lines().any(|line| line.trim_start().starts_with("```"));
    let is_code = if is_of_a_file { !has_fence || parses(text) } else { !has_fence && is_program(text) };
    if is_code { fenced(text) } else { text.to_owned() }
}

fn fenced(code: &str) -> String {
    let longest = code.lines().map(|line| {
        let line = line.trim_start();
        line.len() - line.trim_start_matches('`').len()
    });
    let mark = "`".repeat(longest.max().unwrap_or_default().max(2) + 1);
    format!("{mark}python\n{}\n{mark}", code.trim_end_matches('\n'))
}

fn parses(text: &str) -> bool {
    parse_module(Source::from_text(text)).is_valid()
}

/// Whether a text is Python beyond doubt: it parses, and does more than name things, as a sentence of one word does.
fn is_program(text: &str) -> bool {
    let parsed = parse_module(Source::from_text(text));
    let mut body = parsed.root().list(Field::Body);
    parsed.is_valid() && body.any(|node| node.kind() != Kind::Expr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_form_says_again_is_known_as_one_request() {
        for readings in 1..=MOST_READINGS {
            let form = ChatForm { readings, ..ChatForm::default() };
            assert_eq!(said_once(&form.said("Add a täg.\n\nNow.")), "Add a täg.\n\nNow.");
        }
        for other in ["", "\n\n", "a\n\nb", "a\n\na "] {
            assert_eq!(said_once(other), other);
        }
    }

    #[test]
    fn code_is_fenced_beyond_the_fences_it_holds() {
        assert_eq!(fenced("x = 1\n"), "```python\nx = 1\n```");
        assert_eq!(fenced("\"\"\"\n    ```\n\"\"\""), "````python\n\"\"\"\n    ```\n\"\"\"\n````");
        assert!(is_program("import os") && !is_program("perfect") && !is_program("do it now"));
    }
}
