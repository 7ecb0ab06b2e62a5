//! Lines of bounded length. One that is longer is told as such and skipped to its end, without keeping it.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

pub(super) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    TooLong,
}

pub(super) struct Lines<Input> {
    input: BufReader<Input>,
    most: usize,
}

impl<Input: AsyncRead + Unpin> Lines<Input> {
    pub(super) fn new(input: Input, most: usize) -> Self {
        Self { input: BufReader::new(input), most }
    }

    /// The next line; the last one needs no end. `None` when there is no more.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let (mut is_too_long, mut is_empty) = (false, true);
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(match (is_empty, is_too_long) {
                    (true, _) => None,
                    (_, true) => Some(Line::TooLong),
                    _ => Some(Line::Whole(line)),
                });
            }
            is_empty = false;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            is_too_long |= line.len() + part.len() > self.most;
            match is_too_long {
                true => line = Vec::new(),
                false => line.extend_from_slice(part),
            }
            let taken = part.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() {
                return Ok(Some(if is_too_long { Line::TooLong } else { Line::Whole(line) }));
            }
        }
    }
}
