//! The process that answers: started with a token, known to be ready by its first line, ended with whoever holds it.
//!
//! Its input stays open for as long as it is wanted, so that it ends with us however we end. What it says on its error output is passed on, and the
//! end of it is kept for the day it dies. Threads read both, so nothing here depends on anybody's runtime.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::oneshot;

use super::program::local_command;
use crate::ModelError;

/// Weights of some gigabytes take their time.
pub const READY_TIMEOUT: Duration = Duration::from_secs(300);
/// A longer line is no announcement.
const MAX_READY_BYTES: u64 = 64 * 1024;
/// What is kept of its error output.
const TAIL_LINES: usize = 20;
const MAX_LINE_BYTES: u64 = 4 * 1024;
/// How long a process that hung up may take to be gone.
const GRACE: Duration = Duration::from_millis(500);

/// Hears what a process says while it works.
pub(super) type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// What a process says of itself when it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Ready {
    pub port: u16,
    pub model: String,
    /// The hash of the weights and of the adapter.
    pub identity: String,
    #[serde(default)]
    pub parameters: u64,
    #[serde(default)]
    pub memory_bytes: u64,
}

#[derive(Deserialize)]
struct Announcement {
    ready: Ready,
}

/// A process that answers. Whoever drops it ends it.
pub(super) struct Process {
    child: Child,
    _input: Option<ChildStdin>,
    complaints: Complaints,
    pub(super) ready: Ready,
}

/// The end of what was said on the error output.
#[derive(Clone, Default)]
struct Tail(Arc<Mutex<VecDeque<String>>>);

struct Complaints {
    tail: Tail,
    reader: Option<JoinHandle<()>>,
}

/// Ends a child that nobody holds any more.
struct Guard(Option<Child>);

impl Process {
    /// Starts the program and waits until it is ready.
    pub(super) async fn start(
        model: &str,
        program: &Path,
        arguments: &[OsString],
        token: (&str, &str),
        listener: Listener,
        patience: Duration,
    ) -> Result<Self, ModelError> {
        let not_started = |reason: String, hint: Option<String>| ModelError::NotStarted {
            model: model.to_owned(),
            reason,
            hint,
        };
        let mut child = local_command(program)
            .args(arguments)
            .env(token.0, token.1)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(format!("`{}`: {error}", program.display()), None))?;
        let input = child.stdin.take();
        let announced = child.stdout.take().map(first_line);
        let complaints = Complaints::read(child.stderr.take(), listener);
        let mut guard = Guard(Some(child));
        let Some(announced) = announced else {
            return Err(not_started("it has no output".to_owned(), None));
        };
        let line = match tokio::time::timeout(patience, announced).await {
            Err(_) => {
                let reason = format!("it is not ready after {} seconds", patience.as_secs());
                return Err(not_started(reason, Some("a smaller model starts sooner".to_owned())));
            }
            Ok(line) => line.unwrap_or_default(),
        };
        let Some(mut child) = guard.0.take() else {
            return Err(not_started("it is gone".to_owned(), None));
        };
        if line.trim().is_empty() {
            let reason = reason_of_end(&mut child, complaints);
            return Err(not_started(reason.message, reason.hint));
        }
        match serde_json::from_str::<Announcement>(&line) {
            Ok(Announcement { ready }) => Ok(Self { child, _input: input, complaints, ready }),
            Err(error) => {
                drop(Guard(Some(child)));
                let shown: String = line.trim().chars().take(200).collect();
                Err(not_started(format!("its first line cannot be read ({error}): `{shown}`"), None))
            }
        }
    }

    /// Why it is gone, if it is.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let said = self.complaints.finish();
        Some(said.map_or_else(|| status.to_string(), |said| format!("{status}; its last words: {said}")))
    }

    /// The same, with a moment's patience: a connection breaks before its process is gone.
    pub(super) async fn ended_soon(&mut self) -> Option<String> {
        let started = Instant::now();
        loop {
            let ended = self.ended();
            if ended.is_some() || started.elapsed() > GRACE {
                return ended;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            end(child);
        }
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

struct EndReason {
    message: String,
    hint: Option<String>,
}

/// Why a process ended before it was ready: what it says itself, if it says so in the way of all our programs.
fn reason_of_end(child: &mut Child, mut complaints: Complaints) -> EndReason {
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if started.elapsed() < GRACE => thread::sleep(Duration::from_millis(10)),
            _ => break None,
        }
    };
    end(child);
    complaints.finish();
    let lines = complaints.tail.lines();
    let after = |mark: &str| {
        let found = lines.iter().rev().find_map(|line| line.trim().strip_prefix(mark));
        found.map(|text| text.trim().to_owned())
    };
    let ended = status.map_or_else(|| "it closed its output".to_owned(), |status| status.to_string());
    let message = after("error:").or_else(|| lines.last().map(|line| format!("{ended}: {line}")));
    EndReason { message: message.unwrap_or(ended), hint: after("hint:") }
}

impl Complaints {
    fn read(pipe: Option<impl Read + Send + 'static>, listener: Listener) -> Self {
        let tail = Tail::default();
        let reader = pipe.map(|pipe| {
            let tail = tail.clone();
            thread::spawn(move || {
                let mut pipe = BufReader::new(pipe);
                while let Some(line) = next_line(&mut pipe, MAX_LINE_BYTES) {
                    let line = line.trim_end();
                    if !line.is_empty() {
                        listener(line);
                        tail.push(line);
                    }
                }
            })
        });
        Self { tail, reader }
    }

    /// All that was said at the end, once nothing more can come.
    fn finish(&mut self) -> Option<String> {
        if let Some(reader) = self.reader.take() {
            let started = Instant::now();
            // Somebody else may hold the other end of the pipe.
            while !reader.is_finished() && started.elapsed() < GRACE {
                thread::sleep(Duration::from_millis(5));
            }
        }
        let lines = self.tail.lines();
        (!lines.is_empty()).then(|| lines.join(" / "))
    }
}

impl Tail {
    fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(300).collect());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The first line of an output. What comes later is read and dropped, so that nobody waits for it to be read.
fn first_line(pipe: impl Read + Send + 'static) -> oneshot::Receiver<String> {
    let (tell, told) = oneshot::channel();
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let line = next_line(&mut pipe, MAX_READY_BYTES).unwrap_or_default();
        let _ = tell.send(line);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    });
    told
}

/// The next line, or as much of it as may be; nothing at the end.
fn next_line(pipe: &mut impl BufRead, limit: u64) -> Option<String> {
    let mut line = Vec::new();
    match pipe.take(limit).read_until(b'\n', &mut line) {
        Ok(1..) => Some(String::from_utf8_lossy(&line).into_owned()),
        _ => None,
    }
}
