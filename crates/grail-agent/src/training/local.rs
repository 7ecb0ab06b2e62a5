//! Grail's own trainer, in the sibling program: `grail-local train`. It multiplies the weight of each example into its loss, and learns from pairs.

use std::process::Stdio;

use grail_flywheel::dataset::export::Layout;
use grail_flywheel::phase::CurvePoint;
use grail_model::local::{find_local_program, local_command};
use grail_project::TrainerName;
use serde_json::{Map, Value as Json, json};

use super::child::{self, Stream};
use super::data::{export_rows, pairs, write_config};
use super::{TrainEvent, TrainJob, TrainWatch, Trainer, training_error};
use crate::AgentError;

const NO_PAIRS: &str =
    "the second stage is left out: the dataset has no pairs of a wrong and a right answer that can be said";

pub struct LocalTrainer;

impl Trainer for LocalTrainer {
    fn name(&self) -> TrainerName {
        TrainerName::Local
    }

    fn train(&self, job: &TrainJob<'_>, watch: &mut TrainWatch<'_>) -> Result<(), AgentError> {
        let program = find_local_program()?;
        let path = job.data.join("train.json");
        let config = config(job)?;
        write_config(&path, &config)?;
        let mut command = local_command(&program);
        command.args(["train", "--config"]).arg(&path).arg("--until-input-ends");
        (watch.hear)(TrainEvent::Planned { iterations: job.settings.iterations });
        if job.settings.preferences && config["preferences"].is_null() {
            (watch.hear)(TrainEvent::Noted(NO_PAIRS));
        }
        let (name, is_interrupted) = (self.name().name(), watch.is_interrupted);
        let hear = &mut *watch.hear;
        child::run(command, Stdio::piped(), name, is_interrupted, |stream, line| match stream {
            Stream::Output => hear_event(line, hear),
            Stream::Errors => {
                hear(TrainEvent::Said(line));
                Ok(())
            }
        })
    }
}

/// What the program is told. What is left to it is left out.
fn config(job: &TrainJob<'_>) -> Result<Json, AgentError> {
    let settings = job.settings;
    let rows = export_rows(job, Layout::Mlx, 1)?;
    let mut config = Map::new();
    let mut set = |name: &str, value: Json| {
        if !value.is_null() {
            config.insert(name.to_owned(), value);
        }
    };
    set("model", json!(job.weights));
    // Each example once, with its weight.
    set("train", json!(rows.join("weighted.jsonl")));
    set("valid", json!(Some(rows.join("valid.jsonl")).filter(|path| path.is_file())));
    if settings.preferences {
        set("preferences", json!(pairs(job)?));
    }
    set("output", json!(job.output));
    set("adapter", json!(job.adapter));
    set("seed", json!(settings.seed));
    set("rank", json!(settings.rank));
    set("scale", json!(settings.scale));
    set("learning_rate", json!(settings.learning_rate));
    set("iterations", json!(settings.iterations));
    set("batch_size", json!(settings.batch_size));
    set("max_tokens", json!(settings.max_tokens));
    set("whole_every", json!(settings.whole_every));
    set("known_loss", json!(settings.known_loss));
    set("warmup", json!(settings.warmup));
    set("checkpoint_every", json!(settings.checkpoint_every));
    set("layers", json!(settings.layers));
    set("threads", json!(settings.threads));
    set("resume", json!(job.resume));
    Ok(Json::Object(config))
}

/// One line of progress: `{"event": "start" | "note" | "step" | "checkpoint" | "done" | "error", …}`. Others may come with later versions.
pub(super) fn hear_event(line: &str, hear: &mut dyn FnMut(TrainEvent<'_>)) -> Result<(), AgentError> {
    let Ok(event) = serde_json::from_str::<Json>(line) else {
        hear(TrainEvent::Said(line));
        return Ok(());
    };
    let number = |names: &[&str]| names.iter().find_map(|name| event[*name].as_f64());
    let count = |names: &[&str]| names.iter().find_map(|name| event[*name].as_u64());
    match event["event"].as_str().unwrap_or_default() {
        "start" => {
            if let Some(iterations) = count(&["iterations", "steps"]) {
                hear(TrainEvent::Planned { iterations });
            }
        }
        "note" => hear(TrainEvent::Noted(event["message"].as_str().unwrap_or_default())),
        "error" => {
            let text = |name: &str| event[name].as_str().map(str::to_owned);
            let message = text("message").or_else(|| text("error"));
            return Err(AgentError::Training {
                message: message.unwrap_or_else(|| "the trainer failed without a word".to_owned()),
                hint: text("hint"),
            });
        }
        "step" | "checkpoint" => {
            let is_step = event["event"] == "step";
            let point = CurvePoint {
                step: count(&["step", "iteration"]).unwrap_or_default(),
                loss: number(&["loss", "train_loss"]).filter(|_| is_step),
                validation_loss: number(&["validation_loss", "valid_loss", "validation"]),
                passed: number(&["passed", "pass_rate"]),
                learning_rate: number(&["learning_rate"]),
                tokens_per_second: number(&["tokens_per_second"]),
                seconds: number(&["seconds", "elapsed"]).unwrap_or_default(),
            };
            // What is no number has no place in JSON, so it comes as nothing.
            if is_step && point.loss.is_none_or(f64::is_nan) {
                return Err(no_number(point.step));
            }
            hear(TrainEvent::Point(&point));
        }
        _ => {}
    }
    Ok(())
}

/// A loss that is no number: nothing that comes after it is worth anything.
pub(super) fn no_number(step: u64) -> AgentError {
    training_error(
        format!("the loss is no number any more at step {step}"),
        "a lower learning rate, a longer warm-up or a smaller scale may help: `--learning-rate`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_trainer_notes_is_passed_on() {
        let mut heard = Vec::new();
        let line = r#"{"event": "note", "message": "the second stage is left out"}"#;
        hear_event(line, &mut |event: TrainEvent<'_>| heard.push(format!("{event:?}"))).unwrap();
        assert_eq!(heard, [r#"Noted("the second stage is left out")"#]);
    }
}
