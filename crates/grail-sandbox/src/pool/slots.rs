//! As many workers as may run at a time, warm or yet to be started.
//!
//! Whoever holds a slot gets a worker without waiting for another run. A worker that does not answer is killed and replaced before a
//! run is entrusted to it, so that what one run left behind is never the next one's loss.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use monty_proto::pb;
use monty_proto::pb::parent_request::Kind as Request;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::process::Process;
use super::{HOUSEKEEPING, Link, WorkerConfig};
use crate::error::SandboxError;

/// A worker is replaced after so many runs, so that no slow leak of the engine can grow for ever.
const RUNS_PER_WORKER: u32 = 10_000;

/// Clearing away a light session takes microseconds. Starting another worker takes milliseconds, so more patience does not pay.
const RESET_PATIENCE: Duration = Duration::from_millis(100);

pub(super) struct Slots {
    idle: Arc<Idle>,
    free: Arc<Semaphore>,
    most: usize,
}

/// Workers that nobody uses.
#[derive(Default)]
pub(super) struct Idle {
    processes: Mutex<Vec<Process>>,
}

impl Slots {
    pub(super) fn new(most: usize) -> Self {
        Self { idle: Arc::default(), free: Arc::new(Semaphore::new(most)), most }
    }

    /// Starts workers ahead of the first run. One of them must answer, so that a program that is no worker is found out here and not
    /// by a run that waits for it.
    pub(super) async fn warm_up(&self, count: usize, config: &WorkerConfig) -> Result<(), SandboxError> {
        let mut started = Vec::new();
        for _ in 0..count {
            started.push(start(&config.program)?);
        }
        if let Some(first) = started.first_mut() {
            let session = super::session(&monty_types::ResourceLimits::default());
            let greeting = [Request::Configure(session), Request::Reset(pb::Reset {})];
            obeyed(first, greeting, &config.program).await?;
        }
        started.into_iter().for_each(|process| self.idle.put(process));
        Ok(())
    }

    /// A worker whose session begins with its first turn.
    pub(super) async fn take(
        &self,
        session: pb::Configure,
        config: &WorkerConfig,
    ) -> Result<Link, SandboxError> {
        let slot = Arc::clone(&self.free);
        let slot = match (slot.try_acquire_owned(), config.wait) {
            (Ok(slot), _) => Ok(slot),
            (Err(_), None) => Arc::clone(&self.free).acquire_owned().await,
            (Err(_), Some(wait)) => timeout(wait, Arc::clone(&self.free).acquire_owned())
                .await
                .map_err(|_| SandboxError::WorkersBusy { most: self.most, wait })?,
        };
        let slot = slot.map_err(|_| unavailable(&config.program, "the pool is closed"))?;
        let process = match self.idle.take_healthy().await {
            Some(mut process) => {
                // Travels with the first turn.
                let queued = process.queue_order(Request::Configure(session));
                queued.map(|()| process).map_err(|error| unavailable(&config.program, error))?
            }
            // That a new worker takes its time to start must not count against the code.
            None => {
                let mut process = start(&config.program)?;
                obeyed(&mut process, [Request::Configure(session)], &config.program).await?;
                process
            }
        };
        Ok(Link::new(process, Arc::clone(&self.idle), slot))
    }

    /// Asks the idle workers to end.
    pub(super) async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle.lock());
        futures_util::future::join_all(idle.into_iter().map(Process::close)).await;
    }
}

impl Idle {
    /// Keeps a worker whose session was ended, or lets it go when it has served long enough.
    pub(super) fn give_back(&self, mut process: Process) {
        process.served += 1;
        if process.served < RUNS_PER_WORKER {
            self.put(process);
        }
    }

    fn put(&self, process: Process) {
        self.lock().push(process);
    }

    async fn take_healthy(&self) -> Option<Process> {
        loop {
            let mut process = self.lock().pop()?;
            let is_reset = matches!(timeout(RESET_PATIENCE, process.confirm()).await, Ok(Ok(None)));
            if is_reset && !process.is_ahead() && !process.has_ended() {
                return Some(process);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(program: &Path) -> Result<Process, SandboxError> {
    Process::start(program).map_err(|error| unavailable(program, error))
}

/// Has a new worker answer.
async fn obeyed<const COUNT: usize>(
    process: &mut Process,
    orders: [Request; COUNT],
    program: &Path,
) -> Result<(), SandboxError> {
    let greeting = async {
        for order in orders {
            process.queue_order(order)?;
        }
        process.flush().await?;
        process.confirm().await
    };
    let reason = match timeout(HOUSEKEEPING, greeting).await {
        Ok(Ok(None)) => return Ok(()),
        Ok(Ok(Some(event))) => match event.kind {
            Some(pb::child_event::Kind::FatalError(fatal)) => fatal.message,
            _ => "it is not a worker of this version".to_owned(),
        },
        Ok(Err(error)) => format!("it does not answer as a worker does: {error}"),
        Err(_) => format!("it did not answer within {HOUSEKEEPING:?}; is it a worker?"),
    };
    Err(unavailable(program, reason))
}

fn unavailable(program: &Path, reason: impl ToString) -> SandboxError {
    SandboxError::WorkerUnavailable { program: program.display().to_string(), reason: reason.to_string() }
}
