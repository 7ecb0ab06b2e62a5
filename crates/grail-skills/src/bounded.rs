//! Reading files that may be anything: missing, huge, a pipe, a link to somewhere else, not text.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// The text of a regular file of at most `max_bytes`, or why there is none.
pub(crate) fn read_text(path: &Path, max_bytes: u64) -> Result<String, String> {
    // Asked before opening: opening a named pipe would wait for a writer.
    let metadata = path.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err("this is not a file".to_owned());
    }
    let too_large = || format!("the file is larger than {max_bytes} bytes");
    if metadata.len() > max_bytes {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // The file may grow meanwhile.
    File::open(path)
        .and_then(|file| file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_large());
    }
    let text = String::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text".to_owned())?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// `folder/inside` with links resolved, if that is a place in the folder, or why not. Lexically `inside` has plain names only.
pub(crate) fn resolve_inside(folder: &Path, inside: &Path) -> Result<PathBuf, String> {
    if !is_plain(inside) {
        return Err("the path leaves the folder".to_owned());
    }
    let real_folder = fs::canonicalize(folder).map_err(|error| unreadable(&error))?;
    let real = fs::canonicalize(real_folder.join(inside)).map_err(|error| unreadable(&error))?;
    match real.starts_with(&real_folder) {
        true => Ok(real),
        false => Err("the path is a link out of the folder".to_owned()),
    }
}

/// Whether a path has plain names only: not absolute, no `.` and no `..`, no drive, and no separator of another system.
pub(crate) fn is_plain(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    let text = path.as_os_str().to_string_lossy();
    parts.peek().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && !text.contains(['\\', '\0'])
        && !text.ends_with('/')
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => format!("the file cannot be read: {error}"),
    }
}
