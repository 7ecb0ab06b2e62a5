//! Files as modules: `src/pkg/a.py` is `pkg.a`, and back again.

use std::fs;
use std::path::{Path, PathBuf};

use grail_code::ModuleName;

/// The folders modules are imported from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRoots {
    /// Absolute, links resolved, in the configured order.
    roots: Vec<PathBuf>,
}

impl SourceRoots {
    /// `folders` are relative to `root`. Missing ones do not count, nor does a folder below the root that is itself a package.
    pub fn new(root: &Path, folders: &[String]) -> Self {
        let root = real_path(root);
        let mut roots: Vec<PathBuf> = Vec::new();
        for folder in folders {
            let candidate = real_path(&root.join(folder));
            let is_root = candidate == root;
            if candidate.is_dir()
                && (is_root || !is_package_folder(&candidate))
                && !roots.contains(&candidate)
            {
                roots.push(candidate);
            }
        }
        Self { roots }
    }

    pub fn folders(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The module a file is. `None` for a file no root holds, or whose path cannot be written in an import.
    pub fn module_of(&self, file: &Path) -> Option<ModuleName> {
        let real = real_path(file);
        // The innermost root wins: with `src` and `.`, `src/pkg/a.py` is `pkg.a`, not `src.pkg.a`.
        let root = self
            .roots
            .iter()
            .filter(|root| real.starts_with(root))
            .max_by_key(|root| root.components().count())?;
        name_module(real.strip_prefix(root).ok()?)
    }

    /// The file that an import of `module` would load, as Python looks for it: packages before modules, source before stubs.
    pub fn file_of(&self, module: &str) -> Option<PathBuf> {
        if module.split('.').any(|part| !is_identifier(part)) {
            return None;
        }
        let relative: PathBuf = module.split('.').collect();
        self.roots.iter().find_map(|root| {
            let stem = root.join(&relative);
            let candidates = [
                stem.join("__init__.py"),
                stem.with_extension("py"),
                stem.join("__init__.pyi"),
                stem.with_extension("pyi"),
            ];
            candidates.into_iter().find(|candidate| candidate.is_file())
        })
    }
}

/// Whether a path component can stand in an import. Keywords are not asked about: `importlib` takes them.
fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || character == '_')
}

fn name_module(relative: &Path) -> Option<ModuleName> {
    let extension = relative.extension()?.to_str()?;
    if extension != "py" && extension != "pyi" {
        return None;
    }
    let stem_path = relative.with_extension("");
    let mut parts: Vec<&str> = stem_path.iter().map(|part| part.to_str()).collect::<Option<_>>()?;
    let is_package = parts.last() == Some(&"__init__");
    if is_package {
        parts.pop();
    }
    // PEP 561: the stubs of `pkg` may be distributed in a folder `pkg-stubs`.
    if let Some(first) = parts.first_mut() {
        *first = first.strip_suffix("-stubs").unwrap_or(first);
    }
    if parts.is_empty() || !parts.iter().all(|part| is_identifier(part)) {
        return None;
    }
    Some(ModuleName { name: parts.join("."), is_package })
}

fn is_package_folder(folder: &Path) -> bool {
    folder.join("__init__.py").is_file() || folder.join("__init__.pyi").is_file()
}

/// Links resolved as far as the path exists: a file about to be created has a module name too.
fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => real_path(parent).join(name),
        _ => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}
