//! Response bodies, bounded: how long they are, how long one line is, how long they pause, how long they take.
//!
//! A body is handed on line by line. The reader of event streams behind it looks at an unfinished line again with every piece that comes, so
//! a server that sent one long line byte by byte would keep it busy for hours.

use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use tokio::time::{Instant, timeout};

use super::wire::Call;
use crate::ModelError;

/// The lines of a body, each with its end. What is wrong with it is told to the call.
pub(super) fn bounded_lines(
    response: reqwest::Response,
    call: Call,
) -> impl Stream<Item = Result<Vec<u8>, ModelError>> + Send + 'static {
    let state = Lines {
        body: Box::pin(response.bytes_stream()),
        call,
        pending: Vec::new(),
        at: 0,
        line: Vec::new(),
        total: 0,
        is_over: false,
    };
    stream::unfold(state, |mut state| async move {
        if state.is_over {
            return None;
        }
        let line = state.next_line().await;
        let item = match line {
            Ok(Some(line)) => Ok(line),
            Ok(None) => return None,
            Err(error) => {
                state.is_over = true;
                Err(state.call.fail(error))
            }
        };
        Some((item, state))
    })
}

/// How the reading of a whole body ended.
pub(super) enum Ending {
    Whole,
    /// There is more than may be read.
    TooLong,
    Late,
    Broken(reqwest::Error),
}

/// The first `limit` bytes of a body, as far as they come before `until` without a pause that is too long.
pub(super) async fn start_of_body(
    response: reqwest::Response,
    limit: usize,
    silence: Duration,
    until: Instant,
) -> (Vec<u8>, Ending) {
    let mut body = Box::pin(response.bytes_stream());
    let mut bytes = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let piece = match timeout(silence.min(left), body.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(Some(Err(error))) => return (bytes, Ending::Broken(error)),
            Ok(None) => return (bytes, Ending::Whole),
            Err(_) => return (bytes, Ending::Late),
        };
        let room = limit - bytes.len();
        if piece.len() > room {
            bytes.extend_from_slice(&piece[..room]);
            return (bytes, Ending::TooLong);
        }
        bytes.extend_from_slice(&piece);
    }
}

struct Lines<S> {
    body: S,
    call: Call,
    /// What has come and is not yet handed on, from `at`.
    pending: Vec<u8>,
    at: usize,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    total: usize,
    is_over: bool,
}

impl<S, B> Lines<S>
where
    S: Stream<Item = Result<B, reqwest::Error>> + Unpin,
    B: AsRef<[u8]>,
{
    async fn next_line(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        let settings = self.call.settings.clone();
        loop {
            let rest = &self.pending[self.at..];
            let end = rest.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
            let length = end.unwrap_or(rest.len());
            if self.line.len() + length > settings.limits.line_bytes {
                return Err(self.call.too_long(settings.limits.line_bytes));
            }
            self.line.extend_from_slice(&rest[..length]);
            self.at += length;
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                self.call.hear(&line);
                return Ok(Some(line));
            }
            let Some(piece) = self.next_piece(settings.timeout).await? else {
                self.is_over = true;
                let line = std::mem::take(&mut self.line);
                self.call.hear(&line);
                return Ok((!line.is_empty()).then_some(line));
            };
            self.pending.clear();
            self.pending.extend_from_slice(piece.as_ref());
            self.at = 0;
            self.total += self.pending.len();
            if self.total > settings.limits.body_bytes {
                return Err(self.call.too_long(settings.limits.body_bytes));
            }
        }
    }

    async fn next_piece(&mut self, silence: Duration) -> Result<Option<B>, ModelError> {
        let left = self.call.deadline.saturating_duration_since(Instant::now());
        match timeout(silence.min(left), self.body.next()).await {
            Ok(Some(Ok(piece))) => Ok(Some(piece)),
            Ok(Some(Err(error))) => Err(self.call.interrupted(&error)),
            Ok(None) => Ok(None),
            Err(_) => Err(self.call.late()),
        }
    }
}
