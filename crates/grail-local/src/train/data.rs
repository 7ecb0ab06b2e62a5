//! Examples and pairs from files to tokens. The prompt of an example is what the model's own chat template makes of all messages but the
//! last, just as it is asked later; the answer is what the template adds for the last.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::sequences::Sample;
use super::unusable;
use crate::chat::{ChatMessage, ChatTemplate};
use crate::tokenizer::Tokenizer;
use crate::{LocalError, Result};

/// Fewer than this teach nothing but themselves.
pub const FEWEST: usize = 8;

/// A blank line.
const PARAGRAPH_END: &str = "\n\n";

/// Something to learn from, and how much it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted<T> {
    pub item: T,
    pub weight: f32,
}

/// Two answers to one prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub chosen: Sample,
    pub rejected: Sample,
}

/// What a file came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded<T> {
    pub items: Vec<Weighted<T>>,
    /// Rows with more tokens than allowed.
    pub too_long: usize,
    /// Rows that count nothing.
    pub weightless: usize,
}

/// Turns conversations into tokens.
#[derive(Debug)]
pub struct Encoder {
    pub template: ChatTemplate,
    pub tokenizer: Tokenizer,
    pub max_tokens: usize,
}

#[derive(Deserialize)]
struct ExampleRow {
    messages: Vec<ChatMessage>,
    #[serde(default = "one")]
    weight: f32,
}

#[derive(Deserialize)]
struct PairRow {
    prompt: Vec<ChatMessage>,
    chosen: String,
    rejected: String,
    #[serde(default = "one")]
    weight: f32,
}

fn one() -> f32 {
    1.0
}

impl Encoder {
    pub fn examples(&self, file: &Path) -> Result<Loaded<Sample>> {
        load(file, "messages", |row: ExampleRow| {
            let Some((answer, prompt)) = row.messages.split_last() else {
                return Err("it has no messages".to_owned());
            };
            Ok((self.sample(prompt, answer)?, row.weight))
        })
    }

    pub fn pairs(&self, file: &Path) -> Result<Loaded<Pair>> {
        load(file, "prompt", |row: PairRow| {
            if row.chosen == row.rejected {
                return Err("the chosen and the rejected answer are the same".to_owned());
            }
            let answer = |text: &str| self.sample(&row.prompt, &ChatMessage::new("assistant", text));
            let pair = match (answer(&row.chosen)?, answer(&row.rejected)?) {
                (Some(chosen), Some(rejected)) => Some(Pair { chosen, rejected }),
                _ => None,
            };
            Ok((pair, row.weight))
        })
    }

    /// The tokens of one conversation; `None` if there are too many.
    fn sample(
        &self,
        prompt: &[ChatMessage],
        answer: &ChatMessage,
    ) -> std::result::Result<Option<Sample>, String> {
        if answer.role != "assistant" {
            return Err(format!(
                "its last message is by `{}`, and only answers of the `assistant` are learned",
                answer.role
            ));
        }
        if prompt.is_empty() {
            return Err("there is no message before the answer".to_owned());
        }
        let whole = [prompt, std::slice::from_ref(answer)].concat();
        let before = self.template.render(prompt, true).map_err(|error| error.to_string())?;
        let whole = self.template.render(&whole, false).map_err(|error| error.to_string())?;
        let Some(rest) = whole.strip_prefix(&before) else {
            return Err("the chat template writes the prompt differently once it is answered, so the answer has no clear beginning".to_owned());
        };
        let mut tokens = self.tokenizer.encode_prompt(&before).map_err(|error| error.to_string())?;
        let start = tokens.len();
        // Separately, because in use the answer also begins after the tokens of the prompt.
        let encode = |text: &str| self.tokenizer.encode(text).map_err(|error| error.to_string());
        tokens.extend(encode(rest)?);
        // Templates add a line break after the end, where nobody asks the model any more.
        if let Some(end) =
            tokens.iter().rposition(|token| self.tokenizer.is_end(*token)).filter(|end| *end >= start)
        {
            tokens.truncate(end + 1);
        }
        if tokens.len() == start {
            return Err("its answer is empty".to_owned());
        }
        // With one token more, which says that it ends.
        let opening_end = match rest.split_once(PARAGRAPH_END) {
            Some((opening, _)) => (start + encode(opening)?.len() + 1).min(tokens.len()),
            None => tokens.len(),
        };
        Ok((tokens.len() <= self.max_tokens).then_some(Sample { tokens, answer: start, opening_end }))
    }
}

fn load<Row: for<'de> Deserialize<'de>, T>(
    file: &Path,
    expected: &str,
    encode: impl Fn(Row) -> std::result::Result<(Option<T>, f32), String>,
) -> Result<Loaded<T>> {
    let text =
        std::fs::read_to_string(file).map_err(|source| LocalError::Read { path: file.to_owned(), source })?;
    let mut loaded = Loaded { items: vec![], too_long: 0, weightless: 0 };
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |reason: String| unusable(format!("line {} of `{}`", index + 1, file.display()), reason);
        let value: Value =
            serde_json::from_str(line).map_err(|error| wrong(format!("it is no JSON: {error}")))?;
        if value.get(expected).is_none() {
            return Err(wrong(describe_format(&value, expected)));
        }
        let row = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        let (item, weight) = encode(row).map_err(wrong)?;
        if !(weight.is_finite() && weight >= 0.0) {
            return Err(wrong(format!("its weight is {weight}")));
        }
        match item {
            _ if weight == 0.0 => loaded.weightless += 1,
            None => loaded.too_long += 1,
            Some(item) => loaded.items.push(Weighted { item, weight }),
        }
    }
    Ok(loaded)
}

fn describe_format(value: &Value, expected: &str) -> String {
    let Some(fields) = value.as_object() else {
        return format!("it is no object with `{expected}`");
    };
    let fields: Vec<_> = fields.keys().map(|field| format!("`{field}`")).collect();
    format!("it has no `{expected}` but {}; all rows of the file must be of one format", fields.join(", "))
}

impl<T> Loaded<T> {
    /// Refuses a file with too little in it.
    pub(super) fn enough(self, what: &str, file: &Path, max_tokens: usize) -> Result<Loaded<T>> {
        if self.items.len() >= FEWEST {
            return Ok(self);
        }
        let mut reason = format!("{} {what} are left, and at least {FEWEST} are needed", self.items.len());
        if self.too_long > 0 {
            reason += &format!(
                "; {} were left out because they have more than `max_tokens` ({max_tokens}) tokens",
                self.too_long
            );
        }
        if self.weightless > 0 {
            reason += &format!("; {} were left out because their weight is 0", self.weightless);
        }
        Err(unusable(format!("`{}`", file.display()), reason))
    }
}
