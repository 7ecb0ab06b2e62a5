//! Which versions of a Python library a project uses, so that the right variant of a pack can be chosen.
//!
//! Nothing is installed or resolved: what is written down is read, the most exact place first, and the first place that knows a library
//! decides. All of it comes from the project and may be anything, so everything is bounded and what makes no sense is passed over.

mod applicability;
mod requirement;
mod sources;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use grail_project::{CONFIG_FILE, Project};
use pep440_rs::{Version, VersionSpecifiers};
use thiserror::Error;

use crate::{RuleProblem, Usage};

pub use requirement::normalize_name;

/// What is known about the libraries of one project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectLibraries {
    /// By normalised name.
    libraries: BTreeMap<String, LibraryVersion>,
}

/// The version of one library, and who says so.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryVersion {
    pub constraint: Constraint,
    /// For messages: `uv.lock`, `the project's .venv`, `--target`.
    pub source: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    Exact(Version),
    /// Empty if the library is wanted in any version.
    Range(VersionSpecifiers),
}

/// Whether something made for certain versions of a library is for this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applicability {
    Yes,
    No,
    /// The project does not mention the library, or what it says cannot be met by any version.
    Unknown,
}

/// A library pinned by hand: `tdom=0.1.20`.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Normalised.
    pub library: String,
    pub version: Version,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}` is not a library with a version: {problem}")]
pub struct TargetError {
    pub text: String,
    pub problem: String,
}

/// The version that is installed in the project's `.venv`.
pub fn installed_version(root: &Path, library: &str) -> Option<Version> {
    match sources::installed(root).remove(&normalize_name(library)) {
        Some(Constraint::Exact(version)) => Some(version),
        _ => None,
    }
}

impl ProjectLibraries {
    /// What a project says, its `grail.toml` included: `[check.target]` is for libraries about which its other files are silent.
    pub fn of(project: &Project, targets: &[Target]) -> Result<Self, RuleProblem> {
        let mut libraries = Self::read(&project.root, targets);
        for (library, version) in &project.config.check.target {
            let target = format!("{library}={version}").parse::<Target>().map_err(|error| {
                let file = project.root.join(CONFIG_FILE);
                RuleProblem::new(file, 0, error.to_string())
                    .hint("write `tdom = \"0.1.20\"` in `[check.target]`")
            })?;
            libraries.add_defaults(&[target], CONFIG_FILE);
        }
        Ok(libraries)
    }

    /// Reads what the files of a project say, in this order: `targets`, what is installed in `.venv`, lock files, requirement files,
    /// `pyproject.toml`. What cannot be read says nothing.
    pub fn read(root: &Path, targets: &[Target]) -> Self {
        let mut libraries = Self::default();
        libraries.add_defaults(targets, "--target");
        for (source, found) in sources::read_all(root) {
            for (library, constraint) in found {
                libraries.add(library, constraint, &source);
            }
        }
        libraries
    }

    /// What is known about a library, under any spelling of its name.
    pub fn get(&self, library: &str) -> Option<&LibraryVersion> {
        self.libraries.get(&normalize_name(library))
    }

    /// Whether what is made for the versions `wanted` of a library applies here.
    ///
    /// An exact version is in `wanted` or not. A range stands for the newest version it allows, because that is what an installer takes: a
    /// range without an upper end counts as newer than every version that `wanted` names.
    pub fn applies(&self, library: &str, wanted: &VersionSpecifiers) -> Applicability {
        match self.get(library).map(|known| &known.constraint) {
            None => Applicability::Unknown,
            Some(Constraint::Exact(version)) if wanted.contains(version) => Applicability::Yes,
            Some(Constraint::Exact(_)) => Applicability::No,
            Some(Constraint::Range(range)) => applicability::of_range(range, wanted),
        }
    }

    /// The one version that stands for what is known, by the same reading.
    pub fn usage(&self, library: &str) -> Usage {
        match self.get(library).map(|known| &known.constraint) {
            None => Usage::Absent,
            Some(Constraint::Exact(version)) => Usage::Version(version.clone()),
            Some(Constraint::Range(range)) => match applicability::newest(range) {
                Some(Some(version)) => Usage::Version(version),
                Some(None) | None => Usage::AnyVersion,
            },
        }
    }

    /// Adds versions for libraries about which the project itself says nothing.
    pub fn add_defaults(&mut self, targets: &[Target], source: &str) {
        for target in targets {
            self.add(target.library.clone(), Constraint::Exact(target.version.clone()), source);
        }
    }

    /// All libraries by normalised name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &LibraryVersion)> {
        self.libraries.iter().map(|(name, version)| (name.as_str(), version))
    }

    fn add(&mut self, library: String, constraint: Constraint, source: &str) {
        let make = || LibraryVersion { constraint, source: source.to_owned() };
        self.libraries.entry(library).or_insert_with(make);
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |problem: &str| TargetError { text: text.to_owned(), problem: problem.to_owned() };
        let (name, version) = text.split_once('=').ok_or_else(|| error("write it as `tdom=0.1.20`"))?;
        let version = version.strip_prefix('=').unwrap_or(version).trim();
        if !requirement::is_name(name.trim()) {
            return Err(error("the name is no name of a Python package"));
        }
        let version =
            requirement::parse_version(version).ok_or_else(|| error("the version is no Python version"))?;
        Ok(Self { library: normalize_name(name.trim()), version })
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constraint::Exact(version) => write!(formatter, "{version}"),
            Constraint::Range(range) if range.is_empty() => formatter.write_str("any version"),
            Constraint::Range(range) => write!(formatter, "{range}"),
        }
    }
}
