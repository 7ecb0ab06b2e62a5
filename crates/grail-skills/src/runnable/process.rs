//! One program of a skill while it runs: started with a clean environment, read line by line within bounds, ended with everything it started.
//!
//! A keeper thread starts the program and outlives it. When the program ends, whatever is left of its process group is ended at once; when the
//! [`Process`] is dropped, so is the program. What it says is bytes; whoever asked decides whether they make sense.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::fence::{LauncherWord, REPORT_PREFIX};

/// Lines that wait to be looked at. A program that says more has to wait: its pipe fills up.
const WAITING_LINES: usize = 16;
const CHUNK: usize = 64 * 1024;
/// How long the output of a program that has ended may stay open, held by something that left its group; and how long a program that has
/// closed its output may take to end.
const GRACE: Duration = Duration::from_millis(500);
/// The launcher's line on stderr is far shorter.
const MAX_LAUNCHER_LINE: usize = 16 * 1024;

/// What to start.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: PathBuf,
    /// All there is.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether the program is a launcher, which says on its first line of stderr how it went.
    pub(crate) is_launched: bool,
    pub(crate) max_line_bytes: usize,
    pub(crate) stderr_bytes: usize,
}

/// A program that does not outlive its owner.
pub(crate) struct Process {
    events: Option<Receiver<Event>>,
    input: Option<Sender<Vec<u8>>>,
    launcher: Receiver<LauncherWord>,
    errors: Arc<Mutex<Tail>>,
    errors_ended: Receiver<()>,
    leader: Arc<Leader>,
    keeper: Option<JoinHandle<()>>,
    output_closed: bool,
    ending: Option<Ending>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Code(i32),
    Signal(i32),
    Unknown,
}

/// Why there is no next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Deadline,
    LineTooLong,
    /// It goes on, but it will say nothing more.
    OutputClosed,
    Ended(Ending),
}

enum Event {
    Line(Vec<u8>),
    LineTooLong,
    OutputClosed,
    Ended(Ending),
}

impl Process {
    pub(crate) fn start(program: &Program) -> io::Result<Self> {
        let (events, received) = mpsc::sync_channel(WAITING_LINES);
        let leader = Arc::new(Leader::default());
        let (keeper, pipes) = keep(program, Arc::clone(&leader), events.clone())?;
        // From here on dropping the process ends the program, also if a thread cannot be had.
        let (input, lines_to_write) = mpsc::channel();
        let (launcher_said, launcher) = mpsc::channel();
        let (errors_end, errors_ended) = mpsc::channel();
        let errors = Arc::new(Mutex::new(Tail::new(program.stderr_bytes)));
        let process = Self {
            events: Some(received),
            input: Some(input),
            launcher,
            errors: Arc::clone(&errors),
            errors_ended,
            leader,
            keeper: Some(keeper),
            output_closed: false,
            ending: None,
        };
        let max_line_bytes = program.max_line_bytes;
        spawn("grail-skill-output", move || read_lines(pipes.stdout, max_line_bytes, &events))?;
        spawn("grail-skill-input", move || write_lines(pipes.stdin, &lines_to_write))?;
        let launcher_said = program.is_launched.then_some(launcher_said);
        spawn("grail-skill-errors", move || {
            read_errors(pipes.stderr, launcher_said, &errors);
            drop(errors_end);
        })?;
        Ok(process)
    }

    /// The number of the program, which is also that of its process group.
    pub(crate) fn id(&self) -> u32 {
        self.leader.lock().id
    }

    /// Queues a line; the line end is added. Nothing here waits for the program to read it.
    pub(crate) fn write_line(&mut self, mut line: Vec<u8>) {
        line.push(b'\n');
        if let Some(input) = &self.input {
            // A program that has ended reads nothing; its end is reported where its answer is awaited.
            let _ = input.send(line);
        }
    }

    /// Its standard input ends after what was written.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// The next line without its end, or why there is none.
    pub(crate) fn next_line(&mut self, deadline: Instant) -> Result<Vec<u8>, Stop> {
        let mut until = deadline;
        loop {
            match (self.ending, self.output_closed) {
                (Some(ending), true) => return Err(Stop::Ended(ending)),
                // Lines that were written before the end are still on their way.
                (Some(_), false) | (None, true) => until = until.min(Instant::now() + GRACE),
                (None, false) => {}
            }
            let Some(events) = &self.events else {
                return Err(Stop::Ended(self.ending.unwrap_or(Ending::Unknown)));
            };
            match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Line(line)) => return Ok(line),
                Ok(Event::LineTooLong) => return Err(Stop::LineTooLong),
                Ok(Event::OutputClosed) => self.output_closed = true,
                Ok(Event::Ended(ending)) => self.ending = Some(ending),
                Err(RecvTimeoutError::Disconnected) => {
                    self.output_closed = true;
                    self.ending.get_or_insert(Ending::Unknown);
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(match (self.ending, self.output_closed) {
                        (Some(ending), _) => Stop::Ended(ending),
                        (None, true) if until < deadline => Stop::OutputClosed,
                        (None, _) => Stop::Deadline,
                    });
                }
            }
        }
    }

    /// Waits for the end and drops what is said until then.
    pub(crate) fn wait(&mut self, deadline: Instant) -> Option<Ending> {
        loop {
            match self.next_line(deadline) {
                Ok(_) => {}
                Err(Stop::Ended(ending)) => return Some(ending),
                Err(Stop::OutputClosed) if Instant::now() < deadline => {}
                Err(_) => return None,
            }
        }
    }

    /// Ends the program and everything in its group.
    pub(crate) fn kill(&mut self) {
        self.leader.kill_group();
        self.input = None;
        // Whoever still wants to tell us something must not wait for us.
        self.events = None;
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }

    /// Whether it was ended from here.
    pub(crate) fn is_killed(&self) -> bool {
        self.keeper.is_none()
    }

    /// What the launcher said, once: it speaks before the program does.
    pub(crate) fn launcher_word(&self, patience: Duration) -> Option<LauncherWord> {
        self.launcher.recv_timeout(patience).ok()
    }

    /// The end of what it wrote to stderr so far; of a program that has ended, the end of all of it.
    pub(crate) fn errors(&self) -> Vec<u8> {
        if self.keeper.is_none() || self.ending.is_some() {
            let _ = self.errors_ended.recv_timeout(GRACE);
        }
        lock(&self.errors).bytes()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Ending {
    fn new(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        status.code().map_or(Self::Unknown, Self::Code)
    }
}

/// The program itself, as long as its number is its own.
#[derive(Default)]
struct Leader {
    state: Mutex<LeaderState>,
}

#[derive(Default)]
struct LeaderState {
    id: u32,
    is_over: bool,
    #[cfg(not(unix))]
    is_unwanted: bool,
}

impl Leader {
    fn lock(&self) -> MutexGuard<'_, LeaderState> {
        lock(&self.state)
    }

    fn kill_group(&self) {
        let state = self.lock();
        if !state.is_over {
            #[cfg(unix)]
            kill_group(state.id);
            #[cfg(not(unix))]
            {
                let mut state = state;
                state.is_unwanted = true;
            }
        }
    }
}

struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

/// Starts the program on a thread that stays until it is over.
fn keep(
    program: &Program,
    leader: Arc<Leader>,
    events: SyncSender<Event>,
) -> io::Result<(JoinHandle<()>, Pipes)> {
    let (started, start) = mpsc::channel();
    let mut command = command(program);
    let keeper = spawn("grail-skill-keeper", move || {
        let started_child = start_command(&mut command).and_then(|mut child| match take_pipes(&mut child) {
            Some(pipes) => Ok((child, pipes)),
            None => {
                let _ = child.kill().and_then(|()| child.wait());
                Err(ErrorKind::BrokenPipe.into())
            }
        });
        let mut child = match started_child {
            Ok((child, pipes)) => {
                leader.lock().id = child.id();
                // Nobody waits for it any more: the end of the channel is the end of the program.
                if started.send(Ok(pipes)).is_err() {
                    leader.kill_group();
                }
                child
            }
            Err(error) => {
                let _ = started.send(Err(error));
                return;
            }
        };
        let ending = attend(&mut child, &leader);
        let _ = events.send(Event::Ended(ending));
    })?;
    let pipes = start.recv().map_err(|_| io::Error::from(ErrorKind::BrokenPipe))??;
    Ok((keeper, pipes))
}

fn take_pipes(child: &mut Child) -> Option<Pipes> {
    Some(Pipes { stdin: child.stdin.take()?, stdout: child.stdout.take()?, stderr: child.stderr.take()? })
}

/// Waits for the end, ends what is left of the group, and only then lets the system give the number to somebody else.
#[cfg(unix)]
fn attend(child: &mut Child, leader: &Leader) -> Ending {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(Pid::from_child(child)), options) {}
    let mut state = leader.lock();
    kill_group(state.id);
    state.is_over = true;
    child.wait().map_or(Ending::Unknown, Ending::new)
}

#[cfg(not(unix))]
fn attend(child: &mut Child, leader: &Leader) -> Ending {
    loop {
        let mut state = leader.lock();
        if state.is_unwanted {
            let _ = child.kill();
        }
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => {
                state.is_over = true;
                return Ending::new(status);
            }
            Err(_) => return Ending::Unknown,
        }
        drop(state);
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(unix)]
fn kill_group(id: u32) {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    let Some(leader) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return };
    // Either may be gone already; and where nothing forbids it, the leader may have moved to another group.
    let _ = kill_process_group(leader, Signal::KILL);
    let _ = kill_process(leader, Signal::KILL);
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.program);
    command.args(&program.arguments).current_dir(&program.directory);
    command.env_clear().envs(program.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// A program that was written a moment ago may still be open in a process forked at the same time.
fn start_command(command: &mut Command) -> io::Result<Child> {
    let mut attempts = 0;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && attempts < 20 => attempts += 1,
            other => return other,
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(body)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_lines(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>) {
    while let Ok(line) = lines.recv() {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Splits while reading: of a line that is too long no more is kept than shows that it is.
fn read_lines(mut stdout: ChildStdout, max_line_bytes: usize, events: &SyncSender<Event>) {
    let mut line = Vec::new();
    let mut chunk = vec![0; CHUNK];
    while let Some(mut bytes) = read_some(&mut stdout, &mut chunk) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            if line.len() + end > max_line_bytes {
                let _ = events.send(Event::LineTooLong);
                return;
            }
            line.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            if events.send(Event::Line(std::mem::take(&mut line))).is_err() {
                return;
            }
        }
        if line.len() + bytes.len() > max_line_bytes {
            let _ = events.send(Event::LineTooLong);
            return;
        }
        line.extend_from_slice(bytes);
    }
    if !line.is_empty() {
        let _ = events.send(Event::Line(line));
    }
    let _ = events.send(Event::OutputClosed);
}

fn read_errors(mut stderr: ChildStderr, launcher_said: Option<Sender<LauncherWord>>, errors: &Mutex<Tail>) {
    let mut chunk = vec![0; CHUNK];
    let mut launcher = launcher_said.map(|sender| (sender, Vec::new()));
    while let Some(bytes) = read_some(&mut stderr, &mut chunk) {
        let Some((sender, line)) = &mut launcher else {
            lock(errors).push(bytes);
            continue;
        };
        line.extend_from_slice(bytes);
        let end = line.iter().position(|byte| *byte == b'\n');
        let (word, rest) = match end {
            Some(end) => (launcher_word(&line[..end]), end + 1),
            None if line.len() > MAX_LAUNCHER_LINE => (None, 0),
            None => continue,
        };
        match word {
            Some(word) => {
                let _ = sender.send(word);
                lock(errors).push(&line[rest..]);
            }
            // Not a launcher of ours: what it says is said by the program.
            None => lock(errors).push(line),
        }
        launcher = None;
    }
    if let Some((_, line)) = launcher {
        lock(errors).push(&line);
    }
}

/// A line of the launcher's. Only the first one on stderr is sure to be its own.
pub(crate) fn launcher_word(line: &[u8]) -> Option<LauncherWord> {
    serde_json::from_str(std::str::from_utf8(line).ok()?.strip_prefix(REPORT_PREFIX)?).ok()
}

fn read_some<'c>(pipe: &mut impl Read, chunk: &'c mut [u8]) -> Option<&'c [u8]> {
    loop {
        match pipe.read(chunk) {
            Ok(0) => return None,
            Ok(count) => return Some(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// The last bytes of a stream.
struct Tail {
    kept: Vec<u8>,
    most: usize,
}

impl Tail {
    fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        // Not at every push: moving the bytes each time would cost more than reading them.
        if self.kept.len() > self.most + CHUNK {
            self.kept.drain(..self.kept.len() - self.most);
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.kept[self.kept.len().saturating_sub(self.most)..].to_vec()
    }
}
