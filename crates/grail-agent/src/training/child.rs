//! A trainer's process: heard line by line, ended when somebody wants it to end.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::training_error;
use crate::AgentError;

const MAX_LINE_BYTES: u64 = 1 << 20;
const TAIL_LINES: usize = 12;
const GLANCE: Duration = Duration::from_millis(100);

/// Where a line was said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Errors,
}

/// Runs a trainer to its end. A mistake of whoever hears ends it at once; so does an interruption, which is an error of its own. Nothing is ever
/// written to `input`: a pipe is held open until then, so that a trainer that watches it ends with us, however we end.
pub(super) fn run(
    mut command: Command,
    input: Stdio,
    trainer: &str,
    is_interrupted: &dyn Fn() -> bool,
    mut hear: impl FnMut(Stream, &str) -> Result<(), AgentError>,
) -> Result<(), AgentError> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| AgentError::Training {
        message: format!("the trainer `{trainer}` cannot be started: `{program}`: {error}"),
        hint: None,
    })?;
    let (said, heard) = channel();
    let readers = [
        child.stdout.take().map(|pipe| read_lines(pipe, Stream::Output, said.clone())),
        child.stderr.take().map(|pipe| read_lines(pipe, Stream::Errors, said.clone())),
    ];
    drop(said);
    let mut tail: VecDeque<String> = VecDeque::new();
    let result = loop {
        if is_interrupted() {
            break Err(AgentError::TrainingInterrupted { trainer: trainer.to_owned() });
        }
        match heard.recv_timeout(GLANCE) {
            Ok((stream, line)) => {
                if stream == Stream::Errors {
                    tail.push_back(line.clone());
                    if tail.len() > TAIL_LINES {
                        tail.pop_front();
                    }
                }
                if let Err(error) = hear(stream, &line) {
                    break Err(error);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break Ok(()),
        }
    };
    if result.is_err() {
        let _ = child.kill();
    }
    let status = child.wait();
    readers.into_iter().flatten().for_each(|reader| drop(reader.join()));
    if let Err(AgentError::TrainingInterrupted { .. }) = &result {
        // What was measured before it ended is known all the same.
        heard.try_iter().for_each(|(stream, line)| drop(hear(stream, &line)));
    }
    result?;
    match status {
        Ok(status) if status.success() => Ok(()),
        // The terminal has told the trainer before us.
        _ if is_interrupted() => Err(AgentError::TrainingInterrupted { trainer: trainer.to_owned() }),
        Ok(status) => Err(failure(trainer, status, tail.make_contiguous())),
        Err(error) => Err(training_error(format!("the trainer `{trainer}`: {error}"), "try again")),
    }
}

/// What a trainer that failed says of itself: in the way of our own programs, or in its last words.
fn failure(trainer: &str, status: ExitStatus, tail: &[String]) -> AgentError {
    let after = |mark: &str| {
        let found = tail.iter().rev().find_map(|line| line.trim().strip_prefix(mark));
        found.map(|text| text.trim().to_owned())
    };
    if let Some(message) = after("error:") {
        return AgentError::Training { message, hint: after("hint:") };
    }
    let last = tail.iter().rev().find(|line| !line.trim().is_empty());
    let message = match last {
        Some(last) => format!("the trainer `{trainer}` failed ({status}): {}", last.trim()),
        None => format!("the trainer `{trainer}` failed without a word ({status})"),
    };
    AgentError::Training { message, hint: None }
}

fn read_lines(
    pipe: impl Read + Send + 'static,
    stream: Stream,
    said: Sender<(Stream, String)>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            match (&mut pipe).take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
                Ok(1..) => {}
                _ => return,
            }
            // Progress bars write over their own line.
            let line = String::from_utf8_lossy(&line);
            let line = without_styles(line.trim_end().rsplit('\r').next().unwrap_or_default());
            let line = line.trim_end().to_owned();
            if !line.is_empty() && said.send((stream, line)).is_err() {
                return;
            }
        }
    })
}

/// A line without colours: mlx-lm writes them to whoever reads it.
fn without_styles(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|character: char| matches!(character, '@'..='~'));
        plain.push_str(end.map_or("", |end| &part[end + 1..]));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_no_part_of_what_is_said() {
        let line = "  \x1b[38;5;244m   1\x1b[0m    \x1b[1;32m5.988 ▼\x1b[0m    \x1b[1m    1\x1b[0m";
        assert_eq!(without_styles(line), "     1    5.988 ▼        1");
        assert_eq!(without_styles("plain [1] text"), "plain [1] text");
        assert_eq!(without_styles("cut off \x1b[38;5"), "cut off ");
    }
}
