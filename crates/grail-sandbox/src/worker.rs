//! The worker's side of the border: one process, one session at a time, driven over standard input and output.
//!
//! A worker holds nothing worth stealing and can reach nothing: before it reads its first request it gives up files, sockets and new
//! processes ([`confine`]). It trusts its host and nothing else; whatever goes wrong in here ends the process and never hangs it.
//!
//! The program must use `monty_alloc::LimitedAllocator` as its global allocator, else memory limits would be promises:
//! [`serve`] refuses to work without it.

mod check;
mod confine;
mod memory;
mod probe;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::{self, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::thread;

use monty_proto::worker::{Child, EventSink, HandleOutcome, fatal_error_event, protocol_violation};
use monty_proto::{FrameError, FrameReader, encode_framed_into, pb};
use monty_types::LIVE_MEMORY;

use crate::pool::{ONE_RUN, is_end_of_light_run, runs_code};

pub(crate) use self::check::Checker;
use self::confine::Walls;
pub use self::confine::{Confinement, Wall};
use self::memory::Peak;
pub use monty_alloc::LimitedAllocator;

/// The argument a host starts a worker with.
pub const ARGUMENT: &str = "subprocess";

/// Prints, as JSON, what a confined worker tried to do and how far it got.
pub const PROBE_ARGUMENT: &str = "probe-walls";

/// The status of a worker that panicked; the standard library's own.
const PANIC_STATUS: i32 = 101;

/// The compiler and the type checker recurse with the source: 256 KiB of `1+1+…` must compile. Only pages that are touched count.
const STACK_BYTES: usize = 1 << 30;

/// Frames above this size are written on their own instead of being copied behind the memory report.
const JOIN_BYTES: usize = 64 * 1024;

/// Serves one host until it says goodbye or is gone.
pub fn serve() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [ARGUMENT] => serve_host(),
        [PROBE_ARGUMENT] => probe::report(),
        [PROBE_ARGUMENT, attempt, walls] => probe::attempt(attempt, walls),
        _ => refuse("this program runs sandboxed Python for a host, which starts it as `subprocess`"),
    }
}

fn serve_host() -> ExitCode {
    if LIVE_MEMORY.load(Ordering::Relaxed) == 0 {
        return refuse("this program counts no memory and cannot limit it: it lacks the worker's allocator");
    }
    silence_errors();
    end_on_panic();
    // All that is opened is opened now; behind the walls nothing can be.
    let sink = Sink::new(Peak::open());
    let confinement = Confinement::of_first_thread(Walls::ALL);
    let started = on_big_stack(move || {
        let (child, checker) = (Child::default(), Checker::default());
        confinement.of_whole_process(Walls::ALL);
        serve_requests(child, checker, sink)
    });
    match started {
        Ok(()) => watch_host(),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Does the work on a thread of its own, whose end is the end of the process.
fn on_big_stack(work: impl FnOnce() -> ExitCode + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name("serve".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || process::exit(if work() == ExitCode::SUCCESS { 0 } else { 1 }))
        .map(drop)
}

fn serve_requests(mut child: Child, mut checker: Checker, mut sink: Sink) -> ExitCode {
    let mut reader = FrameReader::new(io::stdin().lock());
    let mut session = Session::default();
    // Notes what a worker holds that has done nothing yet: no session pays for that.
    let _ = monty_alloc::set_limit(None, false);
    sink.peak.begin_session();
    loop {
        let outcome = match reader.read::<pb::ParentRequest>() {
            Ok(Some(request)) => answer(request, &mut child, &mut checker, &mut session, &mut sink),
            Ok(None) => return ExitCode::SUCCESS,
            // The frame was whole, only its content is wrong: the next one can still be read.
            Err(FrameError::Decode(error)) => sink
                .send(&protocol_violation(&format!("malformed request: {error}")))
                .map(|()| HandleOutcome::Continue),
            Err(error) => {
                // Best effort: the host is probably gone, and it sees the exit anyway.
                let _ = sink.send(&child.fatal_event(&format!("malformed request frame: {error}")));
                return ExitCode::FAILURE;
            }
        };
        match outcome {
            Ok(HandleOutcome::Continue) => {}
            Ok(HandleOutcome::Shutdown) => return ExitCode::SUCCESS,
            Ok(HandleOutcome::Fatal) => return ExitCode::FAILURE,
            Err(FrameError::FrameTooLarge { len, max }) => {
                let message = format!("response frame of {len} bytes exceeds maximum of {max} bytes");
                let _ = sink.send(&child.fatal_event(&message));
                return ExitCode::FAILURE;
            }
            Err(_) => return ExitCode::FAILURE,
        }
        if monty_alloc::set_limit(child.session_budget().max_memory, false).is_err() {
            return ExitCode::FAILURE;
        }
    }
}

/// What a worker knows about the session it serves.
#[derive(Default)]
struct Session {
    is_for_one_run: bool,
}

fn answer(
    request: pb::ParentRequest,
    child: &mut Child,
    checker: &mut Checker,
    session: &mut Session,
    sink: &mut Sink,
) -> Result<HandleOutcome, FrameError> {
    match &request.kind {
        // The engine has no use for this request; here it asks for a type check of sources that are not to run.
        Some(pb::parent_request::Kind::InstallDependencies(request)) => {
            sink.send(&checker.check(&request.requirements))?;
            return Ok(HandleOutcome::Continue);
        }
        // The next session begins where this one is cleared away. The host has its answer by then and does not wait.
        Some(pb::parent_request::Kind::Reset(_)) => {
            let outcome = child.handle(request, sink);
            sink.peak.begin_session();
            return outcome;
        }
        Some(pb::parent_request::Kind::Configure(_)) => {
            session.is_for_one_run = request.trace_parent.as_deref() == Some(ONE_RUN);
        }
        _ => {}
    }
    sink.peak.begin_turn();
    let may_end_run = session.is_for_one_run && request.kind.as_ref().is_some_and(runs_code);
    let outcome = child.handle(request, sink)?;
    sink.peak.end_turn();
    if !may_end_run || !sink.has_ended_light_run {
        return Ok(outcome);
    }
    // The host knows as well as we do that this session is over, and expects no word about it.
    session.is_for_one_run = false;
    let reset = pb::parent_request::Kind::Reset(pb::Reset {});
    let outcome = child.handle(pb::ParentRequest { kind: Some(reset), trace_parent: None }, &mut Silence)?;
    sink.peak.begin_session();
    Ok(outcome)
}

/// Swallows the answer to a request that nobody made.
struct Silence;

impl EventSink for Silence {
    fn send(&mut self, _: &pb::ChildEvent) -> Result<(), FrameError> {
        Ok(())
    }
}

/// Writes events to the host, each turn's last one together with the report of its memory.
struct Sink {
    output: Box<dyn Write + Send>,
    peak: Peak,
    frame: Vec<u8>,
    report: Vec<u8>,
    /// Whether what was sent last ends a run that held little.
    has_ended_light_run: bool,
}

impl Sink {
    fn new(peak: Peak) -> Self {
        Self {
            output: unbuffered_output(),
            peak,
            frame: Vec::new(),
            report: Vec::new(),
            has_ended_light_run: false,
        }
    }
}

impl EventSink for Sink {
    fn send(&mut self, event: &pb::ChildEvent) -> Result<(), FrameError> {
        use pb::child_event::Kind;
        let sent = encode_framed_into(event, &mut self.frame);
        let peak = match &event.kind {
            Some(Kind::Print(_)) => {
                self.peak.sample();
                sent?;
                self.output.write_all(&self.frame)?;
                self.output.flush()?;
                return Ok(());
            }
            // Code has run to its end: the one moment that is worth asking the kernel.
            Some(Kind::Complete(_) | Kind::Error(_)) => self.peak.measure(),
            _ => self.peak.sample(),
        };
        // Nothing may be written for an event that cannot be sent: the engine answers with a smaller one.
        sent?;
        encode_framed_into(&memory_report(peak), &mut self.report)?;
        self.has_ended_light_run = is_end_of_light_run(event, peak);
        if self.frame.len() <= JOIN_BYTES {
            self.report.extend_from_slice(&self.frame);
            self.output.write_all(&self.report)?;
        } else {
            self.output.write_all(&self.report)?;
            self.output.write_all(&self.frame)?;
            // One huge result must not count against the next session.
            self.frame = Vec::new();
        }
        self.output.flush()?;
        Ok(())
    }
}

/// A print on no stream, which sandboxed code cannot produce.
fn memory_report(bytes: u64) -> pb::ChildEvent {
    pb::ChildEvent {
        kind: Some(pb::child_event::Kind::Print(pb::Print {
            stream: pb::PrintStream::Unspecified.into(),
            text: bytes.to_string(),
        })),
        ..Default::default()
    }
}

/// Standard output without the line buffering, which would cut frames at every newline byte.
fn unbuffered_output() -> Box<dyn Write + Send> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        if let Ok(descriptor) = io::stdout().as_fd().try_clone_to_owned() {
            return Box::new(std::fs::File::from(descriptor));
        }
    }
    Box::new(io::stdout())
}

/// The engine's allocator and the standard library complain on standard error, which is the host's own terminal.
fn silence_errors() {
    #[cfg(unix)]
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        // Without it the worker is noisier, not less safe.
        let _ = rustix::stdio::dup2_stderr(null);
    }
}

/// Says why in the last frame the host will read, and ends at once: unwinding could meet whatever broke again.
fn end_on_panic() {
    let output = Mutex::new(unbuffered_output());
    std::panic::set_hook(Box::new(move |panic| {
        let event = fatal_error_event(&format!("the worker panicked: {panic}"));
        let mut frame = Vec::new();
        // A second panic in here finds the lock taken and goes straight to the end.
        if let Ok(mut output) = output.try_lock()
            && encode_framed_into(&event, &mut frame).is_ok()
        {
            let _ = output.write_all(&frame).and_then(|()| output.flush());
        }
        process::exit(PANIC_STATUS);
    }));
}

/// Keeps the first thread until the host is gone. The serving thread sees the end of its input only between two turns, and ends the
/// process itself; this one also ends a turn that would go on without anyone to read its result.
///
/// The kernel's parent-death signal would not do: it follows the *thread* that started the worker, and hosts start and end threads
/// at will.
fn watch_host() -> ExitCode {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, poll};
        let input = io::stdin();
        loop {
            let mut watched = [PollFd::new(&input, PollFlags::empty())];
            match poll(&mut watched, None) {
                Ok(_) if watched[0].revents().contains(PollFlags::HUP) => break,
                Ok(_) if watched[0].revents().is_empty() => {}
                Err(rustix::io::Errno::INTR) => {}
                // Input that cannot be watched: the serving thread alone decides.
                _ => loop {
                    thread::park();
                },
            }
        }
        // Requests written before the host left are still answered if they are quick.
        thread::sleep(std::time::Duration::from_secs(1));
        ExitCode::FAILURE
    }
    #[cfg(not(unix))]
    loop {
        thread::park();
    }
}

fn refuse(message: &str) -> ExitCode {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(io::stderr(), "error: {message}");
    ExitCode::from(2)
}
