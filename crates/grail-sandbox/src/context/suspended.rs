//! Runs that wait for an answer: resumed here, or written down and resumed elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::{Context, Outcome};
use crate::approvals::{ApprovalStore, NewApproval};
use crate::error::SandboxError;
use crate::files::FileSystem;
use crate::outcome::{Ending, ToolFailure};
use crate::paused::{PausedRun, Purpose};
use crate::policy::{Field, Limits};
use crate::pool::Stay;
use crate::program::{ResultRule, prepare_with};
use crate::run::{PendingCall, Run, call_tool};
use crate::snapshot::{self, Contents, Kind, SealedLimits, SnapshotError, SnapshotKey};
use crate::tool::{Call, Handler, ToolError};
use crate::value::Value;

/// Where a stepwise run has got to.
pub enum Step {
    Suspended(Box<Suspended>),
    Finished(Box<Outcome>),
}

/// A run that stands at a tool call.
pub struct Suspended {
    context: Context,
    run: Run,
    pending: PendingCall,
}

impl Suspended {
    pub(super) fn new(context: Context, run: Run, pending: PendingCall) -> Self {
        Self { context, run, pending }
    }

    pub fn tool(&self) -> &str {
        &self.pending.call.tool
    }

    pub fn arguments(&self) -> &[Value] {
        &self.pending.call.arguments
    }

    pub fn keywords(&self) -> &[(String, Value)] {
        &self.pending.call.keywords
    }

    pub fn call(&self) -> &Call {
        &self.pending.call
    }

    pub fn needs_approval(&self) -> bool {
        self.context.inner.tools.needs_approval(self.tool())
    }

    /// The call returns `value`.
    pub async fn resume(self, value: Value) -> Step {
        self.answer(Ok(value)).await
    }

    /// The call raises.
    pub async fn fail(self, error: ToolError) -> Step {
        self.answer(Err(error)).await
    }

    /// The context's own tool answers.
    pub async fn call_tool(self) -> Step {
        let within = self.run.limits().tool_timeout;
        let answer = call_tool(self.context.inner.tools.clone(), self.pending.call.clone(), within).await;
        self.answer(answer).await
    }

    /// Ends the run.
    pub async fn abandon(mut self) {
        self.run.abort().await;
        self.run.finish().await;
    }

    /// The paused run as bytes. The run itself stays where it is.
    pub async fn dump(&mut self, key: &SnapshotKey) -> Result<Vec<u8>, SandboxError> {
        self.context.write_down(&mut self.run, Kind::Run, String::new(), key).await
    }

    /// Whether the context's own tool can answer. If not, somebody else must.
    pub fn can_be_called(&self) -> bool {
        let tool = self.context.inner.tools.get(self.tool());
        tool.is_some_and(|tool| !matches!(tool.handler(), Handler::External))
    }

    /// Keeps the run in `store` until somebody decides about its call, and gives its worker back. `origin` is whatever the host wants
    /// to find again with it. Secrets are not shown, but the snapshot, which only the key's owner can use, holds them.
    pub async fn wait_for_approval(
        mut self,
        store: &ApprovalStore,
        key: &SnapshotKey,
        origin: Json,
    ) -> Result<Outcome, SandboxError> {
        let snapshot = self.seal(key, Purpose::Approval, origin).await?;
        let Call { tool, arguments, keywords } = &self.pending.call;
        let keywords: serde_json::Map<_, _> =
            keywords.iter().map(|(name, value)| (name.clone(), value.to_json())).collect();
        let approval = NewApproval {
            tool,
            arguments: &serde_json::json!({ "arguments": arguments, "keywords": keywords }),
            code: self.run.program().original_text(),
            policy: &self.context.inner.policy.name(),
            snapshot: &snapshot,
        };
        let id = store.create(&approval, self.run.recorder.redactor())?;
        self.run.abort().await;
        self.run.finish().await;
        let ending = Ending::AwaitingApproval { id, tool: self.pending.call.tool };
        Ok(self.context.outcome(&mut self.run, ending))
    }

    /// The paused run with what it waits for and `origin`, as bytes; [`PausedRun::open`] reads them.
    pub async fn seal(
        &mut self,
        key: &SnapshotKey,
        purpose: Purpose,
        origin: Json,
    ) -> Result<Vec<u8>, SandboxError> {
        let snapshot = self.dump(key).await?;
        let policy = self.context.inner.policy.name();
        Ok(PausedRun::new(&self.pending.call, policy, origin, snapshot).seal(key, purpose))
    }

    /// Ends a run that asked for something nobody gives.
    pub(super) async fn unanswered(self) -> Outcome {
        let tool = self.pending.call.tool;
        let why =
            if self.context.inner.tools.needs_approval(&tool) { "needs approval" } else { "has no handler" };
        let message = format!("`{tool}` {why}, and nobody is there to answer");
        let exception = "RuntimeError".to_owned();
        let ending = Ending::ToolFailed(ToolFailure { tool, exception, message, traceback: Vec::new() });
        self.context.finish(self.run, ending).await
    }

    async fn answer(mut self, answer: Result<Value, ToolError>) -> Step {
        let stop = self.run.answer(&self.pending, answer).await;
        self.context.step(self.run, stop).await
    }
}

impl Context {
    /// Continues a run that was written down, here or elsewhere. Its limits and what it has used of them come with it; tools and mounts
    /// are this context's.
    pub async fn load(&self, snapshot: &[u8], key: &SnapshotKey) -> Result<Suspended, SandboxError> {
        let (run, stop) = self.read_back(snapshot, key, Kind::Run).await?.0;
        match stop {
            Some(pending) => Ok(Suspended::new(self.clone(), run, pending)),
            None => {
                Err(SnapshotError::NotRestored { reason: "it does not stand at a call".to_owned() }.into())
            }
        }
    }

    pub(crate) async fn write_down(
        &self,
        run: &mut Run,
        kind: Kind,
        history: String,
        key: &SnapshotKey,
    ) -> Result<Vec<u8>, SandboxError> {
        let dump =
            run.dump().await.map_err(|lost| SnapshotError::NotDumped { reason: format!("{lost:?}") })?;
        let contents = Contents {
            kind,
            source: run.program().original_text().to_owned(),
            stepwise: run.is_stepwise(),
            requires_result: kind == Kind::Run && self.inner.rule == ResultRule::Required,
            limits: seal_limits(run.limits()),
            luggage: run.luggage(),
            memory_files: run.files.as_mut().map(FileSystem::save).transpose()?,
            mounts: self.inner.files.mounts().map(str::to_owned).collect::<Vec<_>>(),
            history,
        };
        Ok(snapshot::seal(&contents, &dump, key)?)
    }

    /// A run or session from its snapshot, with the stop it stands at, and a session's history.
    pub(crate) async fn read_back(
        &self,
        bytes: &[u8],
        key: &SnapshotKey,
        expected: Kind,
    ) -> Result<((Run, Option<PendingCall>), String), SandboxError> {
        let (contents, dump) = snapshot::open(bytes, key)?;
        if contents.kind != expected {
            let named = |kind| if kind == Kind::Run { "run" } else { "session" };
            return Err(
                SnapshotError::OtherKind { found: named(contents.kind), expected: named(expected) }.into()
            );
        }
        let available = self.inner.files.mounts().map(str::to_owned).collect::<Vec<_>>();
        if let Some(name) = contents.mounts.iter().find(|name| !available.contains(name)) {
            return Err(SnapshotError::MountMissing { name: name.clone() }.into());
        }
        let rule = if contents.requires_result { ResultRule::Required } else { ResultRule::Optional };
        // It passed the check when it was started, with names known that are forgotten now.
        let program = prepare_with(&contents.source, rule, &|_| true).map_err(|_| {
            SnapshotError::NotRestored { reason: "its source no longer passes the check".to_owned() }
        })?;
        let limits = unseal_limits(&contents.limits);
        let policy = &self.inner.policy;
        if let Some(field) = Field::ALL.into_iter().find(|field| limits.get(*field) > policy.ceiling(*field))
        {
            return Err(SnapshotError::BeyondPolicy { limit: field.name(), policy: policy.name() }.into());
        }
        let program = Arc::new(program);
        let mut run =
            self.open_program(program, limits, Stay::Session, contents.stepwise, Instant::now()).await?;
        run.unpack(contents.luggage);
        if let (Some(files), Some(state)) = (run.files.as_mut(), contents.memory_files) {
            files.restore(state)?;
        }
        let stop = run
            .restore(dump)
            .await
            .map_err(|lost| SnapshotError::NotRestored { reason: format!("{lost:?}") })?;
        Ok(((run, stop), contents.history))
    }
}

fn seal_limits(limits: &Limits) -> SealedLimits {
    let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    SealedLimits {
        max_duration_micros: micros(limits.max_duration),
        max_memory: limits.max_memory,
        max_recursion: limits.max_recursion,
        max_suspensions: limits.max_suspensions,
        max_output: limits.max_output,
        max_result: limits.max_result,
        max_source: limits.max_source,
        check_timeout_micros: micros(limits.check_timeout),
        tool_timeout_micros: micros(limits.tool_timeout),
    }
}

fn unseal_limits(sealed: &SealedLimits) -> Limits {
    Limits {
        max_duration: Duration::from_micros(sealed.max_duration_micros),
        max_memory: sealed.max_memory,
        max_recursion: sealed.max_recursion,
        max_suspensions: sealed.max_suspensions,
        max_output: sealed.max_output,
        max_result: sealed.max_result,
        max_source: sealed.max_source,
        check_timeout: Duration::from_micros(sealed.check_timeout_micros),
        tool_timeout: Duration::from_micros(sealed.tool_timeout_micros),
    }
}
