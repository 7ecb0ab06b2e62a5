//! Keeps what git tells: looks at the repository and writes down what the events do not say yet.
//!
//! One process looks at a time; whoever comes meanwhile leaves it to the other. While neither references nor notes have changed, looking
//! costs a few questions to git and reads no events.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use grail_project::{EventSettings, data_folder};

use super::history::EventSource;
use super::notes;
use super::observe::{Observation, observe};
use super::report::{Report, event_of};
use super::repository::Repository;
use crate::error::FlywheelError;
use crate::event::{Event, EventKind};
use crate::log::{EventLog, Filter, events_folder, forgotten_sessions, read_events};
use crate::redact::Redactor;

/// Held while somebody looks.
const LOCK_FILE: &str = "outcomes.lock";
/// What was there when somebody last looked.
const SEEN_FILE: &str = "outcomes.seen";

/// What came of looking.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaughtUp {
    pub has_repository: bool,
    /// What was told, and is on the disk.
    pub events: Vec<Event>,
}

/// Tells which rules a text breaks that is meant to be at a path.
pub type Judge<'j> = dyn Fn(&str, &str) -> BTreeSet<String> + 'j;

/// Tells what git did since somebody last looked. A project that keeps no events, or has none, is left alone.
pub fn catch_up(root: &Path, settings: &EventSettings) -> Result<CaughtUp, FlywheelError> {
    catch_up_judged(root, settings, &|_, _| BTreeSet::new())
}

/// As [`catch_up`], with an eye on rules that people break on purpose where they change what was made.
pub fn catch_up_judged(
    root: &Path,
    settings: &EventSettings,
    judge: &Judge<'_>,
) -> Result<CaughtUp, FlywheelError> {
    if !settings.enabled || !events_folder(root).is_dir() {
        return Ok(CaughtUp::default());
    }
    let lock_path = data(root)?.join(LOCK_FILE);
    let lock = File::create(&lock_path).map_err(|source| FlywheelError::storage(&lock_path, source))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(CaughtUp::default()),
        Err(TryLockError::Error(source)) => return Err(FlywheelError::storage(&lock_path, source)),
    }
    let Some(repository) = Repository::of(root) else { return Ok(CaughtUp::default()) };
    let seen_path = data(root)?.join(SEEN_FILE);
    let seen = fingerprint(&repository);
    if fs::read(&seen_path).is_ok_and(|before| before == seen.as_bytes()) {
        return Ok(CaughtUp { has_repository: true, events: Vec::new() });
    }
    let kept_as = |text: &str| Redactor::shared().redact(text).into_owned();
    let Observation { has_repository, mut events } = observe(root, &Log { root }, &kept_as);
    events.iter_mut().for_each(|event| note_violations(event, judge));
    let events = keep(root, settings, events)?;
    notes::turn(&repository.common);
    // Not having it costs another look.
    let _ = fs::write(&seen_path, fingerprint(&repository));
    Ok(CaughtUp { has_repository, events })
}

/// Rules that the code breaks since a person changed it.
fn note_violations(event: &mut Event, judge: &Judge<'_>) {
    if let EventKind::UserCorrection {
        path: Some(path),
        original: Some(original),
        corrected: Some(corrected),
        violates,
        ..
    } = &mut event.kind
    {
        let before = judge(path, original);
        violates.extend(judge(path, corrected).difference(&before).cloned());
    }
}

/// Keeps an outcome that another program told. None if it is known already.
pub fn report_outcome(
    root: &Path,
    settings: &EventSettings,
    outcome: &Report,
) -> Result<Option<Event>, FlywheelError> {
    if !settings.enabled {
        return Err(FlywheelError::refused(
            "this project keeps no events",
            "set `enabled = true` in `[events]` of `grail.toml`",
        ));
    }
    let lock_path = data(root)?.join(LOCK_FILE);
    let lock = File::create(&lock_path).map_err(|source| FlywheelError::storage(&lock_path, source))?;
    lock.lock().map_err(|source| FlywheelError::storage(&lock_path, source))?;
    let Some(event) = event_of(&Log { root }, outcome) else { return Ok(None) };
    Ok(keep(root, settings, vec![event])?.pop())
}

/// Appends events and waits until they are on the disk.
fn keep(root: &Path, settings: &EventSettings, events: Vec<Event>) -> Result<Vec<Event>, FlywheelError> {
    let forgotten = forgotten_sessions(root)?;
    let events: Vec<Event> = events.into_iter().filter(|event| !forgotten.contains(&event.session)).collect();
    if events.is_empty() {
        return Ok(events);
    }
    let log = EventLog::open(root, settings)?;
    let tickets: Vec<_> = events.iter().map(|event| log.append(event.clone())).collect();
    for ticket in tickets {
        ticket.wait()?;
    }
    Ok(events)
}

/// The events in the files. What cannot be read is told by those who show events.
struct Log<'l> {
    root: &'l Path,
}

impl EventSource for Log<'_> {
    fn events(&self) -> Box<dyn Iterator<Item = Event> + '_> {
        match read_events(self.root, &Filter::default()) {
            Ok(events) => Box::new(events.filter_map(|stored| Some(stored.ok()?.event))),
            Err(_) => Box::new(std::iter::empty()),
        }
    }
}

fn data(root: &Path) -> Result<PathBuf, FlywheelError> {
    data_folder(root).map_err(|source| FlywheelError::storage(&root.join(".grail"), source))
}

/// References, `HEAD` and notes, as they are now. Events are no part of it: without git doing something, nothing becomes of them.
fn fingerprint(repository: &Repository) -> String {
    let mut hasher = blake3::Hasher::new();
    let refs = repository.refs();
    for (name, commit) in &refs.all {
        let _ = writeln!(hasher, "{name} {commit}");
    }
    let head = repository.git.line(&["rev-parse", "--verify", "-q", "HEAD"]);
    let _ = writeln!(hasher, "{head:?} {:?} {}", refs.remote_default, notes::size(&repository.common));
    hasher.finalize().to_hex().to_string()
}
