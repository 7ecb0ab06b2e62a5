//! One worker process and the frames that go to it and come from it.
//!
//! Requests are collected and written together: what configures a worker travels with the first thing it is asked. Each round between
//! two processes costs more than most programs take to run.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use monty_proto::{FrameError, MAX_FRAME_LEN, decode_frame, encode_framed_into, pb};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// A worker that ends says how within this time; its pipes close a little earlier than the process.
const EXIT_GRACE: Duration = Duration::from_millis(500);

/// Buffers above this size are not kept for the next frame.
const KEPT_BYTES: usize = 64 * 1024;

/// Frames from this size on are read into values where they hold up nobody else.
const LARGE_FRAME: usize = 1024 * 1024;

/// A worker process. Dropping it kills it.
pub(super) struct Process {
    child: Child,
    /// Closed to ask the worker to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Frames that were not written yet.
    outgoing: Vec<u8>,
    scratch: Vec<u8>,
    /// Requests whose plain `Ok` nobody has read yet.
    unconfirmed: u32,
    /// Sessions it was used for.
    pub(super) served: u32,
}

impl Process {
    /// Starts `program subprocess` with nothing but its pipes: no environment, and standard error as it is here.
    pub(super) fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg("subprocess").env_clear().kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Without it, programs do not start on Windows; it names the system's folder and is no secret.
        if cfg!(windows)
            && let Some(root) = std::env::var_os("SystemRoot")
        {
            command.env("SystemRoot", root);
        }
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        Ok(Self {
            child,
            input: Some(input),
            output: BufReader::new(output),
            outgoing: Vec::new(),
            scratch: Vec::new(),
            unconfirmed: 0,
            served: 0,
        })
    }

    /// Adds a request to those that are written next. One that is too large for a frame changes nothing.
    pub(super) fn queue(&mut self, request: &pb::ParentRequest) -> Result<(), FrameError> {
        if self.outgoing.is_empty() {
            return encode_framed_into(request, &mut self.outgoing);
        }
        encode_framed_into(request, &mut self.scratch)?;
        self.outgoing.extend_from_slice(&self.scratch);
        if self.scratch.capacity() > KEPT_BYTES {
            self.scratch = Vec::new();
        }
        Ok(())
    }

    /// As [`Process::queue`], for a request whose only right answer is `Ok`.
    pub(super) fn queue_order(&mut self, request: &pb::ParentRequest) -> Result<(), FrameError> {
        self.queue(request)?;
        self.unconfirmed += 1;
        Ok(())
    }

    /// Writes what is queued.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(&self.outgoing).await?;
        self.outgoing.clear();
        if self.outgoing.capacity() > KEPT_BYTES {
            self.outgoing = Vec::new();
        }
        Ok(())
    }

    /// Waits until all orders are confirmed. `Some` is what came instead: the worker disobeys or has failed.
    pub(super) async fn confirm(&mut self) -> Result<Option<pb::ChildEvent>, FrameError> {
        while self.unconfirmed > 0 {
            let event = self.next_event().await?;
            match event.kind {
                // The report of memory that goes before every answer.
                Some(pb::child_event::Kind::Print(_)) => {}
                Some(pb::child_event::Kind::Ok(_)) => self.unconfirmed -= 1,
                _ => return Ok(Some(event)),
            }
        }
        Ok(None)
    }

    /// The next event. Not to be given up half-way but by dropping the process.
    pub(super) async fn next_event(&mut self) -> Result<pb::ChildEvent, FrameError> {
        let length = match self.output.read_u32_le().await {
            Ok(length) if length <= MAX_FRAME_LEN => length,
            Ok(length) => return Err(FrameError::FrameTooLarge { len: length, max: MAX_FRAME_LEN }),
            Err(_) => return Err(FrameError::Truncated),
        };
        // Whole in the buffer, as nearly all are: nothing to copy.
        if let Some(frame) = self.output.buffer().get(..length as usize) {
            let event = decode_frame(frame);
            self.output.consume(length as usize);
            return event;
        }
        let mut frame = Vec::new();
        // Grows with what comes, not with what is announced.
        let read = (&mut self.output).take(length.into()).read_to_end(&mut frame).await?;
        if read < length as usize {
            return Err(FrameError::Truncated);
        }
        decode(&frame)
    }

    /// Whether the worker has said something that nobody asked for.
    pub(super) fn is_ahead(&self) -> bool {
        !self.output.buffer().is_empty()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// How the worker ended, whose pipes are closed; killed if it has not ended after all.
    pub(super) async fn exit_status(mut self) -> Option<ExitStatus> {
        timeout(EXIT_GRACE, self.child.wait()).await.ok()?.ok()
    }

    /// Asks it to end by closing its input; kills it if it does not.
    pub(super) async fn close(mut self) {
        self.input = None;
        let _ = timeout(EXIT_GRACE, self.child.wait()).await;
    }
}

/// Thousands of small values make a large frame slow to read: on a runtime with other threads, those take over meanwhile.
fn decode(frame: &[u8]) -> Result<pb::ChildEvent, FrameError> {
    use tokio::runtime::{Handle, RuntimeFlavor};
    if frame.len() < LARGE_FRAME || Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
        return decode_frame(frame);
    }
    tokio::task::block_in_place(|| decode_frame(frame))
}
