//! Scratch projects on disk, and errors as the user would read them.

use std::fs;
use std::path::{Path, PathBuf};

use grail_project::ProjectError;
use tempfile::TempDir;

pub(crate) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// A folder with these files; missing parents are made.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let scratch = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            scratch.write(path, text.as_bytes());
        }
        scratch
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root().join(relative)
    }

    pub(crate) fn write(&self, relative: &str, bytes: &[u8]) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    /// Every file below the folder, sorted, with `/` between the parts.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else {
                    files.push(path.strip_prefix(self.root()).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        files.sort();
        files
    }

    /// Message, snippet and hint, with the scratch folder written as `ROOT`.
    pub(crate) fn report(&self, error: &ProjectError) -> String {
        let mut report = format!("error: {error}\n");
        report.extend(error.snippet().map(|snippet| format!("{snippet}\n")));
        report.extend(error.hint().map(|hint| format!("hint: {hint}\n")));
        let real = fs::canonicalize(self.root()).unwrap();
        report.replace(real.to_str().unwrap(), "ROOT").replace(self.root().to_str().unwrap(), "ROOT")
    }
}
