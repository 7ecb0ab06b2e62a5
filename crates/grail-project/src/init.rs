//! Setting a project up: `grail.toml`, `.grail/` and `.agents/skills/`.
//!
//! Safe to run twice: whatever exists is left exactly as it is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::ProjectError;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InitReport {
    /// The folder that was set up, as given.
    pub root: String,
    pub entries: Vec<InitEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InitEntry {
    /// Relative to the root.
    pub path: &'static str,
    pub status: InitStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitStatus {
    Created,
    Exists,
}

/// Writes what is missing below `root`, which is created if need be.
pub fn init_project(root: &Path) -> Result<InitReport, ProjectError> {
    if root.exists() && !root.is_dir() {
        return Err(ProjectError::NotADirectory { path: root.to_owned() });
    }
    let mut entries = Vec::new();
    for (path, text) in FILES {
        let status = create_file(root, path, text)?;
        entries.push(InitEntry { path, status });
    }
    Ok(InitReport { root: root.to_string_lossy().into_owned(), entries })
}

/// The folder of Grail's working data below a project's root, made if it is not there, and kept out of the project's history.
pub fn data_folder(root: &Path) -> io::Result<PathBuf> {
    let folder = root.join(".grail");
    fs::create_dir_all(&folder)?;
    match File::create_new(folder.join(".gitignore")) {
        Ok(mut file) => file.write_all(IGNORE_TEXT.as_bytes())?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    Ok(folder)
}

const FILES: [(&str, &str); 3] = [
    ("grail.toml", CONFIG_TEXT),
    (".grail/.gitignore", IGNORE_TEXT),
    (".agents/skills/README.md", SKILLS_TEXT),
];

/// The template; a test keeps it equal to the defaults.
const CONFIG_TEXT: &str = r#"# Grail's settings for this project. Every key is optional; the values below are the defaults.

[project]
# Folders from which modules are imported, relative to this file. `src/pkg/a.py` is the module `pkg.a`.
src = ["src", "."]

# Files and folders to leave alone, written as in `.gitignore`, for example ["build/", "*_pb2.py"].
# What `.gitignore` and `.ignore` name is left alone anyway.
exclude = []

# The oldest Python version the project supports.
target-version = "3.14"

[code]
# Larger files are reported instead of read.
max-file-bytes = 16_777_216

[check]
# Rules and packs that are in force whatever libraries the project uses; `ALL` means every one. Those of the project's own skills and of
# the libraries it uses are in force anyway. `grail rules list` names them.
select = []

# Rules and packs that are not in force.
ignore = []

# Whether `grail check --fix` also makes fixes that may change what the code means.
unsafe-fixes = false

# Rules and packs that are not in force in files that match a glob, severities and options by rule, and versions of libraries where the
# project itself does not say:
#
# [check.per-path]
# "tests/**" = ["view-conventions"]
#
# [check.severity]
# view-decorator = "warning"
#
# [check.options.view-decorator]
# decorator = "myapp.web:view"
#
# [check.target]
# tdom = "0.1.20"

# Other tools that a check runs without being asked to with `--layer`.
[check.lint]
enabled = false

[check.types]
enabled = false

[check.tests]
enabled = false

[events]
# Whether Grail remembers what happened at work, below `.grail/events/`: what was asked, what was generated and what became of it. Secrets
# and e-mail addresses are taken out before anything is written, and nothing leaves this machine. With `false` nothing is written at all.
enabled = true

# When events are forced to the disk: "group" (once for all that came together), "always" (for every event) or "never" (they survive the end
# of the process, but not a loss of power).
sync = "group"

# Models on OpenAI-compatible servers, and the one that is asked unless `--model` names another. Without any it is `template`, which needs
# nothing. A key stays in the environment: `key-env` names the variable.
#
# [generate]
# model = "local"
#
# [models.local]
# url = "http://127.0.0.1:11434/v1"
# model = "qwen3:8b"
# key-env = "LOCAL_MODEL_KEY"
# timeout = 120
# max-tokens = 4096
"#;

const IGNORE_TEXT: &str = "# Grail's working data: never part of the project's history.\n*\n!.gitignore\n";

const SKILLS_TEXT: &str = "# Skills

One folder per skill. Each holds a `SKILL.md` that tells a coding agent how this project does one thing.
";

fn create_file(root: &Path, path: &'static str, text: &str) -> Result<InitStatus, ProjectError> {
    let target = root.join(path);
    // A dangling symlink counts as existing: creating through it would write somewhere else.
    if target.symlink_metadata().is_ok() {
        return Ok(InitStatus::Exists);
    }
    let folder = target.parent().unwrap_or(root);
    fs::create_dir_all(folder).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            let blocker = folder.ancestors().find(|ancestor| ancestor.exists() && !ancestor.is_dir());
            ProjectError::NotADirectory { path: blocker.unwrap_or(folder).to_owned() }
        }
        _ => ProjectError::Unwritable { path: folder.to_owned(), source },
    })?;
    let written = OpenOptions::new().write(true).create_new(true).open(&target).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    match written {
        Ok(()) => Ok(InitStatus::Created),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(InitStatus::Exists),
        Err(source) => Err(ProjectError::Unwritable { path: target, source }),
    }
}
