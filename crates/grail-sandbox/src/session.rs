//! State across snippets: for agents that work in steps.
//!
//! A session is one worker for as long as it lives. Its limits hold for the session as a whole, not for each snippet. After a limit or
//! a crash it is over; after an exception it goes on.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use crate::context::Context;
use crate::error::SandboxError;
use crate::outcome::{Crash, Ending, Outcome, ToolFailure};
use crate::pool::Stay;
use crate::program::{ResultRule, prepare};
use crate::run::{Run, Stop};
use crate::snapshot::{Kind, SnapshotKey};

/// Earlier snippets are shown to the type checker up to this much.
const MAX_HISTORY: usize = 256 * 1024;

/// Stands for a history that was too long to keep; no source looks like this.
const CUT_HISTORY: &str = "\0";

pub struct Session {
    context: Context,
    /// Gone once a limit was hit or the worker died.
    run: Option<Run>,
    history: String,
}

impl Context {
    /// A session. Snippets may end without a value.
    pub async fn session(&self) -> Result<Session, SandboxError> {
        let empty = prepare("", ResultRule::Optional)
            .map_err(|_| SandboxError::WorkerUnavailable { program: String::new(), reason: String::new() })?;
        let limits = self.limits().clone();
        let run = self.open_program(Arc::new(empty), limits, Stay::Session, false, Instant::now()).await?;
        Ok(Session { context: self.clone(), run: Some(run), history: String::new() })
    }

    /// Continues a session that was written down.
    pub async fn load_session(&self, snapshot: &[u8], key: &SnapshotKey) -> Result<Session, SandboxError> {
        let ((run, _), history) = self.read_back(snapshot, key, Kind::Session).await?;
        if history == CUT_HISTORY {
            return Ok(Session {
                context: self.without_type_check(),
                run: Some(run),
                history: String::new(),
            });
        }
        Ok(Session { context: self.clone(), run: Some(run), history })
    }
}

impl Session {
    /// Runs one snippet; what it defines stays for the next.
    #[tracing::instrument(name = "grail.snippet", skip_all, fields(bytes = code.len()))]
    pub async fn feed(&mut self, code: &str, inputs: impl Serialize) -> Outcome {
        let started = Instant::now();
        let Some(run) = self.run.as_mut() else {
            let message = "the session is over; start another".to_owned();
            return self.context.unstarted(Ending::WorkerCrashed(Crash { message }), started);
        };
        let limits = run.limits().clone();
        let inputs = match self.context.inputs(inputs) {
            Ok(inputs) => inputs,
            Err(ending) => return self.context.unstarted(*ending, started),
        };
        let program =
            match self.context.checked_program(code, &limits, ResultRule::Optional, &self.history).await {
                Ok(program) => program,
                Err(ending) => return self.context.unstarted(*ending, started),
            };
        let ending = match run.feed_next(Arc::clone(&program), inputs).await {
            Stop::Ended(ending) => ending,
            Stop::Suspended(pending) => {
                run.abort().await;
                Ending::ToolFailed(ToolFailure {
                    exception: "RuntimeError".to_owned(),
                    message: format!("nobody answers `{}` in a session", pending.call.tool),
                    tool: pending.call.tool,
                    traceback: Vec::new(),
                })
            }
        };
        // What ran before an exception stays defined. Once the checker cannot see all of it any more, it is not asked any more.
        if self.history.len() + code.len() < MAX_HISTORY {
            self.history.push_str(&program.checked);
            self.history.push('\n');
        } else {
            self.context = self.context.without_type_check();
        }
        let is_over = matches!(ending, Ending::LimitHit(_) | Ending::WorkerCrashed(_));
        let outcome = self.context.outcome(run, ending);
        if is_over && let Some(mut run) = self.run.take() {
            run.finish().await;
        }
        outcome
    }

    /// The session as bytes; it stays usable.
    pub async fn dump(&mut self, key: &SnapshotKey) -> Result<Vec<u8>, SandboxError> {
        let run = self.run.as_mut().ok_or_else(|| crate::snapshot::SnapshotError::NotDumped {
            reason: "the session is over".to_owned(),
        })?;
        let is_cut = self.context.skips_type_check();
        let history = if is_cut { CUT_HISTORY.to_owned() } else { self.history.clone() };
        self.context.write_down(run, Kind::Session, history, key).await
    }

    pub async fn close(mut self) {
        if let Some(mut run) = self.run.take() {
            run.finish().await;
        }
    }
}
