//! Virtual paths: absolute, normalised by text alone, bounded in length and depth.

use super::refused;
use crate::error::SandboxError;

/// As on Linux, on every host.
const MAX_PATH: usize = 4096;
const MAX_NAME: usize = 255;
/// Every level costs lookups on the host.
const MAX_COMPONENTS: usize = 64;

/// A path given by the host: absolute and free of `..`.
pub(super) fn checked(path: &str) -> Result<String, SandboxError> {
    if !path.starts_with('/') {
        return Err(refused(path, "a virtual path is absolute: begin it with `/`".to_owned()));
    }
    if path.split('/').any(|part| part == "..") {
        return Err(refused(path, "a virtual path may not contain `..`".to_owned()));
    }
    if path.contains('\0') || is_too_long(path) {
        return Err(refused(&elide(path), "no file system has such a name".to_owned()));
    }
    Ok(normalize(path))
}

/// The absolute path that is meant; relative ones start at the root, and `..` ends there.
pub(super) fn normalize(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

pub(super) fn is_too_long(path: &str) -> bool {
    path.len() > MAX_PATH
        || path.split('/').any(|part| part.len() > MAX_NAME)
        || path.split('/').filter(|part| !part.is_empty()).count() > MAX_COMPONENTS
}

/// Whether `path` is `ancestor` or lies below it. Both are normalised.
pub(super) fn is_within(path: &str, ancestor: &str) -> bool {
    ancestor == "/"
        || path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) fn overlap(one: &str, other: &str) -> bool {
    is_within(one, other) || is_within(other, one)
}

/// From the path itself up to the root.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| parent(path))
}

pub(super) fn parent(path: &str) -> Option<&str> {
    if path == "/" {
        return None;
    }
    path.rfind('/').map(|slash| if slash == 0 { "/" } else { &path[..slash] })
}

pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.ends_with('/') { format!("{folder}{name}") } else { format!("{folder}/{name}") }
}

/// Short enough for a message.
pub(super) fn elide(path: &str) -> String {
    const EDGE: usize = 30;
    let length = path.chars().count();
    if length <= 2 * EDGE {
        return path.to_owned();
    }
    let head: String = path.chars().take(EDGE).collect();
    let tail: String = path.chars().skip(length - EDGE).collect();
    format!("{head}…{tail}")
}

/// The form in which paths are compared with permissions: a host that ignores case must not see past one.
pub(super) fn comparable(path: &str) -> String {
    if cfg!(any(target_os = "macos", windows)) { path.to_lowercase() } else { path.to_owned() }
}
