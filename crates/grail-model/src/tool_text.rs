//! Tool calls that a model has written as text, because its server did not take them out.
//!
//! Understood are the spellings that models are trained on: JSON between `<tool_call>` tags, `<function=…>` with `<parameter=…>`, `<invoke name="…">`
//! with `<parameter name="…">`, what follows `[TOOL_CALLS]` or `<|python_tag|>`, JSON in a fence, and JSON alone. Between its tags a call may be
//! sloppy; without tags it must look exactly like a call of a tool on offer, for an answer may be JSON, too. What a model thinks aloud
//! (`<think>`) is not searched. What looks like a call and cannot be read is a problem to tell the model, never a call.

use serde_json::{Map, Value as Json};

use crate::{ToolCall, ToolDefinition};

/// More calls in one answer are not read.
pub const MAX_CALLS: usize = 64;
/// Deeper JSON is not read.
const MAX_DEPTH: usize = 100;

/// An answer with its calls taken out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Understood {
    /// What is left for people.
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// What looked like a call, each with a sentence that the model can act on.
    pub problems: Vec<String>,
}

/// Takes the tool calls out of an answer.
pub fn understand(text: &str, tools: &[ToolDefinition]) -> Understood {
    let mut reader = Reader { text, tools, found: Understood::default() };
    reader.read();
    let mut found = reader.found;
    if found.calls.is_empty() && found.problems.is_empty() {
        // Nothing but a call, without any tags.
        let calls = json_values(text.trim()).ok().and_then(|values| strict_calls(&values, tools));
        if let Some(calls) = calls {
            found.text.clear();
            add(&mut found, tools, calls);
        }
    }
    found.text = found.text.trim().to_owned();
    found
}

/// What a call's arguments mean; the text itself if that cannot be told.
pub(crate) fn arguments(text: String) -> Json {
    if text.trim().is_empty() {
        return Json::Object(Map::new());
    }
    match one_value(text.trim()) {
        // Some servers pack them twice.
        Ok(Json::String(inner)) => one_value(inner.trim()).unwrap_or(Json::String(inner)),
        Ok(value) => value,
        Err(_) => Json::String(text),
    }
}

/// Exactly one value, mended where models get it wrong most.
pub(crate) fn one_value(text: &str) -> Result<Json, String> {
    let mut values = json_values(text)?;
    match (values.pop(), values.len()) {
        (Some(value), 0) => Ok(value),
        (_, more) => Err(format!("there are {} values", more + 1)),
    }
}

/// A name, and arguments that are yet to be fitted to the tool.
type Call = (String, Json);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Think,
    ToolCall,
    Function,
    Invoke,
    Calls,
    PythonTag,
    Fence,
}

const MARKS: [(&str, Mark); 7] = [
    ("<think>", Mark::Think),
    ("<tool_call>", Mark::ToolCall),
    ("<function=", Mark::Function),
    ("<invoke name=", Mark::Invoke),
    ("[TOOL_CALLS]", Mark::Calls),
    ("<|python_tag|>", Mark::PythonTag),
    ("```", Mark::Fence),
];

struct Reader<'t> {
    text: &'t str,
    tools: &'t [ToolDefinition],
    found: Understood,
}

impl<'t> Reader<'t> {
    fn read(&mut self) {
        let mut at = 0;
        // Where each mark comes next: every mark is searched through the text once, however many there are of another.
        let mut next: [Option<usize>; MARKS.len()] = MARKS.map(|(mark, _)| self.text.find(mark));
        loop {
            for (place, (mark, _)) in next.iter_mut().zip(MARKS) {
                if place.is_some_and(|place| place < at) {
                    *place = self.text[at..].find(mark).map(|offset| at + offset);
                }
            }
            let nearest = next
                .iter()
                .zip(MARKS)
                .filter_map(|(place, mark)| Some(((*place)?, mark)))
                .min_by_key(|(place, _)| *place);
            let Some((place, (word, mark))) = nearest else { break };
            self.found.text.push_str(&self.text[at..place]);
            at = place + self.take(mark, place, place + word.len());
        }
        self.found.text.push_str(&self.text[at..]);
    }

    /// Reads what a mark announces; gives how many bytes it took.
    fn take(&mut self, mark: Mark, start: usize, inner: usize) -> usize {
        let rest = &self.text[inner..];
        let taken = |length: usize| inner - start + length;
        match mark {
            Mark::Think => {
                let end = rest.find("</think>").map_or(rest.len(), |end| end + "</think>".len());
                self.found.text.push_str(&self.text[start..inner + end]);
                taken(end)
            }
            Mark::ToolCall => {
                let (body, length) = until(rest, "</tool_call>");
                let body = body.trim();
                match body.starts_with("<function=") || body.starts_with("<invoke") {
                    true => self.tagged(body),
                    false => self.json(body, "`<tool_call>`"),
                }
                taken(length)
            }
            Mark::Function | Mark::Invoke => {
                let close = if mark == Mark::Function { "</function>" } else { "</invoke>" };
                let (_, length) = until(rest, close);
                self.tagged(&self.text[start..inner + length]);
                taken(length)
            }
            Mark::Calls | Mark::PythonTag => {
                let what = if mark == Mark::Calls { "`[TOOL_CALLS]`" } else { "`<|python_tag|>`" };
                self.json(rest.trim(), what);
                taken(rest.len())
            }
            Mark::Fence => {
                let (block, length) = until(rest, "```");
                let (language, body) = block.split_once('\n').unwrap_or(("", block));
                let is_data = matches!(language.trim(), "" | "json" | "tool_call" | "tool_calls" | "tool");
                let calls = match is_data {
                    true => {
                        json_values(body.trim()).ok().and_then(|values| strict_calls(&values, self.tools))
                    }
                    false => None,
                };
                match calls {
                    Some(calls) => self.add(calls),
                    None => self.found.text.push_str(&self.text[start..inner + length]),
                }
                taken(length)
            }
        }
    }

    /// JSON that must be calls, because its tags say so.
    fn json(&mut self, body: &str, what: &str) {
        let calls = json_values(body).and_then(|values| {
            let calls: Vec<Call> = values.iter().flat_map(calls_of).collect();
            if calls.is_empty() { Err("it names no tool".to_owned()) } else { Ok(calls) }
        });
        match calls {
            Ok(calls) => self.add(calls),
            Err(reason) => {
                let shape = "write {\"name\": \"tool\", \"arguments\": {…}}";
                self.found
                    .problems
                    .push(format!("the tool call in {what} cannot be read: {reason}; {shape}"));
            }
        }
    }

    /// `<function=name>` or `<invoke name="name">`, with its parameters in tags or its arguments in JSON.
    fn tagged(&mut self, body: &str) {
        let Some((name, rest)) = tag_name(body, &["<function=", "<invoke name="]) else {
            self.found.problems.push("a tool call in tags has no name; write <function=name>".to_owned());
            return;
        };
        let mut arguments = Map::new();
        let inner = rest.trim_end().trim_end_matches("</function>").trim_end_matches("</invoke>");
        if let Some(Ok(values)) = inner.trim().starts_with('{').then(|| json_values(inner.trim()))
            && let [Json::Object(fields)] = values.as_slice()
        {
            arguments.clone_from(fields);
        } else {
            let mut rest = inner;
            while let Some(start) = rest.find("<parameter") {
                let Some((name, after)) = tag_name(&rest[start..], &["<parameter=", "<parameter name="])
                else {
                    break;
                };
                let (value, length) = until(after, "</parameter>");
                arguments.insert(name.to_owned(), Json::String(strip_line_ends(value).to_owned()));
                rest = &after[length..];
            }
        }
        // The tags say that everything is text; what the tool wants is asked when the arguments are fitted.
        self.add(vec![(name.to_owned(), Json::Object(arguments))]);
    }

    fn add(&mut self, calls: Vec<Call>) {
        add(&mut self.found, self.tools, calls);
    }
}

fn add(found: &mut Understood, tools: &[ToolDefinition], calls: Vec<Call>) {
    for (name, arguments) in calls {
        if found.calls.len() == MAX_CALLS {
            found.problems.push(format!("only the first {MAX_CALLS} tool calls of an answer are read"));
            return;
        }
        let schema = tools.iter().find(|tool| tool.name == name).map(|tool| &tool.parameters);
        let arguments = schema.map_or(arguments.clone(), |schema| fit(arguments, schema));
        let id = format!("call-{}", found.calls.len() + 1);
        found.calls.push(ToolCall { id, name, arguments });
    }
}

/// What stands before `end`, and how many bytes that takes with it; everything if there is no end.
fn until<'t>(text: &'t str, end: &str) -> (&'t str, usize) {
    match text.find(end) {
        Some(at) => (&text[..at], at + end.len()),
        None => (text, text.len()),
    }
}

/// The name in a tag that starts in one of these ways, with or without quotes, and what follows the tag.
fn tag_name<'t>(text: &'t str, starts: &[&str]) -> Option<(&'t str, &'t str)> {
    let rest = starts.iter().find_map(|start| text.strip_prefix(start))?;
    let (name, rest) = rest.split_once('>')?;
    let name = name.trim().trim_matches(['"', '\'']);
    let is_name = !name.is_empty()
        && name.len() <= 128
        && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    is_name.then_some((name, rest))
}

/// Models put a value on lines of its own.
fn strip_line_ends(text: &str) -> &str {
    let text = text.strip_prefix("\r\n").or(text.strip_prefix('\n')).unwrap_or(text);
    text.strip_suffix("\r\n").or(text.strip_suffix('\n')).unwrap_or(text)
}

/// Calls in JSON, in any of the shapes that servers and models use.
fn calls_of(value: &Json) -> Vec<Call> {
    match value {
        Json::Array(items) => items.iter().flat_map(calls_of).collect(),
        Json::Object(fields) => {
            if let Some(inner) =
                ["function", "tool_calls", "function_call"].iter().find_map(|key| fields.get(*key))
                && !inner.is_string()
            {
                return calls_of(inner);
            }
            let name =
                ["name", "tool", "tool_name", "function"].iter().find_map(|key| fields.get(*key)?.as_str());
            let arguments = ARGUMENTS.iter().find_map(|key| fields.get(*key));
            match name {
                Some(name) => {
                    vec![(name.to_owned(), arguments.map_or_else(|| Json::Object(Map::new()), unpacked))]
                }
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

const ARGUMENTS: [&str; 4] = ["arguments", "parameters", "args", "input"];

/// Arguments are sometimes JSON within a string.
fn unpacked(arguments: &Json) -> Json {
    match arguments {
        Json::String(text) => match json_values(text.trim()).as_deref() {
            Ok([value @ Json::Object(_)]) => value.clone(),
            _ => arguments.clone(),
        },
        other => other.clone(),
    }
}

/// JSON without tags is a call only if it can be nothing else: a tool on offer, with arguments.
fn strict_calls(values: &[Json], tools: &[ToolDefinition]) -> Option<Vec<Call>> {
    let is_whole = |value: &Json| {
        let has_arguments =
            |fields: &Map<String, Json>| ARGUMENTS.iter().any(|key| fields.contains_key(*key));
        match value {
            Json::Object(fields) => {
                has_arguments(fields)
                    || fields.get("function").and_then(Json::as_object).is_some_and(has_arguments)
            }
            _ => false,
        }
    };
    let items: Vec<&Json> = values
        .iter()
        .flat_map(|value| value.as_array().map_or_else(|| vec![value], |items| items.iter().collect()))
        .collect();
    if items.is_empty() || !items.iter().all(|item| is_whole(item)) {
        return None;
    }
    let calls: Vec<Call> = items.into_iter().flat_map(calls_of).collect();
    let is_known = |(name, _): &Call| tools.iter().any(|tool| tool.name == *name);
    (!calls.is_empty() && calls.iter().all(is_known)).then_some(calls)
}

/// Values that came as text become what the tool's schema wants, where they can.
fn fit(arguments: Json, schema: &Json) -> Json {
    let Json::Object(fields) = arguments else { return arguments };
    let fitted = fields.into_iter().map(|(name, value)| {
        let kinds = schema.pointer(&format!("/properties/{}", name.replace('~', "~0").replace('/', "~1")));
        let kind = kinds.and_then(|property| property.get("type"));
        let wants = |wanted: &str| match kind {
            Some(Json::String(kind)) => kind == wanted,
            Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
            _ => false,
        };
        let value = match value {
            Json::String(text) if kind.is_some() && !wants("string") => {
                match json_values(text.trim()).as_deref() {
                    Ok([value]) => value.clone(),
                    _ => Json::String(text),
                }
            }
            value => value,
        };
        (name, value)
    });
    Json::Object(fitted.collect())
}

/// One value or several one after the other. What models get wrong most is mended: Python's spelling of constants, commas before a closing
/// bracket, line ends within strings, single quotes.
fn json_values(text: &str) -> Result<Vec<Json>, String> {
    if text.is_empty() {
        return Err("there is nothing".to_owned());
    }
    if depth(text) > MAX_DEPTH {
        return Err(format!("it nests deeper than {MAX_DEPTH} levels"));
    }
    let parse =
        |text: &str| serde_json::Deserializer::from_str(text).into_iter().collect::<Result<Vec<Json>, _>>();
    parse(text).or_else(|error| parse(&mended(text)).map_err(|_| error.to_string()))
}

fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn mended(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut characters = text.char_indices().peekable();
    let mut quote = None;
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                let escaped = characters.next().map(|(_, escaped)| escaped);
                match escaped {
                    // JSON knows no such escape.
                    Some('\'') => output.push('\''),
                    Some(escaped) => output.extend(['\\', escaped]),
                    None => output.push('\\'),
                }
            }
            (Some(open), character) if character == open => {
                quote = None;
                output.push('"');
            }
            (Some('\''), '"') => output.push_str("\\\""),
            (Some(_), '\n') => output.push_str("\\n"),
            (Some(_), '\r') => output.push_str("\\r"),
            (Some(_), '\t') => output.push_str("\\t"),
            (Some(_), other) => output.push(other),
            (None, '"' | '\'') => {
                quote = Some(character);
                output.push('"');
            }
            (None, ',') => {
                let next = text[at + 1..].trim_start().chars().next();
                if !matches!(next, Some('}' | ']') | None) {
                    output.push(',');
                }
            }
            (None, character) if character.is_alphabetic() => {
                let length =
                    text[at..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len() - at);
                let word = &text[at..at + length];
                output.push_str(match word {
                    "True" => "true",
                    "False" => "false",
                    "None" => "null",
                    word => word,
                });
                while characters.next_if(|(next, _)| *next < at + length).is_some() {}
            }
            (None, other) => output.push(other),
        }
    }
    output
}
