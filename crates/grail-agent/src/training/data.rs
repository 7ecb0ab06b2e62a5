//! The rows of a dataset as a trainer reads them, below the folder of its phase.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use grail_flywheel::dataset::export::{ExportSettings, Layout, export_part};
use serde_json::{Value as Json, json};

use super::{TrainJob, training_error};
use crate::AgentError;

/// Writes the dataset in a layout. A resumed training has its rows already, and must have the same.
pub(super) fn export_rows(job: &TrainJob<'_>, layout: Layout, batch: u64) -> Result<PathBuf, AgentError> {
    let folder = job.data.join(layout.name());
    if job.resume && folder.join("train.jsonl").is_file() {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|source| storage(&folder, source))?;
    }
    let settings = ExportSettings {
        seed: job.settings.seed,
        batch: usize::try_from(batch).unwrap_or(1),
        ..ExportSettings::new(layout)
    };
    export_part(job.dataset, &settings, &folder, &|example| job.replay.wants(&example.id))?;
    Ok(folder)
}

/// Pairs of a right and a wrong answer, with answers as plain text; nothing if the dataset has none.
pub(super) fn pairs(job: &TrainJob<'_>) -> Result<Option<PathBuf>, AgentError> {
    let has_pair = |example: &grail_flywheel::example::Example| {
        example.chosen.is_some() && example.rejected.is_some() && example.weight.total() > 0.0
    };
    if !job.dataset.train()?.iter().any(has_pair) {
        return Ok(None);
    }
    let folder = match export_rows(job, Layout::TrlDpo, 1) {
        Ok(folder) => folder,
        // Pairs whose answers cannot be said: the same ones, or calls of tools.
        Err(AgentError::Flywheel(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let (source, target) = (folder.join("weighted.jsonl"), job.data.join("preferences.jsonl"));
    let input = BufReader::new(File::open(&source).map_err(|error| storage(&source, error))?);
    let mut output = BufWriter::new(File::create(&target).map_err(|error| storage(&target, error))?);
    for line in input.lines() {
        let line = line.map_err(|error| storage(&source, error))?;
        let row: Json = serde_json::from_str(&line)
            .map_err(|error| training_error(format!("`{}`: {error}", source.display()), "begin anew"))?;
        let text = |answer: &str| row[answer][0]["content"].clone();
        let row = json!({
            "prompt": row["prompt"],
            "chosen": text("chosen"),
            "rejected": text("rejected"),
            "weight": row["weight"],
        });
        writeln!(output, "{row}").map_err(|error| storage(&target, error))?;
    }
    output.flush().map_err(|error| storage(&target, error))?;
    Ok(Some(target))
}

/// Writes a small file of settings for a trainer.
pub(super) fn write_config(path: &Path, config: &Json) -> Result<(), AgentError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|source| storage(folder, source))?;
    }
    fs::write(path, format!("{config:#}\n")).map_err(|source| storage(path, source))
}

pub(super) fn storage(path: &Path, source: std::io::Error) -> AgentError {
    AgentError::Storage { path: path.display().to_string(), source }
}
