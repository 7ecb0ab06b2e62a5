//! Python interpreters on this machine and where their standard libraries are, found by looking, never by running them.
//!
//! Environment variables read here: `PATH`, `HOME` and `PYENV_ROOT`.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    pub executable: PathBuf,
    /// Major and minor version.
    pub version: (u8, u8),
    /// The folder that holds `os.py`.
    pub stdlib: PathBuf,
}

/// Every Python 3 found in the project's `.venv`, on `PATH` and under pyenv, newest first, each standard library once.
pub fn find_interpreters(project_root: Option<&Path>) -> Vec<Interpreter> {
    let mut folders: Vec<PathBuf> = Vec::new();
    folders.extend(project_root.map(|root| root.join(".venv/bin")));
    folders.extend(env::var_os("PATH").iter().flat_map(|path| env::split_paths(path).collect::<Vec<_>>()));
    folders.extend(pyenv_folders());
    let mut seen = BTreeSet::new();
    let mut found: Vec<Interpreter> = folders
        .iter()
        .flat_map(|folder| interpreters_in(folder))
        .filter(|interpreter| seen.insert(interpreter.stdlib.clone()))
        .collect();
    found.sort_by_key(|interpreter| Reverse(interpreter.version));
    found
}

fn pyenv_folders() -> Vec<PathBuf> {
    let root = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv")));
    let Some(versions) = root.and_then(|root| fs::read_dir(root.join("versions")).ok()) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = versions.flatten().map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    folders
}

fn interpreters_in(folder: &Path) -> Vec<Interpreter> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_interpreter_name(name))
        .collect();
    names.sort();
    names.iter().filter_map(|name| interpreter_at(&folder.join(name))).collect()
}

/// `python`, `python3`, `python3.14`, `python3.14t`; not `python3-config` or `python2`.
fn is_interpreter_name(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("python") else {
        return false;
    };
    rest.is_empty() || rest == "3" || version_of(name).is_some()
}

/// Links lead to the real installation (also out of a virtual environment), whose `lib` folder names the version. A pyenv shim
/// leads nowhere and is left out; the versions it chooses from are found on their own.
fn interpreter_at(executable: &Path) -> Option<Interpreter> {
    let real = fs::canonicalize(executable).ok()?;
    let version = version_of(real.file_name()?.to_str()?)?;
    let prefix = real.parent()?.parent()?;
    let stdlib = ["lib", "lib64"]
        .iter()
        .map(|lib| prefix.join(lib).join(format!("python{}.{}", version.0, version.1)))
        .find(|stdlib| stdlib.join("os.py").is_file())?;
    Some(Interpreter { executable: executable.to_owned(), version, stdlib: fs::canonicalize(stdlib).ok()? })
}

fn version_of(name: &str) -> Option<(u8, u8)> {
    let version = name.strip_prefix("python")?.trim_end_matches('t');
    let (major, minor) = version.split_once('.')?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    (version.0 == 3).then_some(version)
}
