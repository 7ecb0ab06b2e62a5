//! One request over HTTP: sent with the key, sent again where that may help, answered within bounds.
//!
//! The protocol crate turns whatever goes wrong below it into text. What really went wrong is therefore left in the [`Call`], as the error
//! that is told in the end; what the protocol crate says is only asked for when the call knows nothing.

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::error::{OpenAIError, StreamError};
use async_openai::middleware::HttpRequestFactory;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Body, Response};
use serde_json::Value as Json;
use tokio::time::{Instant, sleep, timeout};

use super::body::{Ending, bounded_lines, start_of_body};
use crate::{ModelError, ServerSettings};

/// A server that wants to be left alone for longer is not waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How much of what a server says about a failure is read, how much of that is told, and how long it may take.
const FAILURE_BYTES: usize = 64 << 10;
const FAILURE_CHARACTERS: usize = 300;
const FAILURE_PATIENCE: Duration = Duration::from_secs(5);

/// What must not be seen: the key of a server.
#[derive(Clone)]
pub(super) struct Key(Arc<str>);

/// How an answer is to come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Stream,
    Whole,
}

/// One request, its limits and its fate.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) settings: Arc<ServerSettings>,
    pub(super) deadline: Instant,
    shape: Shape,
    key: Option<Key>,
    problem: Arc<Mutex<Option<ModelError>>>,
    is_done: Arc<AtomicBool>,
}

/// The service below the protocol crate, for one call.
#[derive(Clone)]
pub(super) struct Wire {
    pub(super) client: reqwest::Client,
    pub(super) call: Call,
}

impl tower::Service<HttpRequestFactory> for Wire {
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let wire = self.clone();
        Box::pin(async move {
            wire.send(&factory).await.map_err(|error| OpenAIError::Boxed(Box::new(wire.call.fail(error))))
        })
    }
}

impl Wire {
    async fn send(&self, factory: &HttpRequestFactory) -> Result<Response, ModelError> {
        let settings = &self.call.settings;
        let mut pause = settings.pause;
        for attempt in 0.. {
            let mut request = factory.build().await.map_err(|error| self.call.explain(error))?;
            // What the protocol crate puts there is not ours to send.
            request.headers_mut().remove(AUTHORIZATION);
            if let Some(value) = self.call.key.as_ref().and_then(Key::header) {
                request.headers_mut().insert(AUTHORIZATION, value);
            }
            let patience = settings.timeout.min(self.call.time_left());
            let failure = match timeout(patience, self.client.execute(request)).await {
                Err(_) => return Err(self.call.late()),
                Ok(Ok(response)) if response.status().is_success() => {
                    return self.bounded(response).await;
                }
                Ok(Ok(response)) => self.refused(response).await,
                Ok(Err(error)) => self.unsent(&error),
            };
            let wanted = failure.pause.unwrap_or_else(|| with_chance(pause));
            let is_hopeless = !failure.may_pass || attempt >= settings.retries;
            if is_hopeless || wanted > LONGEST_PAUSE || wanted > self.call.time_left() {
                return Err(failure.error);
            }
            sleep(wanted).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Err(self.call.late())
    }

    /// A response that is a failure.
    async fn refused(&self, response: Response) -> Failure {
        let status = response.status().as_u16();
        let pause = wanted_pause(response.headers());
        let until = self.call.deadline.min(Instant::now() + FAILURE_PATIENCE);
        let (bytes, _) = start_of_body(response, FAILURE_BYTES, FAILURE_PATIENCE, until).await;
        let message = self.call.clean(&failure_message(&bytes));
        let message = if message.is_empty() { "it does not say why".to_owned() } else { message };
        let model = self.call.settings.model.clone();
        let error = match is_context_exceeded(&bytes) {
            true => ModelError::PromptTooLong { model, message },
            false => ModelError::Status { model, status, message },
        };
        Failure { may_pass: status == 429 || matches!(status, 500 | 502..=504 | 520..), pause, error }
    }

    /// No response at all.
    fn unsent(&self, error: &reqwest::Error) -> Failure {
        let is_kind = |kinds: &[io::ErrorKind]| {
            let mut causes = sources(error).filter_map(|source| source.downcast_ref::<io::Error>());
            causes.any(|cause| kinds.contains(&cause.kind()))
        };
        if !error.is_connect() {
            // A server that was restarted, or has closed a connection that was kept for the next request.
            let has_hung_up = is_kind(&[io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe])
                || root_cause(error) == "connection closed before message completed";
            return Failure { may_pass: has_hung_up, pause: None, error: self.call.interrupted(error) };
        }
        let refused = is_kind(&[io::ErrorKind::ConnectionRefused]);
        let reason = match refused {
            true => "the connection was refused".to_owned(),
            false if error.is_timeout() => {
                format!("no connection within {} seconds", self.call.settings.connect_timeout.as_secs())
            }
            false => self.call.clean(&root_cause(error)),
        };
        let address = self.call.settings.url.clone();
        Failure { may_pass: refused, pause: None, error: ModelError::Unreachable { address, reason } }
    }

    /// A response of which no more is read than may be.
    async fn bounded(&self, response: Response) -> Result<Response, ModelError> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim().to_lowercase();
        if kind == "text/html" {
            return Err(self
                .call
                .not_understood("it is a web page; the address of a server usually ends in `/v1`"));
        }
        let mut head = http::Response::new(());
        *head.status_mut() = response.status();
        let is_whole_stream = self.call.shape == Shape::Stream && kind == "application/json";
        let body = if is_whole_stream {
            Body::from(self.streamed(response).await?)
        } else {
            Body::wrap_stream(bounded_lines(response, self.call.clone()))
        };
        Ok(Response::from(head.map(|()| body)))
    }

    /// Some servers answer in one piece although a stream is asked for: that is a stream of one event.
    async fn streamed(&self, response: Response) -> Result<String, ModelError> {
        let limit = self.call.settings.limits.line_bytes;
        let silence = self.call.settings.timeout;
        let (bytes, ending) = start_of_body(response, limit, silence, self.call.deadline).await;
        match ending {
            Ending::Whole => {}
            Ending::TooLong => return Err(self.call.too_long(limit)),
            Ending::Late => return Err(self.call.late()),
            Ending::Broken(error) => return Err(self.call.interrupted(&error)),
        }
        let value: Json = serde_json::from_slice(&bytes)
            .map_err(|error| self.call.not_understood(&format!("it is no JSON: {error}")))?;
        self.call.is_done.store(true, Ordering::Relaxed);
        Ok(format!("data: {value}\n\ndata: [DONE]\n\n"))
    }
}

struct Failure {
    error: ModelError,
    /// Whether the same request may go through later.
    may_pass: bool,
    /// How long the server wants to be left alone.
    pause: Option<Duration>,
}

impl Call {
    pub(super) fn new(settings: Arc<ServerSettings>, key: Option<Key>, shape: Shape) -> Self {
        let deadline = Instant::now() + settings.total_timeout;
        Self { settings, deadline, shape, key, problem: Arc::default(), is_done: Arc::default() }
    }

    /// Writes down what went wrong; the first problem is the cause of the others.
    pub(super) fn fail(&self, error: ModelError) -> ModelError {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.get_or_insert(error).clone()
    }

    /// What went wrong, if the call knows.
    pub(super) fn problem(&self) -> Option<ModelError> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the server said that its answer is complete.
    pub(super) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Relaxed)
    }

    /// Told every line. The protocol crate keeps the end of a stream to itself.
    pub(super) fn hear(&self, line: &[u8]) {
        if line.starts_with(b"data:") && line[5..].trim_ascii() == b"[DONE]" {
            self.is_done.store(true, Ordering::Relaxed);
        }
    }

    /// What the protocol crate says, in our words.
    pub(super) fn explain(&self, error: OpenAIError) -> ModelError {
        if let Some(problem) = self.problem() {
            return problem;
        }
        match error {
            OpenAIError::JSONDeserialize(error, content) => {
                self.not_understood(&format!("{error} in {}", quoted(&self.clean(&content))))
            }
            OpenAIError::Reqwest(error) => self.interrupted(&error),
            OpenAIError::StreamError(error) => match *error {
                StreamError::EventStream(reason) => {
                    self.not_understood(&format!("the stream is broken: {reason}"))
                }
                StreamError::UnknownEvent(_) => self.not_understood("an event is of an unknown kind"),
            },
            OpenAIError::Boxed(error) => self.not_understood(&error.to_string()),
            other => self.not_understood(&other.to_string()),
        }
    }

    pub(super) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Nothing came in time: for too long, or since the beginning.
    pub(super) fn late(&self) -> ModelError {
        let model = self.settings.model.clone();
        match self.time_left().is_zero() {
            true => ModelError::Overdue { model, seconds: self.settings.total_timeout.as_secs() },
            false => ModelError::Timeout { model, seconds: self.settings.timeout.as_secs() },
        }
    }

    pub(super) fn too_long(&self, limit: usize) -> ModelError {
        ModelError::TooLong { model: self.settings.model.clone(), limit }
    }

    pub(super) fn interrupted(&self, error: &reqwest::Error) -> ModelError {
        let reason = self.clean(&root_cause(error));
        ModelError::Interrupted { model: self.settings.model.clone(), reason }
    }

    pub(super) fn not_understood(&self, reason: &str) -> ModelError {
        ModelError::NotUnderstood { model: self.settings.model.clone(), reason: self.clean(reason) }
    }

    /// Text of a server for a message: one line, not too long, without the key.
    pub(super) fn clean(&self, text: &str) -> String {
        let text = match &self.key {
            Some(Key(key)) => text.replace(&**key, "…"),
            None => text.to_owned(),
        };
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .collect();
        let line = words.join(" ");
        match line.char_indices().nth(FAILURE_CHARACTERS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

impl Key {
    /// Nothing if it cannot be sent.
    pub(super) fn new(key: &str) -> Option<Self> {
        let key = Self(key.trim().into());
        (!key.0.is_empty() && key.header().is_some()).then_some(key)
    }

    fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// A pause between a half and the whole, so that many who failed together do not come back together.
fn with_chance(pause: Duration) -> Duration {
    let mut bytes = [0_u8; 4];
    // Without chance the pause is still a pause.
    let _ = getrandom::fill(&mut bytes);
    let share = f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX);
    pause.mul_f64(1.0 - share / 2.0)
}

/// `Retry-After`: seconds, or a moment.
fn wanted_pause(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let moment = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    let left = moment.duration_since(jiff::Timestamp::now());
    Some(Duration::try_from(left).unwrap_or_default())
}

/// What a server says in the shapes in which servers say it.
fn failure_message(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let Ok(value) = serde_json::from_str::<Json>(&text) else { return text.into_owned() };
    ["/error/message", "/error", "/message", "/detail"]
        .iter()
        .find_map(|path| value.pointer(path)?.as_str())
        .map_or_else(|| text.clone().into_owned(), str::to_owned)
}

/// A message about an error in a stream; `error` is an object or a sentence.
pub(super) fn error_message(error: &Json) -> String {
    let message = error.get("message").unwrap_or(error);
    message.as_str().map_or_else(|| message.to_string(), str::to_owned)
}

/// Whether a server refuses because the prompt is too long, in the words of the protocol or in those of llama.cpp.
fn is_context_exceeded(body: &[u8]) -> bool {
    let body: Json = serde_json::from_slice(body).unwrap_or_default();
    let error = &body["error"];
    error["code"] == "context_length_exceeded" || error["type"] == "exceed_context_size_error"
}

fn quoted(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

fn sources<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error: &&(dyn std::error::Error + 'static)| (*error).source())
}

/// The innermost error says what happened; the outer ones only where.
fn root_cause(error: &reqwest::Error) -> String {
    match sources(error).last() {
        Some(cause) if error.source().is_some() => cause.to_string(),
        _ => error.to_string(),
    }
}
