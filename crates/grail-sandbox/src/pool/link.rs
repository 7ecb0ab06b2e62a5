//! One worker in use: a request, its printed output, its answer, each within a deadline.

use std::sync::Arc;
use std::time::Duration;

use monty_pool::{Checkout, PoolError, PrintFuture};
use monty_proto::pb;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::timeout;

use super::HOUSEKEEPING;

/// A checked-out worker. Dropping it kills the process; [`Link::finish`] gives it back.
pub(crate) struct Link {
    checkout: Option<Checkout>,
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
    pub(crate) fn new(checkout: Checkout, slot: OwnedSemaphorePermit) -> Self {
        Self {
            checkout: Some(checkout),
            slot: Some(slot),
            #[cfg(feature = "in-process")]
            thread: None,
        }
    }

    #[cfg(feature = "in-process")]
    pub(super) fn in_process(thread: super::in_process::InProcess) -> Self {
        Self { checkout: None, slot: None, thread: Some(thread) }
    }

    /// One request and its answer. After an error other than [`Lost::TooLarge`] the worker is gone.
    pub(crate) async fn turn(
        &mut self,
        request: pb::parent_request::Kind,
        within: Duration,
        prints: &mut PrintSink,
    ) -> Result<pb::ChildEvent, Lost> {
        #[cfg(feature = "in-process")]
        if let Some(thread) = self.thread.as_mut() {
            let request = pb::ParentRequest { kind: Some(request), trace_parent: None };
            let answer = timeout(within, thread.turn(request, prints)).await.unwrap_or(Err(Lost::Late));
            if answer.is_err() {
                self.thread = None;
            }
            return answer;
        }
        let Some(checkout) = self.checkout.as_mut() else {
            return Err(Lost::Crashed("its worker is already gone".to_owned()));
        };
        let request = pb::ParentRequest { kind: Some(request), trace_parent: None };
        let flooded = Arc::new(Notify::new());
        let answer = {
            let signal = Arc::clone(&flooded);
            let mut on_event = |event: &pb::ChildEvent| -> PrintFuture {
                prints.accept(event);
                if prints.truncated {
                    signal.notify_one();
                }
                Box::pin(std::future::ready(()))
            };
            tokio::select! {
                biased;
                () = flooded.notified() => Err(Lost::Flooded),
                answer = timeout(within, checkout.turn_raw(&request, &mut on_event)) => match answer {
                    Ok(answer) => answer.map_err(lost),
                    Err(_) => Err(Lost::Late),
                },
            }
        };
        let answer = if prints.truncated { Err(Lost::Flooded) } else { answer };
        match &answer {
            Ok(_) | Err(Lost::TooLarge(_)) => {}
            Err(_) => self.checkout = None,
        }
        answer
    }

    /// Ends the session and gives the worker back. A worker that cannot even do that is killed.
    pub(crate) async fn finish(&mut self) {
        if let Some(checkout) = self.checkout.take() {
            let _ = timeout(HOUSEKEEPING, checkout.finish()).await;
        }
        self.slot = None;
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

fn lost(error: PoolError) -> Lost {
    match error {
        PoolError::Timeout { .. } => Lost::Late,
        // The only exception a raw turn reports by itself besides an oversized request is the worker's exit at its memory limit.
        PoolError::Runtime(exception) if exception.exc_type() == monty_types::ExcType::MemoryError => {
            Lost::OutOfMemory
        }
        PoolError::Runtime(exception) => Lost::TooLarge(exception.message().unwrap_or_default().to_owned()),
        other => Lost::Crashed(other.to_string()),
    }
}
