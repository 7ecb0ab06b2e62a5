//! TRL with PEFT as a trainer: a small script in a Python that has them, which tells its progress as Grail's own trainer does.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use grail_flywheel::dataset::export::Layout;
use grail_project::TrainerName;
use grail_rules::tools::{ToolSettings, find};
use serde_json::json;

use super::child::{self, Stream};
use super::data::{export_rows, write_config};
use super::local::hear_event;
use super::mlx::check_folder;
use super::{TrainEvent, TrainJob, TrainWatch, Trainer, training_error};
use crate::AgentError;

const SCRIPT: &str = include_str!("train_with_trl.py");

pub struct TrlTrainer {
    pub root: PathBuf,
    /// The Python that has TRL.
    pub python: Option<String>,
}

impl Trainer for TrlTrainer {
    fn name(&self) -> TrainerName {
        TrainerName::Trl
    }

    fn train(&self, job: &TrainJob<'_>, watch: &mut TrainWatch<'_>) -> Result<(), AgentError> {
        check_folder(job.weights, "TRL")?;
        let python = self.python()?;
        let settings = job.settings;
        let rows = export_rows(job, Layout::TrlSft, 1)?;
        let config = job.data.join("trl.json");
        write_config(
            &config,
            &json!({
                "model": job.weights,
                "adapter": job.adapter,
                "data": rows,
                "output": job.output,
                "resume": job.resume,
                "iterations": settings.iterations,
                "batch_size": settings.batch_size,
                "learning_rate": settings.learning_rate,
                "rank": settings.rank,
                "scale": settings.scale,
                "seed": settings.seed,
                "max_tokens": settings.max_tokens,
                "layers": settings.layers,
                "warmup": settings.warmup.unwrap_or(settings.iterations / 10),
                "checkpoint_every": settings.checkpoint_every.unwrap_or_else(|| settings.iterations.div_ceil(4).max(1)),
            }),
        )?;
        let mut command = Command::new(python);
        command.args(["-c", SCRIPT]).arg(&config).env("PYTHONUNBUFFERED", "1");
        let hear = &mut *watch.hear;
        let (name, is_interrupted) = (self.name().name(), watch.is_interrupted);
        child::run(command, Stdio::null(), name, is_interrupted, |stream, line| match stream {
            Stream::Output => hear_event(line, hear),
            Stream::Errors => {
                hear(TrainEvent::Said(line));
                Ok(())
            }
        })
    }
}

impl TrlTrainer {
    fn python(&self) -> Result<PathBuf, AgentError> {
        if let Some(python) = &self.python {
            return Ok(PathBuf::from(python));
        }
        let settings = ToolSettings { uvx: false, ..ToolSettings::default() };
        let found = ["python", "python3"].into_iter().find_map(|name| find(&self.root, name, &settings));
        found.map(|tool| tool.program).ok_or_else(|| {
            training_error(
                "the trainer `trl` needs a Python, and there is none",
                "say where it is: `python` under `[train]` in `grail.toml`",
            )
        })
    }
}
