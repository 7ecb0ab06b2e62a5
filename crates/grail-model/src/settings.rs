//! What must be known to ask a model on a server. Plain data: where it is written down is for others to know.

use std::time::Duration;

use reqwest::Url;

use crate::ModelError;

/// A model on a server that speaks the chat protocol of OpenAI: Ollama, LM Studio, llama.cpp, `mlx_lm.server`, vLLM, hosted ones.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSettings {
    /// The address up to what all paths have in common, for example `http://127.0.0.1:11434/v1`.
    pub url: String,
    /// The model as the server names it.
    pub model: String,
    /// Other names under which the server may answer for this model.
    pub aliases: Vec<String>,
    /// The environment variable that holds the key. The key itself is in no settings, messages or logs.
    pub key_env: Option<String>,
    /// What every answer must carry as `system_fingerprint`, where a server is known to say which weights it has loaded.
    pub identity: Option<String>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long the server may say nothing. A slow machine thinks for long before its first word.
    pub timeout: Duration,
    /// How long a whole answer may take.
    pub total_timeout: Duration,
    /// How often a request is sent again when the server is not there, has too much to do or fails.
    pub retries: u32,
    /// The pause before the first of them; each further one is twice as long. Chance shortens a pause by up to a half.
    pub pause: Duration,
    /// For requests that name none.
    pub temperature: Option<f32>,
    /// For requests that name none.
    pub max_tokens: Option<u32>,
    pub limits: Limits,
}

/// How much a server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One response, all of it.
    pub body_bytes: usize,
    /// One line of a streamed response.
    pub line_bytes: usize,
    /// What an answer comes to: text and arguments.
    pub reply_bytes: usize,
}

impl ServerSettings {
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            aliases: Vec::new(),
            key_env: None,
            identity: None,
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(120),
            total_timeout: Duration::from_secs(30 * 60),
            retries: 2,
            pause: Duration::from_millis(500),
            temperature: None,
            max_tokens: None,
            limits: Limits::default(),
        }
    }

    /// The address, if it is one that can be asked.
    pub(crate) fn address(&self) -> Result<Url, ModelError> {
        let fail =
            |reason: &str| ModelError::Settings { model: self.model.clone(), reason: reason.to_owned() };
        if self.model.trim().is_empty() {
            return Err(fail("the model has no name"));
        }
        // The address is not repeated before it is known to hold no password.
        let url = Url::parse(self.url.trim_end_matches('/'))
            .map_err(|error| fail(&format!("`url` is no address: {error}")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fail(
                "`url` holds a user or a password; put a key into the environment and name its variable",
            ));
        }
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(fail(&format!("`{url}` does not begin with `http://` or `https://`")));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(fail(&format!("`{url}` has something after its path")));
        }
        Ok(url)
    }
}

impl Default for Limits {
    fn default() -> Self {
        // Every token of a stream comes in some 300 bytes of its own, and what a model thinks aloud comes on top.
        Self { body_bytes: 64 << 20, line_bytes: 8 << 20, reply_bytes: crate::MAX_REPLY_BYTES }
    }
}
