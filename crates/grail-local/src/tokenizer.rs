//! Text to tokens and back, by `tokenizer.json` or by what a GGUF file says about its vocabulary.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, SplitDelimiterBehavior, Tokenizer as Inner};

use crate::weights::Weights;
use crate::weights::gguf::{Header, Value};
use crate::{LocalError, Result};

/// Tokens that end an answer in the models of this family, whatever the metadata says.
const ENDS: [&str; 5] = ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "</s>"];

/// Kinds of tokens in a GGUF file.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;

#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: Inner,
    /// Tokens that end an answer.
    ends: BTreeSet<u32>,
    bos: Option<u32>,
    special: BTreeSet<u32>,
    vocab: usize,
}

impl Tokenizer {
    /// The tokenizer that belongs to the weights.
    pub fn of(weights: &Weights) -> Result<Self> {
        let vocab = weights.config().vocab;
        let tokenizer = match weights.gguf() {
            Some(header) if is_bpe(header) => Self::from_gguf(weights.path(), header, vocab)?,
            _ => Self::from_folder(weights.folder(), vocab)?,
        };
        let largest = tokenizer.inner.get_vocab(true).into_values().max().unwrap_or(0) as usize;
        if largest >= vocab {
            let reason = format!("it knows a token {largest}, and the model has {vocab}");
            return Err(LocalError::Tokenizer { path: weights.path().to_owned(), reason });
        }
        Ok(tokenizer)
    }

    fn from_folder(folder: &Path, vocab: usize) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        let failed = |reason: String| LocalError::Tokenizer { path: path.clone(), reason };
        let text = fs::read(&path).map_err(|error| failed(error.to_string()))?;
        let inner = Inner::from_bytes(text).map_err(|error| failed(error.to_string()))?;
        let mut ends = BTreeSet::new();
        let mut bos = None;
        for name in ["generation_config.json", "config.json"] {
            let config: serde_json::Value = fs::read(folder.join(name))
                .ok()
                .and_then(|text| serde_json::from_slice(&text).ok())
                .unwrap_or_default();
            let identifiers = |value: &serde_json::Value| -> Vec<u32> {
                let one = value.as_u64().into_iter();
                let many = value.as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64);
                one.chain(many).filter_map(|id| u32::try_from(id).ok()).collect()
            };
            ends.extend(identifiers(&config["eos_token_id"]));
            bos = bos.or(identifiers(&config["bos_token_id"]).first().copied());
        }
        // A beginning is only added where the tokenizer's own rules would.
        let adds_bos =
            inner.encode_fast("a", true).is_ok_and(|encoding| encoding.get_ids().first() == bos.as_ref());
        Ok(Self::finish(inner, ends, bos.filter(|_| adds_bos), vocab))
    }

    fn from_gguf(path: &Path, header: &Header, vocab: usize) -> Result<Self> {
        let failed = |reason: String| LocalError::Tokenizer { path: path.to_owned(), reason };
        let texts = |key: &str| -> Option<Vec<&str>> {
            header
                .array(key)?
                .iter()
                .map(|value| match value {
                    Value::Text(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect()
        };
        let tokens = texts("tokenizer.ggml.tokens").ok_or_else(|| failed("it lists no tokens".to_owned()))?;
        let merges = texts("tokenizer.ggml.merges").ok_or_else(|| failed("it lists no merges".to_owned()))?;
        let kinds = header.array("tokenizer.ggml.token_type").unwrap_or_default();
        let pairs: Option<Vec<(String, String)>> = merges
            .iter()
            .map(|merge| merge.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned())))
            .collect();
        let pairs = pairs.ok_or_else(|| failed("one of its merges is not a pair".to_owned()))?;
        let numbered: Vec<(String, u32)> =
            tokens.iter().zip(0..).map(|(token, index)| ((*token).to_owned(), index)).collect();
        let style = header.text("tokenizer.ggml.pre").unwrap_or("default");
        let parts = pre_tokenizer(style).map_err(&failed)?;
        let model = BPE::builder()
            .vocab_and_merges(numbered.into_iter().collect::<Vocab>(), pairs)
            .ignore_merges(style == "llama-bpe")
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let mut inner = Inner::new(model);
        if style == "qwen2" {
            inner.with_normalizer(Some(NFC)).map_err(|error| failed(error.to_string()))?;
        }
        inner.with_pre_tokenizer(Some(Sequence::new(parts)));
        inner.with_decoder(Some(ByteLevel::default()));
        let of_kind = |wanted: i64, special: bool| {
            let is_wanted = move |(_, kind): &(&&str, &Value)| **kind == Value::Integer(wanted);
            let chosen = tokens.iter().zip(kinds).filter(is_wanted);
            chosen
                .map(move |(token, _)| AddedToken::from((*token).to_owned(), special).normalized(false))
                .collect::<Vec<_>>()
        };
        inner.add_special_tokens(of_kind(CONTROL, true)).map_err(|error| failed(error.to_string()))?;
        inner.add_tokens(of_kind(USER_DEFINED, false)).map_err(|error| failed(error.to_string()))?;
        let identifier = |key: &str| header.integer(key).and_then(|id| u32::try_from(id).ok());
        let ends = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"];
        let ends = ends.into_iter().filter_map(identifier).collect();
        let adds_bos = header.bool("tokenizer.ggml.add_bos_token").unwrap_or(style == "llama-bpe");
        let bos = identifier("tokenizer.ggml.bos_token_id").filter(|_| adds_bos);
        Ok(Self::finish(inner, ends, bos, vocab))
    }

    fn finish(inner: Inner, mut ends: BTreeSet<u32>, bos: Option<u32>, vocab: usize) -> Self {
        let added = inner.get_added_tokens_decoder();
        let special: BTreeSet<u32> =
            added.iter().filter(|(_, token)| token.special).map(|(id, _)| *id).collect();
        ends.extend(ENDS.iter().filter_map(|end| inner.token_to_id(end)).filter(|id| special.contains(id)));
        ends.retain(|id| (*id as usize) < vocab);
        Self { inner, ends, bos, special, vocab }
    }

    /// The tokens of a text. Names of special tokens in it become these tokens, as chat templates need it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let failed = |error: tokenizers::Error| LocalError::Encode { reason: error.to_string() };
        Ok(self.inner.encode_fast(text, false).map_err(failed)?.get_ids().to_vec())
    }

    /// The tokens of a whole prompt: with the beginning that the model expects, unless the template wrote it already.
    pub fn encode_prompt(&self, text: &str) -> Result<Vec<u32>> {
        let mut tokens = self.encode(text)?;
        if let Some(bos) = self.bos.filter(|bos| tokens.first() != Some(bos)) {
            tokens.insert(0, bos);
        }
        Ok(tokens)
    }

    /// The text of tokens, without special ones.
    pub fn decode(&self, tokens: &[u32]) -> String {
        let bytes: Vec<u8> = tokens
            .iter()
            .filter(|id| !self.special.contains(id))
            .flat_map(|id| self.token_bytes(*id))
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The bytes that a token stands for; a token may end in the middle of a character.
    pub fn token_bytes(&self, token: u32) -> Vec<u8> {
        let Some(text) = self.inner.id_to_token(token) else { return Vec::new() };
        if self.inner.get_added_vocabulary().is_special_token(&text) || self.special.contains(&token) {
            return text.into_bytes();
        }
        let mut bytes = Vec::with_capacity(text.len());
        for character in text.chars() {
            match byte_of(character) {
                Some(byte) => bytes.push(byte),
                // Not a byte-level token: an added one, in plain text.
                None => return text.into_bytes(),
            }
        }
        bytes
    }

    pub fn is_special(&self, token: u32) -> bool {
        self.special.contains(&token)
    }

    /// Whether the token ends an answer.
    pub fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }

    pub fn ends(&self) -> &BTreeSet<u32> {
        &self.ends
    }

    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The number of tokens that the model can name; the tokenizer may know fewer.
    pub fn vocab_size(&self) -> usize {
        self.vocab
    }
}

fn is_bpe(header: &Header) -> bool {
    header.text("tokenizer.ggml.model") == Some("gpt2")
}

/// How text is cut before merging, by llama.cpp's name for it.
fn pre_tokenizer(style: &str) -> std::result::Result<Vec<PreTokenizerWrapper>, String> {
    let split = |pattern: &str| {
        Split::new(SplitPattern::Regex(pattern.to_owned()), SplitDelimiterBehavior::Isolated, false)
            .map_err(|error| error.to_string())
    };
    let byte_level = |use_regex| ByteLevel::new(false, false, use_regex).into();
    Ok(match style {
        "smollm" => vec![Digits::new(true).into(), byte_level(true)],
        "default" | "gpt-2" => vec![byte_level(true)],
        "qwen2" => vec![split(&WORDS.replace("NUMBER", r"\p{N}"))?.into(), byte_level(false)],
        "llama-bpe" | "llama3" | "llama-v3" => {
            vec![split(&WORDS.replace("NUMBER", r"\p{N}{1,3}"))?.into(), byte_level(false)]
        }
        other => return Err(format!("its way `{other}` of cutting text is not known")),
    })
}

/// The words of Llama 3 and Qwen 2, which differ in numbers.
const WORDS: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|NUMBER",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

/// The byte behind a character of the byte-level alphabet: printable bytes are themselves, the others follow from 256 on.
fn byte_of(character: char) -> Option<u8> {
    let code = u32::from(character);
    let is_itself = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    match code {
        0..=255 => is_itself(code).then_some(code as u8),
        256..=323 => {
            let others = (0..=255_u32).filter(|byte| !is_itself(*byte));
            others.zip(256..).find(|(_, mapped)| *mapped == code).map(|(byte, _)| byte as u8)
        }
        _ => None,
    }
}
