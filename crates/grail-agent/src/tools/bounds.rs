//! How much goes into an answer: a model has to read it, and pays for it.

use std::time::Duration;

use similar::TextDiff;

use crate::AgentError;

/// A longer difference is cut.
pub(super) const MAX_DIFF_BYTES: usize = 24 * 1024;
/// Of a list, unless more is asked for.
pub(super) const DEFAULT_LIMIT: usize = 100;
pub(super) const MAX_LIMIT: usize = 500;
/// In one call.
pub(super) const MAX_PATHS: usize = 200;

/// A number of entries that somebody asked for.
pub(super) fn limit(wanted: Option<usize>) -> usize {
    wanted.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT)
}

/// At most so many bytes from the beginning, with a word about the rest.
pub(super) fn beginning(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}\n… ({} more bytes)\n", &text[..end], text.len() - end)
}

/// Refuses lists that nobody would write.
pub(super) fn check_paths(paths: &[String]) -> Result<(), AgentError> {
    if paths.len() <= MAX_PATHS {
        return Ok(());
    }
    Err(super::failure(
        format!("{} paths are too many", paths.len()),
        format!("name at most {MAX_PATHS}, or a folder"),
    ))
}

/// The change of one file as a unified diff, bounded.
pub(super) fn diff(path: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::configure().timeout(Duration::from_secs(1)).diff_lines(before, after);
    let text = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    beginning(&text, MAX_DIFF_BYTES)
}
