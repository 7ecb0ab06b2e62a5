//! The OpenAI-compatible protocol on loopback: chat completions, whole or streamed, and the list of the one model there is.
//!
//! Nothing is answered without the token. Bodies, connections and waiting requests are bounded; a client that hangs up cancels its request.

mod protocol;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::stream;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Semaphore, oneshot};

use crate::engine::{EndReason, Event, Generation};
use crate::loading::Loaded;
use crate::{LocalError, Result};
use protocol::ChatBody;

/// Larger requests are refused.
const MAX_BODY: usize = 8 << 20;
/// Within this time a request must have arrived.
const ARRIVAL: Duration = Duration::from_secs(30);
/// More clients wait to be accepted.
const MAX_CONNECTIONS: usize = 512;
/// So often a stream says that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Who serves, under which name.
pub struct Service {
    pub loaded: Loaded,
    pub name: String,
    token: [u8; 32],
    started: u64,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

impl Service {
    pub fn new(loaded: Loaded, name: &str, token: &str) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { loaded, name: name.to_owned(), token: Sha256::digest(token.as_bytes()).into(), started }
    }

    /// Answers until `stop` is told or dropped.
    pub async fn run(self, listener: TcpListener, mut stop: oneshot::Receiver<()>) {
        let service = Arc::new(self);
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
            let accepted = tokio::select! {
                _ = &mut stop => return,
                accepted = listener.accept() => accepted,
            };
            // A client that went away while it was accepted is no reason to stop.
            let Ok((socket, _)) = accepted else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let service = Arc::clone(&service);
            tokio::spawn(async move {
                let answer = service_fn(move |request| {
                    let service = Arc::clone(&service);
                    async move { Ok::<_, Infallible>(service.answer(request).await) }
                });
                let mut builder = hyper::server::conn::http1::Builder::new();
                builder.timer(TokioTimer::new()).header_read_timeout(ARRIVAL);
                let _ = builder.serve_connection(TokioIo::new(socket), answer).await;
                drop(permit);
            });
        }
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        if !self.knows(&request) {
            let mut response = failure(StatusCode::UNAUTHORIZED, "a request needs the token of this server");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
            return response;
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/v1/models") => whole(StatusCode::OK, &self.models()),
            (&Method::POST, "/v1/chat/completions") => self.chat(request).await,
            (_, "/v1/models" | "/v1/chat/completions") => {
                failure(StatusCode::METHOD_NOT_ALLOWED, "this address takes another method")
            }
            _ => failure(StatusCode::NOT_FOUND, "there is nothing at this address"),
        }
    }

    /// Compares digests, so that the time it takes says nothing about the token.
    fn knows(&self, request: &Request<Incoming>) -> bool {
        let value = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = value.and_then(|value| value.strip_prefix("Bearer ")) else { return false };
        let digest: [u8; 32] = Sha256::digest(token.trim().as_bytes()).into();
        digest.iter().zip(self.token).fold(0, |different, (a, b)| different | (a ^ b)) == 0
    }

    fn models(&self) -> Value {
        json!({
            "object": "list",
            "data": [{
                "id": self.name,
                "object": "model",
                "created": self.started,
                "owned_by": "grail-local",
                "identity": self.loaded.identity,
                "parameters": self.loaded.parameters,
                "context": self.loaded.context,
            }],
        })
    }

    async fn chat(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let body = Limited::new(request.into_body(), MAX_BODY).collect();
        let body = match tokio::time::timeout(ARRIVAL, body).await {
            Err(_) => return failure(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time"),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return failure(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
            }
            Ok(Err(_)) => return failure(StatusCode::BAD_REQUEST, "the request broke off"),
            Ok(Ok(body)) => body.to_bytes(),
        };
        let body: ChatBody = match serde_json::from_slice(&body) {
            Ok(body) => body,
            Err(error) => {
                return failure(StatusCode::BAD_REQUEST, &format!("the request cannot be read: {error}"));
            }
        };
        if body.model.as_ref().is_some_and(|model| *model != self.name) {
            let message = format!("the model here is `{}`", self.name);
            return failure(StatusCode::NOT_FOUND, &message);
        }
        let (is_stream, counts) = (body.stream, body.counts_usage());
        // Templates and grammars may take a while to compile.
        let service = Arc::clone(&self);
        let prepared = tokio::task::spawn_blocking(move || service.prepare(&body)).await;
        let events =
            match prepared.unwrap_or(Err(LocalError::Stopped)).and_then(|it| self.loaded.engine.submit(it)) {
                Ok(events) => events,
                Err(error) => return refused(&error),
            };
        if is_stream { self.stream(events, counts) } else { self.whole_answer(events).await }
    }

    fn prepare(&self, body: &ChatBody) -> Result<Generation> {
        let messages = body.messages()?;
        let prompt = self.loaded.template.render(&messages, true)?;
        let prompt = self.loaded.tokenizer.encode_prompt(&prompt)?;
        let constraint = body.constraint()?;
        let constraint = constraint.map(|constraint| self.loaded.grammars.guard(&constraint)).transpose()?;
        let max_tokens = body.max_tokens.or(body.max_completion_tokens).unwrap_or(self.loaded.context);
        Ok(Generation { prompt, max_tokens, sampling: body.sampling()?, stop: body.stop()?, constraint })
    }

    async fn whole_answer(&self, mut events: UnboundedReceiver<Event>) -> Response<Body> {
        let mut text = String::new();
        while let Some(event) = events.recv().await {
            match event {
                Event::Text(more) => text.push_str(&more),
                Event::Failed(error) => return refused(&error),
                Event::End { reason, prompt_tokens, tokens } => {
                    let mut answer = self.envelope("chat.completion");
                    answer["choices"] = json!([{
                        "index": 0,
                        "message": {"role": "assistant", "content": text},
                        "finish_reason": finish_reason(reason),
                    }]);
                    answer["usage"] = usage(prompt_tokens, tokens);
                    return whole(StatusCode::OK, &answer);
                }
            }
        }
        refused(&LocalError::Stopped)
    }

    fn stream(&self, events: UnboundedReceiver<Event>, counts: bool) -> Response<Body> {
        let envelope = self.envelope("chat.completion.chunk");
        let mut first = envelope.clone();
        first["choices"] =
            json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]);
        let state = Some((events, envelope, Some(line(&first))));
        let lines = stream::unfold(state, move |state| async move {
            let (mut events, envelope, first) = state?;
            if let Some(first) = first {
                return Some((first, Some((events, envelope, None))));
            }
            let event = match tokio::time::timeout(HEARTBEAT, events.recv()).await {
                Err(_) => return Some((": still here\n\n".to_owned(), Some((events, envelope, None)))),
                Ok(event) => event.unwrap_or(Event::Failed(LocalError::Stopped)),
            };
            match event {
                Event::Text(text) => {
                    let mut chunk = envelope.clone();
                    chunk["choices"] =
                        json!([{"index": 0, "delta": {"content": text}, "finish_reason": null}]);
                    Some((line(&chunk), Some((events, envelope, None))))
                }
                Event::End { reason, prompt_tokens, tokens } => {
                    let mut chunk = envelope.clone();
                    chunk["choices"] =
                        json!([{"index": 0, "delta": {}, "finish_reason": finish_reason(reason)}]);
                    let mut lines = line(&chunk);
                    if counts {
                        let mut chunk = envelope;
                        chunk["choices"] = json!([]);
                        chunk["usage"] = usage(prompt_tokens, tokens);
                        lines.push_str(&line(&chunk));
                    }
                    lines.push_str("data: [DONE]\n\n");
                    Some((lines, None))
                }
                Event::Failed(error) => Some((line(&error_body(&message_of(&error))), None)),
            }
        });
        let frames = futures_util::StreamExt::map(lines, |text| Ok(Frame::data(Bytes::from(text))));
        let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
        response
    }

    /// What every answer says: which model, and which weights.
    fn envelope(&self, object: &str) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        json!({
            "id": format!("chatcmpl-{:x}", now.as_nanos()),
            "object": object,
            "created": now.as_secs(),
            "model": self.name,
            "system_fingerprint": self.loaded.identity,
        })
    }
}

fn finish_reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Stop => "stop",
        EndReason::Length => "length",
    }
}

fn usage(prompt_tokens: usize, tokens: usize) -> Value {
    json!({"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens})
}

fn line(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn error_body(message: &str) -> Value {
    json!({"error": {"message": message, "type": "grail_local"}})
}

fn message_of(error: &LocalError) -> String {
    match error.hint() {
        Some(hint) => format!("{error} (hint: {hint})"),
        None => error.to_string(),
    }
}

fn refused(error: &LocalError) -> Response<Body> {
    let status = match error {
        LocalError::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
        LocalError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
        LocalError::NotANumber | LocalError::Arithmetic(_) => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    };
    let mut body = error_body(&message_of(error));
    if let LocalError::PromptTooLong { .. } = error {
        // As others say it, so that clients can tell it from other refusals.
        body["error"]["code"] = json!("context_length_exceeded");
    }
    whole(status, &body)
}

fn failure(status: StatusCode, message: &str) -> Response<Body> {
    whole(status, &error_body(message))
}

fn whole(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}
