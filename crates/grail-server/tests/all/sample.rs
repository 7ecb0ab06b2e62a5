//! A small project on disk, and a workspace over it that stands still in time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grail_agent::{StoppedClock, Surroundings, Workspace};
use grail_flywheel::RememberedEvents;
use grail_project::Project;
use grail_server::WatchedEvents;
use tempfile::TempDir;

pub(crate) struct Sample {
    /// Removed with the sample.
    _folder: TempDir,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) events: Arc<RememberedEvents>,
    pub(crate) watched: Arc<WatchedEvents>,
}

impl Sample {
    /// A project of these files, by path and text.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::with_prefix("grail-server-test-").unwrap();
        fs::write(folder.path().join("grail.toml"), "").unwrap();
        for (path, text) in files {
            write(folder.path(), path, text);
        }
        let project = Project::discover(folder.path()).unwrap();
        let events = Arc::new(RememberedEvents::default());
        let watched = Arc::new(WatchedEvents::new(Arc::clone(&events) as _));
        let home = Some(folder.path().join("home"));
        let program = PathBuf::from(env!("CARGO_BIN_EXE_grail-server-test-worker"));
        let surroundings = Surroundings {
            clock: Arc::new(StoppedClock::default()),
            events: Arc::clone(&watched) as _,
            ..Surroundings::new(home, program)
        };
        let workspace = Arc::new(Workspace::open(project, surroundings).unwrap());
        Self { _folder: folder, workspace, events, watched }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.workspace.project.root
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) const GOOD_SERVICE: &str = "\
\"\"\"Sends mail.\"\"\"


class MailService:
    def __init__(self, *, host: str) -> None:
        self._host = host

    def send(self, to: str) -> str:
        return f\"{self._host}: {to}\"
";
