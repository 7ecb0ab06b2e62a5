//! Reading events back: as a stream, in the order of file names and lines, in bounded memory.
//!
//! Files are data from anywhere. Whatever is no event of this format is told with its file and line and left in place; nothing is invented
//! for it. Links are not followed, and files of forgotten sessions are not opened.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str;
use std::vec;

use memchr::memchr;
use rustc_hash::FxHashSet;
use serde::Deserialize;
use uuid::Uuid;

use super::append::{self, Hold};
use super::forget::forgotten_sessions;
use super::names::{EventFileName, events_folder};
use super::problem::{ReadProblem, ReadProblemKind, quoted};
use crate::error::FlywheelError;
use crate::event::{EVENT_VERSION, Event};

/// Longer lines are told, not held.
pub const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;
/// How much is read in one go.
const CHUNK_BYTES: usize = 256 * 1024;
/// How many ids are remembered to find duplicates. Beyond, the oldest half is dropped: memory is bounded, and copies of events stand close
/// together or in files of the same day.
const MAX_REMEMBERED_IDS: usize = 1_000_000;

/// An event, and where it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    pub event: Event,
    /// The name of the file in `.grail/events/`.
    pub file: String,
    /// From 1.
    pub line: u64,
    /// Where its line begins.
    pub offset: u64,
    /// The bytes of its line, with the line feed.
    pub length: u64,
}

/// Which events are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these sessions; all if there is no such set.
    pub sessions: Option<BTreeSet<String>>,
    /// Where to begin in a file, by its name; at its start if it is not here.
    pub resume: BTreeMap<String, Position>,
}

/// The border between two lines of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub offset: u64,
    /// How many lines come before.
    pub lines: u64,
}

/// All events that the filter lets through, and whatever is no event among them.
pub fn read_events(root: &Path, filter: &Filter) -> Result<EventReader, FlywheelError> {
    let folder = events_folder(root);
    let forgotten = forgotten_sessions(root)?;
    let files = event_files(&folder, filter)?;
    Ok(EventReader {
        folder,
        forgotten,
        resume: filter.resume.clone(),
        files: files.into_iter(),
        open: None,
        buffer: Vec::new(),
        seen: SeenIds::default(),
    })
}

/// For whoever knows how far each file was read: gives nothing until it is turned to a file.
pub(crate) fn read_single_files(root: &Path) -> EventReader {
    EventReader {
        folder: events_folder(root),
        forgotten: BTreeSet::new(),
        resume: BTreeMap::new(),
        files: Vec::new().into_iter(),
        open: None,
        buffer: Vec::new(),
        seen: SeenIds::default(),
    }
}

impl Filter {
    pub fn of_session(session: impl Into<String>) -> Self {
        Self { sessions: Some(BTreeSet::from([session.into()])), ..Self::default() }
    }
}

impl StoredEvent {
    /// Where the next line begins.
    pub fn end(&self) -> Position {
        Position { offset: self.offset + self.length, lines: self.line }
    }
}

/// The stream of events.
pub struct EventReader {
    folder: PathBuf,
    forgotten: BTreeSet<String>,
    resume: BTreeMap<String, Position>,
    files: vec::IntoIter<String>,
    open: Option<OpenFile>,
    buffer: Vec<u8>,
    seen: SeenIds,
}

struct OpenFile {
    name: String,
    file: File,
    /// Where the part of the buffer begins that was not given out yet.
    position: Position,
    /// That part.
    pending: Range<usize>,
    is_at_end: bool,
}

enum Line {
    /// With its line feed, if it has one.
    Whole(Range<usize>),
    Unfinished(Range<usize>),
    TooLong(u64),
    End,
}

impl Iterator for EventReader {
    type Item = Result<StoredEvent, ReadProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.open.is_none() {
                let name = self.files.next()?;
                match self.open_file(&name) {
                    Ok(file) => self.open = file,
                    Err(kind) => {
                        return Some(Err(ReadProblem { file: name, line: 0, offset: 0, length: 0, kind }));
                    }
                }
            }
            let Some(file) = self.open.as_mut() else { continue };
            match file.next_line(&mut self.buffer) {
                Ok(Line::End) => self.open = None,
                Ok(line) => {
                    if let Some(item) = self.give_out(line) {
                        return Some(item);
                    }
                }
                Err(error) => {
                    let kind = ReadProblemKind::Unreadable(error.to_string());
                    let file = self.open.take()?;
                    return Some(Err(file.problem(0, kind)));
                }
            }
        }
    }
}

impl EventReader {
    /// Reads one file from a place on, and knows no duplicates from others.
    pub(crate) fn turn_to(&mut self, file: &str, from: Position) {
        self.open = None;
        self.files = vec![file.to_owned()].into_iter();
        self.resume = BTreeMap::from([(file.to_owned(), from)]);
        self.seen = SeenIds::default();
    }

    /// None if there is nothing new in it.
    fn open_file(&mut self, name: &str) -> Result<Option<OpenFile>, ReadProblemKind> {
        let unreadable = |error: io::Error| ReadProblemKind::Unreadable(error.to_string());
        let path = self.folder.join(name);
        let session = EventFileName::parse(name).map(|name| name.session).unwrap_or_default();
        if self.forgotten.contains(session) {
            return Err(ReadProblemKind::Forgotten);
        }
        // Removed since the folder was listed.
        if !append::exists_as_file(&path).map_err(unreadable)? {
            return Ok(None);
        }
        let mut position = self.resume.get(name).copied().unwrap_or_default();
        let length = path.symlink_metadata().map_err(unreadable)?.len();
        if position.offset == length {
            return Ok(None);
        }
        let mut file = File::open(&path).map_err(unreadable)?;
        if position.offset > 0 {
            match line_border(&mut file, position.offset).map_err(unreadable)? {
                Some(offset) => position.offset = offset,
                None => return Err(ReadProblemKind::Rewritten),
            }
        }
        self.buffer.clear();
        Ok(Some(OpenFile { name: name.to_owned(), file, position, pending: 0..0, is_at_end: false }))
    }

    /// None for a line with nothing in it.
    fn give_out(&mut self, line: Line) -> Option<Result<StoredEvent, ReadProblem>> {
        let file = self.open.as_mut()?;
        let (range, is_whole) = match line {
            Line::Whole(range) => (range, true),
            Line::Unfinished(range) => (range, false),
            Line::TooLong(length) => {
                let problem = file.problem(length, ReadProblemKind::TooLong);
                file.advance(length);
                return Some(Err(problem));
            }
            Line::End => return None,
        };
        let bytes = &self.buffer[range.clone()];
        let length = bytes.len() as u64;
        let text = bytes.trim_ascii();
        if text.is_empty() {
            file.advance(length);
            return None;
        }
        let parsed = match parse_line(text) {
            Err(_) if !is_whole => Err(ReadProblemKind::Torn),
            other => other,
        };
        let checked = parsed.and_then(|event| {
            if EventFileName::parse(&file.name).is_none_or(|name| name.session != event.session) {
                return Err(ReadProblemKind::OtherSession(quoted(&event.session)));
            }
            match self.seen.insert(event.id) {
                true => Ok(event),
                false => Err(ReadProblemKind::Duplicate(event.id)),
            }
        });
        let item = match checked {
            Ok(event) => Ok(StoredEvent {
                event,
                file: file.name.clone(),
                line: file.position.lines + 1,
                offset: file.position.offset,
                length,
            }),
            Err(kind) => Err(file.problem(length, kind)),
        };
        file.advance(length);
        Some(item)
    }
}

impl OpenFile {
    fn problem(&self, length: u64, kind: ReadProblemKind) -> ReadProblem {
        ReadProblem {
            file: self.name.clone(),
            line: self.position.lines + 1,
            offset: self.position.offset,
            length,
            kind,
        }
    }

    fn advance(&mut self, length: u64) {
        self.position.offset += length;
        self.position.lines += 1;
    }

    fn next_line(&mut self, buffer: &mut Vec<u8>) -> io::Result<Line> {
        let mut searched = self.pending.start;
        loop {
            if let Some(found) = memchr(b'\n', &buffer[searched..self.pending.end]) {
                let line = self.pending.start..searched + found + 1;
                self.pending.start = line.end;
                return Ok(Line::Whole(line));
            }
            searched = self.pending.end;
            if self.is_at_end {
                return self.last_line(buffer);
            }
            if self.pending.len() > MAX_LINE_BYTES {
                return self.skip_line(buffer);
            }
            if self.pending.start > 0 {
                buffer.copy_within(self.pending.clone(), 0);
                searched -= self.pending.start;
                self.pending = 0..self.pending.len();
            }
            self.fill(buffer)?;
        }
    }

    /// What comes after the last line feed. A writer may be in the middle of it: its lock tells.
    fn last_line(&mut self, buffer: &mut Vec<u8>) -> io::Result<Line> {
        if self.pending.is_empty() {
            return Ok(Line::End);
        }
        if append::lock(&self.file, Hold::Shared).is_ok() {
            let read = self.fill(buffer)?;
            self.file.unlock()?;
            if read > 0 {
                self.is_at_end = false;
                return self.next_line(buffer);
            }
        }
        let line = self.pending.clone();
        self.pending = line.end..line.end;
        Ok(Line::Unfinished(line))
    }

    /// Passes over a line that is too long, holding none of it.
    fn skip_line(&mut self, buffer: &mut Vec<u8>) -> io::Result<Line> {
        let mut skipped = self.pending.len() as u64;
        loop {
            self.pending = 0..0;
            if self.fill(buffer)? == 0 {
                return Ok(Line::TooLong(skipped));
            }
            if let Some(found) = memchr(b'\n', &buffer[..self.pending.end]) {
                self.pending.start = found + 1;
                return Ok(Line::TooLong(skipped + found as u64 + 1));
            }
            skipped += self.pending.len() as u64;
        }
    }

    fn fill(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let end = self.pending.end;
        if buffer.len() < end + CHUNK_BYTES {
            buffer.resize(end + CHUNK_BYTES, 0);
        }
        let read = loop {
            match self.file.read(&mut buffer[end..end + CHUNK_BYTES]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.pending.end = end + read;
        self.is_at_end = read == 0;
        Ok(read)
    }
}

/// Where a reader goes on that had read up to `offset`, and leaves the file there. None if no line begins there.
fn line_border(file: &mut File, offset: u64) -> io::Result<Option<u64>> {
    let mut around = Vec::new();
    file.seek(SeekFrom::Start(offset - 1))?;
    file.take(2).read_to_end(&mut around)?;
    let border = match around.as_slice() {
        [b'\n', _] => offset,
        // What was read was the whole of a line that had no line feed yet.
        [_, b'\n'] => offset + 1,
        _ => return Ok(None),
    };
    file.seek(SeekFrom::Start(border))?;
    Ok(Some(border))
}

/// One line, without its line feed.
pub(crate) fn parse_line(line: &[u8]) -> Result<Event, ReadProblemKind> {
    let text = str::from_utf8(line).map_err(|_| ReadProblemKind::NotUtf8)?;
    match serde_json::from_str::<Event>(text) {
        Ok(event) if event.version > EVENT_VERSION => {
            Err(ReadProblemKind::NewerVersion(u64::from(event.version)))
        }
        Ok(event) => Ok(event),
        Err(error) => Err(explain(text, &error)),
    }
}

/// Why a line is no event of this format.
fn explain(text: &str, error: &serde_json::Error) -> ReadProblemKind {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    #[derive(Deserialize)]
    struct Named {
        event: String,
    }
    if let Ok(Head { version }) = serde_json::from_str(text)
        && version > u64::from(EVENT_VERSION)
    {
        return ReadProblemKind::NewerVersion(version);
    }
    let message = error.to_string();
    if message.starts_with("unknown variant")
        && let Ok(Named { event }) = serde_json::from_str(text)
        && message.contains(&format!("`{event}`"))
    {
        return ReadProblemKind::UnknownKind(quoted(&event));
    }
    // Lines of files are counted elsewhere; this one is always the first of its text.
    ReadProblemKind::Malformed(quoted(&message.replace(" at line 1 column ", ", at byte ")))
}

/// The files of events, sorted by name. Other files are not looked at.
fn event_files(folder: &Path, filter: &Filter) -> Result<Vec<String>, FlywheelError> {
    let failed = |source| FlywheelError::storage(folder, source);
    append::refuse_link(folder).map_err(failed)?;
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let is_wanted = |name: EventFileName<'_>| {
        filter.sessions.as_ref().is_none_or(|sessions| sessions.contains(name.session))
    };
    let mut files = Vec::new();
    for entry in entries {
        let Ok(name) = entry.map_err(failed)?.file_name().into_string() else { continue };
        if EventFileName::parse(&name).is_some_and(is_wanted) {
            files.push(name);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Ids of events that were read, as many as fit.
#[derive(Default)]
struct SeenIds {
    recent: FxHashSet<Uuid>,
    older: FxHashSet<Uuid>,
}

impl SeenIds {
    /// False if it was there.
    fn insert(&mut self, id: Uuid) -> bool {
        if self.older.contains(&id) {
            return false;
        }
        if self.recent.len() >= MAX_REMEMBERED_IDS / 2 {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(id)
    }
}
