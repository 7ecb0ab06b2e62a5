//! A worker that is a thread, for those who choose it: no border, and no way to stop it.

use std::io;
use std::sync::mpsc;
use std::thread;

use monty_proto::worker::{Child, EventSink, HandleOutcome};
use monty_proto::{FrameError, pb};
use monty_types::ResourceLimits;
use tokio::sync::mpsc as events;

use super::link::{Lost, PrintSink};
use crate::worker::Checker;

/// What a worker process has as well.
const STACK_BYTES: usize = 1 << 30;

/// A session on a thread of this process. Dropping it lets the thread end after its turn, if that ever ends.
pub(super) struct InProcess {
    requests: mpsc::Sender<pb::ParentRequest>,
    events: events::UnboundedReceiver<pb::ChildEvent>,
    is_configured: bool,
}

struct Sink(events::UnboundedSender<pb::ChildEvent>);

impl InProcess {
    pub(super) fn start(limits: &ResourceLimits) -> io::Result<Self> {
        let (requests, received) = mpsc::channel::<pb::ParentRequest>();
        let (sender, events) = events::unbounded_channel();
        thread::Builder::new().name("grail-in-process".to_owned()).stack_size(STACK_BYTES).spawn(
            move || {
                let (mut child, mut checker, mut sink) = (Child::default(), Checker::default(), Sink(sender));
                while let Ok(request) = received.recv() {
                    let handled = match &request.kind {
                        Some(pb::parent_request::Kind::InstallDependencies(request)) => {
                            sink.send(&checker.check(&request.requirements)).map(|()| HandleOutcome::Continue)
                        }
                        _ => child.handle(request, &mut sink),
                    };
                    if !matches!(handled, Ok(HandleOutcome::Continue)) {
                        return;
                    }
                }
            },
        )?;
        // The thread has just started; that it takes its first request shows with the first turn.
        let _ = requests.send(super::session(limits, super::Stay::Session));
        Ok(Self { requests, events, is_configured: false })
    }

    pub(super) async fn turn(
        &mut self,
        request: pb::ParentRequest,
        prints: &mut PrintSink,
    ) -> Result<pb::ChildEvent, Lost> {
        if !self.is_configured {
            // The answer to the configuration, which was sent at the start.
            self.events.recv().await;
            self.is_configured = true;
        }
        let gone = || Lost::Crashed("the interpreter's thread is gone".to_owned());
        self.requests.send(request).map_err(|_| gone())?;
        loop {
            let event = self.events.recv().await.ok_or_else(gone)?;
            if !matches!(event.kind, Some(pb::child_event::Kind::Print(_))) {
                return Ok(event);
            }
            prints.accept(&event);
            if prints.truncated {
                return Err(Lost::Flooded);
            }
        }
    }
}

impl EventSink for Sink {
    fn send(&mut self, event: &pb::ChildEvent) -> Result<(), FrameError> {
        // Nobody listens any more: the turn runs to its end in vain, as nothing can stop a thread.
        let _ = self.0.send(event.clone());
        Ok(())
    }
}
