//! A project to remember, in a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};

use grail_flywheel::event::{Event, EventKind};
use grail_flywheel::log::{EventSettings, Filter, events_folder, read_events};
use tempfile::TempDir;

pub(crate) struct Project(TempDir);

impl Project {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary project can be read and written"))
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn events(&self) -> PathBuf {
        events_folder(self.root())
    }

    /// Puts a file among the events.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.events()).expect("a temporary project can be read and written");
        fs::write(self.events().join(name), bytes).expect("a temporary project can be read and written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.events().join(name)).expect("a temporary project can be read and written")
    }

    /// The names of all files below the folder of events, but for the lock.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.events()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            for entry in entries {
                let path = entry.expect("a temporary project can be read and written").path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push(
                        path.strip_prefix(self.events())
                            .expect("a temporary project can be read and written")
                            .to_string_lossy()
                            .into_owned(),
                    ),
                }
            }
        }
        files.retain(|name| name != ".lock");
        files.sort();
        files
    }

    /// Everything that can be read: texts of messages as `SESSION/NUMBER TEXT`, and problems.
    pub(crate) fn told(&self) -> Vec<String> {
        read_events(self.root(), &Filter::default())
            .expect("a temporary project can be read and written")
            .map(tell)
            .collect()
    }
}

pub(crate) fn tell(item: Result<grail_flywheel::StoredEvent, grail_flywheel::ReadProblem>) -> String {
    match item {
        Ok(stored) => {
            let event = stored.event;
            let text = match &event.kind {
                EventKind::UserMessage { text } => text.as_str(),
                other => other.name(),
            };
            format!("{}/{} {text}", event.session, event.number)
        }
        Err(problem) => problem.to_string(),
    }
}

/// A message, on a day that does not change.
pub(crate) fn message(session: &str, number: u64, text: &str) -> Event {
    let mut event = Event::new(session, number, EventKind::UserMessage { text: text.to_owned() });
    event.at = "2026-11-16T09:00:00.000Z".to_owned();
    event
}

pub(crate) fn line(event: &Event) -> String {
    format!("{}\n", serde_json::to_string(event).expect("a temporary project can be read and written"))
}

pub(crate) fn settings() -> EventSettings {
    EventSettings::default()
}
