//! The header of a GGUF file: metadata, and where its tensors are.
//!
//! Nothing is believed that the length of the file does not allow: every length and count is compared with what is left of the file before
//! anything is reserved for it, so that a damaged header costs no more memory than the file has bytes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use candle_core::quantized::GgmlDType;

use crate::{LocalError, Result};

const MAGIC: &[u8; 4] = b"GGUF";
/// More nesting than any writer produces.
const MAX_DEPTH: usize = 3;
/// The longest arrays are vocabularies and their merges.
const MAX_ARRAY: usize = 1 << 22;

/// A value of the metadata. Integers of all widths are one.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Integer(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Array(Vec<Value>),
}

/// Where one tensor is. The dimensions are in the order of rows and columns, the other way round than in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub dtype: GgmlDType,
    pub shape: Vec<usize>,
    pub offset: u64,
    pub bytes: usize,
}

#[derive(Clone, Debug)]
pub struct Header {
    pub metadata: HashMap<String, Value>,
    pub tensors: HashMap<String, Place>,
}

impl Header {
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.metadata.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.metadata.get(key)? {
            Value::Integer(value) => Some(*value),
            _ => None,
        }
    }

    pub fn float(&self, key: &str) -> Option<f64> {
        match self.metadata.get(key)? {
            Value::Float(value) => Some(*value),
            Value::Integer(value) => Some(*value as f64),
            _ => None,
        }
    }

    pub fn bool(&self, key: &str) -> Option<bool> {
        match self.metadata.get(key)? {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn array(&self, key: &str) -> Option<&[Value]> {
        match self.metadata.get(key)? {
            Value::Array(values) => Some(values),
            _ => None,
        }
    }
}

/// Whether the file begins like a GGUF file.
pub fn is_gguf(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == MAGIC
}

pub fn read_header(path: &Path) -> Result<Header> {
    let failed = |source| LocalError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    Reader { path: path.to_owned(), input: Box::new(BufReader::with_capacity(1 << 16, file)), at: 0, length }
        .header()
}

struct Reader {
    path: PathBuf,
    input: Box<dyn Read>,
    at: u64,
    length: u64,
}

impl Reader {
    fn header(mut self) -> Result<Header> {
        let magic: [u8; 4] = self.array()?;
        if &magic != MAGIC {
            let reason = "it does not begin like a GGUF file".to_owned();
            return Err(LocalError::NoModel { path: self.path, reason });
        }
        let version = self.u32()?;
        if !(2..=3).contains(&version) {
            let reason = format!("version {version} of GGUF is not known");
            return Err(LocalError::Unsupported { path: self.path, reason });
        }
        let tensors = self.u64()?;
        let keys = self.u64()?;
        // The shortest tensor: no name, one dimension. The shortest key: no name, a byte.
        let tensors = self.count(tensors, 32)?;
        let keys = self.count(keys, 13)?;
        let mut metadata = HashMap::with_capacity(keys.min(1 << 10));
        for _ in 0..keys {
            let key = self.text()?;
            let kind = self.u32()?;
            let value = self.value(kind, 0)?;
            metadata.insert(key, value);
        }
        let mut places = Vec::with_capacity(tensors.min(1 << 12));
        for _ in 0..tensors {
            places.push(self.place()?);
        }
        let alignment = match metadata.get("general.alignment") {
            None => 32,
            Some(Value::Integer(value)) if *value > 0 && *value <= 1 << 16 => *value as u64,
            Some(_) => return Err(self.damaged("its alignment makes no sense")),
        };
        let start = self.at.next_multiple_of(alignment);
        let mut tensors = HashMap::with_capacity(places.len());
        for (name, mut place) in places {
            let end = place.offset.checked_add(start).and_then(|offset| {
                place.offset = offset;
                offset.checked_add(place.bytes as u64)
            });
            if end.is_none_or(|end| end > self.length) {
                return Err(self.damaged(&format!("the tensor `{name}` reaches beyond the end of the file")));
            }
            tensors.insert(name, place);
        }
        Ok(Header { metadata, tensors })
    }

    fn place(&mut self) -> Result<(String, Place)> {
        let name = self.text()?;
        let dimensions = self.u32()?;
        if !(1..=4).contains(&dimensions) {
            return Err(self.damaged(&format!("the tensor `{name}` has {dimensions} dimensions")));
        }
        let mut shape = Vec::with_capacity(dimensions as usize);
        for _ in 0..dimensions {
            shape.push(self.u64()?);
        }
        let kind = self.u32()?;
        let offset = self.u64()?;
        let Some(dtype) = quantisation(kind) else {
            let reason =
                format!("the tensor `{name}` is stored in a format (number {kind}) that is not known");
            return Err(LocalError::Unsupported { path: self.path.clone(), reason });
        };
        let block = dtype.block_size() as u64;
        let bytes = shape
            .iter()
            .try_fold(1_u64, |product, size| product.checked_mul(*size))
            .filter(|_| shape[0].is_multiple_of(block))
            .and_then(|elements| (elements / block).checked_mul(dtype.type_size() as u64))
            .filter(|bytes| *bytes <= self.length);
        let Some(bytes) = bytes else {
            return Err(self.damaged(&format!("the tensor `{name}` has an impossible size")));
        };
        let shape = shape.iter().rev().map(|size| *size as usize).collect();
        Ok((name, Place { dtype, shape, offset, bytes: bytes as usize }))
    }

    fn value(&mut self, kind: u32, depth: usize) -> Result<Value> {
        Ok(match kind {
            0 => Value::Integer(i64::from(u8::from_le_bytes(self.array()?))),
            1 => Value::Integer(i64::from(i8::from_le_bytes(self.array()?))),
            2 => Value::Integer(i64::from(u16::from_le_bytes(self.array()?))),
            3 => Value::Integer(i64::from(i16::from_le_bytes(self.array()?))),
            4 => Value::Integer(i64::from(self.u32()?)),
            5 => Value::Integer(i64::from(i32::from_le_bytes(self.array()?))),
            6 => Value::Float(f64::from(f32::from_le_bytes(self.array()?))),
            7 => Value::Bool(self.array::<1>()?[0] != 0),
            8 => Value::Text(self.text()?),
            9 if depth < MAX_DEPTH => {
                let kind = self.u32()?;
                let count = self.u64()?;
                let smallest = match kind {
                    0 | 1 | 7 => 1,
                    2 | 3 => 2,
                    4..=6 => 4,
                    8 | 10..=12 => 8,
                    _ => 12,
                };
                let count = self.count(count, smallest)?;
                if count > MAX_ARRAY {
                    return Err(self.damaged("its metadata has an array that no vocabulary needs"));
                }
                let mut values = Vec::with_capacity(count.min(1 << 16));
                for _ in 0..count {
                    values.push(self.value(kind, depth + 1)?);
                }
                Value::Array(values)
            }
            10 => Value::Integer(i64::try_from(self.u64()?).unwrap_or(i64::MAX)),
            11 => Value::Integer(i64::from_le_bytes(self.array()?)),
            12 => Value::Float(f64::from_le_bytes(self.array()?)),
            _ => return Err(self.damaged("its metadata has a value of an unknown kind")),
        })
    }

    fn text(&mut self) -> Result<String> {
        let length = self.u64()?;
        let length = self.count(length, 1)?;
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        // Some writers put broken tokens into vocabularies; they are never matched, and no reason to refuse the model.
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// A count of things that take at least so many bytes each, if the file can hold them.
    fn count(&self, count: u64, smallest: u64) -> Result<usize> {
        match count.checked_mul(smallest) {
            Some(bytes) if bytes <= self.length - self.at => Ok(count as usize),
            _ => Err(self.damaged("its header promises more than the file holds")),
        }
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        if bytes.len() as u64 > self.length - self.at {
            return Err(self.damaged("its header ends too early"));
        }
        self.input
            .read_exact(bytes)
            .map_err(|source| LocalError::Read { path: self.path.clone(), source })?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn damaged(&self, reason: &str) -> LocalError {
        LocalError::Damaged { path: self.path.clone(), reason: reason.to_owned() }
    }
}

/// The formats by their numbers in the file.
fn quantisation(kind: u32) -> Option<GgmlDType> {
    Some(match kind {
        0 => GgmlDType::F32,
        1 => GgmlDType::F16,
        2 => GgmlDType::Q4_0,
        3 => GgmlDType::Q4_1,
        6 => GgmlDType::Q5_0,
        7 => GgmlDType::Q5_1,
        8 => GgmlDType::Q8_0,
        10 => GgmlDType::Q2K,
        11 => GgmlDType::Q3K,
        12 => GgmlDType::Q4K,
        13 => GgmlDType::Q5K,
        14 => GgmlDType::Q6K,
        30 => GgmlDType::BF16,
        _ => return None,
    })
}
