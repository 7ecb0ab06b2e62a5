//! What is written: adapters in the layouts of mlx-lm and PEFT, and the state from which a run that was killed goes on.
//!
//! A checkpoint is a folder named for its step. It appears as a whole, by renaming, so whatever is there can be relied on. Only the newest
//! one keeps the state of the optimiser, which is twice as large as the adapter.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::adapter::{Adapter, Numbers, Shape};
use super::optimizer::Optimizer;
use super::unusable;
use crate::{LocalError, Result};

const ADAPTER: &str = "adapters.safetensors";
const MOMENTS: &str = "optimizer.safetensors";
const STATE: &str = "state.json";

/// Where a run is, beside its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// Steps done, over both stages.
    pub(super) step: usize,
    /// Updates since the moments were zero.
    pub(super) updates: usize,
    /// Of the settings, the data and the model: a run goes on only as the same run.
    pub(super) fingerprint: String,
    pub(super) tokens: u64,
    pub(super) seconds: f64,
}

pub(super) fn folder(output: &Path, step: usize) -> PathBuf {
    output.join("checkpoints").join(step.to_string())
}

/// Steps of which there are checkpoints, in order.
pub(super) fn steps(output: &Path) -> Vec<usize> {
    let entries = fs::read_dir(output.join("checkpoints")).into_iter().flatten().flatten();
    let mut steps: Vec<usize> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    steps.sort_unstable();
    steps
}

pub(super) fn save(
    output: &Path,
    adapter: &Adapter,
    optimizer: &Optimizer,
    state: &State,
) -> Result<PathBuf> {
    let place = folder(output, state.step);
    let unfinished = output.join("checkpoints").join(format!(".{}.unfinished", state.step));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| LocalError::Write { path, source }
    };
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(failed(&unfinished))?;
    }
    fs::create_dir_all(&unfinished).map_err(failed(&unfinished))?;
    write_mlx(&unfinished, adapter)?;
    write_peft(&unfinished.join("peft"), adapter)?;
    let moments = adapter.shape.matrices().zip(&optimizer.first).zip(&optimizer.second).flat_map(
        |(((name, rows, columns), first), second)| {
            [
                (format!("{name}.first"), rows, columns, first),
                (format!("{name}.second"), rows, columns, second),
            ]
        },
    );
    write_tensors(&unfinished.join(MOMENTS), moments)?;
    write(&unfinished.join(STATE), &json!(state))?;
    if place.exists() {
        fs::remove_dir_all(&place).map_err(failed(&place))?;
    }
    fs::rename(&unfinished, &place).map_err(failed(&place))?;
    for older in steps(output).into_iter().filter(|step| *step < state.step) {
        // Left-overs cost space, nothing else.
        let _ = fs::remove_file(folder(output, older).join(MOMENTS));
    }
    Ok(place)
}

/// The newest checkpoint that a run can go on from.
pub(super) fn load(
    output: &Path,
    shape: &Shape,
    weight_decay: f64,
    fingerprint: &str,
) -> Result<Option<(Adapter, Optimizer, State)>> {
    for step in steps(output).into_iter().rev() {
        let place = folder(output, step);
        if !place.join(MOMENTS).exists() {
            continue;
        }
        let file = place.join(STATE);
        let text = fs::read(&file).map_err(|source| LocalError::Read { path: file.clone(), source })?;
        let state: State = serde_json::from_slice(&text)
            .map_err(|error| unusable(format!("`{}`", file.display()), error.to_string()))?;
        if state.fingerprint != fingerprint {
            let reason = "it comes from other settings, other data or another model; run into another folder, or set `resume` to false and empty this one";
            return Err(unusable(format!("the checkpoint `{}`", place.display()), reason.to_owned()));
        }
        let adapter = Adapter::read(shape.clone(), &place.join(ADAPTER))?;
        let file = place.join(MOMENTS);
        let bytes = fs::read(&file).map_err(|source| LocalError::Read { path: file.clone(), source })?;
        let tensors = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)?;
        let moments = |end: &str| -> Result<Numbers> {
            shape
                .matrices()
                .map(|(name, _, _)| {
                    let name = format!("{name}.{end}");
                    let tensor = tensors
                        .get(&name)
                        .ok_or_else(|| LocalError::NoTensor { path: file.clone(), name })?;
                    Ok(tensor.flatten_all()?.to_vec1()?)
                })
                .collect()
        };
        let optimizer = Optimizer {
            first: moments("first")?,
            second: moments("second")?,
            updates: state.updates,
            weight_decay,
        };
        return Ok(Some((adapter, optimizer, state)));
    }
    Ok(None)
}

/// `adapters.safetensors` and `adapter_config.json`, as mlx-lm loads them.
pub(super) fn write_mlx(folder: &Path, adapter: &Adapter) -> Result<()> {
    let shape = &adapter.shape;
    let matrices = shape.matrices().zip(&adapter.numbers);
    write_tensors(
        &folder.join(ADAPTER),
        matrices.map(|((name, rows, columns), numbers)| (name, rows, columns, numbers)),
    )?;
    let config = json!({
        "fine_tune_type": "lora",
        "num_layers": shape.layers,
        "lora_parameters": {
            "rank": shape.rank,
            "scale": shape.scale,
            "dropout": 0.0,
            "keys": shape.targets.map(|(name, _, _)| name),
        },
    });
    write(&folder.join("adapter_config.json"), &config)
}

/// The same adapter as PEFT loads it: `A` and `B` transposed, the scale as `lora_alpha`.
pub(super) fn write_peft(folder: &Path, adapter: &Adapter) -> Result<()> {
    fs::create_dir_all(folder).map_err(|source| LocalError::Write { path: folder.to_owned(), source })?;
    let shape = &adapter.shape;
    let transposed: Vec<_> = shape
        .matrices()
        .zip(&adapter.numbers)
        .map(|((name, rows, columns), numbers)| {
            let name = name.replace(".lora_a", ".lora_A.weight").replace(".lora_b", ".lora_B.weight");
            let values: Vec<f32> = (0..columns)
                .flat_map(|column| (0..rows).map(move |row| numbers[row * columns + column]))
                .collect();
            (format!("base_model.model.{name}"), columns, rows, values)
        })
        .collect();
    write_tensors(
        &folder.join("adapter_model.safetensors"),
        transposed.iter().map(|(name, rows, columns, values)| (name.clone(), *rows, *columns, values)),
    )?;
    let config = json!({
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "inference_mode": true,
        "base_model_name_or_path": null,
        "r": shape.rank,
        "lora_alpha": shape.scale * shape.rank as f32,
        "lora_dropout": 0.0,
        "bias": "none",
        "fan_in_fan_out": false,
        "target_modules": shape.targets.map(|(name, _, _)| name.rsplit('.').next().unwrap_or(name)),
        "layers_to_transform": (shape.first_layer > 0).then(|| (shape.first_layer..shape.first_layer + shape.layers).collect::<Vec<_>>()),
    });
    write(&folder.join("adapter_config.json"), &config)
}

fn write_tensors<'a>(
    file: &Path,
    matrices: impl Iterator<Item = (String, usize, usize, &'a Vec<f32>)>,
) -> Result<()> {
    let tensors: HashMap<String, Tensor> = matrices
        .map(|(name, rows, columns, numbers)| {
            Ok((name, Tensor::from_slice(numbers, (rows, columns), &Device::Cpu)?))
        })
        .collect::<candle_core::Result<_>>()?;
    let unfinished = file.with_extension("unfinished");
    candle_core::safetensors::save(&tensors, &unfinished)?;
    fs::rename(&unfinished, file).map_err(|source| LocalError::Write { path: file.to_owned(), source })
}

fn write(file: &Path, value: &serde_json::Value) -> Result<()> {
    let failed = |source| LocalError::Write { path: file.to_owned(), source };
    let unfinished = file.with_extension("unfinished");
    fs::write(&unfinished, format!("{value:#}\n")).map_err(failed)?;
    fs::rename(&unfinished, file).map_err(failed)
}
