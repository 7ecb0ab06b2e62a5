//! Answers held to a form: a JSON Schema, a grammar, text with holes, or Python whose names exist. In every step only tokens are allowed that can
//! still lead there, and some that are allowed count for less.

mod gbnf;
mod names;
mod said;

use std::sync::Arc;

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use serde::Deserialize;
use serde_json::{Value, json};
use toktrie::{SimpleVob, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use self::names::Names;
use self::said::Said;
use crate::tokenizer::Tokenizer;
use crate::{LocalError, Result};

/// Tokens that are less probable than e to the minus this, beside the best, are so seldom drawn that nobody weighs them.
const SELDOM: f32 = 12.0;

/// What an answer is held to.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    JsonSchema(Value),
    /// In the syntax of Lark, or in llama.cpp's GBNF.
    Grammar(String),
    Template(Vec<Part>),
    /// Python may use the names that it gives, and words are preferred as this request says them.
    KnownNames {
        request: String,
    },
}

/// What holds one answer while it is written.
pub enum Guard {
    Grammar(Box<Matcher>),
    Names { names: Box<Names>, said: Said, vocabulary: TokEnv },
}

impl Guard {
    /// The tokens that may come next; `None` if all may.
    pub fn mask(&mut self) -> Result<Option<SimpleVob>> {
        match self {
            Self::Grammar(matcher) => matcher.compute_mask_or_eos().map(Some).map_err(failed),
            Self::Names { names, vocabulary, .. } => Ok(names.mask(vocabulary.tok_trie())),
        }
    }

    /// The scores with what is probably a slip counted for less; `None` if nothing near the best is. `warmth` is the temperature: the warmer, the more
    /// tokens may be drawn.
    pub fn weigh(&self, scores: &[f32], mask: Option<&SimpleVob>, warmth: f32) -> Option<Vec<f32>> {
        let Self::Names { said, vocabulary, .. } = self else { return None };
        if !said.is_under_way() {
            return None;
        }
        let is_allowed = |token: u32| mask.is_none_or(|mask| mask.is_allowed(token));
        let allowed = (0..).zip(scores).filter(|(token, _)| is_allowed(*token));
        let highest = allowed.clone().fold(f32::NEG_INFINITY, |highest, (_, score)| highest.max(*score));
        // What is farther from the best is not chosen with or without its cost.
        let least = highest - said::COST - SELDOM * warmth;
        let vocabulary = vocabulary.tok_trie();
        let slips: Vec<u32> = allowed
            .filter(|(token, score)| **score >= least && said.is_slip(vocabulary.token(*token)))
            .map(|(token, _)| token)
            .collect();
        if slips.is_empty() {
            return None;
        }
        let mut weighed = scores.to_vec();
        slips.into_iter().for_each(|token| weighed[token as usize] -= said::COST);
        Some(weighed)
    }

    /// Whether a token that is about to be taken can be.
    pub fn permits(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Grammar(_) => true,
            Self::Names { names, .. } => names.permits(bytes),
        }
    }

    /// Goes on with a token. True if the answer is at its end.
    pub fn consume(&mut self, token: u32, bytes: &[u8]) -> Result<bool> {
        match self {
            Self::Grammar(matcher) => {
                matcher.consume_token(token).map_err(failed)?;
                Ok(matcher.is_stopped())
            }
            Self::Names { names, said, .. } => {
                names.push(bytes);
                said.push(bytes);
                Ok(false)
            }
        }
    }
}

fn failed(error: impl ToString) -> LocalError {
    LocalError::Grammar { reason: error.to_string() }
}

/// A part of a template: text as it is, or a hole for the model to fill.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    Text(String),
    Regex(String),
    /// The right side of a rule in the syntax of Lark.
    Grammar(String),
    Schema(Value),
}

/// Makes guards for the vocabulary of one model.
pub struct Grammars {
    factory: ParserFactory,
    vocabulary: TokEnv,
}

impl Grammars {
    pub fn new(tokenizer: &Arc<Tokenizer>) -> Result<Self> {
        let vocabulary: TokEnv = Arc::new(Vocabulary::new(tokenizer)?);
        let mut factory = ParserFactory::new_simple(&vocabulary).map_err(failed)?;
        factory.quiet();
        Ok(Self { factory, vocabulary })
    }

    pub fn guard(&self, constraint: &Constraint) -> Result<Guard> {
        let grammar = match constraint {
            Constraint::JsonSchema(schema) => TopLevelGrammar::from_json_schema(compact(schema)?),
            Constraint::Grammar(text) if gbnf::is_gbnf(text) => {
                TopLevelGrammar::from_lark(gbnf::to_lark(text)?)
            }
            Constraint::Grammar(text) => TopLevelGrammar::from_lark(text.clone()),
            Constraint::Template(parts) => TopLevelGrammar::from_lark(template_to_lark(parts)?),
            Constraint::KnownNames { request } => {
                let vocabulary = Arc::clone(&self.vocabulary);
                return Ok(Guard::Names { names: Box::default(), said: Said::of(request), vocabulary });
            }
        };
        let parser = self.factory.create_parser(grammar).map_err(failed)?;
        let matcher = Matcher::new(Ok(parser));
        match matcher.get_error() {
            Some(error) => Err(failed(error)),
            None => Ok(Guard::Grammar(Box::new(matcher))),
        }
    }
}

/// A schema for values on one line: small models never stop where white space is free.
fn compact(schema: &Value) -> Result<Value> {
    let mut schema = match schema {
        Value::Object(_) => schema.clone(),
        Value::Bool(true) => json!({}),
        _ => return Err(LocalError::Grammar { reason: "a JSON Schema is an object".to_owned() }),
    };
    if schema.get("x-guidance").is_none() {
        schema["x-guidance"] = json!({"whitespace_flexible": false});
    }
    Ok(schema)
}

/// A template as a grammar. Where all holes are regular, the whole is one terminal, so that a hole ends where the text after it begins.
fn template_to_lark(parts: &[Part]) -> Result<String> {
    if parts.is_empty() {
        return Err(LocalError::Grammar { reason: "the template has no parts".to_owned() });
    }
    let is_regular = parts.iter().all(|part| matches!(part, Part::Text(_) | Part::Regex(_)));
    let mut whole = Vec::new();
    let mut rules = String::new();
    for (index, part) in parts.iter().enumerate() {
        whole.push(match part {
            Part::Text(text) => Value::String(text.clone()).to_string(),
            Part::Regex(regex) => between_slashes(regex),
            Part::Grammar(rule) => {
                rules.push_str(&format!("hole_{index}: {rule}\n"));
                format!("hole_{index}")
            }
            Part::Schema(schema) => {
                rules.push_str(&format!("hole_{index}: %json {}\n", compact(schema)?));
                format!("hole_{index}")
            }
        });
    }
    let whole = whole.join(" ");
    Ok(if is_regular {
        format!("start: WHOLE\nWHOLE: {whole}\n")
    } else {
        format!("start: {whole}\n{rules}")
    })
}

/// A regular expression as Lark writes it: a slash in it is escaped, unless it is already.
fn between_slashes(regex: &str) -> String {
    let mut text = "/".to_owned();
    let mut is_escaped = false;
    for character in regex.chars() {
        if character == '/' && !is_escaped {
            text.push('\\');
        }
        is_escaped = character == '\\' && !is_escaped;
        text.push(character);
    }
    text.push('/');
    text
}

/// The tokens of a model, as the grammar sees them.
struct Vocabulary {
    trie: TokTrie,
    tokenizer: Arc<Tokenizer>,
}

impl Vocabulary {
    fn new(tokenizer: &Arc<Tokenizer>) -> Result<Self> {
        let size = tokenizer.vocab_size();
        let Some(end) = tokenizer.ends().first().copied() else {
            let reason = "the model has no token that ends an answer".to_owned();
            return Err(LocalError::Grammar { reason });
        };
        let words: Vec<Vec<u8>> = (0..size as u32)
            .map(|token| {
                let mut bytes = tokenizer.token_bytes(token);
                if tokenizer.is_special(token) {
                    bytes.insert(0, TokTrie::SPECIAL_TOKEN_MARKER);
                }
                bytes
            })
            .collect();
        let info = TokRxInfo::new(size as u32, end);
        Ok(Self { trie: TokTrie::from(&info, &words), tokenizer: Arc::clone(tokenizer) })
    }
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| self.tokenizer.encode(text).unwrap_or_default())
    }
}
