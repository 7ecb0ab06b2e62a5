//! Runs one program of somebody else: without a shell, for a bounded time, with bounded output.
//!
//! The host keeps the deadline and ends the program with everything it started (on Unix its process group; elsewhere the program itself).
//! What comes back is bytes; whoever asked for them decides whether they make sense.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

/// How often a running program is looked at while it says nothing.
const LOOK: Duration = Duration::from_millis(20);
/// How long the output of a program that has ended may stay open, held by what it started, before that is ended too.
const GRACE: Duration = Duration::from_millis(500);
/// How long it may take until the output is closed then. Only what has left the program's group can keep it open.
const PATIENCE: Duration = Duration::from_secs(10);
const CHUNK: usize = 64 * 1024;

/// What to run and how far it may go.
#[derive(Clone, Debug)]
pub struct Invocation {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub directory: PathBuf,
    /// Written to its standard input, which then ends.
    pub input: Vec<u8>,
    pub environment: Environment,
    pub deadline: Duration,
    pub stdout: Capture,
    pub stderr: Capture,
}

/// The variables that a program sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Environment {
    /// Ours, without what would colour the output or send it elsewhere.
    Plain,
    Empty,
    /// These and no others.
    Only(Vec<(OsString, OsString)>),
}

/// How much of an output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// All of it; a program that writes more is stopped.
    Whole(usize),
    /// The last bytes; the rest is dropped.
    Tail(usize),
}

/// What a program said, and how it ended.
#[derive(Clone, Debug)]
pub struct Output {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

#[derive(Debug)]
pub(crate) enum ProcessProblem {
    NotStarted(io::Error),
    Deadline(Duration),
    Interrupted,
    TooMuchOutput(usize),
    /// It ended, but something it started keeps its output open.
    OutputLeftOpen,
}

/// Variables that make tools colour what is not a terminal, or write where nobody looks.
const DROPPED_VARIABLES: [&str; 7] = [
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "PY_COLORS",
    "RUFF_OUTPUT_FILE",
    "RUFF_OUTPUT_FORMAT",
    "TY_OUTPUT_FORMAT",
    "COLORTERM",
];

/// Whether whoever runs tools wants them to end. Tools are in groups of their own, which Ctrl-C in a terminal does not reach.
pub fn interruption() -> &'static Arc<AtomicBool> {
    static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
    &INTERRUPTED
}

/// Runs to the end, or to one of the limits.
pub(crate) fn run(invocation: &Invocation) -> Result<Output, ProcessProblem> {
    // A day is for ever, and keeps the sum from overflowing.
    let end = Instant::now() + invocation.deadline.min(Duration::from_secs(24 * 60 * 60));
    let mut running =
        Running { child: start(invocation).map_err(ProcessProblem::NotStarted)?, is_over: false };
    let streams = attend(&mut running.child, invocation).map_err(ProcessProblem::NotStarted)?;
    let mut captured: [Option<Vec<u8>>; 2] = [None, None];
    let mut ended: Option<Instant> = None;
    loop {
        let now = Instant::now();
        if ended.is_none() && running.has_ended().map_err(ProcessProblem::NotStarted)? {
            ended = Some(now);
        }
        let has_all = captured.iter().all(Option::is_some);
        match ended.map(|ended| now - ended) {
            Some(_) if has_all => {
                let status = running.child.wait().map_err(ProcessProblem::NotStarted)?;
                running.is_over = true;
                let [stdout, stderr] = captured.map(Option::unwrap_or_default);
                return Ok(Output { code: status.code(), stdout, stderr });
            }
            Some(since) if since >= PATIENCE => return Err(ProcessProblem::OutputLeftOpen),
            Some(since) if since >= GRACE => running.end_group(),
            _ => {}
        }
        if interruption().load(Ordering::Relaxed) {
            return Err(ProcessProblem::Interrupted);
        }
        if now >= end {
            return Err(ProcessProblem::Deadline(invocation.deadline));
        }
        let patience = LOOK.min(end - now);
        if has_all {
            // Its output is closed, so the end is a matter of microseconds; or it closed its output to stay.
            thread::sleep(patience.min(Duration::from_millis(1)));
            continue;
        }
        match streams.recv_timeout(patience) {
            Ok(Event::Ended(stream, bytes)) => captured[stream as usize] = Some(bytes),
            Ok(Event::Overflow(limit)) => return Err(ProcessProblem::TooMuchOutput(limit)),
            Err(RecvTimeoutError::Timeout) => {}
            // A reader that ends without a word found its pipe broken.
            Err(RecvTimeoutError::Disconnected) => captured.iter_mut().for_each(|stream| {
                stream.get_or_insert_default();
            }),
        }
    }
}

/// A child that does not outlive its owner.
struct Running {
    child: Child,
    is_over: bool,
}

impl Running {
    /// Looks without taking notice of the end: until then the system gives the number of the process to no other, so that
    /// ending its group cannot hit a stranger.
    #[cfg(unix)]
    fn has_ended(&mut self) -> io::Result<bool> {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some())
    }

    #[cfg(not(unix))]
    fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    #[cfg(unix)]
    fn end_group(&self) {
        // The group may be gone already.
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
    }

    #[cfg(not(unix))]
    fn end_group(&self) {}
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            self.end_group();
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn start(invocation: &Invocation) -> io::Result<Child> {
    let mut command = Command::new(&invocation.program);
    command.args(&invocation.arguments).current_dir(&invocation.directory);
    match &invocation.environment {
        Environment::Empty => {
            command.env_clear();
        }
        Environment::Only(variables) => {
            command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        }
        Environment::Plain => {
            DROPPED_VARIABLES.iter().for_each(|name| {
                command.env_remove(name);
            });
            command.env("NO_COLOR", "1");
        }
    }
    command.stdin(if invocation.input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // A program that was written a moment ago may still be open in a process forked at the same time.
    let mut attempts = 0;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && attempts < 20 => attempts += 1,
            other => return other,
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

enum Event {
    Ended(Stream, Vec<u8>),
    Overflow(usize),
}

/// Threads that feed and drain the pipes, so that none of them can fill up and stop the program.
fn attend(child: &mut Child, invocation: &Invocation) -> io::Result<Receiver<Event>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        drain(stdout, Stream::Stdout, invocation.stdout, sender.clone())?;
    }
    if let Some(stderr) = child.stderr.take() {
        drain(stderr, Stream::Stderr, invocation.stderr, sender)?;
    }
    if let Some(mut stdin) = child.stdin.take() {
        let input = invocation.input.clone();
        // A program may end without reading everything: a broken pipe is its own affair.
        thread::Builder::new().spawn(move || stdin.write_all(&input).is_ok())?;
    }
    Ok(receiver)
}

fn drain(
    mut pipe: impl Read + Send + 'static,
    stream: Stream,
    capture: Capture,
    events: Sender<Event>,
) -> io::Result<()> {
    let body = move || {
        let mut kept = Vec::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = match pipe.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            kept.extend_from_slice(&chunk[..count]);
            match capture {
                Capture::Whole(limit) if kept.len() > limit => {
                    let _ = events.send(Event::Overflow(limit));
                    return;
                }
                Capture::Tail(limit) if kept.len() > limit + CHUNK => {
                    kept.drain(..kept.len() - limit);
                }
                _ => {}
            }
        }
        if let Capture::Tail(limit) = capture {
            kept.drain(..kept.len().saturating_sub(limit));
        }
        let _ = events.send(Event::Ended(stream, kept));
    };
    thread::Builder::new().spawn(body).map(|_| ())
}
