//! What was ever held out for evaluation: a prompt that a model was judged by stays out of every dataset of the project, also when the skill
//! that asked it has changed or is gone.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::FlywheelError;

/// More is no list of prompts.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The prompts that are held out today and those that ever were, sorted. Those that are new are remembered.
pub fn remember_held_out(root: &Path, prompts: &[String]) -> Result<Vec<String>, FlywheelError> {
    let path = held_out_file(root);
    let failed = |source| FlywheelError::storage(&path, source);
    let text = read(&path).map_err(failed)?;
    // The line that a crash left behind was not remembered; if it is asked today, it is written again.
    let known: BTreeSet<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let new: BTreeSet<&String> = prompts.iter().filter(|prompt| !known.contains(*prompt)).collect();
    if !new.is_empty() {
        let mut lines = if text.is_empty() || text.ends_with('\n') { String::new() } else { "\n".to_owned() };
        for prompt in &new {
            lines.push_str(&serde_json::Value::from(prompt.as_str()).to_string());
            lines.push('\n');
        }
        append(&path, &lines).map_err(failed)?;
    }
    let all: BTreeSet<String> = new.into_iter().cloned().chain(known).collect();
    Ok(all.into_iter().collect())
}

/// Where they are.
pub fn held_out_file(root: &Path) -> PathBuf {
    root.join(".grail").join("held-out.jsonl")
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => drop(file.take(MAX_BYTES).read_to_end(&mut bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lines of two programs at once stand below each other.
fn append(path: &Path, lines: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(lines.as_bytes())?;
    file.sync_all()
}
