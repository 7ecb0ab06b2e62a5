//! Evaluations on disk: `.grail/evaluations/<hash>.json`, written once, verified at every reading.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::{EVALUATION_FORMAT, Evaluation};
use crate::FlywheelError;
use crate::dataset::store::sync_folder;
use crate::event::now;

/// Where evaluations are, below the project's root.
pub const EVALUATIONS_FOLDER: &str = ".grail/evaluations";
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// The shortest beginning of a hash that may stand for it.
const MIN_PREFIX: usize = 4;

/// Writes an evaluation for good under its hash, which it gets here, or finds that it is there. Answers are sorted by prompt and seed.
pub fn keep_evaluation(root: &Path, evaluation: Evaluation) -> Result<Evaluation, FlywheelError> {
    let mut kept = evaluation;
    kept.format = EVALUATION_FORMAT;
    kept.grail = env!("CARGO_PKG_VERSION").to_owned();
    kept.answers.sort_by(|one, other| (&one.prompt, one.seed).cmp(&(&other.prompt, other.seed)));
    kept.hash = kept.content_hash();
    let folder = root.join(EVALUATIONS_FOLDER);
    let path = folder.join(format!("{}.json", kept.hash));
    if path.exists() {
        return read(&path, &kept.hash);
    }
    kept.made = now();
    fs::create_dir_all(&folder).map_err(|source| FlywheelError::storage(&folder, source))?;
    let storage = |source| FlywheelError::storage(&path, source);
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(storage)?;
    let text = serde_json::to_vec_pretty(&kept).map_err(|error| storage(error.into()))?;
    file.write_all(&text)
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.as_file().sync_all())
        .map_err(storage)?;
    file.persist(&path).map_err(|error| storage(error.error))?;
    sync_folder(&folder)?;
    Ok(kept)
}

/// The evaluation whose hash begins so.
pub fn open_evaluation(root: &Path, hash: &str) -> Result<Evaluation, FlywheelError> {
    let hint = "a hash or its beginning, of at least 4 digits; `grail eval --list` shows them";
    if hash.len() < MIN_PREFIX || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(FlywheelError::refused(format!("`{hash}` names no evaluation"), hint));
    }
    let mut found = names(root)?.into_iter().filter(|name| name.starts_with(hash));
    match (found.next(), found.next()) {
        (Some(name), None) => read(&root.join(EVALUATIONS_FOLDER).join(format!("{name}.json")), &name),
        (None, _) => Err(FlywheelError::refused(format!("there is no evaluation `{hash}`"), hint)),
        (Some(_), Some(_)) => Err(FlywheelError::refused(
            format!("several evaluations begin with `{hash}`"),
            "write more of the hash",
        )),
    }
}

/// Every evaluation, newest first; one that is not what it was is an error of its own.
pub fn list_evaluations(root: &Path) -> Result<Vec<Result<Evaluation, FlywheelError>>, FlywheelError> {
    let read_one = |name: String| read(&root.join(EVALUATIONS_FOLDER).join(format!("{name}.json")), &name);
    let mut evaluations: Vec<_> = names(root)?.into_iter().map(read_one).collect();
    evaluations.sort_by_key(|evaluation| {
        std::cmp::Reverse(evaluation.as_ref().ok().map(|one| (one.made.clone(), one.hash.clone())))
    });
    Ok(evaluations)
}

fn names(root: &Path) -> Result<Vec<String>, FlywheelError> {
    let folder = root.join(EVALUATIONS_FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FlywheelError::storage(&folder, error)),
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned))
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .collect();
    names.sort();
    Ok(names)
}

fn read(path: &Path, hash: &str) -> Result<Evaluation, FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let metadata = fs::symlink_metadata(path).map_err(storage)?;
    let changed = || FlywheelError::EvaluationChanged { evaluation: hash.chars().take(12).collect() };
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(changed());
    }
    let bytes = fs::read(path).map_err(storage)?;
    let evaluation: Evaluation = serde_json::from_slice(&bytes).map_err(|_| changed())?;
    if evaluation.format != EVALUATION_FORMAT {
        return Err(FlywheelError::refused(
            format!("evaluation `{hash}` has format {}, which this Grail does not know", evaluation.format),
            "a newer Grail has made it; evaluate anew or use that one",
        ));
    }
    if evaluation.hash != hash || evaluation.content_hash() != hash {
        return Err(changed());
    }
    Ok(evaluation)
}
