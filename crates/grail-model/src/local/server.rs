//! A model on this machine: the sibling program behind the same client as any server, started again once if it dies.
//!
//! What is asked for is a model; what answers are weights. So the hash of the weights, which the program says of itself, must be the one that is
//! expected, the same after every start, and stand in every answer.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::sync::Mutex;

use super::process::{Listener, Process, READY_TIMEOUT, Ready};
use super::program::find_local_program;
use crate::{
    Abilities, ChatEvent, ChatRequest, ChatStream, Model, ModelError, Server, ServerSettings, connect_with,
};

/// Where the program finds its token.
const TOKEN_VARIABLE: &str = "GRAIL_LOCAL_TOKEN";
/// How often in a row it may die before an answer is given up for good.
const MAX_DEATHS: usize = 2;
/// So many characters of a hash name weights.
const SHORT_HASH: usize = 16;
/// A slow machine reads a long request for a while, and others may be before it.
const SILENCE: Duration = Duration::from_secs(600);
const WHOLE_ANSWER: Duration = Duration::from_secs(3600);

/// What a local model is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalSettings {
    /// What it is called in answers and messages.
    pub name: String,
    /// A `.gguf` file, a `.safetensors` file, or a folder with those.
    pub weights: PathBuf,
    /// The folder of an adapter.
    pub adapter: Option<PathBuf>,
    /// What the weights must hash to, where that is known.
    pub sha256: Option<String>,
    /// Who must answer, weights and adapter, where that is known.
    pub identity: Option<String>,
    pub threads: Option<usize>,
    /// How many tokens a request and its answer may have together.
    pub context: Option<u32>,
    /// For requests that name none.
    pub temperature: Option<f32>,
    /// For requests that name none.
    pub max_tokens: Option<u32>,
    /// How long it may take to be ready.
    pub ready_timeout: Duration,
    /// The program, if not the one that is found.
    pub program: Option<PathBuf>,
}

impl LocalSettings {
    pub fn new(name: impl Into<String>, weights: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            weights: weights.into(),
            adapter: None,
            sha256: None,
            identity: None,
            threads: None,
            context: None,
            temperature: None,
            max_tokens: None,
            ready_timeout: READY_TIMEOUT,
            program: None,
        }
    }

    /// The arguments after `serve`, as the program takes them.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["--model".into(), self.weights.clone().into()];
        if let Some(adapter) = &self.adapter {
            arguments.extend(["--adapter".into(), adapter.clone().into()]);
        }
        arguments.extend(["--name".into(), self.name.clone().into()]);
        for (option, number) in [
            ("--threads", self.threads.map(|threads| threads.to_string())),
            ("--context", self.context.map(|context| context.to_string())),
        ] {
            arguments.extend(number.into_iter().flat_map(|number| [option.into(), number.into()]));
        }
        arguments
    }

    /// Whether the weights that are loaded are those that are meant.
    pub fn check_identity(&self, found: &str) -> Result<(), ModelError> {
        let other = |expected: &str| ModelError::OtherIdentity {
            model: self.name.clone(),
            expected: expected.to_owned(),
            found: found.to_owned(),
        };
        if let Some(expected) = self.identity.as_deref().filter(|expected| *expected != found) {
            return Err(other(expected));
        }
        let base = found.split('+').next().unwrap_or_default();
        let short = self.sha256.as_deref().map(|hash| hash.get(..SHORT_HASH).unwrap_or(hash));
        match short.filter(|expected| *expected != base) {
            Some(expected) => Err(other(expected)),
            None => Ok(()),
        }
    }
}

/// A model on this machine. It ends with the last copy of this.
#[derive(Clone)]
pub struct LocalServer {
    shared: Arc<Shared>,
}

struct Shared {
    settings: LocalSettings,
    program: PathBuf,
    listener: Listener,
    first: Ready,
    state: Mutex<State>,
}

struct State {
    running: Option<Running>,
    /// How often it died since it last answered, and how.
    deaths: usize,
    last_death: String,
}

struct Running {
    process: Process,
    server: Server,
}

impl LocalServer {
    /// Starts the program and waits until it is ready. `listener` hears what it says meanwhile.
    pub async fn start(
        settings: LocalSettings,
        listener: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, ModelError> {
        let program = match &settings.program {
            Some(program) => program.clone(),
            None => find_local_program()?,
        };
        let listener: Listener = Arc::new(listener);
        let running = Running::start(&settings, &program, &listener, None).await?;
        let first = running.process.ready.clone();
        let state = State { running: Some(running), deaths: 0, last_death: String::new() };
        let shared = Shared { settings, program, listener, first, state: Mutex::new(state) };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What it said of itself when it was first ready.
    pub fn ready(&self) -> &Ready {
        &self.shared.first
    }

    /// The hashes of weights and adapter.
    pub fn identity(&self) -> &str {
        &self.shared.first.identity
    }

    pub fn settings(&self) -> &LocalSettings {
        &self.shared.settings
    }

    /// A client of the process, which is started again if it has died once.
    async fn server(&self) -> Result<Server, ModelError> {
        let shared = &*self.shared;
        let mut state = shared.state.lock().await;
        if let Some(running) = &mut state.running {
            match running.process.ended() {
                None => return Ok(running.server.clone()),
                Some(reason) => state.bury(reason),
            }
        }
        if state.deaths >= MAX_DEATHS {
            return Err(shared.died(&state.last_death));
        }
        let running =
            Running::start(&shared.settings, &shared.program, &shared.listener, Some(&shared.first.identity));
        match running.await {
            Ok(running) => Ok(state.running.insert(running).server.clone()),
            Err(error) => {
                state.deaths += 1;
                Err(error)
            }
        }
    }

    /// What really went wrong: a broken connection is only how a death is noticed.
    async fn explain(&self, error: ModelError) -> ModelError {
        if !matches!(error, ModelError::Interrupted { .. } | ModelError::Unreachable { .. }) {
            return error;
        }
        let mut state = self.shared.state.lock().await;
        let ended = match &mut state.running {
            Some(running) => running.process.ended_soon().await,
            // Another request has found out.
            None => return self.shared.died(&state.last_death),
        };
        match ended {
            Some(reason) => {
                let death = self.shared.died(&reason);
                state.bury(reason);
                death
            }
            None => error,
        }
    }

    async fn note_answer(&self) {
        self.shared.state.lock().await.deaths = 0;
    }
}

impl State {
    fn bury(&mut self, reason: String) {
        self.running = None;
        self.deaths += 1;
        self.last_death = reason;
    }
}

impl Shared {
    fn died(&self, reason: &str) -> ModelError {
        ModelError::Died { model: self.settings.name.clone(), reason: reason.to_owned() }
    }
}

impl Running {
    async fn start(
        settings: &LocalSettings,
        program: &std::path::Path,
        listener: &Listener,
        identity: Option<&str>,
    ) -> Result<Self, ModelError> {
        let token = new_token()?;
        let mut arguments: Vec<OsString> = vec!["serve".into()];
        arguments.extend(settings.arguments());
        let process = Process::start(
            &settings.name,
            program,
            &arguments,
            (TOKEN_VARIABLE, &token),
            Arc::clone(listener),
            settings.ready_timeout,
        );
        let process = process.await?;
        let ready = &process.ready;
        settings.check_identity(&ready.identity)?;
        if let Some(expected) = identity.filter(|expected| *expected != ready.identity) {
            let (model, found) = (settings.name.clone(), ready.identity.clone());
            return Err(ModelError::OtherIdentity { model, expected: expected.to_owned(), found });
        }
        let mut wire = ServerSettings::new(format!("http://127.0.0.1:{}/v1", ready.port), &settings.name);
        wire.key_env = Some(TOKEN_VARIABLE.to_owned());
        wire.identity = Some(ready.identity.clone());
        wire.temperature = settings.temperature;
        wire.max_tokens = settings.max_tokens;
        wire.timeout = SILENCE;
        wire.total_timeout = WHOLE_ANSWER;
        // Whoever died does not come back by itself.
        wire.retries = 0;
        let abilities = Abilities {
            models: Vec::new(),
            tool_calls: false,
            json_schema: true,
            grammar: true,
            known_names: true,
        };
        // The token is this process's own, so it is in no environment but the program's.
        let server = connect_with(&wire, |_| Some(token.clone()))?.with_abilities(abilities);
        server.check_identity().await?;
        Ok(Self { process, server })
    }
}

impl Model for LocalServer {
    fn name(&self) -> &str {
        &self.shared.settings.name
    }

    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m> {
        let opening = stream::once(self.server());
        let answer = opening.flat_map(move |server| match server {
            Ok(server) => server.into_chat(request),
            Err(error) => stream::iter([Err(error)]).boxed(),
        });
        Box::pin(answer.then(move |event| async move {
            match event {
                Err(error) => Err(self.explain(error).await),
                Ok(event) => {
                    if matches!(event, ChatEvent::Finished(_)) {
                        self.note_answer().await;
                    }
                    Ok(event)
                }
            }
        }))
    }
}

impl fmt::Debug for LocalServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LocalServer")
            .field("settings", &self.shared.settings)
            .field("identity", &self.shared.first.identity)
            .finish_non_exhaustive()
    }
}

/// A password for one server.
pub fn new_token() -> Result<String, ModelError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| ModelError::NotStarted {
        model: "local".to_owned(),
        reason: format!("no random numbers are to be had: {error}"),
        hint: None,
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
