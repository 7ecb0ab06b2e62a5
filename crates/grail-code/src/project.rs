//! Several parsed files that belong together: what project-wide changes look at, and what they give back.
//!
//! Nothing here touches a disk. `grail-project` decides which files to load and writes the result.

use crate::{Edit, ModuleName, Parsed};

/// One file of a project.
pub struct ProjectFile {
    /// The path relative to the project's root, with `/`.
    pub path: String,
    pub module: ModuleName,
    pub parsed: Parsed,
}

/// The files a change has to look at. Files that do not mention the names in question may be left out.
#[derive(Default)]
pub struct Project {
    pub files: Vec<ProjectFile>,
}

/// The edits of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdits {
    pub path: String,
    pub edits: Vec<Edit>,
}

impl Project {
    pub fn file(&self, path: &str) -> Option<&ProjectFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub fn module(&self, name: &str) -> Option<&ProjectFile> {
        self.files.iter().find(|file| file.module.name == name)
    }
}
