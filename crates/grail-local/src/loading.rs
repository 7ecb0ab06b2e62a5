//! From a path to a running model: what it would need is estimated before anything is loaded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::quantized::GgmlDType;
use serde::Serialize;

use crate::chat::ChatTemplate;
use crate::engine::{Engine, EngineLimits};
use crate::grammar::Grammars;
use crate::model::{Adapter, Cache, Model, ModelOptions, Precision};
use crate::tokenizer::Tokenizer;
use crate::train::memory;
use crate::weights::{Config, Weights};
use crate::{LocalError, Result, identity};

/// The program itself, its vocabulary as a tree, its buffers.
const REST: u64 = 100 << 20;
/// Requests that are computed together.
const BATCH: usize = 64;
/// Requests that may wait for them.
const QUEUE: usize = 1024;
/// Bytes that the caches of all sequences may take, where there is enough.
const CACHES: u64 = 2 << 30;

#[derive(Clone, Debug)]
pub struct LoadOptions {
    pub model: PathBuf,
    pub adapter: Option<PathBuf>,
    pub threads: usize,
    /// The longest sequence; the model's own bound if that is less.
    pub context: usize,
    pub precision: Precision,
}

/// What can be said about a model without loading it.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    #[serde(flatten)]
    pub config: Config,
    pub parameters: u64,
    pub format: &'static str,
    pub quantisations: Vec<String>,
    pub sha256: String,
    pub adapter_sha256: Option<String>,
    pub identity: String,
    pub chat_template: bool,
    pub tokenizer: bool,
    pub context: usize,
    pub memory_bytes: u64,
}

/// A model that answers.
pub struct Loaded {
    pub engine: Engine,
    pub tokenizer: Arc<Tokenizer>,
    pub template: ChatTemplate,
    pub grammars: Grammars,
    pub identity: String,
    pub parameters: u64,
    pub memory_bytes: u64,
    pub context: usize,
}

pub fn inspect(options: &LoadOptions) -> Result<Inspection> {
    let weights = Weights::open(&options.model)?;
    let config = weights.config().clone();
    let sha256 = identity::model_sha256(&weights)?;
    let adapter_sha256 = match &options.adapter {
        None => None,
        Some(folder) => {
            Adapter::read(folder, &config)?;
            Some(identity::adapter_sha256(folder)?)
        }
    };
    let mut quantisations: Vec<String> =
        weights.names().filter_map(|name| weights.dtype(name)).map(|dtype| format!("{dtype:?}")).collect();
    quantisations.sort();
    quantisations.dedup();
    let context = options.context.min(config.max_positions);
    Ok(Inspection {
        parameters: config.parameters(),
        format: if weights.gguf().is_some() { "gguf" } else { "safetensors" },
        quantisations,
        identity: identity::identity(&sha256, adapter_sha256.as_deref()),
        sha256,
        adapter_sha256,
        chat_template: ChatTemplate::of(&weights).is_ok(),
        tokenizer: Tokenizer::of(&weights).is_ok(),
        memory_bytes: estimate(&weights, context, options.precision),
        context,
        config,
    })
}

pub fn load(options: &LoadOptions) -> Result<Loaded> {
    let weights = Weights::open(&options.model)?;
    let config = weights.config().clone();
    let context = options.context.min(config.max_positions);
    let memory_bytes = estimate(&weights, context, options.precision);
    let available = memory::available();
    check_memory(memory_bytes, available)?;
    let tokenizer = Arc::new(Tokenizer::of(&weights)?);
    let template = ChatTemplate::of(&weights)?;
    let grammars = Grammars::new(&tokenizer)?;
    let adapter = options.adapter.as_deref().map(|folder| Adapter::read(folder, &config)).transpose()?;
    let identity = identity_of(&weights, options.adapter.as_deref())?;
    let model_options = ModelOptions { threads: options.threads, context, precision: options.precision };
    let model = Model::load(&weights, adapter.as_ref(), model_options)?;
    let left = available.map_or(CACHES, |available| available.saturating_sub(memory_bytes) / 2);
    let positions = CACHES.min(left) / Cache::bytes_per_token(&config);
    let limits = EngineLimits { batch: BATCH, queue: QUEUE, positions: positions as usize };
    let engine = Engine::start(model, Arc::clone(&tokenizer), limits);
    let parameters = config.parameters();
    Ok(Loaded { engine, tokenizer, template, grammars, identity, parameters, memory_bytes, context })
}

/// The name of the weights, with those of the adapter.
pub fn identity_of(weights: &Weights, adapter: Option<&Path>) -> Result<String> {
    let adapter = adapter.map(identity::adapter_sha256).transpose()?;
    Ok(identity::identity(&identity::model_sha256(weights)?, adapter.as_deref()))
}

/// About how many bytes the model takes with one sequence of full length.
pub fn estimate(weights: &Weights, context: usize, precision: Precision) -> u64 {
    let config = weights.config();
    let tensors: u64 = weights
        .names()
        .filter_map(|name| Some((weights.shape(name)?, weights.dtype(name)?)))
        .map(|(shape, dtype)| {
            let count = shape.iter().product::<usize>() as u64;
            match dtype {
                GgmlDType::Q4_0 | GgmlDType::Q4_1 => count * 5 / 8,
                GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 if precision == Precision::Full => {
                    count * 4
                }
                _ => count * 17 / 16,
            }
        })
        .sum();
    // One tensor is there in its old form while it gets its new one.
    let largest = (config.vocab * config.hidden * 4) as u64;
    tensors + largest + Cache::bytes_per_token(config) * context as u64 + REST
}

/// Refuses what would not fit. Where the machine does not say what it has, nothing is refused.
pub fn check_memory(needed: u64, available: Option<u64>) -> Result<()> {
    match available {
        Some(available) if needed > available => Err(LocalError::Memory { needed, available }),
        _ => Ok(()),
    }
}
