//! The low-rank matrices that are trained, in the layout of mlx-lm: `y = W·x + scale · (x·A)·B`, `A` inputs by rank, `B` rank by outputs.
//!
//! The same shape holds gradients and the moments of the optimiser: a list of matrices in one fixed order, layer by layer, `A` before `B`.

use std::path::Path;

use super::matrix::Matrix;
use super::random::Random;
use crate::weights::Config;
use crate::{LocalError, Result};

/// Projections with an adapter in each layer, in the order of `Config::projections`.
pub(super) const TARGETS: usize = 7;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) rank: usize,
    pub(super) scale: f32,
    /// The layers from this one on are adapted.
    pub(super) first_layer: usize,
    pub(super) layers: usize,
    /// Of each target: its name below the layer, and its inputs and outputs.
    pub(super) targets: [(&'static str, usize, usize); TARGETS],
}

impl Shape {
    pub(super) fn new(config: &Config, rank: usize, scale: f32, last_layers: Option<usize>) -> Shape {
        let layers = last_layers.unwrap_or(config.layers).min(config.layers);
        Shape {
            rank,
            scale,
            first_layer: config.layers - layers,
            layers,
            targets: config.projections().map(|(name, (outputs, inputs))| (name, inputs, outputs)),
        }
    }

    pub(super) fn parameters(&self) -> usize {
        self.layers
            * self.targets.iter().map(|(_, inputs, outputs)| (inputs + outputs) * self.rank).sum::<usize>()
    }

    /// Name, rows and columns of each matrix, in order.
    pub(super) fn matrices(&self) -> impl Iterator<Item = (String, usize, usize)> + '_ {
        (self.first_layer..self.first_layer + self.layers).flat_map(move |layer| {
            self.targets.iter().flat_map(move |(name, inputs, outputs)| {
                let prefix = format!("model.layers.{layer}.{name}");
                [
                    (format!("{prefix}.lora_a"), *inputs, self.rank),
                    (format!("{prefix}.lora_b"), self.rank, *outputs),
                ]
            })
        })
    }

    /// Where `A` of a target stands in the list; `B` is next.
    pub(super) fn index(&self, layer: usize, target: usize) -> usize {
        ((layer - self.first_layer) * TARGETS + target) * 2
    }
}

/// One list of numbers for each matrix of a shape.
pub(super) type Numbers = Vec<Vec<f32>>;

#[derive(Clone, Debug)]
pub(super) struct Adapter {
    pub(super) shape: Shape,
    pub(super) numbers: Numbers,
}

impl Adapter {
    /// `A` uniform within `1/√inputs`, `B` zero: at first the model answers as before.
    pub(super) fn new(shape: Shape, seed: u64) -> Adapter {
        let mut random = Random::new(seed, "adapter");
        let numbers = shape
            .matrices()
            .map(|(name, rows, columns)| {
                if name.ends_with("lora_b") {
                    return vec![0.0; rows * columns];
                }
                let bound = 1.0 / (rows as f32).sqrt();
                (0..rows * columns).map(|_| (2.0 * random.unit() - 1.0) * bound).collect()
            })
            .collect();
        Adapter { shape, numbers }
    }

    /// From a file in mlx-lm's layout that has just the matrices of this shape.
    pub(super) fn read(shape: Shape, file: &Path) -> Result<Adapter> {
        let wrong = |reason: String| LocalError::Adapter { path: file.to_owned(), reason };
        let bytes =
            std::fs::read(file).map_err(|source| LocalError::Read { path: file.to_owned(), source })?;
        let tensors = candle_core::safetensors::load_buffer(&bytes, &candle_core::Device::Cpu)
            .map_err(|error| wrong(error.to_string()))?;
        let names: Vec<_> = shape.matrices().collect();
        if tensors.len() != names.len() {
            return Err(wrong(format!("it has {} matrices, and {} are trained", tensors.len(), names.len())));
        }
        let numbers = names
            .into_iter()
            .map(|(name, rows, columns)| {
                let tensor = tensors.get(&name).ok_or_else(|| wrong(format!("it has no `{name}`")))?;
                if tensor.dims() != [rows, columns] {
                    let reason =
                        format!("`{name}` has the shape {:?}, not [{rows}, {columns}]", tensor.dims());
                    return Err(wrong(reason));
                }
                Ok(tensor.to_dtype(candle_core::DType::F32)?.flatten_all()?.to_vec1()?)
            })
            .collect::<Result<_>>()?;
        Ok(Adapter { shape, numbers })
    }

    pub(super) fn zeros(&self) -> Numbers {
        self.numbers.iter().map(|numbers| vec![0.0; numbers.len()]).collect()
    }

    /// The matrices of one layer, ready for products.
    pub(super) fn layer(&self, layer: usize) -> candle_core::Result<Option<LayerAdapter>> {
        if layer < self.shape.first_layer {
            return Ok(None);
        }
        let group = |targets: std::ops::Range<usize>| self.group(layer, targets);
        Ok(Some(LayerAdapter {
            attention_in: group(0..3)?,
            attention_out: group(3..4)?,
            mlp_in: group(4..6)?,
            mlp_out: group(6..7)?,
        }))
    }

    fn group(&self, layer: usize, targets: std::ops::Range<usize>) -> candle_core::Result<Group> {
        let Shape { rank, scale, .. } = self.shape;
        let width = rank * targets.len();
        let inputs = self.shape.targets[targets.start].1;
        let matrix = |target: usize, which: usize| &self.numbers[self.shape.index(layer, target) + which];
        let mut down = vec![0.0; inputs * width];
        let mut down_transposed = vec![0.0; inputs * width];
        for (part, target) in targets.clone().enumerate() {
            for (row, values) in matrix(target, 0).chunks_exact(rank).enumerate() {
                for (column, value) in values.iter().enumerate() {
                    down[row * width + part * rank + column] = *value;
                    down_transposed[(part * rank + column) * inputs + row] = *value;
                }
            }
        }
        let mut column = 0;
        let mut up = Vec::new();
        for target in targets.clone() {
            let outputs = self.shape.targets[target].2;
            up.push(Up {
                matrix: Matrix::new(matrix(target, 1).clone(), rank, outputs)?,
                columns: column..column + outputs,
            });
            column += outputs;
        }
        let first = self.shape.index(layer, targets.start);
        Ok(Group { first, rank, scale, down: Matrix::new(down, inputs, width)?, down_transposed, up })
    }
}

#[derive(Debug)]
pub(super) struct LayerAdapter {
    pub(super) attention_in: Group,
    pub(super) attention_out: Group,
    pub(super) mlp_in: Group,
    pub(super) mlp_out: Group,
}

/// Adapters of projections that read the same rows and write side by side.
#[derive(Debug)]
pub(super) struct Group {
    /// Where the first matrix stands in the list.
    pub(super) first: usize,
    pub(super) rank: usize,
    pub(super) scale: f32,
    /// All `A`, side by side: inputs by (targets · rank).
    pub(super) down: Matrix,
    /// The same, transposed.
    pub(super) down_transposed: Vec<f32>,
    pub(super) up: Vec<Up>,
}

/// `B` of one target, and the columns it writes to.
#[derive(Debug)]
pub(super) struct Up {
    pub(super) matrix: Matrix,
    pub(super) columns: std::ops::Range<usize>,
}
