//! `manifest.toml`: what a runnable skill is called, what to start, and which credentials it wants.

use std::path::PathBuf;

use pep440_rs::Version as PythonVersion;
use semver::Version;
use serde::Serialize;

pub const MANIFEST_FILE: &str = "manifest.toml";

/// A manifest that was checked: whatever holds one can rely on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// Lower-case letters, digits, `-` and `_`; the folder's name.
    pub id: String,
    pub name: String,
    pub version: Version,
    pub description: String,
    /// The script, relative to the folder and inside it.
    pub entry_file: PathBuf,
    pub min_python: Option<PythonVersion>,
    pub min_uv_version: Option<PythonVersion>,
    pub credentials: Vec<Credential>,
}

/// Something secret that the script reads from its environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Credential {
    pub name: String,
    pub env_var: String,
    pub description: String,
    pub required: bool,
    pub default: Option<String>,
}
