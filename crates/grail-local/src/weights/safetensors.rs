//! The header of a safetensors file: where its tensors are. Nothing is believed that the length of the file does not allow.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use candle_core::quantized::GgmlDType;
use serde::Deserialize;

use super::gguf::Place;
use crate::{LocalError, Result};

/// The format's own bound on its header.
const MAX_HEADER: u64 = 100_000_000;

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

pub fn read_header(path: &Path) -> Result<HashMap<String, Place>> {
    let failed = |source| LocalError::Read { path: path.to_owned(), source };
    let damaged = |reason: String| LocalError::Damaged { path: path.to_owned(), reason };
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length < 8 {
        return Err(damaged("it is too short for a header".to_owned()));
    }
    let mut size = [0; 8];
    file.read_exact(&mut size).map_err(failed)?;
    let size = u64::from_le_bytes(size);
    if size > MAX_HEADER || size > length - 8 {
        return Err(damaged("its header promises more than the file holds".to_owned()));
    }
    let mut header = vec![0; size as usize];
    file.read_exact(&mut header).map_err(failed)?;
    let entries: HashMap<String, serde_json::Value> = serde_json::from_slice(&header)
        .map_err(|error| damaged(format!("its header is no JSON: {error}")))?;
    let start = 8 + size;
    let mut tensors = HashMap::with_capacity(entries.len());
    for (name, entry) in entries {
        if name == "__metadata__" {
            continue;
        }
        let entry: Entry = serde_json::from_value(entry)
            .map_err(|error| damaged(format!("its header is wrong about `{name}`: {error}")))?;
        let dtype = match entry.dtype.as_str() {
            "F32" => GgmlDType::F32,
            "F16" => GgmlDType::F16,
            "BF16" => GgmlDType::BF16,
            other => {
                let reason = format!("the tensor `{name}` is stored as {other}; F32, F16 and BF16 are known");
                return Err(LocalError::Unsupported { path: path.to_owned(), reason });
            }
        };
        let (from, to) = entry.data_offsets;
        let elements = entry.shape.iter().try_fold(1_usize, |product, size| product.checked_mul(*size));
        let bytes = elements.and_then(|elements| elements.checked_mul(dtype.type_size()));
        let is_right = bytes.is_some_and(|bytes| {
            from.checked_add(bytes as u64) == Some(to) && to <= length - start && !entry.shape.is_empty()
        });
        if !is_right {
            return Err(damaged(format!("the tensor `{name}` is not where the header says")));
        }
        let place =
            Place { dtype, shape: entry.shape, offset: start + from, bytes: bytes.unwrap_or_default() };
        tensors.insert(name, place);
    }
    Ok(tensors)
}
