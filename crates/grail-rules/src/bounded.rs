//! Reading small text files of a project that may be anything: missing, huge, a pipe, not text.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The text of a regular file of at most `max_bytes`; `None` for everything else.
pub(crate) fn read_text(path: &Path, max_bytes: u64) -> Option<String> {
    // Asked before opening: opening a named pipe would wait for a writer.
    if !path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= max_bytes) {
        return None;
    }
    let mut bytes = Vec::new();
    // The file may grow meanwhile.
    File::open(path).ok()?.take(max_bytes + 1).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= max_bytes)?;
    Some(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
