//! Worker processes: warm, bounded, replaced when they die.
//!
//! Two pools, because memory is limited per process: *runners* run code and never hold a type checker, so a run's memory limit is
//! honest; *checkers* only type check, and the first of them starts when it is first needed. Every turn with a worker has a deadline
//! that this side keeps. Whatever a worker does, the worst is that it is killed and that its one run is lost.

#[cfg(feature = "in-process")]
mod in_process;
mod link;
mod process;
mod slots;

use std::env;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use monty_proto::{PROTOCOL_VERSION, pb};
use monty_types::{MONTY_VERSION, ResourceLimits};
use serde::Deserialize;

use crate::error::SandboxError;
use crate::outcome::TypeProblem;
use crate::policy::Limits;

use slots::Slots;

pub(crate) use link::{Link, LivePrinter, Lost, PrintSink};

/// What every script is called in tracebacks and diagnostics.
pub(crate) const SCRIPT: &str = "main.py";

/// The name of the worker binary that this crate builds.
const WORKER_BINARY: &str = "grail-sandbox-worker";

/// Said with the request that begins a session: it is for one run only. When that has ended and its session was light, the worker clears
/// the session away without being asked, and the host knows that it does: two rounds between processes less for every run.
pub(crate) const ONE_RUN: &str = "one-run";

/// A session that held no more than this is cleared away in an instant, and nobody has to watch it.
pub(crate) const LIGHT_BYTES: u64 = 1024 * 1024;

/// Starting, configuring or resetting a worker takes milliseconds; one that takes longer than this is broken.
pub(crate) const HOUSEKEEPING: Duration = Duration::from_secs(20);

/// The checker holds the standard library's stubs; beyond this it is under attack.
const CHECKER_MEMORY: usize = 512 * 1024 * 1024;

/// Which program workers are started from, and how many.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Started as `PROGRAM subprocess`, with an empty environment.
    pub program: PathBuf,
    /// Runners started at once and kept warm.
    pub warm: usize,
    /// Runners at the same time; further runs wait.
    pub most: usize,
    /// How long a run may wait for a free worker. `None` waits as long as it takes.
    pub wait: Option<Duration>,
}

/// How long a worker is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    OneRun,
    Session,
}

/// A handle to the worker pools; clones share them.
#[derive(Clone)]
pub struct Workers {
    inner: Arc<Inner>,
}

enum Inner {
    Processes {
        config: WorkerConfig,
        runners: Slots,
        checkers: OnceLock<Slots>,
    },
    #[cfg(feature = "in-process")]
    Threads,
}

impl WorkerConfig {
    /// One warm worker, and as many at a time as there are processors.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let most = std::thread::available_parallelism().map_or(2, NonZero::get);
        Self { program: program.into(), warm: 1, most, wait: None }
    }

    /// The worker binary beside this executable, or one folder up, where test binaries find it.
    pub fn beside_this_program() -> Result<Self, SandboxError> {
        let own = env::current_exe().unwrap_or_default();
        let name = format!("{WORKER_BINARY}{}", env::consts::EXE_SUFFIX);
        let found =
            own.ancestors().skip(1).take(2).map(|folder| folder.join(&name)).find(|path| path.is_file());
        found.map(Self::new).ok_or_else(|| SandboxError::WorkerUnavailable {
            program: name,
            reason: "it is not beside this program".to_owned(),
        })
    }
}

impl Workers {
    /// Starts the warm workers. Must be called inside a tokio runtime.
    pub async fn start(config: WorkerConfig) -> Result<Self, SandboxError> {
        let runners = Slots::new(config.most.max(1));
        runners.warm_up(config.warm.min(config.most), &config).await?;
        Ok(Self { inner: Arc::new(Inner::Processes { config, runners, checkers: OnceLock::new() }) })
    }

    /// Runs code on threads of this process instead of in worker processes.
    ///
    /// **Not a sandbox against hostile code.** There is no border: a stack overflow or an allocation that fails ends *this* process;
    /// the memory limit stops single large allocations only; the time limit works where the interpreter looks at the clock, and a thread
    /// that does not look cannot be stopped; the type checker has no limits at all; there are no walls. Use it for code you would run
    /// anyway, where processes cannot be had.
    #[cfg(feature = "in-process")]
    pub fn in_process() -> Self {
        Self { inner: Arc::new(Inner::Threads) }
    }

    /// Asks idle workers to exit. Dropping the last handle kills them instead.
    pub async fn close(&self) {
        match self.inner.as_ref() {
            Inner::Processes { runners, checkers, .. } => {
                runners.close().await;
                if let Some(checkers) = checkers.get() {
                    checkers.close().await;
                }
            }
            #[cfg(feature = "in-process")]
            Inner::Threads => {}
        }
    }

    /// A worker for one run, or for a session of many.
    pub(crate) async fn runner(&self, limits: &Limits, stay: Stay) -> Result<Link, SandboxError> {
        let limits = resource_limits(limits);
        match self.inner.as_ref() {
            Inner::Processes { config, runners, .. } => runners.take(&limits, stay, config).await,
            #[cfg(feature = "in-process")]
            Inner::Threads => thread_link(&limits),
        }
    }

    /// Type checks `code` against `stubs` without running anything.
    pub(crate) async fn type_check(
        &self,
        stubs: &str,
        code: &str,
        within: Duration,
    ) -> Result<Result<Vec<TypeProblem>, Lost>, SandboxError> {
        let mut link = self.checker().await?;
        let request = pb::parent_request::Kind::InstallDependencies(pb::InstallDependencies {
            requirements: vec![stubs.to_owned(), code.to_owned()],
        });
        let answer = link.turn(request, within, &mut PrintSink::silent()).await;
        link.finish().await;
        Ok(answer.and_then(|event| match event.kind {
            Some(pb::child_event::Kind::Ok(_)) => Ok(Vec::new()),
            Some(pb::child_event::Kind::TypingError(error)) => type_problems(&error.diagnostics),
            _ => Err(Lost::Crashed("the type checker gave no verdict".to_owned())),
        }))
    }

    /// A worker that looks at dumps of others; it may as well be a checker.
    pub(crate) async fn observer(&self) -> Result<Link, SandboxError> {
        self.checker().await
    }

    async fn checker(&self) -> Result<Link, SandboxError> {
        let limits = ResourceLimits::default().max_memory(CHECKER_MEMORY);
        match self.inner.as_ref() {
            Inner::Processes { config, checkers, .. } => {
                let checkers = checkers.get_or_init(|| Slots::new(config.most.clamp(1, 2)));
                checkers.take(&limits, Stay::Session, config).await
            }
            #[cfg(feature = "in-process")]
            Inner::Threads => thread_link(&limits),
        }
    }
}

/// The request that begins a session.
fn session(limits: &ResourceLimits, stay: Stay) -> pb::ParentRequest {
    let configure = pb::Configure {
        script_name: SCRIPT.to_owned(),
        limits: Some(limits.into()),
        protocol_version: PROTOCOL_VERSION,
        monty_version: MONTY_VERSION.to_owned(),
        ..pb::Configure::default()
    };
    pb::ParentRequest {
        kind: Some(pb::parent_request::Kind::Configure(configure)),
        // The engine reads this field nowhere.
        trace_parent: (stay == Stay::OneRun).then(|| ONE_RUN.to_owned()),
    }
}

/// Whether code runs in answer to this request.
pub(crate) fn runs_code(request: &pb::parent_request::Kind) -> bool {
    use pb::parent_request::Kind as Request;
    matches!(
        request,
        Request::Feed(_)
            | Request::ResumeCall(_)
            | Request::ResumeNameLookup(_)
            | Request::ResumeFutures(_)
            | Request::AbortFeed(_)
    )
}

/// Whether code that ran has ended with this event, having held little. After it a session for one run is cleared away unasked; host and
/// worker both decide it here.
pub(crate) fn is_end_of_light_run(event: &pb::ChildEvent, peak_memory: u64) -> bool {
    use pb::child_event::Kind as Event;
    matches!(event.kind, Some(Event::Complete(_) | Event::Error(_))) && peak_memory <= LIGHT_BYTES
}

#[cfg(feature = "in-process")]
fn thread_link(limits: &ResourceLimits) -> Result<Link, SandboxError> {
    in_process::InProcess::start(limits).map(Link::in_process).map_err(|error| {
        SandboxError::WorkerUnavailable { program: "a thread".to_owned(), reason: error.to_string() }
    })
}

fn resource_limits(limits: &Limits) -> ResourceLimits {
    ResourceLimits::default()
        .max_duration(limits.max_duration)
        .max_memory(usize::try_from(limits.max_memory).unwrap_or(usize::MAX))
        .max_recursion_depth(limits.max_recursion as usize)
        // One more than ours, which counts over snapshots as well and comes first.
        .max_suspensions((limits.max_suspensions as usize).saturating_add(1))
}

/// A broken program can have a problem on every line; nobody reads more than these.
const MOST_PROBLEMS: usize = 50;

/// The part of the checker's JSON that is read.
#[derive(Deserialize)]
struct CheckerDiagnostic {
    code: Option<String>,
    message: String,
    location: Option<CheckerPlace>,
}

#[derive(Deserialize)]
struct CheckerPlace {
    row: u32,
    column: u32,
}

fn type_problems(diagnostics: &str) -> Result<Vec<TypeProblem>, Lost> {
    let diagnostics: Vec<CheckerDiagnostic> = serde_json::from_str(diagnostics)
        .map_err(|error| Lost::Crashed(format!("the type checker's answer cannot be read: {error}")))?;
    let problem = |diagnostic: CheckerDiagnostic| {
        let place = diagnostic.location.unwrap_or(CheckerPlace { row: 1, column: 1 });
        TypeProblem {
            rule: diagnostic.code.unwrap_or_else(|| "invalid-syntax".to_owned()),
            message: diagnostic.message,
            line: place.row,
            column: place.column,
        }
    };
    Ok(diagnostics.into_iter().take(MOST_PROBLEMS).map(problem).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_to_the_engines_limits_is_correct() {
        let limits = Limits { max_duration: Duration::from_millis(1500), ..Limits::default() };
        let converted = resource_limits(&limits);
        assert_eq!(converted.max_duration, Some(Duration::from_millis(1500)));
        assert_eq!(converted.max_memory, Some(64 << 20));
        assert_eq!(converted.max_recursion_depth, 500);
        assert_eq!(converted.max_suspensions, 1001);
    }
}
