//! One worker in use: a request, its printed output, its answer, each within a deadline.

use std::sync::Arc;
use std::time::Duration;

use monty_proto::{FrameError, pb};
use monty_types::OOM_EXIT_CODE;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::process::Process;
use super::slots::{Idle, reset};
use super::{HOUSEKEEPING, Stay, is_end_of_light_run, runs_code};

/// A worker in use. Dropping it kills the process; [`Link::finish`] gives it back.
pub(crate) struct Link {
    process: Option<Process>,
    stay: Stay,
    /// The worker has cleared away the session by itself.
    is_clean: bool,
    idle: Arc<Idle>,
    /// Given back after the worker: fields are dropped in this order.
    slot: Option<OwnedSemaphorePermit>,
    #[cfg(feature = "in-process")]
    thread: Option<super::in_process::InProcess>,
}

/// Why a worker is gone, or why a turn could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It did not answer in time and was killed.
    Late,
    /// It printed more than it may and was killed.
    Flooded,
    /// It crossed its memory limit between two checks of the interpreter.
    OutOfMemory,
    /// A value is too large for one message; the worker lives.
    TooLarge(String),
    Crashed(String),
}

/// Collects what the code prints, up to a limit, and the worker's remarks on its memory.
#[derive(Debug)]
pub(crate) struct PrintSink {
    pub(crate) text: String,
    pub(crate) truncated: bool,
    pub(crate) peak_memory: u64,
    limit: usize,
    live: Option<LivePrinter>,
}

/// Called with each piece of output as it arrives.
#[derive(Clone)]
pub(crate) struct LivePrinter(pub(crate) Arc<dyn Fn(&str) + Send + Sync>);

impl Link {
    pub(super) fn new(process: Process, stay: Stay, idle: Arc<Idle>, slot: OwnedSemaphorePermit) -> Self {
        Self {
            process: Some(process),
            stay,
            is_clean: false,
            idle,
            slot: Some(slot),
            #[cfg(feature = "in-process")]
            thread: None,
        }
    }

    #[cfg(feature = "in-process")]
    pub(super) fn in_process(thread: super::in_process::InProcess) -> Self {
        Self {
            process: None,
            stay: Stay::Session,
            is_clean: false,
            idle: Arc::default(),
            slot: None,
            thread: Some(thread),
        }
    }

    /// One request and its answer. After an error other than [`Lost::TooLarge`] the worker is gone.
    pub(crate) async fn turn(
        &mut self,
        request: pb::parent_request::Kind,
        within: Duration,
        prints: &mut PrintSink,
    ) -> Result<pb::ChildEvent, Lost> {
        let request = pb::ParentRequest { kind: Some(request), trace_parent: None };
        #[cfg(feature = "in-process")]
        if let Some(thread) = self.thread.as_mut() {
            let answer = timeout(within, thread.turn(request, prints)).await.unwrap_or(Err(Lost::Late));
            if answer.is_err() {
                self.thread = None;
            }
            return answer;
        }
        let mut process =
            self.process.take().ok_or_else(|| Lost::Crashed("its worker is already gone".to_owned()))?;
        if let Err(error) = process.queue(&request) {
            // Refused before a byte of it was written.
            self.process = Some(process);
            return Err(Lost::TooLarge(format!("a value is too large to send: {error}")));
        }
        // Given up, this drops the process, and that kills it.
        match timeout(within, exchange(process, prints)).await {
            Ok(Ok((process, event))) => {
                self.process = process;
                self.is_clean = self.stay == Stay::OneRun
                    && request.kind.as_ref().is_some_and(runs_code)
                    && is_end_of_light_run(&event, prints.peak_memory);
                Ok(event)
            }
            Ok(Err(lost)) => Err(lost),
            Err(_) => Err(Lost::Late),
        }
    }

    /// Ends the session and gives the worker back. A worker that cannot even do that is killed.
    pub(crate) async fn finish(&mut self) {
        if let Some(mut process) = self.process.take()
            && (self.is_clean || cleared(&mut process).await)
        {
            self.idle.give_back(process);
        }
        self.slot = None;
    }
}

/// Has the worker clear away a session, which takes time if it holds much.
async fn cleared(process: &mut Process) -> bool {
    let cleared = async {
        process.queue_order(&reset())?;
        process.flush().await?;
        process.confirm().await
    };
    matches!(timeout(HOUSEKEEPING, cleared).await, Ok(Ok(None)))
}

/// Writes what is queued and reads up to the event that ends the turn. The process comes back unless that event was its last.
async fn exchange(
    mut process: Process,
    prints: &mut PrintSink,
) -> Result<(Option<Process>, pb::ChildEvent), Lost> {
    use pb::child_event::Kind as Event;

    if process.flush().await.is_err() {
        return Err(ended(process, "it took no request").await);
    }
    match process.confirm().await {
        Ok(None) => {}
        Ok(Some(event)) => return Ok((None, event)),
        Err(error) => return Err(broken(process, error).await),
    }
    loop {
        let event = match process.next_event().await {
            Ok(event) => event,
            Err(error) => return Err(broken(process, error).await),
        };
        match event.kind {
            Some(Event::Print(_)) => {
                prints.accept(&event);
                if prints.truncated {
                    return Err(Lost::Flooded);
                }
            }
            Some(Event::FatalError(_)) => return Ok((None, event)),
            Some(_) if !process.is_ahead() => return Ok((Some(process), event)),
            // Turns alternate strictly: who speaks twice, or says nothing, is not to be believed.
            _ => return Err(Lost::Crashed("the worker answered out of turn".to_owned())),
        }
    }
}

async fn broken(process: Process, error: FrameError) -> Lost {
    match error {
        FrameError::Io(_) | FrameError::Truncated => ended(process, "it ended without an answer").await,
        FrameError::Decode(_) | FrameError::FrameTooLarge { .. } => {
            Lost::Crashed(format!("the worker's answer cannot be read: {error}"))
        }
    }
}

/// Why a worker whose pipes are closed has ended.
async fn ended(process: Process, what: &str) -> Lost {
    match process.exit_status().await {
        Some(status) if status.code() == Some(OOM_EXIT_CODE) => Lost::OutOfMemory,
        Some(status) => Lost::Crashed(format!("the worker died: {what} ({status})")),
        None => Lost::Crashed(format!("the worker died: {what}")),
    }
}

impl PrintSink {
    pub(crate) fn new(limit: u64, live: Option<LivePrinter>) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { text: String::new(), truncated: false, peak_memory: 0, limit, live }
    }

    /// For turns in which nothing can print.
    pub(crate) fn silent() -> Self {
        Self::new(0, None)
    }

    pub(super) fn accept(&mut self, event: &pb::ChildEvent) {
        let Some(pb::child_event::Kind::Print(print)) = &event.kind else { return };
        // A stream that Python does not have carries the worker's own remark: its peak memory.
        if print.stream() == pb::PrintStream::Unspecified {
            self.peak_memory = self.peak_memory.max(print.text.parse().unwrap_or(0));
            return;
        }
        let room = self.limit.saturating_sub(self.text.len());
        let kept = if print.text.len() > room {
            self.truncated = true;
            &print.text[..print.text.floor_char_boundary(room)]
        } else {
            &print.text
        };
        self.text.push_str(kept);
        if let Some(LivePrinter(live)) = &self.live {
            live(kept);
        }
    }
}

impl std::fmt::Debug for LivePrinter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("LivePrinter")
    }
}
