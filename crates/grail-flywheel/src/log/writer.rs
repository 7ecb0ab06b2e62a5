//! The writer: events are handed over to a queue, and a thread of its own takes them to the disk.
//!
//! Handing over never waits for a disk. Whatever came together while the last batch was being written is the next batch, with one write and
//! one sync for each file. A [`Ticket`] tells when an event is safe. An event is kept whole or not at all, and if not, it is told why.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use grail_project::{EventSettings, SyncPolicy};
use rustc_hash::FxHashMap;

use super::append::{Appender, HeldFolder, Hold, Notices, Safety, Written};
use super::forget::Forgotten;
use super::names::{day_of, event_file};
use super::problem::quoted;
use super::weight::{TooMuch, weigh};
use crate::error::FlywheelError;
use crate::event::{Event, EventSink, is_session_name, now};
use crate::redact::Redactor;

/// Events that take more as a line are refused.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;
/// What may wait for the disk.
const MAX_QUEUE_BYTES: usize = 64 * 1024 * 1024;
/// Where a batch is full. The smaller, the sooner it is acknowledged; the larger, the fewer syncs.
const MAX_BATCH_EVENTS: usize = 4096;
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How many files are written before all of them are synced.
const MAX_OPEN_FILES: usize = 32;
/// What an event takes beside its texts.
const EVENT_OVERHEAD: usize = 512;
/// How many sessions the day is remembered for.
const MAX_KNOWN_SESSIONS: usize = 4096;
/// More notices are not kept.
const MAX_NOTICES: usize = 20;

/// The memory of a project, open for writing. Dropping it waits until everything is written.
pub struct EventLog {
    /// None where events are not kept.
    writer: Option<Writer>,
}

struct Writer {
    shared: Arc<Shared>,
    batch_events: usize,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    /// There is something to write, or nothing more will come.
    wake: Condvar,
    report: Mutex<Report>,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    /// What those and the one being written weigh.
    bytes: usize,
    /// The one being written.
    current: Option<Arc<BatchOutcome>>,
    is_writer_waiting: bool,
    is_closed: bool,
}

#[derive(Default)]
struct Report {
    lost: u64,
    first: Option<NotKept>,
    notices: Vec<String>,
}

/// Events that share their fate: one write and one sync.
struct Batch {
    // In boxes, so that growing the list while an event is handed over moves little.
    #[allow(clippy::vec_box)]
    events: Vec<Box<Event>>,
    bytes: usize,
    outcome: Arc<BatchOutcome>,
}

#[derive(Default)]
struct BatchOutcome {
    /// Once written: the events that were not kept, by their place in the batch.
    state: Mutex<Option<FxHashMap<usize, NotKept>>>,
    is_done: Condvar,
}

/// Why an event was not kept.
#[derive(Clone, Debug)]
struct NotKept {
    message: String,
    hint: Option<String>,
}

/// Tells when an event is safe.
#[must_use = "an event is safe only after its ticket was waited for"]
pub struct Ticket(TicketState);

enum TicketState {
    Queued {
        outcome: Arc<BatchOutcome>,
        place: usize,
    },
    Refused(NotKept),
    /// Events are not kept in this project, as it wishes.
    Disabled,
}

impl EventLog {
    /// The memory of the project at `root`. Folders are made with the first event.
    pub fn open(root: &Path, settings: &EventSettings) -> Result<Self, FlywheelError> {
        if !settings.enabled {
            return Ok(Self { writer: None });
        }
        let shared =
            Arc::new(Shared { queue: Mutex::default(), wake: Condvar::new(), report: Mutex::default() });
        let state = WriterState {
            shared: Arc::clone(&shared),
            appender: Appender::new(root, settings.sync),
            forgotten: Forgotten::default(),
            days: FxHashMap::default(),
        };
        let thread = thread::Builder::new()
            .name("grail-events".to_owned())
            .spawn(move || state.run())
            .map_err(|source| FlywheelError::storage(&PathBuf::from("grail-events"), source))?;
        let batch_events = match settings.sync {
            SyncPolicy::Always => 1,
            SyncPolicy::Group | SyncPolicy::Never => MAX_BATCH_EVENTS,
        };
        Ok(Self { writer: Some(Writer { shared, batch_events, thread: Some(thread) }) })
    }

    /// Hands an event over. Does no input or output, and does not wait for those who do.
    pub fn append(&self, event: Event) -> Ticket {
        let Some(writer) = &self.writer else { return Ticket(TicketState::Disabled) };
        match writer.enqueue(event) {
            Ok((outcome, place)) => Ticket(TicketState::Queued { outcome, place }),
            Err(refusal) => {
                writer.shared.note_lost(&refusal);
                Ticket(TicketState::Refused(refusal))
            }
        }
    }

    /// Waits until everything that was handed over is on the disk, or was given up.
    pub fn flush(&self) -> Result<(), FlywheelError> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let last = {
            let queue = held(&writer.shared.queue);
            queue.batches.back().map(|batch| Arc::clone(&batch.outcome)).or_else(|| queue.current.clone())
        };
        if let Some(outcome) = last {
            drop(outcome.wait());
        }
        match held(&writer.shared.report).first.clone() {
            Some(NotKept { message, hint }) => Err(FlywheelError::NotKept { message, hint }),
            None => Ok(()),
        }
    }

    /// What could not be kept, if there is something.
    pub fn problem(&self) -> Option<String> {
        let report = held(&self.writer.as_ref()?.shared.report);
        let first = report.first.as_ref()?;
        Some(match report.lost {
            1 => format!("an event was not kept: {}", first.message),
            lost => format!("{lost} events were not kept, the first because: {}", first.message),
        })
    }

    /// What was found broken in the files, and mended.
    pub fn notices(&self) -> Vec<String> {
        match &self.writer {
            Some(writer) => held(&writer.shared.report).notices.clone(),
            None => Vec::new(),
        }
    }
}

impl EventSink for EventLog {
    fn record(&self, event: Event) {
        let _unwatched = self.append(event);
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        let Some(writer) = &mut self.writer else { return };
        held(&writer.shared.queue).is_closed = true;
        writer.shared.wake.notify_one();
        if let Some(thread) = writer.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Ticket {
    /// Waits until the event is on the disk, as surely as the settings ask for.
    pub fn wait(self) -> Result<(), FlywheelError> {
        let refusal = match self.0 {
            TicketState::Disabled => None,
            TicketState::Refused(refusal) => Some(refusal),
            TicketState::Queued { outcome, place } => {
                let state = outcome.wait();
                state.as_ref().and_then(|failures| failures.get(&place).cloned())
            }
        };
        match refusal {
            Some(NotKept { message, hint }) => Err(FlywheelError::NotKept { message, hint }),
            None => Ok(()),
        }
    }
}

impl Writer {
    fn enqueue(&self, event: Event) -> Result<(Arc<BatchOutcome>, usize), NotKept> {
        let bytes =
            weigh(&event, MAX_EVENT_BYTES).map_err(|reason| refused(&event, reason))? + EVENT_OVERHEAD;
        if !is_session_name(&event.session) {
            return Err(NotKept::new(format!("`{}` is no name of a session", quoted(&event.session)), None));
        }
        let event = Box::new(event);
        let mut queue = held(&self.shared.queue);
        if queue.is_closed {
            return Err(NotKept::new("the writer of events has stopped".to_owned(), None));
        }
        if queue.bytes + bytes > MAX_QUEUE_BYTES {
            let message = "the disk takes events slower than they come, and no more can wait".to_owned();
            return Err(NotKept::new(message, Some("set `sync = \"never\"` under `[events]`".to_owned())));
        }
        queue.bytes += bytes;
        let has_room =
            |batch: &Batch| batch.events.len() < self.batch_events && batch.bytes + bytes <= MAX_BATCH_BYTES;
        if !queue.batches.back().is_some_and(has_room) {
            queue.batches.push_back(Batch { events: Vec::new(), bytes: 0, outcome: Arc::default() });
        }
        let Some(batch) = queue.batches.back_mut() else {
            return Err(NotKept::new("the writer of events has stopped".to_owned(), None));
        };
        batch.bytes += bytes;
        batch.events.push(event);
        let ticket = (Arc::clone(&batch.outcome), batch.events.len() - 1);
        let must_wake = std::mem::take(&mut queue.is_writer_waiting);
        drop(queue);
        if must_wake {
            self.shared.wake.notify_one();
        }
        Ok(ticket)
    }
}

impl Shared {
    fn note_lost(&self, reason: &NotKept) {
        let mut report = held(&self.report);
        report.lost += 1;
        report.first.get_or_insert_with(|| reason.clone());
    }
}

impl BatchOutcome {
    fn wait(&self) -> MutexGuard<'_, Option<FxHashMap<usize, NotKept>>> {
        let state = held(&self.state);
        self.is_done.wait_while(state, |state| state.is_none()).unwrap_or_else(PoisonError::into_inner)
    }

    fn complete(&self, failures: FxHashMap<usize, NotKept>) {
        held(&self.state).get_or_insert(failures);
        self.is_done.notify_all();
    }
}

/// Whoever waits for a batch is answered, also if the writer came to grief over it.
impl Drop for Batch {
    fn drop(&mut self) {
        let stopped = NotKept::new("the writer of events has stopped".to_owned(), None);
        self.outcome.complete((0..self.events.len()).map(|place| (place, stopped.clone())).collect());
    }
}

impl NotKept {
    fn new(message: String, hint: Option<String>) -> Self {
        Self { message, hint }
    }

    fn by(error: &FlywheelError) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}

/// What the thread of the writer has.
struct WriterState {
    shared: Arc<Shared>,
    appender: Appender,
    forgotten: Forgotten,
    /// The latest day of each session: a clock that jumps back must not put later events into an earlier file.
    days: FxHashMap<String, String>,
}

/// The lines of a batch that go to one file.
struct FileLines {
    name: String,
    session: String,
    day: String,
    bytes: Vec<u8>,
    /// Where the events are in the batch.
    places: Vec<usize>,
}

impl WriterState {
    fn run(mut self) {
        let _closing = CloseOnExit(Arc::clone(&self.shared));
        while let Some(batch) = self.next_batch() {
            let mut notices = Vec::new();
            let failures = self.write(&batch, &mut notices);
            self.tell(&failures, notices);
            batch.outcome.complete(failures);
            let mut queue = held(&self.shared.queue);
            queue.bytes -= batch.bytes;
            queue.current = None;
        }
    }

    /// None when nothing more will come.
    fn next_batch(&self) -> Option<Batch> {
        let mut queue = held(&self.shared.queue);
        loop {
            if let Some(batch) = queue.batches.pop_front() {
                queue.current = Some(Arc::clone(&batch.outcome));
                queue.is_writer_waiting = false;
                return Some(batch);
            }
            if queue.is_closed {
                return None;
            }
            queue.is_writer_waiting = true;
            queue = self.shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(&mut self, batch: &Batch, notices: &mut Notices) -> FxHashMap<usize, NotKept> {
        let mut failures = FxHashMap::default();
        let files = self.lines_by_file(batch, &mut failures);
        if files.is_empty() {
            return failures;
        }
        let mut fail = |file: &FileLines, reason: NotKept| {
            failures.extend(file.places.iter().map(|place| (*place, reason.clone())));
        };
        let folder = match self.appender.hold(Hold::Shared) {
            Ok(folder) => folder,
            Err(error) => {
                files.iter().for_each(|file| fail(file, NotKept::by(&error)));
                return failures;
            }
        };
        for files in files.chunks(MAX_OPEN_FILES) {
            let mut written = Vec::new();
            let mut places = Vec::new();
            for file in files {
                match self.write_file(&folder, file, notices) {
                    Ok(lines) => {
                        written.push(lines);
                        places.push(file);
                    }
                    Err(reason) => fail(file, reason),
                }
            }
            for (file, outcome) in places.into_iter().zip(self.appender.make_safe(&folder, written)) {
                let kept = match outcome {
                    Ok(Safety::Safe) => Ok(()),
                    Ok(Safety::Removed) => self.appender.append(&folder, &file.name, &file.bytes, notices),
                    Err(error) => Err(error),
                };
                if let Err(error) = kept {
                    fail(file, NotKept::by(&error));
                }
            }
        }
        failures
    }

    fn write_file(
        &mut self,
        folder: &HeldFolder,
        file: &FileLines,
        notices: &mut Notices,
    ) -> Result<Written, NotKept> {
        let forgotten = self.forgotten.look(&folder.path).map_err(|error| NotKept::by(&error))?;
        if forgotten.contains(&file.session) {
            let message = format!("the session `{}` was forgotten", file.session);
            let hint = "start a new session to be remembered again".to_owned();
            return Err(NotKept::new(message, Some(hint)));
        }
        let written = self.appender.write(folder, &file.name, &file.bytes, notices);
        written.map_err(|error| NotKept::by(&error))
    }

    fn lines_by_file(&mut self, batch: &Batch, failures: &mut FxHashMap<usize, NotKept>) -> Vec<FileLines> {
        // Made by the first batch, here: opening a log costs nothing.
        let redactor = Redactor::shared();
        let mut files: Vec<FileLines> = Vec::new();
        let mut by_session: FxHashMap<&str, usize> = FxHashMap::default();
        for (place, event) in batch.events.iter().enumerate() {
            let moment = day_of(&event.at);
            let known = by_session.get(event.session.as_str()).copied();
            // The file at hand is right unless a new day has begun.
            let index = match known.filter(|index| moment.is_none_or(|day| *day <= *files[*index].day)) {
                Some(index) => index,
                None => {
                    let day = self.day_for(&event.session, moment);
                    files.push(FileLines {
                        name: event_file(&day, &event.session),
                        session: event.session.clone(),
                        day,
                        bytes: Vec::new(),
                        places: Vec::new(),
                    });
                    by_session.insert(&event.session, files.len() - 1);
                    files.len() - 1
                }
            };
            let file = &mut files[index];
            match redactor.write_line(event, MAX_EVENT_BYTES, &mut file.bytes) {
                Ok(()) => file.places.push(place),
                Err(length) => {
                    let message = format!(
                        "an event `{}` takes {length} bytes, at most {MAX_EVENT_BYTES} are kept",
                        event.kind.name()
                    );
                    failures.insert(place, NotKept::new(message, None));
                }
            }
        }
        files.retain(|file| !file.places.is_empty());
        // All writers take files in the same order, and none waits for another that waits for it.
        files.sort_by(|one, other| one.name.cmp(&other.name));
        files
    }

    /// The day of the file that an event goes to: its own, but never before that of the session's last one.
    fn day_for(&mut self, session: &str, moment: Option<&str>) -> String {
        let today = || day_of(&now()).map(str::to_owned).unwrap_or_default();
        let own = moment.map_or_else(today, str::to_owned);
        if self.days.len() >= MAX_KNOWN_SESSIONS && !self.days.contains_key(session) {
            self.days.clear();
        }
        let latest = self.days.entry(session.to_owned()).or_default();
        if own > *latest {
            *latest = own;
        }
        latest.clone()
    }

    fn tell(&self, failures: &FxHashMap<usize, NotKept>, notices: Notices) {
        if failures.is_empty() && notices.is_empty() {
            return;
        }
        let mut report = held(&self.shared.report);
        report.lost += failures.len() as u64;
        if report.first.is_none() {
            let first = failures.iter().min_by_key(|(place, _)| **place);
            report.first = first.map(|(_, reason)| reason.clone());
        }
        let room = MAX_NOTICES.saturating_sub(report.notices.len());
        report.notices.extend(notices.into_iter().take(room));
    }
}

/// Without its thread, a queue must not take anything any more.
struct CloseOnExit(Arc<Shared>);

impl Drop for CloseOnExit {
    fn drop(&mut self) {
        let mut queue = held(&self.0.queue);
        queue.is_closed = true;
        queue.current = None;
        queue.batches.clear();
    }
}

fn refused(event: &Event, reason: TooMuch) -> NotKept {
    let name = event.kind.name();
    match reason {
        TooMuch::Bytes => NotKept::new(
            format!("an event `{name}` is too large, at most {MAX_EVENT_BYTES} bytes are kept"),
            None,
        ),
        TooMuch::Depth => NotKept::new(
            format!("an event `{name}` is nested more than {} levels deep", super::weight::MAX_DEPTH),
            None,
        ),
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
