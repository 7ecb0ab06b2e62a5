//! The places where a project writes down its libraries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pep440_rs::{Version, VersionSpecifiers};
use toml::{Table, Value};

use super::Constraint;
use super::requirement::{is_name, normalize_name, parse_poetry, parse_requirement, parse_version};
use crate::bounded::read_text;

/// Lock files of large projects have a few megabytes.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
const MAX_METADATA_BYTES: u64 = 256 * 1024;
/// No folder or file is read further than this.
const MAX_ENTRIES: usize = 20_000;

type Found = BTreeMap<String, Constraint>;

/// Every source with what it knows, the most exact first.
pub(super) fn read_all(root: &Path) -> Vec<(String, Found)> {
    let mut sources = vec![("the project's .venv".to_owned(), installed(root))];
    for (name, list) in [
        ("uv.lock", "package"),
        ("poetry.lock", "package"),
        ("pdm.lock", "package"),
        ("pylock.toml", "packages"),
    ] {
        sources.push((
            name.to_owned(),
            read_table(&root.join(name)).map(|table| locked(&table, list)).unwrap_or_default(),
        ));
    }
    for path in requirement_files(root) {
        let text = read_text(&path, MAX_FILE_BYTES).unwrap_or_default();
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        sources.push((name, requirements(&text)));
    }
    let pyproject = read_table(&root.join("pyproject.toml")).unwrap_or_default();
    sources.push(("pyproject.toml".to_owned(), declared(&pyproject)));
    sources
}

/// `NAME-VERSION.dist-info` in the environment's `site-packages`.
pub(super) fn installed(root: &Path) -> Found {
    let venv = root.join(".venv");
    let mut folders = vec![venv.join("Lib/site-packages")];
    for lib in ["lib", "lib64"] {
        let versions =
            entries(&venv.join(lib)).into_iter().filter(|path| file_name(path).starts_with("python"));
        folders.extend(versions.map(|path| path.join("site-packages")));
    }
    let mut found = Found::new();
    for path in folders.iter().flat_map(|folder| entries(folder)) {
        let name = file_name(&path);
        let Some(stem) = name.strip_suffix(".dist-info") else {
            continue;
        };
        let named = stem.rsplit_once('-').and_then(|(name, version)| Some((name, parse_version(version)?)));
        match named.filter(|(name, _)| is_name(name)) {
            Some((name, version)) => add_exact(&mut found, name, version),
            None => {
                if let Some((name, version)) = metadata(&path) {
                    add_exact(&mut found, &name, version);
                }
            }
        }
    }
    found
}

/// Name and version from the head of a `METADATA` file.
fn metadata(folder: &Path) -> Option<(String, Version)> {
    let text = read_text(&folder.join("METADATA"), MAX_METADATA_BYTES)?;
    let head = || text.lines().take_while(|line| !line.trim().is_empty());
    let field =
        |name: &str| head().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let name = field("Name").filter(|name| is_name(name))?;
    Some((name.to_owned(), parse_version(field("Version")?)?))
}

/// The packages of a lock file. One that is locked for several environments counts with its newest version.
fn locked(table: &Table, list: &str) -> Found {
    let mut found = Found::new();
    let packages = table.get(list).and_then(Value::as_array);
    for package in packages.into_iter().flatten().take(MAX_ENTRIES) {
        let text = |key: &str| package.get(key).and_then(Value::as_str);
        if let (Some(name), Some(version)) = (text("name"), text("version").and_then(parse_version))
            && is_name(name)
        {
            add_exact(&mut found, name, version);
        }
    }
    found
}

/// `requirements*.txt` in the root and `requirements/*.txt`, in the order of their names.
fn requirement_files(root: &Path) -> Vec<PathBuf> {
    let is_text = |path: &PathBuf| file_name(path).ends_with(".txt");
    let in_root = entries(root).into_iter().filter(|path| file_name(path).starts_with("requirements"));
    let in_folder = entries(&root.join("requirements"));
    in_root.chain(in_folder).filter(is_text).take(50).collect()
}

fn requirements(text: &str) -> Found {
    let mut found = Found::new();
    // A backslash joins lines; hashes follow on lines of their own.
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let lines = text.lines().map(str::trim).take(MAX_ENTRIES);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '-'])) {
        add_requirement(&mut found, line);
    }
    found
}

/// What `pyproject.toml` asks for, in all of its groups: a library must satisfy everything that is said about it.
fn declared(pyproject: &Table) -> Found {
    let mut found = Found::new();
    let mut lists: Vec<&Value> = Vec::new();
    lists.extend(at(pyproject, &["project", "dependencies"]));
    for groups in [
        ["project", "optional-dependencies"].as_slice(),
        &["dependency-groups"],
        &["tool", "pdm", "dev-dependencies"],
    ] {
        lists.extend(
            at(pyproject, groups).and_then(Value::as_table).into_iter().flat_map(|groups| groups.values()),
        );
    }
    for key in ["dev-dependencies", "constraint-dependencies", "override-dependencies"] {
        lists.extend(at(pyproject, &["tool", "uv", key]));
    }
    // Entries that are tables include other groups, which are read anyway.
    let texts = lists.into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    for text in texts.take(MAX_ENTRIES) {
        add_requirement(&mut found, text);
    }
    let mut tables: Vec<&Value> = Vec::new();
    tables.extend(at(pyproject, &["tool", "poetry", "dependencies"]));
    tables.extend(at(pyproject, &["tool", "poetry", "dev-dependencies"]));
    let groups = at(pyproject, &["tool", "poetry", "group"]).and_then(Value::as_table);
    tables.extend(
        groups.into_iter().flat_map(|groups| groups.values()).filter_map(|group| group.get("dependencies")),
    );
    for (name, value) in tables.into_iter().filter_map(Value::as_table).flatten().take(MAX_ENTRIES) {
        if name != "python" && is_name(name) {
            add_range(&mut found, normalize_name(name), poetry_constraint(value));
        }
    }
    found
}

/// A version, a table with one, several tables of which the last counts, or an address.
fn poetry_constraint(value: &Value) -> Constraint {
    let value = value.as_array().and_then(|list| list.last()).unwrap_or(value);
    let text = value.as_str().or_else(|| value.get("version").and_then(Value::as_str));
    text.and_then(parse_poetry).unwrap_or_else(|| Constraint::Range(VersionSpecifiers::empty()))
}

fn add_requirement(found: &mut Found, text: &str) {
    if let Some((name, constraint)) = parse_requirement(text) {
        add_range(found, name, constraint);
    }
}

fn add_exact(found: &mut Found, name: &str, version: Version) {
    let entry = found.entry(normalize_name(name)).or_insert_with(|| Constraint::Exact(version.clone()));
    if matches!(entry, Constraint::Exact(known) if *known < version) {
        *entry = Constraint::Exact(version);
    }
}

fn add_range(found: &mut Found, name: String, constraint: Constraint) {
    let both = match (found.remove(&name), constraint) {
        (None, constraint) => constraint,
        (Some(Constraint::Range(known)), Constraint::Range(more)) => {
            let all: Vec<_> = known.iter().chain(more.iter()).cloned().collect();
            Constraint::Range(VersionSpecifiers::from_iter(all))
        }
        (Some(exact @ Constraint::Exact(_)), _) | (_, exact @ Constraint::Exact(_)) => exact,
    };
    found.insert(name, both);
}

fn at<'table>(table: &'table Table, keys: &[&str]) -> Option<&'table Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(*key))
}

fn read_table(path: &Path) -> Option<Table> {
    read_text(path, MAX_FILE_BYTES)?.parse().ok()
}

/// The entries of a folder by name; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = read.flatten().take(MAX_ENTRIES).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
