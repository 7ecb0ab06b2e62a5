//! What can go wrong with a local model, and what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

pub type Result<T> = std::result::Result<T, LocalError>;

#[derive(Debug, Error)]
pub enum LocalError {
    #[error("`{path}` cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("`{path}` cannot be written: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("`{path}` holds no model: {reason}")]
    NoModel { path: PathBuf, reason: String },
    /// It began like a model and does not go on like one.
    #[error("`{path}` is damaged: {reason}")]
    Damaged { path: PathBuf, reason: String },
    #[error("`{path}` is a model of the architecture `{found}`")]
    Architecture { path: PathBuf, found: String },
    #[error("`{path}` cannot be used: {reason}")]
    Unsupported { path: PathBuf, reason: String },
    #[error("`{path}` has no tensor `{name}`")]
    NoTensor { path: PathBuf, name: String },
    #[error("the tokenizer of `{path}` cannot be used: {reason}")]
    Tokenizer { path: PathBuf, reason: String },
    #[error("the text cannot be turned into tokens: {reason}")]
    Encode { reason: String },
    #[error("the model has no chat template")]
    NoChatTemplate,
    #[error("the chat template of the model fails on these messages: {reason}")]
    ChatTemplate { reason: String },
    #[error("the adapter `{path}` cannot be used: {reason}")]
    Adapter { path: PathBuf, reason: String },
    #[error("the model needs about {} and {} are available", mebibytes(*.needed), mebibytes(*.available))]
    Memory { needed: u64, available: u64 },
    #[error("the prompt has {tokens} tokens, and the context holds {context}")]
    PromptTooLong { tokens: usize, context: usize },
    #[error("the model computed something that is not a number")]
    NotANumber,
    #[error("the grammar cannot be used: {reason}")]
    Grammar { reason: String },
    #[error("`{field}` {reason}")]
    Request { field: String, reason: String },
    #[error("{waiting} requests are waiting already")]
    Busy { waiting: usize },
    #[error("the model is shutting down")]
    Stopped,
    #[error("the server cannot listen on 127.0.0.1:{port}: {source}")]
    Listen { port: u16, source: io::Error },
    #[error("the environment variable `{name}` {reason}")]
    Environment { name: &'static str, reason: &'static str },
    #[error("the arithmetic failed: {0}")]
    Arithmetic(#[from] candle_core::Error),
    /// The settings or the data of a training run.
    #[error("{what} cannot be used for training: {reason}")]
    Training { what: String, reason: String },
}

impl LocalError {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoModel { .. } => {
                "give a `.gguf` file, or a folder with `config.json`, `tokenizer.json` and safetensors"
            }
            Self::Damaged { .. } => "fetch the file again; it may have been cut off",
            Self::Architecture { .. } => "the architectures `llama`, `qwen2` and `qwen3` are known",
            Self::Tokenizer { .. } => "put the `tokenizer.json` of the model beside its weights",
            Self::NoChatTemplate => {
                "use an instruction-tuned model, or put its `chat_template.jinja` beside the weights"
            }
            Self::Adapter { .. } => {
                "an adapter is a folder as `mlx_lm.lora` or PEFT writes it, trained on this very model"
            }
            Self::Memory { .. } => "use a smaller model or quantisation, or a shorter `--context`",
            Self::PromptTooLong { .. } => "shorten the prompt, or start with a longer `--context`",
            Self::NotANumber => {
                "the weights or the adapter are broken; an adapter from a diverged training does this"
            }
            Self::Busy { .. } => "ask again later",
            Self::Listen { .. } => "choose another `--port`; 0 takes a free one",
            Self::Environment { .. } => "whoever starts the server chooses a secret and puts it there",
            _ => return None,
        })
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}
