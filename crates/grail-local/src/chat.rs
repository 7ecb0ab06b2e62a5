//! Messages as the one text that a model goes on from, by the template that the model brings along.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, Value, context};
use serde::{Deserialize, Serialize};

use crate::weights::Weights;
use crate::{LocalError, Result};

/// Templates come with the weights: this bounds what one may cost.
const FUEL: u64 = 5_000_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    pub role: String,
    pub content: String,
}

impl ChatMessage {
    pub fn new(role: &str, content: &str) -> Self {
        Self { role: role.to_owned(), content: content.to_owned() }
    }
}

/// The chat template of a model.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    source: String,
    bos_token: String,
    eos_token: String,
}

impl ChatTemplate {
    pub fn new(source: &str, bos_token: &str, eos_token: &str) -> Self {
        Self { source: source.to_owned(), bos_token: bos_token.to_owned(), eos_token: eos_token.to_owned() }
    }

    /// The template in the metadata of the weights, or in the files beside them.
    pub fn of(weights: &Weights) -> Result<Self> {
        if let Some(header) = weights.gguf() {
            let token = |key: &str| {
                let index = usize::try_from(header.integer(key)?).ok()?;
                match header.array("tokenizer.ggml.tokens")?.get(index)? {
                    crate::weights::gguf::Value::Text(text) => Some(text.clone()),
                    _ => None,
                }
            };
            if let Some(source) = header.text("tokenizer.chat_template") {
                return Ok(Self {
                    source: source.to_owned(),
                    bos_token: token("tokenizer.ggml.bos_token_id").unwrap_or_default(),
                    eos_token: token("tokenizer.ggml.eos_token_id").unwrap_or_default(),
                });
            }
        }
        let folder = weights.folder();
        let config: serde_json::Value = std::fs::read(folder.join("tokenizer_config.json"))
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let source = match std::fs::read_to_string(folder.join("chat_template.jinja")) {
            Ok(source) => source,
            Err(_) => template_in(&config["chat_template"]).ok_or(LocalError::NoChatTemplate)?,
        };
        Ok(Self {
            source,
            bos_token: token_in(&config["bos_token"]),
            eos_token: token_in(&config["eos_token"]),
        })
    }

    /// The text of the messages; with `add_generation_prompt` it ends where the model's answer begins.
    pub fn render(&self, messages: &[ChatMessage], add_generation_prompt: bool) -> Result<String> {
        let failed = |error: Error| LocalError::ChatTemplate { reason: error.to_string() };
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        // As `transformers` renders them.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(failed)?);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> std::result::Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        let template = environment.template_from_str(&self.source).map_err(failed)?;
        let pairs = |message: &ChatMessage| {
            Value::from_pairs([("role", message.role.as_str()), ("content", message.content.as_str())])
        };
        let values = context! {
            messages => messages.iter().map(pairs).collect::<Vec<_>>(),
            add_generation_prompt => add_generation_prompt,
            bos_token => self.bos_token.as_str(),
            eos_token => self.eos_token.as_str(),
        };
        template.render(values).map_err(failed)
    }
}

/// One template, or several by name.
fn template_in(value: &serde_json::Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let named = value.as_array()?;
    let default = named.iter().find(|entry| entry["name"] == "default").or(named.first())?;
    default["template"].as_str().map(str::to_owned)
}

/// A token, as text or with its properties.
fn token_in(value: &serde_json::Value) -> String {
    value.as_str().or(value["content"].as_str()).unwrap_or_default().to_owned()
}
