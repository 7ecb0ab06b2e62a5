//! Which written tools this user has approved: hashes in the user's state folder, by project and name.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use grail_skills::SkillError;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::AgentError;
use crate::workspace::Workspace;

const FILE: &str = "trusted-tools.json";
const MAX_BYTES: u64 = 4 << 20;
const VERSION: u32 = 1;

pub(super) struct ToolTrust {
    path: Option<PathBuf>,
    project: String,
    stored: Stored,
}

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    /// By project, then by name of the tool: the hash over its files.
    tools: BTreeMap<String, BTreeMap<String, String>>,
}

impl ToolTrust {
    /// Without a state folder, or with a file that makes no sense, nothing is approved.
    pub(super) fn open(workspace: &Workspace) -> Self {
        let root = &workspace.project.root;
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.clone());
        let path = workspace.state.as_deref().map(|state| state.join(FILE));
        let stored = path.as_ref().and_then(read).unwrap_or_default();
        Self { path, project: root.to_string_lossy().into_owned(), stored }
    }

    pub(super) fn has(&self, name: &str, hash: &str) -> bool {
        let tools = self.stored.tools.get(&self.project);
        tools.and_then(|tools| tools.get(name)).is_some_and(|approved| approved == hash)
    }

    pub(super) fn grant(&mut self, name: &str, hash: &str) -> Result<(), AgentError> {
        let path = self.path.as_ref().ok_or(SkillError::NoHome)?;
        if let Some(stored) = read(path) {
            self.stored = stored;
        }
        self.stored.version = VERSION;
        let tools = self.stored.tools.entry(self.project.clone()).or_default();
        tools.insert(name.to_owned(), hash.to_owned());
        let write = || -> io::Result<()> {
            let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
            fs::create_dir_all(folder)?;
            // Readable by its owner only.
            let mut file = NamedTempFile::new_in(folder)?;
            serde_json::to_writer_pretty(&mut file, &self.stored)?;
            file.flush()?;
            file.persist(path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|source| AgentError::Storage { path: path.display().to_string(), source })
    }
}

fn read(path: &PathBuf) -> Option<Stored> {
    let file = fs::File::open(path).ok()?;
    if file.metadata().ok()?.len() > MAX_BYTES {
        return None;
    }
    let stored: Stored = serde_json::from_reader(io::BufReader::new(io::Read::take(file, MAX_BYTES))).ok()?;
    (stored.version == VERSION).then_some(stored)
}
