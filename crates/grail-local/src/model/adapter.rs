//! Adapters: low-rank changes to the weights, in the layouts of `mlx-lm` and PEFT.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde::Deserialize;

use crate::weights::Config;
use crate::{LocalError, Result};

/// The change of one linear layer: `outputs += scale * up * (down * inputs)`.
#[derive(Clone, Debug)]
pub struct LowRank {
    pub rank: usize,
    /// `[rank, inputs]`
    pub down: Vec<f32>,
    /// `[outputs, rank]`, with the scale multiplied in.
    pub up: Vec<f32>,
}

/// An adapter by the names of the layers it changes, such as `model.layers.0.self_attn.q_proj`.
#[derive(Clone, Debug, Default)]
pub struct Adapter {
    pub layers: BTreeMap<String, LowRank>,
}

impl Adapter {
    /// Reads the folder of an adapter, and holds it against the model it is for.
    pub fn read(folder: &Path, config: &Config) -> Result<Self> {
        let failed = |reason: String| LocalError::Adapter { path: folder.to_owned(), reason };
        let settings = fs::read(folder.join("adapter_config.json"))
            .map_err(|error| failed(format!("`adapter_config.json`: {error}")))?;
        let settings: Settings = serde_json::from_slice(&settings)
            .map_err(|error| failed(format!("`adapter_config.json`: {error}")))?;
        let names = ["adapters.safetensors", "adapter_model.safetensors"];
        let file = names.map(|name| folder.join(name)).into_iter().find(|file| file.exists());
        let Some(file) = file else {
            return Err(failed("the folder has no weights".to_owned()));
        };
        let tensors = candle_core::safetensors::load(&file, &Device::Cpu)
            .map_err(|error| failed(format!("`{}`: {error}", file.display())))?;
        let mut layers = BTreeMap::new();
        let mut halves = 0;
        for (name, tensor) in &tensors {
            let Some((layer, is_down, is_mlx)) = layer_of(name) else {
                return Err(failed(format!("its tensor `{name}` is no part of a LoRA adapter")));
            };
            halves += 1;
            if !is_down {
                continue;
            }
            let partner = partner_of(name);
            let Some(up) = tensors.get(&partner) else {
                return Err(failed(format!("it has `{name}` but not `{partner}`")));
            };
            // mlx-lm stores both the other way round.
            let (down, up) = if is_mlx { (tensor.t()?, up.t()?) } else { (tensor.clone(), up.clone()) };
            let change = low_rank(&down, &up, &settings, is_mlx)
                .map_err(|reason| failed(format!("`{name}`: {reason}")))?;
            let expected = config.projections().into_iter().find(|(end, _)| layer.ends_with(end));
            let index = layer.split('.').nth(2).and_then(|index| index.parse::<usize>().ok());
            let (Some((_, (rows, columns))), Some(true)) =
                (expected, index.map(|index| index < config.layers))
            else {
                return Err(failed(format!("the model has no layer `{layer}`")));
            };
            if change.down.len() != change.rank * columns || change.up.len() != rows * change.rank {
                let found = (change.up.len() / change.rank, change.down.len() / change.rank);
                return Err(failed(format!(
                    "it changes {found:?} weights of `{layer}`, which has {:?}",
                    (rows, columns)
                )));
            }
            layers.insert(layer, change);
        }
        if layers.is_empty() || halves != 2 * layers.len() {
            return Err(failed("its weights are not complete".to_owned()));
        }
        Ok(Self { layers })
    }
}

#[derive(Deserialize)]
struct Settings {
    /// mlx-lm
    lora_parameters: Option<Parameters>,
    fine_tune_type: Option<String>,
    /// PEFT
    lora_alpha: Option<f64>,
    r: Option<f64>,
    #[serde(default)]
    use_rslora: bool,
    #[serde(default)]
    use_dora: bool,
}

#[derive(Deserialize)]
struct Parameters {
    scale: Option<f64>,
    alpha: Option<f64>,
    rank: Option<f64>,
}

fn low_rank(
    down: &Tensor,
    up: &Tensor,
    settings: &Settings,
    is_mlx: bool,
) -> std::result::Result<LowRank, String> {
    if settings.use_dora || settings.fine_tune_type.as_deref().is_some_and(|kind| kind != "lora") {
        return Err("only LoRA is known, not DoRA or full weights".to_owned());
    }
    let (rank, _) = down.dims2().map_err(|error| error.to_string())?;
    let (_, up_rank) = up.dims2().map_err(|error| error.to_string())?;
    if rank == 0 || rank != up_rank {
        return Err(format!("its ranks are {rank} and {up_rank}"));
    }
    let scale = if is_mlx {
        let parameters = settings.lora_parameters.as_ref();
        let by_alpha = |parameters: &Parameters| Some(parameters.alpha? / parameters.rank?);
        parameters.and_then(|parameters| parameters.scale.or_else(|| by_alpha(parameters)))
    } else {
        let rank = settings.r.unwrap_or(rank as f64);
        let divisor = if settings.use_rslora { rank.sqrt() } else { rank };
        settings.lora_alpha.map(|alpha| alpha / divisor)
    };
    let scale = scale.ok_or("`adapter_config.json` does not say its scale")? as f32;
    let values = |tensor: &Tensor| -> std::result::Result<Vec<f32>, String> {
        let values = tensor.to_dtype(DType::F32).and_then(|tensor| tensor.flatten_all()?.to_vec1());
        let values: Vec<f32> = values.map_err(|error| error.to_string())?;
        if values.iter().all(|value| value.is_finite()) {
            Ok(values)
        } else {
            Err("it holds something that is not a number".to_owned())
        }
    };
    let up = values(up)?.into_iter().map(|value| value * scale).collect();
    Ok(LowRank { rank, down: values(down)?, up })
}

/// The layer, whether this is the first of the two matrices, and whether the layout is that of mlx-lm.
fn layer_of(name: &str) -> Option<(String, bool, bool)> {
    if let Some(layer) = name.strip_suffix(".lora_a") {
        return Some((layer.to_owned(), true, true));
    }
    if let Some(layer) = name.strip_suffix(".lora_b") {
        return Some((layer.to_owned(), false, true));
    }
    let name = name.strip_prefix("base_model.model.").unwrap_or(name);
    let name = name.replace(".default.weight", ".weight");
    if let Some(layer) = name.strip_suffix(".lora_A.weight") {
        return Some((layer.to_owned(), true, false));
    }
    name.strip_suffix(".lora_B.weight").map(|layer| (layer.to_owned(), false, false))
}

fn partner_of(name: &str) -> String {
    match name.rsplit_once(".lora_a") {
        Some((before, after)) => format!("{before}.lora_b{after}"),
        None => name.replace(".lora_A.", ".lora_B."),
    }
}
