//! The project with its memory open: what happens from here on is kept as events.

use std::env;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use grail_agent::{Surroundings, Workspace};
use grail_flywheel::event::{ResultSummary, new_event_id, summarise};
use grail_flywheel::log::EventLog;
use grail_flywheel::{Event, EventKind, EventSink};
use grail_project::{CONFIG_FILE, EventSettings, Project, SyncPolicy, current_branch};
use grail_sandbox::{Ending, Outcome};

use crate::render::{Terminal, visible_line};

/// A workspace over a project, with events kept in its folder.
pub(crate) struct OpenWorkspace {
    pub(crate) workspace: Arc<Workspace>,
    log: Arc<EventLog>,
}

/// The workspace over the project that the command runs in.
pub(crate) fn open_workspace() -> anyhow::Result<OpenWorkspace> {
    open_workspace_in(Path::new("."), |log| log)
}

/// The workspace over the project of a folder. Whoever wants to hear events puts itself before the log.
pub(crate) fn open_workspace_in(
    folder: &Path,
    wrap: impl FnOnce(Arc<dyn EventSink>) -> Arc<dyn EventSink>,
) -> anyhow::Result<OpenWorkspace> {
    let project = Project::discover(folder)?;
    let log = Arc::new(EventLog::open(&project.root, &project.config.events)?);
    let surroundings = Surroundings {
        events: wrap(Arc::clone(&log) as _),
        ..Surroundings::new(env::home_dir(), env::current_exe()?)
    };
    Ok(OpenWorkspace { workspace: Arc::new(Workspace::open(project, surroundings)?), log })
}

/// Keeps how a run ended, in a project that has settings. Whoever runs code is not kept waiting for a disk: the event is written, not forced
/// out, and a memory that cannot be written is no failure of the run.
pub(crate) fn remember_run(project: &Project, code: &str, outcome: &Outcome, took: Duration) {
    if !project.root.join(CONFIG_FILE).is_file() {
        return;
    }
    let settings = EventSettings { sync: SyncPolicy::Never, ..project.config.events.clone() };
    let Ok(log) = EventLog::open(&project.root, &settings) else { return };
    let result = match &outcome.ending {
        Ending::Value { value } => summarise(&value.to_json()),
        ending => {
            let ending = serde_json::to_value(ending).unwrap_or_default();
            ResultSummary::failed(ending["outcome"].as_str().unwrap_or("unknown"))
        }
    };
    let run = EventKind::SandboxRun {
        query: String::new(),
        code: code.to_owned(),
        result,
        tools: Vec::new(),
        fields_accessed: Vec::new(),
        microseconds: took.as_micros().try_into().unwrap_or(u64::MAX),
    };
    log.record(event_of_its_own(project, run));
}

/// Keeps one event of a command that has no workspace.
pub(crate) fn keep_event(project: &Project, kind: EventKind, terminal: &mut Terminal) -> anyhow::Result<()> {
    let log = EventLog::open(&project.root, &project.config.events)?;
    log.record(event_of_its_own(project, kind));
    finish(&log, terminal)
}

/// An event that is a whole session.
fn event_of_its_own(project: &Project, kind: EventKind) -> Event {
    let mut event = Event::new(new_event_id().simple().to_string(), 1, kind);
    event.context.branch = current_branch(&project.root);
    event
}

impl OpenWorkspace {
    /// Waits until everything is on the disk, and says what could not be kept. The work itself is done either way.
    pub(crate) fn finish(&self, terminal: &mut Terminal) -> anyhow::Result<()> {
        finish(&self.log, terminal)
    }
}

fn finish(log: &EventLog, terminal: &mut Terminal) -> anyhow::Result<()> {
    let failure = log.flush().err();
    for notice in log.notices() {
        terminal.warning(format_args!("{}", visible_line(&notice)))?;
    }
    if let Some(problem) = log.problem() {
        terminal.warning(format_args!("{}", visible_line(&problem)))?;
        if let Some(hint) = failure.and_then(|error| error.hint()) {
            terminal.note(format_args!("hint: {}", visible_line(&hint)))?;
        }
    }
    Ok(())
}
