//! As many workers as may run at a time, warm or yet to be started.
//!
//! Whoever holds a slot gets a worker without waiting for another run. A worker that has ended meanwhile, or that has said something
//! unasked, is replaced before a run is entrusted to it.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use monty_proto::pb;
use monty_types::ResourceLimits;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::process::Process;
use super::{HOUSEKEEPING, Link, Stay, WorkerConfig, session};
use crate::error::SandboxError;

/// A worker is replaced after so many runs, so that no slow leak of the engine can grow for ever.
const RUNS_PER_WORKER: u32 = 10_000;

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

    /// Starts workers ahead of the first run. Each must answer, so that a program that is no worker is found out here and not by a run
    /// that waits for it.
    pub(super) async fn warm_up(&self, count: usize, config: &WorkerConfig) -> Result<(), SandboxError> {
        let mut started = Vec::new();
        for _ in 0..count {
            started.push(start(&config.program)?);
        }
        let greeting = [session(&ResourceLimits::default(), Stay::Session), reset()];
        for process in &mut started {
            obeyed(process, &greeting, &config.program).await?;
        }
        started.into_iter().for_each(|process| self.idle.put(process));
        Ok(())
    }

    /// A worker whose session begins with its first turn.
    pub(super) async fn take(
        &self,
        limits: &ResourceLimits,
        stay: Stay,
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
        let session = session(limits, stay);
        let process = match self.idle.take_healthy() {
            Some(mut process) => {
                // Travels with the first turn.
                let queued = process.queue_order(&session);
                queued.map(|()| process).map_err(|error| unavailable(&config.program, error))?
            }
            // That a new worker takes its time to start must not count against the code.
            None => {
                let mut process = start(&config.program)?;
                obeyed(&mut process, &[session], &config.program).await?;
                process
            }
        };
        Ok(Link::new(process, stay, Arc::clone(&self.idle), slot))
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

    fn take_healthy(&self) -> Option<Process> {
        loop {
            let mut process = self.lock().pop()?;
            if !process.is_ahead() && !process.has_ended() {
                return Some(process);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request that ends a session.
pub(super) fn reset() -> pb::ParentRequest {
    pb::ParentRequest { kind: Some(pb::parent_request::Kind::Reset(pb::Reset {})), trace_parent: None }
}

fn start(program: &Path) -> Result<Process, SandboxError> {
    Process::start(program).map_err(|error| unavailable(program, error))
}

/// Has a new worker answer.
async fn obeyed(
    process: &mut Process,
    orders: &[pb::ParentRequest],
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
