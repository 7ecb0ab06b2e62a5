//! Unified diffs that `git apply` and `patch -p1` accept. Colour is the command line's business.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::apply::FileChange;

/// Past this, the differ may settle for a longer diff; it stays a correct one.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The change as a unified diff with three lines of context. Created, removed and moved files carry git's extended header.
pub fn unified_diff(change: &FileChange) -> String {
    let old_text = change.before.as_ref().map_or("", |file| file.source.text());
    let new_text = change.after.as_ref().map_or("", |after| after.text.as_str());
    let old_path = change.before.as_ref().map(|file| file.path.as_path());
    let new_path = change.after.as_ref().map(|after| after.path.as_path());
    let mut diff = String::new();
    write_extended_header(&mut diff, old_path, new_path);
    let hunks = write_hunks(old_text, new_text);
    if !hunks.is_empty() {
        let old_name = old_path.map_or("/dev/null".to_owned(), |path| file_name("a/", path, true));
        let new_name = new_path.map_or("/dev/null".to_owned(), |path| file_name("b/", path, true));
        let _ = write!(diff, "--- {old_name}\n+++ {new_name}\n{hunks}");
    }
    diff
}

fn write_extended_header(diff: &mut String, old_path: Option<&Path>, new_path: Option<&Path>) {
    if old_path == new_path {
        return;
    }
    let Some(any_path) = old_path.or(new_path) else {
        return;
    };
    let old_name = file_name("a/", old_path.unwrap_or(any_path), false);
    let new_name = file_name("b/", new_path.unwrap_or(any_path), false);
    let _ = writeln!(diff, "diff --git {old_name} {new_name}");
    let _ = match (old_path, new_path) {
        (Some(old), Some(new)) => {
            writeln!(
                diff,
                "rename from {}\nrename to {}",
                file_name("", old, false),
                file_name("", new, false)
            )
        }
        (None, _) => writeln!(diff, "new file mode 100644"),
        (_, None) => writeln!(diff, "deleted file mode 100644"),
    };
}

fn write_hunks(old_text: &str, new_text: &str) -> String {
    // Lines end at `\n` alone, as git counts them: `\r\n` keeps its `\r`, and a lone `\r` does not end a line.
    let old_lines: Vec<&str> = old_text.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new_text.split_inclusive('\n').collect();
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_slices(&old_lines, &new_lines);
    let mut hunks = String::new();
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        let _ = writeln!(hunks, "{}", hunk.header());
        for change in hunk.iter_changes() {
            hunks.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            hunks.push_str(change.value());
            if !change.value().ends_with('\n') {
                hunks.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    hunks
}

/// A path as git writes it: always `/`, quoted when it holds control characters or quotes, with a tab after a name with spaces.
fn file_name(prefix: &str, path: &Path, in_hunk_header: bool) -> String {
    let text = path.to_string_lossy().replace('\\', if cfg!(windows) { "/" } else { "\\" });
    let name = format!("{prefix}{}", text.trim_start_matches('/'));
    if name.contains(|character: char| character.is_control() || character == '"' || character == '\\') {
        return format!("\"{}\"", name.escape_default());
    }
    if in_hunk_header && name.contains(' ') { name + "\t" } else { name }
}
