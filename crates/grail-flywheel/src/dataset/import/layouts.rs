//! A row in somebody's layout as an example. What does not fit is refused with the reason; nothing is guessed.

use serde_json::{Map, Value as Json};

use crate::dataset::chat::{is_forbidden, said_once};
use crate::event::ToolUse;
use crate::example::{Example, ExampleType, Origin, Turn, Weight};

/// A longer text is no turn.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// More turns are no example.
const MAX_TURNS: usize = 64;
/// More turns than these before the request are not kept.
const MAX_WINDOW: usize = 5;
/// What a stranger says counts once, whatever it is about.
const STRANGERS_WEIGHT: f64 = 1.0;
/// No weight of a stranger's example is larger.
const MAX_FACTOR: f64 = 4.0;

/// What a line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLayout {
    Grail,
    /// `messages`, with or without `tools`: mlx-lm, TRL and OpenAI.
    Chat,
    Completions,
    Preferences,
    OpenaiPreferences,
    Judged,
    Chatml,
}

impl FileLayout {
    pub fn name(self) -> &'static str {
        match self {
            Self::Grail => "grail",
            Self::Chat => "messages",
            Self::Completions => "prompt, completion",
            Self::Preferences => "prompt, chosen, rejected",
            Self::OpenaiPreferences => "input, preferred_output, non_preferred_output",
            Self::Judged => "prompt, completion, label",
            Self::Chatml => "text",
        }
    }

    /// By the fields that the row has.
    pub(super) fn of(row: &Json) -> Result<Self, String> {
        let Json::Object(fields) = row else { return Err("the line is no object".to_owned()) };
        let has = |names: &[&str]| names.iter().all(|name| fields.contains_key(*name));
        let known = [
            (Self::Grail, &["type", "request", "weight", "origin"][..]),
            (Self::OpenaiPreferences, &["input", "preferred_output", "non_preferred_output"]),
            (Self::Preferences, &["prompt", "chosen", "rejected"]),
            (Self::Judged, &["prompt", "completion", "label"]),
            (Self::Completions, &["prompt", "completion"]),
            (Self::Chat, &["messages"]),
            (Self::Chatml, &["text"]),
        ];
        let layout = known.into_iter().find(|(_, names)| has(names)).map(|(layout, _)| layout);
        layout.ok_or_else(|| {
            let names: Vec<String> =
                fields.keys().take(6).map(|name| format!("`{}`", name.escape_debug())).collect();
            format!("the fields {} are no layout that is known", names.join(", "))
        })
    }
}

/// The example in a row, and how many system prompts were left out. Its name is not yet its own.
pub(super) fn example_of(layout: FileLayout, row: &Json) -> Result<(Example, usize), String> {
    let Json::Object(fields) = row else { return Err("the line is no object".to_owned()) };
    match layout {
        FileLayout::Grail => own_example(row).map(|example| (example, 0)),
        FileLayout::Chat => {
            let mut conversation = messages(&fields["messages"], "messages")?;
            let answer = conversation.take_answer()?;
            conversation.example(Some(answer), None)
        }
        FileLayout::Chatml => {
            let text = text(&fields["text"], "text")?;
            let mut conversation = chatml(&text)?;
            let answer = conversation.take_answer()?;
            conversation.example(Some(answer), None)
        }
        FileLayout::Completions => {
            let answer = answer(&fields["completion"], "completion")?;
            prompt(&fields["prompt"], "prompt")?.example(Some(answer), None)
        }
        FileLayout::Judged => {
            let answer = answer(&fields["completion"], "completion")?;
            let prompt = prompt(&fields["prompt"], "prompt")?;
            match &fields["label"] {
                Json::Bool(true) => prompt.example(Some(answer), None),
                Json::Bool(false) => prompt.example(None, Some(answer)),
                _ => Err("`label` is neither true nor false".to_owned()),
            }
        }
        FileLayout::Preferences => {
            let (chosen, rejected) =
                (answer(&fields["chosen"], "chosen")?, answer(&fields["rejected"], "rejected")?);
            prompt(&fields["prompt"], "prompt")?.example(Some(chosen), Some(rejected))
        }
        FileLayout::OpenaiPreferences => {
            let chosen = answer(&fields["preferred_output"], "preferred_output")?;
            let rejected = answer(&fields["non_preferred_output"], "non_preferred_output")?;
            let asked = fields["input"].get("messages").ok_or("`input` has no `messages`")?;
            prompt(asked, "input.messages")?.example(Some(chosen), Some(rejected))
        }
    }
}

/// Turns before an answer.
#[derive(Default)]
struct Conversation {
    turns: Vec<(String, Answer)>,
    system_prompts: usize,
}

#[derive(Clone, Default, PartialEq)]
struct Answer {
    text: String,
    calls: Vec<ToolUse>,
}

impl Conversation {
    fn take_answer(&mut self) -> Result<Answer, String> {
        match self.turns.pop() {
            Some((role, answer)) if role == "assistant" => Ok(answer),
            _ => Err("the last message is not the assistant's".to_owned()),
        }
    }

    fn example(
        mut self,
        chosen: Option<Answer>,
        rejected: Option<Answer>,
    ) -> Result<(Example, usize), String> {
        let request = match self.turns.pop() {
            Some((role, request)) if role == "user" => said_once(&request.text).to_owned(),
            _ => return Err("the message before the answer is not a user's".to_owned()),
        };
        if self.turns.iter().any(|(_, turn)| !turn.calls.is_empty()) {
            return Err("calls of tools before the answer cannot be kept".to_owned());
        }
        if rejected.as_ref().is_some_and(|rejected| !rejected.calls.is_empty()) {
            return Err("a rejected answer that is calls of tools cannot be kept".to_owned());
        }
        if chosen.is_some() && chosen == rejected {
            return Err("the chosen and the rejected answer are the same".to_owned());
        }
        let calls = chosen.as_ref().map(|chosen| chosen.calls.clone()).unwrap_or_default();
        // A stranger prefers one answer to another: that is no error against rules of ours, which a corrective example would be.
        let example_type = match &rejected {
            Some(_) => ExampleType::Negative,
            None if calls.len() > 1 => ExampleType::MultiTool,
            None => ExampleType::Positive,
        };
        let skipped = self.turns.len().saturating_sub(MAX_WINDOW);
        let window = self.turns.into_iter().skip(skipped).map(|(role, turn)| Turn { role, text: turn.text });
        let bare = |answer: Answer| Some(unfenced(&answer.text)).filter(|text| !text.trim().is_empty());
        let example = Example {
            id: String::new(),
            example_type,
            artifact: None,
            rules: Vec::new(),
            tools: calls.iter().map(|call| call.tool.clone()).collect(),
            context: None,
            window: window.collect(),
            request,
            chosen: chosen.and_then(bare),
            calls,
            rejected: rejected.and_then(bare),
            problems: Vec::new(),
            path: None,
            weight: Weight::new(STRANGERS_WEIGHT, 1.0),
            origin: Origin::default(),
        };
        Ok((example, self.system_prompts))
    }
}

/// Text is one turn of a person.
fn prompt(value: &Json, name: &str) -> Result<Conversation, String> {
    match value {
        Json::String(_) => {
            let text = text(value, name)?;
            if text.starts_with("<|im_start|>") {
                return chatml(text.trim_end().strip_suffix("<|im_start|>assistant").unwrap_or(&text));
            }
            let asked = Answer { text, calls: Vec::new() };
            Ok(Conversation { turns: vec![("user".to_owned(), asked)], system_prompts: 0 })
        }
        _ => messages(value, name),
    }
}

fn answer(value: &Json, name: &str) -> Result<Answer, String> {
    if value.is_string() {
        let text = text(value, name)?;
        let text = text.trim_end().strip_suffix("<|im_end|>").unwrap_or(&text).to_owned();
        return Ok(Answer { text, calls: Vec::new() });
    }
    let mut conversation = messages(value, name)?;
    let answer = conversation.take_answer()?;
    match conversation.turns.is_empty() && conversation.system_prompts == 0 {
        true => Ok(answer),
        false => Err(format!("`{name}` is more than one answer")),
    }
}

fn messages(value: &Json, name: &str) -> Result<Conversation, String> {
    let Json::Array(messages) = value else { return Err(format!("`{name}` is no list of messages")) };
    if messages.is_empty() || messages.len() > MAX_TURNS {
        return Err(format!("`{name}` has {} messages; 1 to {MAX_TURNS} are an example", messages.len()));
    }
    let mut conversation = Conversation::default();
    for (number, message) in messages.iter().enumerate() {
        let place = format!("{name}[{number}]");
        let Json::Object(fields) = message else { return Err(format!("`{place}` is no object")) };
        let role =
            fields.get("role").and_then(Json::as_str).ok_or_else(|| format!("`{place}` has no role"))?;
        let content = match fields.get("content") {
            None | Some(Json::Null) => String::new(),
            Some(content) => text(content, &format!("{place}.content"))?,
        };
        let calls = calls(fields, &place)?;
        match role {
            "system" | "developer" if number == 0 => conversation.system_prompts += 1,
            "user" | "assistant" if content.trim().is_empty() && calls.is_empty() => {
                return Err(format!("`{place}` says nothing"));
            }
            "user" | "assistant" => {
                conversation.turns.push((role.to_owned(), Answer { text: content, calls }));
            }
            other => return Err(format!("`{place}` is of `{}`, which cannot be kept", other.escape_debug())),
        }
    }
    Ok(conversation)
}

fn calls(message: &Map<String, Json>, place: &str) -> Result<Vec<ToolUse>, String> {
    let Some(Json::Array(calls)) = message.get("tool_calls") else { return Ok(Vec::new()) };
    if calls.len() > MAX_TURNS {
        return Err(format!("`{place}` has more than {MAX_TURNS} calls"));
    }
    let call = |call: &Json| {
        let function = call.get("function").unwrap_or(call);
        let name = function
            .get("name")
            .and_then(Json::as_str)
            .ok_or_else(|| format!("a call of `{place}` has no name"))?;
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(format!("a call of `{place}` has a name that no tool has"));
        }
        let arguments = match function.get("arguments") {
            Some(Json::String(text)) => serde_json::from_str(text).unwrap_or(Json::Null),
            Some(other) => other.clone(),
            None => Json::Object(Map::new()),
        };
        let is_clean = !arguments.to_string().contains("\\u00");
        match arguments.is_object() && is_clean {
            true => Ok(ToolUse { tool: name.to_owned(), arguments }),
            false => Err(format!("the arguments of `{name}` in `{place}` are no plain object")),
        }
    };
    calls.iter().map(call).collect()
}

/// Turns between the markers of ChatML, and nothing beside them.
fn chatml(text: &str) -> Result<Conversation, String> {
    let mut conversation = Conversation::default();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let turn = rest
            .strip_prefix("<|im_start|>")
            .ok_or("`text` is not in ChatML: turns stand between `<|im_start|>` and `<|im_end|>`")?;
        let (turn, after) = turn.split_once("<|im_end|>").ok_or("a turn of ChatML does not end")?;
        let (role, said) = turn.split_once('\n').ok_or("a turn of ChatML has no role")?;
        let is_first = conversation.turns.is_empty() && conversation.system_prompts == 0;
        match role.trim() {
            "system" if is_first => conversation.system_prompts += 1,
            role @ ("user" | "assistant") => {
                if conversation.turns.len() == MAX_TURNS {
                    return Err(format!("`text` has more than {MAX_TURNS} turns"));
                }
                let turn = Answer { text: said.to_owned(), calls: Vec::new() };
                conversation.turns.push((role.to_owned(), turn));
            }
            other => return Err(format!("a turn is of `{}`, which cannot be kept", other.escape_debug())),
        }
        rest = after.trim_start();
    }
    Ok(conversation)
}

/// An example that a Grail wrote. Weights are held to what a Grail would give, and nothing of another project's sessions is believed.
fn own_example(row: &Json) -> Result<Example, String> {
    let mut example: Example = serde_json::from_value(row.clone())
        .map_err(|error| format!("the example cannot be read: {error}"))?;
    let texts = [&example.context, &example.chosen, &example.rejected, &example.path, &example.artifact];
    let names = example.rules.iter().chain(&example.tools);
    let said = example.problems.iter().flat_map(|problem| [&problem.layer, &problem.rule, &problem.message]);
    for text in texts.into_iter().flatten().chain(names).chain(said).chain([&example.request]) {
        check_text(text, "the example")?;
    }
    if example.window.len() > MAX_WINDOW {
        return Err(format!("the example has more than {MAX_WINDOW} turns before its request"));
    }
    let is_inside = |path: &String| {
        let parts = path.split(['/', '\\']);
        !path.is_empty() && parts.clone().all(|part| !matches!(part, "" | "." | "..")) && !path.contains(':')
    };
    // A path that leads out of a project is nobody's path here.
    example.path = example.path.filter(is_inside);
    let factor = |factor: f64| if factor.is_finite() { factor.clamp(0.0, MAX_FACTOR) } else { 1.0 };
    example.weight = Weight::new(example.example_type.base_weight(), factor(example.weight.outcome));
    let source = example.origin.source.chars().filter(|character| !character.is_control()).take(80).collect();
    let licence = example.origin.licence.filter(|licence| super::check_licence(licence).is_ok());
    example.origin = Origin { source, licence, ..Origin::default() };
    Ok(example)
}

fn text(value: &Json, place: &str) -> Result<String, String> {
    let text = match value {
        Json::String(text) => text.clone(),
        // Parts of a message, as OpenAI's newer layout has them.
        Json::Array(parts) => {
            let part = |part: &Json| match (part.get("type").and_then(Json::as_str), part.get("text")) {
                (Some("text"), Some(Json::String(text))) => Ok(text.clone()),
                _ => Err(format!("`{place}` holds something that is no text")),
            };
            parts.iter().map(part).collect::<Result<Vec<String>, String>>()?.join("\n")
        }
        _ => return Err(format!("`{place}` is no text")),
    };
    let text = text.replace("\r\n", "\n");
    check_text(&text, place)?;
    Ok(text)
}

fn check_text(text: &str, place: &str) -> Result<(), String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("`{place}` is longer than {MAX_TEXT_BYTES} bytes"));
    }
    match text.chars().find(|character| is_forbidden(*character)) {
        Some(control) => Err(format!("`{place}` holds the control character {}", control.escape_unicode())),
        None => Ok(()),
    }
}

/// Code is kept bare: an answer that is one block of Python and nothing else is that code.
fn unfenced(answer: &str) -> String {
    let text = answer.trim();
    let mark: String = text.chars().take_while(|character| *character == '`').collect();
    let inside = (mark.len() >= 3).then(|| text.strip_prefix(&mark)?.strip_suffix(&mark)).flatten();
    let Some((language, code)) = inside.and_then(|inside| inside.split_once('\n')) else {
        return answer.to_owned();
    };
    let is_one_block = matches!(language.trim(), "python" | "py" | "") && code.ends_with('\n');
    match is_one_block && !code.lines().any(|line| line.trim() == mark) {
        true => code.to_owned(),
        false => answer.to_owned(),
    }
}
