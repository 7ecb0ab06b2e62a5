//! Worker processes: warm, bounded, replaced when they die.
//!
//! Two pools, because memory is limited per process: *runners* run code and never hold a type checker, so a run's memory limit is
//! honest; *checkers* only type check, and the first of them starts when it is first needed. Every turn with a worker has a deadline
//! that this side keeps. Whatever a worker does, the worst is that it is killed and that its one run is lost.

#[cfg(feature = "in-process")]
mod in_process;
mod link;

use std::env;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use monty_pool::{Pool, PoolConfig, PoolError, ReplConfig};
use monty_proto::pb;
use monty_types::ResourceLimits;
use serde::Deserialize;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::timeout;

use crate::error::SandboxError;
use crate::outcome::TypeProblem;
use crate::policy::Limits;

pub(crate) use link::{Link, LivePrinter, Lost, PrintSink};

/// What every script is called in tracebacks and diagnostics.
pub(crate) const SCRIPT: &str = "main.py";

/// The name of the worker binary that this crate builds.
const WORKER_BINARY: &str = "grail-sandbox-worker";

/// A worker is replaced after so many runs, so that no slow leak of the engine can grow for ever.
const RUNS_PER_WORKER: u32 = 10_000;

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

/// A handle to the worker pools; clones share them.
#[derive(Clone)]
pub struct Workers {
    inner: Arc<Inner>,
}

enum Inner {
    Processes {
        config: WorkerConfig,
        runners: Slots,
        checkers: OnceCell<Slots>,
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
        let mut pool = pool_config(&config.program);
        pool.min_processes = config.warm.min(config.most);
        pool.max_processes = config.most.max(1);
        let runners = Slots::new(pool, &config).await?;
        if config.warm > 0 {
            greet(&runners.pool, &config.program).await?;
        }
        Ok(Self { inner: Arc::new(Inner::Processes { config, runners, checkers: OnceCell::new() }) })
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
                runners.pool.close().await;
                if let Some(checkers) = checkers.get() {
                    checkers.pool.close().await;
                }
            }
            #[cfg(feature = "in-process")]
            Inner::Threads => {}
        }
    }

    /// A worker for one run or session.
    pub(crate) async fn runner(&self, limits: &Limits) -> Result<Link, SandboxError> {
        let limits = resource_limits(limits);
        match self.inner.as_ref() {
            Inner::Processes { config, runners, .. } => runners.take(&session_config(limits), config).await,
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
                let checkers = checkers.get_or_try_init(|| async {
                    let mut pool = pool_config(&config.program);
                    pool.min_processes = 0;
                    pool.max_processes = config.most.clamp(1, 2);
                    Slots::new(pool, config).await
                });
                checkers.await?.take(&session_config(limits), config).await
            }
            #[cfg(feature = "in-process")]
            Inner::Threads => thread_link(&limits),
        }
    }
}

/// A pool, and as many slots as it may have workers. Whoever holds a slot gets a worker without waiting, so that the time until it
/// answers can be bounded: a worker that is silent there would otherwise hang its run for ever.
struct Slots {
    pool: Pool,
    free: Arc<Semaphore>,
}

impl Slots {
    async fn new(pool: PoolConfig, config: &WorkerConfig) -> Result<Self, SandboxError> {
        let free = Arc::new(Semaphore::new(pool.max_processes));
        let pool = Pool::new(pool).await.map_err(|error| unavailable(&config.program, &error))?;
        Ok(Self { pool, free })
    }

    async fn take(&self, session: &ReplConfig, config: &WorkerConfig) -> Result<Link, SandboxError> {
        let silent = |reason: &str| SandboxError::WorkerUnavailable {
            program: config.program.display().to_string(),
            reason: reason.to_owned(),
        };
        let slot = Arc::clone(&self.free).acquire_owned();
        let slot = match config.wait {
            Some(wait) => {
                timeout(wait, slot).await.map_err(|_| silent("all workers were busy for too long"))?
            }
            None => slot.await,
        };
        let slot = slot.map_err(|_| silent("the pool is closed"))?;
        let checkout = timeout(HOUSEKEEPING, self.pool.checkout(session)).await;
        let checkout = checkout.map_err(|_| silent("it does not answer"))?;
        checkout
            .map(|checkout| Link::new(checkout, slot))
            .map_err(|error| unavailable(&config.program, &error))
    }
}

fn session_config(limits: ResourceLimits) -> ReplConfig {
    ReplConfig { script_name: SCRIPT.to_owned(), limits: Some(limits), ..ReplConfig::default() }
}

#[cfg(feature = "in-process")]
fn thread_link(limits: &ResourceLimits) -> Result<Link, SandboxError> {
    in_process::InProcess::start(limits).map(Link::in_process).map_err(|error| {
        SandboxError::WorkerUnavailable { program: "a thread".to_owned(), reason: error.to_string() }
    })
}

/// Has one worker answer, so that a program that is no worker is found out here and not by a run that waits for it.
async fn greet(runners: &Pool, program: &Path) -> Result<(), SandboxError> {
    let greeting = async { runners.checkout(&ReplConfig::default()).await?.finish().await };
    match timeout(HOUSEKEEPING, greeting).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(unavailable(program, &error)),
        Err(_) => Err(SandboxError::WorkerUnavailable {
            program: program.display().to_string(),
            reason: format!("it did not answer within {HOUSEKEEPING:?}; is it a worker?"),
        }),
    }
}

fn pool_config(program: &Path) -> PoolConfig {
    let mut config = PoolConfig::subprocess(program);
    config.request_timeout = None;
    // Deadlines are kept per turn by `Link`, which knows what a turn may take.
    config.duration_limit_grace = None;
    config.max_checkouts_per_worker = Some(RUNS_PER_WORKER);
    config
}

fn resource_limits(limits: &Limits) -> ResourceLimits {
    ResourceLimits::default()
        .max_duration(limits.max_duration)
        .max_memory(usize::try_from(limits.max_memory).unwrap_or(usize::MAX))
        .max_recursion_depth(limits.max_recursion as usize)
        // One more than ours, which counts over snapshots as well and comes first.
        .max_suspensions((limits.max_suspensions as usize).saturating_add(1))
}

fn unavailable(program: &Path, error: &PoolError) -> SandboxError {
    SandboxError::WorkerUnavailable { program: program.display().to_string(), reason: error.to_string() }
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
