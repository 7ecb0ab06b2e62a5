//! Runs skills: once for one input, or as a daemon that answers many and is started again when it breaks.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::connection::{Answer, Connection, ConnectionSettings, Leave};
use super::fence::FenceReport;
use super::problem::{RunFailure, RunProblem};
use super::start::RunnableSkill;
use crate::credentials::CredentialEnvironment;

/// What came of one invocation, from start to end.
#[derive(Clone, Debug)]
pub struct Invocation {
    pub answer: Answer,
    /// The end of what the script wrote to stderr, without credentials.
    pub stderr: String,
    pub fence: FenceReport,
    pub leave: Leave,
    /// From the start of the process to the end of the handshake.
    pub handshake: Duration,
    pub request: Duration,
}

/// Starts the skill, asks it once, and ends it.
pub fn invoke_once(
    skill: &RunnableSkill,
    credentials: &CredentialEnvironment,
    settings: &ConnectionSettings,
    input: &Value,
) -> Result<Invocation, RunProblem> {
    let started = Instant::now();
    let mut connection = Connection::open(skill, credentials, settings)?;
    let handshake = started.elapsed();
    let asked = Instant::now();
    let answer = connection.invoke(input);
    let request = asked.elapsed();
    let fence = connection.fence().clone();
    let (leave, stderr) = connection.close_with_errors();
    Ok(Invocation { answer: answer?, stderr, fence, leave, handshake, request })
}

/// Starts the skill, asks after its health, and ends it.
pub fn check_health_once(
    skill: &RunnableSkill,
    credentials: &CredentialEnvironment,
    settings: &ConnectionSettings,
) -> Result<FenceReport, RunProblem> {
    let mut connection = Connection::open(skill, credentials, settings)?;
    connection.health()?;
    let fence = connection.fence().clone();
    connection.close();
    Ok(fence)
}

/// When a skill that broke is started again: after `first`, then twice as long each time, up to `longest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(500), longest: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The wait after so many failures in a row.
    pub fn wait(&self, failures: u32) -> Duration {
        match failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => {
                self.first.saturating_mul(1u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(self.longest)
            }
        }
    }
}

/// A skill that stays: one process for many requests.
///
/// A process that breaks is gone, with the request it broke at: whether that may be repeated is not for the runner to say. The next
/// request starts another one, unless the last failure is too recent.
pub struct Daemon {
    skill: RunnableSkill,
    credentials: CredentialEnvironment,
    settings: ConnectionSettings,
    backoff: Backoff,
    connection: Option<Connection>,
    failures: u32,
    rests_until: Option<Instant>,
}

impl Daemon {
    pub fn new(
        skill: RunnableSkill,
        credentials: CredentialEnvironment,
        settings: ConnectionSettings,
        backoff: Backoff,
    ) -> Self {
        Self { skill, credentials, settings, backoff, connection: None, failures: 0, rests_until: None }
    }

    pub fn invoke(&mut self, input: &Value) -> Result<Answer, RunProblem> {
        self.with_connection(|connection| connection.invoke(input))
    }

    pub fn health(&mut self) -> Result<(), RunProblem> {
        self.with_connection(Connection::health)
    }

    /// How often it failed since it last did what it was asked.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The number of the process, if one runs.
    pub fn process_id(&self) -> Option<u32> {
        self.connection.as_ref().map(Connection::process_id)
    }

    /// Asks the process to end, and ends it if it does not.
    pub fn stop(&mut self) -> Option<Leave> {
        self.connection.take().map(Connection::close)
    }

    fn with_connection<T>(
        &mut self,
        ask: impl FnOnce(&mut Connection) -> Result<T, RunProblem>,
    ) -> Result<T, RunProblem> {
        let result = self.connect().and_then(ask);
        match &result {
            Ok(_) => self.failures = 0,
            // The process is well; it is the request that it did not like.
            Err(problem) if leaves_process_well(&problem.failure) => {
                if matches!(problem.failure, RunFailure::Refused { .. }) {
                    self.failures = 0;
                }
            }
            Err(_) => {
                self.connection = None;
                self.failures = self.failures.saturating_add(1);
                self.rests_until = Instant::now().checked_add(self.backoff.wait(self.failures));
            }
        }
        result
    }

    fn connect(&mut self) -> Result<&mut Connection, RunProblem> {
        if self.connection.is_none() {
            let wait = self.rests_until.map(|until| until.saturating_duration_since(Instant::now()));
            if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
                return Err(self.skill.problem(RunFailure::Resting { failures: self.failures, wait }));
            }
            self.rests_until = None;
        }
        match &mut self.connection {
            Some(connection) => Ok(connection),
            none => Ok(none.insert(Connection::open(&self.skill, &self.credentials, &self.settings)?)),
        }
    }
}

fn leaves_process_well(failure: &RunFailure) -> bool {
    matches!(
        failure,
        RunFailure::Refused { .. } | RunFailure::InputTooLong { .. } | RunFailure::Resting { .. }
    )
}
