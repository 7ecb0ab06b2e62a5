//! Models on servers that speak the chat protocol of OpenAI.
//!
//! Nothing a server sends is believed or unbounded: sizes and times have limits, the answer must name the model that was asked, and whatever
//! goes wrong is a [`ModelError`] with something to do about it. The key goes into one header and nowhere else.

mod answer;
mod body;
mod dialect;
mod embeddings;
mod identity;
mod probe;
mod prompted;
mod request;
mod wire;

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use futures_util::{Stream, StreamExt, stream};
use reqwest::Url;
use reqwest::redirect::Policy;
use tokio::time::timeout;

use answer::{Answer, Chunk};
use dialect::Dialect;
use wire::{Call, Key, Shape, Wire};

use crate::{ChatEvent, ChatRequest, ChatStream, Model, ModelError, ServerSettings};

pub use probe::Abilities;

/// After the last word of an answer only its cost is waited for, and not for long.
const PATIENCE_FOR_USAGE: Duration = Duration::from_secs(5);

/// A model on a server.
#[derive(Clone)]
pub struct Server {
    settings: Arc<ServerSettings>,
    abilities: Abilities,
    address: Url,
    client: reqwest::Client,
    key: Option<Key>,
    dialect: Arc<Dialect>,
}

/// Makes ready to ask; nothing is sent yet. The key is read from the environment.
pub fn connect(settings: &ServerSettings) -> Result<Server, ModelError> {
    connect_with(settings, |variable| std::env::var(variable).ok())
}

/// The same, with the key from elsewhere.
pub fn connect_with(
    settings: &ServerSettings,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Server, ModelError> {
    let address = settings.address()?;
    let key =
        match &settings.key_env {
            None => None,
            Some(name) => {
                let key = variable(name).as_deref().and_then(Key::new);
                Some(key.ok_or_else(|| ModelError::NoKey {
                    model: settings.model.clone(),
                    variable: name.clone(),
                })?)
            }
        };
    install_cryptography();
    let mut client = reqwest::Client::builder()
        .user_agent(concat!("grail/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.connect_timeout)
        // A question that is sent elsewhere would take the key along, and become another kind of request.
        .redirect(Policy::none());
    if is_here(&address) {
        // A proxy of the environment is for what is far away. So is a connection that is kept for the next question: here a new one costs nothing, and
        // one that was kept may be closed at the very moment it is used.
        client = client.no_proxy().pool_max_idle_per_host(0);
    }
    let client = client.build().map_err(|error| ModelError::Settings {
        model: settings.model.clone(),
        reason: format!("no connection can be made: {error}"),
    })?;
    let settings = Arc::new(settings.clone());
    Ok(Server { settings, abilities: Abilities::default(), address, client, key, dialect: Arc::default() })
}

impl Server {
    /// The same server, with what a probe found out about it.
    pub fn with_abilities(mut self, abilities: Abilities) -> Self {
        self.abilities = abilities;
        self
    }

    pub fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// The protocol, over a wire that serves this one call.
    fn call(&self, shape: Shape) -> (Client<OpenAIConfig>, Call) {
        let call = Call::new(Arc::clone(&self.settings), self.key.clone(), shape);
        // Whatever the crate would take from the environment by itself is replaced.
        let config = OpenAIConfig::new()
            .with_api_base(self.address.as_str().trim_end_matches('/'))
            .with_api_key("")
            .with_org_id("")
            .with_project_id("");
        let wire = Wire { client: self.client.clone(), call: call.clone() };
        (Client::build(self.client.clone(), config).with_http_service(wire), call)
    }

    /// As [`Model::chat`], for whoever does not keep the server.
    pub(crate) fn into_chat<'r>(self, request: &'r ChatRequest) -> ChatStream<'r> {
        let opening = stream::once(async move { self.open(request).await });
        Box::pin(opening.flat_map(Self::reading))
    }

    fn reading(opened: Result<Reading, ModelError>) -> ChatStream<'static> {
        match opened {
            Ok(reading) => reading.events(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    async fn open(&self, request: &ChatRequest) -> Result<Reading, ModelError> {
        loop {
            let body = self.dialect.speak(request::chat_body(&self.settings, &self.abilities, request));
            let (client, call) = self.call(Shape::Stream);
            match client.chat().create_stream_byot(body).await {
                Ok(chunks) => {
                    let answer = Answer::new(call.clone());
                    return Ok(Reading { chunks, call, answer, ready: VecDeque::new(), is_over: false });
                }
                Err(error) => {
                    let error = call.explain(error);
                    // There is only so much to learn, so this ends.
                    if !self.dialect.learn(&error) {
                        return Err(error);
                    }
                }
            }
        }
    }
}

impl Model for Server {
    fn name(&self) -> &str {
        &self.settings.model
    }

    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m> {
        Box::pin(stream::once(self.open(request)).flat_map(Self::reading))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (settings, abilities) = (&self.settings, &self.abilities);
        formatter
            .debug_struct("Server")
            .field("settings", settings)
            .field("abilities", abilities)
            .finish_non_exhaustive()
    }
}

type Chunks = Pin<Box<dyn Stream<Item = Result<Chunk, OpenAIError>> + Send>>;

/// An answer that is coming.
struct Reading {
    chunks: Chunks,
    call: Call,
    answer: Answer,
    ready: VecDeque<Result<ChatEvent, ModelError>>,
    is_over: bool,
}

impl Reading {
    fn events(self) -> ChatStream<'static> {
        Box::pin(stream::unfold(self, |mut reading| async move {
            while reading.ready.is_empty() && !reading.is_over {
                reading.read_on().await;
            }
            let event = reading.ready.pop_front()?;
            Some((event, reading))
        }))
    }

    async fn read_on(&mut self) {
        let next = match self.answer.is_finished() {
            true => timeout(PATIENCE_FOR_USAGE, self.chunks.next()).await.unwrap_or(None),
            false => self.chunks.next().await,
        };
        let taken = match next {
            Some(Ok(chunk)) => self.answer.take(chunk),
            // The answer is there; how the connection ended does not matter.
            Some(Err(_)) | None if self.answer.is_finished() => return self.end(),
            Some(Err(error)) => Err(self.call.explain(error)),
            None => match self.call.problem() {
                Some(problem) => Err(problem),
                None => return self.end(),
            },
        };
        match taken {
            Ok(event) => self.ready.extend(event.map(Ok)),
            Err(error) => {
                self.is_over = true;
                self.ready.push_back(Err(error));
            }
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        match self.answer.finish() {
            Ok(events) => self.ready.extend(events.into_iter().map(Ok)),
            Err(error) => self.ready.push_back(Err(error)),
        }
    }
}

/// The TLS library must be told once which implementation of cryptography it has.
fn install_cryptography() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Somebody else may have chosen another one, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// Whether the address is of this machine.
fn is_here(address: &Url) -> bool {
    let host = address.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
