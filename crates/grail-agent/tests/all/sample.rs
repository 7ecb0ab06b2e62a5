//! A small project on disk, and a workspace over it that stands still in time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grail_agent::{StoppedClock, Surroundings, Workspace};
use grail_flywheel::RememberedEvents;
use grail_project::Project;
use tempfile::TempDir;

pub(crate) struct Sample {
    /// Removed with the sample.
    folder: TempDir,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) events: Arc<RememberedEvents>,
}

impl Sample {
    /// A project of these files, by path and text.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::with_prefix("grail-agent-test-").unwrap();
        fs::write(folder.path().join("grail.toml"), "").unwrap();
        for (path, text) in files {
            write(folder.path(), path, text);
        }
        Self::open(folder)
    }

    /// The same project, with everything that is found in it found anew.
    pub(crate) fn reopened(self) -> Self {
        Self::open(self.folder)
    }

    fn open(folder: TempDir) -> Self {
        let project = Project::discover(folder.path()).unwrap();
        let events = Arc::new(RememberedEvents::default());
        let home = Some(folder.path().join("home"));
        let program = worker();
        let surroundings = Surroundings {
            clock: Arc::new(StoppedClock::default()),
            events: Arc::clone(&events) as _,
            ..Surroundings::new(home, program)
        };
        let workspace = Arc::new(Workspace::open(project, surroundings).unwrap());
        Self { folder, workspace, events }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.workspace.project.root
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }
}

pub(crate) fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What the tests start as sandbox worker and launcher.
pub(crate) fn worker() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_grail-agent-test-worker"))
}

/// Whether there is a Python that could run a skill; what needs one is left out where there is none, and that is said.
#[expect(clippy::print_stderr, reason = "a skipped test has to be seen")]
pub(crate) fn has_python() -> bool {
    let found = std::process::Command::new("python3")
        .args(["-c", "import sys; raise SystemExit(sys.version_info < (3, 11))"])
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("SKIPPED: there is no Python 3.11 or newer");
    }
    found
}
