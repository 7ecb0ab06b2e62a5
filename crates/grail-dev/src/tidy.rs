//! The house rules that a machine can check. Each finding is one line: where, and what to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use ignore::WalkBuilder;

/// Think about a split at 600; beyond this it is overdue.
const MAX_LINES: usize = 700;

/// Files that may be longer for now. The list is to shrink.
const LONG_FILES: [(&str, usize); 0] = [];

/// Which workspace crates a crate may name. `grail-local` is named by none: it is another process.
const ALLOWED_EDGES: [(&str, &[&str]); 12] = [
    ("grail-code", &[]),
    ("grail-project", &["grail-code"]),
    ("grail-sandbox", &["grail-code"]),
    ("grail-rules", &["grail-code", "grail-project", "grail-sandbox"]),
    ("grail-skills", &["grail-code", "grail-project", "grail-rules"]),
    ("grail-model", &[]),
    ("grail-local", &[]),
    ("grail-flywheel", &["grail-code", "grail-project", "grail-rules"]),
    (
        "grail-agent",
        &[
            "grail-code",
            "grail-project",
            "grail-sandbox",
            "grail-rules",
            "grail-skills",
            "grail-model",
            "grail-flywheel",
        ],
    ),
    (
        "grail-server",
        &[
            "grail-code",
            "grail-project",
            "grail-sandbox",
            "grail-rules",
            "grail-skills",
            "grail-model",
            "grail-flywheel",
            "grail-agent",
        ],
    ),
    (
        "grail",
        &[
            "grail-code",
            "grail-project",
            "grail-sandbox",
            "grail-rules",
            "grail-skills",
            "grail-model",
            "grail-flywheel",
            "grail-agent",
            "grail-server",
        ],
    ),
    (
        "grail-dev",
        &[
            "grail",
            "grail-code",
            "grail-project",
            "grail-sandbox",
            "grail-rules",
            "grail-skills",
            "grail-model",
            "grail-flywheel",
            "grail-agent",
            "grail-server",
        ],
    ),
];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] = ["utils", "util", "common", "helpers", "helper", "manager", "misc", "stuff"];

/// All checks over the whole repository.
pub fn check_repository(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut findings = Vec::new();
    for path in repository_files(root) {
        let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        // Binary files have no text to be tidy.
        if let Ok(text) = fs::read_to_string(&path) {
            findings.extend(check_file(&relative, &text));
        }
    }
    findings.extend(check_edges(&workspace_edges(root)?));
    Ok(findings)
}

/// The checks on one file, by its path relative to the repository.
pub fn check_file(path: &str, text: &str) -> Vec<String> {
    let mut findings = check_machine_paths(path, text);
    if path.ends_with(".rs") {
        findings.extend(check_rust(path, text));
    }
    // The benches measure against the bare parser, hence the exception.
    if path.starts_with("crates/") && path.ends_with("Cargo.toml") && !path.starts_with("crates/grail-dev/") {
        findings.extend(check_foreign_names(path, text));
    }
    if path == "Cargo.toml" {
        findings.extend(check_dependency_comments(path, text));
    }
    findings
}

/// Compares edges between workspace crates with the allowed ones. To itself a crate may have one: its tests turn a feature on so.
pub fn check_edges(edges: &[(String, String)]) -> Vec<String> {
    let is_forbidden = |(from, to): &&(String, String)| {
        from != to
            && ALLOWED_EDGES.iter().any(|(name, allowed)| name == from && !allowed.contains(&to.as_str()))
    };
    edges
        .iter()
        .filter(is_forbidden)
        .map(|(from, to)| format!("crates/{from}/Cargo.toml: `{from}` must not depend on `{to}`"))
        .collect()
}

fn check_rust(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        findings.push(format!("{path}:1: open the file with `//!`: its purpose, its invariant"));
    }
    let lines = text.lines().count();
    let limit = LONG_FILES.iter().find(|(file, _)| *file == path).map_or(MAX_LINES, |(_, limit)| *limit);
    if lines > limit {
        findings.push(format!("{path}:{limit}: {lines} lines; split the file"));
    }
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    if EMPTY_NAMES.contains(&stem.as_ref()) {
        findings.push(format!("{path}:1: `{stem}` says nothing; name the file for what it holds"));
    }
    if !path.starts_with("crates/grail-dev/benches/") {
        findings.extend(check_foreign_names(path, text));
    }
    findings
}

fn check_foreign_names(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (owner, prefixes, what) in FOREIGN_CRATES {
        if path.starts_with(&format!("crates/{owner}/")) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = foreign_name(line, prefixes) {
                findings.push(format!("{path}:{}: only {owner} names {what}, this is `{name}`", number + 1));
            }
        }
    }
    findings
}

/// Crates that one of ours keeps to itself, by the beginnings of their names.
const FOREIGN_CRATES: [(&str, &[&str], &str); 4] = [
    ("grail-code", &["ruff", "ty"], "the parser's crates"),
    ("grail-sandbox", &["monty"], "the engine's crates"),
    ("grail-flywheel", &["rusqlite"], "the database"),
    ("grail-local", &["candle"], "the tensors of local models"),
];

/// Names of tools and folders that only begin like a crate.
const NO_CRATES: [&str; 2] = ["ruff_cache", "ruff_check"];

/// The first identifier in the line that belongs to a crate with such a name.
fn foreign_name<'a>(line: &'a str, prefixes: &[&str]) -> Option<&'a str> {
    line.split(|character: char| !(character.is_alphanumeric() || character == '_')).find(|word| {
        let is_like = |prefix: &&str| word.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('_'));
        prefixes.iter().any(is_like) && !NO_CRATES.contains(word)
    })
}

/// Paths of somebody's machine have no business in a repository.
fn check_machine_paths(path: &str, text: &str) -> Vec<String> {
    // Put together here so that this file passes its own check.
    let forbidden = ["root", "home", "work", "Users"].map(|folder| format!("/{folder}/"));
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for prefix in &forbidden {
            let is_absolute = line.match_indices(prefix.as_str()).any(|(at, _)| {
                // `../work/` and `https://host/work/` are not absolute paths of a machine.
                !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-/~$}".contains(before))
            });
            if is_absolute {
                findings.push(format!("{path}:{}: `{prefix}` is a path of one machine", number + 1));
            }
        }
    }
    findings
}

/// Every dependency says why it is there: on its line, or in a comment above its group.
fn check_dependency_comments(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut in_dependencies = false;
    let mut group_has_comment = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            in_dependencies = line.trim() == "[workspace.dependencies]";
            group_has_comment = false;
        } else if line.trim().is_empty() {
            group_has_comment = false;
        } else if line.starts_with('#') {
            group_has_comment = true;
        } else if in_dependencies && !group_has_comment && !line.contains('#') && !line.contains("path = ") {
            let name = line.split('=').next().unwrap_or_default().trim();
            findings.push(format!("{path}:{}: say in a comment why `{name}` is there", number + 1));
        }
    }
    findings
}

fn repository_files(root: &Path) -> Vec<PathBuf> {
    let walker = WalkBuilder::new(root)
        .hidden(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_path(Path::cmp)
        .build();
    walker
        .flatten()
        .filter(|entry| {
            entry.file_type().is_some_and(|kind| kind.is_file()) && entry.file_name() != "Cargo.lock"
        })
        .map(ignore::DirEntry::into_path)
        .collect()
}

/// Dependencies between the workspace's own crates, of every kind.
fn workspace_edges(root: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("running `cargo metadata`")?;
    anyhow::ensure!(
        output.status.success(),
        "`cargo metadata` failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &serde_json::Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata, "packages");
    let own: Vec<String> = packages.iter().map(name).collect();
    let mut edges = Vec::new();
    for package in &packages {
        let targets = list(package, "dependencies")
            .iter()
            .map(name)
            .filter(|target| own.contains(target))
            .collect::<Vec<_>>();
        edges.extend(targets.into_iter().map(|target| (name(package), target)));
    }
    edges.sort();
    edges.dedup();
    Ok(edges)
}
