//! mlx-lm as a trainer: `mlx_lm.lora`, whose progress is read from the lines it prints for people.
//!
//! It takes folders in the layout of `transformers`, no GGUF files. It knows no weights of examples, so rows are repeated by weight.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use grail_flywheel::dataset::export::Layout;
use grail_flywheel::phase::CurvePoint;
use grail_project::TrainerName;
use grail_rules::tools::{ToolSettings, find};
use serde_json::json;

use super::child;
use super::data::{export_rows, storage, write_config};
use super::local::no_number;
use super::{TrainEvent, TrainJob, TrainWatch, Trainer, training_error};
use crate::AgentError;

const PROGRAM: &str = "mlx_lm.lora";

pub struct MlxTrainer {
    pub root: PathBuf,
    /// How it is started, if not by its name.
    pub command: Vec<String>,
}

impl Trainer for MlxTrainer {
    fn name(&self) -> TrainerName {
        TrainerName::Mlx
    }

    fn train(&self, job: &TrainJob<'_>, watch: &mut TrainWatch<'_>) -> Result<(), AgentError> {
        check_folder(job.weights, "mlx-lm")?;
        let mut command = self.command()?;
        let settings = job.settings;
        let rows = export_rows(job, Layout::Mlx, settings.batch_size)?;
        let last = if job.resume { last_checkpoint(job.output) } else { None };
        let done = last.as_ref().map_or(0, |(step, _)| *step);
        let begin_with = match last {
            Some((_, path)) => Some(path),
            None => job.adapter.map(adapter_file).transpose()?,
        };
        let left = settings.iterations.saturating_sub(done).max(1);
        let every = settings.checkpoint_every.unwrap_or_else(|| settings.iterations.div_ceil(4).max(1));
        // YAML to mlx-lm; every JSON is.
        let config = job.data.join("mlx.yaml");
        let layers = settings.layers.map_or(-1, |layers| i64::try_from(layers).unwrap_or(-1));
        write_config(
            &config,
            &json!({
                "model": job.weights,
                "train": true,
                "fine_tune_type": "lora",
                "data": rows,
                "seed": settings.seed,
                "num_layers": layers,
                "batch_size": settings.batch_size,
                "iters": left,
                "learning_rate": settings.learning_rate,
                "max_seq_length": settings.max_tokens,
                "mask_prompt": true,
                "adapter_path": job.output,
                "resume_adapter_file": begin_with,
                "save_every": every,
                "steps_per_report": 1,
                "steps_per_eval": every,
                "lora_parameters": {"rank": settings.rank, "scale": settings.scale, "dropout": 0.0},
            }),
        )?;
        command.arg("--config").arg(&config).env("PYTHONUNBUFFERED", "1");
        (watch.hear)(TrainEvent::Planned { iterations: settings.iterations });
        let hear = &mut *watch.hear;
        let (name, is_interrupted) = (self.name().name(), watch.is_interrupted);
        child::run(command, Stdio::null(), name, is_interrupted, |_, line| {
            let Some(mut point) = read_line(line) else {
                hear(TrainEvent::Said(line));
                return Ok(());
            };
            point.step += done;
            let losses = [point.loss, point.validation_loss];
            if losses.into_iter().flatten().any(|loss| !loss.is_finite()) {
                return Err(no_number(point.step));
            }
            hear(TrainEvent::Point(&point));
            Ok(())
        })?;
        remove_checkpoints(job.output)
    }
}

impl MlxTrainer {
    fn command(&self) -> Result<Command, AgentError> {
        if let Some((program, arguments)) = self.command.split_first() {
            let mut command = Command::new(program);
            command.args(arguments);
            return Ok(command);
        }
        let settings = ToolSettings { uvx: false, ..ToolSettings::default() };
        let tool = find(&self.root, PROGRAM, &settings).ok_or_else(|| {
            training_error(
                format!("the trainer `mlx` needs `{PROGRAM}`, which is neither in the project's `.venv` nor on `PATH`"),
                "`pip install mlx-lm` (on Linux also `\"mlx[cpu]\"`), or say how it is started: `command` under `[train]` in `grail.toml`",
            )
        })?;
        Ok(Command::new(tool.program))
    }
}

/// Weights as `transformers` has them.
pub(super) fn check_folder(weights: &Path, trainer: &str) -> Result<(), AgentError> {
    if weights.is_dir() {
        return Ok(());
    }
    Err(training_error(
        format!("{trainer} cannot train `{}`: it takes folders with `.safetensors` files", weights.display()),
        "`--trainer local` trains GGUF files; or name such a folder: `--model local:FOLDER`",
    ))
}

/// The weights of the adapter that training begins with.
fn adapter_file(folder: &Path) -> Result<PathBuf, AgentError> {
    let file = folder.join("adapters.safetensors");
    if file.is_file() {
        return Ok(file);
    }
    Err(training_error(
        format!("mlx-lm cannot go on from `{}`: it has no `adapters.safetensors`", folder.display()),
        "`--trainer trl` goes on from adapters that PEFT has written",
    ))
}

/// What was measured, in the words of this mlx-lm or an earlier one.
fn read_line(line: &str) -> Option<CurvePoint> {
    let line = line.trim();
    match line.strip_prefix("Iter ") {
        Some(told) => read_sentence(told),
        None => read_row(line),
    }
}

/// From 0.32 on, rows of a table: `10    2.313 ▼    1,153      4.1k`, or `10    val 3.120    2.04s`.
fn read_row(line: &str) -> Option<CurvePoint> {
    let cells: Vec<&str> = line.split_whitespace().collect();
    let number = |cell: &str| cell.replace(',', "").parse::<f64>().ok();
    match cells[..] {
        [step, "val", loss, _] => Some(CurvePoint {
            step: step.parse().ok()?,
            validation_loss: Some(number(loss)?),
            ..CurvePoint::default()
        }),
        [step, loss, "▼" | "▲", speed, _] => Some(CurvePoint {
            step: step.parse().ok()?,
            loss: Some(number(loss)?),
            tokens_per_second: number(speed),
            ..CurvePoint::default()
        }),
        _ => None,
    }
}

/// Before, sentences: `Iter 10: Train loss 2.313, Learning Rate 1.000e-05, It/sec 0.372, …`, or `Iter 1: Val loss 3.12, Val took 2.0s`.
fn read_sentence(told: &str) -> Option<CurvePoint> {
    let (step, told) = told.split_once(':')?;
    let value = |name: &str| {
        let part = told.split(',').find_map(|part| part.trim().strip_prefix(name))?;
        part.trim().parse::<f64>().ok()
    };
    let (loss, validation_loss) = (value("Train loss "), value("Val loss "));
    if loss.is_none() && validation_loss.is_none() {
        return None;
    }
    Some(CurvePoint {
        step: step.trim().parse().ok()?,
        loss,
        validation_loss,
        learning_rate: value("Learning Rate "),
        tokens_per_second: value("Tokens/sec "),
        ..CurvePoint::default()
    })
}

/// Files such as `0000100_adapters.safetensors`, by their step.
fn checkpoints(folder: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let step = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name.strip_suffix("_adapters.safetensors")?.parse().ok()?, entry.path()))
    };
    let mut found: Vec<(u64, PathBuf)> = entries.filter_map(step).collect();
    found.sort();
    found
}

fn last_checkpoint(folder: &Path) -> Option<(u64, PathBuf)> {
    checkpoints(folder).pop()
}

/// What training is done with is no part of the adapter.
fn remove_checkpoints(folder: &Path) -> Result<(), AgentError> {
    for (_, path) in checkpoints(folder) {
        fs::remove_file(&path).map_err(|source| storage(&path, source))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mlx_prints_for_people_is_understood() {
        let point = read_line(
            "Iter 10: Train loss 2.313, Learning Rate 1.000e-05, It/sec 0.372, Tokens/sec 153.211, Trained Tokens 4117, Peak mem 3.1 GB",
        );
        let expected = CurvePoint {
            step: 10,
            loss: Some(2.313),
            learning_rate: Some(1e-5),
            tokens_per_second: Some(153.211),
            ..CurvePoint::default()
        };
        assert_eq!(point, Some(expected));
        let point = read_line("Iter 1: Val loss 3.120, Val took 2.040s");
        assert_eq!(point, Some(CurvePoint { step: 1, validation_loss: Some(3.12), ..CurvePoint::default() }));
        assert!(
            read_line("Iter 3: Train loss nan, It/sec 1")
                .is_some_and(|point| point.loss.is_some_and(f64::is_nan))
        );
        assert_eq!(read_line("Iter 100: Saved adapter weights to adapters.safetensors."), None);
        assert_eq!(read_line("Loading pretrained model"), None);
    }

    #[test]
    fn the_table_of_later_versions_is_understood() {
        let point = read_line("    10    2.313 ▼    1,153      4.1k");
        let expected = CurvePoint {
            step: 10,
            loss: Some(2.313),
            tokens_per_second: Some(1153.0),
            ..CurvePoint::default()
        };
        assert_eq!(point, Some(expected));
        let point = read_line("     1    val 3.120    2.04s");
        assert_eq!(point, Some(CurvePoint { step: 1, validation_loss: Some(3.12), ..CurvePoint::default() }));
        assert!(
            read_line("     3      nan ▲       36      0.1k")
                .is_some_and(|point| point.loss.is_some_and(f64::is_nan))
        );
        for line in [
            "  iter   train_loss     tok/s     tokens",
            "  save  0000004_adapters.safetensors",
            "│    batch · iters   2 · 12     │",
            "train ██████████████████████████████ 100% ·    12/12",
        ] {
            assert_eq!(read_line(line), None, "{line}");
        }
    }

    #[test]
    fn an_adapter_that_mlx_cannot_read_is_not_left_out_in_silence() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("adapter_model.safetensors"), "numbers").unwrap();
        let error = adapter_file(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("it has no `adapters.safetensors`"), "{error}");
    }
}
