//! The first lines of a spec: why the work is done, in a few words.
//!
//! The name of a spec comes from events, which anybody may have written: nothing outside the project's root is read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::SpecSource;

/// Only the beginning is read.
const MAX_READ_BYTES: u64 = 64 * 1024;
/// Longer summaries are cut.
const MAX_SUMMARY_CHARACTERS: usize = 600;
/// What is looked for where a spec is a folder.
const NAMES: [&str; 4] = ["spec.md", "plan.md", "README.md", "readme.md"];

/// The specs of a project, as they are on disk now.
pub struct SpecFiles {
    root: Option<PathBuf>,
    known: Mutex<BTreeMap<String, Option<String>>>,
}

impl SpecFiles {
    pub fn new(root: &Path) -> Self {
        Self { root: root.canonicalize().ok(), known: Mutex::default() }
    }

    fn read(&self, spec: &str) -> Option<String> {
        let root = self.root.as_ref()?;
        let relative = Path::new(spec);
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if spec.is_empty() || spec.len() > 1024 || !relative.components().all(is_plain) {
            return None;
        }
        // Links may lead out of the project: what counts is where they end.
        let inside = |path: PathBuf| path.canonicalize().ok().filter(|path| path.starts_with(root));
        let mut path = inside(root.join(relative))?;
        if path.is_dir() {
            path = NAMES.iter().find_map(|name| inside(path.join(name)).filter(|path| path.is_file()))?;
        }
        if !path.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(MAX_READ_BYTES).read_to_end(&mut bytes).ok()?;
        summarise(&String::from_utf8_lossy(&bytes))
    }
}

impl SpecSource for SpecFiles {
    fn summary(&self, spec: &str) -> Option<String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(summary) = known.get(spec) {
            return summary.clone();
        }
        let summary = self.read(spec);
        known.insert(spec.to_owned(), summary.clone());
        summary
    }
}

/// The first heading and the first paragraph.
fn summarise(text: &str) -> Option<String> {
    let mut heading = None;
    let mut paragraph: Vec<&str> = Vec::new();
    let mut lines = text.trim_start_matches('\u{feff}').lines().peekable();
    // Front matter is for machines.
    if lines.peek().is_some_and(|line| line.trim() == "---") {
        lines.next();
        lines.by_ref().find(|line| line.trim() == "---");
    }
    for line in lines {
        let line = line.trim();
        let title = line.trim_start_matches('#');
        match () {
            () if title.len() < line.len() => {
                if !paragraph.is_empty() {
                    break;
                }
                if heading.is_none() {
                    heading = Some(title.trim());
                }
            }
            () if line.is_empty() => {
                if !paragraph.is_empty() {
                    break;
                }
            }
            () => paragraph.push(line),
        }
    }
    let paragraph = paragraph.join(" ");
    let parts: Vec<&str> =
        heading.into_iter().chain([paragraph.as_str()]).filter(|part| !part.is_empty()).collect();
    let summary: String =
        parts.join("\n").chars().filter(|character| *character == '\n' || !character.is_control()).collect();
    let cut: String = summary.chars().take(MAX_SUMMARY_CHARACTERS).collect();
    let is_cut = cut.len() < summary.len();
    (!cut.is_empty()).then(|| if is_cut { format!("{cut}…") } else { cut })
}
