//! A model on disk: what it is made of, and its tensors by one name, wherever they are stored.
//!
//! Names are those of `transformers` (`model.layers.0.self_attn.q_proj.weight`), and so is the order of rows: llama.cpp stores the queries
//! and keys of the Llama architecture with the rows of each head in another order, which is undone here. Tensors are read one at a time, by
//! position; nothing is mapped into memory, because a file that shrinks under a mapping ends the process.

pub mod gguf;
pub mod safetensors;

mod config;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::quantized::{GgmlDType, QTensor, ggml_file};
use candle_core::{Device, Tensor};

pub use config::{Architecture, Config};
use gguf::{Header, Place};

use crate::{LocalError, Result};

/// The bytes of one tensor in the format they are stored in, rows in the order of `transformers`.
#[derive(Clone, Debug)]
pub struct RawTensor {
    pub dtype: GgmlDType,
    pub shape: Vec<usize>,
    pub data: Vec<u8>,
}

impl RawTensor {
    /// As candle's quantised tensor.
    pub fn quantised(&self) -> Result<QTensor> {
        let whole = self.shape.iter().product::<usize>() / self.dtype.block_size() * self.dtype.type_size();
        // Candle reads as many bytes as the shape says.
        debug_assert_eq!(whole, self.data.len());
        Ok(ggml_file::qtensor_from_ggml(self.dtype, &self.data, self.shape.clone(), &Device::Cpu)?)
    }

    /// As numbers.
    pub fn dense(&self) -> Result<Tensor> {
        Ok(self.quantised()?.dequantize(&Device::Cpu)?)
    }

    pub fn values(&self) -> Result<Vec<f32>> {
        Ok(self.dense()?.flatten_all()?.to_vec1()?)
    }
}

/// An opened model. Only its headers are in memory.
#[derive(Debug)]
pub struct Weights {
    path: PathBuf,
    config: Config,
    places: BTreeMap<String, (usize, Place)>,
    files: Vec<PathBuf>,
    gguf: Option<Header>,
}

impl Weights {
    /// Opens a `.gguf` file, a `.safetensors` file with its configuration beside it, or a folder with either.
    pub fn open(path: &Path) -> Result<Self> {
        let metadata =
            fs::metadata(path).map_err(|source| LocalError::Read { path: path.to_owned(), source })?;
        if metadata.is_dir() {
            return Self::open_folder(path);
        }
        if gguf::is_gguf(path) {
            return Self::open_gguf(path);
        }
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            return Self::open_safetensors(path.parent().unwrap_or(Path::new("")), vec![path.to_owned()]);
        }
        let reason = "it is neither a GGUF nor a safetensors file".to_owned();
        Err(LocalError::NoModel { path: path.to_owned(), reason })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder where the files that belong to the model are.
    pub fn folder(&self) -> &Path {
        if self.gguf.is_none() && self.path.is_dir() {
            return &self.path;
        }
        self.files.first().and_then(|file| file.parent()).unwrap_or(Path::new(""))
    }

    /// The files with weights.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The metadata of a GGUF file.
    pub fn gguf(&self) -> Option<&Header> {
        self.gguf.as_ref()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The bytes that all tensors take on disk.
    pub fn bytes(&self) -> u64 {
        self.places.values().map(|(_, place)| place.bytes as u64).sum()
    }

    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.places.get(name).map(|(_, place)| place.shape.as_slice())
    }

    pub fn dtype(&self, name: &str) -> Option<GgmlDType> {
        self.places.get(name).map(|(_, place)| place.dtype)
    }

    /// A tensor as numbers on the CPU, whatever its format.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        self.raw(name)?.dense()
    }

    /// A tensor as it is stored.
    pub fn raw(&self, name: &str) -> Result<RawTensor> {
        let Some((file, place)) = self.places.get(name) else {
            return Err(LocalError::NoTensor { path: self.path.clone(), name: name.to_owned() });
        };
        let path = &self.files[*file];
        let mut data = vec![0; place.bytes];
        let mut read = || -> std::io::Result<()> {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(place.offset))?;
            file.read_exact(&mut data)
        };
        read().map_err(|source| LocalError::Read { path: path.clone(), source })?;
        let mut tensor = RawTensor { dtype: place.dtype, shape: place.shape.clone(), data };
        if let Some(heads) = self.interleaved_heads(name) {
            separate_halves(&mut tensor, heads);
        }
        Ok(tensor)
    }

    /// The number of heads whose rows llama.cpp interleaved, if it did.
    fn interleaved_heads(&self, name: &str) -> Option<usize> {
        if self.gguf.is_none() || self.config.architecture != Architecture::Llama {
            return None;
        }
        if name.contains(".self_attn.q_proj.") {
            Some(self.config.heads)
        } else if name.contains(".self_attn.k_proj.") {
            Some(self.config.kv_heads)
        } else {
            None
        }
    }

    fn open_folder(folder: &Path) -> Result<Self> {
        let listed = |source| LocalError::Read { path: folder.to_owned(), source };
        let mut safetensors = Vec::new();
        let mut ggufs = Vec::new();
        for entry in fs::read_dir(folder).map_err(listed)? {
            let path = entry.map_err(listed)?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("safetensors") => safetensors.push(path),
                Some("gguf") => ggufs.push(path),
                _ => {}
            }
        }
        safetensors.sort();
        // An adapter may lie beside its model.
        safetensors.retain(|path| {
            path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with("adapter"))
        });
        match (safetensors.as_slice(), ggufs.as_slice()) {
            ([], [one]) => Self::open_gguf(one),
            ([], []) => Err(LocalError::NoModel {
                path: folder.to_owned(),
                reason: "the folder has neither GGUF nor safetensors files".to_owned(),
            }),
            ([], _) => Err(LocalError::NoModel {
                path: folder.to_owned(),
                reason: "the folder has several GGUF files; name one".to_owned(),
            }),
            _ => Self::open_safetensors(folder, safetensors),
        }
    }

    fn open_gguf(path: &Path) -> Result<Self> {
        let header = gguf::read_header(path)?;
        let mut config = Config::from_gguf(path, &header)?;
        let mut places = BTreeMap::new();
        for (name, place) in &header.tensors {
            if let Some(name) = transformers_name(name) {
                places.insert(name, (0, place.clone()));
            }
        }
        let factors = header.tensors.get("rope_freqs.weight").cloned();
        if let Some(place) = &factors {
            places.insert("rope_factors".to_owned(), (0, place.clone()));
        }
        let half = config.head_dim / 2;
        config.rope_factors = None;
        let mut weights =
            Self { path: path.to_owned(), config, places, files: vec![path.to_owned()], gguf: Some(header) };
        if factors.is_some() {
            let values = weights.raw("rope_factors")?.values()?;
            weights.places.remove("rope_factors");
            if values.len() != half
                || values.iter().any(|value| value.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater))
            {
                let reason = "its factors of rotation make no sense".to_owned();
                return Err(LocalError::Damaged { path: path.to_owned(), reason });
            }
            weights.config.rope_factors = Some(values);
        }
        weights.check_shapes()?;
        Ok(weights)
    }

    fn open_safetensors(folder: &Path, files: Vec<PathBuf>) -> Result<Self> {
        let mut places = BTreeMap::new();
        for (index, file) in files.iter().enumerate() {
            let tensors: HashMap<String, Place> = safetensors::read_header(file)?;
            places.extend(tensors.into_iter().map(|(name, place)| (name, (index, place))));
        }
        let config_path = folder.join("config.json");
        let text = fs::read(&config_path).map_err(|_| LocalError::NoModel {
            path: folder.to_owned(),
            reason: "there is no `config.json` beside the weights".to_owned(),
        })?;
        let config = Config::from_json(&config_path, &text, |name| places.contains_key(name))?;
        let weights = Self { path: folder.to_owned(), config, places, files, gguf: None };
        weights.check_shapes()?;
        Ok(weights)
    }

    /// Every tensor that the configuration promises is there in its shape.
    fn check_shapes(&self) -> Result<()> {
        let config = &self.config;
        let check = |name: &str, expected: &[usize]| match self.shape(name) {
            None => Err(LocalError::NoTensor { path: self.path.clone(), name: name.to_owned() }),
            Some(shape) if shape != expected => Err(LocalError::Damaged {
                path: self.path.clone(),
                reason: format!("the tensor `{name}` has the shape {shape:?}, not {expected:?}"),
            }),
            Some(_) => Ok(()),
        };
        check("model.embed_tokens.weight", &[config.vocab, config.hidden])?;
        check("model.norm.weight", &[config.hidden])?;
        if !config.tied_embeddings {
            check("lm_head.weight", &[config.vocab, config.hidden])?;
        }
        for layer in 0..config.layers {
            let prefix = format!("model.layers.{layer}");
            for (name, (rows, columns)) in config.projections() {
                check(&format!("{prefix}.{name}.weight"), &[rows, columns])?;
                let has_bias = config.attention_bias
                    && ["q_proj", "k_proj", "v_proj"].iter().any(|end| name.ends_with(end));
                if has_bias {
                    check(&format!("{prefix}.{name}.bias"), &[rows])?;
                }
            }
            check(&format!("{prefix}.input_layernorm.weight"), &[config.hidden])?;
            check(&format!("{prefix}.post_attention_layernorm.weight"), &[config.hidden])?;
            if config.qk_norm {
                check(&format!("{prefix}.self_attn.q_norm.weight"), &[config.head_dim])?;
                check(&format!("{prefix}.self_attn.k_norm.weight"), &[config.head_dim])?;
            }
        }
        Ok(())
    }
}

/// Rows 0, 1, 2, 3 … of each head were first half 0, second half 0, first half 1, second half 1 …: puts the halves one after the other.
/// Quantised blocks never cross rows, so rows of bytes can be moved.
fn separate_halves(tensor: &mut RawTensor, heads: usize) {
    let rows = tensor.shape[0];
    let row_bytes = tensor.data.len() / rows;
    let half = rows / heads / 2;
    let mut data = Vec::with_capacity(tensor.data.len());
    for head in 0..heads {
        for part in 0..2 {
            for index in 0..half {
                let from = (head * half * 2 + index * 2 + part) * row_bytes;
                data.extend_from_slice(&tensor.data[from..from + row_bytes]);
            }
        }
    }
    tensor.data = data;
}

/// The name that `transformers` gives a tensor of llama.cpp; `None` for those that are no weights of a layer.
fn transformers_name(name: &str) -> Option<String> {
    let outside = match name {
        "token_embd.weight" => Some("model.embed_tokens.weight"),
        "output_norm.weight" => Some("model.norm.weight"),
        "output.weight" => Some("lm_head.weight"),
        _ => None,
    };
    if let Some(name) = outside {
        return Some(name.to_owned());
    }
    let (layer, rest) = name.strip_prefix("blk.")?.split_once('.')?;
    let (part, end) = rest.rsplit_once('.')?;
    let part = match part {
        "attn_norm" => "input_layernorm",
        "ffn_norm" => "post_attention_layernorm",
        "attn_q" => "self_attn.q_proj",
        "attn_k" => "self_attn.k_proj",
        "attn_v" => "self_attn.v_proj",
        "attn_output" => "self_attn.o_proj",
        "attn_q_norm" => "self_attn.q_norm",
        "attn_k_norm" => "self_attn.k_norm",
        "ffn_gate" => "mlp.gate_proj",
        "ffn_up" => "mlp.up_proj",
        "ffn_down" => "mlp.down_proj",
        _ => return None,
    };
    Some(format!("model.layers.{layer}.{part}.{end}"))
}
