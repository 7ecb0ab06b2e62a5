//! Path arguments to results: find the files, work on each in parallel, keep what went wrong apart.

use std::path::{Path, PathBuf};

use clap::Args;
use grail_code::ModuleName;
use grail_project::{
    LoadedProject, Project, ProjectError, PythonFile, SourceFile, WalkOptions, load_project, map_sources,
    walk_python_files,
};
use serde::Serialize;

use crate::Exit;
use crate::progress::Progress;
use crate::render::{ErrorRecord, Terminal};

/// Flatten this into the arguments of a command that works on many files.
#[derive(Clone, Debug, Default, Args)]
pub struct PathArguments {
    /// Files and folders; folders are searched for Python files, honouring .gitignore
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Leave out what matches this pattern, written as in .gitignore; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
}

/// The files a command works on, and the project they belong to.
#[derive(Debug)]
pub struct ProjectFiles {
    pub project: Project,
    pub files: Vec<PythonFile>,
    /// What could not be read or worked on. A command that met problems exits with 2.
    pub problems: Vec<ProjectError>,
    /// What is worth a word although nothing is wrong.
    pub notes: Vec<Note>,
}

/// A word on one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    pub path: PathBuf,
    pub message: String,
}

impl PathArguments {
    /// Finds the project and its files. The first path decides which project it is.
    pub fn find(&self) -> Result<ProjectFiles, ProjectError> {
        let here = [PathBuf::from(".")];
        let paths = if self.paths.is_empty() { &here[..] } else { &self.paths };
        let project = Project::discover(paths.first().map_or(Path::new("."), PathBuf::as_path))?;
        let exclude = project.config.project.exclude.iter().chain(&self.exclude).cloned().collect();
        let options = WalkOptions { root: project.root.clone(), exclude };
        let walked = walk_python_files(paths, &options)?;
        Ok(ProjectFiles { project, files: walked.files, problems: walked.problems, notes: Vec::new() })
    }
}

impl ProjectFiles {
    /// Reads every file and runs `work` on it, with a progress bar. Results come in the order of paths; problems are collected.
    pub fn map<T: Send>(
        &mut self,
        label: &'static str,
        work: impl Fn(&PythonFile, SourceFile) -> Result<T, ProjectError> + Sync,
    ) -> Vec<(PathBuf, T)> {
        let progress = Progress::new(label, self.files.len());
        let max_bytes = self.project.config.code.max_file_bytes;
        let outcomes = map_sources(&self.files, max_bytes, &|done| progress.advance(done), work);
        let mut results = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            match outcome.result {
                Ok(value) => results.push((outcome.path, value)),
                Err(error) => self.problems.push(error),
            }
        }
        results
    }

    /// Reads, parses and keeps the files that `keep` wants by module and text, for changes that have to see the whole project.
    pub fn load(
        &mut self,
        label: &'static str,
        keep: impl Fn(&ModuleName, &str) -> bool + Sync,
    ) -> LoadedProject {
        let progress = Progress::new(label, self.files.len());
        let mut loaded = load_project(&self.project, &self.files, &|done| progress.advance(done), keep);
        self.problems.append(&mut loaded.problems);
        loaded
    }

    /// Reports the problems on stderr and folds them into the exit code.
    pub fn finish(&self, terminal: &mut Terminal, exit: Exit) -> anyhow::Result<Exit> {
        for problem in &self.problems {
            terminal.problem(problem)?;
        }
        Ok(if self.problems.is_empty() { exit } else { Exit::CouldNotRun })
    }

    /// The problems as they appear under `errors` in JSON.
    pub fn error_records(&self) -> Vec<ErrorRecord> {
        self.problems.iter().map(ErrorRecord::from).collect()
    }
}
