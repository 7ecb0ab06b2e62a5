//! Whether a tool has to be told the project's Python version.
//!
//! A tool's own configuration and `requires-python` are more exact than our one number, so they win; without them a tool would assume some
//! version of its own and call new syntax a mistake.

use std::path::Path;

use toml::{Table, Value};

use crate::bounded::read_text;

const MAX_CONFIGURATION_BYTES: u64 = 1024 * 1024;

/// Whether `ruff` finds a version in the files of the root.
pub(super) fn is_known_to_linter(root: &Path) -> bool {
    let pyproject = read_table(root, "pyproject.toml");
    has(&pyproject, &["project", "requires-python"])
        || has(&pyproject, &["tool", "ruff", "target-version"])
        || ["ruff.toml", ".ruff.toml"].iter().any(|name| has(&read_table(root, name), &["target-version"]))
}

/// Whether `ty` finds a version in the files of the root.
pub(super) fn is_known_to_type_checker(root: &Path) -> bool {
    let pyproject = read_table(root, "pyproject.toml");
    has(&pyproject, &["project", "requires-python"])
        || has(&pyproject, &["tool", "ty", "environment", "python-version"])
        || has(&read_table(root, "ty.toml"), &["environment", "python-version"])
}

/// A file that is missing or broken says nothing; the tool itself will complain about it.
fn read_table(root: &Path, name: &str) -> Table {
    read_text(&root.join(name), MAX_CONFIGURATION_BYTES)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

fn has(table: &Table, keys: &[&str]) -> bool {
    let Some((last, tables)) = keys.split_last() else {
        return false;
    };
    let mut inner = table;
    for key in tables {
        match inner.get(*key).and_then(Value::as_table) {
            Some(found) => inner = found,
            None => return false,
        }
    }
    inner.contains_key(*last)
}
